/* The KV cache of one search: slots that never move, and for each row the list of its slots.

A slot holds the keys and values of one position of one row in all decoder layers; with SSRU its
cells, of which a row keeps those of its last position only. Reordering
hypotheses copies lists, not keys and values: rows that continue the same hypothesis share its slots,
whose references are counted; a slot that no row lists is used again.

Letters: R rows; B sentences, each with `beams` rows; T positions of the longest list.

Layout: slots lie in pages of PAGE slots; in a page, layer by layer, the slots one after another.
A sentence's cross-attention keys and values are one block, layer by layer: see attention.h.
*/
#pragma once
#include <stdint.h>

#define PAGE 64 /* slots */
#define RELEASED -1 /* in a list: the position has no slot any more */

typedef struct {
    char *block;
    int32_t length;    /* source positions */
    int64_t layer_size; /* bytes from layer to layer */
    int32_t *candidates; /* tokens that may follow, ascending; behind them numbers of each */
    int32_t count;       /* of candidates; 0: any token may follow */
} Source;

/* Zeros, but for the first two and `beams`, which is 1, in the beginning. */
typedef struct {
    int32_t layers;
    int64_t slot_size; /* bytes of one slot in one layer */
    char **pages; /* the arrays grow: see scratch.h */
    int32_t page_count;
    int32_t *references, *free; /* of each slot; the slots without references */
    int32_t free_count;
    int32_t sentences, beams, rows; /* rows = sentences * beams */
    Source *source;                   /* B */
    int32_t *length, *list;           /* R; R lists, `stride` apart */
    int32_t *next_length, *next_list; /* the other half of a double buffer */
    int64_t stride;
} Cache;

void cache_clear(Cache *cache); /* drop all sentences; memory stays */
void cache_free(Cache *cache);

/* Append a sentence with memory for four numbers of each of `count` candidates, and with cache->beams rows of length 0. */
int cache_append(Cache *cache, int32_t length, int64_t layer_size, int32_t count);
/* Make sure that `slots` free slots exist and lists have memory for `positions`. */
int cache_reserve(Cache *cache, int64_t slots, int32_t positions);
/* Take a free slot for the next position of a row; cache_reserve came before. */
int32_t cache_take(Cache *cache, int32_t row);
/* Drop the slot of a position of a row. */
void cache_release(Cache *cache, int64_t row, int32_t position);
/* Reorder the rows: see `keep` of a network. */
int cache_keep(Cache *cache, int32_t count, const int32_t *rows, int32_t beams);

static inline char *cache_slot(const Cache *cache, int32_t slot, int32_t layer) {
    return cache->pages[slot / PAGE] + ((int64_t)layer * PAGE + slot % PAGE) * cache->slot_size;
}
