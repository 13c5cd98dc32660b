/* The mean of networks: see ensemble.h.

Its logits are the logarithms of mean probabilities, so that their sum is 1. */
#include "ensemble.h"
#include "scratch.h"
#include "topk.h"

typedef struct {
    int32_t count;
    Network *members; /* the one with the fewest positions comes first: what it takes, all take */
    float *logits;    /* M N V, then in the first N V the means */
} Ensemble;

static int ensemble_admit(void *network, int32_t count, const Text *sources, int32_t beams) {
    Ensemble *self = network;
    if (count > 0 && sources->shortlist) return GF_BAD_REQUEST;
    for (int32_t m = 0; m < self->count; m++) {
        Network *member = self->members + m;
        int error = member->admit(member->self, count, sources, beams);
        if (error) return m ? GF_OUT_OF_MEMORY : error;
    }
    return GF_OK;
}

/* Replace the first of `count` rows of logits, `apart` from each other, by ln Σ p / count. */
static void average_rows(float *x, int32_t count, int64_t apart, int32_t size) {
    for (int32_t m = 0; m < count; m++) {
        float *row = x + m * apart, sum = log_sum_exp(row, size, 1) + logf((float)count);
        for (int32_t v = 0; v < size; v++) row[v] -= sum;
    }
    int32_t v = 0;
    for (; v + LANES <= size; v += LANES) {
        Vec high = v_load(x + v), sum = v_set(0);
        for (int32_t m = 1; m < count; m++) high = v_max(v_load(x + m * apart + v), high);
        for (int32_t m = 0; m < count; m++) sum = sum + v_exp(v_load(x + m * apart + v) - high);
        v_store(x + v, high + v_log(sum));
    }
    for (; v < size; v++) {
        float high = x[v], sum = 0;
        for (int32_t m = 1; m < count; m++)
            if (x[m * apart + v] > high) high = x[m * apart + v];
        for (int32_t m = 0; m < count; m++) sum += expf(x[m * apart + v] - high);
        x[v] = high + logf(sum);
    }
}

static int ensemble_step(void *network, int32_t count, const Token *tokens, float *logits,
                         const Best *best, const Watched *watched) {
    Ensemble *self = network;
    int32_t size = self->members->vocabulary;
    int64_t apart = (int64_t)count * size;
    if (watched || count < 1) return GF_BAD_REQUEST;
    int error = logits ? GF_OK : check_best(best, count, size);
    if (error) return error;
    if (!GROW(self->logits, self->count * apart)) return GF_OUT_OF_MEMORY;
    for (int32_t m = 0; m < self->count; m++) {
        Network *member = self->members + m;
        error = member->step(member->self, count, tokens, self->logits + m * apart, NULL, NULL);
        if (error) return m ? GF_OUT_OF_MEMORY : error;
    }
    for (int32_t n = 0; n < count; n++) {
        float *row = self->logits + (int64_t)n * size;
        average_rows(row, self->count, apart, size);
        if (logits) memcpy(logits + (int64_t)n * size, row, (size_t)size * sizeof *row);
        else take_best(best, n, row, size);
    }
    return GF_OK;
}

static int ensemble_keep(void *network, int32_t count, const int32_t *rows, int32_t beams) {
    Ensemble *self = network;
    for (int32_t m = 0; m < self->count; m++) {
        int error = self->members[m].keep(self->members[m].self, count, rows, beams);
        if (error) return m ? GF_OUT_OF_MEMORY : error;
    }
    return GF_OK;
}

static void ensemble_clear(void *network) {
    Ensemble *self = network;
    for (int32_t m = 0; m < self->count; m++) self->members[m].clear(self->members[m].self);
}

int ensemble_open(int32_t count, const Network *members, Network *network) {
    *network = (Network){0};
    for (int32_t m = 0; m < count; m++)
        if (members[m].vocabulary != members->vocabulary) return GF_BAD_REQUEST;
    Ensemble *self = calloc(1, sizeof *self);
    if (!self) return GF_OUT_OF_MEMORY;
    *network = (Network){
        .self = self,
        .vocabulary = members->vocabulary,
        .max_positions = members->max_positions,
        .admit = ensemble_admit,
        .step = ensemble_step,
        .keep = ensemble_keep,
        .clear = ensemble_clear,
    };
    if (!GROW(self->members, count)) return ensemble_close(network), GF_OUT_OF_MEMORY;
    for (int32_t m = 0; m < count; m++) {
        self->members[m] = members[m];
        if (members[m].max_positions >= network->max_positions) continue;
        network->max_positions = members[m].max_positions;
        self->members[m] = self->members[0];
        self->members[0] = members[m];
    }
    self->count = count;
    return GF_OK;
}

void ensemble_close(Network *network) {
    Ensemble *self = network->self;
    if (!self) return;
    free_array(self->members), free_array(self->logits);
    free(self);
    *network = (Network){0};
}
