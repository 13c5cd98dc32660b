/* The engine as JavaScript sees it: web/src/engine-wasm/engine.js writes and reads these structures.
One thread, int8. Only WebAssembly has this file. */
#if defined __wasm__
#include "api.h"
#include "model.h"
#include <stddef.h>
#include <stdlib.h>

#define EXPORT(name) __attribute__((export_name(#name)))

/* What engine.js counts on: pointers have 4 bytes. */
_Static_assert(sizeof(ModelSettings) == 88 && offsetof(ModelSettings, amplitude) == 72, "settings");
_Static_assert(sizeof(Tensor) == 40 && offsetof(Tensor, bytes) == 8, "tensors");
_Static_assert(sizeof(SearchOptions) == 64 && offsetof(SearchOptions, method) == 32, "options");
_Static_assert(offsetof(Results, hypotheses) == 4 && sizeof(Place) == 24, "results");
_Static_assert(sizeof(Hypothesis) == 16, "hypotheses");

typedef struct {
    Model *model;
    Network network;
} Opened;

EXPORT(allocate) void *allocate(int32_t bytes) { return malloc((size_t)bytes); }
EXPORT(release) void release(void *memory) { free(memory); }

EXPORT(close_model) void close_model(Opened *opened) {
    if (!opened) return;
    network_close(&opened->network);
    model_close(opened->model);
    free(opened);
}

/* Return the model, or NULL: then `reason`, of `size` bytes, says why. */
EXPORT(open_model) Opened *open_model(const ModelSettings *settings, const Tensor *tensors,
                                      int32_t count, char *reason, int32_t size) {
    Opened *opened = calloc(1, sizeof *opened);
    if (opened && model_open(settings, tensors, count, &opened->model, reason, size) == GF_OK &&
        network_open(opened->model, &opened->network) == GF_OK)
        return opened;
    close_model(opened);
    return NULL;
}

/* Search. Source i is tokens[starts[i]] to tokens[starts[i + 1] - 1], and has a limit. `results`
receives what free_results frees. Returns a code of errors.h. */
EXPORT(search) int search(Opened *opened, int32_t count, const int32_t *tokens, const int64_t *starts,
                          const int32_t *limits, const uint64_t *lines,
                          const SearchOptions *options, int32_t budget, Results **results) {
    int64_t *none = calloc((size_t)count + 1, sizeof *none);
    Batch batch = {count, tokens, tokens, starts, none, limits, lines};
    Call call = {.networks = &opened->network, .workers = 1, .budget = budget};
    int error = none ? gf_search(&call, &batch, options, results) : GF_OUT_OF_MEMORY;
    free(none);
    return error;
}

EXPORT(free_results) void free_results(Results *results) { gf_free(results); }
#endif
