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
        Py_ssize_t start = segments->starts[at], step = 0;
        if (segments->ends[at] - start != length) {
            continue;
        }
        while (step < length && letter(segments->link, start + step) == letter(word, step)) {
            step++;
        }
        if (step == length) {
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

/* links._follow_patterns around the words of one member: 1, 0, -1 an exception, -2 not known. */
static int
follow_patterns(PyObject *links, PyObject *rows, PyObject *name, PyObject *gap)
{
    Py_ssize_t count = PyList_GET_SIZE(links);
    PyObject *patterns = PySet_New(NULL);
    int follows = patterns == NULL ? -1 : 1;
    for (Py_ssize_t at = 0; follows == 1 && at < count; at++) {
        PyObject *pattern = pattern_of(PyList_GET_ITEM(links, at), PyList_GET_ITEM(rows, at), name, gap);
        if (pattern == NULL) {
            follows = PyErr_Occurred() ? -1 : -2;
        } else if (at == 0) {
            follows = PySet_Add(patterns, pattern) < 0 ? -1 : 1;
        } else {
            follows = count_pattern(patterns, pattern, count / LINKS_PER_PATTERN);
        }
        Py_XDECREF(pattern);
    }
    Py_XDECREF(patterns);
    return follows;
}

/* What is asked: whether one member gives all links of these records. */
typedef struct {
    PyObject *links, *rows, *key; /* borrowed from the call's arguments */
    PyObject *gap; /* owned */
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

/* Whether all links are strings that can be read here, one for each record. */
static int
can_follow(PyObject *links, PyObject *rows)
{
    Py_ssize_t count = PyList_GET_SIZE(links);
    int known = count > 0 && PyList_GET_SIZE(rows) == count && PyDict_CheckExact(PyList_GET_ITEM(rows, 0));
    for (Py_ssize_t at = 0; known && at < count; at++) {
        known = is_text(PyList_GET_ITEM(links, at));
    }
    return known;
}

/* pattern(links, rows, key): links._pattern, or None where it is not known. Both lists are the caller's own. */
static PyObject *
rules_pattern(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Following following;
    if (count != 3 || !PyList_CheckExact(arguments[0]) || !PyList_CheckExact(arguments[1]) || !is_text(arguments[2]) ||
        !can_follow(arguments[0], arguments[1]) ||
        !split_link(&following.segments, PyList_GET_ITEM(arguments[0], 0))) {
        Py_RETURN_NONE;
    }
    following.links = arguments[0];
    following.rows = arguments[1];
    following.key = arguments[2];
    following.gap = PyUnicode_FromOrdinal(0);
    int found = following.gap == NULL ? -1 : find_pattern(&following);
    Py_XDECREF(following.gap);
    return found == -1 ? NULL : found == -2 ? Py_NewRef(Py_None) : PyBool_FromLong(found);
}

/* Whether a link is another string with the same ending as the first one is: text == start + ending. */
static int
is_extended(PyObject *text, PyObject *start, PyObject *first, Py_ssize_t from)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(start), ending = PyUnicode_GET_LENGTH(first) - from;
    if (PyUnicode_GET_LENGTH(text) != length + ending) {
        return 0;
    }
    for (Py_ssize_t at = 0; at < length; at++) {
        if (letter(text, at) != letter(start, at)) {
            return 0;
        }
    }
    for (Py_ssize_t at = 0; at < ending; at++) {
        if (letter(text, length + at) != letter(first, from + at)) {
            return 0;
        }
    }
    return 1;
}

/* extends(links, rows, base): links._extends, or None where it is not known. Both lists are the caller's own. */
static PyObject *
rules_extends(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3 || !PyList_CheckExact(arguments[0]) || !PyList_CheckExact(arguments[1]) ||
        !can_follow(arguments[0], arguments[1])) {
        Py_RETURN_NONE;
    }
    PyObject *links = arguments[0], *first = PyList_GET_ITEM(links, 0);
    Py_ssize_t from = 0;
    int extends = 1;
    for (Py_ssize_t at = 0; extends && at < PyList_GET_SIZE(links); at++) {
        PyObject *start = cell(PyList_GET_ITEM(arguments[1], at), arguments[2]);
        if (start == NULL && PyErr_Occurred()) {
            return NULL;
        }
        extends = start != NULL && is_text(start);
        from = extends && at == 0 ? PyUnicode_GET_LENGTH(start) : from;
        extends = extends && from <= PyUnicode_GET_LENGTH(first) &&
                  is_extended(PyList_GET_ITEM(links, at), start, first, from);
        Py_XDECREF(start);
    }
    return PyBool_FromLong(extends);
}

#endif
