/* What a list of records consists of: agrees with shaping/encoders/tabular/infer.py. */
#ifndef SHAPING_INFER_H
#define SHAPING_INFER_H

#include "given.h"
#include "lookup.h"
#include "pairs.h"
#include "scalars.h"

#define DEEP 24 /* deeper nests are written as JSON */

static void add_members(Work *work, Rows rows, const Finder *finder, Spot spot, const Choice *choice, Nodes *nodes);
static void add_column(Work *work, PyObject **column, Py_ssize_t count, const Finder *finder, Spot spot, Nodes *nodes);

/* Agrees with `table`. */
static Table *table_of(Work *work, Rows rows, const Choice *choice, const Finder *finder, int depth) {
    Table *table = TAKE_EMPTY(work, 1, Table);
    Finder inner = within(work, finder, rows.count);
    table->count = rows.count;
    add_members(work, rows, &inner, (Spot){NOTHING, NOTHING, depth - 1}, choice, &table->nodes);
    if (finder->repeats && !finder->near && rows.count >= MANY_ROWS) {
        table->nodes = given(work, table->nodes, rows.count);
    }
    return table;
}

/* Agrees with `keyed`. */
static Table *keyed_table(Work *work, PyObject **keys, Rows records, const Finder *finder, int depth) {
    Table *table = TAKE_EMPTY(work, 1, Table);
    Finder inner = within(work, finder, records.count);
    Str *names = cells_of(work, keys, records.count, STRING);
    known_cells(work, &inner, names, (Spot){KEY, NOTHING, 0});
    table->count = records.count;
    add_leaf(work, &table->nodes, KEY, names);
    add_members(work, records, &inner, (Spot){NOTHING, NOTHING, depth - 1}, NULL, &table->nodes);
    return table;
}

static Rows filled_rows(Work *work, Rows rows) {
    Rows filled = {TAKE(work, rows.count, PyObject *), 0};
    for (Py_ssize_t i = 0; i < rows.count; i++) {
        if (is_filled(rows.at[i])) {
            filled.at[filled.count++] = rows.at[i];
        }
    }
    return filled;
}

/* Agrees with `_members`. */
static void add_members(Work *work, Rows rows, const Finder *finder, Spot spot, const Choice *choice, Nodes *nodes) {
    Str prefix = spot.label.size ? joined(work, path_of(work, spot), STR(".")) : NOTHING;
    Finder some = *finder;
    Rows filled = filled_rows(work, rows);
    if (filled.count && filled.count < rows.count) {
        some = among(work, finder, rows);
        rows = filled;
    }
    Columns columns = columns_of(work, rows, choice);
    for (Py_ssize_t i = columns.first; i >= 0; i = columns.list.at[i].next) {
        Column *column = &columns.list.at[i];
        if (column->values) {
            Spot here = {name_of(work, column->key), prefix, spot.depth + 1};
            add_column(work, column->values, rows.count, &some, here, nodes);
        }
    }
}

static void add_cells(
    Work *work, PyObject **column, Py_ssize_t count, unsigned kinds, const Finder *finder, Spot spot, Nodes *nodes
) {
    add_once(work, cells_of(work, column, count, kinds), count, finder, spot, nodes);
}

/* Agrees with `_odd`: what stands where most rows have a record or a list that holds something. */
static bool add_odd(Work *work, PyObject **column, const bool *usual, Py_ssize_t count, Str label, Nodes *nodes) {
    PyObject **odd = TAKE(work, count, PyObject *);
    for (Py_ssize_t i = 0; i < count; i++) {
        odd[i] = usual[i] ? NULL : column[i];
    }
    unsigned kinds = kinds_of(work, odd, count);
    if (kinds == ABSENT) {
        return false;
    }
    add_leaf(work, nodes, label, cells_of(work, odd, count, kinds));
    return true;
}

/* Agrees with `_lookup`. */
static void add_lookup(Work *work, Rows rows, const Told *told, const Finder *finder, Spot spot, Nodes *nodes) {
    Str key = name_of(work, told->key);
    Str *cells = TAKE(work, rows.count, Str);
    for (Py_ssize_t i = 0; i < rows.count; i++) {
        cells[i] = rows.at[i] ? cell(work, member(work, rows.at[i], told->key)) : NOTHING;
    }
    Node *group = add_node(work, nodes, GROUP, spot.label);
    add_leaf(work, &group->nodes, key, cells);
    add_members(work, rows, finder, spot, &told->beside, &group->nodes);
    Node *lookup = add_node(work, nodes, LOOKUP, spot.label);
    lookup->said = key;
    lookup->table = table_of(work, told->records, &told->told, finder, spot.depth + 1);
}

/* Agrees with `_group`. */
static void add_group(Work *work, Rows rows, const Finder *finder, Spot spot, bool whole, Nodes *nodes) {
    Told told;
    if (finder->repeats && finder->count > 1 && most_members(rows) > 2) {
        Str known = whole ? known_records(work, finder, rows, spot) : NOTHING;
        if (known.size) {
            add_node(work, nodes, SAME, spot.label)->said = known;
            return;
        }
        if (told_once(work, rows, finder->near, &told)) {
            add_lookup(work, rows, &told, finder, spot, nodes);
            return;
        }
    }
    Node *group = add_node(work, nodes, GROUP, spot.label);
    add_members(work, rows, finder, spot, NULL, &group->nodes);
}

/* Add maps of records as rows under each row; tell whether they are such (the end of `_records`). */
static Node *keyed_items(Work *work, Rows rows, const Finder *finder, Spot spot) {
    LIST_OF(PyObject *) keys = {0};
    LIST_OF(PyObject *) items = {0};
    Node *node = TAKE_EMPTY(work, 1, Node);
    *node = (Node){.kind = ITEMS, .name = spot.label, .keyed = true, .counts = TAKE(work, rows.count, Py_ssize_t)};
    for (Py_ssize_t i = 0; i < rows.count; i++) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        node->counts[i] = is_filled(rows.at[i]) ? PyDict_GET_SIZE(rows.at[i]) : -1;
        while (rows.at[i] && PyDict_Next(rows.at[i], &at, &key, &value)) {
            if (!PyDict_CheckExact(value) || !is_filled(value)) {
                return NULL;
            }
            ADD(work, &keys, key);
            ADD(work, &items, value);
        }
    }
    node->table = keyed_table(work, keys.at, (Rows){items.at, items.count}, finder, spot.depth + 1);
    return node;
}

/* Agrees with `_records`. */
static void add_records(
    Work *work, PyObject **column, Py_ssize_t count, unsigned kinds, const Finder *finder, Spot spot, Nodes *nodes
) {
    Rows rows = {TAKE(work, count, PyObject *), count};
    bool *usual = TAKE(work, count, bool), any = false, all = true;
    for (Py_ssize_t i = 0; i < count; i++) {
        rows.at[i] = is_record(column[i]) ? column[i] : NULL;
        usual[i] = is_filled(rows.at[i]);
        any = any || usual[i];
        all = all && usual[i];
    }
    if (spot.depth > DEEP || !any) {
        add_cells(work, column, count, kinds, finder, spot, nodes);
        return;
    }
    bool maps = are_maps(work, rows);
    Node *items = maps ? keyed_items(work, rows, finder, spot) : NULL;
    if (maps && items == NULL) {
        add_cells(work, column, count, kinds, finder, spot, nodes);
        return;
    }
    bool odd = !all && add_odd(work, column, usual, count, spot.label, nodes);
    if (maps) {
        ADD(work, nodes, items);
    } else {
        add_group(work, rows, finder, spot, !odd, nodes);
    }
}

/* Return when something of a row is read: its cells, then lists, then texts (_place). */
static int place_of_node(const Node *node) {
    int last = 0;
    if (node->kind != GROUP) {
        return node->kind == ITEMS ? 1 : node->kind == TEXT ? 2 : 0;
    }
    for (Py_ssize_t i = 0; i < node->nodes.count; i++) {
        int place = place_of_node(node->nodes.at[i]);
        last = place > last ? place : last;
    }
    return last;
}

/* Return for each key its values, list by list; the entries of a list come in the order of the keys. */
static PyObject **pivoted(Work *work, Rows lists, const Pairs *pairs) {
    PyObject **values = TAKE_EMPTY(work, lists.count * pairs->count, PyObject *);
    for (Py_ssize_t i = 0; i < lists.count; i++) {
        int place = 0;
        for (Py_ssize_t j = 0; lists.at[i] && j < PyList_GET_SIZE(lists.at[i]); j++) {
            PyObject *entry = PyList_GET_ITEM(lists.at[i], j), *key = member(work, entry, pairs->key);
            while (!same_text(pairs->keys[place], key)) {
                place++;
            }
            values[place * lists.count + i] = member(work, entry, pairs->value);
        }
    }
    return values;
}

/* Agrees with `_pivoted`. */
static bool add_pivoted(Work *work, Rows lists, const Pairs *pairs, const Finder *finder, Spot spot, Nodes *nodes) {
    Buffer label = {work, NULL, 0, 0};
    put(&label, spot.label);
    put_char(&label, '[');
    put(&label, name_of(work, pairs->key));
    put_char(&label, '=');
    put(&label, name_of(work, pairs->value));
    put_char(&label, ']');
    spot.label = written(&label, 0);
    Finder plain = {false, false, true, finder->count, TAKE_EMPTY(work, 1, Seen), NULL};
    Str prefix = joined(work, path_of(work, spot), STR("."));
    Node *group = TAKE_EMPTY(work, 1, Node);
    group->kind = GROUP;
    group->name = spot.label;
    PyObject **values = pivoted(work, lists, pairs);
    int last = 0;
    for (int k = 0; k < pairs->count; k++) {
        Py_ssize_t from = group->nodes.count;
        Spot here = {name_of(work, pairs->keys[k]), prefix, spot.depth + 1};
        add_column(work, values + k * lists.count, lists.count, &plain, here, &group->nodes);
        int least = 2, most = 0;
        for (Py_ssize_t i = from; i < group->nodes.count; i++) {
            int place = place_of_node(group->nodes.at[i]);
            least = place < least ? place : least;
            most = place > most ? place : most;
        }
        if (least < last) {
            return false;
        }
        last = most;
    }
    ADD(work, nodes, group);
    return true;
}

/* What `_lists` finds in a column: its lists, those that hold something, and all they hold. */
typedef struct {
    Rows lists, present, items;
    bool *usual;
    Py_ssize_t longest;
    bool records; /* whether they hold records that hold something, and nothing else */
} Found;

static Found found_lists(Work *work, PyObject **column, Py_ssize_t count) {
    Found found = {{TAKE(work, count, PyObject *), count}, {TAKE(work, count, PyObject *), 0}, {NULL, 0}, NULL, 0, true};
    LIST_OF(PyObject *) items = {0};
    found.usual = TAKE(work, count, bool);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *list = column[i] && PyList_CheckExact(column[i]) ? column[i] : NULL;
        Py_ssize_t size = list ? PyList_GET_SIZE(list) : 0;
        found.lists.at[i] = size ? list : NULL;
        found.usual[i] = size > 0;
        found.longest = size > found.longest ? size : found.longest;
        if (size) {
            found.present.at[found.present.count++] = list;
        }
        for (Py_ssize_t j = 0; j < size && found.records; j++) {
            PyObject *item = PyList_GET_ITEM(list, j);
            found.records = PyDict_CheckExact(item) && is_filled(item);
            ADD(work, &items, item);
        }
    }
    found.records = found.records && items.count;
    found.items = (Rows){items.at, items.count};
    return found;
}

static bool is_short_list(Work *work, const Found *found) {
    size_t worth = 60 + 16 * (size_t)found->present.count, count = (size_t)found->items.count;
    if (7 * count >= worth) {
        return false;
    }
    Buffer out = {work, NULL, 0, 0};
    for (size_t i = 0; i < count; i++) {
        put_json(&out, found->items.at[i], 1);
    }
    return written(&out, 0).chars + 1 + count < worth; /* two brackets and the commas */
}

/* Agrees with `_lists`. */
static void add_lists(
    Work *work, PyObject **column, Py_ssize_t count, unsigned kinds, const Finder *finder, Spot spot, Nodes *nodes
) {
    Found found = found_lists(work, column, count);
    if (spot.depth > DEEP || !found.records) {
        add_cells(work, column, count, kinds, finder, spot, nodes);
        split_long_lists(work, finder, nodes);
        return;
    }
    if (kinds == LISTED && equal_lists(work, column[0], column[count - 1])) {
        Nodes whole = {0};
        Node *node = add_once(work, cells_of(work, column, count, kinds), count, finder, spot, &whole);
        if (node->kind != LEAF) {
            ADD(work, nodes, node);
            return;
        }
    }
    Nodes odd = {0};
    Pairs pairs;
    bool all = found.present.count == count;
    bool has_odd = !all && add_odd(work, column, found.usual, count, spot.label, &odd);
    Node *items = NULL;
    if (found.longest > 1 && pairs_of(work, found.present, found.items, &pairs)) {
        Nodes pivoted = {0};
        items = add_pivoted(work, found.lists, &pairs, finder, spot, &pivoted) ? pivoted.at[0] : NULL;
    }
    if (found.longest > 1 && items == NULL && is_short_list(work, &found)) {
        add_cells(work, column, count, kinds, finder, spot, nodes);
        return;
    }
    if (has_odd) {
        ADD(work, nodes, odd.at[0]);
    }
    if (found.longest == 1) {
        Rows rows = {TAKE_EMPTY(work, count, PyObject *), count};
        for (Py_ssize_t i = 0; i < count; i++) {
            rows.at[i] = found.lists.at[i] ? PyList_GET_ITEM(found.lists.at[i], 0) : NULL;
        }
        spot.label = joined(work, spot.label, STR("[0]"));
        add_group(work, rows, finder, spot, !has_odd, nodes);
        return;
    }
    if (items != NULL) {
        ADD(work, nodes, items);
        return;
    }
    items = add_node(work, nodes, ITEMS, spot.label);
    items->table = table_of(work, found.items, NULL, finder, spot.depth + 1);
    items->counts = TAKE(work, count, Py_ssize_t);
    for (Py_ssize_t i = 0; i < count; i++) {
        items->counts[i] = found.usual[i] ? PyList_GET_SIZE(column[i]) : -1;
    }
}

/* Agrees with `_column`. */
static void add_column(Work *work, PyObject **column, Py_ssize_t count, const Finder *finder, Spot spot, Nodes *nodes) {
    unsigned kinds = kinds_of(work, column, count);
    if (!(kinds & (RECORD | LISTED))) {
        add_scalars(work, column, count, kinds, finder, spot, nodes);
        return;
    }
    Finder all = throughout(finder);
    if (finder->places) {
        column = full_column(work, finder, column);
        count = finder->count;
        kinds |= ABSENT;
    }
    if (kinds & RECORD) {
        add_records(work, column, count, kinds, &all, spot, nodes);
    } else {
        add_lists(work, column, count, kinds, &all, spot, nodes);
    }
}

#endif
