/* The layers of encoder and decoder, and the memory that they work in.

Letters: N tokens or queries; D model width, E width of all heads, F inner width of the feed-forward
network, all padded; T positions that a query attends to.
*/
#pragma once
#include "cache.h"
#include "model.h"
#include "network.h"
#include "shortlist.h"

/* The memory of a step for up to `rows` queries; all arrays are floats unless said. */
typedef struct {
    const Model *model;
    void *memory;
    int64_t rows, positions;       /* the most queries, the most positions that it suffices for */
    float *x;                      /* N D: the residual stream */
    float *y;                      /* N, y_stride apart: outputs of a linear map */
    float *z;                      /* N, z_stride apart: context of attention; D outputs */
    float *normed;                 /* N D; int8: one row of D */
    float *scale;                  /* N: of `bytes` */
    float *scratch;                /* for attention */
    float *logits;                 /* N, for some tokens at a time */
    uint8_t *bytes;                /* N, byte_stride apart: quantized rows */
    const char **slots;            /* T */
    int64_t y_stride, z_stride, byte_stride;
    int64_t n; /* N of this step */
} Work;

/* What each query of a decoding step reads and writes. */
typedef struct {
    int32_t row, position, slot, token;
} Query;

int work_reserve(Work *work, int64_t rows, int64_t positions);
/* Encode some texts. The keys and values of text b for cross-attention go to sources[b]. `self`:
memory for the keys and values of the longest in one layer. */
void encode(Work *work, int32_t count, const Text *texts, char *self, Source *sources);
/* Compute the decoder's layers; afterwards `project_logits` can be called. */
void decode(Work *work, const Cache *cache, const Query *queries, const Watched *watched);
/* Compute logits: of all queries into `logits`, V apart, or only the best of each. */
void project_logits(Work *work, float *logits, const Best *best);
/* Compute only the logits of the candidates of each query, and the best of them. */
void project_candidates(Work *work, const Cache *cache, const Query *queries, const Best *best);
