/* Forced decoding: the network reads given tokens, and the log-probability of the next one is noted
each time. So a translation is scored, a prefix is forced, and the attention of a pair is found.

The tokens of all rows lie one after another in `given` of a Search, those that follow in `wanted`;
n counts them. `values` receives their log-probabilities.
*/
#pragma once
#include "search.h"

/* What is noted of each pair; pair i has prefix_starts[i + 1] - prefix_starts[i] tokens and EOS. */
typedef struct {
    float *log_probs;     /* of all these tokens, one pair after another */
    int32_t heads_count;  /* whose attention is wanted: see Watched; 0: none's */
    int32_t next_size;    /* the best tokens wanted after each target; 0: none */
    const int32_t *heads;
    /* From weight_starts[i] on: for each head as many rows as the target has tokens, and one more,
    each as long as the source. Row t is of the query that predicts token t; the last, EOS. */
    const int64_t *weight_starts;
    float *weights;
    int32_t *next_ids; /* count next_size */
    float *next_log_probs;
} Wanted;

/* Let the network encode the sources of some requests, each with so many rows. */
int admit_sources(Search *search, int32_t count, const Request *const *requests, int32_t beams);

/* Make memory for the best tokens to follow each of so many; return whether there was some. */
bool reserve_best(Search *search, int64_t count, int32_t size);

/* Append to `given` BOS and the prefix of a request, `count` tokens in all, for a row; return
whether there was memory. */
bool give_tokens(Search *search, int32_t row, const Request *request, int32_t count);

/* Let the network read `given`; find so many of the best tokens to follow each. */
int read_given(Search *search, int32_t best_size, const Watched *watched);

/* Let the network read some pairs, and note what is wanted; it is left empty. */
int score_pairs(Search *search, int32_t count, const Request *const *requests,
                const int64_t *prefix_starts, const Wanted *wanted);
