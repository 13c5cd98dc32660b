/* Searches with any options and sentences, by one worker and by several: what comes back is right in
form, and the same. */
#include "hostile.h"

static SearchOptions draw_options(void) {
    SearchOptions x = {.alpha = draw_hostile_double(), .temperature = draw_hostile_double(),
                       .top_p = draw_hostile_double(), .seed = (uint64_t)draw(0, 3),
                       .method = draw(SEARCH_GREEDY, SEARCH_SAMPLE),
                       .penalty = draw(PENALTY_NONE, PENALTY_POWER), .beams = 1, .n_best = 1,
                       .stops_first = draw(0, 1), .min_length = draw(0, 3) ? 0 : draw_hostile(0, 12),
                       .no_repeat_ngram_size = draw(0, 1) ? 0 : draw_hostile(0, 4),
                       .top_k = draw(0, 1) ? 0 : draw_hostile(0, 40)};
    if (x.method == SEARCH_BEAM) x.beams = draw_hostile(1, 6), x.n_best = draw_hostile(1, 6);
    if (x.beams > 4096) x.beams = 1 << 28; /* more than there is memory for, or less than is slow */
    return x;
}

static int cancel_after; /* reports; 0: never */

static int report(int64_t done) {
    check(done >= 0, "so many more are done");
    return cancel_after && !--cancel_after;
}

static void check_results(const Results *results, const Batch *batch, const SearchOptions *options,
                          int32_t vocabulary) {
    int64_t hypotheses = 0, tokens = 0;
    for (int64_t i = 0; i < batch->count; i++) {
        const Place *place = results->places + i;
        check(place->count >= 1 && place->count <= options->n_best, "hypotheses of each sentence");
        int64_t at = place->token;
        for (int64_t n = 0; n < place->count; n++) {
            const Hypothesis *x = results->hypotheses + place->hypothesis + n;
            check(x->length >= 1 && x->length <= batch->limits[i], "as long as it may be");
            int64_t prefix = batch->prefix_starts[i + 1] - batch->prefix_starts[i]; /* as given */
            for (int64_t p = prefix; p < x->length; p++) {
                int32_t id = results->tokens[at + p];
                check(id > ID_BOS && id < vocabulary, "a token of the vocabulary");
                check((id == ID_EOS) == (x->is_finished && p == x->length - 1), "an end at the end");
            }
            at += x->length, tokens += x->length, hypotheses++;
        }
    }
    check(hypotheses == results->hypotheses_count && tokens == results->tokens_count, "in all");
}

static void compare(const Results *one, const Results *other, const Batch *batch) {
    check(one->tokens_count == other->tokens_count, "as many tokens");
    for (int64_t i = 0; i < batch->count; i++) {
        const Place *a = one->places + i, *b = other->places + i;
        check(a->count == b->count, "as many hypotheses");
        size_t size = sizeof(Hypothesis) * (size_t)a->count;
        check(!memcmp(one->hypotheses + a->hypothesis, other->hypotheses + b->hypothesis, size),
              "the same hypotheses for any number of workers");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    begin(data, size);
    ModelSettings settings = open_all();
    Drawn drawn = draw_batch(&settings);
    SearchOptions options = draw_options();
    Results *results[2] = {NULL, NULL};
    int errors[2], cancels = draw(0, 15) ? 0 : draw(1, 3);
    Network both, *used = networks;
    int is_ensemble = !draw(0, 3) && !drawn.batch.shortlist;
    if (is_ensemble) check(!ensemble_open(2, networks, &both), "open"), used = &both;
    for (int i = 0; i < 2; i++) {
        int32_t workers = i && !is_ensemble ? NETWORKS : 1;
        Call call = {used, pool, workers, 0, -1, draw(0, 3) ? draw(0, 300) : draw_hostile(1, 9), report};
        cancel_after = cancels;
        errors[i] = gf_search(&call, &drawn.batch, &options, results + i);
        check(errors[i] || results[i], "results come back");
        check(!errors[i] || !results[i], "none after an error");
        check(call.failed >= -1 && call.failed < drawn.batch.count + !drawn.batch.count, "which failed");
        if (!errors[i]) check_results(results[i], &drawn.batch, &options, settings.target_vocabulary);
    }
    if (!errors[0] && !errors[1]) compare(results[0], results[1], &drawn.batch);
    for (int i = 0; i < 2; i++) gf_free(results[i]);
    if (is_ensemble) ensemble_close(&both);
    free_batch(&drawn);
    close_all();
    return 0;
}
