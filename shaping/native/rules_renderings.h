/* renderings._says_the_same: whether a text has all words and links of its HTML. */
#ifndef SHAPING_RULES_RENDERINGS_H
#define SHAPING_RULES_RENDERINGS_H

#include "rules_markup.h"

enum { SAME_MOST = 100000, SAME_NEARLY = 20, SAME_PROBES = 64 };

/* On which sides a token stands, or the tokens in which a word is: the HTML's, the text's. */
enum { SAID = 1, TOLD = 2 };

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
    size_t hash = 2166136261u;
    for (Py_ssize_t at = 0; at < length; at++) {
        hash = (hash ^ start[at]) * 16777619u;
    }
    hash ^= hash >> 15;
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

/* Pieces of text: those between blanks, or those of letters and digits. */
enum { TOKENS, WORDS };

static inline int
belongs(Py_UCS4 one, int kind)
{
    return kind == TOKENS ? !is_blank(one) : is_word_letter(one);
}

/* Put the pieces of a text into a table, or only count them; -1 where the table gives up. */
static inline Py_ssize_t
add_pieces(Table *table, const Py_UCS4 *text, Py_ssize_t size, int kind, int sides)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        Py_ssize_t start = at;
        while (at < size && belongs(text[at], kind)) {
            at++;
        }
        if (at > start && table != NULL && !table_add(table, text + start, at - start, sides)) {
            return -1;
        }
        count += at > start;
    }
    return count;
}

/* Put the words of tokens into a table, each with the sides its tokens stand on, or only count them; of all tokens, or
   of those that stand on one side. -1 where the table gives up. */
static Py_ssize_t
add_words(Table *words, const Table *tokens, int all)
{
    Py_ssize_t count = 0;
    for (size_t at = 0; at <= tokens->mask; at++) {
        const Slot *token = &tokens->slots[at];
        if (token->start == NULL || (!all && token->sides == (SAID | TOLD))) {
            continue;
        }
        Py_ssize_t added = add_pieces(words, token->start, token->length, WORDS, token->sides);
        if (added < 0) {
            return -1;
        }
        count += added;
    }
    return count;
}

/* A table of such words; -1 with an exception, -2 where it gives up. */
static int
table_of_words(Table *words, const Table *tokens, int all)
{
    if (table_begin(words, (size_t)add_words(NULL, tokens, all)) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    return add_words(words, tokens, all) < 0 ? -2 : 0;
}

/* Whether a word of the tokens on one side is new: it is only in the HTML, and no token of the text. */
static int
is_new(const Slot *word, const Table *tokens)
{
    if (word->sides != SAID) {
        return 0;
    }
    const Slot *token = table_find(tokens, word->start, word->length);
    return token == NULL || !(token->sides & TOLD);
}

/* Whether the tokens that only the HTML has hold no new word: 1, 0, -1 an exception, -2 not known. */
static int
tells_all(const Table *tokens)
{
    Table words = {.slots = NULL};
    int told = table_of_words(&words, tokens, 0);
    for (size_t at = 0; told == 0 && at <= words.mask; at++) {
        told = words.slots[at].start != NULL && is_new(&words.slots[at], tokens);
    }
    PyMem_Free(words.slots);
    return told < 0 ? told : !told;
}

/* Whether nearly all words of the HTML are in the text: 1, 0, -1 an exception, -2 not known. */
static int
tells_nearly(const Table *tokens)
{
    Table words = {.slots = NULL};
    Py_ssize_t all = 0, missing = 0;
    int failed = table_of_words(&words, tokens, 1);
    for (size_t at = 0; !failed && at <= words.mask; at++) {
        all += (words.slots[at].sides & SAID) != 0;
        missing += words.slots[at].sides == SAID;
    }
    PyMem_Free(words.slots);
    return failed ? failed : missing <= all / SAME_NEARLY;
}

/* Compare what is left of both sides: 1, 0, -1 an exception, -2 not known. */
static int
compare_words(const Letters *said, const Letters *told)
{
    Table tokens = {.slots = NULL};
    Py_ssize_t count = add_pieces(NULL, said->text, said->size, TOKENS, 0) +
                       add_pieces(NULL, told->text, told->size, TOKENS, 0);
    int same = -2;
    if (table_begin(&tokens, (size_t)count) < 0) {
        PyErr_NoMemory();
        same = -1;
    } else if (add_pieces(&tokens, said->text, said->size, TOKENS, SAID) >= 0 &&
               add_pieces(&tokens, told->text, told->size, TOKENS, TOLD) >= 0) {
        same = tells_all(&tokens);
        same = same == 0 ? tells_nearly(&tokens) : same;
    }
    PyMem_Free(tokens.slots);
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
