/* The table encoder: agrees byte for byte with shaping/encoders/table.py and the files of shaping/encoders/tabular.

   It holds no references but to the value it is given, so nothing in here may run anybody's code: it makes no object
   that the garbage collector counts (a collection runs finalizers), and gives up on whatever is not a plain dict, list,
   str, int, float, bool or None: then Python writes the value. */
#include "tabular/infer.h"
#include "tabular/write.h"

#define SHORT_HEAD 48 /* characters */
#define LONG_NAME 200

static const char *const NAMES[] = {"name", "path", "file", "title", "key", "login", "slug", "sha", "id", NULL};

static bool outline(Work *work, Str label, PyObject *value, int indent, Strs *lines);

static bool are_records(PyObject *value) {
    if (!PyList_CheckExact(value) || PyList_GET_SIZE(value) < 2) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++) {
        if (!PyDict_CheckExact(PyList_GET_ITEM(value, i))) {
            return false;
        }
    }
    return true;
}

static Finder finder_of(const Work *work) {
    return (Finder){work->repeats, work->constants, work->near, 0, NULL, NULL};
}

static Rows rows_of(Work *work, PyObject *list) {
    Rows rows = {TAKE(work, PyList_GET_SIZE(list) + 1, PyObject *), PyList_GET_SIZE(list)};
    for (Py_ssize_t i = 0; i < rows.count; i++) {
        rows.at[i] = PyList_GET_ITEM(list, i);
    }
    return rows;
}

static Layout *records_of(Work *work, PyObject *list) {
    Finder finder = finder_of(work);
    return lay_out(work, table_of(work, rows_of(work, list), NULL, &finder, 0));
}

/* Put a label with how many rows it stands for. */
static void put_label(Buffer *out, Str label, char open, Py_ssize_t count, char close, int indent) {
    begin(out, indent);
    put(out, label);
    put_char(out, open);
    if (count >= 0) {
        put_count(out, count);
    }
    put_char(out, close);
}

static void add_written(Work *work, const Buffer *out, Strs *lines) {
    ADD(work, lines, written(out, 0));
}

/* Add a whole table as one text. */
static void add_table(Work *work, Str label, Layout *layout, bool keyed, int indent, Strs *lines) {
    Buffer out = {work, NULL, 0, 0};
    put_label(&out, label, keyed ? '{' : '[', layout->count, keyed ? '}' : ']', indent);
    put_schema(&out, layout, indent);
    put_rows(&out, layout, indent);
    add_written(work, &out, lines);
}

/* Count the members that all records have; a column for each that only some have could be more than memory holds. */
static Py_ssize_t common_members(Work *work, Rows records) {
    PyObject *key, *value, **common = TAKE(work, PyDict_GET_SIZE(records.at[0]), PyObject *);
    Py_ssize_t at = 0, count = 0;
    check_keys(work, records);
    while (PyDict_Next(records.at[0], &at, &key, &value)) {
        common[count++] = key;
    }
    for (Py_ssize_t row = 1; row < records.count && count; row++) {
        Py_ssize_t kept = 0;
        for (Py_ssize_t i = 0; i < count; i++) {
            if (member(work, records.at[row], common[i])) {
                common[kept++] = common[i];
            }
        }
        count = kept;
    }
    return count;
}

/* Agrees with `_keyed`. */
static bool add_keyed(Work *work, Str label, PyObject *value, int indent, Strs *lines) {
    PyObject *key, *record;
    Py_ssize_t at = 0, count = PyDict_GET_SIZE(value);
    if (count < 4) {
        return false;
    }
    Rows records = {TAKE(work, count, PyObject *), 0};
    PyObject **keys = TAKE(work, count, PyObject *);
    while (PyDict_Next(value, &at, &key, &record)) {
        if (!PyDict_CheckExact(record) || !is_filled(record)) {
            return false;
        }
        keys[records.count] = checked_key(work, key);
        records.at[records.count++] = record;
    }
    if (2 * common_members(work, records) < most_members(records)) {
        return false;
    }
    Finder finder = finder_of(work);
    add_table(work, label, lay_out(work, keyed_table(work, keys, records, &finder, 0)), true, indent, lines);
    return true;
}

/* Agrees with `_under_its_name`. */
static void add_under_its_name(Work *work, Str label, PyObject *value, int indent, Strs *above, Strs *lines) {
    Layout *layout = records_of(work, value);
    Buffer head = {work, NULL, 0, 0}, out = {work, NULL, 0, 0};
    put_label(&head, label, '[', -1, ']', indent);
    put_schema(&head, layout, indent);
    Str said = written(&head, 0);
    uint32_t ends = 0;
    for (uint32_t i = 0; i < said.size; i++) {
        ends += said.at[i] == '\n';
    }
    if (said.chars - ends < SHORT_HEAD) {
        add_table(work, label, layout, false, indent, lines);
        return;
    }
    ADD(work, above, said);
    put_label(&out, label, '[', layout->count, ']', indent);
    put_char(&out, ':');
    put_rows(&out, layout, indent);
    add_written(work, &out, lines);
}

/* Agrees with `_is_name`: whether a member says what the records after it belong to. */
static bool is_name(Work *work, PyObject *key, PyObject *value) {
    if (key == NULL || !PyUnicode_CheckExact(value) || !IS_READY(value)) {
        return false;
    }
    Py_ssize_t chars = chars_of(value);
    return chars > 0 && chars < LONG_NAME && ends_with_any(work, text_of(work, key), NAMES);
}

/* Agrees with `_is_page`. */
static bool is_page(Work *work, PyObject *value) {
    if (!PyUnicode_CheckExact(value) || !IS_READY(value)) {
        return false;
    }
    Str text = text_of(work, value);
    uint32_t ends = 0;
    for (uint32_t i = 0; i < text.size; i++) {
        ends += text.at[i] == '\n';
    }
    return ends > 4;
}

/* Agrees with `_line`. */
static void add_line(Work *work, Str label, PyObject *value, int indent, Strs *lines) {
    Buffer out = {work, NULL, 0, 0};
    put_blanks(&out, indent);
    put(&out, label);
    if (PyUnicode_CheckExact(value)) {
        put_text(&out, text_of(work, value));
    } else {
        put(&out, STR(": "));
        put_json(&out, value, 0);
    }
    add_written(work, &out, lines);
}

/* Add the lines of each member that has some; tell whether any has (the first half of `_object`). */
static bool open_members(Work *work, PyObject *value, int indent, Strs *above, Strs *opened) {
    PyObject *key, *member, *before = NULL, *named = NULL;
    bool any = false;
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; PyDict_Next(value, &at, &key, &member); i++) {
        Str name = name_of(work, checked_key(work, key));
        kind_of(work, member);
        if (is_name(work, before, named) && are_records(member)) {
            add_under_its_name(work, name, member, indent, above, &opened[i]);
        } else {
            outline(work, name, member, indent, &opened[i]);
        }
        any = any || opened[i].count || is_page(work, member);
        before = key;
        named = member;
    }
    return any;
}

static void add_all(Work *work, const Strs *from, Strs *lines) {
    for (Py_ssize_t i = 0; i < from->count; i++) {
        ADD(work, lines, from->at[i]);
    }
}

/* Agrees with `_object`. */
static bool add_object(Work *work, Str label, PyObject *value, int indent, Strs *lines) {
    Strs above = {0}, *opened = TAKE_EMPTY(work, PyDict_GET_SIZE(value) + 1, Strs);
    PyObject *key, *member;
    Py_ssize_t at = 0;
    int inner = indent + (label.size > 0);
    if (!open_members(work, value, inner, &above, opened)) {
        return false;
    }
    if (label.size) {
        Buffer out = {work, NULL, 0, 0};
        put_blanks(&out, indent);
        put(&out, label);
        put_char(&out, ':');
        add_written(work, &out, lines);
    }
    add_all(work, &above, lines);
    for (Py_ssize_t i = 0; PyDict_Next(value, &at, &key, &member); i++) {
        if (opened[i].count) {
            add_all(work, &opened[i], lines);
        } else {
            add_line(work, name_of(work, key), member, inner, lines);
        }
    }
    return true;
}

/* Add a value as lines, or tell that it belongs on one line as JSON: agrees with `_outline`. */
static bool outline(Work *work, Str label, PyObject *value, int indent, Strs *lines) {
    if (indent > DEEP) {
        return false;
    }
    if (PyDict_CheckExact(value) && is_filled(value)) {
        return add_keyed(work, label, value, indent, lines) || add_object(work, label, value, indent, lines);
    }
    if (!PyList_CheckExact(value)) {
        return false;
    }
    if (PyList_GET_SIZE(value) == 1 && PyDict_CheckExact(PyList_GET_ITEM(value, 0))) {
        return add_object(work, joined(work, label, STR("[0]")), PyList_GET_ITEM(value, 0), indent, lines);
    }
    if (!are_records(value)) {
        return false;
    }
    add_table(work, label, records_of(work, value), false, indent, lines);
    return true;
}

static PyObject *whole_text(Work *work, PyObject *value) {
    Strs lines = {0};
    Buffer out = {work, NULL, 0, 0};
    if (!outline(work, NOTHING, value, 0, &lines)) {
        put_json(&out, value, 0);
    } else if (lines.count == 1) {
        return PyUnicode_DecodeUTF8(lines.at[0].at, lines.at[0].size, NULL);
    }
    for (Py_ssize_t i = 0; i < lines.count; i++) {
        if (i) {
            put_char(&out, '\n');
        }
        put(&out, lines.at[i]);
    }
    return PyUnicode_DecodeUTF8(out.at, (Py_ssize_t)out.size, NULL);
}

/* In a function of its own, because what has a way out into it must not have changed its variables. */
static PyObject *text_or_none(Work *work, PyObject *value) {
    if (setjmp(work->out) == 0) {
        return whole_text(work, value);
    }
    PyErr_Clear(); /* whatever the reason, Python meets it again */
    return Py_NewRef(Py_None);
}

PyDoc_STRVAR(encode_doc, "encode(value, repeats, constants, near)\n--\n\n"
                         "Return a value as an outline with tables, or None where only Python can write it.");

static PyObject *encode(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "encode takes a value, repeats, constants and near");
        return NULL;
    }
    Work work = {.dumps = *(PyObject **)PyModule_GetState(module)};
    work.repeats = arguments[1] == Py_True;
    work.constants = arguments[2] == Py_True;
    work.near = arguments[3] == Py_True;
    work.kept = PyList_New(0);
    work.floats = PyList_New(0);
    PyObject *text = NULL;
    if (work.kept != NULL && work.floats != NULL) {
        text = text_or_none(&work, arguments[0]);
    }
    free_all(&work);
    return text;
}

static PyMethodDef methods[] = {
    {"encode", (PyCFunction)(void (*)(void))encode, METH_FASTCALL, encode_doc},
    {NULL, NULL, 0, NULL},
};

static int find_dumps(PyObject *module) {
    PyObject *orjson = PyImport_ImportModule("orjson");
    if (orjson == NULL) {
        return -1;
    }
    PyObject **dumps = PyModule_GetState(module);
    *dumps = PyObject_GetAttrString(orjson, "dumps");
    Py_DECREF(orjson);
    return *dumps == NULL ? -1 : 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    PyObject **dumps = PyModule_GetState(module);
    Py_VISIT(*dumps);
    return 0;
}

static int clear(PyObject *module) {
    PyObject **dumps = PyModule_GetState(module);
    Py_CLEAR(*dumps);
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, find_dumps},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "shaping.native._table",
    .m_doc = "The table encoder in C.",
    .m_size = sizeof(PyObject *),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
};

PyMODINIT_FUNC PyInit__table(void) {
    return PyModuleDef_Init(&definition);
}
