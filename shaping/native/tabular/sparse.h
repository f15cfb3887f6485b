/* Keep rows countable: agrees with shaping/encoders/tabular/sparse.py. */
#ifndef SHAPING_SPARSE_H
#define SHAPING_SPARSE_H

#include "nodes.h"

#define GAP 5 /* empty cells side by side that a reader still counts right */

typedef struct {
    Py_ssize_t filled, place;
    Node *node;
} Seldom;

typedef LIST_OF(Seldom) Seldoms;
typedef LIST_OF(Node *) Leaves;

/* Return the columns of a table in the order of their cells (columns_of). */
static void find_leaves(Work *work, const Nodes *nodes, Leaves *leaves) {
    for (Py_ssize_t i = 0; i < nodes->count; i++) {
        if (nodes->at[i]->kind == LEAF) {
            ADD(work, leaves, nodes->at[i]);
        } else if (nodes->at[i]->kind == GROUP) {
            find_leaves(work, &nodes->at[i]->nodes, leaves);
        }
    }
}

static void put_row(Buffer *out, const Leaves *leaves, Py_ssize_t row) {
    Py_ssize_t last = leaves->count;
    while (last > 0 && leaves->at[last - 1]->cells[row].size == 0) {
        last--;
    }
    if (last == 0) {
        put_char(out, '-');
    }
    for (Py_ssize_t i = 0; i < last; i++) {
        if (i) {
            put_char(out, ',');
        }
        put(out, leaves->at[i]->cells[row]);
    }
}

static bool has_empty(const Node *leaf, Py_ssize_t count) {
    for (Py_ssize_t row = 0; row < count; row++) {
        if (leaf->cells[row].size == 0) {
            return true;
        }
    }
    return false;
}

/* Tell whether a row has so many commas side by side, be they between cells or in one. */
static bool has_commas(const char *at, size_t size) {
    size_t run = 0;
    for (size_t i = 0; i < size; i++) {
        run = at[i] == ',' ? run + 1 : 0;
        if (run > GAP) {
            return true;
        }
    }
    return false;
}

/* Agrees with `has_gaps`. */
static bool has_gaps(Work *work, const Leaves *leaves, Py_ssize_t count) {
    Py_ssize_t with_empty = 0;
    for (Py_ssize_t i = 0; i < leaves->count; i++) {
        with_empty += has_empty(leaves->at[i], count);
    }
    if (with_empty <= GAP) {
        return false;
    }
    Buffer out = {work, NULL, 0, 0};
    for (Py_ssize_t row = 0; row < count; row++) {
        out.size = 0;
        put_row(&out, leaves, row);
        if (has_commas(out.at, out.size)) {
            return true;
        }
    }
    return false;
}

static Py_ssize_t filled_in(const Node *node, Py_ssize_t count) {
    Py_ssize_t filled = 0;
    if (node->kind == LEAF) {
        for (Py_ssize_t row = 0; row < count; row++) {
            filled += node->cells[row].size > 0;
        }
        return filled;
    }
    if (node->kind != GROUP || node->nodes.count == 0) {
        return count;
    }
    for (Py_ssize_t i = 0; i < node->nodes.count; i++) {
        Py_ssize_t part = filled_in(node->nodes.at[i], count);
        filled = part > filled ? part : filled;
    }
    return filled;
}

static void add_seldom(Work *work, Seldoms *seldom, Py_ssize_t filled, Node *node) {
    Py_ssize_t place = seldom->count;
    ADD(work, seldom, ((Seldom){filled, place, node}));
}

/* The fuller first, and those that are as full in the order they came. */
static int by_filled(const void *one, const void *other) {
    const Seldom *left = one, *right = other;
    if (left->filled != right->filled) {
        return left->filled > right->filled ? -1 : 1;
    }
    return left->place < right->place ? -1 : left->place > right->place;
}

static Node *group_of(Work *work, Str name, Nodes nodes) {
    Node *group = TAKE_EMPTY(work, 1, Node);
    group->kind = GROUP;
    group->name = name;
    group->nodes = nodes;
    return group;
}

/* Agrees with `_split`. */
static void split(Work *work, const Nodes *nodes, Py_ssize_t count, Nodes *often, Seldoms *seldom) {
    for (Py_ssize_t i = 0; i < nodes->count; i++) {
        Node *node = nodes->at[i];
        if (node->kind == GROUP && memchr(node->name.at, '=', node->name.size) == NULL) {
            Nodes some = {0}, rest = {0};
            Seldoms others = {0};
            split(work, &node->nodes, count, &some, &others);
            if (some.count) {
                ADD(work, often, group_of(work, node->name, some));
            }
            for (Py_ssize_t j = 0; j < others.count; j++) {
                ADD(work, &rest, others.at[j].node);
            }
            if (others.count) {
                add_seldom(work, seldom, others.at[0].filled, group_of(work, node->name, rest));
            }
            continue;
        }
        Py_ssize_t filled = filled_in(node, count);
        if (2 * filled < count) {
            add_seldom(work, seldom, filled, node);
        } else {
            ADD(work, often, node);
        }
    }
    if (seldom->count) {
        qsort(seldom->at, (size_t)seldom->count, sizeof *seldom->at, by_filled);
    }
}

/* Return the column where the first gap of a row begins, or -1. */
static Py_ssize_t cut_of(const Leaves *leaves, Py_ssize_t row) {
    Py_ssize_t empty = 0;
    for (Py_ssize_t i = 0; i < leaves->count; i++) {
        if (leaves->at[i]->cells[row].size) {
            if (empty > GAP) {
                return i - empty;
            }
            empty = 0;
        } else {
            empty++;
        }
    }
    return -1;
}

/* Agrees with `_named`: put the cells of a row from a column on, each with its name; return how many parts. */
static Py_ssize_t put_named(Buffer *out, const Nodes *nodes, Py_ssize_t row, Py_ssize_t cut, Py_ssize_t *at) {
    Py_ssize_t parts = 0;
    for (Py_ssize_t i = 0; i < nodes->count; i++) {
        Node *node = nodes->at[i];
        if (node->kind == LEAF && (*at)++ >= cut && node->cells[row].size) {
            if (parts++) {
                put_char(out, ',');
            }
            put(out, node->name);
            put_char(out, '=');
            put(out, node->cells[row]);
        } else if (node->kind == GROUP) {
            Buffer inner = {out->work, NULL, 0, 0};
            Py_ssize_t inside = put_named(&inner, &node->nodes, row, cut, at);
            if (inside == 0) {
                continue;
            }
            if (parts++) {
                put_char(out, ',');
            }
            put(out, node->name);
            put_char(out, inside == 1 ? '.' : '{');
            put(out, written(&inner, 0));
            if (inside > 1) {
                put_char(out, '}');
            }
        }
    }
    return parts;
}

/* Return a leaf without the cells behind each row's cut, or NULL where it is empty then. */
static Node *cut_leaf(Work *work, Node *leaf, const Py_ssize_t *cuts, Py_ssize_t count, Py_ssize_t index) {
    Node *kept = TAKE(work, 1, Node);
    bool any = false;
    *kept = *leaf;
    kept->cells = TAKE(work, count, Str);
    for (Py_ssize_t row = 0; row < count; row++) {
        kept->cells[row] = cuts[row] >= 0 && cuts[row] <= index ? NOTHING : leaf->cells[row];
        any = any || kept->cells[row].size;
    }
    return any ? kept : NULL;
}

/* Agrees with `_without`. */
static Nodes without(Work *work, const Nodes *nodes, const Py_ssize_t *cuts, Py_ssize_t count, Py_ssize_t first, Py_ssize_t *at) {
    Nodes kept = {0};
    for (Py_ssize_t i = 0; i < nodes->count; i++) {
        Node *node = nodes->at[i];
        if (node->kind == LEAF) {
            Py_ssize_t index = (*at)++;
            node = index < first ? node : cut_leaf(work, node, cuts, count, index);
            if (node == NULL) {
                continue;
            }
        } else if (node->kind == GROUP) {
            node = group_of(work, node->name, without(work, &node->nodes, cuts, count, first, at));
        }
        ADD(work, &kept, node);
    }
    return kept;
}

/* Agrees with `settled`: seldom filled columns last, and for each row what is still behind a gap. */
static Nodes settled(Work *work, const Nodes *nodes, Py_ssize_t count, Str **also) {
    Nodes ordered = {0};
    Seldoms seldom = {0};
    split(work, nodes, count, &ordered, &seldom);
    for (Py_ssize_t i = 0; i < seldom.count; i++) {
        ADD(work, &ordered, seldom.at[i].node);
    }
    Leaves leaves = {0};
    find_leaves(work, &ordered, &leaves);
    Py_ssize_t *cuts = TAKE(work, count, Py_ssize_t), first = -1, at = 0;
    for (Py_ssize_t row = 0; row < count; row++) {
        cuts[row] = cut_of(&leaves, row);
        first = cuts[row] >= 0 && (first < 0 || cuts[row] < first) ? cuts[row] : first;
    }
    if (first < 0) {
        return ordered;
    }
    *also = TAKE_EMPTY(work, count, Str);
    for (Py_ssize_t row = 0; row < count; row++) {
        if (cuts[row] >= 0) {
            Buffer out = {work, NULL, 0, 0};
            Py_ssize_t index = 0;
            put_named(&out, &ordered, row, cuts[row], &index);
            (*also)[row] = written(&out, 0);
        }
    }
    return without(work, &ordered, cuts, count, first, &at);
}

#endif
