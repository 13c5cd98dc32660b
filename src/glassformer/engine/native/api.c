/* Searching and scoring with several workers: see api.h. */
#include "api.h"
#include "queue.h"
#include "score.h"
#include "scratch.h"

/* What the workers of one call share. */
typedef struct {
    Call *call;
    Queue queue;
    Request *requests;
    const SearchOptions *options; /* of a search */
    Results *results;
    const Batch *batch; /* of scoring */
    const Wanted *wanted;
    float *log_probs;
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
        *request = (Request){batch->sources + *source, batch->prefixes + *prefix,
                             (int32_t)source_size, (int32_t)prefix_size,
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

/* Let the workers do all requests; return the first error, and note in the call where it was. */
static int run(Shared *shared, int32_t rows, void (*work)(void *, int32_t)) {
    Call *call = shared->call;
    Queue *queue = &shared->queue;
    int64_t count = shared->batch->count;
    int32_t workers = call->workers <= count ? call->workers : count ? (int32_t)count : 1;
    *queue = (Queue){.budget = call->budget, .rows = rows, .progress = call->progress};
    int error = queue_run(queue, shared->requests, count, call->pool, workers, work, shared);
    call->budget = queue->budget;
    if (queue->failed) {
        call->failed = queue->failed->index;
        call->failed_size = request_size(queue->failed);
    }
    return error;
}

/* Append the hypotheses of a sentence to the results; return whether there was memory for them. */
static bool append_results(Results *results, const Sentence *sentence, int32_t beams) {
    Place *place = results->places + sentence->request->index;
    *place = (Place){results->hypotheses_count, results->tokens_count, sentence->ended_count};
    for (int32_t n = 0; n < sentence->ended_count; n++) {
        const Ended *ended = sentence->ended + n;
        int64_t tokens = results->tokens_count + ended->length;
        if (!GROW(results->hypotheses, results->hypotheses_count + 1) ||
            !GROW(results->tokens, tokens) || !GROW(results->log_probs, tokens))
            return false;
        read_hypothesis(sentence, ended, beams, results->tokens + results->tokens_count,
                        results->log_probs + results->tokens_count);
        results->hypotheses[results->hypotheses_count++] =
            (Hypothesis){ended->length, ended->is_finished, ended->log_prob, ended->score};
        results->tokens_count = tokens;
    }
    return true;
}

static void settle(Shared *shared, const Search *search) {
    bool fits = true;
    if (!search->done) return;
    lock_take(&shared->queue.lock);
    for (int32_t b = search->count; b < search->count + search->done && fits; b++)
        fits = append_results(shared->results, search->sentences + b, shared->options->beams);
    shared->queue.done += search->done;
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
    search_free(search);
    *search = (Search){.options = search->options, .network = search->network};
    if (fits) return queue_put_back(queue, count, *requests);
    queue_fail(queue, GF_OUT_OF_MEMORY, NULL);
    return true; /* until it is told of the failure */
}

static void search_all(void *argument, int32_t number) {
    Shared *shared = argument;
    Queue *queue = &shared->queue;
    Search search = {.options = shared->options, .network = shared->call->networks + number};
    const Request **requests = NULL;
    queue_begin(queue);
    for (bool goes_on = true; goes_on;) {
        int32_t working = search.count, longest = 0;
        for (int32_t b = 0; b < working; b++) {
            int32_t size = request_size(search.sentences[b].request);
            longest = size > longest ? size : longest;
        }
        int32_t taken = queue_take(queue, working, longest, &requests);
        if (taken < 0) break;
        int error = taken ? search_admit(&search, taken, requests) : GF_OK;
        if (!error) error = search_step(&search);
        if (!error || error == GF_OUT_OF_MEMORY) settle(shared, &search);
        if (error == GF_OUT_OF_MEMORY) {
            int32_t more = taken && search.count == working ? taken : 0;
            goes_on = begin_anew(queue, &search, more, &requests);
        }
        if (error && error != GF_OUT_OF_MEMORY) queue_fail(queue, error, search.failed);
        if (!number) queue_report(queue);
    }
    search_clear(&search);
    search_free(&search);
    free_array(requests);
    if (!number) queue_wait(queue);
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
    shared.requests = make_requests(call, batch, &error);
    shared.results = calloc(1, sizeof *shared.results);
    if (!error && (!shared.results || !GROW(shared.results->places, batch->count + 1)))
        error = GF_OUT_OF_MEMORY;
    if (!error) error = run(&shared, options->beams, search_all);
    free(shared.requests);
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

/* Let a network read some pairs, and note what is wanted of them. */
static int score_some(Shared *shared, Network *network, int32_t count, const Request **requests,
                      Forced *forced, int32_t **ids, float **logits) {
    const Wanted *wanted = shared->wanted;
    for (int32_t r = 0; r < count; r++) {
        const Request *request = requests[r];
        int64_t i = request->index, next = i * wanted->next_size;
        forced[r] = (Forced){.target = request->prefix, .size = request->prefix_size,
                             .count = request->prefix_size + 1, .source_size = request->source_size,
                             .log_probs = shared->log_probs + shared->batch->prefix_starts[i] + i,
                             .next_size = wanted->next_size};
        if (wanted->heads_count) forced[r].weights = wanted->weights + wanted->weight_starts[i];
        if (wanted->next_size) forced[r].next_ids = wanted->next_ids + next;
        if (wanted->next_size) forced[r].next_log_probs = wanted->next_log_probs + next;
    }
    int error = admit_sources(network, count, requests, 1, ids);
    if (!error) error = read_forced(network, count, forced, wanted->heads_count, logits);
    network->clear(network->self);
    return error;
}

static void score_all(void *argument, int32_t number) {
    Shared *shared = argument;
    Queue *queue = &shared->queue;
    Network *network = shared->call->networks + number;
    Forced *forced = NULL;
    int32_t *ids = NULL;
    float *logits = NULL;
    const Request **requests = NULL;
    int32_t heads = shared->wanted->heads_count;
    int error = heads ? network->watch(network->self, heads, shared->wanted->heads) : GF_OK;
    queue_begin(queue);
    if (error) queue_fail(queue, error, NULL);
    for (bool goes_on = true; goes_on;) {
        int32_t taken = queue_take(queue, 0, 0, &requests);
        if (taken < 0) break;
        error = GROW(forced, taken) ? GF_OK : GF_OUT_OF_MEMORY;
        if (!error) error = score_some(shared, network, taken, requests, forced, &ids, &logits);
        if (error == GF_OUT_OF_MEMORY) goes_on = queue_put_back(queue, taken, requests);
        else if (error) queue_fail(queue, error, NULL);
        lock_take(&queue->lock);
        if (!error) queue->done += taken;
        signal_all(&queue->change);
        lock_leave(&queue->lock);
        if (!number) queue_report(queue);
    }
    if (heads) network->watch(network->self, 0, NULL);
    free_array(forced), free_array(requests);
    free_array(ids), free_array(logits);
    if (!number) queue_wait(queue);
}

int gf_score(Call *call, const Batch *batch, const Wanted *wanted, float *log_probs) {
    int error = GF_OK;
    int32_t vocabulary = call->networks[0].vocabulary;
    call->failed = -1;
    if (call->workers < 1 || wanted->next_size < 0 || wanted->next_size > vocabulary - ID_EOS ||
        wanted->heads_count < 0 || (wanted->heads_count && !call->networks[0].watch))
        return GF_BAD_REQUEST;
    Batch pairs = *batch;
    pairs.limits = NULL;
    Shared shared = {.call = call, .batch = &pairs, .wanted = wanted, .log_probs = log_probs};
    shared.requests = make_requests(call, &pairs, &error);
    if (!error) error = run(&shared, 1, score_all);
    free(shared.requests);
    return error;
}
