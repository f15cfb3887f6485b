/* One call's memory: everything lives until the call ends, so that leaving early loses nothing and frees all. */
#ifndef SHAPING_WORK_H
#define SHAPING_WORK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef _MSC_VER
#define NO_RETURN __declspec(noreturn)
#else
#define NO_RETURN __attribute__((noreturn))
#endif

/* What anything may be put at the start of; not every compiler has C11's max_align_t. */
typedef union {
    long long integer;
    double number;
    void *pointer;
} Aligned;

typedef struct Block {
    struct Block *before;
    size_t used, size;
    Aligned data[];
} Block;

typedef struct {
    jmp_buf out; /* where to go with what only Python can write */
    Block *block;
    PyObject *kept;   /* objects whose bytes are used until the end */
    PyObject *dumped; /* bytes that are being copied */
    PyObject *floats; /* what is to be written in one go; made beforehand, because making a list may run a finalizer */
    PyObject *dumps;  /* orjson's: of floats, which every version writes in its own way */
    bool repeats, constants, near;
} Work;

/* Text in UTF-8: its bytes, and how many characters Python would count. */
typedef struct {
    const char *at;
    uint32_t size, chars;
} Str;

#define STR(literal) ((Str){(literal), sizeof(literal) - 1, sizeof(literal) - 1})
#define NOTHING ((Str){"", 0, 0})
#define BLOCK_SIZE ((size_t)60000)

/* Leave the whole call: the value is not plain data, or there is no memory for it. */
static NO_RETURN void give_up(Work *work) {
    longjmp(work->out, 1);
}

static void *take(Work *work, size_t count, size_t size) {
    if (count > (SIZE_MAX / 4) / size) {
        give_up(work);
    }
    size_t need = (count * size + sizeof(Aligned) - 1) / sizeof(Aligned) * sizeof(Aligned);
    Block *block = work->block;
    if (block == NULL || block->size - block->used < need) {
        size_t room = need > BLOCK_SIZE / 4 ? need : BLOCK_SIZE;
        block = malloc(sizeof(Block) + room);
        if (block == NULL) {
            give_up(work);
        }
        block->used = 0;
        block->size = room;
        if (room == need && work->block != NULL) { /* a block of its own; the one in use stays in use */
            block->before = work->block->before;
            work->block->before = block;
        } else {
            block->before = work->block;
            work->block = block;
        }
    }
    void *at = (char *)block->data + block->used;
    block->used += need;
    return at;
}

static void *take_empty(Work *work, size_t count, size_t size) {
    return memset(take(work, count, size), 0, count * size);
}

#define TAKE(work, count, type) ((type *)take((work), (size_t)(count), sizeof(type)))
#define TAKE_EMPTY(work, count, type) ((type *)take_empty((work), (size_t)(count), sizeof(type)))

static void free_all(Work *work) {
    for (Block *block = work->block; block != NULL;) {
        Block *before = block->before;
        free(block);
        block = before;
    }
    Py_CLEAR(work->kept);
    Py_CLEAR(work->floats);
    Py_CLEAR(work->dumped);
}

/* A list that grows: `at` holds `count` of the type it is declared with. */
#define LIST_OF(type)         \
    struct {                  \
        type *at;             \
        Py_ssize_t count, room; \
    }

static void *grown(Work *work, void *at, Py_ssize_t count, Py_ssize_t *room, size_t size) {
    if (count < *room) {
        return at;
    }
    Py_ssize_t more = *room ? *room * 2 : 8;
    void *fresh = take(work, (size_t)more, size);
    if (count) {
        memcpy(fresh, at, (size_t)count * size);
    }
    *room = more;
    return fresh;
}

#define ADD(work, list, item)                                                                                   \
    ((list)->at = grown((work), (list)->at, (list)->count, &(list)->room, sizeof(*(list)->at)),                 \
     (list)->at[(list)->count++] = (item))

typedef LIST_OF(Str) Strs;

/* A text that is being written. */
typedef struct {
    Work *work;
    char *at;
    size_t size, room;
} Buffer;

static void make_room(Buffer *out, size_t more) {
    if (out->room - out->size >= more) {
        return;
    }
    size_t room = (out->size + more) * 2 + 64;
    char *fresh = take(out->work, room, 1);
    if (out->size) {
        memcpy(fresh, out->at, out->size);
    }
    out->at = fresh;
    out->room = room;
}

static inline void put(Buffer *out, Str text) {
    if (text.size) {
        make_room(out, text.size);
        memcpy(out->at + out->size, text.at, text.size);
        out->size += text.size;
    }
}

static inline void put_char(Buffer *out, char one) {
    make_room(out, 1);
    out->at[out->size++] = one;
}

static void put_count(Buffer *out, Py_ssize_t count) {
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%zd", count);
    put(out, (Str){digits, (uint32_t)size, (uint32_t)size});
}

static void put_blanks(Buffer *out, int count) {
    if (count > 0) {
        make_room(out, (size_t)count);
        memset(out->at + out->size, ' ', (size_t)count);
        out->size += (size_t)count;
    }
}

/* Count characters: every byte of UTF-8 but those that go on with one. */
static uint32_t characters(const char *at, size_t size) {
    size_t on = 0;
    for (size_t i = 0; i < size; i++) {
        on += ((unsigned char)at[i] & 0xC0) == 0x80;
    }
    return (uint32_t)(size - on);
}

/* Return what a buffer holds from somewhere on. */
static Str written(const Buffer *out, size_t from) {
    size_t size = out->size - from;
    if (size > INT32_MAX) {
        give_up(out->work);
    }
    return (Str){out->at + from, (uint32_t)size, characters(out->at + from, size)};
}

static inline bool same(Str one, Str other) {
    return one.size == other.size && (!one.size || one.at == other.at || memcmp(one.at, other.at, one.size) == 0);
}

static Str joined(Work *work, Str one, Str other) {
    if ((size_t)one.size + other.size > INT32_MAX) {
        give_up(work);
    }
    char *at = take(work, (size_t)one.size + other.size + 1, 1);
    memcpy(at, one.at, one.size);
    memcpy(at + one.size, other.at, other.size);
    return (Str){at, one.size + other.size, one.chars + other.chars};
}

#endif
