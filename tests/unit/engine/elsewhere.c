/* Reads a model, sentences and kinds of search from a file, as test_elsewhere.py writes it, and prints
the tokens of each translation with its score. Two workers, so that there are threads. */
#include <stdio.h>
#include <stdlib.h>
#include "api.h"
#include "model.h"

enum { WORKERS = 2 };

static FILE *file;

static void *take(int64_t bytes) {
    void *memory = malloc((size_t)bytes + 1);
    if (!memory || fread(memory, 1, (size_t)bytes, file) != (size_t)bytes) exit(2);
    return memory;
}

static int32_t take_number(void) {
    int32_t *number = take(sizeof *number), found = *number;
    free(number);
    return found;
}

int main(int count, char **arguments) {
    file = count > 1 ? fopen(arguments[1], "rb") : NULL;
    if (!file) return 2;
    ModelSettings *settings = take(sizeof *settings);
    int32_t tensors_count = take_number();
    Tensor *tensors = take(tensors_count * (int64_t)sizeof *tensors);
    for (int32_t i = 0; i < tensors_count; i++) {
        tensors[i].name = take(120);
        tensors[i].data = take(tensors[i].bytes);
    }
    Batch batch = {.count = take_number()};
    batch.source_starts = take((batch.count + 1) * 8);
    batch.sources = take(batch.source_starts[batch.count] * 4);
    batch.prefixes = batch.sources;
    batch.prefix_starts = take((batch.count + 1) * 8);
    batch.limits = take(batch.count * 4);
    batch.lines = take(batch.count * 8);
    Model *model;
    Network networks[WORKERS];
    Pool *pool;
    char reason[200] = "";
    int error = model_open(settings, tensors, tensors_count, &model, reason, sizeof reason);
    for (int i = 0; i < WORKERS && !error; i++) error = network_open(model, networks + i);
    if (error || pool_open(WORKERS, &pool)) return puts(reason), 3;
    for (int32_t left = take_number(); left; left--) {
        Results *results;
        SearchOptions *options = take(sizeof *options);
        Call call = {networks, pool, WORKERS, 0, -1, 60, NULL};
        if (gf_search(&call, &batch, options, &results)) return 4;
        for (int64_t i = 0; i < batch.count; i++) {
            const Place *place = results->places + i;
            const Hypothesis *best = results->hypotheses + place->hypothesis;
            for (int32_t t = 0; t < best->length; t++) printf("%d ", (int)results->tokens[place->token + t]);
            printf("%.3f\n", best->score);
        }
        gf_free(results);
    }
    pool_close(pool);
    return 0;
}
