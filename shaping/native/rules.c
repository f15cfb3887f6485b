/* The noise rules' work on every record and every value, in C; what decides and what is seldom stays in Python.

   Each function here agrees with one of shaping/noise, which runs where this was not built. A value that code of the
   caller stands behind (a subclass, a name that is no string) is left to that one, because it might run anything. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "rules_bulk.h"
#include "rules_columns.h"
#include "rules_hypermedia.h"
#include "rules_passing.h"
#include "rules_pattern.h"
#include "rules_places.h"
#include "rules_quiet.h"
#include "rules_rebuild.h"
#include "rules_renderings.h"
#include "rules_single.h"
#include "rules_sort.h"

#define FAST(name) {#name, (PyCFunction)(void (*)(void))rules_##name, METH_FASTCALL, NULL}

static PyMethodDef rules_methods[] = {
    FAST(quiet),
    FAST(noisy),
    FAST(members_inside),
    FAST(sort),
    FAST(column),
    FAST(present),
    FAST(counts),
    FAST(refilled),
    FAST(owners),
    FAST(spread),
    FAST(judge),
    FAST(only_links),
    FAST(pattern),
    FAST(extends),
    FAST(emptied),
    FAST(without),
    FAST(put_back),
    FAST(says_the_same),
    FAST(cut),
    FAST(spaced),
    {"all_codes", rules_all_codes, METH_O, NULL},
    {"all_links", rules_all_links, METH_O, NULL},
    {"any_table", rules_any_table, METH_O, NULL},
    {"is_code", rules_is_code, METH_O, NULL},
    {"may_be_wrapped", rules_may_be_wrapped, METH_O, NULL},
    {"fine", rules_fine, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef rules_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_rules",
    .m_doc = "The noise rules' work on every record and every value.",
    .m_size = 0,
    .m_methods = rules_methods,
};

PyMODINIT_FUNC
PyInit__rules(void)
{
    return PyModule_Create(&rules_module);
}
