/* One step of a search: see search.h. */
#include "search.h"
#include <math.h>
#include "score.h"
#include "scratch.h"

#define MOST_DRAWN 64 /* with a larger top_k all logits are asked for */

static bool reserve_rows(Search *s, int32_t sentences) {
    int64_t before = get_capacity(s->sentences), beams = s->options->beams;
    int64_t rows = sentences * beams;
    if (!GROW(s->sentences, sentences)) return false;
    int64_t fresh = get_capacity(s->sentences) - before;
    memset(s->sentences + before, 0, (size_t)fresh * sizeof *s->sentences);
    return GROW(s->log_probs, rows) && GROW(s->next_log_probs, rows) && GROW(s->tokens, rows) &&
           GROW(s->parents, rows) && GROW(s->forbidden_counts, rows) && GROW(s->heads, beams) &&
           GROW(s->head_log_probs, beams);
}

/* Let the network read the prefixes of the last `count` sentences, BOS and all but the last token;
note the log-probabilities. */
static int read_prefixes(Search *s, int32_t count) {
    int32_t beams = s->options->beams, first = s->count - count, n = 0;
    s->given_count = 0;
    for (int32_t b = first; b < s->count; b++) {
        const Request *request = s->sentences[b].request;
        if (!give_tokens(s, b * beams, request, request->prefix_size)) return GF_OUT_OF_MEMORY;
    }
    int error = read_given(s, 0, NULL);
    for (int32_t b = first; b < s->count && !error; b++) {
        Sentence *sentence = s->sentences + b;
        for (int32_t p = 0; p < sentence->length; p++, n++) {
            sentence->nodes[p * beams] = (Node){0, s->wanted[n], s->values[n]};
            s->log_probs[sentence->first] += s->values[n];
        }
    }
    return error;
}

int search_admit(Search *s, int32_t count, const Request *const *requests) {
    int32_t beams = s->options->beams;
    s->done = 0;
    if (!reserve_rows(s, s->count + count)) return GF_OUT_OF_MEMORY;
    for (int32_t b = 0; b < count; b++) {
        const Request *request = requests[b];
        Sentence *sentence = s->sentences + s->count;
        int32_t length = request->prefix_size;
        sentence->request = request;
        sentence->length = length;
        sentence->first = s->alive++;
        sentence->alive = 1;
        sentence->finished_count = sentence->ended_count = 0;
        s->tokens[sentence->first] =
            (Token){s->count++ * beams, length ? request->prefix[length - 1] : ID_BOS};
        s->log_probs[sentence->first] = 0;
    } /* the caller finds all requests here if memory runs out */
    for (int32_t b = s->count - count; b < s->count; b++) {
        Sentence *new = s->sentences + b;
        int64_t nodes = (int64_t)new->length * beams;
        if (!GROW(new->nodes, nodes) || !GROW(new->ended, s->options->n_best))
            return GF_OUT_OF_MEMORY;
    }
    int error = admit_sources(s, count, requests, beams);
    return error ? error : read_prefixes(s, count);
}

void search_clear(Search *s) {
    s->network->clear(s->network->self);
    for (int64_t b = 0; b < get_capacity(s->sentences); b++)
        free_array(s->sentences[b].nodes), free_array(s->sentences[b].ended);
    void *arrays[] = {s->sentences, s->log_probs, s->next_log_probs, s->tokens, s->parents,
                      s->forbidden_counts, s->forbidden, s->heads, s->head_log_probs,
                      s->best.value, s->best.id, s->best.logsumexp, s->logits, s->given,
                      s->wanted, s->weights, s->sources, s->ids, s->values};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free_array(arrays[i]);
    *s = (Search){.options = s->options, .network = s->network};
}

void read_hypothesis(const Sentence *sentence, const Ended *ended, int32_t beams, int32_t *tokens,
                     float *log_probs) {
    Node node = ended->last;
    for (int32_t p = ended->whole.length - 1;; p--) {
        tokens[p] = node.token;
        log_probs[p] = node.log_prob;
        if (!p) return;
        node = sentence->nodes[(int64_t)(p - 1) * beams + node.parent];
    }
}

/* Write the tokens that would complete an n-gram of `row` a second time; return their number. */
static int32_t find_repeats(const Sentence *sentence, int32_t beams, int32_t row, int32_t n,
                            int32_t *found) {
    int32_t length = sentence->length, count = 0;
    for (int32_t p = length - 1; p >= 0; p--) { /* first `found` has all tokens of the row */
        const Node *node = sentence->nodes + (int64_t)p * beams + row;
        found[p] = node->token;
        row = node->parent;
    }
    const int32_t *tail = found + length - n + 1; /* n - 1 tokens; what is written stays before */
    for (int32_t p = 0; p + n <= length; p++)
        if (!memcmp(found + p, tail, (size_t)(n - 1) * sizeof *found))
            found[count++] = found[p + n - 1];
    return count;
}

/* List the tokens that the rules forbid to each hypothesis; return the most of one, or -1 if there
is no memory for them. */
static int32_t list_forbidden(Search *s) {
    const SearchOptions *options = s->options;
    int32_t beams = options->beams, most = 0;
    memset(s->forbidden_counts, 0, (size_t)s->alive * sizeof *s->forbidden_counts);
    s->forbidden_stride = 1; /* for EOS; and as many as a hypothesis has tokens */
    for (int32_t b = 0; b < s->count && options->no_repeat_ngram_size; b++)
        if (s->sentences[b].length >= s->forbidden_stride)
            s->forbidden_stride = s->sentences[b].length + 1;
    if (!GROW(s->forbidden, (int64_t)s->alive * s->forbidden_stride)) return -1;
    if (!options->min_length && !options->no_repeat_ngram_size) return 0;
    for (int32_t n = 0; n < s->alive; n++) {
        int32_t row = s->tokens[n].row, *found = s->forbidden + (int64_t)n * s->forbidden_stride;
        const Sentence *sentence = s->sentences + row / beams;
        if (options->no_repeat_ngram_size)
            s->forbidden_counts[n] =
                find_repeats(sentence, beams, row % beams, options->no_repeat_ngram_size, found);
        if (sentence->length < options->min_length) found[s->forbidden_counts[n]++] = ID_EOS;
        if (s->forbidden_counts[n] > most) most = s->forbidden_counts[n];
    }
    return most;
}

bool is_forbidden(const Search *s, int32_t n, int32_t token) {
    const int32_t *forbidden = s->forbidden + (int64_t)n * s->forbidden_stride;
    for (int32_t i = 0; i < s->forbidden_counts[n]; i++)
        if (forbidden[i] == token) return true;
    return false;
}

/* Give the network the newest tokens; find the best to follow, and draw from them if so asked. */
static int find_best(Search *s) {
    const SearchOptions *options = s->options;
    Network *network = s->network;
    int32_t most = list_forbidden(s);
    bool samples = options->method == SEARCH_SAMPLE;
    int64_t wanted = options->method == SEARCH_BEAM ? 2 * (int64_t)options->beams : 1;
    if (samples && options->top_k) wanted = options->top_k;
    bool needs_logits = samples && (!options->top_k || wanted > MOST_DRAWN);
    wanted = needs_logits ? 1 : wanted + most;
    if (wanted > network->vocabulary - ID_EOS) wanted = network->vocabulary - ID_EOS;
    int64_t logits = needs_logits ? (int64_t)s->alive * network->vocabulary : 0;
    if (most < 0 || !reserve_best(s, s->alive, (int32_t)wanted) || !GROW(s->logits, logits))
        return GF_OUT_OF_MEMORY;
    int error = network->step(network->self, s->alive, s->tokens, needs_logits ? s->logits : NULL,
                              &s->best, NULL);
    if (error || !samples) return error;
    if (needs_logits) return draw_from_logits(s);
    draw_from_best(s);
    return GF_OK;
}

/* Move the head of hypothesis n, number w of its sentence, to the first of its candidates from
there on that is not forbidden. */
static void settle_head(Search *s, int32_t n, int32_t w) {
    const Best *best = &s->best;
    s->head_log_probs[w] = -INFINITY;
    for (; s->heads[w] < best->size; s->heads[w]++) {
        int64_t place = (int64_t)n * best->size + s->heads[w];
        if (is_forbidden(s, n, best->id[place])) continue;
        float token_log_prob = best->value[place] - best->logsumexp[n];
        s->head_log_probs[w] = s->log_probs[n] + token_log_prob;
        return;
    }
}

/* Return the divisor of the log-probability of a hypothesis of n tokens, EOS counted: (5 + n) / 6
to the power of alpha, or n to it. It never falls as n grows, which the exact stop needs. */
static float length_penalty(const SearchOptions *options, int32_t length) {
    if (options->penalty == PENALTY_NONE) return 1;
    double n = options->penalty == PENALTY_GNMT ? (5.0 + length) / 6 : length;
    return (float)pow(n, options->alpha);
}

/* Keep a hypothesis that ended, if it is among the N best: finished ones come first. */
static void keep_ended(Sentence *sentence, int32_t n_best, Ended new) {
    int32_t place = sentence->ended_count, is_finished = new.whole.is_finished;
    for (; place > 0; place--) {
        const Hypothesis *other = &sentence->ended[place - 1].whole;
        if (other->is_finished > is_finished) break;
        if (other->is_finished == is_finished && other->score >= new.whole.score) break;
    }
    if (place == n_best) return;
    if (sentence->ended_count < n_best) sentence->ended_count++;
    Ended *at = sentence->ended + place;
    memmove(at + 1, at, (size_t)(sentence->ended_count - place - 1) * sizeof *at);
    *at = new;
}

/* Return whether no hypothesis that is not finished can still enter the N best; or, if the search
stops first, whether enough have finished. `hope` is the best log-probability of an unfinished one.
Log-probabilities only fall, and no penalty exceeds that of the greatest length. */
static bool is_done(const Search *s, const Sentence *sentence, float hope) {
    int32_t n_best = s->options->n_best;
    if (s->options->method != SEARCH_BEAM) return sentence->finished_count > 0;
    if (s->options->stops_first) return sentence->finished_count >= s->options->beams;
    if (sentence->ended_count < n_best || !sentence->ended[n_best - 1].whole.is_finished) return false;
    float penalty = length_penalty(s->options, sentence->request->limit);
    return hope / penalty <= sentence->ended[n_best - 1].whole.score;
}

/* Continue the hypotheses of a sentence, whose rows begin at `row`, by the best candidates; they go
to the rows from `next` on, and are number `place` and those after it. Return whether the sentence
is done.

The candidates of each are in order, so the best of all are found by merging. Of the first 2 W at
most W end. One that ends is finished if it is among the first W; the first W others are kept. */
static bool continue_sentence(Search *s, Sentence *sentence, int32_t row, int32_t next,
                              int32_t place) {
    int32_t beams = s->options->beams, length = ++sentence->length, kept = 0;
    int32_t first = sentence->first, alive = sentence->alive;
    int32_t candidates = s->options->method == SEARCH_BEAM ? 2 * beams : 1;
    bool is_last = length >= sentence->request->limit, is_bad = false;
    float penalty = length_penalty(s->options, length), hope = -INFINITY;
    Node *nodes = sentence->nodes + (int64_t)(length - 1) * beams;
    for (int32_t w = 0; w < alive; w++) {
        s->heads[w] = 0;
        settle_head(s, first + w, w);
        is_bad |= isnan(s->head_log_probs[w]) || isnan(s->best.logsumexp[first + w]);
    }
    for (int32_t rank = 0; rank < candidates && kept < beams && !is_bad; rank++) {
        int32_t w = 0;
        for (int32_t other = 1; other < alive; other++)
            if (s->head_log_probs[other] > s->head_log_probs[w]) w = other;
        float log_prob = s->head_log_probs[w];
        if (log_prob == -INFINITY) break;
        int64_t at = (int64_t)(first + w) * s->best.size + s->heads[w]++;
        int32_t token = s->best.id[at];
        Node node = {w, token, s->best.value[at] - s->best.logsumexp[first + w]};
        settle_head(s, first + w, w);
        bool ends = token == ID_EOS;
        if (ends && rank < beams) sentence->finished_count++;
        if (ends ? rank < beams : is_last)
            keep_ended(sentence, s->options->n_best,
                       (Ended){node, {length, ends, log_prob, log_prob / penalty}});
        if (ends) continue;
        if (!kept) hope = log_prob;
        nodes[kept] = node;
        s->parents[next + kept] = row + w;
        s->tokens[place + kept] = (Token){next + kept, token};
        s->next_log_probs[place + kept++] = log_prob;
    }
    for (int32_t w = kept; w < beams; w++) s->parents[next + w] = row; /* of no hypothesis */
    sentence->first = place;
    sentence->alive = kept;
    if (!kept && !sentence->ended_count) { /* some token is allowed, unless two rules forbid some */
        bool is_bound = s->options->no_repeat_ngram_size && s->options->min_length;
        s->failed = sentence->request;
        s->error = is_bound && !is_bad ? GF_NO_HYPOTHESIS : GF_NOT_FINITE;
    }
    return is_last || !kept || is_done(s, sentence, hope);
}

int search_step(Search *s) {
    int32_t beams = s->options->beams, before = s->count, kept = 0, alive = 0;
    s->done = 0;
    s->error = GF_OK;
    for (int32_t b = 0; b < before; b++) {
        Sentence *sentence = s->sentences + b;
        int64_t nodes = ((int64_t)sentence->length + 1) * beams;
        if (!GROW(sentence->nodes, nodes)) return GF_OUT_OF_MEMORY;
    }
    int error = find_best(s);
    if (error) return error;
    for (int32_t b = 0; b < before; b++) {
        Sentence *sentence = s->sentences + b;
        if (continue_sentence(s, sentence, b * beams, kept * beams, alive)) continue;
        alive += sentence->alive;
        Sentence same = *sentence; /* those that are done change places with those that stay */
        *sentence = s->sentences[kept];
        s->sentences[kept++] = same;
    }
    float *log_probs = s->log_probs;
    s->log_probs = s->next_log_probs, s->next_log_probs = log_probs;
    s->count = kept;
    s->alive = alive;
    s->done = before - kept;
    int32_t rows = kept * beams, r = 0;
    if (s->error) return s->error;
    while (r < rows && s->parents[r] == r) r++;
    if (r == rows && !s->done) return GF_OK; /* all stay where they are */
    return s->network->keep(s->network->self, rows, s->parents, beams);
}
