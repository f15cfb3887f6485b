/* Sentences that another column decides: agrees with shaping/encoders/tabular/given.py. */
#ifndef SHAPING_GIVEN_H
#define SHAPING_GIVEN_H

#include "ids.h"
#include "nodes.h"

#define MANY_ROWS 24
#define SENTENCE 20
#define OFTEN 8
#define WORTH 400

/* A leaf with its cells as numbers. */
typedef struct {
    Node *leaf;
    double size; /* characters of a cell, on average */
    Py_ssize_t place;
    int32_t *numbers;
    Py_ssize_t *times;
    Ids ids;
} Numbered;

static Numbered numbered(Work *work, Node *leaf, Py_ssize_t count) {
    Numbered one = {.leaf = leaf, .numbers = TAKE(work, count, int32_t), .times = TAKE_EMPTY(work, count, Py_ssize_t)};
    one.ids = ids_for(work, count);
    for (Py_ssize_t i = 0; i < count; i++) {
        one.numbers[i] = id_of(work, &one.ids, leaf->cells[i]);
        one.times[one.numbers[i]]++;
    }
    return one;
}

/* Tell whether the different cells come so many times on average (_are_few); mostly the first ones tell already. */
static bool are_few(Work *work, Node *leaf, Py_ssize_t count, Py_ssize_t times) {
    Py_ssize_t most = count / times;
    Ids ids = ids_for(work, most + 1);
    for (Py_ssize_t i = 0; i < count; i++) {
        id_of(work, &ids, leaf->cells[i]);
        if (ids.texts.count > most) {
            return false;
        }
    }
    return true;
}

/* Count the different pairs of numbers, up to a limit. */
static Py_ssize_t count_pairs(Work *work, const Numbered *key, const Numbered *cell, Py_ssize_t count, Py_ssize_t most) {
    Ids pairs = ids_for(work, most + 1);
    int32_t *both = TAKE(work, (most + 1) * 2, int32_t);
    for (Py_ssize_t i = 0; i < count && pairs.texts.count < most; i++) {
        int32_t *next = &both[2 * pairs.texts.count]; /* written over by the next one where it is known */
        next[0] = key->numbers[i];
        next[1] = cell->numbers[i];
        id_of(work, &pairs, (Str){(const char *)next, 8, 8});
    }
    return pairs.texts.count;
}

/* Return for each key the only cell it comes with where that is told, else -1; and the characters saved (_told). */
static int32_t *told_by(Work *work, const Numbered *key, const Numbered *cell, Py_ssize_t count, Py_ssize_t *saved) {
    Py_ssize_t keys = key->ids.texts.count;
    *saved = 0;
    if (cell->ids.texts.count >= 2 * keys || count_pairs(work, key, cell, count, 2 * keys) >= 2 * keys) {
        return NULL;
    }
    int32_t *told = TAKE(work, keys, int32_t);
    memset(told, -1, (size_t)keys * sizeof *told);
    for (Py_ssize_t i = 0; i < count; i++) {
        int32_t *known = &told[key->numbers[i]];
        *known = *known == -1 || *known == cell->numbers[i] ? cell->numbers[i] : -2;
    }
    for (Py_ssize_t k = 0; k < keys; k++) {
        Str name = key->ids.texts.at[k];
        if (told[k] < 0 || !name.size || key->times[k] < OFTEN || cell->ids.texts.at[told[k]].chars < SENTENCE) {
            told[k] = -1;
        } else {
            *saved += (Py_ssize_t)cell->ids.texts.at[told[k]].chars * (key->times[k] - 1) - name.chars;
        }
    }
    return told;
}

/* Add a leaf with what a key tells taken out of the rows. */
static void add_told(Work *work, Numbered *key, Numbered *cell, int32_t *told, Py_ssize_t count, Nodes *nodes) {
    Str *rest = TAKE(work, count, Str);
    bool any_rest = false;
    for (Py_ssize_t i = 0; i < count; i++) {
        rest[i] = told[key->numbers[i]] >= 0 ? NOTHING : cell->leaf->cells[i];
        any_rest = any_rest || rest[i].size;
    }
    if (any_rest) {
        add_leaf(work, nodes, cell->leaf->name, rest);
    }
    Node *node = add_node(work, nodes, GIVEN, cell->leaf->name);
    Py_ssize_t keys = key->ids.texts.count;
    node->said = key->leaf->name;
    node->keys = TAKE(work, keys, Str);
    node->cells = TAKE(work, keys, Str);
    for (Py_ssize_t k = 0; k < keys; k++) {
        if (told[k] >= 0) {
            node->keys[node->told] = key->ids.texts.at[k];
            node->cells[node->told++] = cell->ids.texts.at[told[k]];
        }
    }
}

/* Agrees with `_decided`. */
static void add_decided(Work *work, Node *leaf, Numbered *keys, Py_ssize_t key_count, Py_ssize_t count, Nodes *nodes) {
    Numbered cell = numbered(work, leaf, count);
    Numbered *by = NULL;
    int32_t *best = NULL;
    Py_ssize_t worth = WORTH;
    for (Py_ssize_t i = 0; i < key_count; i++) {
        Py_ssize_t saved;
        int32_t *told = told_by(work, &keys[i], &cell, count, &saved);
        if (saved > worth) {
            best = told;
            by = &keys[i];
            worth = saved;
        }
    }
    if (best == NULL) {
        ADD(work, nodes, leaf);
    } else {
        add_told(work, by, &cell, best, count, nodes);
    }
}

static double size_of(const Node *leaf, Py_ssize_t count) {
    size_t chars = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        chars += leaf->cells[i].chars;
    }
    return (double)chars / (double)count;
}

/* The shorter first, and those of one size in the order they came. */
static int by_cells(const void *one, const void *other) {
    const Numbered *left = one, *right = other;
    if (left->size != right->size) {
        return left->size < right->size ? -1 : 1;
    }
    return left->place < right->place ? -1 : left->place > right->place;
}

/* Agrees with `given`. */
static Nodes given(Work *work, Nodes nodes, Py_ssize_t count) {
    bool *told = TAKE_EMPTY(work, nodes.count + 1, bool), any = false;
    for (Py_ssize_t i = 0; i < nodes.count; i++) {
        Node *node = nodes.at[i];
        told[i] = node->kind == LEAF && size_of(node, count) >= SENTENCE && are_few(work, node, count, 2);
        any = any || told[i];
    }
    if (!any) {
        return nodes;
    }
    Numbered *keys = TAKE(work, nodes.count, Numbered);
    Py_ssize_t key_count = 0;
    for (Py_ssize_t i = 0; i < nodes.count; i++) {
        Node *node = nodes.at[i];
        double size = node->kind == LEAF ? size_of(node, count) : SENTENCE;
        if (size < SENTENCE && are_few(work, node, count, OFTEN)) {
            keys[key_count] = numbered(work, node, count);
            keys[key_count].size = size;
            keys[key_count].place = key_count;
            key_count++;
        }
    }
    if (key_count) {
        qsort(keys, (size_t)key_count, sizeof *keys, by_cells);
    }
    Nodes kept = {0};
    for (Py_ssize_t i = 0; i < nodes.count; i++) {
        if (told[i]) {
            add_decided(work, nodes.at[i], keys, key_count, count, &kept);
        } else {
            ADD(work, &kept, nodes.at[i]);
        }
    }
    return kept;
}

#endif
