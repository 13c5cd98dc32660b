/* The packed weights of a Transformer: made once, then shared by all threads and never written.

Letters: D model width and E width of all heads together, both padded to a multiple of PAD;
V vocabulary; L positions.
*/
#pragma once
#include "attention.h"
#include "linear.h"
#include "network.h"

enum { FP32 = 0, INT8 = 1 };                              /* precisions */
enum { RELU = 0, SILU = 1, GELU = 2 };                    /* activations */
enum { INTERLEAVED = 0, CONCATENATED = 1, LEARNED = 2 };  /* layouts of positions */
enum { THREE_WAY = 0, TWO_WAY = 1, UNTIED = 2 };          /* tied embeddings */
enum { IN_TABLE = 4096 };                                 /* sinusoids that are computed once */
enum { ATTENTION = 0, SSRU = 1 };                         /* what decoder layers begin with */
enum { F32 = 0, F16 = 1, BF16 = 2, I8 = 3 };              /* types of numbers in a file */

/* What config.toml says of the model, and the sizes of both vocabularies. */
typedef struct {
    int32_t precision;
    int32_t d_model, d_ff, heads, head_width, encoder_layers, decoder_layers;
    int32_t is_pre_norm, activation, tie, output_bias;
    int32_t positions, grid, offset, max_positions; /* grid: 0 the paper's, 1 Tensor2Tensor's */
    int32_t source_vocabulary, target_vocabulary, decoder;
    double amplitude, norm_epsilon;
} ModelSettings;

/* A tensor of a file, by the name it has in the model. Int8 numbers have fp32 scales, one for each
row, in a tensor NAME.scale. */
typedef struct {
    const char *name;
    const void *data;
    int64_t bytes;
    int32_t type, rank;
    int64_t shape[2];
} Tensor;

typedef struct {
    const float *gain, *bias; /* D; NULL: no norm */
} Norm;

typedef struct {
    Linear query_key_value, output;                 /* self-attention */
    Linear forget_candidate;                        /* SSRU: 2 D outputs, in its place */
    Linear query, keys_values, cross_output;        /* cross-attention; decoder only */
    Linear inner, outer;                            /* feed-forward network */
    Norm self_norm, cross_norm, norm;               /* self_norm: also of an SSRU */
} Layer;

/* The encoder or the decoder. */
typedef struct {
    int32_t layers, vocabulary;
    Layer *layer;
    Norm last_norm;
    const void *embedding; /* V D, times the square root of d_model; bf16 in int8 models. NULL: the
                              weights of `project`, which are these numbers without the root */
    const float *positions; /* L D, `count_positions` of them */
} Stack;

typedef struct Model {
    ModelSettings settings;
    Heads heads;
    int32_t d_model, d_ff; /* padded to a multiple of PAD */
    Stack encoder, decoder;
    Linear project; /* to the logits */
    const int8_t *outputs; /* F K: its weights, one output after another; NULL: not listed */
    void *memory;   /* all that is to be freed */
} Model;

/* Pack the weights of a model; they may be freed afterwards. If they contradict the settings, return
GF_BAD_MODEL and say why in `reason`, which holds `size` bytes. */
int model_open(const ModelSettings *settings, const Tensor *tensors, int32_t count, Model **model,
               char *reason, int32_t size);
/* Return how many positions have a vector in memory: of sinusoids no more than IN_TABLE, since a file
may ask for any number, and sentences are short. */
static inline int64_t count_positions(const Model *model) {
    int64_t all = model->settings.max_positions;
    return model->settings.positions == LEARNED ? all : smaller(all, IN_TABLE);
}
/* Write the sinusoids of a position (3.5), computed in double precision. */
void make_position(const Model *model, int64_t position, float *to);
/* List the weights of each output, which short-lists need; once, and in int8. */
int model_list_outputs(Model *model);
void model_close(Model *model);

/* Make a network for one thread: a KV cache and scratch memory of its own over shared weights. */
int network_open(const Model *model, Network *network);
void network_close(Network *network);
