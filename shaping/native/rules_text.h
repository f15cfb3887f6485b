/* Questions to one string, whatever the width of its letters; none of these can fail. */
#ifndef SHAPING_RULES_TEXT_H
#define SHAPING_RULES_TEXT_H

#include <Python.h>
#include <string.h>

enum { TEXT_CODED = 120 }; /* encoded.CODED */

/* A string that no code of the caller stands behind, and whose letters can be read. */
static inline int
is_text(PyObject *value)
{
#if PY_VERSION_HEX < 0x030C0000
    return PyUnicode_CheckExact(value) && PyUnicode_IS_READY(value);
#else
    return PyUnicode_CheckExact(value);
#endif
}

static inline Py_UCS4
letter(PyObject *text, Py_ssize_t at)
{
    return PyUnicode_READ_CHAR(text, at);
}

/* Whether a string holds a letter, which is one of ASCII. */
static int
has_letter(PyObject *text, char wanted)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    if (PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND) {
        return memchr(PyUnicode_1BYTE_DATA(text), wanted, (size_t)size) != NULL;
    }
    return PyUnicode_FindChar(text, (Py_UCS4)(unsigned char)wanted, 0, size, 1) >= 0;
}

/* Whether a part, which is ASCII, stands at a place of a string. */
static int
stands_at(PyObject *text, Py_ssize_t at, const char *part, Py_ssize_t length)
{
    if (at < 0 || PyUnicode_GET_LENGTH(text) - at < length) {
        return 0;
    }
    if (PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND) {
        return memcmp(PyUnicode_1BYTE_DATA(text) + at, part, (size_t)length) == 0;
    }
    for (Py_ssize_t step = 0; step < length; step++) {
        if (letter(text, at + step) != (Py_UCS4)(unsigned char)part[step]) {
            return 0;
        }
    }
    return 1;
}

#define STARTS(text, part) stands_at((text), 0, (part), (Py_ssize_t)sizeof(part) - 1)
#define HOLDS(text, part) (place_of((text), (part), (Py_ssize_t)sizeof(part) - 1) >= 0)

/* Where a part, which is ASCII, stands first in a string, or -1. */
static Py_ssize_t
place_of(PyObject *text, const char *part, Py_ssize_t length)
{
    Py_ssize_t last = PyUnicode_GET_LENGTH(text) - length;
    if (last < 0) {
        return -1;
    }
    if (PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND) {
        const Py_UCS1 *start = PyUnicode_1BYTE_DATA(text), *at = start, *end = start + last + 1;
        while (at < end && (at = memchr(at, part[0], (size_t)(end - at))) != NULL) {
            if (memcmp(at, part, (size_t)length) == 0) {
                return at - start;
            }
            at++;
        }
        return -1;
    }
    Py_ssize_t at = -1;
    while ((at = PyUnicode_FindChar(text, (Py_UCS4)(unsigned char)part[0], at + 1, last + 1, 1)) >= 0) {
        if (stands_at(text, at, part, length)) {
            return at;
        }
    }
    return -1;
}

/* str.isalnum of a string that is not empty. */
static int
is_alnum(PyObject *text)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    for (Py_ssize_t at = 0; at < size; at++) {
        if (!Py_UNICODE_ISALNUM(letter(text, at))) {
            return 0;
        }
    }
    return size > 0;
}

/* encoded.is_coded of a string that is long enough. */
static int
is_coded(PyObject *text)
{
    int small = 0, capital = 0;
    if (!PyUnicode_IS_ASCII(text)) {
        return 0;
    }
    const Py_UCS1 *at = PyUnicode_1BYTE_DATA(text), *end = at + PyUnicode_GET_LENGTH(text);
    for (; at < end; at++) {
        if (*at >= 'a' && *at <= 'z') {
            small = 1;
        } else if (*at >= 'A' && *at <= 'Z') {
            capital = 1;
        } else if (!(*at >= '0' && *at <= '9') && (*at == '\0' || strchr("+/_=\n-", *at) == NULL)) {
            return 0;
        }
    }
    return small && capital;
}

/* Whether two strings are equal: equal ones have letters of the same width. */
static int
same_text(PyObject *one, PyObject *other)
{
    if (one == other) {
        return 1;
    }
    Py_ssize_t size = PyUnicode_GET_LENGTH(one);
    if (size != PyUnicode_GET_LENGTH(other) || PyUnicode_KIND(one) != PyUnicode_KIND(other)) {
        return 0;
    }
    return memcmp(PyUnicode_DATA(one), PyUnicode_DATA(other), (size_t)(size * PyUnicode_KIND(one))) == 0;
}

/* Whether so many letters from a place of one string stand at a place of another; both have them. */
static int
same_part(PyObject *one, Py_ssize_t at, PyObject *other, Py_ssize_t there, Py_ssize_t length)
{
    const Py_ssize_t width = PyUnicode_KIND(one);
    if (width == (Py_ssize_t)PyUnicode_KIND(other)) {
        const char *left = PyUnicode_DATA(one), *right = PyUnicode_DATA(other);
        return memcmp(left + at * width, right + there * width, (size_t)(length * width)) == 0;
    }
    for (Py_ssize_t step = 0; step < length; step++) {
        if (letter(one, at + step) != letter(other, there + step)) {
            return 0;
        }
    }
    return 1;
}

/* str.startswith(LINK_STARTS) */
static int
starts_as_link(PyObject *text)
{
    if (PyUnicode_GET_LENGTH(text) < 2) {
        return 0;
    }
    switch (letter(text, 0)) {
    case 'h':
        return STARTS(text, "https://") || STARTS(text, "http://");
    case 'g':
        return STARTS(text, "git://") || STARTS(text, "git@");
    case 's':
        return STARTS(text, "ssh://") || STARTS(text, "svn://");
    case 'f':
        return STARTS(text, "ftp://");
    case '/':
        return STARTS(text, "//");
    default:
        return 0;
    }
}

/* Whether a string that is no link has what Batch._kind_of takes for wrapping, if it is long enough. */
static int
may_hold_markup(PyObject *text)
{
    return has_letter(text, '\n') || (has_letter(text, '/') && (HOLDS(text, "</") || HOLDS(text, "://")));
}

/* Whether a value is one that JSON has and no code of the caller stands behind; records and lists are. */
static int
is_known(PyObject *value)
{
    return is_text(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value) ||
           value == Py_None || PyDict_CheckExact(value) || PyList_CheckExact(value);
}

/* What a record holds under a name, as a new reference; NULL, maybe with an exception, where it holds nothing. */
static PyObject *
cell(PyObject *row, PyObject *key)
{
    if (!PyDict_CheckExact(row)) {
        return NULL;
    }
    Py_INCREF(row); /* a name in it that is no plain string may run anything when it is compared */
    PyObject *value = PyDict_GetItemWithError(row, key);
    Py_XINCREF(value);
    Py_DECREF(row);
    return value;
}

#endif
