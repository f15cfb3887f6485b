/* What is written above the rows, in them, under them: agrees with shaping/encoders/tabular/layout.py. */
#ifndef SHAPING_LAYOUT_H
#define SHAPING_LAYOUT_H

#include "ids.h"
#include "sparse.h"

typedef struct Layout Layout;

typedef struct {
    Strs steps; /* the path from the row */
    Node *node;
    Layout *inner;
    Str label;       /* ITEMS: the shortest end of the path that no other one has */
    Py_ssize_t next; /* ITEMS: the row that is written next */
    int32_t *tags;   /* TEXT: the number of a text that comes back, or 0; below 0 where it has been said */
} Under;

typedef LIST_OF(Under) Unders;

struct Layout {
    Py_ssize_t count;
    Leaves leaves;
    Str *also;
    Strs header, fixed;
    Unders under;
};

static Layout *lay_out(Work *work, const Table *table);

/* Agrees with `_nested`: put a group's parts behind its name. */
static void add_nested(Work *work, Str name, const Strs *inner, Strs *parts) {
    if (inner->count == 0) {
        return;
    }
    Buffer out = {work, NULL, 0, 0};
    put(&out, name);
    put_char(&out, inner->count == 1 ? '.' : '{');
    for (Py_ssize_t i = 0; i < inner->count; i++) {
        if (i) {
            put_char(&out, ',');
        }
        put(&out, inner->at[i]);
    }
    if (inner->count > 1) {
        put_char(&out, '}');
    }
    ADD(work, parts, written(&out, 0));
}

static Str pair(Work *work, Str name, Str between, Str other) {
    return joined(work, joined(work, name, between), other);
}

static Strs one_more(Work *work, const Strs *prefix, Str name) {
    Strs steps = {0};
    for (Py_ssize_t i = 0; i < prefix->count; i++) {
        ADD(work, &steps, prefix->at[i]);
    }
    ADD(work, &steps, name);
    return steps;
}

/* Agrees with `_place`. */
static void place(Work *work, const Nodes *nodes, const Strs *prefix, Strs *header, Strs *fixed, Unders *under) {
    for (Py_ssize_t i = 0; i < nodes->count; i++) {
        Node *node = nodes->at[i];
        if (node->kind == LEAF) {
            ADD(work, header, node->name);
        } else if (node->kind == CONSTANT) {
            ADD(work, fixed, pair(work, node->name, STR("="), node->said));
        } else if (node->kind == SAME) {
            ADD(work, fixed, pair(work, node->name, STR("=="), node->said));
        } else if (node->kind == GROUP) {
            Strs inner = {0}, inner_fixed = {0}, steps = one_more(work, prefix, node->name);
            place(work, &node->nodes, &steps, &inner, &inner_fixed, under);
            add_nested(work, node->name, &inner, header);
            add_nested(work, node->name, &inner_fixed, fixed);
        } else {
            Under one = {.steps = one_more(work, prefix, node->name), .node = node};
            one.inner = node->table ? lay_out(work, node->table) : NULL;
            ADD(work, under, one);
        }
    }
}

static bool same_end(const Strs *one, const Strs *other, Py_ssize_t size) {
    if (other->count < size) {
        return false;
    }
    for (Py_ssize_t i = 1; i <= size; i++) {
        if (!same(one->at[one->count - i], other->at[other->count - i])) {
            return false;
        }
    }
    return true;
}

static Str dotted(Work *work, const Strs *steps, Py_ssize_t size) {
    Buffer out = {work, NULL, 0, 0};
    for (Py_ssize_t i = steps->count - size; i < steps->count; i++) {
        if (out.size) {
            put_char(&out, '.');
        }
        put(&out, steps->at[i]);
    }
    return written(&out, 0);
}

/* Agrees with `_end`: how many steps from the end no other list has. */
static Py_ssize_t shortest_end(const Unders *under, const Under *one) {
    for (Py_ssize_t size = 1; size < one->steps.count; size++) {
        Py_ssize_t alike = 0;
        for (Py_ssize_t i = 0; i < under->count; i++) {
            alike += under->at[i].node->kind == ITEMS && same_end(&one->steps, &under->at[i].steps, size);
        }
        if (alike == 1) {
            return size;
        }
    }
    return one->steps.count;
}

/* Agrees with `_tags`: number the texts that come back, in the order of their first rows. */
static int32_t *tags_of(Work *work, const Node *node, Py_ssize_t count) {
    Ids ids = ids_for(work, count);
    int32_t *numbers = TAKE(work, count, int32_t), *times = TAKE_EMPTY(work, count, int32_t), next = 0;
    Py_ssize_t present = 0;
    for (Py_ssize_t row = 0; row < count; row++) {
        numbers[row] = node->cells[row].at ? id_of(work, &ids, node->cells[row]) : -1;
        if (numbers[row] >= 0) {
            times[numbers[row]]++;
            present++;
        }
    }
    if (!node->repeats || ids.texts.count == present) {
        return NULL;
    }
    int32_t *tags = TAKE_EMPTY(work, count, int32_t), *tag_of = TAKE_EMPTY(work, count, int32_t);
    for (Py_ssize_t row = 0; row < count; row++) {
        int32_t number = numbers[row];
        if (number >= 0 && times[number] > 1) {
            tags[row] = tag_of[number] ? -tag_of[number] : (tag_of[number] = ++next);
        }
    }
    return tags;
}

/* Agrees with `lay_out`, and finds what the writer asks of it. */
static Layout *lay_out(Work *work, const Table *table) {
    Layout *layout = TAKE_EMPTY(work, 1, Layout);
    Nodes nodes = table->nodes;
    Strs none = {0};
    layout->count = table->count;
    find_leaves(work, &nodes, &layout->leaves);
    if (has_gaps(work, &layout->leaves, table->count)) {
        nodes = settled(work, &nodes, table->count, &layout->also);
        layout->leaves = (Leaves){0};
        find_leaves(work, &nodes, &layout->leaves);
    }
    place(work, &nodes, &none, &layout->header, &layout->fixed, &layout->under);
    for (Py_ssize_t i = 0; i < layout->under.count; i++) {
        Under *one = &layout->under.at[i];
        bool items = one->node->kind == ITEMS;
        one->label = dotted(work, &one->steps, items ? shortest_end(&layout->under, one) : one->steps.count);
        if (one->node->kind == TEXT) {
            one->tags = tags_of(work, one->node, table->count);
        }
    }
    return layout;
}

#endif
