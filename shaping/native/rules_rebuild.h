/* rebuild.rebuilt: records without what the rules took from them. */
#ifndef SHAPING_RULES_REBUILD_H
#define SHAPING_RULES_REBUILD_H

#include "rules_text.h"

/* The names that stay of all members of a place. */
static PyObject *
names_kept(PyObject *kinds, PyObject *drop)
{
    PyObject *kept = PyList_New(0), *key;
    Py_ssize_t at = 0;
    while (kept != NULL && PyDict_Next(kinds, &at, &key, NULL)) {
        int gone = PyDict_Contains(drop, key);
        if (gone < 0 || (!gone && PyList_Append(kept, key) < 0)) {
            Py_CLEAR(kept);
        }
    }
    return kept;
}

/* Write the members that stay, all of which a record has, over those in a copy of the record made before it. */
static PyObject *
with_only(PyObject *row, PyObject *kept, PyObject *before)
{
    PyObject *out = before == NULL ? PyDict_New() : PyDict_Copy(before);
    for (Py_ssize_t at = 0; out != NULL && at < PyList_GET_SIZE(kept); at++) {
        PyObject *key = PyList_GET_ITEM(kept, at), *value = cell(row, key);
        if (value == NULL && !PyErr_Occurred()) {
            PyErr_SetObject(PyExc_KeyError, key);
        }
        if (value == NULL || PyDict_SetItem(out, key, value) < 0) {
            Py_CLEAR(out);
        }
        Py_XDECREF(value);
    }
    return out;
}

/* Take a member out of a copy that may have it. */
static int
take_out(PyObject *copy, PyObject *key)
{
    int has = PyDict_Contains(copy, key);
    return has > 0 ? PyDict_DelItem(copy, key) : has;
}

/* A copy of a record without some members, some of which it may have. */
static PyObject *
without(PyObject *row, PyObject *drop)
{
    PyObject *out = PyDict_Copy(row), *key;
    Py_ssize_t at = 0;
    while (out != NULL && PyDict_Next(drop, &at, &key, NULL)) {
        if (take_out(out, key) < 0) {
            Py_CLEAR(out);
        }
    }
    return out;
}

/* Copies of records without what goes; by what stays where that is given, because all have it and it is less. */
static PyObject *
all_without(PyObject *rows, PyObject *drop, PyObject *kept)
{
    PyObject *out = PyList_New(0), *made = NULL;
    for (Py_ssize_t at = 0; out != NULL && at < PyList_GET_SIZE(rows); at++) {
        PyObject *row = Py_NewRef(PyList_GET_ITEM(rows, at)), *before = made;
        made = NULL;
        if (!PyDict_CheckExact(row)) {
            PyErr_SetString(PyExc_TypeError, "a record is a dict");
        } else {
            made = kept == NULL ? without(row, drop) : with_only(row, kept, before);
        }
        if (made == NULL || PyList_Append(out, made) < 0) {
            Py_CLEAR(out);
        }
        Py_XDECREF(before);
        Py_DECREF(row);
    }
    Py_XDECREF(made);
    return out;
}

/* without(rows, kinds, drop, uniform): rebuild._without */
static PyObject *
rules_without(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4 || !PyList_CheckExact(arguments[0]) || !PyDict_CheckExact(arguments[1]) ||
        !PyDict_CheckExact(arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "without takes a list of records, two dicts and a bool");
        return NULL;
    }
    PyObject *rows = arguments[0], *kinds = arguments[1], *drop = arguments[2];
    int few = arguments[3] == Py_True && PyDict_GET_SIZE(kinds) - PyDict_GET_SIZE(drop) < PyDict_GET_SIZE(drop);
    PyObject *kept = few ? names_kept(kinds, drop) : NULL;
    PyObject *out = few && kept == NULL ? NULL : all_without(rows, drop, kept);
    Py_XDECREF(kept);
    return out;
}

/* Put one new value into a record, or take the member out. */
static int
put(PyObject *row, PyObject *key, PyObject *value, PyObject *missing)
{
    return value == missing ? take_out(row, key) : PyDict_SetItem(row, key, value);
}

/* Put a copy of a record, which the caller owns, in its place with one value changed. */
static int
put_in_copy(PyObject *rows, Py_ssize_t at, PyObject *row, PyObject *key, PyObject *value, PyObject *missing)
{
    PyObject *copy = PyDict_Copy(row);
    if (copy == NULL || put(copy, key, value, missing) < 0) {
        Py_XDECREF(copy);
        return -1;
    }
    return PyList_SetItem(rows, at, copy); /* takes the copy, also where that place is gone */
}

/* Write one value into the record at a place, into a copy where it still is the one that came; the caller owns both. */
static int
put_cell(PyObject *came, PyObject *rows, Py_ssize_t at, PyObject *row, PyObject *const *cell)
{
    PyObject *key = cell[0], *value = cell[1], *missing = cell[2];
    PyObject *old = PyDict_GetItemWithError(row, key); /* a name in it that is no plain string may run anything */
    if (old == NULL && PyErr_Occurred()) {
        return -1;
    }
    if ((old == NULL ? missing : old) == value) {
        return 0;
    }
    if (at >= PyList_GET_SIZE(came) || row == PyList_GET_ITEM(came, at)) {
        return put_in_copy(rows, at, row, key, value, missing);
    }
    return put(row, key, value, missing);
}

/* put_back(came, rows, key, column, MISSING): writes a column into records, and copies first those that came. */
static PyObject *
rules_put_back(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 5 || !PyList_CheckExact(arguments[0]) || !PyList_CheckExact(arguments[1]) ||
        !PyList_CheckExact(arguments[3])) {
        PyErr_SetString(PyExc_TypeError, "put_back takes two lists of records, a name, a column and what is nothing");
        return NULL;
    }
    PyObject *came = arguments[0], *rows = arguments[1];
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(arguments[3]); at++) {
        int there = at < PyList_GET_SIZE(rows) && at < PyList_GET_SIZE(came);
        if (!there || !PyDict_CheckExact(PyList_GET_ITEM(rows, at))) {
            PyErr_SetString(PyExc_ValueError, "a column is as long as the records it is of");
            return NULL;
        }
        PyObject *row = Py_NewRef(PyList_GET_ITEM(rows, at)), *value = Py_NewRef(PyList_GET_ITEM(arguments[3], at));
        int failed = put_cell(came, rows, at, row, (PyObject *const[]){arguments[2], value, arguments[4]});
        Py_DECREF(value);
        Py_DECREF(row);
        if (failed < 0) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

#endif
