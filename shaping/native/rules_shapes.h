/* Which records of a place have the same members in the same order: what Batch._take_sample asks of tuples of names. */
#ifndef SHAPING_RULES_SHAPES_H
#define SHAPING_RULES_SHAPES_H

#include "rules_text.h"

enum { SORT_SHAPES = 24, SORT_NAMES = 128 };

/* The names of the record that others are compared with, most of which have the same. */
typedef struct {
    PyObject *row; /* all borrowed: nothing runs while records are compared */
    Py_ssize_t count;
    PyObject *keys[SORT_NAMES];
} Shape;

static void
learn_shape(Shape *shape, PyObject *row)
{
    Py_ssize_t at = 0, count = 0;
    shape->row = row;
    shape->count = PyDict_GET_SIZE(row);
    while (count < SORT_NAMES && PyDict_Next(row, &at, &shape->keys[count], NULL)) {
        count++;
    }
}

static int
same_name(PyObject *known, PyObject *name)
{
    return known == name || (is_text(name) && same_text(known, name));
}

/* Whether a record has the same members in the same order as one whose names are plain strings. */
static int
same_shape(PyObject *one, PyObject *other)
{
    Py_ssize_t at = 0, there = 0;
    PyObject *key, *name;
    if (PyDict_GET_SIZE(one) != PyDict_GET_SIZE(other)) {
        return 0;
    }
    while (PyDict_Next(one, &at, &key, NULL) && PyDict_Next(other, &there, &name, NULL)) {
        if (!same_name(key, name)) {
            return 0;
        }
    }
    return 1;
}

/* The same, by names that were learned. */
static int
has_shape(const Shape *shape, PyObject *row)
{
    Py_ssize_t at = 0, count = 0;
    PyObject *name;
    if (PyDict_GET_SIZE(row) != shape->count || shape->count > SORT_NAMES) {
        return shape->count > SORT_NAMES && same_shape(shape->row, row);
    }
    while (count < shape->count && PyDict_Next(row, &at, &name, NULL)) {
        if (!same_name(shape->keys[count++], name)) {
            return 0;
        }
    }
    return 1;
}

/* Whether all names of a record are plain strings. */
static int
is_known_record(PyObject *row)
{
    Py_ssize_t at = 0;
    PyObject *key;
    while (PyDict_Next(row, &at, &key, NULL)) {
        if (!is_text(key)) {
            return 0;
        }
    }
    return 1;
}

/* A tuple of records, which are borrowed when it is called: making it may run anything. */
static PyObject *
tuple_of(PyObject **rows, int count)
{
    for (int at = 0; at < count; at++) {
        Py_INCREF(rows[at]);
    }
    PyObject *tuple = PyTuple_New(count);
    for (int at = 0; at < count; at++) {
        if (tuple != NULL) {
            PyTuple_SET_ITEM(tuple, at, rows[at]);
        } else {
            Py_DECREF(rows[at]);
        }
    }
    return tuple;
}

/* Records of each shape: the last of them, in the order in which the shapes came. */
typedef struct {
    PyObject *sample[SORT_SHAPES + 1]; /* the first record, and then those; borrowed */
    int count, recent;
    Shape shape; /* the recent one */
} Shapes;

/* Which shape a record has, or how many there are where it has another. */
static int
find_shape(Shapes *shapes, PyObject *row)
{
    if (shapes->count && has_shape(&shapes->shape, row)) {
        return shapes->recent;
    }
    int at = 0;
    while (at < shapes->count && !same_shape(shapes->sample[at + 1], row)) {
        at++;
    }
    return at;
}

/* Count a record in; 0 where its names are not known to be plain strings. */
static int
add_record(Shapes *shapes, PyObject *row)
{
    if (!PyDict_CheckExact(row)) {
        return 0;
    }
    int at = find_shape(shapes, row);
    if (at == shapes->count && !is_known_record(row)) {
        return 0;
    }
    if (at == SORT_SHAPES) {
        return 1;
    }
    if (at == shapes->count || at != shapes->recent) {
        learn_shape(&shapes->shape, row);
    }
    shapes->recent = at;
    shapes->count += at == shapes->count;
    shapes->sample[at + 1] = row;
    return 1;
}

#endif
