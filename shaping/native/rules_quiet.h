/* Whether nothing below a place is of a kind that any rule looks at: most of most answers is not, and is left alone. */
#ifndef SHAPING_RULES_QUIET_H
#define SHAPING_RULES_QUIET_H

#include "rules_columns.h"
#include "rules_names.h"

enum { QUIET_DEEP = 150, QUIET_LONG = 320, QUIET_PASSED = 9, QUIET_FEW = 240, QUIET_ASKED = 16384 };

typedef struct {
    Names names;
    int passed; /* records that say so: `passing` may look at them where some have records in them */
    int nests;
} Screen;

/* What is known of one record while its members are screened. */
typedef struct {
    int lone; /* it stands alone at its place, and in no list */
    int fine; /* a member says that it passed */
    Py_ssize_t links; /* how many letters its links have */
} Record;

static int screen_value(Screen *screen, PyObject *value, int depth, int lone);

/* Batch._kind_of gives `plain`, and no value of its column can be `long`. */
static int
is_plain_member(PyObject *text, int said)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    if (starts_as_link(text)) {
        return 0;
    }
    if (size < 8) {
        return 1;
    }
    if (size > QUIET_LONG || said & NAMES_OPAQUE) {
        return 0;
    }
    if (size >= TEXT_CODED && !(said & NAMES_GIVEN) && is_coded(text)) {
        return 0;
    }
    if (size >= 20 && may_hold_markup(text)) {
        return 0;
    }
    return size < 64 || !is_alnum(text);
}

/* Whether a link is one of so few letters in a lone record that links._are_few spares them. */
static int
is_spared_link(PyObject *text, Record *about)
{
    if (!about->lone || has_letter(text, ' ') || has_letter(text, '\n') || may_need_steps(text)) {
        return 0;
    }
    about->links += PyUnicode_GET_LENGTH(text);
    return about->links < QUIET_FEW;
}

/* A value of passing._FINE. */
static int
is_fine(PyObject *value)
{
    static const char *const fine[] = {"passed", "pass", "ok", "success", "succeeded", "successful", "green"};
    if (!is_text(value)) {
        return value == Py_True;
    }
    for (size_t at = 0; at < sizeof(fine) / sizeof(fine[0]); at++) {
        Py_ssize_t size = (Py_ssize_t)strlen(fine[at]);
        if (PyUnicode_GET_LENGTH(value) == size && stands_at(value, 0, fine[at], size)) {
            return 1;
        }
    }
    return 0;
}

/* Whether "html" is in a name in small letters; of all letters only those of ASCII become these. */
static int
is_called_html(PyObject *name)
{
    static const char html[] = "html";
    Py_ssize_t size = PyUnicode_GET_LENGTH(name);
    for (Py_ssize_t at = 0; at + 4 <= size; at++) {
        Py_ssize_t step = 0;
        while (step < 4 && (letter(name, at + step) | 32) == (Py_UCS4)(unsigned char)html[step]) {
            step++;
        }
        if (step == 4) {
            return 1;
        }
    }
    return 0;
}

/* Whether a name can make a difference to what is known of a value: asking what it says takes longer than all else. */
static int
is_told_by_name(PyObject *value)
{
    if (PyUnicode_CheckExact(value)) {
        return PyUnicode_GET_LENGTH(value) >= 8 || is_fine(value);
    }
    return value == Py_True || PyDict_CheckExact(value) || PyList_CheckExact(value);
}

/* One member: 1 quiet, 0 not, -1 an exception. */
static int
screen_member(Screen *screen, PyObject *key, PyObject *value, int depth, Record *about)
{
    if (!is_text(key) || !is_known(value)) {
        return 0;
    }
    /* The rules ask about the names of a few records, and so of fewer than there may be here. */
    if (is_called_html(key) || screen->names.asked >= QUIET_ASKED) {
        return 0;
    }
    int said = is_told_by_name(value) ? names_say(&screen->names, key) : 0;
    if (said < 0) {
        return -1;
    }
    if (PyUnicode_CheckExact(value)) {
        about->fine |= said & NAMES_VERDICT && is_fine(value);
        return is_plain_member(value, said) || (starts_as_link(value) && is_spared_link(value, about));
    }
    if (PyDict_CheckExact(value) || PyList_CheckExact(value)) {
        screen->nests = 1;
        /* A list among strings counts by its length, and so makes them long. */
        Py_ssize_t size = PyDict_CheckExact(value) ? PyDict_GET_SIZE(value) : PyList_GET_SIZE(value);
        return size <= QUIET_LONG && !(said & NAMES_LINKS) ? screen_value(screen, value, depth + 1, about->lone) : 0;
    }
    about->fine |= said & NAMES_VERDICT && value == Py_True;
    return 1;
}

static int
screen_record(Screen *screen, PyObject *record, int depth, int lone)
{
    Record about = {.lone = lone, .fine = 0, .links = 0};
    int quiet = 1;
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (quiet == 1 && PyDict_Next(record, &at, &key, &value)) {
        Py_INCREF(key);
        Py_INCREF(value);
        quiet = screen_member(screen, key, value, depth, &about);
        Py_DECREF(value);
        Py_DECREF(key);
    }
    screen->passed += about.fine;
    return quiet;
}

static int
screen_list(Screen *screen, PyObject *list, int depth, int lone)
{
    int quiet = 1;
    for (Py_ssize_t at = 0; quiet == 1 && at < PyList_GET_SIZE(list); at++) {
        PyObject *value = PyList_GET_ITEM(list, at);
        Py_INCREF(value);
        quiet = screen_value(screen, value, depth + 1, lone);
        Py_DECREF(value);
    }
    return quiet;
}

/* An element of a list, or what a member holds if it holds more than one value. The caller owns it. */
static int
screen_value(Screen *screen, PyObject *value, int depth, int lone)
{
    if (depth > QUIET_DEEP || !is_known(value)) {
        return 0;
    }
    if (PyDict_CheckExact(value)) {
        return screen_record(screen, value, depth, lone);
    }
    if (PyList_CheckExact(value)) {
        return screen_list(screen, value, depth, 0);
    }
    return !PyUnicode_CheckExact(value) || !may_need_steps(value);
}

/* Whether the screen met rows of which `passing` may empty some. */
static int
met_passing(const Screen *screen)
{
    return screen->nests && screen->passed >= QUIET_PASSED;
}

/* quiet([value], hints): True where the walk surely gives back the same payload; False says nothing. */
static PyObject *
rules_quiet(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyList_CheckExact(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "quiet takes a list and a function");
        return NULL;
    }
    Screen screen = {.passed = 0, .nests = 0};
    names_begin(&screen.names, arguments[1]);
    int quiet = screen_list(&screen, arguments[0], 0, PyList_GET_SIZE(arguments[0]) == 1);
    names_end(&screen.names);
    return quiet < 0 ? NULL : PyBool_FromLong(quiet && !met_passing(&screen));
}

/* What one member of all records holds below it. */
static int
screen_column(Screen *screen, PyObject *rows, PyObject *key, int lone)
{
    int quiet = 1;
    screen->passed = screen->nests = 0;
    for (Py_ssize_t at = 0; quiet == 1 && at < PyList_GET_SIZE(rows); at++) {
        PyObject *value = cell(PyList_GET_ITEM(rows, at), key);
        if (value != NULL && (PyDict_CheckExact(value) || PyList_CheckExact(value))) {
            quiet = screen_value(screen, value, 0, lone);
        }
        Py_XDECREF(value);
    }
    return quiet < 0 || PyErr_Occurred() ? -1 : quiet && !met_passing(screen);
}

/* noisy(rows, keys, hints, lone): the members below which the walk may find something, all records taken together. */
static PyObject *
rules_noisy(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4 || !PyList_CheckExact(arguments[0]) || !PyList_CheckExact(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "noisy takes a list of records, a list of names, a function and a bool");
        return NULL;
    }
    PyObject *rows = arguments[0], *keys = arguments[1], *found = PyList_New(0);
    Screen screen;
    names_begin(&screen.names, arguments[2]);
    for (Py_ssize_t at = 0; found != NULL && at < PyList_GET_SIZE(keys); at++) {
        PyObject *key = PyList_GET_ITEM(keys, at);
        Py_INCREF(key);
        int quiet = is_text(key) ? screen_column(&screen, rows, key, arguments[3] == Py_True) : 0;
        if (quiet < 0 || (quiet == 0 && PyList_Append(found, key) < 0)) {
            Py_CLEAR(found);
        }
        Py_DECREF(key);
    }
    names_end(&screen.names);
    return found;
}

#endif
