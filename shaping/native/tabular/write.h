/* A table as text: agrees with shaping/encoders/tabular/write.py. */
#ifndef SHAPING_WRITE_H
#define SHAPING_WRITE_H

#include "cells.h"
#include "layout.h"

/* Begin a line behind whatever has been written of this text. */
static void begin(Buffer *out, int indent) {
    if (out->size) {
        put_char(out, '\n');
    }
    put_blanks(out, indent);
}

/* Tell whether a text has line ends and nothing that would spoil lines (_CONTROL). */
static bool stands_on_lines(Str text) {
    unsigned odd = 0, ends = 0;
    for (uint32_t i = 0; i < text.size; i++) {
        unsigned char one = (unsigned char)text.at[i];
        odd |= (one < 0x20 && one != '\t' && one != '\n') | (one == 0x7f);
        ends |= one == '\n';
    }
    for (uint32_t i = 0; odd && i < text.size; i++) { /* a return before a line end is part of it */
        unsigned char one = (unsigned char)text.at[i];
        bool ended = one == '\r' && i + 1 < text.size && text.at[i + 1] == '\n';
        if (((one < 0x20 && one != '\t' && one != '\n') || one == 0x7f) && !ended) {
            return false;
        }
    }
    return ends;
}

/* Put a string behind its label, which stands already: agrees with `write_text`. */
static void put_text(Buffer *out, Str text) {
    if (stands_on_lines(text)) {
        Py_ssize_t lines = 1;
        for (uint32_t i = 0; i < text.size; i++) {
            lines += text.at[i] == '\n';
        }
        put(out, STR(", "));
        put_count(out, lines);
        put(out, STR(" lines:\n"));
        put(out, text);
        return;
    }
    put(out, STR(": "));
    if (is_odd_line(text)) {
        put_string(out, text);
    } else {
        put(out, text);
    }
}

static void put_joined(Buffer *out, const Strs *parts) {
    for (Py_ssize_t i = 0; i < parts->count; i++) {
        if (i) {
            put_char(out, ',');
        }
        put(out, parts->at[i]);
    }
}

static void put_row_of(Buffer *out, Layout *layout, Py_ssize_t row, int indent);

static void put_rows(Buffer *out, Layout *layout, int indent) {
    for (Py_ssize_t row = 0; row < layout->count; row++) {
        put_row_of(out, layout, row, indent);
    }
}

static void put_given(Buffer *out, const Under *one, int indent) {
    const Node *node = one->node;
    begin(out, indent + 1);
    for (Py_ssize_t i = 0; i + 1 < one->steps.count; i++) {
        put(out, one->steps.at[i]);
        put_char(out, '.');
    }
    put(out, node->said);
    put_char(out, '[');
    put_count(out, node->told);
    put(out, STR("] gives "));
    put(out, one->label);
    put_char(out, ':');
    for (Py_ssize_t i = 0; i < node->told; i++) {
        begin(out, indent + 1);
        put(out, node->keys[i]);
        put_char(out, ',');
        put(out, node->cells[i]);
    }
}

/* Put the lines above the rows behind a label that stands already: agrees with `schema`. */
static void put_schema(Buffer *out, Layout *layout, int indent) {
    if (layout->fixed.count) {
        put(out, STR(", all with "));
        put_joined(out, &layout->fixed);
    }
    put_char(out, ':');
    begin(out, indent);
    put_joined(out, &layout->header);
    if (layout->header.count == 0) {
        put(out, STR("(no columns)"));
    }
    for (Py_ssize_t i = 0; i < layout->under.count; i++) {
        Under *one = &layout->under.at[i];
        if (one->node->kind == ITEMS) {
            begin(out, indent + 1);
            put(out, dotted(out->work, &one->steps, one->steps.count));
            put(out, one->node->keyed ? STR("{}") : STR("[]"));
            put_schema(out, one->inner, indent + 1);
        } else if (one->node->kind == LOOKUP) {
            begin(out, indent + 1);
            put(out, one->label);
            put_char(out, '[');
            put_count(out, one->node->table->count);
            put(out, STR("] by "));
            put(out, one->node->said);
            put_schema(out, one->inner, indent + 1);
            put_rows(out, one->inner, indent + 1);
        } else if (one->node->kind == GIVEN) {
            put_given(out, one, indent);
        }
    }
}

static void put_items(Buffer *out, Under *one, Py_ssize_t count, int indent) {
    begin(out, indent);
    put(out, one->label);
    put_char(out, one->node->keyed ? '{' : '[');
    put_count(out, count);
    put_char(out, one->node->keyed ? '}' : ']');
    put_char(out, ':');
    for (Py_ssize_t i = 0; i < count; i++) {
        put_row_of(out, one->inner, one->next++, indent);
    }
}

static void put_text_under(Buffer *out, const Under *one, Py_ssize_t row, int indent) {
    Str text = one->node->cells[row];
    int32_t tag = one->tags ? one->tags[row] : 0;
    begin(out, indent);
    put(out, one->label);
    if (tag) {
        put(out, STR("=#"));
        put_count(out, tag < 0 ? -tag : tag);
    }
    if (tag < 0) {
        return;
    }
    if (one->node->as_json) {
        put(out, STR(": "));
        put(out, text);
    } else {
        put_text(out, text);
    }
}

/* Put a row with what stands under it: agrees with `rows`. */
static void put_row_of(Buffer *out, Layout *layout, Py_ssize_t row, int indent) {
    begin(out, indent);
    put_row(out, &layout->leaves, row);
    if (layout->also && layout->also[row].size) {
        begin(out, indent + 1);
        put(out, STR("(also "));
        put(out, layout->also[row]);
        put_char(out, ')');
    }
    for (Py_ssize_t i = 0; i < layout->under.count; i++) {
        Under *one = &layout->under.at[i];
        if (one->node->kind == ITEMS && one->node->counts[row] >= 0) {
            put_items(out, one, one->node->counts[row], indent + 1);
        }
    }
    for (Py_ssize_t i = 0; i < layout->under.count; i++) {
        Under *one = &layout->under.at[i];
        if (one->node->kind == TEXT && one->node->cells[row].at) {
            put_text_under(out, one, row, indent + 1);
        }
    }
}

#endif
