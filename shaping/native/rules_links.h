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

/* How long a word in small letters is that stands at a place of ASCII in any case, or 0 where it does not. */
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

/* links._TEMPLATE.search in ASCII: `{`, or a word between percent signs where a part of a path or a parameter begins. */
static int
is_template(PyObject *link)
{
    const Py_UCS1 *start = PyUnicode_1BYTE_DATA(link), *end = start + PyUnicode_GET_LENGTH(link), *at = start;
    if (has_letter(link, '{')) {
        return 1;
    }
    while (at < end && (at = memchr(at, '%', (size_t)(end - at))) != NULL) {
        const Py_UCS1 *word = ++at;
        while (at < end && ((*at >= 'a' && *at <= 'z') || *at == '_')) {
            at++;
        }
        if (at < end && *at == '%' && at - word >= 3 && word - start >= 2 && (word[-2] == '/' || word[-2] == '=')) {
            return 1;
        }
    }
    return 0;
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
    int found = is_template(link) ? 1 : PySet_Contains(judging->pictures, key);
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

/* Whether bool() of a value is false; -1 where code of the caller may answer. */
static int
is_nothing(PyObject *value)
{
    if (is_text(value)) {
        return PyUnicode_GET_LENGTH(value) == 0;
    }
    return is_known(value) ? !PyObject_IsTrue(value) : -1;
}

/* The first value in the sampled records that is something, as links._firsts finds it: 1 and a new reference, 0 not
   known, -1 an exception. */
static int
first_of(PyObject *sample, PyObject *key, PyObject **first)
{
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(sample); at++) {
        PyObject *value = cell(PyTuple_GET_ITEM(sample, at), key);
        int nothing = value != NULL ? is_nothing(value) : PyErr_Occurred() ? -2 : 1;
        if (nothing == 0) {
            *first = value;
            return 1;
        }
        Py_XDECREF(value);
        if (nothing < 0) {
            return nothing == -2 ? -1 : 0;
        }
    }
    return 0;
}

/* Judge all members: 1 done, 0 not known, -1 an exception. */
static int
judge_links(const Judging *judging, PyObject *sample, PyObject *keys)
{
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(keys); at++) {
        PyObject *key = PyTuple_GET_ITEM(keys, at), *first = NULL;
        int known = first_of(sample, key, &first), failed = 0;
        if (known > 0 && is_text(first)) {
            known = PyUnicode_IS_ASCII(first); /* the patterns say more of letters than ASCII has */
            failed = known ? judge_link(judging, key, first) : 0;
        }
        Py_XDECREF(first);
        if (known <= 0 || failed < 0) {
            return failed < 0 ? -1 : known;
        }
    }
    return 1;
}

/* judge(sample, named, company): the sets of plumbing, of links to an API beside it, and of links that begin with http;
   None where not known. */
static PyObject *
rules_judge(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *named = count == 3 ? arguments[1] : Py_None;
    if (!PyTuple_Check(named) || PyTuple_GET_SIZE(named) != 4 || !PyTuple_CheckExact(PyTuple_GET_ITEM(named, 0))) {
        PyErr_SetString(PyExc_TypeError, "judge takes records, links by what they are called, and a bool");
        return NULL;
    }
    if (!PyTuple_CheckExact(arguments[0])) {
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

/* What all values of a member are, as far as they were looked at. */
typedef struct {
    PyObject *key; /* borrowed from the call's arguments */
    int ways, texts, usual;
} LinkColumn;

/* Count a value in; 0 where it is not known what it is. */
static int
add_link(LinkColumn *column, PyObject *value)
{
    int ways = link_ways(value);
    column->ways &= ways;
    column->texts |= PyUnicode_CheckExact(value);
    return ways >= 0;
}

/* Count in a record, whose members mostly come in the order of the columns: 1 done, 0 not known, -1 an exception. */
static int
add_links(PyObject *row, LinkColumn *column, const LinkColumn *end)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
    if (!PyDict_CheckExact(row)) {
        return 0;
    }
    while (column < end && PyDict_Next(row, &at, &key, &value)) {
        if (key == column->key && !add_link(column++, value)) {
            return 0;
        }
    }
    for (; column < end; column++) {
        PyObject *held = cell(row, column->key);
        int known = held != NULL ? add_link(column, held) : PyErr_Occurred() ? -1 : 1;
        Py_XDECREF(held);
        if (known <= 0) {
            return known;
        }
    }
    return 1;
}

/* Whether links._only_links may look at several members together: all that are usual begin with http. */
static int
all_begin_http(const LinkColumn *columns, const LinkColumn *end)
{
    int members = 0;
    for (const LinkColumn *column = columns; column < end; column++) {
        if (column->usual && !(column->texts && column->ways & ALL_HTTP)) {
            return 0;
        }
        members += column->usual;
    }
    return members > 1;
}

/* Look at all records: 1 done, 0 not known, -1 an exception. */
static int
look_at_links(PyObject *rows, PyObject *keys, PyObject *usual, LinkColumn *columns, const LinkColumn *end)
{
    for (LinkColumn *column = columns; column < end; column++) {
        PyObject *key = PyList_GET_ITEM(keys, column - columns);
        *column = (LinkColumn){.key = key, .ways = ALL_HTTP | ALL_LINKS, .usual = PySet_Contains(usual, key)};
        if (column->usual < 0) {
            return -1;
        }
    }
    int known = 1;
    for (Py_ssize_t at = 0; known == 1 && at < PyList_GET_SIZE(rows); at++) {
        PyObject *row = Py_NewRef(PyList_GET_ITEM(rows, at));
        known = add_links(row, columns, end);
        Py_DECREF(row);
    }
    return known;
}

/* The members that hold nothing but links. */
static PyObject *
list_links(const LinkColumn *columns, const LinkColumn *end)
{
    PyObject *found = PyList_New(0);
    int together = all_begin_http(columns, end);
    for (const LinkColumn *column = columns; found != NULL && column < end; column++) {
        int links = (together && column->usual) || (column->texts && column->ways & ALL_LINKS);
        if (links && PyList_Append(found, column->key) < 0) {
            Py_CLEAR(found);
        }
    }
    return found;
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
    size_t size = (size_t)PyList_GET_SIZE(arguments[1]);
    LinkColumn *columns = PyMem_Calloc(size + 1, sizeof(LinkColumn));
    if (columns == NULL) {
        return PyErr_NoMemory();
    }
    int known = look_at_links(arguments[0], arguments[1], arguments[2], columns, columns + size);
    PyObject *found = known > 0 ? list_links(columns, columns + size) : NULL;
    PyMem_Free(columns);
    return known == 0 ? Py_NewRef(Py_None) : found;
}

#endif
