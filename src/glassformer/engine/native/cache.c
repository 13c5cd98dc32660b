/* The KV cache: see cache.h. */
#include "cache.h"
#include "errors.h"
#include "scratch.h"

void cache_release(Cache *cache, int64_t row, int32_t position) {
    int32_t *slot = cache->list + row * cache->stride + position;
    if (*slot != RELEASED && --cache->references[*slot] == 0) cache->free[cache->free_count++] = *slot;
    *slot = RELEASED;
}

static void release_rows(Cache *cache) {
    for (int64_t r = 0; r < cache->rows; r++)
        for (int32_t t = cache->length[r] - 1; t >= 0; t--) cache_release(cache, r, t);
}

void cache_clear(Cache *cache) {
    release_rows(cache);
    for (int32_t b = 0; b < cache->sentences; b++) free(cache->source[b].block);
    cache->rows = cache->sentences = 0;
    cache->beams = 1;
}

void cache_free(Cache *cache) {
    cache_clear(cache);
    for (int32_t p = 0; p < cache->page_count; p++) free(cache->pages[p]);
    void *all[] = {cache->pages,  cache->references, cache->free,        cache->source,
                   cache->length, cache->list,       cache->next_length, cache->next_list};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free_array(all[i]);
}

static void swap(int32_t **one, int32_t **other) {
    int32_t *before = *one;
    *one = *other, *other = before;
}

/* Make both buffers of lists at least so large. */
static int grow_lists(Cache *cache, int64_t rows, int64_t positions) {
    int64_t before = cache->stride, stride = before < positions ? 2 * positions : before;
    if (!GROW(cache->length, rows) || !GROW(cache->next_length, rows) ||
        !GROW(cache->next_list, rows * stride))
        return GF_OUT_OF_MEMORY;
    for (int64_t r = 0; r < cache->rows && stride > before; r++)
        memcpy(cache->next_list + r * stride, cache->list + r * before,
               (size_t)cache->length[r] * sizeof *cache->list);
    if (stride > before) swap(&cache->list, &cache->next_list);
    cache->stride = stride;
    bool fits = GROW(cache->list, rows * stride) && GROW(cache->next_list, rows * stride);
    return fits ? GF_OK : GF_OUT_OF_MEMORY;
}

int cache_append(Cache *cache, int32_t length, int64_t layer_size, int32_t count) {
    int64_t rows = (int64_t)cache->rows + cache->beams;
    if (!GROW(cache->source, cache->sentences + 1) || grow_lists(cache, rows, 1) ||
        layer_size > (int64_t)(SIZE_MAX / 2) / cache->layers)
        return GF_OUT_OF_MEMORY;
    int64_t size = layer_size * cache->layers;
    char *block = malloc((size_t)(size + (count + 15) / 16 * 16 * 16));
    if (!block) return GF_OUT_OF_MEMORY;
    cache->source[cache->sentences++] = (Source){block, length, layer_size, (int32_t *)(block + size), count};
    for (int32_t r = cache->rows; r < rows; r++) cache->length[r] = 0;
    cache->rows = (int32_t)rows;
    return GF_OK;
}

static int add_page(Cache *cache) {
    int64_t slots = ((int64_t)cache->page_count + 1) * PAGE;
    if (slots > INT32_MAX || !GROW(cache->pages, cache->page_count + 1) ||
        !GROW(cache->references, slots) || !GROW(cache->free, slots) ||
        cache->slot_size > (int64_t)(SIZE_MAX / 2 / PAGE) / cache->layers)
        return GF_OUT_OF_MEMORY;
    char *page = malloc((size_t)(cache->slot_size * PAGE * cache->layers));
    if (!page) return GF_OUT_OF_MEMORY;
    cache->pages[cache->page_count++] = page;
    for (int32_t s = PAGE; s > 0; s--) { /* the first is taken first */
        int32_t slot = (int32_t)slots - PAGE + s - 1;
        cache->references[slot] = 0;
        cache->free[cache->free_count++] = slot;
    }
    return GF_OK;
}

int cache_reserve(Cache *cache, int64_t slots, int32_t positions) {
    int error = grow_lists(cache, cache->rows, positions);
    while (!error && cache->free_count < slots) error = add_page(cache);
    return error;
}

int32_t cache_take(Cache *cache, int32_t row) {
    int32_t slot = cache->free[--cache->free_count];
    cache->references[slot] = 1;
    cache->list[row * cache->stride + cache->length[row]++] = slot;
    return slot;
}

/* Return whether rows go by sentence, ascending, with `beams` for each. */
static int are_grouped(const Cache *cache, int32_t count, const int32_t *rows, int32_t beams) {
    int32_t last = -1;
    if (count < 0 || beams < 1 || count % beams) return 0;
    for (int32_t i = 0; i < count; i++) {
        if (rows[i] < 0 || rows[i] >= cache->rows) return 0;
        int32_t sentence = rows[i] / cache->beams;
        if (i % beams ? sentence != last : sentence <= last) return 0;
        last = sentence;
    }
    return 1;
}

int cache_keep(Cache *cache, int32_t count, const int32_t *rows, int32_t beams) {
    if (!are_grouped(cache, count, rows, beams)) return GF_BAD_REQUEST;
    int error = grow_lists(cache, count, 1);
    if (error) return error;
    for (int64_t i = 0; i < count; i++) {
        const int32_t *from = cache->list + rows[i] * cache->stride;
        int32_t *to = cache->next_list + i * cache->stride, length = cache->length[rows[i]];
        cache->next_length[i] = length;
        for (int32_t t = 0; t < length; t++)
            if ((to[t] = from[t]) != RELEASED) cache->references[to[t]]++;
    }
    release_rows(cache);
    swap(&cache->list, &cache->next_list);
    swap(&cache->length, &cache->next_length);
    int32_t kept = 0;
    for (int32_t b = 0; b < cache->sentences; b++) {
        if (kept * beams < count && rows[kept * beams] / cache->beams == b)
            cache->source[kept++] = cache->source[b];
        else free(cache->source[b].block);
    }
    cache->sentences = kept;
    cache->rows = count;
    cache->beams = count ? beams : 1;
    return GF_OK;
}
