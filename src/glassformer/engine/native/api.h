/* What the library offers to Python: a whole batch in one call. The results are in the order of the
input, and do not depend on the number of workers or on which sentences are searched for together.
*/
#pragma once
#include "pool.h"
#include "score.h"

/* Sentences, one after another. Source i is sources[source_starts[i]] to
sources[source_starts[i + 1] - 1], and so are prefixes; a prefix to score is a whole target. */
typedef struct {
    int64_t count;
    const int32_t *sources, *prefixes;
    const int64_t *source_starts, *prefix_starts; /* count + 1 */
    const int32_t *limits; /* count: see Request; scoring does not read these two */
    const uint64_t *lines;
    const Shortlist *shortlist; /* of a search; NULL: none */
} Batch;

/* Who works, and what comes back beside the results. */
typedef struct {
    Network *networks; /* one for each worker */
    Pool *pool;        /* the threads of the workers; NULL: the calling thread does it all */
    int32_t workers;
    int32_t failed_size; /* tokens of the sentence that failed */
    int64_t failed;      /* its index; -1: none in particular */
    int64_t budget;      /* rows at work times the longest, in tokens; falls when memory runs out */
    int (*progress)(int64_t done); /* told how many more are done; not 0: cancel. Or NULL */
} Call;

/* Where the hypotheses of a sentence begin, and their tokens. The best comes first. */
typedef struct {
    int64_t hypothesis, token, count;
} Place;

typedef struct {
    Place *places; /* for each sentence of the batch */
    Hypothesis *hypotheses;
    int32_t *tokens;
    float *log_probs; /* of each token */
    int64_t hypotheses_count, tokens_count;
} Results;

/* Translate. Returns a code of errors.h; only after GF_OK are there results, to be freed. */
int gf_search(Call *call, const Batch *batch, const SearchOptions *options, Results **results);
void gf_free(Results *results);

/* Score: note what is wanted of each pair. */
int gf_score(Call *call, const Batch *batch, const Wanted *wanted);
