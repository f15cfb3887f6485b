/* The parts of a table: mirrors shaping/encoders/tabular/nodes.py. */
#ifndef SHAPING_NODES_H
#define SHAPING_NODES_H

#include "work.h"

typedef enum { LEAF, CONSTANT, SAME, GIVEN, TEXT, GROUP, ITEMS, LOOKUP } NodeKind;

typedef struct Node Node;
typedef LIST_OF(Node *) Nodes;

typedef struct {
    Py_ssize_t count;
    Nodes nodes;
} Table;

struct Node {
    NodeKind kind;
    Str name;
    Str *cells;         /* LEAF: one a row; GIVEN: what is told; TEXT: long strings, without a place where there is none */
    Str *keys;          /* GIVEN: by which cells it is told */
    Py_ssize_t told;    /* GIVEN: how many */
    Str said;           /* CONSTANT: the cell; SAME: the source; GIVEN, LOOKUP: the name of the key */
    Nodes nodes;        /* GROUP */
    Table *table;       /* ITEMS, LOOKUP */
    Py_ssize_t *counts; /* ITEMS: rows of the table for each row; -1 where the row has no such list */
    bool keyed;         /* ITEMS */
    bool repeats;       /* TEXT */
    bool as_json;       /* TEXT */
};

static Node *add_node(Work *work, Nodes *nodes, NodeKind kind, Str name) {
    Node *node = TAKE_EMPTY(work, 1, Node);
    node->kind = kind;
    node->name = name;
    ADD(work, nodes, node);
    return node;
}

static Node *add_leaf(Work *work, Nodes *nodes, Str name, Str *cells) {
    Node *node = add_node(work, nodes, LEAF, name);
    node->cells = cells;
    return node;
}

#endif
