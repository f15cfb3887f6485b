/* Whether values are equal: as Python's `==` sees it, or as their JSON would show. */
#ifndef SHAPING_ALIKE_H
#define SHAPING_ALIKE_H

#include "values.h"

static bool written_alike(Work *work, PyObject *one, PyObject *other, int depth);

static bool members_alike(Work *work, PyObject *one, PyObject *other, int depth) {
    PyObject *key, *value, *other_key, *other_value;
    Py_ssize_t at = 0, other_at = 0;
    while (PyDict_Next(one, &at, &key, &value)) {
        if (!PyDict_Next(other, &other_at, &other_key, &other_value)) {
            return false;
        }
        checked_key(work, key);
        checked_key(work, other_key);
        if (!same_text(key, other_key) || !written_alike(work, value, other_value, depth + 1)) {
            return false;
        }
    }
    return true;
}

/* Tell whether two values give the same JSON: 1 is not 1.0 there, and the order of members counts. */
static bool written_alike(Work *work, PyObject *one, PyObject *other, int depth) {
    if (depth > DEEPEST) {
        give_up(work);
    }
    Kind kind = kind_of(work, one);
    if (kind != kind_of(work, other)) {
        return (kind == ABSENT && is_record(other) && !is_filled(other)) || (other == NULL && is_record(one) && !is_filled(one));
    }
    switch (kind) {
    case STRING:
        return same_text(one, other);
    case INT:
        return one == other || PyObject_RichCompareBool(one, other, Py_EQ) == 1;
    case FLOAT:
        check_finite(work, one);
        return memcmp(&((PyFloatObject *)one)->ob_fval, &((PyFloatObject *)other)->ob_fval, sizeof(double)) == 0;
    case RECORD:
        return PyDict_GET_SIZE(one) == PyDict_GET_SIZE(other) && members_alike(work, one, other, depth);
    case LISTED:
        if (PyList_GET_SIZE(one) != PyList_GET_SIZE(other)) {
            return false;
        }
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(one); i++) {
            if (!written_alike(work, PyList_GET_ITEM(one, i), PyList_GET_ITEM(other, i), depth + 1)) {
                return false;
            }
        }
        return true;
    default:
        return one == other;
    }
}

/* Return a hash that records have in common which are written alike; what lies deeper than their members is not in it. */
static uint64_t hash_of_record(Work *work, PyObject *record) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    uint64_t hash = 0;
    while (record && PyDict_Next(record, &at, &key, &value)) {
        Kind kind = kind_of(work, value);
        hash = (hash ^ (uint64_t)PyObject_Hash(checked_key(work, key))) * 0xD6E8FEB86659FD93ULL + kind;
        if (kind == STRING || kind == INT) {
            hash = (hash ^ (hash >> 32) ^ (uint64_t)PyObject_Hash(value)) * 0xD6E8FEB86659FD93ULL;
        }
    }
    return hash;
}

/* Tell whether all below a value is plain, so that comparing it runs nobody's code. */
static void check_plain(Work *work, PyObject *value, int depth) {
    if (depth > DEEPEST) {
        give_up(work);
    }
    Kind kind = kind_of(work, value);
    if (kind == RECORD) {
        PyObject *key, *member;
        Py_ssize_t at = 0;
        while (PyDict_Next(value, &at, &key, &member)) {
            checked_key(work, key);
            check_plain(work, member, depth + 1);
        }
    } else if (kind == LISTED) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++) {
            check_plain(work, PyList_GET_ITEM(value, i), depth + 1);
        }
    } else if (kind == FLOAT) {
        check_finite(work, value);
    }
}

/* Tell whether two lists are equal, as `==` does. */
static bool equal_lists(Work *work, PyObject *one, PyObject *other) {
    if (PyList_GET_SIZE(one) != PyList_GET_SIZE(other)) {
        return false;
    }
    check_plain(work, one, 0);
    check_plain(work, other, 0);
    int answer = PyObject_RichCompareBool(one, other, Py_EQ);
    if (answer < 0) {
        give_up(work);
    }
    return answer == 1;
}

#endif
