/* What a search asks of a network; the twin in Python is decode/protocol.py.

Letters: R rows of a search; B sentences with `beams` rows each, so that R = B * beams;
Q new tokens of each row; V vocabulary; S source tokens. All arrays are dense and row by row.

A `Network` is used by one thread at a time: it has a KV cache and scratch memory of its own, while
the packed weights behind it are shared and never written. Its functions return a code of errors.h.
After an error that is not GF_OUT_OF_MEMORY nothing has changed; after GF_OUT_OF_MEMORY only
`clear` may be called.
*/
#pragma once
#include <stdint.h>
#include "errors.h"

/* The best tokens of each row: what `step` fills in instead of all logits. */
typedef struct {
    int32_t size, first; /* so many tokens of each row, from id `first` on; size <= V - first */
    float *value;        /* R size: logits, in descending order; of equal ones the smaller id */
    int32_t *id;         /* R size: their tokens */
    float *logsumexp;    /* R: of all V logits; NaN where a logit is NaN */
} Best;

typedef struct Network {
    void *self;
    int32_t vocabulary, max_positions;
    /* Encode `count` sources, which lie one after another: source b is tokens[start[b]] to
    tokens[start[b + 1] - 1], at least one token and at most max_positions. Append these sentences,
    each with `beams` rows of length 0; `beams` is that of the sentences already there, if any. */
    int (*admit)(void *self, int32_t count, const int32_t *tokens, const int32_t *start,
                 int32_t beams);
    /* Append `queries` tokens to each row (R Q). If `logits` is not NULL, fill in the logits of the
    token after each (R Q V); else `best`, for which queries == 1. A row without a hypothesis gets
    any token. `rows` must be R. */
    int (*step)(void *self, int32_t rows, int32_t queries, const int32_t *tokens, float *logits,
                const Best *best);
    /* Reorder: row i continues row rows[i]. `rows` goes by sentence, in ascending order, with the
    same number for each, which is `beams` from now on; a sentence without a row is dropped.
    count == 0 drops all. */
    int (*keep)(void *self, int32_t count, const int32_t *rows, int32_t beams);
    /* Cut each row back to a length that it has had before. `rows` must be R. */
    int (*rewind)(void *self, int32_t rows, const int32_t *lengths);
    /* Drop all sentences; also after a search that failed. */
    void (*clear)(void *self);
    /* The next two are NULL if the network has no weights to show. `watch`: from the next step on,
    remember the cross-attention weights of `count` heads, each given by its layer and its number,
    -1 for the mean of the layer's heads. `heads` (count 2) stays there as long as it is watched. */
    int (*watch)(void *self, int32_t count, const int32_t *heads);
    /* Return the weights remembered at the last step, NULL if there are none: for each head watched,
    R Q rows of S numbers, `stride` apart, filled up with zeros. The next call may change them. */
    const float *(*alignment)(void *self, int32_t *stride);
} Network;
