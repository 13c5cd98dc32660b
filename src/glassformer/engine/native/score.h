/* Forced decoding: the network reads given tokens, and their log-probabilities are noted. So a
translation is scored, a prefix is forced, and the attention of a pair is found.

Letters: R rows; Q tokens of each read at once; V vocabulary; S source tokens.
*/
#pragma once
#include "search.h"

/* What one row reads: BOS and the tokens of `target`, `count` in all. */
typedef struct {
    const int32_t *target;
    int32_t size, count; /* tokens of the target; tokens to read, at most size + 1 */
    int32_t length;      /* tokens that the network has read before; they stay */
    float *log_probs;    /* count: of target[0], target[1], ..., EOS; NULL: not wanted */
    float *weights;      /* heads count S: of those that the network watches; NULL: not wanted */
    int32_t source_size; /* S */
    int32_t next_size;   /* the best tokens wanted after the last one read; 0: none */
    int32_t *next_ids;
    float *next_log_probs;
} Forced;

/* Let the network encode the sources of some requests; `ids` is memory that grows. */
int admit_sources(Network *network, int32_t count, const Request *const *requests, int32_t beams,
                  int32_t **ids);

/* Let the network read, which watches so many heads; `logits` is memory that grows. Rows with less to
read wait for others. */
int read_forced(Network *network, int32_t rows, const Forced *forced, int32_t heads, float **logits);

/* Return ln Σ e^(factor x). */
float log_sum_exp(const float *x, int32_t size, float factor);
