/* passing._is_dull of every row, and who passed. */
#ifndef SHAPING_RULES_PASSING_H
#define SHAPING_RULES_PASSING_H

#include "rules_quiet.h"

enum { DULL_WORD = 12, DULL_DEEP = 200 };

static int is_dull(PyObject *value, PyObject *row, int depth);

/* passing._is_piece; -1 with an exception. */
static int
is_piece(PyObject *text, PyObject *row)
{
    Py_ssize_t at = 0;
    PyObject *name;
    int found = 0;
    while (found == 0 && PyDict_Next(row, &at, NULL, &name)) {
        if (is_text(name) && PyUnicode_GET_LENGTH(name) >= PyUnicode_GET_LENGTH(text)) {
            found = PyUnicode_Contains(name, text);
        }
    }
    return found;
}

/* One value in a subtree: 1 dull, 0 not, -1 an exception, -2 not known. */
static int
is_dull_item(PyObject *item, PyObject *row, int depth)
{
    if (PyUnicode_CheckExact(item)) {
        if (!is_text(item)) {
            return -2;
        }
        return PyUnicode_GET_LENGTH(item) < DULL_WORD ? 1 : is_piece(item, row);
    }
    return PyDict_CheckExact(item) || PyList_CheckExact(item) ? is_dull(item, row, depth + 1) : 1;
}

/* passing._is_dull of a record or a list; nothing runs meanwhile, so all is borrowed. */
static int
is_dull(PyObject *value, PyObject *row, int depth)
{
    int dull = depth > DULL_DEEP ? -2 : 1;
    if (PyDict_CheckExact(value)) {
        Py_ssize_t at = 0;
        PyObject *item;
        while (dull == 1 && PyDict_Next(value, &at, NULL, &item)) {
            dull = is_dull_item(item, row, depth);
        }
        return dull;
    }
    for (Py_ssize_t at = 0; dull == 1 && at < PyList_GET_SIZE(value); at++) {
        dull = is_dull_item(PyList_GET_ITEM(value, at), row, depth);
    }
    return dull;
}

/* passing._is_dull of what a row holds itself. */
static int
is_dull_cell(PyObject *value, PyObject *row, PyObject *missing)
{
    if (PyDict_CheckExact(value) || PyList_CheckExact(value)) {
        return is_dull(value, row, 0);
    }
    return value != missing && (!is_text(value) || PyUnicode_GET_LENGTH(value) < DULL_WORD);
}

/* Put a row's value, or nothing where it is dull, into a new column: 1 dull, 0 not, -1 an exception, -2 not known. */
static int
empty_cell(PyObject *out, PyObject *row, PyObject *value, int fine, PyObject *missing)
{
    int dull = 0;
    if (fine) {
        dull = PyDict_CheckExact(row) ? is_dull_cell(value, row, missing) : -2;
    }
    return dull >= 0 && PyList_Append(out, dull ? missing : value) < 0 ? -1 : dull;
}

/* emptied(rows, column, fine, MISSING): the column without what is dull in rows that passed, and how many that are;
   None where that is not known. */
static PyObject *
rules_emptied(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4 || !PyList_CheckExact(arguments[0]) || !PyList_CheckExact(arguments[1]) ||
        !PyList_CheckExact(arguments[2])) {
        Py_RETURN_NONE;
    }
    PyObject *rows = arguments[0], *column = arguments[1], *fine = arguments[2];
    PyObject *out = PyList_New(0); /* which may run a finalizer that changes the others */
    Py_ssize_t size = PyList_GET_SIZE(rows), emptied = 0;
    int dull = out == NULL ? -1 : PyList_GET_SIZE(column) != size || PyList_GET_SIZE(fine) != size ? -2 : 0;
    for (Py_ssize_t at = 0; dull >= 0 && at < size; at++) {
        dull = empty_cell(out, PyList_GET_ITEM(rows, at), PyList_GET_ITEM(column, at),
                          PyList_GET_ITEM(fine, at) == Py_True, arguments[3]);
        emptied += dull > 0;
    }
    if (dull < 0) {
        Py_XDECREF(out);
        return dull == -1 ? NULL : Py_NewRef(Py_None);
    }
    return Py_BuildValue("(Nn)", out, emptied);
}

/* fine(column): whether each string or bool says that its row passed; None where there is anything else. */
static PyObject *
rules_fine(PyObject *Py_UNUSED(module), PyObject *column)
{
    if (!PyList_CheckExact(column)) {
        Py_RETURN_NONE;
    }
    PyObject *out = PyList_New(0); /* which may run a finalizer that changes the column */
    for (Py_ssize_t at = 0; out != NULL && at < PyList_GET_SIZE(column); at++) {
        PyObject *value = PyList_GET_ITEM(column, at);
        if (!is_text(value) && !PyBool_Check(value)) {
            Py_DECREF(out);
            Py_RETURN_NONE;
        }
        if (PyList_Append(out, is_fine(value) ? Py_True : Py_False) < 0) {
            Py_CLEAR(out);
        }
    }
    return out;
}

#endif
