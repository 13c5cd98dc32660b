/* Forced decoding: see score.h. */
#include "score.h"
#include "scratch.h"

#define CHUNK 512 /* tokens read at once: their activations stay in a core's cache */

int admit_sources(Search *s, int32_t count, const Request *const *requests, int32_t beams) {
    if (!GROW(s->sources, count)) return GF_OUT_OF_MEMORY;
    for (int32_t b = 0; b < count; b++) s->sources[b] = requests[b]->source;
    return s->network->admit(s->network->self, count, s->sources, beams);
}

bool reserve_best(Search *s, int64_t count, int32_t size) {
    s->best.size = size;
    s->best.first = ID_EOS;
    return GROW(s->best.value, count * size) && GROW(s->best.id, count * size) &&
           GROW(s->best.logsumexp, count);
}

bool give_tokens(Search *s, int32_t row, const Request *request, int32_t count) {
    int64_t all = (int64_t)s->given_count + count;
    if (all > INT32_MAX || !GROW(s->given, all) || !GROW(s->wanted, all)) return false;
    for (int32_t p = 0; p < count; p++) {
        s->given[s->given_count] = (Token){row, p ? request->prefix[p - 1] : ID_BOS};
        s->wanted[s->given_count++] = p < request->prefix_size ? request->prefix[p] : ID_EOS;
    }
    return true;
}

int read_given(Search *s, int32_t best_size, const Watched *watched) {
    int32_t all = s->given_count, error = GF_OK;
    if (!reserve_best(s, all, best_size) || !GROW(s->values, all)) return GF_OUT_OF_MEMORY;
    for (int32_t n = 0; n < all && !error; n += CHUNK) {
        int32_t count = all - n < CHUNK ? all - n : CHUNK;
        int64_t place = (int64_t)n * best_size;
        float *value = best_size ? s->best.value + place : NULL;
        int32_t *id = best_size ? s->best.id + place : NULL;
        Best best = {best_size, ID_EOS, value, id, s->best.logsumexp + n, s->wanted + n, s->values + n};
        Watched part = watched ? *watched : (Watched){0};
        if (watched) part.weights += n * part.stride;
        error = s->network->step(s->network->self, count, s->given + n, NULL, &best,
                                 watched ? &part : NULL);
    }
    for (int32_t n = 0; n < all && !error; n++) s->values[n] -= s->best.logsumexp[n];
    return error;
}

/* Note what is wanted of a pair, of which `count` tokens from number n on were read. */
static void note_pair(const Search *s, const Request *request, const Wanted *wanted,
                      const Watched *watched, int64_t n, int64_t count, float *log_probs) {
    int64_t size = request->source.size, best = wanted->next_size;
    memcpy(log_probs, s->values + n, (size_t)count * sizeof *log_probs);
    for (int64_t c = 0, last = n + count - 1; c < best; c++) {
        int64_t to = request->index * best + c;
        wanted->next_ids[to] = s->best.id[last * best + c];
        wanted->next_log_probs[to] = s->best.value[last * best + c] - s->best.logsumexp[last];
    }
    for (int64_t i = 0; i < wanted->heads_count * count; i++) {
        const float *row = s->weights + i / count * watched->apart + (n + i % count) * watched->stride;
        float *to = wanted->weights + wanted->weight_starts[request->index] + i * size;
        memcpy(to, row, (size_t)size * sizeof *row);
    }
}

int score_pairs(Search *s, int32_t count, const Request *const *requests,
                const int64_t *prefix_starts, const Wanted *wanted) {
    Watched watched = {.count = wanted->heads_count, .heads = wanted->heads};
    int error = admit_sources(s, count, requests, 1);
    s->given_count = 0;
    for (int32_t r = 0; r < count && !error; r++) {
        if (!give_tokens(s, r, requests[r], requests[r]->prefix_size + 1)) error = GF_OUT_OF_MEMORY;
        if (requests[r]->source.size > watched.stride) watched.stride = requests[r]->source.size;
    }
    watched.apart = s->given_count * watched.stride;
    if (!error && !GROW(s->weights, watched.count * watched.apart)) error = GF_OUT_OF_MEMORY;
    if (!error && watched.count) {
        watched.weights = s->weights;
        memset(s->weights, 0, (size_t)(watched.count * watched.apart) * sizeof *s->weights);
    }
    if (!error) error = read_given(s, wanted->next_size, watched.count ? &watched : NULL);
    int64_t n = 0;
    for (int32_t r = 0; r < count && !error; r++) {
        int64_t size = requests[r]->prefix_size + 1, i = requests[r]->index;
        float *log_probs = wanted->log_probs + prefix_starts[i] + i;
        note_pair(s, requests[r], wanted, &watched, n, size, log_probs);
        n += size;
    }
    s->network->clear(s->network->self);
    return error;
}
