/* renderings._says_the_same: whether a text has all words and links of its HTML. */
#ifndef SHAPING_RULES_RENDERINGS_H
#define SHAPING_RULES_RENDERINGS_H

#include "rules_markup.h"

enum { SAME_MOST = 100000, SAME_NEARLY = 20, SAME_PROBES = 64 };

/* On which side a token stands, or on which sides the tokens stand in which a word is. */
enum { SAID = 1, TOLD = 2, SAID_ONLY = 4, TOLD_ONLY = 8 };

typedef struct {
    const Py_UCS4 *start; /* borrowed from the letters */
    Py_ssize_t length;
    int sides;
} Slot;

/* A set of pieces of text; one that many pieces collide in is given up. */
typedef struct {
    Slot *slots; /* owned, PyMem */
    size_t mask;
} Table;

static int
table_begin(Table *table, size_t pieces)
{
    size_t size = 16;
    while (size < 2 * pieces) {
        size *= 2;
    }
    table->mask = size - 1;
    table->slots = PyMem_Calloc(size, sizeof(Slot));
    return table->slots == NULL ? -1 : 0;
}

/* The place of a piece in a table, taken or free; NULL where there is none near. */
static Slot *
table_find(const Table *table, const Py_UCS4 *start, Py_ssize_t length)
{
    size_t hash = 1469598103u;
    for (Py_ssize_t at = 0; at < length; at++) {
        hash = (hash ^ start[at]) * 16777619u;
        hash ^= hash >> 15;
    }
    for (size_t probe = 0; probe < SAME_PROBES; probe++) {
        Slot *slot = &table->slots[(hash + probe) & table->mask];
        if (slot->start == NULL || (slot->length == length &&
                                    memcmp(slot->start, start, (size_t)length * sizeof(Py_UCS4)) == 0)) {
            return slot;
        }
    }
    return NULL;
}

static int
table_add(Table *table, const Py_UCS4 *start, Py_ssize_t length, int sides)
{
    Slot *slot = table_find(table, start, length);
    if (slot == NULL) {
        return 0;
    }
    slot->start = start;
    slot->length = length;
    slot->sides |= sides;
    return 1;
}

typedef int (*Kind)(Py_UCS4);

static int
is_no_blank(Py_UCS4 one)
{
    return !Py_UNICODE_ISSPACE(one);
}

/* Put the runs of letters of a kind into a table, or only count them; -1 where the table gives up. */
static Py_ssize_t
add_runs(Table *table, const Py_UCS4 *text, Py_ssize_t size, Kind kind, int sides)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        Py_ssize_t start = at;
        while (at < size && kind(text[at])) {
            at++;
        }
        if (at > start && table != NULL && !table_add(table, text + start, at - start, sides)) {
            return -1;
        }
        count += at > start;
    }
    return count;
}

/* The words of all tokens, each with the sides its tokens stand on; 0 where the table gives up. */
static int
add_words(Table *words, const Table *tokens)
{
    for (size_t at = 0; at <= tokens->mask; at++) {
        const Slot *token = &tokens->slots[at];
        int sides = token->sides == SAID ? SAID | SAID_ONLY : token->sides == TOLD ? TOLD | TOLD_ONLY : SAID | TOLD;
        if (token->start != NULL && add_runs(words, token->start, token->length, is_word_letter, sides) < 0) {
            return 0;
        }
    }
    return 1;
}

/* Whether a word of tokens that only the HTML has is new: no token of the text, nor a word of its other tokens. */
static int
is_new(const Slot *word, const Table *tokens)
{
    if (!(word->sides & SAID_ONLY) || word->sides & TOLD_ONLY) {
        return 0;
    }
    const Slot *token = table_find(tokens, word->start, word->length);
    return token == NULL || !(token->sides & TOLD);
}

/* Whether no word is new, or nearly none is missing. */
static int
tells_words(const Table *words, const Table *tokens)
{
    Py_ssize_t all = 0, missing = 0, new = 0;
    for (size_t at = 0; at <= words->mask; at++) {
        const Slot *word = &words->slots[at];
        if (word->start != NULL && word->sides & SAID) {
            all++;
            missing += !(word->sides & TOLD);
            new += is_new(word, tokens);
        }
    }
    return new == 0 || missing <= all / SAME_NEARLY;
}

/* Compare what is left of both sides: 1, 0, -1 an exception, -2 not known. */
static int
compare_words(const Letters *said, const Letters *told)
{
    Table tokens = {.slots = NULL}, words = {.slots = NULL};
    Py_ssize_t most = add_runs(NULL, said->text, said->size, is_no_blank, 0) +
                      add_runs(NULL, told->text, told->size, is_no_blank, 0);
    Py_ssize_t parts = add_runs(NULL, said->text, said->size, is_word_letter, 0) +
                       add_runs(NULL, told->text, told->size, is_word_letter, 0);
    int same = -2;
    if (table_begin(&tokens, (size_t)most) < 0 || table_begin(&words, (size_t)parts) < 0) {
        PyErr_NoMemory();
        same = -1;
    } else if (add_runs(&tokens, said->text, said->size, is_no_blank, SAID) >= 0 &&
               add_runs(&tokens, told->text, told->size, is_no_blank, TOLD) >= 0 && add_words(&words, &tokens)) {
        same = tells_words(&words, &tokens);
    }
    PyMem_Free(tokens.slots);
    PyMem_Free(words.slots);
    return same;
}

/* The same, after the targets of links: 1, 0, -1 an exception, -2 not known. `aside` is a copy of the HTML. */
static int
compare_letters(Letters *markup, Letters *text, const Letters *aside)
{
    int told = tells_targets(text, aside);
    if (told <= 0) {
        return told < 0 ? -2 : 0;
    }
    take_tags(markup);
    if (!read_entities(markup) || !read_entities(text)) {
        return -2;
    }
    return compare_words(markup, text);
}

/* says_the_same(markup, text): renderings._says_the_same of two strings, or None where it is not known. */
static PyObject *
rules_says_the_same(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !is_text(arguments[0]) || !is_text(arguments[1]) ||
        PyUnicode_GET_LENGTH(arguments[0]) > SAME_MOST || PyUnicode_GET_LENGTH(arguments[1]) > SAME_MOST) {
        Py_RETURN_NONE;
    }
    Letters markup = {.text = NULL}, text = {.text = NULL}, aside = {.text = NULL};
    int same = -1;
    if (letters_of(&markup, arguments[0]) == 0 && letters_of(&text, arguments[1]) == 0 &&
        letters_of(&aside, arguments[0]) == 0) {
        same = compare_letters(&markup, &text, &aside);
    }
    PyMem_Free(markup.text);
    PyMem_Free(text.text);
    PyMem_Free(aside.text);
    return same == -1 ? NULL : same == -2 ? Py_NewRef(Py_None) : PyBool_FromLong(same);
}

#endif
