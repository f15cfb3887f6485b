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
    Py_ssize_t next;   /* the column behind this one, or -1 */
} Column;

typedef struct {
    LIST_OF(Column) list; /* in the order they were found */
    Py_ssize_t first;     /* where they begin in the order they are written, or -1 */
    Py_ssize_t last;
    int32_t *slots; /* places in the list by hash, made when the first record has its members in another order */
    size_t mask;
} Columns;

/* Members to leave out, or the only ones to take. */
typedef struct {
    PyObject **keys; /* by hash, NULL where there is none */
    size_t mask;
    Py_ssize_t count;
    bool only;
} Choice;

static Choice choice_for(Work *work, Py_ssize_t most) {
    size_t size = 8;
    while (size < (size_t)most * 2) {
        size *= 2;
    }
    return (Choice){TAKE_EMPTY(work, size, PyObject *), size - 1, 0, true};
}

/* Return where a key stands, or would. */
static PyObject **place_in(const Choice *choice, PyObject *key) {
    size_t slot = (size_t)PyObject_Hash(key) & choice->mask;
    while (choice->keys[slot] && !same_text(choice->keys[slot], key)) {
        slot = (slot + 1) & choice->mask;
    }
    return &choice->keys[slot];
}

static void choose(Choice *choice, PyObject *key) {
    *place_in(choice, key) = key;
    choice->count++;
}

static bool is_chosen(const Choice *choice, PyObject *key) {
    return choice == NULL || (choice->count && *place_in(choice, key)) == choice->only;
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
    ADD(work, &columns->list, ((Column){key, values, -1}));
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

/* Put a column behind another, or first. */
static void link_after(Columns *columns, Py_ssize_t before, Py_ssize_t index) {
    Py_ssize_t *from = before < 0 ? &columns->first : &columns->list.at[before].next;
    columns->list.at[index].next = *from;
    *from = index;
    columns->last = before == columns->last ? index : columns->last;
}

/* Put the columns that were found from one on behind another, but those that are told apart from the others. */
static void link_new(Columns *columns, Py_ssize_t from, Py_ssize_t before, bool told_apart) {
    for (Py_ssize_t index = from; index < columns->list.count; index++) {
        if (columns->list.at[index].values || !told_apart) {
            link_after(columns, before, index);
            before = index;
        }
    }
}

static void add_new(Work *work, Columns *columns, PyObject *key, Py_ssize_t rows, const Choice *choice) {
    bool chosen = is_chosen(choice, checked_key(work, key));
    add_key(work, columns, key, chosen ? TAKE_EMPTY(work, rows, PyObject *) : NULL);
}

/* Find the columns of one record, a new one where its record has it between others, or last (_with_new). */
static void read_row(Work *work, Columns *columns, Rows rows, Py_ssize_t row, const Choice *choice) {
    bool told_apart = choice && choice->only && choice->count;
    PyObject *key, *value;
    Py_ssize_t at = 0, before = -1, known = columns->list.count, from = known;
    while (PyDict_Next(rows.at[row], &at, &key, &value)) {
        /* Most records have the members of the one before, in its order. */
        Py_ssize_t index = before < 0 ? columns->first : columns->list.at[before].next;
        if (index < 0 || columns->list.at[index].key != key) {
            index = known ? known_key(work, columns, key) : -1;
        }
        if (index < 0) {
            index = columns->list.count;
            add_new(work, columns, key, rows.count, choice);
        }
        Column *column = &columns->list.at[index];
        if (column->values) {
            column->values[row] = value;
        }
        if (index < known && (column->values || !told_apart)) {
            link_new(columns, from, before, told_apart);
            from = columns->list.count;
            before = index;
        }
    }
    link_new(columns, from, columns->last, told_apart);
}

/* Return each member's values. */
static Columns columns_of(Work *work, Rows rows, const Choice *choice) {
    Columns columns = {.first = -1, .last = -1};
    for (Py_ssize_t row = 0; row < rows.count; row++) {
        if (rows.at[row]) {
            read_row(work, &columns, rows, row, choice);
        }
    }
    return columns;
}

/* Count the different members of records; what they hold does not matter. */
static Py_ssize_t count_keys(Work *work, Rows rows) {
    const Choice none = {NULL, 0, 0, true};
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
