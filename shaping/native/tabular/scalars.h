/* A column without records or lists: agrees with shaping/encoders/tabular/scalars.py. */
#ifndef SHAPING_SCALARS_H
#define SHAPING_SCALARS_H

#include "once.h"

#define LONG_TEXT 100 /* characters beyond which a string stands under its row */

static inline bool is_long(PyObject *value) {
    return value && PyUnicode_CheckExact(value) && chars_of(value) > LONG_TEXT;
}

static bool any_long(PyObject **column, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++) {
        if (is_long(column[i])) {
            return true;
        }
    }
    return false;
}

static unsigned kinds_of(Work *work, PyObject **column, Py_ssize_t count) {
    unsigned kinds = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        kinds |= kind_of(work, column[i]);
    }
    return kinds;
}

static bool all_same_text(PyObject **column, Py_ssize_t count) {
    if (!same_text(column[0], column[count - 1])) {
        return false;
    }
    for (Py_ssize_t i = 1; i < count; i++) {
        if (!same_text(column[0], column[i])) {
            return false;
        }
    }
    return true;
}

/* Agrees with `_with_long`: the long strings under the rows, what else the column has in them. */
static void add_with_long(Work *work, PyObject **column, Py_ssize_t count, const Finder *finder, Spot spot, Nodes *nodes) {
    Str *texts = TAKE_EMPTY(work, count, Str);
    PyObject **rest = TAKE(work, count, PyObject *);
    for (Py_ssize_t i = 0; i < count; i++) {
        bool under = is_long(column[i]);
        rest[i] = under ? NULL : column[i];
        if (under) {
            texts[i] = text_of(work, column[i]);
        }
    }
    unsigned kinds = kinds_of(work, rest, count);
    if (kinds != ABSENT) {
        add_leaf(work, nodes, spot.label, full_cells(work, finder, cells_of(work, rest, count, kinds), NOTHING));
    }
    Node *text = add_node(work, nodes, TEXT, spot.label);
    text->cells = full_cells(work, finder, texts, (Str){NULL, 0, 0});
    text->repeats = finder->repeats;
}

/* Agrees with `plain` and `scalars`. */
static void add_scalars(
    Work *work, PyObject **column, Py_ssize_t count, unsigned kinds, const Finder *finder, Spot spot, Nodes *nodes
) {
    bool whole = finder->places == NULL;
    if (whole && (kinds == NONE || (kinds == STRING && all_same_text(column, count)))) {
        add_constant(work, cell(work, column[0]), count, finder, spot, nodes);
    } else if (kinds & STRING && finder->count > 1 && any_long(column, count)) {
        add_with_long(work, column, count, finder, spot, nodes);
    } else {
        add_once(work, cells_of(work, column, count, kinds), count, finder, spot, nodes);
    }
}

/* Agrees with `long_lists`: what was added last, with its long lists that come back under their rows. */
static void split_long_lists(Work *work, const Finder *finder, Nodes *nodes) {
    Node *leaf = nodes->at[nodes->count - 1];
    Py_ssize_t count = finder->count, long_ones = 0;
    if (leaf->kind != LEAF || !finder->repeats) {
        return;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        long_ones += leaf->cells[i].chars > LONG_TEXT;
    }
    if (long_ones < 2) {
        return;
    }
    Ids ids = ids_for(work, long_ones);
    int32_t *numbers = TAKE(work, count, int32_t), *times = TAKE_EMPTY(work, long_ones, int32_t);
    for (Py_ssize_t i = 0; i < count; i++) {
        numbers[i] = leaf->cells[i].chars > LONG_TEXT ? id_of(work, &ids, leaf->cells[i]) : -1;
        if (numbers[i] >= 0) {
            times[numbers[i]]++;
        }
    }
    if (ids.texts.count == long_ones) {
        return;
    }
    Str *under = TAKE_EMPTY(work, count, Str), *rest = TAKE(work, count, Str);
    bool any_rest = false;
    for (Py_ssize_t i = 0; i < count; i++) {
        bool often = numbers[i] >= 0 && times[numbers[i]] > 1;
        under[i] = often ? leaf->cells[i] : under[i];
        rest[i] = often ? NOTHING : leaf->cells[i];
        any_rest = any_rest || rest[i].size;
    }
    nodes->count--;
    if (any_rest) {
        add_leaf(work, nodes, leaf->name, rest);
    }
    Node *text = add_node(work, nodes, TEXT, leaf->name);
    text->cells = under;
    text->repeats = true;
    text->as_json = true;
}

#endif
