/* Texts as small numbers, the same for the same text: to count and compare them. */
#ifndef SHAPING_IDS_H
#define SHAPING_IDS_H

#include "work.h"

typedef struct {
    Strs texts; /* each different text once, in the order they came */
    LIST_OF(uint64_t) hashes;
    int32_t *slots;
    size_t mask;
} Ids;

static uint64_t hash_of(Str text) {
    uint64_t hash = 0x9E3779B97F4A7C15ULL ^ text.size, word;
    uint32_t at = 0;
    for (; at + 8 <= text.size; at += 8) {
        memcpy(&word, text.at + at, 8);
        hash = (hash ^ word) * 0xD6E8FEB86659FD93ULL;
        hash ^= hash >> 32;
    }
    word = 0;
    if (at < text.size) {
        memcpy(&word, text.at + at, text.size - at);
    }
    hash = (hash ^ word) * 0xD6E8FEB86659FD93ULL;
    return hash ^ (hash >> 32);
}

static Ids ids_for(Work *work, Py_ssize_t most) {
    size_t size = 16;
    while (size < (size_t)most * 2) {
        size *= 2;
    }
    Ids ids = {.slots = TAKE(work, size, int32_t), .mask = size - 1};
    memset(ids.slots, -1, size * sizeof(int32_t));
    return ids;
}

/* Return the number of a text, a new one where it is new; at most as many as the table was made for. */
static int32_t id_of(Work *work, Ids *ids, Str text) {
    uint64_t hash = hash_of(text);
    size_t slot = (size_t)hash & ids->mask;
    for (; ids->slots[slot] >= 0; slot = (slot + 1) & ids->mask) {
        int32_t known = ids->slots[slot];
        if (ids->hashes.at[known] == hash && same(ids->texts.at[known], text)) {
            return known;
        }
    }
    ids->slots[slot] = (int32_t)ids->texts.count;
    ADD(work, &ids->texts, text);
    ADD(work, &ids->hashes, hash);
    return ids->slots[slot];
}

#endif
