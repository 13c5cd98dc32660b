/* Searches and scores of all kinds over a network that is a hash, in which each allocation fails
once, and each step of the network once. Built with the sanitizers, it shows what leaks, what is read
out of bounds, and what workers do to each other. Prints the number of calls that were tried. */
#define RELIABLE
#include "flaky.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "api.h"

enum { ROWS = 512, LENGTH = 40, VOCABULARY = 23, WORKERS = 3, SENTENCES = 30, HEADS = 2 };

static atomic_long until_failure = -1; /* allocations and steps before the one that fails */

static int fails(void) { return atomic_fetch_sub(&until_failure, 1) == 0; }

void *flaky_realloc(void *old, size_t size) { return fails() ? NULL : realloc(old, size); }

void *flaky_calloc(size_t count, size_t size) { return fails() ? NULL : calloc(count, size); }

typedef struct {
    int32_t rows, beams;
    uint64_t source[ROWS];
    int32_t length[ROWS], given[ROWS][LENGTH];
} Table;

static void check(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static int admit(void *self, int32_t count, const Text *texts, int32_t beams) {
    Table *table = self;
    if (fails()) return GF_OUT_OF_MEMORY;
    check(!table->rows || table->beams == beams, "all sentences have the same number of rows");
    table->beams = beams;
    for (int32_t b = 0; b < count; b++) {
        uint64_t hash = 7;
        for (int32_t i = 0; i < texts[b].size; i++)
            hash = hash * 1000003 + (uint64_t)texts[b].ids[i];
        for (int32_t w = 0; w < beams; w++) {
            check(table->rows < ROWS, "the budget is kept");
            table->source[table->rows] = hash;
            table->length[table->rows++] = 0;
        }
    }
    return GF_OK;
}

static float get_logit(const Table *table, int32_t row, int32_t token) {
    uint64_t hash = table->source[row];
    for (int32_t i = 0; i < table->length[row]; i++)
        hash = (hash ^ (uint64_t)table->given[row][i]) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ (uint64_t)token) * 0xD2E7470EE14C6C93u;
    return (float)(hash >> 40) / (1 << 22); /* from 0 to 4 */
}

static int step(void *self, int32_t count, const Token *tokens, float *logits, const Best *best,
                const Watched *watched) {
    Table *table = self;
    if (fails()) return GF_OUT_OF_MEMORY;
    for (int32_t n = 0; n < count; n++) {
        int32_t r = tokens[n].row;
        check(r >= (n ? tokens[n - 1].row : 0) && r < table->rows, "rows ascend");
        check(table->length[r] < LENGTH, "no more tokens than positions");
        table->given[r][table->length[r]++] = tokens[n].id;
        for (int32_t h = 0; watched && h < watched->count; h++) /* as for the longest source */
            for (int i = 0; i < 9; i++)
                watched->weights[h * watched->apart + n * watched->stride + i % watched->stride] = 1;
        float row[VOCABULARY], sum = 0;
        for (int32_t v = 0; v < VOCABULARY; v++) sum += expf(row[v] = get_logit(table, r, v));
        if (logits) memcpy(logits + n * VOCABULARY, row, sizeof row);
        else best->logsumexp[n] = logf(sum);
        if (!logits && best->wanted) best->wanted_logit[n] = row[best->wanted[n]];
        for (int32_t c = 0; !logits && c < best->size; c++) {
            int32_t first = best->first;
            for (int32_t v = first; v < VOCABULARY; v++)
                if (row[v] > row[first]) first = v;
            best->value[n * best->size + c] = row[first];
            best->id[n * best->size + c] = first;
            row[first] = -1;
        }
    }
    return GF_OK;
}

static int keep(void *self, int32_t count, const int32_t *rows, int32_t beams) {
    Table *table = self;
    static _Thread_local Table before;
    before = *table;
    if (fails()) return GF_OUT_OF_MEMORY;
    for (int32_t r = 0; r < count; r++) {
        check(!r || rows[r] / before.beams >= rows[r - 1] / before.beams, "rows go by sentence");
        table->source[r] = before.source[rows[r]];
        table->length[r] = before.length[rows[r]];
        memcpy(table->given[r], before.given[rows[r]], sizeof *table->given);
    }
    table->rows = count;
    table->beams = beams;
    return GF_OK;
}

static void clear(void *self) { ((Table *)self)->rows = 0; }

static int count_done(int64_t more) { return more < 0; }

static Pool *pool;
static Table tables[WORKERS];
static Network networks[WORKERS];
static int32_t sources[SENTENCES * 9], prefixes[SENTENCES * 4], limits[SENTENCES];
static int64_t source_starts[SENTENCES + 1], prefix_starts[SENTENCES + 1];
static uint64_t lines[SENTENCES];

/* Let the n-th allocation or step fail for n = 0, 1, 2 ..., until there is no n-th. */
static long try_all(int32_t workers, const SearchOptions *options, const Batch *batch, long limit) {
    float whole = 0, log_probs[SENTENCES * 5], weights[HEADS * SENTENCES * 50], next_log_probs[SENTENCES];
    int64_t weight_starts[SENTENCES + 1];
    int32_t next_ids[SENTENCES];
    for (int i = 0; i <= SENTENCES; i++) weight_starts[i] = HEADS * 50 * i;
    const int32_t heads[2 * HEADS] = {0, -1, 0, 1};
    Wanted wanted = {log_probs, HEADS, 1, heads, weight_starts, weights, next_ids, next_log_probs};
    for (long n = -1; n < limit; n++) {
        Results *results = NULL;
        Call call = {networks, pool, workers, 0, -1, 200, count_done};
        float sum = 0;
        atomic_store(&until_failure, n);
        int error = options ? gf_search(&call, batch, options, &results)
                            : gf_score(&call, batch, &wanted);
        int failed = atomic_load(&until_failure) < 0;
        atomic_store(&until_failure, -1);
        check(error == GF_OK || error == GF_OUT_OF_MEMORY, "no other error");
        if (!error && options)
            for (int64_t i = 0; i < batch->count; i++) {
                check(results->places[i].count >= 1, "each sentence has a hypothesis");
                sum += results->hypotheses[results->places[i].hypothesis].score;
            }
        for (int i = 0; !error && !options && i < prefix_starts[SENTENCES] + SENTENCES; i++)
            sum += log_probs[i];
        if (n < 0) whole = sum;
        check(error || sum == whole, "the same as if nothing had failed");
        gf_free(results);
        for (int i = 0; i < WORKERS; i++) check(!tables[i].rows, "the network is left empty");
        if (n >= 0 && !failed) return n;
    }
    return limit;
}

int main(int count, char **arguments) {
    long tried = 0, limit = count > 1 ? atol(arguments[1]) : 1 << 20;
    for (int i = 0; i < WORKERS; i++)
        networks[i] = (Network){tables + i, VOCABULARY, LENGTH, admit, step, keep, clear};
    for (int i = 0; i < SENTENCES; i++) {
        int32_t *source = sources + source_starts[i], size = i * 7 % 9;
        for (int32_t p = 0; p < size; p++) source[p] = 3 + i % 5 + p;
        source[size] = ID_EOS;
        source_starts[i + 1] = source_starts[i] + size + 1;
        prefix_starts[i + 1] = prefix_starts[i] + i % 4;
        for (int64_t p = prefix_starts[i]; p < prefix_starts[i + 1]; p++)
            prefixes[p] = 3 + (int32_t)p % 20;
        limits[i] = 5 + i % 7;
        lines[i] = (uint64_t)i;
    }
    Batch batch = {SENTENCES, sources, prefixes, source_starts, prefix_starts, limits, lines};
    const SearchOptions all[] = {
        {0.6, 1, 1, 0, SEARCH_BEAM, PENALTY_GNMT, 4, 3, 0, 0, 0, 0},
        {1.0, 1, 1, 0, SEARCH_BEAM, PENALTY_POWER, 3, 1, 1, 2, 2, 0},
        {0.0, 1, 1, 0, SEARCH_GREEDY, PENALTY_NONE, 1, 1, 0, 0, 3, 0},
        {0.6, 0.7, 0.9, 5, SEARCH_SAMPLE, PENALTY_GNMT, 1, 1, 0, 1, 0, 0},
        {0.6, 1.5, 0.9, 5, SEARCH_SAMPLE, PENALTY_GNMT, 1, 1, 0, 0, 2, 6},
    };
    check(!pool_open(WORKERS, &pool), "there are threads");
    for (int32_t workers = 1; workers <= WORKERS; workers += 2) {
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            tried += try_all(workers, all + i, &batch, limit);
        tried += try_all(workers, NULL, &batch, limit);
    }
    pool_close(pool);
    printf("%ld\n", tried);
    return 0;
}
