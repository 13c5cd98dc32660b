/* The encoder and decoder of a Transformer in int8; each decoding step is one call.

Letters: N queries, one for each new token of a row; S source positions; D model width; F inner
width of the feed-forward network; E width of all heads together; V vocabulary.
The result of a row does not depend on other rows, nor on the number of threads.
*/
int omp_get_thread_num(void), omp_get_num_threads(void); /* Clang may lack <omp.h> */
#include "int8.h"
#include "attention.h"
#include "topk.h"

typedef struct {
    Map query_key_value, output, query, memory, cross_output, inner, outer;
    Norm self_norm, cross_norm, norm;
} Layer;

typedef struct {
    int64_t width, model, inside, heads; /* width of a head; D; F; number of heads */
    int64_t is_post, activation, tiled, layers;
    double epsilon;
    const Layer *layer;
    Norm last_norm; /* if gain is NULL: none */
    const bf16 *words;  /* V D, scaled by the square root of D */
    const float *places; /* positions D */
    int64_t vocabulary, reach; /* V; number of positions */
} Side;

/* The scratch memory of a step. */
typedef struct {
    const Side *side;
    int64_t rows, wide; /* N; floats in a row of `y` */
    float *x, *y, *seen, *scales, *scores, *logits;
    Tally *tally; /* N */
    uint8_t *whole;
    int64_t stride, scratch; /* bytes in a row of `whole`; floats of scores for a thread */
    int thread, threads;
} Work;

#define GAP 16            /* floats between rows */
#define IN_CACHE (1 << 17) /* floats that stay in a core's cache beside weights */

static int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

int decode_level(void) {
#if defined HAS_TILES
    return ask_for_tiles() ? 3 : 2;
#elif defined __AVX512VNNI__ || defined __AVXVNNI__
    return 2;
#else
    return 1;
#endif
}

void decode_pack(const float *weight, int64_t outputs, int64_t inputs, int64_t padded,
                 int8_t *packed, float *scale, int32_t *sum) {
    pack_map(weight, outputs, inputs, padded, packed, scale, sum);
}

/* Compute y of one linear map; used by tests. */
void decode_multiply(const Map *map, const float *x, int64_t rows, int64_t inputs, int32_t zero,
                     int tiled, int relu, uint8_t *whole, float *scales, float *y) {
    int64_t stride = map->inputs + 64;
    for (int64_t n = 0; n < rows; n++)
        scales[n] = round_row(x + n * inputs, inputs, map->inputs, zero, whole + n * stride);
    Rows in = {whole, scales, stride, zero};
    multiply(map, &in, rows, 0, map->outputs, tiled, relu, y, map->outputs);
}

static void share_rows(const Work *work, int64_t count, int64_t *first, int64_t *last) {
    *first = count * work->thread / work->threads;
    *last = count * (work->thread + 1) / work->threads;
}

/* Quantize the rows of `in` for the next product. */
static void round_rows(const Work *work, const float *in, int64_t row, int64_t inputs,
                       int32_t zero) {
    int64_t first, last;
    share_rows(work, work->rows, &first, &last);
    for (int64_t n = first; n < last; n++)
        work->scales[n] = round_row(in + n * row, inputs, round_up(inputs, 64), zero,
                                    work->whole + n * work->stride);
}

static void project(const Work *work, const Map *map, int32_t zero, int relu, float *y,
                    int64_t y_stride) {
    int64_t first, last;
    share_out(map->outputs, work->thread, work->threads, &first, &last);
    Rows in = {work->whole, work->scales, work->stride, zero};
    multiply(map, &in, work->rows, first, last, work->side->tiled, relu, y, y_stride);
}

/* Apply the residual connection: add the output of a sub-layer to x, and quantize x for the next
one. `own` is the norm of this sub-layer, `next` of the one that follows. */
static void settle(const Work *work, int is_first, Norm own, Norm next) {
    const Side *side = work->side;
    int64_t first, last, size = side->model;
    share_rows(work, work->rows, &first, &last);
    for (int64_t n = first; n < last; n++) {
        float *x = work->x + n * size, *y = work->y + n * work->wide;
        if (!is_first) {
#pragma omp simd
            for (int64_t i = 0; i < size; i++) x[i] += y[i];
            if (side->is_post) normalise(x, size, own, side->epsilon, x);
        }
        float *in = x;
        if (!side->is_post && next.gain) normalise(x, size, next, side->epsilon, in = y);
        work->scales[n] = round_row(in, size, round_up(size, 64), 128,
                                    work->whole + n * work->stride);
    }
}

/* Compute the last product of a sub-layer from `whole`, and its residual connection. */
static void join(const Work *work, const Map *map, int32_t zero, Norm own, Norm next) {
    project(work, map, zero, 0, work->y, work->wide);
#pragma omp barrier
    settle(work, 0, own, next);
#pragma omp barrier
}

static void think(const Work *work, const Layer *layer, Norm next) {
    const Side *side = work->side;
    int relu = side->activation == RELU, zero = relu ? 0 : 128;
    project(work, &layer->inner, 128, relu, work->y, work->wide);
#pragma omp barrier
    if (!relu) {
        int64_t first, last;
        share_rows(work, work->rows, &first, &last);
        for (int64_t n = first; n < last; n++)
            activate(work->y + n * work->wide, side->inside, side->activation);
    }
    round_rows(work, work->y, work->wide, side->inside, zero);
#pragma omp barrier
    join(work, &layer->outer, zero, layer->norm, next);
}

/* Compute attention over `views` for every query, which is at the front of its row of `y`. */
static void look_all(const Work *work, const View *views) {
    const Side *side = work->side;
    int64_t first, last, heads = side->heads, every = heads * side->width;
    int64_t parts = work->rows >= 4 * work->threads ? 1 : heads;
    share_rows(work, work->rows * parts, &first, &last);
    float *scores = work->scores + work->thread * work->scratch;
    for (int64_t item = first; item < last; item++) {
        int64_t n = item / parts, h = item % parts;
        View next = {NULL, NULL, 0};
        if (parts == 1 && item + 1 < last && views[n].table != views[n + 1].table) next = views[n + 1];
        if (parts == 1 && item + 1 < last && views[n].places) next = views[n + 1];
        look(work->y + n * work->wide, views[n], next, every, side->width, parts > 1 ? h : 0,
             parts > 1 ? h + 1 : heads, scores, work->scratch / SIDE_BY_SIDE,
             work->seen + n * every);
    }
#pragma omp barrier
    round_rows(work, work->seen, every, every, 128);
#pragma omp barrier
}

/* Return whether every token and every position is in its table. */
static int are_there(const Side *side, int64_t rows, const int64_t *ids, const int64_t *positions) {
    for (int64_t n = 0; n < rows; n++)
        if (ids[n] < 0 || ids[n] >= side->vocabulary || positions[n] < 0 ||
            positions[n] >= side->reach)
            return 0;
    return 1;
}

static void embed(const Work *work, const int64_t *ids, const int64_t *positions) {
    int64_t first, last, size = work->side->model;
    share_rows(work, work->rows, &first, &last);
    for (int64_t n = first; n < last; n++) {
        const bf16 *word = work->side->words + ids[n] * size;
        const float *place = work->side->places + positions[n] * size;
        float *x = work->x + n * size;
#pragma omp simd
        for (int64_t i = 0; i < size; i++) x[i] = widen(word[i]) + place[i];
    }
}

/* Return the number of floats for the scores of one thread. */
static int64_t count_seats(int64_t longest) { return SIDE_BY_SIDE * (round_up(longest, PART) + PART); }

/* Return the logits of a row to compute at a time, so that those of all rows stay in cache. */
static int64_t count_logits(int64_t rows) {
    return most(IN_CACHE / most(rows, 1) / BLOCK, 1) * BLOCK;
}

/* Return the floats in a row of `y`: no power of two, whose rows would share cache lines. */
static int64_t across(const Side *side) {
    int64_t all = most(3 * side->heads * side->width, most(side->inside, side->model));
    return round_up(all, 32) + GAP;
}

/* Return the bytes of scratch memory for `rows`; `longest`: the most positions one attends to. */
int64_t decode_room(const Side *side, int64_t rows, int64_t longest, int threads) {
    int64_t every = side->heads * side->width, size = side->model;
    int64_t wide = across(side), logits = count_logits(rows) + GAP;
    int64_t stride = round_up(most(size, most(every, side->inside)), 64) + 64;
    int64_t floats = rows * (size + wide + every + logits + 3) + threads * count_seats(longest);
    return 4 * floats + round_up(rows, 32) * stride + round_up(rows * sizeof(View), 64) + 1024;
}

static Work arrange(const Side *side, int64_t rows, int64_t longest, int threads, char *room,
                    View **views) {
    int64_t every = side->heads * side->width, size = side->model;
    Work work = {.side = side, .rows = rows, .threads = threads};
    work.wide = across(side);
    work.stride = round_up(most(size, most(every, side->inside)), 64) + 64;
    work.scratch = count_seats(longest);
    room = (char *)round_up((int64_t)room, 64);
    work.whole = (uint8_t *)room;
    *views = (View *)(room += round_up(rows, 32) * work.stride);
    work.y = (float *)(room += round_up(rows * sizeof(View), 64));
    work.x = work.y + rows * work.wide;
    work.seen = work.x + rows * size;
    work.scales = work.seen + rows * every;
    work.tally = (Tally *)(work.scales + rows);
    work.scores = (float *)round_up((int64_t)(work.tally + rows), 64);
    work.logits = work.scores + threads * work.scratch;
    return work;
}

/* Embed and quantize the tokens for the first product; return the work of this thread. */
static Work begin(Work own, const int64_t *ids, const int64_t *positions) {
    Norm first = own.side->layer->self_norm;
    own.thread = omp_get_thread_num();
    own.threads = omp_get_num_threads();
    embed(&own, ids, positions);
    settle(&own, 1, first, first);
#pragma omp barrier
    return own;
}

/* Encode `count` sources that lie one after the other without padding. `start` has the first token
of each, and the end. The keys and values of each decoder layer are written to `memory`, layers N
2E. Returns 0 where a token or position is not in its table. */
int decode_read(const Side *side, const Side *decoder, const int64_t *ids,
                 const int64_t *positions, const int64_t *start, int64_t count, int64_t longest,
                 bf16 *table, bf16 *memory, char *room, int threads) {
    int64_t rows = start[count], every = side->heads * side->width;
    if (!are_there(side, rows, ids, positions)) return 0;
    View *views;
    Work shared = arrange(side, rows, longest, threads, room, &views);
    for (int64_t b = 0; b < count; b++)
        for (int64_t n = start[b]; n < start[b + 1]; n++)
            views[n] = (View){table + start[b] * 2 * every, NULL, start[b + 1] - start[b]};
#pragma omp parallel num_threads(threads)
    {
        Work own = begin(shared, ids, positions), *work = &own;
        int64_t first, last;
        share_rows(work, rows, &first, &last);
        for (int64_t l = 0; l < side->layers; l++) {
            const Layer *layer = side->layer + l;
            Norm next = l + 1 < side->layers ? layer[1].self_norm : side->last_norm;
            project(work, &layer->query_key_value, 128, 0, work->y, work->wide);
#pragma omp barrier
            for (int64_t n = first; n < last; n++)
                keep_row(work->y + n * work->wide + every, every, table + n * 2 * every);
#pragma omp barrier
            look_all(work, views);
            join(work, &layer->output, 128, layer->self_norm, layer->norm);
            think(work, layer, next);
        }
        for (int64_t l = 0; l < decoder->layers; l++) {
            project(work, &decoder->layer[l].memory, 128, 0, work->y, work->wide);
#pragma omp barrier
            for (int64_t n = first; n < last; n++)
                keep_row(work->y + n * work->wide, every, memory + (l * rows + n) * 2 * every);
#pragma omp barrier
        }
    }
    return 1;
}

/* Answer the question about the logits, which are not kept. */
static void answer(const Work *work, const Map *map, const Question *question) {
    int64_t first, last, width = count_logits(work->rows), row = width + GAP;
    share_rows(work, work->rows, &first, &last);
    for (int64_t n = first; n < last; n++) work->tally[n] = begin_survey(question, n);
    for (int64_t v = 0; v < map->outputs; v += width) {
        Map part = take_outputs(map, v, width);
        project(work, &part, 128, 0, work->logits, row);
#pragma omp barrier
        for (int64_t n = first; n < last; n++)
            read_on(question, n, work->logits + n * row, v, v + part.outputs, work->tally + n);
#pragma omp barrier
    }
    for (int64_t n = first; n < last; n++) end_survey(question, n, work->tally[n]);
}

/* Compute one decoding step. Query n attends to `count[n]` slots of `tables`, which are listed from
`lists + list[n]` on; new[n] is its own slot, and layers are `table_size` bf16 apart. In memory it
attends to `length[n]` rows at `memory[n]`, whose layers are `apart[n]` bf16 apart. Logits: N V,
rows `row` floats apart; NULL: only `question` is answered. Returns 0 where a token or position is
not in its table. */
int decode_step(const Side *side, const Map *last_map, int64_t rows, const int64_t *ids,
                 const int64_t *positions, const int32_t *lists, const int64_t *list,
                 const int64_t *count, const int32_t *new, bf16 *tables, int64_t table_size,
                 const int64_t *memory, const int64_t *apart, const int64_t *length,
                 int64_t longest, float *logits, int64_t row, const Question *question,
                 char *room, int threads) {
    int64_t every = side->heads * side->width;
    if (!are_there(side, rows, ids, positions)) return 0;
    View *views;
    Work shared = arrange(side, rows, longest, threads, room, &views);
#pragma omp parallel num_threads(threads)
    {
        Work own = begin(shared, ids, positions), *work = &own;
        int64_t first, last;
        share_rows(work, rows, &first, &last);
        for (int64_t l = 0; l < side->layers; l++) {
            const Layer *layer = side->layer + l;
            Norm next = l + 1 < side->layers ? layer[1].self_norm : side->last_norm;
            bf16 *table = tables + l * table_size;
            project(work, &layer->query_key_value, 128, 0, work->y, work->wide);
#pragma omp barrier
            for (int64_t n = first; n < last; n++) {
                keep_row(work->y + n * work->wide + every, every, table + new[n] * 2 * every);
                views[n] = (View){table, lists + list[n], count[n]};
            }
#pragma omp barrier
            look_all(work, views);
            join(work, &layer->output, 128, layer->self_norm, layer->cross_norm);
            project(work, &layer->query, 128, 0, work->y, work->wide);
            for (int64_t n = first; n < last; n++)
                views[n] = (View){(const bf16 *)memory[n] + l * apart[n], NULL, length[n]};
#pragma omp barrier
            look_all(work, views);
            join(work, &layer->cross_output, 128, layer->cross_norm, layer->norm);
            think(work, layer, next);
        }
        if (logits) project(work, last_map, 128, 0, logits, row);
        else answer(work, last_map, question);
    }
    return 1;
}
