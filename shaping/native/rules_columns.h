/* One member of all records of a place. */
#ifndef SHAPING_RULES_COLUMNS_H
#define SHAPING_RULES_COLUMNS_H

#include "rules_text.h"

/* Append what a record holds under a name, or what stands for nothing; without that, only what there is. */
static int
append_cell(PyObject *column, PyObject *row, PyObject *key, PyObject *missing)
{
    PyObject *value = cell(row, key);
    if (value == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (value == NULL) {
        return missing == NULL ? 0 : PyList_Append(column, missing);
    }
    int failed = PyList_Append(column, value);
    Py_DECREF(value);
    return failed;
}

static PyObject *
column_of(PyObject *rows, PyObject *key, PyObject *missing)
{
    PyObject *column = PyList_New(0);
    for (Py_ssize_t at = 0; column != NULL && at < PyList_GET_SIZE(rows); at++) {
        if (append_cell(column, PyList_GET_ITEM(rows, at), key, missing) < 0) {
            Py_CLEAR(column);
        }
    }
    return column;
}

/* column(rows, key, MISSING): Batch.column of a member that nothing was done to. */
static PyObject *
rules_column(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3 || !PyList_CheckExact(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "column takes a list of records, a name and what stands for nothing");
        return NULL;
    }
    return column_of(arguments[0], arguments[1], arguments[2]);
}

/* present(rows, key): Batch.present of a member that nothing was done to. */
static PyObject *
rules_present(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyList_CheckExact(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "present takes a list of records and a name");
        return NULL;
    }
    return column_of(arguments[0], arguments[1], NULL);
}

/* Whether a string begins with a tag, as boilerplate._WRAPPED asks. */
static int
begins_with_tag(PyObject *text)
{
    Py_ssize_t at = 0, size = PyUnicode_GET_LENGTH(text);
    while (at < size && Py_UNICODE_ISSPACE(letter(text, at))) {
        at++;
    }
    return at < size && letter(text, at) == '<';
}

/* Whether what boilerplate._TRACKER begins with stands at a place of a string. */
static int
is_tracker(PyObject *text, Py_ssize_t at)
{
    Py_UCS4 one = at < PyUnicode_GET_LENGTH(text) ? letter(text, at) : 0;
    if (one != '_' && (one < 'd' || one > 'y')) {
        return 0;
    }
    static const char *const trackers[] = {"utm_",    "gclid=",  "fbclid=", "dclid=",  "msclkid=",
                                           "mc_cid=", "mc_eid=", "igshid=", "yclid=",  "_hsenc=",
                                           "_hsmi=",  "vero_id=", "ref_src=", "spm=",  "oly_"};
    for (size_t which = 0; which < sizeof(trackers) / sizeof(trackers[0]); which++) {
        if (stands_at(text, at, trackers[which], (Py_ssize_t)strlen(trackers[which]))) {
            return 1;
        }
    }
    return 0;
}

/* Whether a tracker may follow on a letter somewhere in a string. */
static int
has_tracker_after(PyObject *text, char mark)
{
    Py_ssize_t at = -1, size = PyUnicode_GET_LENGTH(text);
    while ((at = PyUnicode_FindChar(text, (Py_UCS4)(unsigned char)mark, at + 1, size, 1)) >= 0) {
        if (is_tracker(text, at + 1) || (stands_at(text, at + 1, "amp;", 4) && is_tracker(text, at + 5))) {
            return 1;
        }
    }
    return 0;
}

/* Whether boilerplate._needed may find a step for a string. */
static int
may_need_steps(PyObject *text)
{
    if (has_letter(text, ';') && HOLDS(text, ";base64,")) {
        return 1;
    }
    if (begins_with_tag(text)) {
        return 1;
    }
    int tracked = has_letter(text, '=') && (has_tracker_after(text, '?') || has_tracker_after(text, '&'));
    return tracked && HOLDS(text, "://");
}

/* may_be_wrapped(column): of each value whether boilerplate.unwrap may change it, or None where it changes none. */
static PyObject *
rules_may_be_wrapped(PyObject *Py_UNUSED(module), PyObject *column)
{
    if (!PyList_CheckExact(column)) {
        PyErr_SetString(PyExc_TypeError, "may_be_wrapped takes a list");
        return NULL;
    }
    int any = 0;
    PyObject *flags = PyList_New(0); /* which may run a finalizer that changes the column */
    for (Py_ssize_t at = 0; flags != NULL && at < PyList_GET_SIZE(column); at++) {
        PyObject *value = PyList_GET_ITEM(column, at);
        int may = PyUnicode_CheckExact(value) && (!is_text(value) || may_need_steps(value));
        any |= may;
        if (PyList_Append(flags, may ? Py_True : Py_False) < 0) {
            Py_CLEAR(flags);
        }
    }
    if (flags != NULL && !any) {
        Py_DECREF(flags);
        Py_RETURN_NONE;
    }
    return flags;
}

/* How many records have a member, or -1 with an exception. */
static Py_ssize_t
count_member(PyObject *rows, PyObject *key)
{
    Py_ssize_t found = 0;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(rows); at++) {
        PyObject *value = cell(PyList_GET_ITEM(rows, at), key);
        found += value != NULL;
        Py_XDECREF(value);
    }
    return PyErr_Occurred() ? -1 : found;
}

/* counts(rows, keys): how many records have each member, as a tuple. */
static PyObject *
rules_counts(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyList_CheckExact(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "counts takes a list of records and names");
        return NULL;
    }
    PyObject *keys = PySequence_Tuple(arguments[1]);
    PyObject *counts = keys == NULL ? NULL : PyTuple_New(PyTuple_GET_SIZE(keys));
    for (Py_ssize_t at = 0; counts != NULL && at < PyTuple_GET_SIZE(keys); at++) {
        Py_ssize_t found = count_member(arguments[0], PyTuple_GET_ITEM(keys, at));
        PyObject *number = found < 0 ? NULL : PyLong_FromSsize_t(found);
        if (number == NULL) {
            Py_CLEAR(counts);
        } else {
            PyTuple_SET_ITEM(counts, at, number);
        }
    }
    Py_XDECREF(keys);
    return counts;
}

/* The next of the values that took the place of records and lists; what is empty goes. */
static PyObject *
next_fresh(PyObject *fresh, Py_ssize_t *at, PyObject *missing)
{
    if (*at >= PyList_GET_SIZE(fresh)) {
        PyErr_SetString(PyExc_ValueError, "fewer values came back than went in");
        return NULL;
    }
    PyObject *value = PyList_GET_ITEM(fresh, (*at)++);
    return (PyDict_CheckExact(value) && PyDict_GET_SIZE(value) == 0) ||
                   (PyList_CheckExact(value) && PyList_GET_SIZE(value) == 0)
               ? missing
               : value;
}

/* refilled(column, fresh, MISSING): a column whose records and lists came back as others, as in walk._go_inside. */
static PyObject *
rules_refilled(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3 || !PyList_CheckExact(arguments[0]) || !PyList_CheckExact(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "refilled takes a column, values and what stands for nothing");
        return NULL;
    }
    Py_ssize_t taken = 0;
    PyObject *column = arguments[0], *out = PyList_New(0);
    for (Py_ssize_t at = 0; out != NULL && at < PyList_GET_SIZE(column); at++) {
        PyObject *value = PyList_GET_ITEM(column, at);
        if (PyDict_CheckExact(value) || PyList_CheckExact(value)) {
            value = next_fresh(arguments[1], &taken, arguments[2]);
        }
        if (value == NULL || PyList_Append(out, value) < 0) {
            Py_CLEAR(out);
        }
    }
    return out;
}

#endif
