/* Records that come back and are named by a member: agrees with shaping/encoders/tabular/lookup.py. */
#ifndef SHAPING_LOOKUP_H
#define SHAPING_LOOKUP_H

#include "once.h"

static const char *const NAMING[] = {"name", "login", "key", "id", "number", "slug", "username",
                                     "email", "title", "sha", "uid", "path", "code", NULL};

typedef struct {
    PyObject *key;
    Choice told;    /* the key and the members told of it */
    Choice beside;  /* the same, to be left out of the rows */
    Rows records;
} Told;

/* Make sure that looking a member up compares nothing but strings. */
static void check_keys(Work *work, Rows records) {
    for (Py_ssize_t i = 0; i < records.count; i++) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (records.at[i] && PyDict_Next(records.at[i], &at, &key, &value)) {
            checked_key(work, key);
        }
    }
}

static PyObject *member(Work *work, PyObject *record, PyObject *key) {
    PyObject *value = PyDict_GetItemWithError(record, key);
    if (value == NULL && PyErr_Occurred()) {
        give_up(work);
    }
    return value;
}

/* Tell whether a member is a different string or number in every record (both kinds where `mixed`). */
static bool are_different(Work *work, PyObject *key, Rows records, bool mixed) {
    Ids texts = ids_for(work, records.count), numbers = ids_for(work, records.count);
    unsigned kinds = 0;
    for (Py_ssize_t i = 0; i < records.count; i++) {
        PyObject *value = member(work, records.at[i], key);
        kinds |= kind_of(work, value);
        if (kinds & ~(unsigned)(STRING | INT) || (!mixed && kinds == (STRING | INT))) {
            return false;
        }
        bool text = PyUnicode_CheckExact(value);
        Py_ssize_t before = texts.texts.count + numbers.texts.count;
        id_of(work, text ? &texts : &numbers, text ? text_of(work, value) : json_of(work, value));
        if (texts.texts.count + numbers.texts.count == before) {
            return false;
        }
    }
    return true;
}

/* Tell whether records have a name at all, and none that is different in every one. */
static bool may_come_back(Work *work, Rows present) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    bool named = false;
    while (PyDict_Next(present.at[0], &at, &key, &value)) {
        if (ends_with_any(work, text_of(work, checked_key(work, key)), NAMING)) {
            named = true;
            if (are_different(work, key, present, true)) {
                return false;
            }
        }
    }
    return named;
}

static PyObject *identifier(Work *work, Rows records) {
    for (const char *const *word = NAMING; *word; word++) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(records.at[0], &at, &key, &value)) {
            if (ends_with(text_of(work, key), *word) && are_different(work, key, records, false)) {
                return key;
            }
        }
    }
    return NULL;
}

static bool saves(size_t sizes, size_t distinct, Py_ssize_t count) {
    Py_ssize_t least = 60 * count > 400 ? 60 * count : 400;
    return (Py_ssize_t)sizes - (Py_ssize_t)distinct > least;
}

static bool is_told_apart(Work *work, const Column *column, Py_ssize_t records, bool near) {
    Py_ssize_t size = 0, present = 0;
    for (Py_ssize_t i = 0; i < records; i++) {
        Kind kind = kind_of(work, column->values[i]);
        if (kind == RECORD || kind == LISTED) {
            return true;
        }
        size += kind == STRING ? chars_of(column->values[i]) : 0;
        present += kind != ABSENT;
    }
    return size > (near ? 20 : 6) * present;
}

/* The size of a record in JSON with only some members. */
static size_t size_with(Work *work, PyObject *record, const Choice *choice) {
    Buffer out = {work, NULL, 0, 0};
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(record, &at, &key, &value)) {
        if (is_chosen(choice, key)) {
            put_string(&out, text_of(work, key));
            put(&out, STR(":,"));
            put_json(&out, value, 0);
        }
    }
    return out.size + 1; /* two braces, and a comma less */
}

static int by_size(const void *one, const void *other) {
    uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;
    return (left > right) - (left < right);
}

/* Tell whether it could save, each length counted once: only what is as long can be the same. */
static bool could_save(Work *work, const Str *dumps, Py_ssize_t count, size_t all) {
    uint32_t *sizes = TAKE(work, count, uint32_t);
    for (Py_ssize_t i = 0; i < count; i++) {
        sizes[i] = dumps[i].size;
    }
    qsort(sizes, (size_t)count, sizeof *sizes, by_size);
    size_t distinct = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        bool absent = sizes[i] == 2;
        distinct += absent || (i && sizes[i] == sizes[i - 1]) ? 0 : sizes[i];
    }
    return saves(all, distinct, count);
}

/* Return each record that is not empty once. */
static Rows distinct_records(Work *work, Rows rows, Str *dumps, int32_t *numbers, size_t *sizes) {
    Ids ids = ids_for(work, rows.count);
    Rows records = {TAKE(work, rows.count, PyObject *), 0};
    for (Py_ssize_t i = 0; i < rows.count; i++) {
        numbers[i] = -1;
        if (dumps[i].size > 2) {
            numbers[i] = id_of(work, &ids, dumps[i]);
            if (numbers[i] == records.count) {
                *sizes += dumps[i].size;
                records.count++;
            }
            records.at[numbers[i]] = rows.at[i];
        }
    }
    return records;
}

static Choice far_members(Work *work, Rows records, PyObject *key, bool near) {
    Columns columns = columns_of(work, records, NULL);
    Choice far = choice_for(work, columns.list.count + 1);
    choose(&far, key);
    for (Py_ssize_t i = 0; i < columns.list.count; i++) {
        Column *column = &columns.list.at[i];
        if (!same_text(column->key, key) && is_told_apart(work, column, records.count, near)) {
            choose(&far, column->key);
        }
    }
    return far;
}

/* Agrees with `told_once`. */
static bool told_once(Work *work, Rows rows, bool near, Told *told) {
    Rows present = {TAKE(work, rows.count, PyObject *), 0};
    for (Py_ssize_t i = 0; i < rows.count; i++) {
        if (is_filled(rows.at[i])) {
            present.at[present.count++] = rows.at[i];
        }
    }
    check_keys(work, present);
    if (!may_come_back(work, present)) {
        return false;
    }
    Str *dumps = TAKE(work, rows.count, Str);
    size_t all = 0, distinct = 0, told_all = 0, told_distinct = 0;
    for (Py_ssize_t i = 0; i < rows.count; i++) {
        dumps[i] = is_filled(rows.at[i]) ? json_of(work, rows.at[i]) : STR("{}");
        all += dumps[i].size;
    }
    if (!could_save(work, dumps, rows.count, all)) {
        return false;
    }
    int32_t *numbers = TAKE(work, rows.count, int32_t);
    told->records = distinct_records(work, rows, dumps, numbers, &distinct);
    if (told->records.count < 2 || !saves(all, distinct, rows.count)) {
        return false;
    }
    told->key = identifier(work, told->records);
    if (told->key == NULL) {
        return false;
    }
    told->told = far_members(work, told->records, told->key, near);
    told->beside = told->told;
    told->beside.only = false;
    size_t *sizes = TAKE(work, told->records.count, size_t);
    for (Py_ssize_t i = 0; i < told->records.count; i++) {
        sizes[i] = size_with(work, told->records.at[i], &told->told);
        told_distinct += sizes[i];
    }
    for (Py_ssize_t i = 0; i < rows.count; i++) {
        told_all += numbers[i] >= 0 ? sizes[numbers[i]] : 0;
    }
    return told->told.count > 1 && saves(told_all, told_distinct, rows.count);
}

#endif
