/* What the names of members say, asked of Python once for each name of a payload. */
#ifndef SHAPING_RULES_NAMES_H
#define SHAPING_RULES_NAMES_H

#include "rules_text.h"

/* The bits of shaping.noise.names.hints. */
enum { NAMES_OPAQUE = 1, NAMES_LINKS = 2, NAMES_VERDICT = 4, NAMES_HTML = 8, NAMES_GIVEN = 16 };

#define NAMES_KNOWN 128 /* a power of two */

/* Names already asked for, by where they lie: readers of JSON make one string of each. */
typedef struct {
    PyObject *hints; /* borrowed from the call's arguments */
    PyObject *keys[NAMES_KNOWN]; /* owned */
    int said[NAMES_KNOWN];
    Py_ssize_t asked; /* how often */
} Names;

static void
names_begin(Names *names, PyObject *hints)
{
    names->hints = hints;
    names->asked = 0;
    memset(names->keys, 0, sizeof(names->keys));
}

static void
names_end(Names *names)
{
    for (int at = 0; at < NAMES_KNOWN; at++) {
        Py_CLEAR(names->keys[at]);
    }
}

/* hints(key), or -1 with an exception; runs Python, so the caller owns what it goes on using. */
static int
names_ask(Names *names, PyObject *key)
{
    names->asked++;
    PyObject *answer = PyObject_CallOneArg(names->hints, key);
    if (answer == NULL) {
        return -1;
    }
    long said = PyLong_AsLong(answer);
    Py_DECREF(answer);
    return said == -1 && PyErr_Occurred() ? -1 : (int)(said & 0xFF);
}

/* The same, remembered. */
static int
names_say(Names *names, PyObject *key)
{
    size_t at = ((size_t)key >> 4) & (NAMES_KNOWN - 1);
    if (names->keys[at] == key) {
        return names->said[at];
    }
    int said = names_ask(names, key);
    if (said >= 0) {
        Py_INCREF(key);
        Py_XSETREF(names->keys[at], key);
        names->said[at] = said;
    }
    return said;
}

#endif
