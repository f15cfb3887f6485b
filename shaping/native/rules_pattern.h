/* links._pattern: whether one pattern and one other member give every link. */
#ifndef SHAPING_RULES_PATTERN_H
#define SHAPING_RULES_PATTERN_H

#include "rules_links.h"

static inline int
parts_links(Py_UCS4 one)
{
    return one == '/' || one == '?' || one == '#' || one == '&' || one == '=';
}

/* Whether a word is one of links._SEGMENT.findall of a link. */
static int
is_segment(PyObject *link, PyObject *word)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(link), length = PyUnicode_GET_LENGTH(word);
    for (Py_ssize_t at = 0; length > 0 && at + length <= size; at++) {
        Py_ssize_t step = 0;
        while (step < length && letter(link, at + step) == letter(word, step) && !parts_links(letter(word, step))) {
            step++;
        }
        if (step == length && (at + length == size || parts_links(letter(link, at + length)))) {
            return 1;
        }
        while (at + 1 < size && !parts_links(letter(link, at))) {
            at++;
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

/* Whether one member of the first record, which the caller owns, is part of the first link and gives all of them. */
static int
gives_links(PyObject *links, PyObject *rows, PyObject *name, PyObject *value, PyObject *gap)
{
    if (!is_text(value) && !PyLong_CheckExact(value)) {
        return 0;
    }
    PyObject *word = word_of(value);
    if (word == NULL) {
        return -1;
    }
    int found = is_segment(PyList_GET_ITEM(links, 0), word);
    Py_DECREF(word);
    return found && PyList_GET_SIZE(links) >= LINKS_ENOUGH ? follow_patterns(links, rows, name, gap) : found;
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
    if (count != 3 || !PyList_CheckExact(arguments[0]) || !PyList_CheckExact(arguments[1]) || !is_text(arguments[2]) ||
        !can_follow(arguments[0], arguments[1])) {
        Py_RETURN_NONE;
    }
    PyObject *gap = PyUnicode_FromOrdinal(0), *first = PyList_GET_ITEM(arguments[1], 0), *name, *value;
    Py_ssize_t at = 0;
    int found = gap == NULL ? -1 : 0;
    while (found == 0 && PyDict_Next(first, &at, &name, &value)) {
        Py_INCREF(name);
        Py_INCREF(value);
        if (!is_text(name)) {
            found = -2;
        } else if (!same_text(name, arguments[2])) {
            found = gives_links(arguments[0], arguments[1], name, value, gap);
        }
        Py_DECREF(value);
        Py_DECREF(name);
    }
    Py_XDECREF(gap);
    return found == -1 ? NULL : found == -2 ? Py_NewRef(Py_None) : PyBool_FromLong(found);
}

#endif
