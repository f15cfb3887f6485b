/* rebuild.rebuilt: records without what the rules took from them. */
#ifndef SHAPING_RULES_REBUILD_H
#define SHAPING_RULES_REBUILD_H

#include "rules_text.h"

/* A copy of a record with only some of its members, all of which it has. */
static PyObject *
with_only(PyObject *row, PyObject *kept)
{
    PyObject *out = PyDict_New();
    for (Py_ssize_t at = 0; out != NULL && at < PyList_GET_SIZE(kept); at++) {
        PyObject *key = PyList_GET_ITEM(kept, at), *value = PyDict_GetItemWithError(row, key);
        Py_XINCREF(value);
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
    PyObject *out = PyDict_Copy(row);
    for (Py_ssize_t at = 0; out != NULL && at < PyList_GET_SIZE(drop); at++) {
        if (take_out(out, PyList_GET_ITEM(drop, at)) < 0) {
            Py_CLEAR(out);
        }
    }
    return out;
}

/* without(rows, drop, kept): new records; by what stays where that is given, otherwise by what goes. */
static PyObject *
rules_without(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3 || !PyList_CheckExact(arguments[0]) || !PyList_CheckExact(arguments[1]) ||
        !(arguments[2] == Py_None || PyList_CheckExact(arguments[2]))) {
        PyErr_SetString(PyExc_TypeError, "without takes a list of records, names, and names or None");
        return NULL;
    }
    PyObject *rows = arguments[0], *out = PyList_New(0);
    for (Py_ssize_t at = 0; out != NULL && at < PyList_GET_SIZE(rows); at++) {
        PyObject *row = Py_NewRef(PyList_GET_ITEM(rows, at)), *made = NULL;
        if (!PyDict_CheckExact(row)) {
            PyErr_SetString(PyExc_TypeError, "a record is a dict");
        } else {
            made = arguments[2] == Py_None ? without(row, arguments[1]) : with_only(row, arguments[2]);
        }
        if (made == NULL || PyList_Append(out, made) < 0) {
            Py_CLEAR(out);
        }
        Py_XDECREF(made);
        Py_DECREF(row);
    }
    return out;
}

/* Put one new value into a record, or take the member out. */
static int
put(PyObject *row, PyObject *key, PyObject *value, PyObject *missing)
{
    return value == missing ? take_out(row, key) : PyDict_SetItem(row, key, value);
}

/* The record at a place that may be written to: a copy, where it still is the one that came. */
static PyObject *
own_copy(PyObject *rows, PyObject *came, Py_ssize_t at)
{
    PyObject *row = PyList_GET_ITEM(rows, at);
    if (row == PyList_GET_ITEM(came, at)) {
        row = PyDict_Copy(row);
        if (row == NULL || PyList_SetItem(rows, at, row) < 0) {
            return NULL;
        }
    }
    return row;
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
    PyObject *came = arguments[0], *rows = arguments[1], *key = arguments[2], *missing = arguments[4];
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(arguments[3]); at++) {
        if (at >= PyList_GET_SIZE(rows) || at >= PyList_GET_SIZE(came) || !PyDict_CheckExact(PyList_GET_ITEM(rows, at))) {
            PyErr_SetString(PyExc_ValueError, "a column is as long as the records it is of");
            return NULL;
        }
        PyObject *value = PyList_GET_ITEM(arguments[3], at);
        PyObject *old = PyDict_GetItemWithError(PyList_GET_ITEM(rows, at), key);
        if (old == NULL && PyErr_Occurred()) {
            return NULL;
        }
        if ((old == NULL ? missing : old) == value) {
            continue;
        }
        PyObject *row = own_copy(rows, came, at);
        if (row == NULL || put(row, key, value, missing) < 0) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

#endif
