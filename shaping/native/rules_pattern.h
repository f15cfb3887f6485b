/* links._pattern: whether one pattern and one other member give every link. */
#ifndef SHAPING_RULES_PATTERN_H
#define SHAPING_RULES_PATTERN_H

#include "rules_links.h"

static inline int
parts_links(Py_UCS4 one)
{
    return one == '/' || one == '?' || one == '#' || one == '&' || one == '=';
}

enum { SEGMENTS = 32 };

/* links._SEGMENT.findall of a link, as where each begins and ends. */
typedef struct {
    PyObject *link; /* borrowed */
    int count;
    Py_ssize_t starts[SEGMENTS], ends[SEGMENTS];
} Segments;

/* Split a link; 0 where it has too many parts. */
static int
split_link(Segments *segments, PyObject *link)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(link), start = 0;
    segments->link = link;
    segments->count = 0;
    for (Py_ssize_t at = 0; at <= size; at++) {
        if (at < size && !parts_links(letter(link, at))) {
            continue;
        }
        if (at > start) {
            if (segments->count == SEGMENTS) {
                return 0;
            }
            segments->starts[segments->count] = start;
            segments->ends[segments->count++] = at;
        }
        start = at + 1;
    }
    return 1;
}

/* Whether a word is one of the parts of a link. */
static int
is_segment(const Segments *segments, PyObject *word)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(word);
    for (int at = 0; at < segments->count; at++) {
        Py_ssize_t start = segments->starts[at];
        if (segments->ends[at] - start == length && same_part(segments->link, start, word, 0, length)) {
            return 1;
        }
    }
    return 0;
}

/* str() of what is no record, list or other object, as a new reference; NULL, maybe with an exception, of those. */
static PyObject *
word_of(PyObject *value)
{
    if (value == NULL) {
        return PyErr_Occurred() ? NULL : PyObject_Str(Py_None);
    }
    if (!is_known(value) || PyDict_CheckExact(value) || PyList_CheckExact(value)) {
        return NULL;
    }
    return is_text(value) ? Py_NewRef(value) : PyObject_Str(value);
}

/* What is left of a link without a member's value; NULL, maybe with an exception, where that value is no word. */
static PyObject *
pattern_of(PyObject *link, PyObject *row, PyObject *name, PyObject *gap)
{
    PyObject *value = cell(row, name), *word = word_of(value);
    PyObject *pattern = word == NULL ? NULL : PyUnicode_Replace(link, word, gap, -1);
    Py_XDECREF(word);
    Py_XDECREF(value);
    return pattern;
}

/* Count a pattern in: 1 goes on, 0 too many or one without the word, -1 an exception. */
static int
count_pattern(PyObject *patterns, PyObject *pattern, Py_ssize_t most)
{
    int known = PySet_Contains(patterns, pattern);
    if (known != 0) {
        return known;
    }
    if (PySet_Add(patterns, pattern) < 0) {
        return -1;
    }
    return has_letter(pattern, '\0') && PySet_GET_SIZE(patterns) <= most;
}

/* Count in the pattern of one link; most are the first one once more. */
static int
follow_pattern(PyObject *patterns, PyObject **first, PyObject *pattern, Py_ssize_t most)
{
    if (*first == NULL) {
        *first = Py_NewRef(pattern);
        return PySet_Add(patterns, pattern) < 0 ? -1 : 1;
    }
    return same_text(*first, pattern) ? 1 : count_pattern(patterns, pattern, most);
}

/* links._follow_patterns around the words of one member: 1, 0, -1 an exception, -2 not known. */
static int
follow_patterns(PyObject *links, PyObject *rows, PyObject *name, PyObject *gap)
{
    Py_ssize_t count = PyList_GET_SIZE(links);
    PyObject *patterns = PySet_New(NULL), *first = NULL;
    int follows = patterns == NULL ? -1 : 1;
    for (Py_ssize_t at = 0; follows == 1 && at < count; at++) {
        PyObject *pattern = pattern_of(PyList_GET_ITEM(links, at), PyList_GET_ITEM(rows, at), name, gap);
        if (pattern == NULL) {
            follows = PyErr_Occurred() ? -1 : -2;
        } else {
            follows = follow_pattern(patterns, &first, pattern, count / LINKS_PER_PATTERN);
        }
        Py_XDECREF(pattern);
    }
    Py_XDECREF(first);
    Py_XDECREF(patterns);
    return follows;
}

/* What is asked: whether one member gives all links of these records. */
typedef struct {
    PyObject *key; /* borrowed from the call's arguments */
    PyObject *links, *rows, *gap; /* owned */
    Segments segments;
} Following;

/* Whether one member of the first record, which the caller owns, is part of the first link and gives all of them. */
static int
gives_links(Following *following, PyObject *name, PyObject *value)
{
    if (!is_text(value) && !PyLong_CheckExact(value)) {
        return 0;
    }
    PyObject *word = word_of(value);
    if (word == NULL) {
        return -1;
    }
    int found = is_segment(&following->segments, word);
    Py_DECREF(word);
    if (!found || PyList_GET_SIZE(following->links) < LINKS_ENOUGH) {
        return found;
    }
    return follow_patterns(following->links, following->rows, name, following->gap);
}

/* The loop of links._pattern over the first record: 1, 0, -1 an exception, -2 not known. */
static int
find_pattern(Following *following)
{
    PyObject *first = PyList_GET_ITEM(following->rows, 0), *name, *value;
    Py_ssize_t at = 0;
    int found = 0;
    Py_INCREF(first);
    while (found == 0 && PyDict_Next(first, &at, &name, &value)) {
        Py_INCREF(name);
        Py_INCREF(value);
        if (!is_text(name)) {
            found = -2;
        } else if (!same_text(name, following->key)) {
            found = gives_links(following, name, value);
        }
        Py_DECREF(value);
        Py_DECREF(name);
    }
    Py_DECREF(first);
    return found;
}

/* The strings of a member, and the owners of the records they are in: 1 done, 0 not known, -1 an exception. */
static int
gather_links(PyObject *rows, PyObject *key, PyObject *owners, PyObject *links, PyObject *found)
{
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(rows) && at < PyList_GET_SIZE(owners); at++) {
        PyObject *owner = Py_NewRef(PyList_GET_ITEM(owners, at)), *value = cell(PyList_GET_ITEM(rows, at), key);
        int known = value != NULL || PyErr_Occurred() == NULL ? 1 : -1;
        if (value != NULL && PyUnicode_CheckExact(value)) {
            known = is_text(value) && PyDict_CheckExact(owner);
            known = known && (PyList_Append(links, value) < 0 || PyList_Append(found, owner) < 0) ? -1 : known;
        }
        Py_XDECREF(value);
        Py_DECREF(owner);
        if (known <= 0) {
            return known;
        }
    }
    return PyList_GET_SIZE(links) > 0;
}

/* Find a pattern: 1, 0, -1 an exception, -2 not known. */
static int
search_pattern(Following *following, PyObject *rows, PyObject *owners)
{
    int known = gather_links(rows, following->key, owners, following->links, following->rows);
    if (known <= 0 || !split_link(&following->segments, PyList_GET_ITEM(following->links, 0))) {
        return known < 0 ? -1 : -2;
    }
    return find_pattern(following);
}

/* pattern(rows, key, owners): links._pattern of a member's strings and the records themselves or their owners, or None
   where it is not known. */
static PyObject *
rules_pattern(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3 || !PyList_CheckExact(arguments[0]) || !is_text(arguments[1]) || !PyList_CheckExact(arguments[2]) ||
        PyList_GET_SIZE(arguments[0]) != PyList_GET_SIZE(arguments[2])) {
        Py_RETURN_NONE;
    }
    Following following;
    following.key = arguments[1];
    following.links = PyList_New(0);
    following.rows = PyList_New(0);
    following.gap = PyUnicode_FromOrdinal(0);
    int found = -1;
    if (following.links != NULL && following.rows != NULL && following.gap != NULL) {
        found = search_pattern(&following, arguments[0], arguments[2]);
    }
    Py_XDECREF(following.links);
    Py_XDECREF(following.rows);
    Py_XDECREF(following.gap);
    return found == -1 ? NULL : found == -2 ? Py_NewRef(Py_None) : PyBool_FromLong(found);
}

/* Whether a link is another string with the same ending as the first one is: text == start + ending. */
static int
is_extended(PyObject *text, PyObject *start, PyObject *first, Py_ssize_t from)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(start), ending = PyUnicode_GET_LENGTH(first) - from;
    return PyUnicode_GET_LENGTH(text) == length + ending && same_part(text, 0, start, 0, length) &&
           same_part(text, length, first, from, ending);
}

/* links._extends of one record after the first, whose link and where its ending begins are known by then; the caller
   owns the link. 1, 0, -1 an exception. */
static int
goes_on(PyObject *row, PyObject *link, PyObject *base, PyObject **first, Py_ssize_t *from)
{
    PyObject *start = cell(row, base);
    if (start == NULL || !is_text(start)) {
        Py_XDECREF(start);
        return PyErr_Occurred() ? -1 : 0;
    }
    if (*first == NULL) {
        *first = Py_NewRef(link);
        *from = PyUnicode_GET_LENGTH(start);
    }
    int extends = *from <= PyUnicode_GET_LENGTH(*first) && is_extended(link, start, *first, *from);
    Py_DECREF(start);
    return extends;
}

/* extends(rows, key, base): links._extends */
static PyObject *
rules_extends(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3 || !PyList_CheckExact(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "extends takes a list of records and two names");
        return NULL;
    }
    PyObject *rows = arguments[0], *first = NULL;
    Py_ssize_t from = 0;
    int extends = 1;
    for (Py_ssize_t at = 0; extends == 1 && at < PyList_GET_SIZE(rows); at++) {
        PyObject *row = Py_NewRef(PyList_GET_ITEM(rows, at)), *link = cell(row, arguments[1]);
        if (link != NULL && is_text(link)) {
            extends = goes_on(row, link, arguments[2], &first, &from);
        } else if (PyErr_Occurred()) {
            extends = -1;
        }
        Py_XDECREF(link);
        Py_DECREF(row);
    }
    Py_XDECREF(first);
    return extends < 0 ? NULL : PyBool_FromLong(extends);
}

#endif
