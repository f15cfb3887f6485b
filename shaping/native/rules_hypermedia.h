/* hypermedia._is_links: collections of nothing but links. Nothing runs here, so all is borrowed. */
#ifndef SHAPING_RULES_HYPERMEDIA_H
#define SHAPING_RULES_HYPERMEDIA_H

#include "rules_text.h"

/* links.is_link */
static int
is_link(PyObject *text)
{
    Py_ssize_t at = place_of(text, "://", 3);
    return at >= 0 && at <= 6 && !has_letter(text, ' ');
}

/* Whether a name is one of hypermedia._ABOUT_A_LINK. */
static int
is_about_links(PyObject *name)
{
    static const char *const about[] = {"rel",   "href", "method", "type", "templated",
                                        "title", "name", "url",    "uri",  "curies"};
    for (size_t at = 0; at < sizeof(about) / sizeof(about[0]); at++) {
        Py_ssize_t size = (Py_ssize_t)strlen(about[at]);
        if (PyUnicode_GET_LENGTH(name) == size && stands_at(name, 0, about[at], size)) {
            return 1;
        }
    }
    return 0;
}

/* hypermedia._is_link_object: 1, 0, or -1 where a name is no plain string. */
static int
is_link_object(PyObject *item)
{
    Py_ssize_t at = 0;
    PyObject *name;
    int leads = 0;
    while (PyDict_Next(item, &at, &name, NULL)) {
        if (!is_text(name)) {
            return -1;
        }
        if (!is_about_links(name)) {
            return 0;
        }
        Py_ssize_t size = PyUnicode_GET_LENGTH(name);
        leads |= STARTS(name, "href") || (size == 3 && (STARTS(name, "url") || STARTS(name, "uri")));
    }
    return leads;
}

/* hypermedia._is_rel_list */
static int
is_rel_list(PyObject *items)
{
    int known = 1;
    for (Py_ssize_t at = 0; known == 1 && at < PyList_GET_SIZE(items); at++) {
        PyObject *item = PyList_GET_ITEM(items, at);
        known = PyDict_CheckExact(item) ? is_link_object(item) : 0;
    }
    return known;
}

/* hypermedia._is_entry */
static int
is_entry(PyObject *key, PyObject *item)
{
    if (!is_text(key)) {
        return -1;
    }
    if (is_text(item)) {
        return is_link(item) || is_about_links(key);
    }
    if (PyDict_CheckExact(item)) {
        return is_link_object(item);
    }
    return PyList_CheckExact(item) ? is_rel_list(item) : item == Py_None || PyBool_Check(item);
}

/* hypermedia._is_links of a record */
static int
is_links_record(PyObject *record)
{
    Py_ssize_t at = 0;
    PyObject *key, *item;
    int known = 1, more = 0;
    while (known == 1 && PyDict_Next(record, &at, &key, &item)) {
        known = is_entry(key, item);
        more |= !PyBool_Check(item);
    }
    return known == 1 ? more : known;
}

/* all_links(values): whether hypermedia._is_links of each record or list, or None where that is not known. */
static PyObject *
rules_all_links(PyObject *Py_UNUSED(module), PyObject *values)
{
    int known = PyList_CheckExact(values) ? 1 : -1;
    for (Py_ssize_t at = 0; known == 1 && at < PyList_GET_SIZE(values); at++) {
        PyObject *value = PyList_GET_ITEM(values, at);
        known = PyDict_CheckExact(value) ? is_links_record(value) : PyList_CheckExact(value) ? is_rel_list(value) : -1;
    }
    if (known < 0) {
        Py_RETURN_NONE;
    }
    return PyBool_FromLong(known);
}

#endif
