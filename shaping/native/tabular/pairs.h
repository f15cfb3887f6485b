/* Maps that are written as lists of entries: agrees with shaping/encoders/tabular/pairs.py. */
#ifndef SHAPING_PAIRS_H
#define SHAPING_PAIRS_H

#include "lookup.h"

#define MOST_PAIRS 24

typedef struct {
    PyObject *key, *value;
    PyObject *keys[MOST_PAIRS];
    int count;
} Pairs;

/* Return the place of a key, a new one where it is new, or -1 where there are too many. */
static int place_of(Pairs *pairs, PyObject *key) {
    for (int i = 0; i < pairs->count; i++) {
        if (same_text(pairs->keys[i], key)) {
            return i;
        }
    }
    if (pairs->count == MOST_PAIRS) {
        return -1;
    }
    pairs->keys[pairs->count] = key;
    return pairs->count++;
}

/* Find the keys of one list; tell whether there are not too many and, where asked, whether they come in order. */
static bool read_list(Work *work, PyObject *list, Pairs *pairs, bool in_order) {
    int last = -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        int place = place_of(pairs, member(work, PyList_GET_ITEM(list, i), pairs->key));
        if (place < 0 || (in_order && place <= last)) {
            return false;
        }
        last = place;
    }
    return true;
}

static bool are_entries(Work *work, Rows entries, Pairs *pairs) {
    PyObject *unused;
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; i < entries.count; i++) {
        if (PyDict_GET_SIZE(entries.at[i]) != 2) {
            return false;
        }
    }
    check_keys(work, entries);
    PyDict_Next(entries.at[0], &at, &pairs->key, &unused);
    PyDict_Next(entries.at[0], &at, &pairs->value, &unused);
    for (Py_ssize_t i = 0; i < entries.count; i++) {
        PyObject *key = member(work, entries.at[i], pairs->key);
        if (kind_of(work, key) != STRING || member(work, entries.at[i], pairs->value) == NULL) {
            return false;
        }
    }
    return true;
}

/* Agrees with `pairs_of`: lists that are not empty, and all their entries. */
static bool pairs_of(Work *work, Rows lists, Rows entries, Pairs *pairs) {
    *pairs = (Pairs){0};
    if (lists.count < 2 || !are_entries(work, entries, pairs)) {
        return false;
    }
    PyObject *longest = lists.at[0];
    for (Py_ssize_t i = 1; i < lists.count; i++) {
        longest = PyList_GET_SIZE(lists.at[i]) > PyList_GET_SIZE(longest) ? lists.at[i] : longest;
    }
    if (!read_list(work, longest, pairs, false)) {
        return false;
    }
    for (Py_ssize_t i = 0; i < lists.count; i++) {
        if (!read_list(work, lists.at[i], pairs, false)) {
            return false;
        }
    }
    if (2 * entries.count < pairs->count * lists.count) {
        return false;
    }
    for (Py_ssize_t i = 0; i < lists.count; i++) {
        if (!read_list(work, lists.at[i], pairs, true)) {
            return false;
        }
    }
    return true;
}

#endif
