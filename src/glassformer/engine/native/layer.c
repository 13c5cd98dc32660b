/* The layers of encoder and decoder: see layer.h.

Between two linear maps, rows are prepared for the next one: in int8 they are quantized, one row after
the other while it is in the cache. The result of a row does not depend on other rows.
*/
#include "layer.h"
#include "gemm_fp32.h"
#include "gemm_int8.h"
#include "topk.h"
#include <stdlib.h>

#define GAP 16              /* floats between rows: rows a power of two apart share cache lines */
#define IN_CACHE (1 << 17)  /* logits that stay in a core's cache beside weights */

static int is_int8(const Work *work) { return work->model->settings.precision == INT8; }

/* Return the logits of a row to compute at a time, so that those of all rows stay in the cache. */
static int64_t count_logits(int64_t rows) {
    return larger(IN_CACHE / larger(rows, 1) / TOGETHER, 1) * TOGETHER;
}

/* Return where the next array of so many bytes begins, on a cache line; `at` moves behind it. */
static void *place(int64_t *at, int64_t bytes) {
    int64_t here = round_up(*at, 64);
    *at = here + bytes;
    return (void *)(uintptr_t)here;
}

/* Place all arrays from `at` on; return where they end. */
static int64_t place_arrays(Work *work, int64_t at) {
    const Model *model = work->model;
    int64_t d = model->d_model, e = model->heads.row, f = model->d_ff, rows = work->rows, most = 0;
    work->y_stride = round_up(larger(larger(3 * e, 2 * d), f), 32) + GAP;
    work->z_stride = larger(d, e);
    work->byte_stride = round_up(larger(larger(d, e), f), DEEP) + 64;
    for (int64_t n = 1; n <= rows; n *= 2) /* the most logits that any number of rows needs */
        most = larger(most, smaller(2 * n, rows) * (count_logits(n) + GAP));
    work->x = place(&at, rows * d * 4);
    work->y = place(&at, rows * work->y_stride * 4);
    work->z = place(&at, rows * work->z_stride * 4);
    work->normed = place(&at, (is_int8(work) ? 1 : rows) * d * 4);
    work->scale = place(&at, rows * 4);
    work->slots = place(&at, work->positions * (int64_t)sizeof(char *));
    work->scratch = place(&at, count_scores(&model->heads, work->positions) * 4);
    work->logits = place(&at, most * 4);
    work->bytes = place(&at, is_int8(work) ? rows * work->byte_stride : 0);
    return at + 64;
}

int work_reserve(Work *work, int64_t rows, int64_t positions) {
    if (work->memory && rows <= work->rows && positions <= work->positions) return GF_OK;
    work->rows = round_up(larger(rows, work->rows), 32); /* AMX reads 32 rows at once */
    work->positions = round_up(larger(positions, work->positions), 64);
    free(work->memory);
    int64_t size = place_arrays(work, 0);
    work->memory = (uint64_t)size > SIZE_MAX / 2 ? NULL : malloc((size_t)size);
    if (!work->memory) work->rows = work->positions = 0;
    else place_arrays(work, (int64_t)(uintptr_t)work->memory);
    return work->memory ? GF_OK : GF_OUT_OF_MEMORY;
}

/* Apply a linear map to the rows prepared last: those of `x` in fp32, the quantized ones in int8. */
static void apply(const Work *work, const Linear *map, const float *x, int64_t stride, int relu,
                  float *y, int64_t y_stride) {
    Rows rows = {x, work->bytes, work->scale, is_int8(work) ? work->byte_stride : stride};
    if (is_int8(work)) gemm_int8(map, &rows, work->n, relu, y, y_stride);
    else gemm_fp32(map, &rows, work->n, relu, y, y_stride);
}

/* Quantize one row for a linear map of so many inputs; in fp32 it is read as it is. */
static void prepare(const Work *work, int64_t n, const float *x, int64_t size, int32_t zero) {
    if (is_int8(work))
        work->scale[n] = quantize_row(x, size, round_up(size, DEEP), zero,
                                      work->bytes + n * work->byte_stride);
}

/* LayerNorm of `real` numbers, padded to `size`; the padding of `out` is zero. */
static void normalize(const float *x, int64_t real, int64_t size, Norm norm, float epsilon, float *out) {
    Vec sum = v_set(0), squares = v_set(0);
    for (int64_t i = 0; i < size; i += LANES) sum = sum + v_load(x + i);
    Vec mean = v_set(v_sum(sum) / (float)real);
    for (int64_t i = 0; i < size; i += LANES) {
        Vec apart = v_load(x + i) - mean;
        if (i + LANES > real) apart = v_first(apart, larger(real - i, 0));
        squares = squares + apart * apart;
    }
    Vec scale = v_set(1 / sqrtf(v_sum(squares) / (float)real + epsilon));
    for (int64_t i = 0; i < size; i += LANES) {
        Vec normed = (v_load(x + i) - mean) * scale;
        v_store(out + i, normed * v_load(norm.gain + i) + v_load(norm.bias + i));
    }
}

/* Apply the residual connection: add the output of a sub-layer to x; prepare x for the next one.
y: the output, or NULL before the first sub-layer. own: the norm of this sub-layer; next: that of the
one that follows. Returns the rows that the next linear map reads in fp32. */
static const float *add_residual(const Work *work, const float *y, int64_t stride, Norm own, Norm next) {
    const Model *model = work->model;
    int64_t size = model->d_model, real = model->settings.d_model;
    int is_pre = model->settings.is_pre_norm, norms = is_pre && next.gain;
    float epsilon = (float)model->settings.norm_epsilon;
    for (int64_t n = 0; n < work->n; n++) {
        float *x = work->x + n * size;
        if (y) {
            for (int64_t i = 0; i < size; i += LANES)
                v_store(x + i, v_load(x + i) + v_load(y + n * stride + i));
            if (!is_pre) normalize(x, real, size, own, epsilon, x);
        }
        float *normed = work->normed + (is_int8(work) ? 0 : n * size);
        if (norms) normalize(x, real, size, next, epsilon, normed);
        prepare(work, n, norms ? normed : x, size, 128);
    }
    return norms ? work->normed : work->x;
}

INLINE Vec activate(Vec x, int activation) {
    if (activation == SILU) return x / (v_set(1) + v_exp(v_set(0) - x));
    /* GELU, by the error function within 2e-7 (Abramowitz and Stegun 1964, 7.1.26) */
    Vec size = v_abs(x * v_set(0.707106781f)), t = v_set(1) / (v_set(1) + v_set(0.3275911f) * size);
    Vec sum = v_set(1.061405429f) * t - v_set(1.453152027f);
    sum = (sum * t + v_set(1.421413741f)) * t - v_set(0.284496736f);
    sum = (sum * t + v_set(0.254829592f)) * t * v_exp(v_set(0) - size * size); /* 1 - erf(size) */
    return v_max(x, v_set(0)) - v_set(0.5f) * v_abs(x) * sum;
}

/* Compute the feed-forward network of layer l; return the rows that the next layer reads. */
static const float *feed_forward(const Work *work, const Stack *stack, int32_t l, const float *x) {
    const Model *model = work->model;
    const Layer *layer = stack->layer + l;
    int activation = model->settings.activation, relu = activation == RELU;
    int64_t stride = work->y_stride, size = model->d_ff;
    apply(work, &layer->inner, x, model->d_model, relu, work->y, stride);
    for (int64_t n = 0; n < work->n; n++) {
        float *y = work->y + n * stride;
        for (int64_t i = 0; !relu && i < size; i += LANES)
            v_store(y + i, activate(v_load(y + i), activation));
        prepare(work, n, y, size, layer->outer.zero);
    }
    apply(work, &layer->outer, work->y, stride, 0, work->z, work->z_stride);
    Norm next = l + 1 < stack->layers ? layer[1].self_norm : stack->last_norm;
    return add_residual(work, work->z, work->z_stride, layer->norm, next);
}

/* Apply the last map of an attention to its context z; return the rows that the next map reads. */
static const float *output(const Work *work, const Linear *map, Norm own, Norm next) {
    for (int64_t n = 0; n < work->n; n++)
        prepare(work, n, work->z + n * work->z_stride, work->model->heads.row, 128);
    apply(work, map, work->z, work->z_stride, 0, work->y, work->y_stride);
    return add_residual(work, work->y, work->y_stride, own, next);
}

/* Add the embedding of a token, as the weights of an int8 map have it, to the vector of a position. */
static void add_packed(const Linear *map, int32_t token, float root, int64_t size, const float *at,
                       float *x) {
    const int8_t *from = (const int8_t *)map->weight + token / BLOCK * BLOCK * (int64_t)map->inputs;
    float factor = map->scale[token] * root;
    from += token % BLOCK * 4;
    for (int64_t i = 0; i < size; i += 4)
        for (int64_t j = 0; j < 4; j++)
            x[i + j] = (float)from[i * BLOCK + j] * factor + at[i + j];
}

static void embed(const Work *work, const Stack *stack, int64_t n, int32_t token, int32_t position) {
    int64_t size = work->model->d_model;
    const char *all = stack->embedding;
    float *x = work->x + n * size;
    const float *at = x;
    if (position < count_positions(work->model)) at = stack->positions + position * size;
    else memset(x, 0, (size_t)size * 4), make_position(work->model, position, x);
    if (!all) {
        float root = sqrtf((float)work->model->settings.d_model);
        add_packed(&work->model->project, token, root, size, at, x);
        return;
    }
    const char *row = all + token * size * (is_int8(work) ? 2 : 4);
    for (int64_t i = 0; i < size; i += LANES)
        v_store(x + i, load_numbers(row, i, is_int8(work)) + v_load(at + i));
}

void encode(Work *work, int32_t count, const Text *texts, char *self, Source *sources) {
    const Model *model = work->model;
    const Stack *stack = &model->encoder;
    const Heads *heads = &model->heads;
    int64_t stride = work->y_stride;
    uint32_t *packed = (uint32_t *)work->scratch;
    work->n = 0;
    for (int32_t b = 0; b < count; b++)
        for (int32_t i = 0; i < texts[b].size; i++) embed(work, stack, work->n++, texts[b].ids[i], i);
    const float *in = add_residual(work, NULL, 0, (Norm){0}, stack->layer[0].self_norm);
    for (int32_t l = 0; l < stack->layers; l++) {
        const Layer *layer = stack->layer + l;
        apply(work, &layer->query_key_value, in, model->d_model, 0, work->y, stride);
        float *y = work->y, *z = work->z;
        for (int32_t b = 0; b < count; b++) {
            int64_t length = texts[b].size;
            write_source(heads, y + heads->row, stride, length, packed, self);
            attend_source(heads, y, stride, length, self, length, &(Watched){0}, l, work->scratch,
                          z, work->z_stride);
            y += length * stride, z += length * work->z_stride;
        }
        in = output(work, &layer->output, layer->self_norm, layer->norm);
        in = feed_forward(work, stack, l, in);
    }
    for (int32_t l = 0; l < model->decoder.layers; l++) {
        apply(work, &model->decoder.layer[l].keys_values, in, model->d_model, 0, work->y, stride);
        const float *y = work->y;
        for (int32_t b = 0; b < count; y += texts[b++].size * stride)
            write_source(heads, y, stride, texts[b].size, packed,
                         sources[b].block + l * sources[b].layer_size);
    }
}

/* Compute self-attention of all queries over the slots of their rows. */
static void attend_to_rows(const Work *work, const Cache *cache, const Query *queries, int32_t l) {
    const Heads *heads = &work->model->heads;
    for (int64_t n = 0; n < work->n; n++)
        write_slot(heads, work->y + n * work->y_stride + heads->row,
                   cache_slot(cache, queries[n].slot, l));
    for (int64_t n = 0; n < work->n; n++) {
        const int32_t *list = cache->list + queries[n].row * cache->stride;
        int64_t count = (int64_t)queries[n].position + 1;
        for (int64_t t = 0; t < count; t++) work->slots[t] = cache_slot(cache, list[t], l);
        attend_slots(heads, work->y + n * work->y_stride, work->slots, count, work->scratch,
                     work->z + n * work->z_stride);
    }
}

/* Compute the SSRUs of all queries of layer l: y has what decides on forgetting, then candidates. The
queries of a row ascend, so that each finds the cell of the one before in its slot. Returns the rows
that the next map reads. */
static const float *recur(const Work *work, const Cache *cache, const Query *queries, int32_t l) {
    const Layer *layer = work->model->decoder.layer + l;
    int64_t size = work->model->d_model;
    for (int64_t n = 0; n < work->n; n++) {
        const int32_t *list = cache->list + queries[n].row * cache->stride;
        const float *y = work->y + n * work->y_stride, *before = NULL;
        float *cell = (float *)cache_slot(cache, queries[n].slot, l), *z = work->z + n * work->z_stride;
        if (queries[n].position) before = (float *)cache_slot(cache, list[queries[n].position - 1], l);
        for (int64_t i = 0; i < size; i += LANES) {
            Vec taken = v_load(y + size + i), old = before ? v_load(before + i) : v_set(0);
            Vec forget = v_set(1) / (v_set(1) + v_exp(v_set(0) - v_load(y + i)));
            Vec new = forget * (old - taken) + taken;
            v_store(cell + i, new);
            v_store(z + i, v_max(new, v_set(0)));
        }
    }
    return add_residual(work, work->z, work->z_stride, layer->self_norm, layer->cross_norm);
}

/* Compute cross-attention; the queries of a sentence are neighbours and share its source. */
static void attend_to_sources(const Work *work, const Cache *cache, const Query *queries, int32_t l,
                              const Watched *watched) {
    int64_t last;
    for (int64_t n = 0; n < work->n; n = last) {
        int32_t sentence = queries[n].row / cache->beams;
        for (last = n + 1; last < work->n && queries[last].row / cache->beams == sentence;) last++;
        const Source *source = cache->source + sentence, *next = source + 1;
        if (last < work->n)
            for (int64_t i = 0; i < next->layer_size; i += 64)
                __builtin_prefetch(next->block + l * next->layer_size + i, 0, 2);
        Watched part = *watched;
        if (part.count) part.weights += n * part.stride;
        attend_source(&work->model->heads, work->y + n * work->y_stride, work->y_stride, last - n,
                      source->block + l * source->layer_size, source->length, &part, l,
                      work->scratch, work->z + n * work->z_stride, work->z_stride);
    }
}

void decode(Work *work, const Cache *cache, const Query *queries, const Watched *watched) {
    const Model *model = work->model;
    const Stack *stack = &model->decoder;
    int64_t stride = work->y_stride;
    for (int64_t n = 0; n < work->n; n++)
        embed(work, stack, n, queries[n].token, queries[n].position);
    const float *in = add_residual(work, NULL, 0, (Norm){0}, stack->layer[0].self_norm);
    for (int32_t l = 0; l < stack->layers; l++) {
        const Layer *layer = stack->layer + l;
        int is_ssru = model->settings.decoder == SSRU;
        apply(work, is_ssru ? &layer->forget_candidate : &layer->query_key_value, in, model->d_model, 0,
              work->y, stride);
        if (is_ssru) in = recur(work, cache, queries, l);
        else {
            attend_to_rows(work, cache, queries, l);
            in = output(work, &layer->output, layer->self_norm, layer->cross_norm);
        }
        apply(work, &layer->query, in, model->d_model, 0, work->y, stride);
        attend_to_sources(work, cache, queries, l, watched);
        in = output(work, &layer->cross_output, layer->cross_norm, layer->norm);
        in = feed_forward(work, stack, l, in);
    }
}

void project_logits(Work *work, float *logits, const Best *best) {
    const Model *model = work->model;
    const Linear *project = &model->project;
    int64_t width = count_logits(work->n), stride = width + GAP, d = model->d_model;
    int64_t vocabulary = model->settings.target_vocabulary;
    const float *in = model->decoder.last_norm.gain ? work->normed : work->x;
    Running *running = (Running *)work->z; /* z is not needed any more */
    for (int64_t n = 0; !logits && n < work->n; n++) running[n] = begin_row(best, n);
    for (int64_t v = 0; v < vocabulary; v += width) {
        Linear part = take_outputs(project, v, width, is_int8(work));
        int64_t end = smaller(v + width, vocabulary);
        apply(work, &part, in, d, 0, work->logits, stride);
        for (int64_t n = 0; n < work->n; n++) {
            float *x = work->logits + n * stride;
            if (logits) memcpy(logits + n * vocabulary + v, x, (size_t)(end - v) * 4);
            int64_t wanted = !logits && best->wanted ? best->wanted[n] : -1;
            if (wanted >= v && wanted < end) best->wanted_logit[n] = x[wanted - v];
            for (int64_t w = v; !logits && w < end; w += TOGETHER, x += TOGETHER)
                process_logits(best, n, x, (int32_t)w, (int32_t)smaller(w + TOGETHER, end),
                               running + n);
        }
    }
    for (int64_t n = 0; !logits && n < work->n; n++) end_row(best, n, running[n]);
}

void project_candidates(Work *work, const Cache *cache, const Query *queries, const Best *best) {
    int64_t last, stride = TOGETHER + GAP;
    Running *running = (Running *)work->z;
    for (int64_t n = 0; n < work->n; n = last) { /* the queries of a sentence are neighbours */
        int32_t sentence = queries[n].row / cache->beams;
        const Source *source = cache->source + sentence;
        Rows rows = {NULL, work->bytes + n * work->byte_stride, work->scale + n, work->byte_stride};
        for (last = n; last < work->n && queries[last].row / cache->beams == sentence; last++)
            running[last] = begin_row(best, last);
        for (int32_t from = 0; from < source->count; from += TOGETHER) {
            int32_t end = (int32_t)smaller(from + TOGETHER, source->count);
            predict_candidates(work->model, source, from, end, &rows, last - n, work->logits, stride);
            for (int64_t r = n; r < last; r++)
                process_logits(best, r, work->logits + (r - n) * stride, from, end, running + r);
        }
        for (int64_t r = n; r < last; r++) end_row(best, r, running[r]);
        for (int64_t c = n * best->size; c < last * best->size; c++) /* so far, which candidate */
            if (best->value[c] > -INFINITY) best->id[c] = source->candidates[best->id[c]];
    }
}
