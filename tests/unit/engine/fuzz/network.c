/* A network, or several as an ensemble, asked for anything in any order. */
#include "hostile.h"

enum { TURNS = 40, MOST_ROWS = 48, MOST_TOKENS = 96 };

static void admit(Network *network, const ModelSettings *settings) {
    Text texts[SOURCES];
    int32_t *ids[SOURCES], sources = draw(0, SOURCES), beams = draw(1, 5);
    const Shortlist *shortlist = list.ids && draw(0, 1) ? &list : NULL;
    for (int32_t b = 0; b < sources; b++) {
        int32_t size = draw(0, 15) ? draw(1, LENGTH) : draw(0, LONGEST);
        ids[b] = draw_ids(size, settings->source_vocabulary);
        texts[b] = (Text){ids[b], size, shortlist};
    }
    network->admit(network->self, sources, texts, draw(0, 31) ? beams : draw_hostile(0, 9));
    for (int32_t b = 0; b < sources; b++) free(ids[b]);
}

static void keep(Network *network) {
    int32_t rows[MOST_ROWS], size = draw(0, MOST_ROWS), is_hostile = !draw(0, 3);
    for (int32_t i = 0; i < size; i++) rows[i] = is_hostile ? draw(-1, MOST_ROWS) : i * draw(1, 2);
    network->keep(network->self, size, rows, draw(0, 15) ? draw(1, 5) : draw_hostile(0, 5));
}

static void take_step_of(Network *network, const ModelSettings *settings) {
    int32_t vocabulary = network->vocabulary, tokens_count = draw(0, MOST_TOKENS), row = 0, heads[4];
    Token *tokens = malloc(sizeof *tokens * (size_t)(tokens_count + 1));
    int32_t *wanted = draw_ids(tokens_count, vocabulary), *ids = draw_ids(tokens_count, vocabulary);
    for (int32_t n = 0; n < tokens_count; n++)
        tokens[n] = (Token){row, ids[n]}, row += draw(0, 3) ? draw(0, 1) : draw(-1, 3);
    int32_t size = draw(0, 15) ? (int32_t)smaller(draw(0, 4), vocabulary) : draw(-1, vocabulary + 1);
    size_t room = (size_t)(size > 0 ? size : 1) * (size_t)(tokens_count + 1);
    float *value = malloc(sizeof(float) * room), *sums = malloc(sizeof(float) * (size_t)(tokens_count + 1));
    float *wanted_logit = malloc(sizeof(float) * (size_t)(tokens_count + 1));
    float *logits = malloc(sizeof(float) * ((size_t)tokens_count * (size_t)vocabulary + 1));
    float *weights = calloc(2 * (size_t)(tokens_count + 1) * LONGEST, sizeof(float));
    int32_t *best_ids = malloc(sizeof(int32_t) * room);
    check(tokens && value && sums && wanted_logit && logits && weights && best_ids, "memory");
    int32_t first = draw(0, 7) ? 0 : draw(-1, vocabulary);
    Best best = {size, first, value, best_ids, sums, draw(0, 1) ? wanted : NULL, wanted_logit};
    for (int i = 0; i < 4; i++) heads[i] = draw(0, 7) ? draw(0, 1) : draw(-2, 5);
    Watched watched = {draw(0, 2), heads, weights, LONGEST, (int64_t)(tokens_count + 1) * LONGEST};
    int gives_all = draw(0, 1);
    network->step(network->self, tokens_count, tokens, gives_all ? logits : NULL,
                  gives_all ? NULL : &best, settings && draw(0, 1) ? &watched : NULL);
    free(tokens), free(wanted), free(ids), free(value), free(sums), free(wanted_logit);
    free(logits), free(weights), free(best_ids);
}

static void use(Network *network, const ModelSettings *settings) {
    for (int turn = 0; turn < TURNS && given < given_end; turn++)
        switch (draw(0, 7)) {
            case 0:
            case 1: admit(network, settings); break;
            case 2: keep(network); break;
            case 3: if (!draw(0, 3)) network->clear(network->self); break;
            default: take_step_of(network, settings);
        }
    network->clear(network->self);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    begin(data, size);
    ModelSettings settings = open_all();
    Network both, other = networks[1];
    use(networks, &settings);
    check(!ensemble_open(2, networks, &both), "open");
    use(&both, &settings);
    ensemble_close(&both);
    Network odd[2] = {networks[0], other};
    odd[1].vocabulary++;
    check(ensemble_open(2, odd, &both) == GF_BAD_REQUEST, "other vocabularies are refused");
    close_all();
    return 0;
}
