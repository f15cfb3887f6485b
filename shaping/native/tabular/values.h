/* What Python's values are, and their text as compact JSON: agrees with orjson.dumps, or gives up. */
#ifndef SHAPING_VALUES_H
#define SHAPING_VALUES_H

#include "work.h"

#define DEEPEST 200 /* nests; what lies deeper is left to Python, which has a limit of its own */

typedef enum {
    ABSENT = 1,
    NONE = 2,
    BOOL = 4,
    INT = 8,
    FLOAT = 16,
    STRING = 32,
    RECORD = 64,
    LISTED = 128,
} Kind;

#if PY_VERSION_HEX < 0x030C0000
#define IS_READY(text) (PyUnicode_READY(text) == 0)
#else
#define IS_READY(text) true
#endif

/* Return what a value is; an absent one is NULL, and a subclass of anything is for Python to write. */
static inline Kind kind_of(Work *work, PyObject *value) {
    if (value == NULL) {
        return ABSENT;
    }
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyUnicode_Type) {
        if (!IS_READY(value)) {
            give_up(work);
        }
        return STRING;
    }
    return type == &PyLong_Type     ? INT
           : type == &PyDict_Type   ? RECORD
           : type == &PyList_Type   ? LISTED
           : value == Py_None       ? NONE
           : type == &PyBool_Type   ? BOOL
           : type == &PyFloat_Type  ? FLOAT
                                    : (give_up(work), NONE);
}

static inline bool is_record(PyObject *value) {
    return value != NULL && PyDict_CheckExact(value);
}

/* A record that has members; an absent one has none. */
static inline bool is_filled(PyObject *value) {
    return value != NULL && PyDict_GET_SIZE(value) > 0;
}

static inline Py_ssize_t chars_of(PyObject *text) {
    return PyUnicode_GET_LENGTH(text);
}

static Str text_of(Work *work, PyObject *text) {
    Py_ssize_t size = 0, chars = chars_of(text);
    const char *at;
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        at = PyUnicode_DATA(text);
        size = chars;
    } else {
        at = PyUnicode_AsUTF8AndSize(text, &size); /* fails on half a pair of surrogates */
    }
    if (at == NULL || size > INT32_MAX) {
        give_up(work);
    }
    return (Str){at, (uint32_t)size, (uint32_t)chars};
}

/* Return a member's name, which must be a string for its text to be asked for. */
static inline PyObject *checked_key(Work *work, PyObject *key) {
    if (!PyUnicode_CheckExact(key) || !IS_READY(key)) {
        give_up(work);
    }
    return key;
}

static inline bool same_text(PyObject *one, PyObject *other) {
    return one == other
           || (chars_of(one) == chars_of(other) && PyUnicode_KIND(one) == PyUnicode_KIND(other)
               && memcmp(PyUnicode_DATA(one), PyUnicode_DATA(other), (size_t)chars_of(one) * PyUnicode_KIND(one)) == 0);
}

/* Tell whether JSON writes a string as it is; without a way out, for compilers to look at many bytes at once. */
static bool is_bare_json(Str text) {
    unsigned odd = 0;
    for (uint32_t i = 0; i < text.size; i++) {
        unsigned char one = (unsigned char)text.at[i];
        odd |= (one < 0x20) | (one == '"') | (one == '\\');
    }
    return !odd;
}

static char *put_escaped(char *to, unsigned char one) {
    static const char digits[] = "0123456789abcdef", shorts[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
    const char *found = one ? strchr(shorts, one) : NULL;
    *to++ = '\\';
    if (found) {
        *to++ = letters[found - shorts];
        return to;
    }
    memcpy(to, "u00", 3);
    to[3] = digits[one >> 4];
    to[4] = digits[one & 15];
    return to + 5;
}

static void put_string(Buffer *out, Str text) {
    bool bare = is_bare_json(text);
    make_room(out, (size_t)text.size * (bare ? 1 : 6) + 2);
    char *to = out->at + out->size;
    *to++ = '"';
    if (bare) {
        memcpy(to, text.at, text.size);
        to += text.size;
    }
    for (uint32_t i = 0; !bare && i < text.size; i++) {
        unsigned char one = (unsigned char)text.at[i];
        if (one >= 0x20 && one != '"' && one != '\\') {
            *to++ = (char)one;
        } else {
            to = put_escaped(to, one);
        }
    }
    *to++ = '"';
    out->size = (size_t)(to - out->at);
}

#define INTEGER 24 /* characters that hold any integer JSON may have here */

/* Write an integer of 64 bits to the end of some room for it. */
static Str integer_text(Work *work, PyObject *value, char *room) {
    int beyond = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &beyond);
    unsigned long long rest = number < 0 ? 0ULL - (unsigned long long)number : (unsigned long long)number;
    char *end = room + INTEGER, *at = end;
    if (beyond > 0) {
        rest = PyLong_AsUnsignedLongLong(value);
    }
    if (beyond < 0 || (beyond > 0 && PyErr_Occurred())) {
        give_up(work);
    }
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (!beyond && number < 0) {
        *--at = '-';
    }
    return (Str){at, (uint32_t)(end - at), (uint32_t)(end - at)};
}

/* Let orjson write something; the bytes are held by the call until the next are. */
static Str dumped(Work *work, PyObject *value) {
    Py_XSETREF(work->dumped, work->dumps == NULL ? NULL : PyObject_CallOneArg(work->dumps, value));
    if (work->dumped == NULL || !PyBytes_CheckExact(work->dumped) || PyBytes_GET_SIZE(work->dumped) > INT32_MAX) {
        give_up(work);
    }
    uint32_t size = (uint32_t)PyBytes_GET_SIZE(work->dumped);
    return (Str){PyBytes_AS_STRING(work->dumped), size, size};
}

/* What is no number would be null in JSON, and absent among numbers: Python decides. */
static inline void check_finite(Work *work, PyObject *value) {
    double number = PyFloat_AS_DOUBLE(value);
    if (!(number - number == 0)) {
        give_up(work);
    }
}

static void put_json(Buffer *out, PyObject *value, int depth);

static void put_members(Buffer *out, PyObject *record, int depth) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    put_char(out, '{');
    for (bool first = true; PyDict_Next(record, &at, &key, &value); first = false) {
        if (!first) {
            put_char(out, ',');
        }
        put_string(out, text_of(out->work, checked_key(out->work, key)));
        put_char(out, ':');
        put_json(out, value, depth + 1);
    }
    put_char(out, '}');
}

/* Tell whether a list holds numbers alone, however deep, and floats among them: coordinates, series, embeddings. */
static bool has_only_numbers(Work *work, PyObject *list, int depth, bool *floats) {
    if (depth > DEEPEST) {
        give_up(work);
    }
    Py_ssize_t size = PyList_GET_SIZE(list);
    if (size && PyUnicode_CheckExact(PyList_GET_ITEM(list, size - 1))) {
        return false; /* before the same is found by going through all lists inside, once for each around them */
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (PyFloat_CheckExact(item)) {
            check_finite(work, item);
            *floats = true;
        } else if (PyList_CheckExact(item) ? !has_only_numbers(work, item, depth + 1, floats) : !PyLong_CheckExact(item)) {
            return false;
        }
    }
    return true;
}

static void put_elements(Buffer *out, PyObject *list, int depth) {
    bool floats = false;
    if (has_only_numbers(out->work, list, depth, &floats) && floats) {
        put(out, dumped(out->work, list)); /* many times quicker than one by one */
        return;
    }
    put_char(out, '[');
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        if (i) {
            put_char(out, ',');
        }
        put_json(out, PyList_GET_ITEM(list, i), depth + 1);
    }
    put_char(out, ']');
}

/* Agrees with shaping.encoders.tabular.cells.quoted. */
static void put_json(Buffer *out, PyObject *value, int depth) {
    if (depth > DEEPEST) {
        give_up(out->work);
    }
    switch (kind_of(out->work, value)) {
    case STRING:
        put_string(out, text_of(out->work, value));
        break;
    case INT: {
        char room[INTEGER];
        put(out, integer_text(out->work, value, room));
        break;
    }
    case FLOAT:
        check_finite(out->work, value);
        put(out, dumped(out->work, value));
        break;
    case BOOL:
        put(out, value == Py_True ? STR("true") : STR("false"));
        break;
    case NONE:
        put(out, STR("null"));
        break;
    case RECORD:
        put_members(out, value, depth);
        break;
    case LISTED:
        put_elements(out, value, depth);
        break;
    case ABSENT:
        put(out, STR("{}"));
        break;
    }
}

static Str json_of(Work *work, PyObject *value) {
    Buffer out = {work, NULL, 0, 0};
    put_json(&out, value, 0);
    return written(&out, 0);
}

#endif
