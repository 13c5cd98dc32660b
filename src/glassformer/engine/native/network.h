/* What a search asks of a network; the twin in Python is decode/protocol.py.

Letters: R rows of a search; B sentences with `beams` rows each, so that R = B * beams; N tokens
given at once; V vocabulary; S source tokens. All arrays are dense and row by row.

A `Network` is used by one thread at a time: it has a KV cache and scratch memory of its own, while
the packed weights behind it are shared and never written. Its functions return a code of errors.h.
After an error that is not GF_OUT_OF_MEMORY nothing has changed; after GF_OUT_OF_MEMORY only
`clear` may be called.
*/
#pragma once
#include <stdint.h>
#include "errors.h"

/* The likely translations of each token of the source. Row i, ids[starts[i]] to
ids[starts[i + 1] - 1], has those of token i; the row after them the common tokens, which any
sentence may need. */
typedef struct {
    const int32_t *starts, *ids; /* tokens + 2; all below V */
    int32_t tokens;              /* the vocabulary of the source */
} Shortlist;

/* A source: at least one token and at most max_positions. */
typedef struct {
    const int32_t *ids;
    int32_t size;
    const Shortlist *shortlist; /* the same for all sentences at work; NULL: any token may follow */
} Text;

/* A token that is appended to a row. */
typedef struct {
    int32_t row, id;
} Token;

/* The best tokens to follow each token given: what `step` fills in instead of all logits. */
typedef struct {
    int32_t size, first; /* so many for each, from id `first` on; size <= V - first */
    float *value;        /* N size: logits, in descending order; of equal ones the smaller id */
    int32_t *id;         /* N size: their tokens */
    float *logsumexp;    /* N: of all V logits, or of the candidates'; NaN where a logit is NaN */
    const int32_t *wanted; /* N: a token whose logit is wanted, whichever are the best; or NULL */
    float *wanted_logit;   /* N */
} Best;

/* Heads of cross-attention whose weights are wanted: for each head, N rows of S numbers. */
typedef struct {
    int32_t count;
    const int32_t *heads;  /* count: a layer and a head; head -1: the mean of all of the layer */
    float *weights;        /* zeros before; heads are `apart` apart, rows `stride`, at least S */
    int64_t stride, apart;
} Watched;

typedef struct Network {
    void *self;
    int32_t vocabulary, max_positions;
    /* Encode `count` sources. Append these sentences, each with `beams` rows of length 0; `beams` is
    that of the sentences already there, if any. */
    int (*admit)(void *self, int32_t count, const Text *sources, int32_t beams);
    /* Append `count` tokens, N, to rows, which ascend: any number to each row. If `logits` is not
    NULL, fill in the logits of what follows each token (N V); else `best`. And the weights that are
    `watched`, unless that is NULL; not every network has them. */
    int (*step)(void *self, int32_t count, const Token *tokens, float *logits, const Best *best,
                const Watched *watched);
    /* Reorder: row i continues row rows[i]. `rows` goes by sentence, in ascending order, with the
    same number for each, which is `beams` from now on; a sentence without a row is dropped.
    count == 0 drops all. */
    int (*keep)(void *self, int32_t count, const int32_t *rows, int32_t beams);
    /* Drop all sentences; also after a search that failed. */
    void (*clear)(void *self);
} Network;
