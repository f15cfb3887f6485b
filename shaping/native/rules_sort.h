/* Batch.sort in one pass over the records of a place. */
#ifndef SHAPING_RULES_SORT_H
#define SHAPING_RULES_SORT_H

#include "rules_names.h"
#include "rules_shapes.h"

enum { SORT_LONG = 320, SORT_SHORT = 8, SORT_MAP = 48, SORT_WORD = 64 };

/* The lists of a Batch, in the order in which Python gives them. */
enum { IN_LINKS, IN_OPAQUE, IN_HEX, IN_LONG, IN_WRAPPED, IN_INSIDE, IN_PLAIN, IN_CODED, LISTS };

typedef struct {
    PyObject *rows; /* a list; borrowed from the call's arguments, as the lists are */
    PyObject *lists[LISTS];
    PyObject *kinds; /* owned */
    Names names;
    PyObject *sample; /* owned */
    int uniform;
} Sorting;

/* What a column is as long as, counting all values or only strings. */
typedef struct {
    PyObject *key; /* borrowed from `plain` */
    Py_ssize_t text, any;
    int unsized;
} Length;

/* Batch._take_sample; 1 where that is not known, -1 with an exception. A record alone is its own sample. */
static int
take_sample(Sorting *sorting)
{
    Shapes shapes;
    Py_ssize_t count = PyList_GET_SIZE(sorting->rows);
    shapes.sample[0] = PyList_GET_ITEM(sorting->rows, 0);
    shapes.count = shapes.recent = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        if (!add_record(&shapes, PyList_GET_ITEM(sorting->rows, at))) {
            return 1;
        }
    }
    sorting->uniform = shapes.count == 1;
    sorting->sample = tuple_of(shapes.sample, count == 1 ? 1 : shapes.count + 1);
    return sorting->sample == NULL ? -1 : 0;
}

/* batch._is_plain_map */
static int
is_plain_map(PyObject *row)
{
    Py_ssize_t at = 0;
    PyObject *value;
    if (PyDict_GET_SIZE(row) < SORT_MAP) {
        return 0;
    }
    while (PyDict_Next(row, &at, NULL, &value)) {
        if (!is_text(value) || PyUnicode_GET_LENGTH(value) >= SORT_WORD || HOLDS(value, "://") || HOLDS(value, "</")) {
            return 0;
        }
    }
    return 1;
}

/* Batch._kind_of, and the test for https before it; -1 an exception. The caller owns both. */
static int
kind_of(Sorting *sorting, PyObject *key, PyObject *text)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    if (starts_as_link(text)) {
        return has_letter(text, ' ') || has_letter(text, '\n') ? IN_WRAPPED : IN_LINKS;
    }
    if (size < 8) {
        return IN_PLAIN;
    }
    if (size > SORT_LONG) {
        return IN_LONG;
    }
    int said = names_say(&sorting->names, key);
    if (said < 0 || said & NAMES_OPAQUE) {
        return said < 0 ? -1 : IN_OPAQUE;
    }
    if (size >= TEXT_CODED && !(said & NAMES_GIVEN) && is_coded(text)) {
        return IN_CODED;
    }
    if (size >= 20 && may_hold_markup(text)) {
        return IN_WRAPPED;
    }
    return size >= 64 && is_alnum(text) ? IN_HEX : IN_PLAIN;
}

/* Which list a member of a sampled record goes into, unless it is known to be in another than the last; the caller
   owns key and value. */
static int
sort_member(Sorting *sorting, PyObject *key, PyObject *value, PyObject *known, int whole)
{
    if (known != NULL && known != sorting->lists[IN_PLAIN]) {
        return 0;
    }
    int kind = PyDict_CheckExact(value) || PyList_CheckExact(value) ? IN_INSIDE : IN_PLAIN;
    if (!whole && PyUnicode_CheckExact(value)) {
        kind = kind_of(sorting, key, value);
    }
    if (kind < 0) {
        return -1;
    }
    return known == sorting->lists[kind] ? 0 : PyDict_SetItem(sorting->kinds, key, sorting->lists[kind]);
}

/* The loop of Batch.sort over one sampled record, which the sample owns; a map of words is plain as a whole. */
static int
sort_record(Sorting *sorting, PyObject *row, int first)
{
    int whole = PyList_GET_SIZE(sorting->rows) == 1 && is_plain_map(row);
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(row, &at, &key, &value)) {
        Py_INCREF(key);
        Py_INCREF(value);
        PyObject *known = first || !is_text(key) ? NULL : PyDict_GetItemWithError(sorting->kinds, key);
        int failed = is_text(key) ? sort_member(sorting, key, value, known, whole) : 0;
        Py_DECREF(value);
        Py_DECREF(key);
        if (failed) {
            return failed;
        }
    }
    return 0;
}

/* Put every member into its list. */
static int
list_members(Sorting *sorting)
{
    Py_ssize_t at = 0;
    PyObject *key, *list;
    while (PyDict_Next(sorting->kinds, &at, &key, &list)) {
        int which = 0;
        while (which < LISTS && list != sorting->lists[which]) {
            which++;
        }
        if (which == LISTS) { /* a thread has taken the member out of the first record meanwhile */
            return 1;
        }
        if (PyList_Append(list, key) < 0) {
            return -1;
        }
    }
    return 0;
}

/* One value of a column counted in; 1 where it is one that may have any length. */
static int
measure(Length *length, PyObject *value)
{
    Py_ssize_t size = 0;
    if (is_text(value)) {
        size = PyUnicode_GET_LENGTH(value);
        length->text = size > length->text ? size : length->text;
    } else if (PyDict_CheckExact(value)) {
        size = PyDict_GET_SIZE(value);
    } else if (PyList_CheckExact(value)) {
        size = PyList_GET_SIZE(value);
    } else {
        length->unsized = 1;
    }
    length->any = size > length->any ? size : length->any;
    return !is_known(value);
}

/* columns.longest of the columns before the end. */
static Py_ssize_t
longest_of(const Length *lengths, const Length *end)
{
    Py_ssize_t text = 0, any = 0;
    int unsized = 0;
    for (const Length *length = lengths; length < end; length++) {
        text = length->text > text ? length->text : text;
        any = length->any > any ? length->any : any;
        unsized |= length->unsized;
    }
    return unsized ? text : any;
}

/* The members that Batch._find_long asks about, which are strings in the first record. */
static int
choose_members(Sorting *sorting, Length *lengths)
{
    PyObject *first = PyTuple_GET_ITEM(sorting->sample, 0), *plain = sorting->lists[IN_PLAIN];
    int count = 0;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(plain); at++) {
        PyObject *key = PyList_GET_ITEM(plain, at);
        PyObject *value = cell(first, key);
        if (value != NULL && is_text(value) && PyUnicode_GET_LENGTH(value) > SORT_SHORT) {
            lengths[count++] = (Length){.key = key};
        }
        Py_XDECREF(value);
    }
    return count;
}

/* How long they are in all records; 1 where that is not known, -1 with an exception. */
static int
measure_members(PyObject *rows, Length *lengths, const Length *end)
{
    int unknown = 0;
    for (Py_ssize_t at = 0; !unknown && at < PyList_GET_SIZE(rows); at++) {
        for (Length *length = lengths; length < end; length++) {
            PyObject *value = cell(PyList_GET_ITEM(rows, at), length->key);
            if (value != NULL) {
                unknown |= measure(length, value);
                Py_DECREF(value);
            }
        }
    }
    return PyErr_Occurred() ? -1 : unknown;
}

/* Move the members that are long in some record. */
static int
move_long(Sorting *sorting, const Length *lengths, const Length *end)
{
    PyObject *plain = sorting->lists[IN_PLAIN];
    if (end - lengths > 1 && longest_of(lengths, end) <= SORT_LONG) {
        return 0;
    }
    for (const Length *length = lengths; length < end; length++) {
        Py_ssize_t size = sorting->uniform ? longest_of(length, length + 1) : length->text;
        Py_ssize_t at = size > SORT_LONG ? PySequence_Index(plain, length->key) : -1;
        if (at < 0) {
            continue;
        }
        if (PyList_Append(sorting->lists[IN_LONG], length->key) < 0 || PyList_SetSlice(plain, at, at + 1, NULL) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Batch._find_long; 1 where it is not known, -1 with an exception. */
static int
find_long(Sorting *sorting)
{
    size_t most = (size_t)PyList_GET_SIZE(sorting->lists[IN_PLAIN]);
    Length *lengths = PyMem_Calloc(most + 1, sizeof(Length));
    if (lengths == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Length *end = lengths + choose_members(sorting, lengths);
    int failed = measure_members(sorting->rows, lengths, end);
    failed = failed ? failed : move_long(sorting, lengths, end);
    PyMem_Free(lengths);
    return failed;
}

/* Batch.sort; 1 where it is not known, -1 with an exception. */
static int
sort_rows(Sorting *sorting)
{
    int failed = take_sample(sorting);
    Py_ssize_t sampled = failed ? 0 : PyTuple_GET_SIZE(sorting->sample);
    if (!failed) {
        /* A dict that has all names already is filled in faster than one that grows. */
        sorting->kinds = PyDict_Copy(PyTuple_GET_ITEM(sorting->sample, 0));
        failed = sorting->kinds == NULL ? -1 : 0;
    }
    for (Py_ssize_t at = 0; !failed && at < sampled; at++) {
        failed = sort_record(sorting, PyTuple_GET_ITEM(sorting->sample, at), at == 0);
    }
    failed = failed ? failed : list_members(sorting);
    return !failed && PyList_GET_SIZE(sorting->rows) > sampled ? find_long(sorting) : failed;
}

/* Leave the lists as they came, for Python to fill in. */
static PyObject *
undo_sorting(Sorting *sorting)
{
    for (int at = 0; at < LISTS; at++) {
        if (PyList_SetSlice(sorting->lists[at], 0, PyList_GET_SIZE(sorting->lists[at]), NULL) < 0) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

/* sort(rows, (links, ..., plain), hints): fills the lists and gives (uniform, sample, kinds), or None and none. */
static PyObject *
rules_sort(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3 || !PyList_CheckExact(arguments[0]) || PyList_GET_SIZE(arguments[0]) == 0 ||
        !PyTuple_CheckExact(arguments[1]) || PyTuple_GET_SIZE(arguments[1]) != LISTS) {
        Py_RETURN_NONE;
    }
    Sorting sorting = {.rows = arguments[0], .sample = NULL, .kinds = NULL};
    for (int at = 0; at < LISTS; at++) {
        sorting.lists[at] = PyTuple_GET_ITEM(arguments[1], at);
        if (!PyList_CheckExact(sorting.lists[at])) {
            Py_RETURN_NONE;
        }
    }
    names_begin(&sorting.names, arguments[2]);
    int failed = sort_rows(&sorting);
    names_end(&sorting.names);
    PyObject *answer = NULL;
    if (failed > 0) {
        answer = undo_sorting(&sorting);
    } else if (failed == 0) {
        answer = PyTuple_Pack(3, sorting.uniform ? Py_True : Py_False, sorting.sample, sorting.kinds);
    }
    Py_XDECREF(sorting.kinds);
    Py_XDECREF(sorting.sample);
    return answer;
}

#endif
