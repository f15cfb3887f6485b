/* A text and its HTML as letters that can be changed: tags taken out, entities read, the targets of links. */
#ifndef SHAPING_RULES_MARKUP_H
#define SHAPING_RULES_MARKUP_H

#include "rules_text.h"

enum { TARGETS = 200, COMPARED = 32 }; /* each is looked for in the whole text, at so many letters for one of it */

/* A copy of a string; at most as many letters as it came with. */
typedef struct {
    Py_UCS4 *text; /* owned, PyMem */
    Py_ssize_t size;
} Letters;

static int
letters_of(Letters *letters, PyObject *text)
{
    letters->size = PyUnicode_GET_LENGTH(text);
    letters->text = PyUnicode_AsUCS4Copy(text);
    return letters->text == NULL ? -1 : 0;
}

/* What `\w` of a regular expression matches; most letters are ASCII, and the tables of all letters are slow. */
static inline int
is_word_letter(Py_UCS4 one)
{
    if (one < 128) {
        return (one >= '0' && one <= '9') || one == '_' || ((one | 32) >= 'a' && (one | 32) <= 'z');
    }
    return Py_UNICODE_ISALNUM(one);
}

/* What str.split splits at. */
static inline int
is_blank(Py_UCS4 one)
{
    if (one < 128) {
        return one == ' ' || (one >= 0x09 && one <= 0x0D) || (one >= 0x1C && one <= 0x1F);
    }
    return Py_UNICODE_ISSPACE(one);
}

/* Whether a part, which is ASCII, stands at a place. */
static int
reads_at(const Letters *letters, Py_ssize_t at, const char *part)
{
    for (; *part; part++, at++) {
        if (at >= letters->size || letters->text[at] != (Py_UCS4)(unsigned char)*part) {
            return 0;
        }
    }
    return 1;
}

/* Where a comment that begins here ends, as renderings._TAG says: before the next one begins; or -1. */
static Py_ssize_t
comment_end(const Letters *letters, Py_ssize_t at)
{
    if (!reads_at(letters, at, "<!--")) {
        return -1;
    }
    for (at += 4; at < letters->size; at++) {
        if (letters->text[at] == '-' && reads_at(letters, at, "-->")) {
            return at + 3;
        }
        if (letters->text[at] == '<' && reads_at(letters, at, "<!--")) {
            return -1;
        }
    }
    return -1;
}

/* Where a tag that begins here ends; or -1. */
static Py_ssize_t
tag_end(const Letters *letters, Py_ssize_t at)
{
    Py_ssize_t end = comment_end(letters, at);
    if (end >= 0) {
        return end;
    }
    for (at++; at < letters->size && letters->text[at] != '<'; at++) {
        if (letters->text[at] == '>') {
            return at + 1;
        }
    }
    return -1;
}

/* renderings._TAG.sub(" ", ...) in place. */
static void
take_tags(Letters *letters)
{
    Py_ssize_t to = 0, at = 0;
    while (at < letters->size) {
        Py_ssize_t end = letters->text[at] == '<' ? tag_end(letters, at) : -1;
        letters->text[to++] = end < 0 ? letters->text[at] : ' ';
        at = end < 0 ? at + 1 : end;
    }
    letters->size = to;
}

/* How long the entity is that begins here, and what it stands for; 0 where it is none, -1 where that is not known. */
static Py_ssize_t
entity_at(const Letters *letters, Py_ssize_t at, Py_UCS4 *one)
{
    static const struct {
        const char *name;
        Py_UCS4 one;
    } known[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}, {"&#x27;", '\''},
                 {"&nbsp;", 0xA0}, {"&#32;", ' '}, {"&#x200B;", 0x200B}};
    for (size_t which = 0; which < sizeof(known) / sizeof(known[0]); which++) {
        if (reads_at(letters, at, known[which].name)) {
            *one = known[which].one;
            return (Py_ssize_t)strlen(known[which].name);
        }
    }
    Py_UCS4 next = at + 1 < letters->size ? letters->text[at + 1] : ' ';
    return next < 128 && strchr("\t\n\f <&;", (int)next) != NULL && next != 0 ? 0 : -1;
}

/* html.unescape in place; 0 where an entity is not known here. */
static int
read_entities(Letters *letters)
{
    Py_ssize_t to = 0, at = 0;
    while (at < letters->size) {
        Py_UCS4 one = letters->text[at];
        Py_ssize_t length = one == '&' ? entity_at(letters, at, &one) : 0;
        if (length < 0) {
            return 0;
        }
        letters->text[to++] = one;
        at += length > 0 ? length : 1;
    }
    letters->size = to;
    return 1;
}

/* How many letters from a place on are those of a part. */
static Py_ssize_t
alike_from(const Letters *text, Py_ssize_t at, const Letters *part)
{
    Py_ssize_t alike = 0;
    while (alike < part->size && text->text[at + alike] == part->text[alike]) {
        alike++;
    }
    return alike;
}

/* Whether some letters stand together somewhere in others: 1, 0, or -1 where many places nearly have them, for which
   Python has a better way. */
static int
holds_letters(const Letters *text, const Letters *part)
{
    Py_ssize_t left = COMPARED * (text->size + 1);
    for (Py_ssize_t at = 0; at + part->size <= text->size; at++) {
        Py_ssize_t alike = alike_from(text, at, part);
        if (alike == part->size) {
            return 1;
        }
        left -= alike;
        if (left < 0) {
            return -1;
        }
    }
    return 0;
}

static Py_ssize_t
skip_blanks(const Letters *letters, Py_ssize_t at)
{
    while (at < letters->size && is_blank(letters->text[at])) {
        at++;
    }
    return at;
}

static int
is_quote(const Letters *letters, Py_ssize_t at)
{
    return letters->text[at] == '"' || letters->text[at] == '\'';
}

/* Where the target begins that renderings._TARGET finds here, or -1. */
static Py_ssize_t
target_at(const Letters *markup, Py_ssize_t at)
{
    if (!reads_at(markup, at, "href") || (at > 0 && is_word_letter(markup->text[at - 1]))) {
        return -1;
    }
    at = skip_blanks(markup, at + 4);
    if (at >= markup->size || markup->text[at] != '=') {
        return -1;
    }
    at = skip_blanks(markup, at + 1);
    return at < markup->size && is_quote(markup, at) ? at + 1 : -1;
}

/* Whether a text has a target without the slashes around it: 1, 0, or -1 where that is not known. */
static int
tells_target(const Letters *text, Letters *target)
{
    if (!read_entities(target)) {
        return -1;
    }
    while (target->size && target->text[target->size - 1] == '/') {
        target->size--;
    }
    while (target->size && *target->text == '/') {
        target->text++;
        target->size--;
    }
    return holds_letters(text, target);
}

/* Whether a text has all targets of the links in its HTML: 1, 0, or -1 where that is not known. Entities in targets
   are read in place, so this is asked of a copy. */
static int
tells_targets(const Letters *text, const Letters *markup)
{
    int told = 1, targets = 0;
    for (Py_ssize_t at = 0; told == 1 && at < markup->size; at++) {
        Py_ssize_t start = markup->text[at] == 'h' ? target_at(markup, at) : -1;
        if (start < 0) {
            continue;
        }
        for (at = start; at < markup->size && !is_quote(markup, at); at++) {
        }
        Letters target = {.text = markup->text + start, .size = at - start};
        told = ++targets > TARGETS ? -1 : tells_target(text, &target);
    }
    return told;
}

#endif
