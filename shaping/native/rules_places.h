/* In which records values stand: walk._owners and places.spread. */
#ifndef SHAPING_RULES_PLACES_H
#define SHAPING_RULES_PLACES_H

#include "rules_text.h"

/* owners(rows, key): the records that hold a record or a list under a name. */
static PyObject *
rules_owners(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyList_CheckExact(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "owners takes a list of records and a name");
        return NULL;
    }
    PyObject *rows = arguments[0], *found = PyList_New(0);
    for (Py_ssize_t at = 0; found != NULL && at < PyList_GET_SIZE(rows); at++) {
        PyObject *row = Py_NewRef(PyList_GET_ITEM(rows, at)), *value = cell(row, arguments[1]);
        int nests = value != NULL && (PyDict_CheckExact(value) || PyList_CheckExact(value));
        if ((value == NULL && PyErr_Occurred()) || (nests && PyList_Append(found, row) < 0)) {
            Py_CLEAR(found);
        }
        Py_XDECREF(value);
        Py_DECREF(row);
    }
    return found;
}

/* spread(owners, lists): the owner of each list once for each element. */
static PyObject *
rules_spread(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyList_CheckExact(arguments[0]) || !PyList_CheckExact(arguments[1]) ||
        PyList_GET_SIZE(arguments[0]) != PyList_GET_SIZE(arguments[1])) {
        PyErr_SetString(PyExc_ValueError, "spread takes a list of owners and as many lists");
        return NULL;
    }
    PyObject *found = PyList_New(0); /* which may run a finalizer that changes either */
    for (Py_ssize_t at = 0; found != NULL && at < PyList_GET_SIZE(arguments[0]) && at < PyList_GET_SIZE(arguments[1]); at++) {
        PyObject *elements = PyList_GET_ITEM(arguments[1], at);
        Py_ssize_t size = PyList_CheckExact(elements) ? PyList_GET_SIZE(elements) : 0;
        for (Py_ssize_t step = 0; found != NULL && step < size; step++) {
            if (PyList_Append(found, PyList_GET_ITEM(arguments[0], at)) < 0) {
                Py_CLEAR(found);
            }
        }
    }
    return found;
}

#endif
