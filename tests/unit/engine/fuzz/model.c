/* Models whose settings and tensors lie: refused with a reason, or harmless. */
#include <stddef.h>
#include "hostile.h"

static void spoil_settings(ModelSettings *settings) {
    int32_t *fields = (int32_t *)settings; /* the two doubles come last */
    enum { FIELDS = offsetof(ModelSettings, amplitude) / sizeof(int32_t) };
    for (int32_t left = draw(0, 3); left; left--) {
        int32_t field = draw(0, FIELDS + 1);
        if (field < FIELDS) fields[field] = draw_hostile(0, 20);
        else if (field == FIELDS) settings->amplitude = draw_hostile_double();
        else settings->norm_epsilon = draw_hostile_double();
    }
}

/* The number of bytes is that of the memory: whoever calls knows it. */
static void spoil_tensors(void) {
    for (int32_t left = draw(0, 3); left; left--) {
        Tensor *x = tensors + draw(0, count - 1), *other = tensors + draw(0, count - 1);
        switch (draw(0, 6)) {
            case 0: x->shape[0] = draw_hostile(0, 90); break;
            case 1: x->shape[1] = draw_hostile(0, 90); break;
            case 2: x->bytes = smaller(x->bytes, draw(0, 9000)); break;
            case 3: x->type = draw_hostile(F32, I8); break;
            case 4: x->rank = draw_hostile(0, 3); break;
            case 5: x->name = other->name; break;
            default: count--, free((void *)tensors[count].data);
        }
        if (!count) return;
    }
}

static void use(const ModelSettings *settings) {
    Network network;
    if (network_open(model, &network) != GF_OK) return;
    int32_t sources[2] = {draw(-1, 40), draw(-1, 40)}, size;
    float *logits = malloc(sizeof(float) * (size_t)network.vocabulary);
    for (size = 1; logits && size < 3; size++) {
        Text text = {sources, size, NULL};
        Token token = {0, draw(-1, 40)};
        if (settings->max_positions > 1 << 12) break; /* right, but slow */
        if (network.admit(network.self, 1, &text, 1) == GF_OK)
            network.step(network.self, 1, &token, logits, NULL, NULL);
    }
    free(logits);
    network_close(&network);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char reason[200] = "";
    begin(data, size);
    ModelSettings settings = draw_model();
    int32_t made = count;
    spoil_numbers();
    spoil_settings(&settings);
    if (settings.max_positions > 1 << 16) settings.max_positions = 1 << 16;
    spoil_tensors();
    int32_t room = draw(0, 3) ? (int32_t)sizeof reason : draw(0, 9);
    int error = model_open(&settings, tensors, count, &model, reason, room);
    check(error || model, "a model comes back");
    check(!error || !model, "none after an error");
    check(error != GF_BAD_MODEL || room < (int32_t)sizeof reason || *reason, "with a reason");
    if (!error && draw(0, 1)) model_list_outputs(model), model_list_outputs(model);
    free_tensors();
    if (!error) use(&settings);
    model_close(model);
    return made < 0;
}
