/* Sampling: the twin of decode/sample.py. With the same logits, seed, line and position it draws
the same token.

The token drawn is that with the largest sum of logit and Gumbel noise times the temperature. The
noise of a token is a hash of the token and a key; the key is one number of a counter-based
generator (Salmon et al. 2011), which counts positions and is keyed by seed and line. */
#include "search.h"
#include <math.h>
#include "scratch.h"
#include "topk.h"

static uint64_t multiply_high(uint64_t a, uint64_t b) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

/* Return the lower half of the number `position` of NumPy's Philox: Philox4x64 with 10 rounds, four
numbers from each count, the first count being 1. */
static uint32_t draw_key(uint64_t seed, uint64_t line, uint64_t position) {
    uint64_t x[4] = {position / 4 + 1}, keys[2] = {seed, line};
    for (int round = 0; round < 10; round++) {
        const uint64_t factors[2] = {0xD2E7470EE14C6C93, 0xCA5A826395121157};
        uint64_t high0 = multiply_high(factors[0], x[0]), low0 = factors[0] * x[0];
        uint64_t high2 = multiply_high(factors[1], x[2]), low2 = factors[1] * x[2];
        x[0] = high2 ^ x[1] ^ keys[0];
        x[2] = high0 ^ x[3] ^ keys[1];
        x[1] = low2;
        x[3] = low0;
        keys[0] += 0x9E3779B97F4A7C15;
        keys[1] += 0xBB67AE8584CAA73B;
    }
    return (uint32_t)x[position % 4];
}

/* Return the place of the token drawn among `size` to follow a row; `ids` are their tokens, NULL:
0, 1, 2 ... */
static int32_t draw(const Search *s, int32_t row, const float *logits, const int32_t *ids,
                    int32_t size) {
    const Sentence *sentence = s->sentences + row;
    uint64_t line = sentence->request->line, position = (uint64_t)sentence->length;
    uint32_t key = draw_key(s->options->seed, line, position);
    float highest = -INFINITY, enough = -INFINITY, temperature = (float)s->options->temperature;
    int32_t drawn = 0;
    for (int32_t i = 0; i < size; i++) {
        uint32_t x = key + (uint32_t)(ids ? ids[i] : i) * 0x9E3779B9u; /* Wellons' lowbias32 */
        x = (x ^ x >> 16) * 0x7FEB352Du;
        x = (x ^ x >> 15) * 0x846CA68Bu;
        x = (x ^ x >> 16) & 0x7FFFFFFF;
        /* The noise is -ln(-ln(1 - u)), u = (x + 1/2) / 2^31. That is less than -ln u, so a glance
        at the leading zeros of x, with a margin for rounding, saves most logarithms. */
        int zeros = x ? __builtin_clz(x) : 32;
        if (logits[i] + temperature * (0.6932f * (float)zeros) < enough) continue;
        float u = ((float)x + 0.5f) * (0x1p-31f * (1 - 0x1p-24f));
        float noise = -logf(-log1pf(-u)) * temperature, noisy = noise + logits[i];
        if (!(noisy > highest)) continue;
        drawn = i;
        highest = noisy;
        enough = noisy - 1e-6f * fabsf(noisy);
    }
    return drawn;
}

/* Return how many of the logits, in descending order, together have the probability top_p, at least
one. */
static int32_t count_nucleus(const float *logits, int32_t size, const SearchOptions *options) {
    float factor = (float)(1 / options->temperature), sum = log_sum_exp(logits, size, factor);
    double together = 0;
    int32_t count = 0;
    do together += exp(logits[count] * factor - sum);
    while (++count < size && together < options->top_p);
    return count;
}

void draw_from_best(Search *s) {
    const SearchOptions *options = s->options;
    for (int32_t r = 0; r < s->count; r++) {
        float *values = s->best.value + (int64_t)r * s->best.size;
        int32_t *ids = s->best.id + (int64_t)r * s->best.size, left = 0;
        for (int32_t c = 0; c < s->best.size && left < options->top_k; c++) {
            if (is_forbidden(s, r, ids[c])) continue;
            values[left] = values[c];
            ids[left++] = ids[c];
        }
        if (!left) values[left++] = -INFINITY;
        if (options->top_p < 1) left = count_nucleus(values, left, options);
        int32_t drawn = draw(s, r, values, ids, left);
        values[0] = values[drawn];
        ids[0] = ids[drawn];
    }
}

static void sift(const float *values, int32_t *heap, int32_t size, int32_t at) {
    int32_t id = heap[at];
    for (int64_t child; (child = 2 * (int64_t)at + 1) < size; at = (int32_t)child) {
        const float *v = values;
        int32_t left = heap[child], right = child + 1 < size ? heap[child + 1] : left;
        if (v[right] > v[left] || (v[right] == v[left] && right < left)) left = right, child++;
        if (v[id] > v[left] || (v[id] == v[left] && id < left)) break;
        heap[at] = left;
    }
    heap[at] = id;
}

/* Make a heap of the ids whose values are not below `least`; return their number. The first has the
largest value; of equal values the smaller id. */
static int32_t make_heap(const float *values, int32_t *heap, int32_t size, float least) {
    int32_t count = 0;
    for (int32_t i = 0; i < size; i++)
        if (!(values[i] < least)) heap[count++] = i;
    for (int32_t at = count / 2; at-- > 0;) sift(values, heap, count, at);
    return count;
}

/* Remove and return the first id of a heap. */
static int32_t pop_heap(const float *values, int32_t *heap, int32_t size) {
    int32_t first = heap[0];
    heap[0] = heap[size - 1];
    sift(values, heap, size - 1, 0);
    return first;
}

/* Write the logits that are left to choose from, in descending order, to `values`, and their tokens
to `ids`, which has memory for twice as many; return their number. All tokens together that have less
than (1 - top_p) / V are less probable than what top_p leaves out, so none of them is left. */
static int32_t leave(const float *logits, int32_t size, const SearchOptions *options, float *values,
                     int32_t *ids) {
    float factor = (float)(1 / options->temperature);
    bool is_cut = options->top_k && options->top_k < size;
    int32_t *heap = ids + size, count = 0;
    double together = 0, sum = is_cut ? INFINITY : log_sum_exp(logits, size, factor);
    double least = is_cut ? -INFINITY : (sum + log((1 - options->top_p) / size / 2)) / factor;
    int32_t there = make_heap(logits, heap, size, (float)least);
    int32_t most = is_cut ? options->top_k : there;
    do {
        ids[count] = pop_heap(logits, heap, there - count);
        values[count] = logits[ids[count]];
        together += exp(values[count] * factor - sum);
    } while (++count < most && together < options->top_p);
    return is_cut && options->top_p < 1 ? count_nucleus(values, count, options) : count;
}

int draw_from_logits(Search *s) {
    const SearchOptions *options = s->options;
    int32_t size = s->network->vocabulary;
    bool takes_all = options->top_p == 1 && (!options->top_k || options->top_k >= size);
    if (!GROW(s->ids, 2 * (int64_t)size) || !GROW(s->values, size))
        return GF_OUT_OF_MEMORY;
    for (int32_t r = 0; r < s->count; r++) {
        float *logits = s->logits + (int64_t)r * size;
        s->best.logsumexp[r] = log_sum_exp(logits, size, 1);
        for (int32_t id = 0; id < ID_EOS; id++) logits[id] = -INFINITY;
        for (int32_t i = 0; i < s->forbidden_counts[r]; i++)
            logits[s->forbidden[(int64_t)r * s->forbidden_stride + i]] = -INFINITY;
        int32_t left = takes_all ? size : leave(logits, size, options, s->values, s->ids);
        const int32_t *ids = takes_all ? NULL : s->ids;
        int32_t drawn = draw(s, r, ids ? s->values : logits, ids, left);
        s->best.id[r] = ids ? ids[drawn] : drawn;
        s->best.value[r] = logits[s->best.id[r]];
    }
    return GF_OK;
}
