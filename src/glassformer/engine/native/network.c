/* The Transformer as a `Network` of a search: see network.h. */
#include "layer.h"
#include "scratch.h"

#define CHUNK 256 /* source tokens encoded at once: their activations stay in a core's cache */

typedef struct {
    const Model *model;
    Cache cache;
    Work work;
    Query *queries;        /* those of a step, and their tokens */
    int32_t *tokens;
    char *self;            /* the keys and values of a source in one encoder layer */
    int32_t watched;       /* heads whose weights are remembered: see `watch` */
    const int32_t *heads;
    float *weights;        /* watched, R Q, S */
    int32_t weight_rows, weight_stride;
} Transformer;

static int check_sources(const Transformer *self, int32_t count, const int32_t *tokens,
                         const int32_t *start, int32_t beams) {
    const ModelSettings *settings = &self->model->settings;
    if (count < 0 || beams < 1 || start[0] != 0) return GF_BAD_REQUEST;
    if (self->cache.sentences && beams != self->cache.beams) return GF_BAD_REQUEST;
    if ((int64_t)count * beams > INT32_MAX / 4 - self->cache.rows) return GF_BAD_REQUEST;
    for (int32_t b = 0; b < count; b++) {
        if (start[b + 1] <= start[b]) return GF_BAD_REQUEST;
        if (start[b + 1] - start[b] > settings->max_positions) return GF_TOO_LONG;
    }
    for (int32_t n = 0; count && n < start[count]; n++)
        if (tokens[n] < 0 || tokens[n] >= settings->source_vocabulary) return GF_TOKEN_OUT_OF_RANGE;
    return GF_OK;
}

/* Return the end of the sources from `first` on that are encoded together. */
static int32_t find_chunk(const int32_t *start, int32_t first, int32_t count) {
    int32_t last = first + 1;
    while (last < count && start[last + 1] - start[first] <= CHUNK) last++;
    return last;
}

static int network_admit(void *network, int32_t count, const int32_t *tokens, const int32_t *start,
                         int32_t beams) {
    Transformer *self = network;
    const Heads *heads = &self->model->heads;
    int error = check_sources(self, count, tokens, start, beams);
    if (error || !count) return error;
    self->cache.beams = beams;
    for (int32_t b = 0, last; b < count; b = last) {
        int32_t longest = 0, there = self->cache.sentences;
        last = find_chunk(start, b, count);
        for (int32_t i = b; i < last; i++) {
            int32_t length = start[i + 1] - start[i];
            longest = length > longest ? length : longest;
            if (cache_append(&self->cache, length, size_source(heads, length)))
                return GF_OUT_OF_MEMORY;
        }
        if (!GROW(self->self, size_source(heads, longest)) ||
            work_reserve(&self->work, start[last] - start[b], longest))
            return GF_OUT_OF_MEMORY;
        encode(&self->work, tokens, start + b, last - b, self->self, self->cache.source + there);
    }
    return GF_OK;
}

/* Return the row that row r repeats: hypotheses of a sentence begin alike, and are computed once. */
static int32_t find_twin(const Cache *cache, int32_t r, const int32_t *tokens) {
    int32_t first = r - r % cache->beams;
    int is_alike = !cache->length[r] && !cache->length[first] && tokens[r] == tokens[first];
    return is_alike ? first : r;
}

static int check_step(const Transformer *self, int32_t rows, int32_t queries, const int32_t *tokens,
                      const float *logits, const Best *best) {
    const Cache *cache = &self->cache;
    int32_t vocabulary = self->model->settings.target_vocabulary;
    if (rows != cache->rows || !rows || queries < 1 || (!logits && (!best || queries != 1)))
        return GF_BAD_REQUEST;
    if (!logits && (best->first < 0 || best->first > vocabulary || best->size < 0 ||
                    best->size > vocabulary - best->first))
        return GF_BAD_REQUEST;
    int32_t most = self->model->settings.max_positions - queries;
    for (int32_t r = 0; r < rows; r++)
        if (cache->length[r] > most) return GF_TOO_LONG;
    for (int64_t n = 0; n < (int64_t)rows * queries; n++)
        if (tokens[n] < 0 || tokens[n] >= vocabulary) return GF_TOKEN_OUT_OF_RANGE;
    return GF_OK;
}

/* Prepare memory for a step. */
static int reserve_step(Transformer *self, int64_t queries) {
    Cache *cache = &self->cache;
    int64_t all = cache->rows * queries;
    int32_t longest = 0, widest = 0;
    for (int32_t r = 0; r < cache->rows; r++)
        longest = cache->length[r] > longest ? cache->length[r] : longest;
    for (int32_t b = 0; b < cache->sentences; b++)
        widest = cache->source[b].length > widest ? cache->source[b].length : widest;
    longest += (int32_t)queries;
    int64_t weights = self->watched * all * widest;
    self->weight_rows = 0;
    if (cache_reserve(cache, all, longest) || !GROW(self->tokens, all) ||
        !GROW(self->queries, all) || !GROW(self->weights, weights) ||
        work_reserve(&self->work, all, larger(longest, widest)))
        return GF_OUT_OF_MEMORY;
    if (!self->watched) return GF_OK;
    self->weight_rows = (int32_t)all;
    self->weight_stride = widest;
    memset(self->weights, 0, (size_t)weights * sizeof *self->weights);
    return GF_OK;
}

/* Copy the results of row `from` to row `to`. */
static void copy_best(const Best *best, int64_t from, int64_t to) {
    size_t bytes = (size_t)best->size * 4;
    memcpy(best->value + to * best->size, best->value + from * best->size, bytes);
    memcpy(best->id + to * best->size, best->id + from * best->size, bytes);
    best->logsumexp[to] = best->logsumexp[from];
}

static int network_step(void *network, int32_t rows, int32_t queries, const int32_t *tokens,
                        float *logits, const Best *best) {
    Transformer *self = network;
    Cache *cache = &self->cache;
    int error = check_step(self, rows, queries, tokens, logits, best);
    if (!error) error = reserve_step(self, queries);
    if (error) return error;
    int shares = !logits && !self->weight_rows;
    int64_t n = 0;
    for (int32_t r = 0; r < rows; r++) {
        int32_t twin = shares ? find_twin(cache, r, tokens) : r;
        if (twin != r) {
            cache_share(cache, r, twin, 0);
            continue;
        }
        for (int32_t q = 0; q < queries; q++, n++) {
            int32_t position = cache->length[r] + q;
            self->queries[n] = (Query){r, position, cache_take(cache, r, position)};
            self->tokens[n] = tokens[(int64_t)r * queries + q];
        }
    }
    self->work.n = n;
    Kept kept = {self->weight_rows ? self->weights : NULL, self->weight_stride,
                 (int64_t)self->weight_rows * self->weight_stride, self->heads, self->watched, 0};
    decode(&self->work, cache, self->queries, self->tokens, &kept);
    project_logits(&self->work, self->queries, logits, best);
    for (int32_t r = 0; shares && r < rows; r++) {
        int32_t twin = find_twin(cache, r, tokens);
        if (twin != r) copy_best(best, twin, r);
    }
    for (int32_t r = 0; r < rows; r++) cache->length[r] += queries;
    return GF_OK;
}

static int network_keep(void *network, int32_t count, const int32_t *rows, int32_t beams) {
    Transformer *self = network;
    self->weight_rows = 0;
    return cache_keep(&self->cache, count, rows, beams);
}

static int network_rewind(void *network, int32_t rows, const int32_t *lengths) {
    return cache_rewind(&((Transformer *)network)->cache, rows, lengths);
}

static void network_clear(void *network) { cache_clear(&((Transformer *)network)->cache); }

static int network_watch(void *network, int32_t count, const int32_t *heads) {
    Transformer *self = network;
    const ModelSettings *settings = &self->model->settings;
    if (count < 0) return GF_BAD_REQUEST;
    for (int32_t i = 0; i < count; i++) {
        int32_t layer = heads[2 * i], head = heads[2 * i + 1];
        if (layer < 0 || layer >= settings->decoder_layers || head < -1 || head >= settings->heads)
            return GF_BAD_REQUEST;
    }
    self->watched = count;
    self->heads = heads;
    self->weight_rows = 0;
    return GF_OK;
}

static const float *network_alignment(void *network, int32_t *stride) {
    const Transformer *self = network;
    *stride = self->weight_stride;
    return self->weight_rows ? self->weights : NULL;
}

int network_open(const Model *model, Network *network) {
    Transformer *self = calloc(1, sizeof *self);
    if (!self) return GF_OUT_OF_MEMORY;
    self->model = self->work.model = model;
    cache_init(&self->cache, model->decoder.layers, 2 * model->heads.row * bytes_of(&model->heads));
    *network = (Network){
        .self = self,
        .vocabulary = model->settings.target_vocabulary,
        .max_positions = model->settings.max_positions,
        .admit = network_admit,
        .step = network_step,
        .keep = network_keep,
        .rewind = network_rewind,
        .clear = network_clear,
        .watch = network_watch,
        .alignment = network_alignment,
    };
    return GF_OK;
}

void network_close(Network *network) {
    Transformer *self = network->self;
    if (!self) return;
    cache_free(&self->cache);
    free(self->work.memory);
    free_array(self->queries), free_array(self->tokens);
    free_array(self->self), free_array(self->weights);
    free(self);
    *network = (Network){0};
}
