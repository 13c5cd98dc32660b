/* Searching and scoring with several workers: see api.h. */
#include "queue.h"
#include "scratch.h"

/* What the workers of one call share. */
typedef struct {
    Call *call;
    Queue queue;
    const Batch *batch;
    const SearchOptions *options;
    Results *results;     /* of a search */
    const Wanted *wanted; /* of scoring; NULL: this is a search */
} Shared;

/* Return the requests of a batch, or NULL and the error. Here the ids of prefixes are checked, not
those of sources: only the network knows the size of their vocabulary. */
static Request *make_requests(const Call *call, const Batch *batch, int *error) {
    int32_t vocabulary = call->networks[0].vocabulary, positions = call->networks[0].max_positions;
    Request *requests = malloc((size_t)(batch->count + 1) * sizeof *requests);
    *error = requests ? GF_OK : GF_OUT_OF_MEMORY;
    for (int64_t i = 0; i < batch->count && !*error; i++) {
        const int64_t *source = batch->source_starts + i, *prefix = batch->prefix_starts + i;
        int64_t source_size = source[1] - source[0], prefix_size = prefix[1] - prefix[0];
        Request *request = requests + i;
        *request = (Request){{batch->sources + *source, (int32_t)source_size, batch->shortlist},
                             batch->prefixes + *prefix, (int32_t)prefix_size,
                             batch->limits ? batch->limits[i] : positions,
                             batch->lines ? batch->lines[i] : 0, i};
        if (source_size < 1 || prefix_size < 0 || request->limit <= prefix_size)
            *error = GF_BAD_REQUEST;
        if (source_size > positions || prefix_size >= positions || request->limit > positions)
            *error = GF_TOO_LONG;
        for (int64_t p = 0; p < prefix_size && !*error; p++)
            if (request->prefix[p] < 0 || request->prefix[p] >= vocabulary)
                *error = GF_TOKEN_OUT_OF_RANGE;
    }
    if (!*error) return requests;
    free(requests);
    return NULL;
}

/* Append the hypotheses of a sentence to the results; return whether there was memory for them. */
static bool append_results(Results *results, const Sentence *sentence, int32_t beams) {
    Place *place = results->places + sentence->request->index;
    *place = (Place){results->hypotheses_count, results->tokens_count, sentence->ended_count};
    for (int32_t n = 0; n < sentence->ended_count; n++) {
        const Ended *ended = sentence->ended + n;
        int64_t tokens = results->tokens_count + ended->whole.length;
        if (!GROW(results->hypotheses, results->hypotheses_count + 1) ||
            !GROW(results->tokens, tokens) || !GROW(results->log_probs, tokens))
            return false;
        read_hypothesis(sentence, ended, beams, results->tokens + results->tokens_count,
                        results->log_probs + results->tokens_count);
        results->hypotheses[results->hypotheses_count++] = ended->whole;
        results->tokens_count = tokens;
    }
    return true;
}

/* Note that `done` sentences are done; those of a search come next to those at work. */
static void settle(Shared *shared, const Search *search, int32_t done) {
    bool fits = true;
    lock_take(&shared->queue.lock);
    for (int32_t b = search->count; shared->results && b < search->count + done && fits; b++)
        fits = append_results(shared->results, search->sentences + b, shared->options->beams);
    shared->queue.done += done;
    signal_all(&shared->queue.change);
    lock_leave(&shared->queue.lock);
    if (!fits) queue_fail(&shared->queue, GF_OUT_OF_MEMORY, NULL);
}

/* Put back the sentences at work and the `more` that `requests` begins with, and free the memory of
the search; return whether its worker goes on. */
static bool begin_anew(Queue *queue, Search *search, int32_t more, const Request ***requests) {
    int32_t count = more + search->count;
    bool fits = count && GROW(*requests, count);
    for (int32_t b = more; b < count && fits; b++)
        (*requests)[b] = search->sentences[b - more].request;
    search_clear(search);
    if (fits) return queue_put_back(queue, count, *requests);
    queue_fail(queue, GF_OUT_OF_MEMORY, NULL);
    return true; /* until it is told of the failure */
}

/* Do what a worker does: take sentences from the queue, and search or score, until all are done. */
static void work(void *argument, int32_t number) {
    Shared *shared = argument;
    Queue *queue = &shared->queue;
    Search search = {.options = shared->options, .network = shared->call->networks + number};
    const Request **requests = NULL;
    for (bool goes_on = true; goes_on;) {
        int32_t working = search.count, longest = 0;
        for (int32_t b = 0; b < working; b++) {
            int32_t size = request_size(search.sentences[b].request);
            longest = size > longest ? size : longest;
        }
        int32_t taken = queue_take(queue, working, longest, &requests), done = taken;
        if (taken < 0) break;
        int error = GF_OK;
        if (shared->wanted)
            error = score_pairs(&search, taken, requests, shared->batch->prefix_starts, shared->wanted);
        else {
            if (taken) error = search_admit(&search, taken, requests);
            if (!error) error = search_step(&search);
            done = search.done;
        }
        if (done && (!error || (error == GF_OUT_OF_MEMORY && !shared->wanted)))
            settle(shared, &search, done);
        if (error == GF_OUT_OF_MEMORY) {
            int32_t more = taken && search.count == working ? taken : 0;
            goes_on = begin_anew(queue, &search, more, &requests);
        }
        if (error && error != GF_OUT_OF_MEMORY) queue_fail(queue, error, search.failed);
        if (!number) queue_report(queue);
    }
    search_clear(&search);
    free_array(requests);
    if (!number) queue_wait(queue);
}

static int run(Shared *shared) {
    int error = GF_OK;
    Request *requests = make_requests(shared->call, shared->batch, &error);
    if (!error)
        error = queue_run(&shared->queue, shared->call, requests, shared->batch->count,
                          shared->options->beams, work, shared);
    free(requests);
    return error;
}

/* Return whether the options contradict neither each other nor the network. */
static bool are_valid(const Call *call, const SearchOptions *options) {
    bool is_beam = options->method == SEARCH_BEAM;
    return call->workers >= 1 && call->networks[0].vocabulary > ID_EOS && call->budget >= 0 &&
           options->beams >= 1 && (options->beams == 1 || is_beam) &&
           options->beams <= INT32_MAX / 4 && options->n_best >= 1 &&
           options->n_best <= options->beams && options->temperature > 0 && options->top_p > 0 &&
           options->top_k >= 0 && options->min_length >= 0 && options->no_repeat_ngram_size >= 0 &&
           options->alpha >= 0;
}

int gf_search(Call *call, const Batch *batch, const SearchOptions *options, Results **results) {
    int error = GF_OK;
    call->failed = -1;
    if (!are_valid(call, options) || !batch->limits || !batch->lines) return GF_BAD_REQUEST;
    Shared shared = {.call = call, .batch = batch, .options = options};
    shared.results = calloc(1, sizeof *shared.results);
    if (!shared.results || !GROW(shared.results->places, batch->count + 1))
        error = GF_OUT_OF_MEMORY;
    if (!error) error = run(&shared);
    if (error) gf_free(shared.results);
    else *results = shared.results;
    return error;
}

void gf_free(Results *results) {
    if (!results) return;
    free_array(results->places), free_array(results->hypotheses);
    free_array(results->tokens), free_array(results->log_probs);
    free(results);
}

int gf_score(Call *call, const Batch *batch, const Wanted *wanted) {
    call->failed = -1;
    if (call->workers < 1 || wanted->heads_count < 0 || wanted->next_size < 0 ||
        wanted->next_size > call->networks[0].vocabulary - ID_EOS)
        return GF_BAD_REQUEST;
    Batch pairs = *batch;
    pairs.limits = NULL, pairs.shortlist = NULL;
    SearchOptions options = {.beams = 1};
    Shared shared = {.call = call, .batch = &pairs, .options = &options, .wanted = wanted};
    return run(&shared);
}
