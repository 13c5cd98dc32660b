/* Greedy search, beam search and sampling over any Network: the twin of decode/ in Python. Both
find the same tokens, and decide ties alike: of equal hypotheses the one that continues the smaller
row is better, then the one with the smaller token.

Letters: B sentences at work; W beams, the rows of each; R = B * W rows; N hypotheses, at most R, in
the order of their rows; V vocabulary; C candidates of a hypothesis (2 W in a beam, else 1).

The hypotheses of a sentence form a tree: nodes[position * W + row] is the token that `row` received
at `position`, and the row that it continued. A hypothesis is read from its last node backwards, so
that nothing is copied when hypotheses change rows.
*/
#pragma once
#include <stdbool.h>
#include "network.h"

enum { ID_PAD, ID_BOS, ID_EOS }; /* the ids that are not text */
enum { SEARCH_GREEDY, SEARCH_BEAM, SEARCH_SAMPLE };
enum { PENALTY_NONE, PENALTY_GNMT, PENALTY_POWER };

typedef struct {
    double alpha, temperature, top_p;
    uint64_t seed;
    int32_t method, penalty;
    int32_t beams, n_best; /* both are 1 unless the method is SEARCH_BEAM */
    int32_t stops_first;   /* stop at the first W finished hypotheses; else when that is exact */
    int32_t min_length, no_repeat_ngram_size, top_k; /* 0: no such rule */
} SearchOptions;

/* A sentence to translate, or a pair to score; then the prefix is its whole target. */
typedef struct {
    Text source; /* ends with EOS */
    const int32_t *prefix;
    int32_t prefix_size; /* it has no control ids */
    int32_t limit;       /* the most tokens of the translation, EOS counted */
    uint64_t line;       /* a key of sampling */
    int64_t index;       /* in the input */
} Request;

/* Return the largest number of tokens that the network reads at once. */
static inline int32_t request_size(const Request *request) {
    int32_t target = request->prefix_size + 1;
    return request->source.size > target ? request->source.size : target;
}

typedef struct {
    int32_t parent, token; /* the row that it continues */
    float log_prob;        /* of this token alone */
} Node;

/* A hypothesis that ended, finished with EOS, which counts as a token, or cut at the limit. */
typedef struct {
    int32_t length, is_finished;
    float log_prob, score; /* of all tokens; divided by the length penalty */
} Hypothesis;

typedef struct {
    Node last;
    Hypothesis whole;
} Ended;

typedef struct {
    const Request *request;
    int32_t length;                      /* tokens so far, those of the prefix among them */
    int32_t first, alive;                /* its hypotheses among all N; they have its first rows */
    int32_t finished_count, ended_count; /* hypotheses that finished; entries of `ended` */
    Node *nodes;                         /* positions W */
    Ended *ended;                        /* n_best: the best that ended, best first */
} Sentence;

/* The hypotheses of the sentences that one worker searches for at once. The arrays grow. */
typedef struct {
    const SearchOptions *options;
    Network *network;
    Sentence *sentences; /* the first `count` are at work; the next `done` ended in the last step */
    int32_t count, done;
    const Request *failed; /* the sentence without any hypothesis, and why: a code of errors.h */
    int error;
    int32_t alive;                     /* N */
    float *log_probs, *next_log_probs; /* N: of whole hypotheses */
    Token *tokens;                     /* N: the newest of each */
    int32_t *parents;                  /* R: the row that each row continues */
    int32_t *forbidden_counts;         /* N */
    int32_t *forbidden; /* N lists, `forbidden_stride` apart, of the tokens that the rules forbid */
    int32_t forbidden_stride;
    int32_t *heads;        /* W: the next candidate of each hypothesis of one sentence */
    float *head_log_probs; /* W: of the hypothesis that it would make */
    Best best;             /* the network's; more than C where the rules forbid some */
    float *logits;         /* N V, where the best do not suffice */
    Token *given;          /* tokens to be read: see score.h */
    int32_t given_count;
    int32_t *wanted; /* the token after each */
    float *weights;  /* of cross-attention, at each */
    Text *sources;   /* that join */
    int32_t *ids;    /* of tokens drawn from */
    float *values;   /* log-probabilities of tokens read; logits drawn from */
} Search;

/* Let sentences join those at work: the network encodes them and reads their prefixes. After an
error either all have joined or none. */
int search_admit(Search *search, int32_t count, const Request *const *requests);

/* Continue every hypothesis by one token. Sentences that end are `done` until the next call. */
int search_step(Search *search);

/* Drop all sentences at work and free the memory; the options and the network stay. */
void search_clear(Search *search);

/* Return whether the rules forbid this token to hypothesis n at this step. */
bool is_forbidden(const Search *search, int32_t n, int32_t token);

/* Put the token drawn from the best of each row in the first place: see sample.c. */
void draw_from_best(Search *search);

/* Make the token drawn from the logits of each row its best. */
int draw_from_logits(Search *search);

/* Write the tokens of a hypothesis, EOS among them, and their log-probabilities. */
void read_hypothesis(const Sentence *sentence, const Ended *ended, int32_t beams, int32_t *tokens,
                     float *log_probs);
