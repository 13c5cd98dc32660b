/* Packs the weights of a Transformer; every size is checked before a pointer is made of it.

Heads are padded so that vectors divide them: head h begins at h K of a row, K being 8 or a multiple
of 16. Their numbers beyond the real width have weights of zero, so that they are exactly zero.
*/
#include "model.h"
#include "gemm_int8.h" /* request_tiles */
#include <stdlib.h>

#define WIDE (1 << 17)    /* upper bounds, as in config.py: a file may come from somebody else */
#define MANY 10000000
#define TIMESCALE 10000.0 /* of sinusoids (3.5) */
#define LONGEST_NAME 120

typedef struct Chunk { /* a piece of memory, which 64 bytes further begins to hold numbers */
    struct Chunk *next;
} Chunk;

typedef struct {
    Model *model;
    const Tensor *tensors;
    int32_t count;
    float *row;      /* the weights of one output, in the order of padded inputs */
    uint8_t *bytes;  /* the same, quantized */
    int64_t longest; /* numbers of `row` */
    int error;
    char *reason;
    int32_t size;
} Builder;

/* Write three texts one after another. Names in a model are short: LONGEST_NAME is enough. */
static char *join(char *to, const char *a, const char *b, const char *c) {
    return strcat(strcat(strcpy(to, a), b), c);
}

static void fail(Builder *build, int error, const char *name, const char *reason) {
    if (build->error) return;
    build->error = error;
    if (build->reason && build->size > LONGEST_NAME + (int32_t)strlen(reason))
        join(build->reason, name, *name ? ": " : "", reason);
}

/* Return zeroed memory for `count` numbers on a cache line, or NULL after an error. */
static void *allocate(Builder *build, int64_t count, int64_t size) {
    if (build->error) return NULL;
    uint64_t bytes = (uint64_t)count * (uint64_t)size + 192;
    Chunk *chunk = NULL;
    if (count >= 0 && count <= ((int64_t)1 << 40) && bytes <= SIZE_MAX / 2) chunk = calloc(1, (size_t)bytes);
    if (!chunk) {
        fail(build, GF_OUT_OF_MEMORY, "", "out of memory");
        return NULL;
    }
    chunk->next = build->model->memory;
    build->model->memory = chunk;
    return (void *)(((uintptr_t)(chunk + 1) + 63) / 64 * 64);
}

/* Return the tensor of that name after checking its shape; columns 0: a vector. */
static const Tensor *find(Builder *build, const char *name, int64_t rows, int64_t columns) {
    static const int64_t sizes[] = {4, 2, 2, 1};
    for (int32_t i = 0; i < build->count && !build->error; i++) {
        const Tensor *x = build->tensors + i;
        if (strcmp(x->name, name)) continue;
        int is_right = x->rank == (columns ? 2 : 1) && x->shape[0] == rows &&
                       (!columns || x->shape[1] == columns);
        if (!is_right) fail(build, GF_BAD_MODEL, name, "its shape contradicts the settings");
        else if (x->type < F32 || x->type > I8 || (x->type == I8 && !columns))
            fail(build, GF_BAD_MODEL, name, "numbers of an unknown type");
        else if (!x->data || x->bytes != rows * (columns ? columns : 1) * sizes[x->type])
            fail(build, GF_BAD_MODEL, name, "its bytes do not fit its shape");
        return build->error ? NULL : x;
    }
    fail(build, GF_BAD_MODEL, name, "missing");
    return NULL;
}

/* Return the scales of an int8 tensor; NULL if it has another type, or after an error. */
static const float *find_scales(Builder *build, const Tensor *x) {
    char name[LONGEST_NAME];
    if (!x || x->type != I8) return NULL;
    join(name, x->name, ".scale", "");
    const Tensor *scales = find(build, name, x->shape[0], 0);
    if (scales && (scales->type != F32 || (uintptr_t)scales->data % 4))
        fail(build, GF_BAD_MODEL, name, "its numbers must be aligned fp32");
    return build->error ? NULL : scales->data;
}

static float widen_half(uint16_t x) { /* fp16 has 5 bits of exponent, fp32 8 */
    float size = from_bits((x & 0x7fff) << 13) * 0x1p112f;
    if (size >= 65536) size = size > 65536 ? NAN : INFINITY;
    return x & 0x8000 ? -size : size;
}

/* Copy `count` numbers of a tensor from number `at` on, times `factor`, to `out`. */
static void widen_numbers(const Tensor *x, int64_t at, int64_t count, float factor, float *out) {
    const char *from = (const char *)x->data + at * (x->type == F32 ? 4 : x->type == I8 ? 1 : 2);
    if (x->type == F32) memcpy(out, from, (size_t)count * 4);
    for (int64_t i = 0; x->type == I8 && i < count; i++) out[i] = ((const int8_t *)from)[i];
    for (int64_t i = 0; (x->type == F16 || x->type == BF16) && i < count; i++) {
        uint16_t half;
        memcpy(&half, from + 2 * i, 2);
        out[i] = x->type == F16 ? widen_half(half) : widen(half);
    }
    for (int64_t i = 0; i < count; i++) out[i] *= factor;
}

/* Copy row r of a tensor, times `factor`, to `out`. If `to` is larger than `from`, numbers come in
groups of `from` that are padded to groups of `to`. */
static void read_row(const Tensor *x, const float *scales, int64_t r, float factor, int64_t from,
                     int64_t to, float *out) {
    int64_t columns = x->shape[x->rank - 1], first = x->rank == 2 ? r * columns : 0;
    if (scales) factor *= scales[r];
    for (int64_t i = 0; i < columns; i += from, out += to)
        widen_numbers(x, first + i, smaller(from, columns - i), factor, out);
}

/* One side of a linear map: so many real numbers, in groups of `from` that are padded to `to`, with
which they are `row`. */
typedef struct {
    int64_t count, from, to, row;
} Side;

static Side plain_side(int64_t count) { return (Side){count, MANY, MANY, count}; }

static void begin_linear(Builder *build, Linear *map, int parts, Side out, Side in, int32_t zero) {
    int is_int8 = build->model->settings.precision == INT8;
    map->inputs = (int32_t)round_up(in.row, is_int8 ? DEEP : PAD);
    map->outputs = (int32_t)round_up(parts * out.row, BLOCK);
    map->zero = zero;
    map->weight = allocate(build, (int64_t)map->inputs * map->outputs, is_int8 ? 1 : 4);
    map->bias = allocate(build, map->outputs, 4);
    if (!is_int8) return;
    map->scale = allocate(build, map->outputs, 4);
    map->offset = allocate(build, map->outputs, 4);
}

/* Pack the weights of output f. `known`: the scale of weights that are int8 already, or 0. `bytes`:
scratch for its inputs. */
static void pack_output(Linear *map, int64_t f, const float *row, float known, uint8_t *bytes,
                        int is_int8) {
    int64_t inputs = map->inputs, block = f / BLOCK * BLOCK * inputs, lane = f % BLOCK;
    if (!is_int8) {
        float *to = (float *)map->weight + block + lane;
        for (int64_t k = 0; k < inputs; k++) to[k * BLOCK] = row[k];
        return;
    }
    int8_t *to = (int8_t *)map->weight + block + lane * 4;
    float scale = known > TINY && !PAIRED ? known : find_scale(row, inputs);
    int32_t sum = 0;
    ((float *)map->scale)[f] = scale;
    if (scale != scale) return;
    for (int64_t k = 0; k < inputs; k += LANES)
        v_store_bytes(bytes + k, v_round(v_load(row + k) / v_set(scale)) + v_set(128));
    for (int64_t k = 0; k < inputs; k++) sum += bytes[k];
    for (int64_t k = 0; k < inputs; k += 4) {
        uint32_t four; /* each 128 too large */
        memcpy(&four, bytes + k, 4);
        four ^= 0x80808080;
        memcpy(to + k * BLOCK, &four, 4);
    }
    ((int32_t *)map->offset)[f] = -(map->zero - FLIP) * (sum - 128 * (int32_t)inputs);
}

/* Pack one part of a map, from output `at` on, padded as its sides say; times a factor. */
static void pack_part(Builder *build, Linear *map, int64_t at, const char *name, const char *bias,
                      Side out, Side in, float factor) {
    const Tensor *weights = find(build, name, out.count, in.count);
    const Tensor *biases = bias ? find(build, bias, out.count, 0) : NULL;
    const float *scales = find_scales(build, weights);
    if (build->error) return;
    memset(build->row, 0, (size_t)build->longest * 4);
    for (int64_t f = 0; f < out.count; f++) {
        read_row(weights, scales, f, factor, in.from, in.to, build->row);
        pack_output(map, at + f / out.from * out.to + f % out.from, build->row,
                    scales ? scales[f] * factor : 0, build->bytes,
                    build->model->settings.precision == INT8);
    }
    if (biases) read_row(biases, NULL, 0, factor, out.from, out.to, (float *)map->bias + at);
}

/* Make a map of parts with these names in a layer; the first is multiplied by a factor. */
static void read_map(Builder *build, Linear *map, const char *layer, const char *const *names,
                     int parts, Side out, Side in, int32_t zero, float factor) {
    begin_linear(build, map, parts, out, in, zero);
    for (int i = 0; i < parts; i++) {
        char weight[LONGEST_NAME], bias[LONGEST_NAME];
        strcat(join(weight, layer, ".", names[i]), ".weight");
        strcat(join(bias, layer, ".", names[i]), ".bias");
        pack_part(build, map, i * out.row, weight, bias, out, in, i ? 1 : factor);
    }
}

static Norm read_norm(Builder *build, const char *layer, const char *name) {
    int64_t width = build->model->settings.d_model;
    float *parts[2];
    for (int i = 0; i < 2; i++) {
        char full[LONGEST_NAME];
        join(full, layer, name, i ? ".bias" : ".weight");
        const Tensor *x = find(build, full, width, 0);
        parts[i] = allocate(build, build->model->d_model, 4);
        if (!build->error) read_row(x, NULL, 0, 1, width, width, parts[i]);
    }
    return (Norm){parts[0], parts[1]};
}

/* Read the maps and the norm of an SSRU; a candidate has no bias. */
static void read_ssru(Builder *build, Layer *layer, const char *name) {
    int64_t d = build->model->settings.d_model;
    Side out = {d, MANY, MANY, build->model->d_model}, in = plain_side(d);
    char forget[LONGEST_NAME], bias[LONGEST_NAME], candidate[LONGEST_NAME];
    begin_linear(build, &layer->forget_candidate, 2, out, in, 128);
    pack_part(build, &layer->forget_candidate, 0, join(forget, name, ".ssru.to_forget", ".weight"),
              join(bias, name, ".ssru.to_forget", ".bias"), out, in, 1);
    pack_part(build, &layer->forget_candidate, out.row,
              join(candidate, name, ".ssru.to_candidate", ".weight"), NULL, out, in, 1);
    layer->self_norm = read_norm(build, name, ".ssru_residual.norm");
}

static void read_layer(Builder *build, Layer *layer, const char *side, int32_t number,
                       int is_decoder) {
    static const char *const names[] = {
        "self_attention.to_query", "self_attention.to_key", "self_attention.to_value",
        "self_attention.to_output", "cross_attention.to_query", "cross_attention.to_key",
        "cross_attention.to_value", "cross_attention.to_output", "feed_forward.inner",
        "feed_forward.outer"};
    const ModelSettings *settings = &build->model->settings;
    Side model = plain_side(settings->d_model), inner = plain_side(settings->d_ff);
    Side heads = {(int64_t)settings->heads * settings->head_width, settings->head_width,
                  build->model->heads.width, build->model->heads.row};
    float root = (float)(1 / sqrt(settings->head_width)); /* 1/√d_k */
    int32_t zero = settings->activation == RELU ? 0 : 128;
    char name[40], digits[] = {(char)('0' + number / 100), (char)('0' + number / 10 % 10),
                               (char)('0' + number % 10), 0};
    join(name, side, ".", digits + (number < 100) + (number < 10));
    if (is_decoder && settings->decoder == SSRU) read_ssru(build, layer, name);
    else {
        read_map(build, &layer->query_key_value, name, names, 3, heads, model, 128, root);
        read_map(build, &layer->output, name, names + 3, 1, model, heads, 128, 1);
        layer->self_norm = read_norm(build, name, ".self_attention_residual.norm");
    }
    read_map(build, &layer->inner, name, names + 8, 1, inner, model, 128, 1);
    read_map(build, &layer->outer, name, names + 9, 1, model, inner, zero, 1);
    layer->norm = read_norm(build, name, ".feed_forward_residual.norm");
    if (!is_decoder) return;
    read_map(build, &layer->query, name, names + 4, 1, heads, model, 128, root);
    read_map(build, &layer->keys_values, name, names + 5, 2, heads, model, 128, 1);
    read_map(build, &layer->cross_output, name, names + 7, 1, model, heads, 128, 1);
    layer->cross_norm = read_norm(build, name, ".cross_attention_residual.norm");
}

/* Return V D embeddings times the square root of d_model; NULL if the packed weights of the last map
are the same numbers: in int8, if the model has them in int8 already. */
static const void *read_embedding(Builder *build, const char *name, int64_t vocabulary,
                                  int is_tied) {
    const ModelSettings *settings = &build->model->settings;
    int64_t width = build->model->d_model;
    int is_int8 = settings->precision == INT8;
    const Tensor *table = find(build, name, vocabulary, settings->d_model);
    const float *scales = find_scales(build, table);
    if (is_tied && is_int8 && scales && !PAIRED) return NULL;
    void *all = allocate(build, vocabulary * width, is_int8 ? 2 : 4);
    if (build->error) return NULL;
    memset(build->row, 0, (size_t)build->longest * 4);
    for (int64_t v = 0; v < vocabulary; v++) {
        read_row(table, scales, v, sqrtf((float)settings->d_model), MANY, MANY, build->row);
        for (int64_t i = 0; i < width; i += LANES)
            store_numbers(all, v * width + i, v_load(build->row + i), is_int8);
    }
    return all;
}

void make_position(const Model *model, int64_t position, float *to) {
    const ModelSettings *settings = &model->settings;
    int64_t half = settings->d_model / 2;
    double steps = settings->grid ? (double)larger(half - 1, 1) : (double)settings->d_model / 2;
    for (int64_t i = 0; i < half; i++) {
        double angle = (double)(position + settings->offset) * exp(-log(TIMESCALE) * (double)i / steps);
        int64_t sine = settings->positions == INTERLEAVED ? 2 * i : i;
        int64_t cosine = settings->positions == INTERLEAVED ? 2 * i + 1 : half + i;
        to[sine] = (float)(sin(angle) * settings->amplitude);
        to[cosine] = (float)(cos(angle) * settings->amplitude);
    }
}

/* Return the vectors of all positions if they are learned, else of the first ones, L D. */
static const float *make_positions(Builder *build, const char *name) {
    const Model *model = build->model;
    int64_t width = model->d_model, count = count_positions(model);
    float *all = allocate(build, count * width, 4);
    if (model->settings.positions == LEARNED) {
        const Tensor *x = find(build, name, count, model->settings.d_model);
        const float *scales = find_scales(build, x);
        for (int64_t l = 0; l < count && !build->error; l++)
            read_row(x, scales, l, 1, MANY, MANY, all + l * width);
        return all;
    }
    for (int64_t l = 0; l < count && !build->error; l++) make_position(model, l, all + l * width);
    return all;
}

static void read_stack(Builder *build, Stack *stack, int is_decoder) {
    const ModelSettings *settings = &build->model->settings;
    const char *side = is_decoder ? "decoder" : "encoder";
    const char *last = is_decoder ? "decoder_norm" : "encoder_norm";
    int takes_target = is_decoder && settings->tie != THREE_WAY;
    stack->layers = is_decoder ? settings->decoder_layers : settings->encoder_layers;
    stack->vocabulary = is_decoder ? settings->target_vocabulary : settings->source_vocabulary;
    stack->layer = allocate(build, stack->layers, sizeof(Layer));
    for (int32_t l = 0; l < stack->layers && !build->error; l++)
        read_layer(build, stack->layer + l, side, l, is_decoder);
    if (settings->is_pre_norm) stack->last_norm = read_norm(build, "", last);
    if (is_decoder && !takes_target) stack->embedding = build->model->encoder.embedding;
    else
        stack->embedding = read_embedding(build, takes_target ? "target_embedding.table.weight"
                                                              : "source_embedding.table.weight",
                                          stack->vocabulary,
                                          settings->tie == (is_decoder ? TWO_WAY : THREE_WAY));
    if (is_decoder && settings->positions != LEARNED)
        stack->positions = build->model->encoder.positions;
    else
        stack->positions = make_positions(build, is_decoder ? "target_embedding.positions_LD"
                                                            : "source_embedding.positions_LD");
}

static int is_between(int64_t x, int64_t least, int64_t most) { return x >= least && x <= most; }

static int are_settings_right(const ModelSettings *s) {
    int64_t all = (int64_t)s->heads * s->head_width;
    return is_between(s->precision, FP32, INT8) && is_between(s->d_model, 1, WIDE) &&
           is_between(s->d_ff, 1, MANY) && is_between(s->heads, 1, WIDE) &&
           is_between(s->head_width, 1, WIDE) && is_between(all, 1, MANY) &&
           is_between(s->encoder_layers, 1, 1000) && is_between(s->decoder_layers, 1, 1000) &&
           is_between(s->activation, RELU, GELU) && is_between(s->tie, THREE_WAY, UNTIED) &&
           is_between(s->decoder, ATTENTION, SSRU) &&
           is_between(s->positions, INTERLEAVED, LEARNED) && is_between(s->offset, 0, MANY) &&
           (s->positions == LEARNED || s->d_model % 2 == 0) &&
           is_between(s->max_positions, 1, WIDE) && is_between(s->source_vocabulary, 1, MANY) &&
           is_between(s->target_vocabulary, 1, MANY) && s->norm_epsilon > 0 &&
           isfinite(s->amplitude) &&
           (s->tie != THREE_WAY || s->source_vocabulary == s->target_vocabulary);
}

static void build_model(Builder *build) {
    Model *model = build->model;
    const ModelSettings *settings = &model->settings;
    int64_t width = settings->head_width <= 8 ? 8 : round_up(settings->head_width, PAD);
    model->heads = (Heads){settings->heads, (int32_t)width,
                           (int32_t)round_up(settings->heads * width, PAD),
                           settings->precision == INT8};
    model->d_model = (int32_t)round_up(settings->d_model, PAD);
    model->d_ff = (int32_t)round_up(settings->d_ff, PAD);
    build->longest = round_up(larger(larger(model->d_model, model->d_ff), model->heads.row), DEEP);
    build->row = allocate(build, build->longest, 4);
    build->bytes = allocate(build, build->longest, 1);
    read_stack(build, &model->encoder, 0);
    read_stack(build, &model->decoder, 1);
    static const char *const tables[] = {"source_embedding.table.weight",
                                         "target_embedding.table.weight", "output_table.weight"};
    Side model_side = plain_side(settings->d_model), all = plain_side(settings->target_vocabulary);
    begin_linear(build, &model->project, 1, all, model_side, 128);
    pack_part(build, &model->project, 0, tables[settings->tie],
              settings->output_bias ? "output_bias" : NULL, all, model_side, 1);
}

int model_open(const ModelSettings *settings, const Tensor *tensors, int32_t count, Model **model,
               char *reason, int32_t size) {
    *model = calloc(1, sizeof **model);
    if (!*model) return GF_OUT_OF_MEMORY;
    Builder build = {.model = *model, .tensors = tensors, .count = count, .reason = reason, .size = size};
    (*model)->settings = *settings;
    if (!are_settings_right(settings)) fail(&build, GF_BAD_MODEL, "", "a setting is out of its bounds");
#ifdef TILED
    else if (!request_tiles()) fail(&build, GF_NO_TILES, "", "the system grants no AMX tiles");
#endif
    else build_model(&build);
    if (build.error) model_close(*model), *model = NULL;
    return build.error;
}

int model_list_outputs(Model *model) {
    const Linear *map = &model->project;
    int64_t inputs = map->inputs;
    if (model->settings.precision != INT8) return GF_BAD_MODEL;
    Builder build = {.model = model};
    int8_t *all = model->outputs ? NULL : allocate(&build, map->outputs * inputs, 1);
    if (!all) return build.error;
    for (int64_t f = 0; f < map->outputs; f++) {
        const int8_t *from = (const int8_t *)map->weight + f / BLOCK * BLOCK * inputs + f % BLOCK * 4;
        for (int64_t k = 0; k < inputs; k += 4) memcpy(all + f * inputs + k, from + k * BLOCK, 4);
    }
    model->outputs = all;
    return GF_OK;
}

void model_close(Model *model) {
    if (!model) return;
    for (Chunk *chunk = model->memory, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(model);
}
