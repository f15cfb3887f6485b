/* What long strings are, and their heads: shaping.noise.bulk and columns. */
#ifndef SHAPING_RULES_BULK_H
#define SHAPING_RULES_BULK_H

#include "rules_text.h"

enum { BULK_LOOK = 1500, BULK_SOME = 6, CODE_LENGTH = 8 };

static inline int
is_latin(Py_UCS4 one)
{
    return (one | 32) >= 'a' && (one | 32) <= 'z';
}

/* How many bytes a letter takes in UTF-8, or 0 where it has none. */
static inline Py_ssize_t
bytes_of(Py_UCS4 one)
{
    if (one >= 0xD800 && one <= 0xDFFF) {
        return 0;
    }
    return one < 0x80 ? 1 : one < 0x800 ? 2 : one < 0x10000 ? 3 : 4;
}

/* bulk.is_prose of a text that is ASCII; of its first letters, as below. */
static int
is_ascii_prose(const Py_UCS1 *text, Py_ssize_t size)
{
    Py_ssize_t other = 0, at = 0;
    for (; at < size; at++) {
        other += !is_latin(text[at]) && text[at] != ' ';
    }
    for (at = 1; at < size; at++) {
        if (text[at] == ' ' && text[at - 1] == ' ') {
            other += 2;
            at++; /* pairs of blanks do not overlap */
        }
    }
    return (double)other < 0.2 * (double)size;
}

/* bulk.is_prose; -1 where the text cannot be encoded. */
static int
is_prose(PyObject *text)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text), bytes = 0, other = 0;
    size = size < BULK_LOOK ? size : BULK_LOOK;
    if (PyUnicode_IS_ASCII(text)) {
        return is_ascii_prose(PyUnicode_1BYTE_DATA(text), size);
    }
    Py_UCS4 before = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        Py_UCS4 one = letter(text, at);
        Py_ssize_t length = bytes_of(one);
        if (length == 0) {
            return -1;
        }
        bytes += length;
        if (one == ' ' && before == ' ') {
            other += 2;
            one = 0;
        } else if (one < 0x80 && one != ' ' && !is_latin(one)) {
            other++;
        }
        before = one;
    }
    return (double)other < 0.2 * (double)bytes;
}

/* The rest of each mark of bulk._CODE, by the letter it begins with; no two begin with the same one. */
static const char *const CODE_MARKS[128] = {
    [';'] = "\n",   ['{'] = "\n",     ['}'] = "\n",       ['='] = "> ",  [')'] = ";",     ['<'] = "/",
    ['d'] = "ef ", ['i'] = "mport ", ['f'] = "unction ", ['v'] = "ar ", ['c'] = "onst ", ['#'] = "include",
};

/* Whether a text has one of bulk._CODE. */
static int
has_code_mark(PyObject *text)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    const int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t at = 0; at + 1 < size; at++) {
        Py_UCS4 one = PyUnicode_READ(kind, data, at);
        const char *rest = one < 128 ? CODE_MARKS[one] : NULL;
        if (rest != NULL && PyUnicode_READ(kind, data, at + 1) == (Py_UCS4)rest[0] &&
            stands_at(text, at + 1, rest, (Py_ssize_t)strlen(rest))) {
            return 1;
        }
    }
    return 0;
}

/* is_code(text): bulk._is_code, or None where that is not known. */
static PyObject *
rules_is_code(PyObject *Py_UNUSED(module), PyObject *text)
{
    int prose = is_text(text) ? is_prose(text) : -1;
    if (prose < 0) {
        Py_RETURN_NONE;
    }
    return PyBool_FromLong(!prose && has_code_mark(text));
}

/* bulk._is_table */
static int
is_table(PyObject *row)
{
    Py_ssize_t at = 0;
    PyObject *value;
    while (PyDict_Next(row, &at, NULL, &value)) {
        if (PyList_CheckExact(value) && PyList_GET_SIZE(value) > 2 && PyDict_CheckExact(PyList_GET_ITEM(value, 0))) {
            return 1;
        }
    }
    return 0;
}

/* any_table(rows): whether one of the first few records is a table. */
static PyObject *
rules_any_table(PyObject *Py_UNUSED(module), PyObject *rows)
{
    if (!PyList_CheckExact(rows)) {
        PyErr_SetString(PyExc_TypeError, "any_table takes a list of records");
        return NULL;
    }
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(rows) && at < BULK_SOME; at++) {
        PyObject *row = PyList_GET_ITEM(rows, at);
        if (PyDict_CheckExact(row) && is_table(row)) {
            Py_RETURN_TRUE;
        }
    }
    Py_RETURN_FALSE;
}

/* bulk.shorten of a text longer than the head, as a new reference. */
static PyObject *
shortened(PyObject *text, Py_ssize_t head)
{
    Py_ssize_t end = head, edge = head - 1;
    while (edge >= 0 && letter(text, edge) != ' ' && letter(text, edge) != '\n') {
        edge--;
    }
    if ((double)edge > (double)head * 0.6) {
        end = edge;
    }
    while (end > 0 && Py_UNICODE_ISSPACE(letter(text, end - 1))) {
        end--;
    }
    PyObject *kept = PyUnicode_Substring(text, 0, end);
    if (kept == NULL) {
        return NULL;
    }
    PyObject *noted = PyUnicode_FromFormat("%U %c[%zd characters]", kept, 0x2026, PyUnicode_GET_LENGTH(text));
    Py_DECREF(kept);
    return noted;
}

/* One value of a column, cut where it is long: a new reference. */
static PyObject *
cut_value(PyObject *value, Py_ssize_t limit, Py_ssize_t head, Py_ssize_t *cut)
{
    if (!is_text(value) || PyUnicode_GET_LENGTH(value) <= limit) {
        return Py_NewRef(value);
    }
    ++*cut;
    return shortened(value, head);
}

/* cut(column, limit, head): the column with its long strings cut, and how many were; bulk._cut. */
static PyObject *
rules_cut(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Py_ssize_t limit = count == 3 ? PyLong_AsSsize_t(arguments[1]) : -1;
    Py_ssize_t head = count == 3 && limit >= 0 ? PyLong_AsSsize_t(arguments[2]) : -1;
    if (head < 0 || head > limit || !PyList_CheckExact(arguments[0])) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "cut takes a column, a length, and a shorter one");
        }
        return NULL;
    }
    Py_ssize_t cut = 0;
    PyObject *column = arguments[0], *out = PyList_New(0);
    for (Py_ssize_t at = 0; out != NULL && at < PyList_GET_SIZE(column); at++) {
        PyObject *value = cut_value(PyList_GET_ITEM(column, at), limit, head, &cut);
        if (value == NULL || PyList_Append(out, value) < 0) {
            Py_CLEAR(out);
        }
        Py_XDECREF(value);
    }
    return out == NULL ? NULL : Py_BuildValue("(Nn)", out, cut);
}

/* spaced(rows, key): whether a string among a member's values has a blank in it, and so is no code. */
static PyObject *
rules_spaced(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyList_CheckExact(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "spaced takes a list of records and a name");
        return NULL;
    }
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(arguments[0]); at++) {
        PyObject *value = cell(PyList_GET_ITEM(arguments[0], at), arguments[1]);
        if (value == NULL && PyErr_Occurred()) {
            return NULL;
        }
        int spaced = value != NULL && is_text(value) && has_letter(value, ' ');
        Py_XDECREF(value);
        if (spaced) {
            Py_RETURN_TRUE;
        }
    }
    Py_RETURN_FALSE;
}

/* Whether a string that is not empty matches columns._CODE, line ends aside; -1 where it is more than ASCII. */
static int
is_code_word(PyObject *text)
{
    if (!is_text(text) || !PyUnicode_IS_ASCII(text)) {
        return -1;
    }
    const Py_UCS1 *at = PyUnicode_1BYTE_DATA(text), *end = at + PyUnicode_GET_LENGTH(text);
    Py_ssize_t letters = 0;
    for (; at < end; at++) {
        if (*at == '\n') {
            continue;
        }
        if (!is_latin(*at) && !(*at >= '0' && *at <= '9') && (*at == '\0' || strchr("_+/=.:\"@-", *at) == NULL)) {
            return 0;
        }
        letters++;
    }
    return letters >= CODE_LENGTH || PyUnicode_GET_LENGTH(text) == 0;
}

/* all_codes(values): columns.all_codes, or None where that is not known. */
static PyObject *
rules_all_codes(PyObject *Py_UNUSED(module), PyObject *values)
{
    int known = PyList_CheckExact(values) ? 1 : -1;
    for (Py_ssize_t at = 0; known == 1 && at < PyList_GET_SIZE(values); at++) {
        known = is_code_word(PyList_GET_ITEM(values, at));
    }
    if (known < 0) {
        Py_RETURN_NONE;
    }
    return PyBool_FromLong(known);
}

#endif
