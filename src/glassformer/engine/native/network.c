/* The Transformer as a `Network` of a search: see network.h. */
#include "layer.h"
#include "scratch.h"
#include "shortlist.h"
#include "topk.h"

#define CHUNK 256 /* source tokens encoded at once: their activations stay in a core's cache */

typedef struct {
    const Model *model;
    Cache cache;
    Work work;
    uint8_t *marks;  /* V: see shortlist.h */
    Query *queries; /* those of a step */
    char *self;     /* the keys and values of a source in one encoder layer */
} Transformer;

static int check_sources(const Transformer *self, int32_t count, const Text *sources,
                         int32_t beams) {
    const ModelSettings *settings = &self->model->settings;
    if (count < 0 || beams < 1) return GF_BAD_REQUEST;
    if (count && sources->shortlist && !self->model->outputs) return GF_BAD_REQUEST;
    if (self->cache.sentences && beams != self->cache.beams) return GF_BAD_REQUEST;
    if ((int64_t)count * beams > INT32_MAX / 4 - self->cache.rows) return GF_BAD_REQUEST;
    for (int32_t b = 0; b < count; b++) {
        if (sources[b].size < 1) return GF_BAD_REQUEST;
        if (sources[b].size > settings->max_positions) return GF_TOO_LONG;
        for (int32_t i = 0; i < sources[b].size; i++)
            if (sources[b].ids[i] < 0 || sources[b].ids[i] >= settings->source_vocabulary)
                return GF_TOKEN_OUT_OF_RANGE;
    }
    return GF_OK;
}

/* Append a source to the cache, with its candidates. */
static int append_source(Transformer *self, const Text *text) {
    Cache *cache = &self->cache;
    int64_t layer_size = size_source(&self->model->heads, text->size);
    if (!text->shortlist) return cache_append(cache, text->size, layer_size, 0);
    if (!self->marks) self->marks = calloc(1, (size_t)self->model->project.outputs);
    if (!self->marks) return GF_OUT_OF_MEMORY;
    int32_t count = mark_candidates(text, self->marks);
    int error = cache_append(cache, text->size, layer_size, count);
    if (error) memset(self->marks, 0, (size_t)self->model->project.outputs);
    else list_candidates(self->marks, self->model, cache->source + cache->sentences - 1);
    return error;
}

static int network_admit(void *network, int32_t count, const Text *sources, int32_t beams) {
    Transformer *self = network;
    const Heads *heads = &self->model->heads;
    int error = check_sources(self, count, sources, beams);
    if (error || !count) return error;
    self->cache.beams = beams;
    for (int32_t b = 0, last = 0; b < count; b = last) { /* as many as fit into a chunk, or one */
        int32_t tokens = 0, there = self->cache.sentences;
        for (; last < count && (last == b || tokens + sources[last].size <= CHUNK); last++) {
            int32_t size = sources[last].size;
            tokens += size;
            if (append_source(self, sources + last)) return GF_OUT_OF_MEMORY;
        }
        if (!GROW(self->self, size_source(heads, tokens)) ||
            work_reserve(&self->work, tokens, tokens))
            return GF_OUT_OF_MEMORY;
        encode(&self->work, last - b, sources + b, self->self, self->cache.source + there);
    }
    return GF_OK;
}

/* longest: receives the length of the longest row after the step; widest: of the longest source. */
static int check_step(const Transformer *self, int32_t count, const Token *tokens,
                      const float *logits, const Best *best, const Watched *watched,
                      int64_t *longest, int64_t *widest) {
    const Cache *cache = &self->cache;
    const ModelSettings *settings = &self->model->settings;
    int32_t vocabulary = settings->target_vocabulary, before = 0;
    for (int32_t b = 0; b < cache->sentences; b++)
        *widest = larger(*widest, cache->source[b].length);
    if (watched && (watched->count < 0 || watched->stride < *widest)) return GF_BAD_REQUEST;
    for (int32_t i = 0; watched && i < watched->count; i++) {
        int32_t layer = watched->heads[2 * i], head = watched->heads[2 * i + 1];
        if (layer < 0 || layer >= settings->decoder_layers || head < -1 || head >= settings->heads)
            return GF_BAD_REQUEST;
    }
    if (count < 1) return GF_BAD_REQUEST;
    int error = logits ? GF_OK : check_best(best, count, vocabulary);
    if (error) return error;
    for (int32_t n = 0; n < count; n++) {
        int32_t row = tokens[n].row, id = tokens[n].id;
        if (row < (n ? tokens[n - 1].row : 0) || row >= cache->rows) return GF_BAD_REQUEST;
        before = n && row == tokens[n - 1].row ? before + 1 : 0;
        *longest = larger(*longest, cache->length[row] + before + 1);
        if (*longest > settings->max_positions) return GF_TOO_LONG;
        if (id < 0 || id >= vocabulary) return GF_TOKEN_OUT_OF_RANGE;
    }
    return GF_OK;
}

static int network_step(void *network, int32_t count, const Token *tokens, float *logits,
                        const Best *best, const Watched *watched) {
    Transformer *self = network;
    Cache *cache = &self->cache;
    int64_t longest = 0, widest = 0;
    int error = check_step(self, count, tokens, logits, best, watched, &longest, &widest);
    if (error) return error;
    if (cache_reserve(cache, count, (int32_t)longest) || !GROW(self->queries, count) ||
        work_reserve(&self->work, count, larger(longest, widest)))
        return GF_OUT_OF_MEMORY;
    for (int32_t n = 0; n < count; n++) {
        int32_t row = tokens[n].row, position = cache->length[row];
        self->queries[n] = (Query){row, position, cache_take(cache, row), tokens[n].id};
    }
    self->work.n = count;
    decode(&self->work, cache, self->queries, watched ? watched : &(Watched){0});
    for (int32_t n = 0; self->model->settings.decoder == SSRU && n < count; n++)
        if (self->queries[n].position)
            cache_release(cache, self->queries[n].row, self->queries[n].position - 1);
    if (logits || best->wanted || !cache->source->count)
        project_logits(&self->work, logits, best);
    else project_candidates(&self->work, cache, self->queries, best);
    return GF_OK;
}

static int network_keep(void *network, int32_t count, const int32_t *rows, int32_t beams) {
    return cache_keep(&((Transformer *)network)->cache, count, rows, beams);
}

static void network_clear(void *network) { cache_clear(&((Transformer *)network)->cache); }

int network_open(const Model *model, Network *network) {
    Transformer *self = calloc(1, sizeof *self);
    if (!self) return GF_OUT_OF_MEMORY;
    self->model = self->work.model = model;
    int64_t slot_size = 2 * model->heads.row * bytes_of(&model->heads);
    if (model->settings.decoder == SSRU) slot_size = 4 * model->d_model;
    self->cache = (Cache){.layers = model->decoder.layers, .beams = 1, .slot_size = slot_size};
    *network = (Network){
        .self = self,
        .vocabulary = model->settings.target_vocabulary,
        .max_positions = model->settings.max_positions,
        .admit = network_admit,
        .step = network_step,
        .keep = network_keep,
        .clear = network_clear,
    };
    return GF_OK;
}

void network_close(Network *network) {
    Transformer *self = network->self;
    if (!self) return;
    cache_free(&self->cache);
    free(self->work.memory);
    free(self->marks);
    free_array(self->queries), free_array(self->self);
    free(self);
    *network = (Network){0};
}
