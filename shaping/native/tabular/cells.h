/* Scalars as cells: agrees with shaping/encoders/tabular/cells.py. */
#ifndef SHAPING_CELLS_H
#define SHAPING_CELLS_H

#include "values.h"

static inline bool is_digit(char one) {
    return one >= '0' && one <= '9';
}

static uint32_t digits_from(Str text, uint32_t at) {
    while (at < text.size && is_digit(text.at[at])) {
        at++;
    }
    return at;
}

static bool is_number(Str text) {
    uint32_t at = text.at[0] == '-';
    uint32_t whole = at < text.size && text.at[at] == '0' ? at + 1 : digits_from(text, at);
    if (whole == at) {
        return false;
    }
    at = whole;
    if (at + 1 < text.size && text.at[at] == '.' && is_digit(text.at[at + 1])) {
        at = digits_from(text, at + 1);
    }
    if (at < text.size && (text.at[at] == 'e' || text.at[at] == 'E')) {
        uint32_t power = at + 1 + (at + 1 < text.size && (text.at[at + 1] == '+' || text.at[at + 1] == '-'));
        uint32_t end = digits_from(text, power);
        at = end > power ? end : at;
    }
    return at == text.size;
}

/* Tell whether a text would be read as a number, true, false or null (_LITERALS). */
static bool is_literal(Str text) {
    char first = text.size ? text.at[0] : 0;
    if (first == '-' || is_digit(first)) {
        return is_number(text);
    }
    return (first == 't' && same(text, STR("true"))) || (first == 'f' && same(text, STR("false")))
           || (first == 'n' && same(text, STR("null")));
}

/* Without a way out of the loops, so that compilers make them look at many bytes at once. */
static bool has_odd_inside(Str text) {
    unsigned odd = 0;
    for (uint32_t i = 0; i < text.size; i++) {
        unsigned char one = (unsigned char)text.at[i];
        odd |= (one < 0x20) | (one == ',') | (one == '{') | (one == '}') | (one == 0x7f);
    }
    return odd;
}

static bool has_control(Str text) {
    unsigned odd = 0;
    for (uint32_t i = 0; i < text.size; i++) {
        unsigned char one = (unsigned char)text.at[i];
        odd |= (one < 0x20) | (one == 0x7f);
    }
    return odd;
}

/* Tell whether a string would be misread as a bare cell (_is_odd). */
static bool is_odd(Str text) {
    if (text.size == 0 || text.at[text.size - 1] == ' ') {
        return true;
    }
    char first = text.at[0];
    return first == ' ' || first == '=' || first == '"' || first == '[' || has_odd_inside(text) || is_literal(text)
           || (first == '-' && text.size == 1);
}

static Str quoted(Work *work, Str text) {
    Buffer out = {work, NULL, 0, 0};
    put_string(&out, text);
    return written(&out, 0);
}

static inline Str string_cell(Work *work, PyObject *value) {
    Str text = text_of(work, value);
    return is_odd(text) ? quoted(work, text) : text;
}

static Str cell(Work *work, PyObject *value) {
    switch (kind_of(work, value)) {
    case ABSENT:
        return NOTHING;
    case STRING:
        return string_cell(work, value);
    case BOOL:
        return value == Py_True ? STR("true") : STR("false");
    case NONE:
        return STR("null");
    case INT:
        return integer_text(work, value, TAKE(work, INTEGER, char));
    default:
        return json_of(work, value);
    }
}

/* Write the floats of a column in one go, which is many times quicker than one by one. */
static void float_cells(Work *work, PyObject **column, Py_ssize_t count, Str *cells) {
    for (Py_ssize_t i = 0; i < count; i++) {
        if (column[i] && PyFloat_CheckExact(column[i])) {
            check_finite(work, column[i]);
            if (PyList_Append(work->floats, column[i]) < 0) {
                give_up(work);
            }
        }
    }
    Str all = dumped(work, work->floats);
    if (PyList_Append(work->kept, work->dumped) < 0) {
        give_up(work);
    }
    const char *at = all.at + 1;
    if (PyList_SetSlice(work->floats, 0, PyList_GET_SIZE(work->floats), NULL) < 0) {
        give_up(work);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (column[i] && PyFloat_CheckExact(column[i])) {
            uint32_t size = (uint32_t)strcspn(at, ",]");
            cells[i] = (Str){at, size, size};
            at += size + 1;
        }
    }
}

/* Agrees with `cells`, and with `texts` where all are strings. */
static Str *cells_of(Work *work, PyObject **column, Py_ssize_t count, unsigned kinds) {
    Str *cells = TAKE(work, count, Str);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!(kinds & FLOAT) || column[i] == NULL || !PyFloat_CheckExact(column[i])) {
            cells[i] = cell(work, column[i]);
        }
    }
    if (kinds & FLOAT) {
        float_cells(work, column, count, cells);
    }
    return cells;
}

/* Tell whether a string cannot be the rest of a line as it is (line). */
static bool is_odd_line(Str text) {
    if (text.size == 0 || text.at[text.size - 1] == ' ' || strchr(" \"[{", text.at[0])) {
        return true;
    }
    return has_control(text) || is_literal(text);
}

/* Agrees with `name`: a member's name as it stands in headers and before colons. */
static Str name_of(Work *work, PyObject *key) {
    Str text = text_of(work, key);
    bool odd = text.size == 0 || text.at[0] == ' ' || text.at[0] == '(' || text.at[text.size - 1] == ' ';
    odd = odd || (text.size == 1 && text.at[0] == '-');
    for (uint32_t i = 0; i < text.size && !odd; i++) {
        unsigned char one = (unsigned char)text.at[i];
        odd = one < 0x20 || one == 0x7f || memchr(",{}[]=\".:", one, 9) != NULL;
    }
    return odd ? quoted(work, text) : text;
}

static inline char lower(char one) {
    return one >= 'A' && one <= 'Z' ? (char)(one + 32) : one;
}

static bool ends_with(Str text, const char *word) {
    uint32_t size = (uint32_t)strlen(word);
    if (text.size < size) {
        return false;
    }
    for (uint32_t i = 0; i < size; i++) {
        if (lower(text.at[text.size - size + i]) != word[i]) {
            return false;
        }
    }
    return true;
}

/* The Kelvin sign is the one letter outside ASCII that str.lower makes an ASCII one of. */
static void check_lower(Work *work, Str text) {
    for (uint32_t i = 0; text.chars != text.size && i + 2 < text.size; i++) {
        if (memcmp(text.at + i, "\xe2\x84\xaa", 3) == 0) {
            give_up(work);
        }
    }
}

/* Tell whether a text in lower case ends with one of these words, the last of which is NULL. */
static bool ends_with_any(Work *work, Str text, const char *const *words) {
    check_lower(work, text);
    for (; *words; words++) {
        if (ends_with(text, *words)) {
            return true;
        }
    }
    return false;
}

/* Tell whether a text in lower case is one of these words. */
static bool is_any(Work *work, Str text, const char *const *words) {
    check_lower(work, text);
    for (; *words; words++) {
        if (text.size == strlen(*words) && ends_with(text, *words)) {
            return true;
        }
    }
    return false;
}

#endif
