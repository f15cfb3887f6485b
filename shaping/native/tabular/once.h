/* Say once what a column would say in every row: agrees with shaping/encoders/tabular/once.py. */
#ifndef SHAPING_ONCE_H
#define SHAPING_ONCE_H

#include "alike.h"
#include "cells.h"
#include "columns.h"
#include "ids.h"
#include "nodes.h"

#define KEY STR("(key)")

/* Where a column stands: its name, the path to it, how deep. */
typedef struct {
    Str label, prefix;
    int depth;
} Spot;

typedef struct {
    Str *cells;
    Spot spot;
    uint64_t hash;
    Py_ssize_t next; /* the one before with as good as this hash, or -1 */
} SeenColumn;

typedef struct {
    Rows rows;
    Spot spot;
    uint64_t ends; /* a hash of the first and the last record */
} SeenRecords;

typedef struct {
    LIST_OF(SeenColumn) columns;
    Py_ssize_t *latest; /* by hash, the place of the last such column, or -1 */
    size_t slots;
    LIST_OF(SeenRecords) records;
} Seen;

typedef struct {
    bool repeats, constants, near;
    Py_ssize_t count;
    Seen *seen;
    const Py_ssize_t *places; /* where only some rows are looked at: for each row its place among them, or -1 */
} Finder;

static Finder within(Work *work, const Finder *finder, Py_ssize_t count) {
    return (Finder){finder->repeats, finder->constants, finder->near, count, TAKE_EMPTY(work, 1, Seen), NULL};
}

static Finder among(Work *work, const Finder *finder, Rows rows) {
    Py_ssize_t *places = TAKE(work, rows.count, Py_ssize_t), next = 0;
    for (Py_ssize_t row = 0; row < rows.count; row++) {
        places[row] = is_filled(rows.at[row]) ? next++ : -1;
    }
    Finder some = *finder;
    some.places = places;
    return some;
}

static Finder throughout(const Finder *finder) {
    Finder all = *finder;
    all.places = NULL;
    return all;
}

/* Return cells with something for each row that was left out. */
static Str *full_cells(Work *work, const Finder *finder, Str *cells, Str absent) {
    if (finder->places == NULL) {
        return cells;
    }
    Str *full = TAKE(work, finder->count, Str);
    for (Py_ssize_t row = 0; row < finder->count; row++) {
        full[row] = finder->places[row] < 0 ? absent : cells[finder->places[row]];
    }
    return full;
}

static PyObject **full_column(Work *work, const Finder *finder, PyObject **column) {
    PyObject **full = TAKE(work, finder->count, PyObject *);
    for (Py_ssize_t row = 0; row < finder->count; row++) {
        full[row] = finder->places[row] < 0 ? NULL : column[finder->places[row]];
    }
    return full;
}

static bool same_cells(const Str *one, const Str *other, Py_ssize_t count) {
    if (!same(one[0], other[0]) || !same(one[count - 1], other[count - 1])) {
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!same(one[i], other[i])) {
            return false;
        }
    }
    return true;
}

static Str path_of(Work *work, Spot spot) {
    return joined(work, spot.prefix, spot.label);
}

/* Return the path of an earlier column, or nothing where it is this one. */
static Str other_path(Work *work, Spot first, Spot spot) {
    Str path = path_of(work, first);
    return same(path, path_of(work, spot)) ? NOTHING : path;
}

/* The first and the last cell tell most columns apart; where the others are empty, those that hold little. */
static uint64_t hash_of_cells(const Str *cells, Py_ssize_t count) {
    uint64_t hash = hash_of(cells[0]) * 31 + hash_of(cells[count - 1]);
    for (Py_ssize_t i = 0; i < count; i++) {
        hash += cells[i].size * ((uint64_t)i * 0x9E3779B97F4A7C15ULL + 1);
    }
    return hash ^ (hash >> 29);
}

static void link_seen(Seen *seen, Py_ssize_t index) {
    Py_ssize_t *latest = &seen->latest[seen->columns.at[index].hash & (seen->slots - 1)];
    seen->columns.at[index].next = *latest;
    *latest = index;
}

static void add_seen(Work *work, Seen *seen, SeenColumn column) {
    ADD(work, &seen->columns, column);
    if ((size_t)seen->columns.count <= seen->slots) {
        link_seen(seen, seen->columns.count - 1);
        return;
    }
    seen->slots = seen->slots ? seen->slots * 4 : 32;
    seen->latest = TAKE(work, seen->slots, Py_ssize_t);
    memset(seen->latest, -1, seen->slots * sizeof *seen->latest);
    for (Py_ssize_t i = 0; i < seen->columns.count; i++) {
        link_seen(seen, i);
    }
}

static Str known_cells(Work *work, const Finder *finder, Str *cells, Spot spot) {
    Seen *seen = finder->seen;
    uint64_t hash = hash_of_cells(cells, finder->count);
    Py_ssize_t i = seen->slots ? seen->latest[hash & (seen->slots - 1)] : -1;
    for (; i >= 0; i = seen->columns.at[i].next) {
        SeenColumn *other = &seen->columns.at[i];
        if (other->hash == hash && same_cells(other->cells, cells, finder->count)) {
            return other_path(work, other->spot, spot);
        }
    }
    add_seen(work, seen, (SeenColumn){cells, spot, hash, -1});
    return NOTHING;
}

static bool same_records(Work *work, Rows one, Rows other) {
    Py_ssize_t last = one.count - 1;
    if (!written_alike(work, one.at[0], other.at[0], 0) || !written_alike(work, one.at[last], other.at[last], 0)) {
        return false;
    }
    for (Py_ssize_t i = 1; i < last; i++) {
        if (!written_alike(work, one.at[i], other.at[i], 0)) {
            return false;
        }
    }
    return true;
}

static Str known_records(Work *work, const Finder *finder, Rows rows, Spot spot) {
    uint64_t ends = hash_of_record(work, rows.at[0]) * 31 + hash_of_record(work, rows.at[rows.count - 1]);
    for (Py_ssize_t i = 0; i < finder->seen->records.count; i++) {
        SeenRecords *other = &finder->seen->records.at[i];
        if (other->ends == ends && same_records(work, other->rows, rows)) {
            return other_path(work, other->spot, spot);
        }
    }
    ADD(work, &finder->seen->records, ((SeenRecords){rows, spot, ends}));
    return NOTHING;
}

static const char *const STATES[] = {"state", "status", "conclusion", "phase", "outcome", "result", "verdict", "health", NULL};
static const char *const PEOPLE[] = {"author", "user", "assignee", "owner", "creator", "reporter",
                                     "sender", "actor", "from", "by", NULL};
static const char *const PERSONS_NAMES[] = {"login", "name", "username", "displayname", "display_name", NULL};

/* Agrees with `_asked_of_a_record`. */
static bool is_asked_of_a_record(Work *work, Spot spot) {
    if (spot.prefix.size == 0) {
        return is_any(work, spot.label, STATES) || is_any(work, spot.label, PEOPLE);
    }
    Str owner = {spot.prefix.at, spot.prefix.size - 1, spot.prefix.chars - 1};
    return is_any(work, spot.label, PERSONS_NAMES) && is_any(work, owner, PEOPLE);
}

/* Agrees with `throughout` of Python: a column of one cell. */
static Node *add_constant(Work *work, Str cell, Py_ssize_t rows, const Finder *finder, Spot spot, Nodes *nodes) {
    if (finder->constants && finder->count > 1 && !is_asked_of_a_record(work, spot)) {
        Node *node = add_node(work, nodes, CONSTANT, spot.label);
        node->said = cell;
        return node;
    }
    Str *cells = TAKE(work, rows, Str);
    for (Py_ssize_t i = 0; i < rows; i++) {
        cells[i] = cell;
    }
    return add_leaf(work, nodes, spot.label, cells);
}

static size_t characters_of(const Str *cells, Py_ssize_t count) {
    size_t chars = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        chars += cells[i].chars;
    }
    return chars;
}

/* Agrees with `repeated`. */
static Node *add_repeated(Work *work, Str *cells, const Finder *finder, Spot spot, Nodes *nodes) {
    cells = full_cells(work, finder, cells, NOTHING);
    if (finder->repeats && finder->count > 1) {
        Str known = known_cells(work, finder, cells, spot);
        if (known.size && characters_of(cells, finder->count) > known.chars + spot.label.chars + 8) {
            Node *node = add_node(work, nodes, SAME, spot.label);
            node->said = known;
            return node;
        }
    }
    return add_leaf(work, nodes, spot.label, cells);
}

/* Agrees with `said_once`. */
static Node *add_once(Work *work, Str *cells, Py_ssize_t count, const Finder *finder, Spot spot, Nodes *nodes) {
    bool constant = cells[0].size && finder->places == NULL && same(cells[0], cells[count - 1]);
    for (Py_ssize_t i = 1; constant && i < count; i++) {
        constant = same(cells[0], cells[i]);
    }
    if (constant) {
        return add_constant(work, cells[0], count, finder, spot, nodes);
    }
    return add_repeated(work, cells, finder, spot, nodes);
}

#endif
