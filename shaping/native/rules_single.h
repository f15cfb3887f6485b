/* single.members_inside: a record alone at its place, told by one look at each of its members. */
#ifndef SHAPING_RULES_SINGLE_H
#define SHAPING_RULES_SINGLE_H

#include "rules_names.h"

enum { SINGLE_MANY = 48, SINGLE_LONG = 320, SINGLE_CODE = 64, SINGLE_SHORT = 8 };

/* single._is_plain; -1 with an exception. The caller owns both. */
static int
is_plain_single(Names *names, PyObject *key, PyObject *text)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    int marked = has_letter(text, '/') && (HOLDS(text, "//") || HOLDS(text, "</"));
    if (marked || (has_letter(text, '@') && HOLDS(text, "git@"))) {
        return 0;
    }
    if (size < SINGLE_SHORT) {
        return 1;
    }
    if (size > SINGLE_LONG || has_letter(text, '\n')) {
        return 0;
    }
    int said = names_ask(names, key);
    if (said < 0 || said & NAMES_OPAQUE || size < SINGLE_CODE) {
        return said < 0 ? -1 : !(said & NAMES_OPAQUE);
    }
    return !is_alnum(text) && (size < TEXT_CODED || said & NAMES_GIVEN || !is_coded(text));
}

/* One member: 1 no noise, 0 maybe, -1 an exception, -2 not known. The caller owns both. */
static int
look_at_single(Names *names, PyObject *key, PyObject *value, PyObject *inside)
{
    if (!is_text(key)) {
        return -2;
    }
    if (is_text(value)) {
        int plain = is_plain_single(names, key, value);
        return plain == 1 && (HOLDS(key, "tml") || HOLDS(key, "TML")) ? 0 : plain;
    }
    if (!PyDict_CheckExact(value) && !PyList_CheckExact(value)) {
        return 1;
    }
    int said = names_ask(names, key);
    if (said < 0 || said & NAMES_LINKS) {
        return said < 0 ? -1 : 0;
    }
    return PyList_Append(inside, key) < 0 ? -1 : 1;
}

/* members_inside(row, hints): single.members_inside, or False where it is not known. */
static PyObject *
rules_members_inside(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyDict_CheckExact(arguments[0])) {
        Py_RETURN_FALSE;
    }
    if (PyDict_GET_SIZE(arguments[0]) >= SINGLE_MANY) {
        Py_RETURN_NONE;
    }
    Names names = {.hints = arguments[1]};
    PyObject *inside = PyList_New(0), *key, *value;
    Py_ssize_t at = 0;
    int plain = inside == NULL ? -1 : 1;
    while (plain == 1 && PyDict_Next(arguments[0], &at, &key, &value)) {
        Py_INCREF(key);
        Py_INCREF(value);
        plain = look_at_single(&names, key, value, inside);
        Py_DECREF(value);
        Py_DECREF(key);
    }
    if (plain == 1) {
        return inside;
    }
    Py_XDECREF(inside);
    return plain == -1 ? NULL : Py_NewRef(plain == 0 ? Py_None : Py_False);
}

#endif
