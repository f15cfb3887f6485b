/* The counting behind a guess of a text's tokens: agrees with `counted` of shaping/tokens/density.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#define CLASSES 9 /* of bytes */
#define PAIRED 5  /* of them, those whose neighbours count */

PyDoc_STRVAR(counted_doc, "counted(data, classes)\n--\n\n"
                          "Return how many bytes are of each class, then how many pairs of neighbours.");

static PyObject *as_tuple(const Py_ssize_t *alone, const Py_ssize_t *together) {
    PyObject *counts = PyTuple_New(CLASSES + PAIRED);
    for (Py_ssize_t i = 0; counts != NULL && i < CLASSES + PAIRED; i++) {
        PyObject *number = PyLong_FromSsize_t(i < CLASSES ? alone[i] : together[i - CLASSES]);
        if (number == NULL) {
            Py_CLEAR(counts);
        } else {
            PyTuple_SET_ITEM(counts, i, number);
        }
    }
    return counts;
}

/* Without a branch, because classes change every few bytes; no byte is in two pairs. */
static void count(const unsigned char *at, Py_ssize_t size, const unsigned char *classes, Py_ssize_t *alone, Py_ssize_t *together) {
    unsigned char before = CLASSES, paired = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        unsigned char class = classes[at[i]];
        paired = (class == before) & !paired;
        together[class] += paired;
        alone[class]++;
        before = class;
    }
}

static bool are_classes(const unsigned char *classes) {
    for (int i = 0; i < 256; i++) {
        if (classes[i] >= CLASSES) {
            return false;
        }
    }
    return true;
}

static PyObject *counted(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given) {
    if (given != 2 || !PyBytes_Check(arguments[0]) || !PyBytes_Check(arguments[1]) || PyBytes_GET_SIZE(arguments[1]) != 256) {
        PyErr_SetString(PyExc_TypeError, "counted takes bytes, and the class of each of the 256 there are");
        return NULL;
    }
    Py_ssize_t alone[CLASSES] = {0}, together[CLASSES] = {0};
    const unsigned char *at = (const unsigned char *)PyBytes_AS_STRING(arguments[0]);
    const unsigned char *classes = (const unsigned char *)PyBytes_AS_STRING(arguments[1]);
    if (!are_classes(classes)) {
        PyErr_SetString(PyExc_ValueError, "a class is less than 9");
        return NULL;
    }
    count(at, PyBytes_GET_SIZE(arguments[0]), classes, alone, together);
    return as_tuple(alone, together);
}

static PyMethodDef methods[] = {
    {"counted", (PyCFunction)(void (*)(void))counted, METH_FASTCALL, counted_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "shaping.native._density",
    .m_doc = "Bytes counted by their classes.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__density(void) {
    return PyModuleDef_Init(&definition);
}
