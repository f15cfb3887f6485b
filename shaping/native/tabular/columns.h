/* Records as columns: agrees with shaping/encoders/tabular/columns.py. */
#ifndef SHAPING_COLUMNS_H
#define SHAPING_COLUMNS_H

#include "values.h"

/* Records of one place; an absent one is NULL. */
typedef struct {
    PyObject **at;
    Py_ssize_t count;
} Rows;

typedef struct {
    PyObject *key;
    PyObject **values; /* NULL where a record has no such member; no values at all where the column is not asked for */
} Column;

typedef struct {
    LIST_OF(Column) list;
    int32_t *slots; /* places in the list by hash, made when the first record has its members in another order */
    size_t mask;
} Columns;

/* Members to leave out, or the only ones to take. */
typedef struct {
    PyObject **keys;
    Py_ssize_t count;
    bool only;
} Choice;

static bool is_chosen(const Choice *choice, PyObject *key) {
    if (choice == NULL) {
        return true;
    }
    for (Py_ssize_t i = 0; i < choice->count; i++) {
        if (same_text(choice->keys[i], key)) {
            return choice->only;
        }
    }
    return !choice->only;
}

static void place_key(Columns *columns, Py_ssize_t index) {
    size_t slot = (size_t)PyObject_Hash(columns->list.at[index].key) & columns->mask;
    while (columns->slots[slot] >= 0) {
        slot = (slot + 1) & columns->mask;
    }
    columns->slots[slot] = (int32_t)index;
}

static void index_keys(Work *work, Columns *columns) {
    size_t size = 16;
    while (size < (size_t)columns->list.count * 4) {
        size *= 2;
    }
    columns->slots = TAKE(work, size, int32_t);
    memset(columns->slots, -1, size * sizeof(int32_t));
    columns->mask = size - 1;
    for (Py_ssize_t i = 0; i < columns->list.count; i++) {
        place_key(columns, i);
    }
}

static Py_ssize_t find_key(const Columns *columns, PyObject *key) {
    size_t slot = (size_t)PyObject_Hash(key) & columns->mask;
    for (; columns->slots[slot] >= 0; slot = (slot + 1) & columns->mask) {
        if (same_text(columns->list.at[columns->slots[slot]].key, key)) {
            return columns->slots[slot];
        }
    }
    return -1;
}

static Py_ssize_t add_key(Work *work, Columns *columns, PyObject *key, PyObject **values) {
    Py_ssize_t index = columns->list.count;
    if (index >= INT32_MAX / 8) {
        give_up(work);
    }
    ADD(work, &columns->list, ((Column){key, values}));
    if (columns->slots && (size_t)columns->list.count * 2 > columns->mask) {
        index_keys(work, columns);
    } else if (columns->slots) {
        place_key(columns, index);
    }
    return index;
}

/* Return where a member of a record that is not the first has its column, or -1. */
static Py_ssize_t known_key(Work *work, Columns *columns, PyObject *key) {
    checked_key(work, key);
    if (columns->slots == NULL) {
        index_keys(work, columns);
    }
    return find_key(columns, key);
}

/* Return each member's values, members in the order they come. */
static Columns columns_of(Work *work, Rows rows, const Choice *choice) {
    Columns columns = {0};
    for (Py_ssize_t row = 0; row < rows.count; row++) {
        PyObject *key, *value;
        Py_ssize_t at = 0, next = 0;
        bool first = columns.list.count == 0;
        while (rows.at[row] && PyDict_Next(rows.at[row], &at, &key, &value)) {
            /* Most records have the members of the one before, in its order. */
            if (first || next >= columns.list.count || columns.list.at[next].key != key) {
                next = first ? -1 : known_key(work, &columns, key);
                if (next < 0) {
                    bool chosen = is_chosen(choice, checked_key(work, key));
                    PyObject **values = chosen ? TAKE_EMPTY(work, rows.count, PyObject *) : NULL;
                    next = add_key(work, &columns, key, values);
                }
            }
            if (columns.list.at[next].values) {
                columns.list.at[next].values[row] = value;
            }
            next++;
        }
    }
    return columns;
}

/* Count the different members of records; what they hold does not matter. */
static Py_ssize_t count_keys(Work *work, Rows rows) {
    const Choice none = {NULL, 0, true};
    return columns_of(work, rows, &none).list.count;
}

static bool all_hold_records(Rows rows) {
    for (Py_ssize_t row = 0; row < rows.count; row++) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (rows.at[row] && PyDict_Next(rows.at[row], &at, &key, &value)) {
            if (!PyDict_CheckExact(value)) {
                return false;
            }
        }
    }
    return true;
}

static Py_ssize_t most_members(Rows rows) {
    Py_ssize_t most = 0;
    for (Py_ssize_t row = 0; row < rows.count; row++) {
        Py_ssize_t size = rows.at[row] ? PyDict_GET_SIZE(rows.at[row]) : 0;
        most = size > most ? size : most;
    }
    return most;
}

/* Agrees with `are_maps`: tell objects keyed by values from records. */
static bool are_maps(Work *work, Rows rows) {
    Py_ssize_t keys = count_keys(work, rows), present = 0, members = 0;
    if (keys <= 8) {
        return false;
    }
    for (Py_ssize_t row = 0; row < rows.count; row++) {
        Py_ssize_t size = rows.at[row] ? PyDict_GET_SIZE(rows.at[row]) : 0;
        present += size > 0;
        members += size;
    }
    if ((double)members >= 0.34 * (double)keys * (double)present) {
        return false;
    }
    return keys > 24 || all_hold_records(rows);
}

#endif
