/* Pairs to score, with any targets, heads and numbers of next tokens, by one worker and by several. */
#include "hostile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    begin(data, size);
    ModelSettings settings = open_all();
    Drawn drawn = draw_batch(&settings);
    Batch *batch = &drawn.batch;
    int32_t heads[8], heads_count = draw(0, 4), next = draw(0, 3) ? draw(0, 4) : draw_hostile(0, 70);
    for (int i = 0; i < 8; i++) heads[i] = draw(0, 7) ? draw(0, 1) * (draw(0, 3) ? 1 : -1) : draw(-2, 5);
    size_t values = (size_t)(batch->prefix_starts[batch->count] + batch->count), all = 0;
    size_t lists = (size_t)batch->count * (size_t)(next > 0 && next < 2000 ? next : 1);
    int64_t *weight_starts = malloc(sizeof(int64_t) * (size_t)(batch->count + 1));
    check(weight_starts != NULL, "the fuzzer has memory");
    for (int64_t i = 0; i < batch->count; i++) {
        weight_starts[i] = (int64_t)all;
        all += (size_t)heads_count * (size_t)(batch->prefix_starts[i + 1] - batch->prefix_starts[i] + 1) *
               (size_t)(batch->source_starts[i + 1] - batch->source_starts[i]);
    }
    float *log_probs[2], *weights[2], *next_log_probs[2];
    int32_t *next_ids[2];
    int errors[2];
    for (int i = 0; i < 2; i++) {
        log_probs[i] = calloc(values + 1, sizeof(float)), weights[i] = calloc(all + 1, sizeof(float));
        next_log_probs[i] = calloc(lists + 1, sizeof(float)), next_ids[i] = calloc(lists + 1, sizeof(int32_t));
        check(log_probs[i] && weights[i] && next_log_probs[i] && next_ids[i], "memory");
        Wanted wanted = {log_probs[i], heads_count, next, heads, weight_starts, weights[i], next_ids[i],
                         next_log_probs[i]};
        Call call = {networks, pool, i ? NETWORKS : 1, 0, -1, draw(0, 300), NULL};
        errors[i] = gf_score(&call, batch, &wanted);
    }
    if (!errors[0] && !errors[1]) {
        check(!memcmp(log_probs[0], log_probs[1], values * sizeof(float)), "the same by any workers");
        check(!memcmp(weights[0], weights[1], all * sizeof(float)), "the same attention");
        check(!memcmp(next_ids[0], next_ids[1], lists * sizeof(int32_t)), "the same next tokens");
    }
    for (int i = 0; i < 2; i++)
        free(log_probs[i]), free(weights[i]), free(next_log_probs[i]), free(next_ids[i]);
    free(weight_starts);
    free_batch(&drawn);
    close_all();
    return 0;
}
