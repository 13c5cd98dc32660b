/* Forced decoding: see score.h. */
#include "score.h"
#include "scratch.h"
#include "topk.h"

#define MOST_LOGITS (1 << 21) /* computed at once, unless one token of each row has more */

/* Find the best of one row of logits, scaled by a factor, and their logsumexp. */
static void find_best_of_row(const Best *best, const float *logits, int32_t size, float factor) {
    float part[TOGETHER + PAD];
    Running running = begin_row(best, 0);
    for (int32_t from = 0; from < size; from += TOGETHER) {
        int32_t end = size - from < TOGETHER ? size : from + TOGETHER;
        for (int32_t v = from; v < end; v++) part[v - from] = logits[v] * factor;
        process_logits(best, 0, part, from, end, &running);
    }
    end_row(best, 0, running);
}

float log_sum_exp(const float *x, int32_t size, float factor) {
    float sum;
    find_best_of_row(&(Best){.logsumexp = &sum}, x, size, factor);
    return sum;
}

int admit_sources(Network *network, int32_t count, const Request *const *requests, int32_t beams,
                  int32_t **ids) {
    int64_t tokens = 0;
    for (int32_t b = 0; b < count; b++) tokens += requests[b]->source_size;
    if (tokens > INT32_MAX) return GF_BAD_REQUEST;
    if (!GROW(*ids, tokens + count + 1)) return GF_OUT_OF_MEMORY;
    int32_t *starts = *ids + tokens;
    starts[0] = 0;
    for (int32_t b = 0; b < count; b++) {
        int32_t size = requests[b]->source_size;
        memcpy(*ids + starts[b], requests[b]->source, (size_t)size * sizeof **ids);
        starts[b + 1] = starts[b] + size;
    }
    return network->admit(network->self, count, *ids, starts, beams);
}

static int32_t get_given(const Forced *row, int32_t place) {
    return place >= row->count ? ID_PAD : place ? row->target[place - 1] : ID_BOS;
}

/* Note what is wanted of a row from the logits of `queries` of its tokens, number `from` first. */
static void note_logits(const Forced *row, int32_t from, int32_t queries, const float *logits,
                        int32_t vocabulary) {
    for (int32_t i = from; i < from + queries && i < row->count; i++, logits += vocabulary) {
        bool is_last = row->next_size && i == row->count - 1;
        if (!row->log_probs && !is_last) continue;
        int32_t size = is_last ? row->next_size : 0;
        int32_t wanted = i < row->size ? row->target[i] : ID_EOS;
        float sum;
        Best best = {size, ID_EOS, row->next_log_probs, row->next_ids, &sum};
        find_best_of_row(&best, logits, vocabulary, 1);
        for (int32_t c = 0; c < size; c++) row->next_log_probs[c] -= sum;
        if (row->log_probs) row->log_probs[i] = logits[wanted] - sum;
    }
}

/* Copy the weights of the last step to the rows that want them. */
static int note_weights(Network *network, int32_t rows, const Forced *forced, int32_t heads,
                        int32_t from, int32_t queries) {
    int32_t stride;
    const float *row = network->alignment(network->self, &stride);
    if (!row) return GF_BAD_REQUEST;
    for (int32_t h = 0; h < heads; h++)
        for (int32_t r = 0; r < rows; r++)
            for (int32_t i = from; i < from + queries; i++, row += stride) {
                int64_t size = forced[r].source_size, count = forced[r].count;
                float *to = forced[r].weights + (h * count + i) * size;
                if (i < count) memcpy(to, row, (size_t)size * sizeof *row);
            }
    return GF_OK;
}

int read_forced(Network *network, int32_t rows, const Forced *forced, int32_t heads, float **logits) {
    int32_t vocabulary = network->vocabulary, most = 0, queries = 0, error = GF_OK;
    for (int32_t r = 0; r < rows; r++)
        if (forced[r].count > most) most = forced[r].count;
    int64_t together = MOST_LOGITS / ((int64_t)rows * vocabulary);
    if (together < 1) together = 1;
    if (together > most) together = most;
    int32_t *tokens = malloc((size_t)rows * (size_t)(together + 1) * sizeof *tokens);
    int32_t *lengths = tokens ? tokens + rows * together : NULL;
    if (!tokens || !GROW(*logits, rows * together * vocabulary)) {
        free(tokens);
        return GF_OUT_OF_MEMORY;
    }
    for (int32_t from = 0; from < most && !error; from += queries) {
        queries = most - from < together ? most - from : (int32_t)together;
        for (int32_t r = 0; r < rows; r++) { /* rows with less to read are padded, and cut back */
            int32_t there = forced[r].length + (forced[r].count < from ? forced[r].count : from);
            if (there + queries > network->max_positions) queries = network->max_positions - there;
        }
        if (queries < 1) error = GF_TOO_LONG;
        bool is_padded = false;
        for (int32_t r = 0; r < rows && !error; r++) {
            int32_t end = from + queries, count = forced[r].count;
            for (int32_t i = from; i < end; i++)
                tokens[r * queries + i - from] = get_given(forced + r, i);
            is_padded |= count < end;
            lengths[r] = forced[r].length + (count < end ? count : end);
        }
        if (!error) error = network->step(network->self, rows, queries, tokens, *logits, NULL);
        if (!error && heads) error = note_weights(network, rows, forced, heads, from, queries);
        for (int32_t r = 0; r < rows && !error; r++)
            note_logits(forced + r, from, queries, *logits + (int64_t)r * queries * vocabulary,
                        vocabulary);
        if (!error && is_padded) error = network->rewind(network->self, rows, lengths);
    }
    free(tokens);
    return error;
}
