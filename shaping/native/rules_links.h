/* What links say: which only a program would follow, and which follow a pattern. */
#ifndef SHAPING_RULES_LINKS_H
#define SHAPING_RULES_LINKS_H

#include "rules_text.h"

enum { LINKS_ENOUGH = 3, LINKS_PER_PATTERN = 10 };

static inline int
is_digit(Py_UCS1 one)
{
    return one >= '0' && one <= '9';
}

static inline int
is_word(Py_UCS1 one)
{
    return is_digit(one) || one == '_' || ((one | 32) >= 'a' && (one | 32) <= 'z');
}

/* How long a word in small letters is at a place of ASCII, whatever the case there, or 0 where it does not stand there. */
static Py_ssize_t
word_at(const Py_UCS1 *at, const Py_UCS1 *end, const char *word)
{
    Py_ssize_t length = (Py_ssize_t)strlen(word);
    if (end - at < length) {
        return 0;
    }
    for (Py_ssize_t step = 0; step < length; step++) {
        Py_UCS1 one = at[step];
        if ((one >= 'A' && one <= 'Z' ? one | 32 : one) != (Py_UCS1)word[step]) {
            return 0;
        }
    }
    return length;
}

/* links._API_HOST.match */
static int
is_api_host(const Py_UCS1 *at, const Py_UCS1 *end)
{
    const Py_UCS1 *start = at;
    while (at < end && is_word(*at)) {
        at++;
    }
    if (at == start || !word_at(at, end, "://")) {
        return 0;
    }
    for (start = at += 3; at < end; at++) {
        if (at == start || at[-1] == '.') {
            Py_ssize_t length = word_at(at, end, "api");
            if (length && (at + length == end || !is_word(at[length]))) {
                return 1;
            }
        }
        if (*at == '/') {
            return 0;
        }
    }
    return 0;
}

/* Where a version such as v2 or v1.1 ends, or its start where there is none. */
static const Py_UCS1 *
version_end(const Py_UCS1 *at, const Py_UCS1 *end)
{
    const Py_UCS1 *start = at++;
    if (at >= end || (*start | 32) != 'v' || !is_digit(*at)) {
        return start;
    }
    while (at < end && is_digit(*at)) {
        at++;
    }
    if (at + 1 < end && *at == '.' && is_digit(at[1])) {
        for (at++; at < end && is_digit(*at); at++) {
        }
    }
    return at;
}

/* Whether a part of a path ends here, as `(?:/|$)` says. */
static int
ends_part(const Py_UCS1 *at, const Py_UCS1 *end)
{
    return at == end || *at == '/' || (at + 1 == end && *at == '\n');
}

/* links._API_PATH.search */
static int
has_api_path(const Py_UCS1 *at, const Py_UCS1 *end)
{
    static const char *const names[] = {"api", "apis", "rest", "wp-json", "odata", "graphql", "_apis"};
    while (at < end && (at = memchr(at, '/', (size_t)(end - at))) != NULL) {
        at++;
        for (size_t which = 0; which < sizeof(names) / sizeof(names[0]); which++) {
            Py_ssize_t length = word_at(at, end, names[which]);
            if (length && ends_part(at + length, end)) {
                return 1;
            }
        }
        const Py_UCS1 *after = version_end(at, end);
        if (after > at && ends_part(after, end)) {
            return 1;
        }
    }
    return 0;
}

/* Whether a link leads to an API, as links._apis tells; it is ASCII. */
static int
is_api(PyObject *link)
{
    const Py_UCS1 *start = PyUnicode_1BYTE_DATA(link), *end = start + PyUnicode_GET_LENGTH(link);
    return is_api_host(start, end) || has_api_path(start, end);
}

/* The sets of a links._Named and what is found by them; all borrowed. */
typedef struct {
    PyObject *pictures, *itself, *hypermedia;
    PyObject *noise, *apis, *usual;
    int company;
} Judging;

/* links._plumbing of one member and its first link; -1 with an exception. */
static int
judge_plumbing(const Judging *judging, PyObject *key, PyObject *link)
{
    int found = has_letter(link, '{') ? 1 : PySet_Contains(judging->pictures, key);
    if (found == 0 && judging->company) {
        found = PySet_Contains(judging->itself, key);
    }
    if (found != 0 || !judging->company) {
        return found > 0 ? PySet_Add(judging->noise, key) : found;
    }
    found = PySet_Contains(judging->hypermedia, key);
    return found > 0 && is_api(link) ? PySet_Add(judging->apis, key) : found < 0 ? -1 : 0;
}

/* Judge one member; the caller owns both. */
static int
judge_link(const Judging *judging, PyObject *key, PyObject *link)
{
    if (judge_plumbing(judging, key, link) < 0) {
        return -1;
    }
    return STARTS(link, "http") ? PySet_Add(judging->usual, key) : 0;
}

/* Judge all members: 1 done, 0 not known, -1 an exception. */
static int
judge_links(const Judging *judging, PyObject *head, PyObject *keys)
{
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(keys); at++) {
        PyObject *key = PyTuple_GET_ITEM(keys, at), *link = cell(head, key);
        if (link == NULL) {
            return PyErr_Occurred() ? -1 : 0;
        }
        /* Where the first record has none, another one tells; the patterns say more of letters than ASCII has. */
        int known = is_text(link) && PyUnicode_IS_ASCII(link) && PyUnicode_GET_LENGTH(link) > 0;
        int failed = known ? judge_link(judging, key, link) : 0;
        Py_DECREF(link);
        if (failed < 0 || !known) {
            return failed < 0 ? -1 : 0;
        }
    }
    return 1;
}

/* judge(head, named, company): the sets of plumbing, of links to an API beside it, and of links that begin with http;
   None where not known. */
static PyObject *
rules_judge(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *named = count == 3 ? arguments[1] : Py_None;
    if (!PyTuple_Check(named) || PyTuple_GET_SIZE(named) != 4 || !PyTuple_CheckExact(PyTuple_GET_ITEM(named, 0))) {
        PyErr_SetString(PyExc_TypeError, "judge takes a record, links by what they are called, and a bool");
        return NULL;
    }
    if (!PyDict_CheckExact(arguments[0])) {
        Py_RETURN_NONE;
    }
    Judging judging = {
        .pictures = PyTuple_GET_ITEM(named, 1),
        .itself = PyTuple_GET_ITEM(named, 2),
        .hypermedia = PyTuple_GET_ITEM(named, 3),
        .noise = PySet_New(PyTuple_GET_ITEM(named, 1)),
        .apis = PySet_New(NULL),
        .usual = PySet_New(NULL),
        .company = arguments[2] == Py_True,
    };
    PyObject *answer = NULL;
    if (judging.noise != NULL && judging.apis != NULL && judging.usual != NULL) {
        int done = judge_links(&judging, arguments[0], PyTuple_GET_ITEM(named, 0));
        PyObject *sets = done > 0 ? PyTuple_Pack(3, judging.noise, judging.apis, judging.usual) : NULL;
        answer = done == 0 ? Py_NewRef(Py_None) : sets;
    }
    Py_XDECREF(judging.noise);
    Py_XDECREF(judging.apis);
    Py_XDECREF(judging.usual);
    return answer;
}

/* The two ways in which all values of a member may be links. */
enum { ALL_HTTP = 1, ALL_LINKS = 2 };

/* The ways in which one value lets a column be of links, or -1 where that is not known. */
static int
link_ways(PyObject *value)
{
    if (value == Py_None) {
        return ALL_LINKS;
    }
    if (!is_text(value)) {
        return is_known(value) ? 0 : -1;
    }
    int links = starts_as_link(value) || PyUnicode_GET_LENGTH(value) == 0;
    return (STARTS(value, "http") ? ALL_HTTP : 0) | (links ? ALL_LINKS : 0);
}

/* Those of all values, or -1 where that is not known, maybe with an exception. */

static int
link_column(PyObject *rows, PyObject *key)
{
    int ways = ALL_HTTP | ALL_LINKS, texts = 0;
    for (Py_ssize_t at = 0; ways > 0 && at < PyList_GET_SIZE(rows); at++) {
        PyObject *value = cell(PyList_GET_ITEM(rows, at), key);
        if (value != NULL) {
            int new = link_ways(value);
            ways = new < 0 ? -1 : ways & new;
            texts |= PyUnicode_CheckExact(value);
            Py_DECREF(value);
        } else if (PyErr_Occurred()) {
            return -1;
        }
    }
    return texts || ways < 0 ? ways : 0;
}

/* Whether links._only_links may look at several members together: all that are usual begin with http. */
static int
all_begin_http(PyObject *rows, PyObject *keys, PyObject *usual)
{
    int members = 0;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(keys); at++) {
        PyObject *key = PyList_GET_ITEM(keys, at);
        int asked = PySet_Contains(usual, key);
        int ways = asked > 0 ? link_column(rows, key) : asked;
        if (ways < 0 || (asked && !(ways & ALL_HTTP))) {
            return ways < 0 ? -1 : 0;
        }
        members += asked;
    }
    return members > 1;
}

/* only_links(rows, keys, usual): links._only_links of members that nothing was done to, or None where not known. */
static PyObject *
rules_only_links(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3 || !PyList_CheckExact(arguments[0]) || !PyList_CheckExact(arguments[1]) ||
        !PyAnySet_CheckExact(arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "only_links takes a list of records, a list of names and a set of names");
        return NULL;
    }
    PyObject *rows = arguments[0], *keys = arguments[1], *usual = arguments[2], *found = PyList_New(0);
    int known = found == NULL ? -1 : all_begin_http(rows, keys, usual), together = known;
    for (Py_ssize_t at = 0; known >= 0 && at < PyList_GET_SIZE(keys); at++) {
        PyObject *key = PyList_GET_ITEM(keys, at);
        int sure = together ? PySet_Contains(usual, key) : 0;
        known = sure < 0 ? -1 : sure ? ALL_LINKS : link_column(rows, key);
        if (known > 0 && known & ALL_LINKS && PyList_Append(found, key) < 0) {
            known = -1;
        }
    }
    if (known < 0) {
        Py_XDECREF(found);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    return found;
}

#endif
