// Matrix products for training in bf16, summed in fp32, on AMX tiles.
//
// A tile holds 16 rows of 64 bytes. A product of tiles needs pairs of neighbouring rows side by
// side in its right operand. "Packed" below means: cut into panels of 32 columns, these into steps
// of 32 rows, and a step into two such tiles. Sizes are padded to multiples of 32 with zeros.
//
// Every sum is taken in the same order for any number of threads.

#include "tiles.h"

#ifdef HAS_TILES
int omp_get_thread_num(void), omp_get_num_threads(void);  // Clang may lack <omp.h>

enum { STEP = 32, CELLS = 1024 };     // a step of a panel has 32 x 32 values
enum { RIGHT = 1 << 19 };             // values of the right side that stay in a core's cache
enum { DEPTH = 256, WIDE = 512, HIGH = 512 };  // of a block in `outer`

#define UP(n) (((n) + STEP - 1) / STEP * STEP)
#define MIN(a, b) ((a) < (b) ? (a) : (b))

int has_tiles(void) { return ask_for_tiles(); }

static inline __m512i round_32(const float *x, long there) {
    __mmask32 real = first_of(there);
    __m512 a = _mm512_maskz_loadu_ps((__mmask16)real, x);
    __m512 b = _mm512_maskz_loadu_ps((__mmask16)(real >> 16), x + 16);
    return (__m512i)_mm512_cvtne2ps_pbh(b, a);
}

// Packs a weight W, F x I, in fp32, as the right side of x Wᵀ (`ahead`, I x F) and of y W (`back`,
// F x I). `ahead` begins at the panel, `back` at the step where this weight belongs;
// `back_depth` is the depth of all of `back`, a multiple of 32. Either may be NULL.
int pack_weight(const float *w, long outs, long ins, bf16 *ahead, bf16 *back, long back_depth,
                 int threads) {
    long steps = UP(ins) / STEP;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (long panel = 0; panel < UP(outs) / STEP; panel++) {
        for (long step = 0; step < steps; step++) {
            __m512i row[32];
            long f0 = panel * STEP, i0 = step * STEP;
            for (int i = 0; i < 32; i++)
                row[i] = f0 + i < outs ? round_32(w + (f0 + i) * ins + i0, ins - i0)
                                       : _mm512_setzero_si512();
            if (back) {
                bf16 *to = back + step * back_depth * STEP + panel * CELLS;
                for (int i = 0; i < 16; i++) {
                    __m512i first, last;
                    zip_rows(row[2 * i], row[2 * i + 1], &first, &last);
                    _mm512_storeu_si512(to + i * 32, first);
                    _mm512_storeu_si512(to + 512 + i * 32, last);
                }
            }
            if (ahead) {
                bf16 *to = ahead + panel * steps * CELLS + step * CELLS;
                turn_pairs(row), turn_pairs(row + 16);
                for (int i = 0; i < 32; i++) _mm512_storeu_si512(to + i * 32, row[i]);
            }
        }
    }
    return 0;
}

// Packs 32 rows of the left side as tiles: for each step the 16 upper, then the 16 lower rows. A
// few lines are packed at a time, while the previous product is computed.
typedef struct {
    const bf16 *from;
    long stride, rows, depth, steps, row, step;
    bf16 *to;
} Packing;

static inline void pack_lines(Packing *p, long lines) {
    for (; lines > 0 && p->row < STEP; lines--) {
        __m512i x = _mm512_setzero_si512();
        if (p->row < p->rows)
            x = _mm512_maskz_loadu_epi16(first_of(p->depth - p->step * STEP),
                                         p->from + p->row * p->stride + p->step * STEP);
        _mm512_store_si512(p->to + p->step * CELLS + p->row * STEP, x);
        if (++p->step == p->steps) p->step = 0, p->row++;
    }
}

// The operations on 32 x 32 sums before they are written, a few rows at a time.
typedef struct {
    const float *sums;
    long row, rows, gate_stride, stride;
    __m512 bias[2], scale;
    __mmask32 real;
    int relu;
    const bf16 *gate;
    bf16 *to;
    float *totals;
} Finish;

static inline void finish_rows(Finish *f, long rows) {
    const __m512 zero = _mm512_setzero_ps();
    for (; rows > 0 && f->row < f->rows; rows--, f->row++) {
        __m512 one = _mm512_add_ps(_mm512_load_ps(f->sums + f->row * 32), f->bias[0]);
        __m512 two = _mm512_add_ps(_mm512_load_ps(f->sums + f->row * 32 + 16), f->bias[1]);
        if (f->totals) {
            one = _mm512_maskz_mov_ps((__mmask16)f->real, exponential_16(one));
            two = _mm512_maskz_mov_ps((__mmask16)(f->real >> 16), exponential_16(two));
            f->totals[f->row] += _mm512_reduce_add_ps(_mm512_add_ps(one, two));
        }
        if (f->relu) one = _mm512_max_ps(one, zero), two = _mm512_max_ps(two, zero);
        __mmask32 kept = f->real;
        if (f->gate) {
            one = _mm512_mul_ps(one, f->scale), two = _mm512_mul_ps(two, f->scale);
            __m512i gate = _mm512_maskz_loadu_epi16(f->real, f->gate + f->row * f->gate_stride);
            kept = _mm512_test_epi16_mask(gate, _mm512_set1_epi16(0x7fff));
        }
        __m512i low = _mm512_maskz_mov_epi16(kept, (__m512i)_mm512_cvtne2ps_pbh(two, one));
        if (f->real == 0xffffffffu)
            _mm512_storeu_si512(f->to + f->row * f->stride, low);
        else
            _mm512_mask_storeu_epi16(f->to + f->row * f->stride, f->real, low);
    }
}

static inline void multiply_step(const bf16 *left, const bf16 *right) {
    _tile_loadd(4, left, 64);
    _tile_loadd(6, right, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, right + 512, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, left + 512, 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
}

static inline void clear_sums(void) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

static inline void store_sums(float *to) {
    _tile_stored(0, to, 128);
    _tile_stored(1, to + 16, 128);
    _tile_stored(2, to + 512, 128);
    _tile_stored(3, to + 528, 128);
}

static inline void load_sums(const float *from) {
    _tile_loadd(0, from, 128);
    _tile_loadd(1, from + 16, 128);
    _tile_loadd(2, from + 512, 128);
    _tile_loadd(3, from + 528, 128);
}

// Computes y = x B + bias, bf16; x is `rows` x `depth`, B packed with `columns` real columns.
// relu: negative values become 0. totals: exponentials are taken instead, and the sum of each row
// is written there. gate: y is scaled where the gate is not 0, and 0 elsewhere.
int multiply_packed(const bf16 *x, long x_stride, long rows, long depth, const bf16 *right,
                     long columns, const float *bias, int relu, const bf16 *gate, long gate_stride,
                     float scale, float *totals, bf16 *y, long y_stride, int threads) {
    long steps = UP(depth) / STEP, panels = UP(columns) / STEP, blocks = UP(rows) / STEP;
    long group = RIGHT / (steps * CELLS);
    group = group < 1 ? 1 : group;
    long groups = (panels + group - 1) / group;
    group = (panels + groups - 1) / groups;  // panels in a group; groups are about equal
    groups = (panels + group - 1) / group;
    long lines = (STEP + group - 1) / group, finished = (STEP + steps - 1) / steps;
    if (threads > blocks) threads = blocks;
    int failed = 0;
#pragma omp parallel num_threads(threads)
    {
        use_tiles();
        bf16 *left = room(2 * steps * CELLS, 2);
        if (!left) failed = 1;
#pragma omp barrier
        float sums[2 * CELLS] __attribute__((aligned(64)));
        long count = omp_get_num_threads(), own = omp_get_thread_num();
        long begin = blocks * own / count, end = blocks * (own + 1) / count;
        long turns = failed ? 0 : end - begin;
        Packing next = {.row = STEP};
        Finish last = {.rows = 0};
        int side = 0;
        if (totals && turns) memset(totals + begin * STEP, 0, MIN(turns * STEP, rows - begin * STEP) * 4);
        for (long turn = -1; turn < groups * turns; turn++) {
            const bf16 *here = next.to;
            pack_lines(&next, steps * STEP);  // the rest of it
            if (turn + 1 < groups * turns) {
                long first = (begin + (turn + 1) % turns) * STEP;
                next = (Packing){x + first * x_stride, x_stride, MIN(rows - first, STEP), depth,
                                 steps, 0, 0, left + (turn + 1) % 2 * steps * CELLS};
            }
            if (turn < 0) continue;
            long first = (begin + turn % turns) * STEP, p0 = turn / turns * group;
            for (long panel = p0; panel < MIN(p0 + group, panels); panel++) {
                const bf16 *b = right + panel * steps * CELLS;
                clear_sums();
                for (long s = 0; s < steps; s++) {
                    multiply_step(here + s * CELLS, b + s * CELLS);
                    pack_lines(&next, lines);
                    finish_rows(&last, finished);
                }
                finish_rows(&last, STEP);
                side = !side;
                store_sums(sums + side * CELLS);
                last.sums = sums + side * CELLS;
                last.row = 0, last.rows = MIN(rows - first, STEP);
                last.real = first_of(columns - panel * STEP), last.relu = relu;
                for (int i = 0; i < 2; i++)
                    last.bias[i] = bias ? _mm512_maskz_loadu_ps((__mmask16)(last.real >> 16 * i),
                                                                bias + panel * STEP + 16 * i)
                                        : _mm512_setzero_ps();
                last.scale = _mm512_set1_ps(scale);
                last.totals = totals ? totals + first : NULL;
                last.gate = gate ? gate + first * gate_stride + panel * STEP : NULL;
                last.gate_stride = gate_stride, last.stride = y_stride;
                last.to = y + first * y_stride + panel * STEP;
            }
        }
        finish_rows(&last, STEP);
        free(left);
        _tile_release();
    }
    return failed;
}

// Computes y = x B in fp32, for a B that is far deeper than wide, in slices of its depth.
int multiply_deep(const bf16 *x, long x_stride, long rows, long depth, const bf16 *right,
                   long columns, float *y, int threads) {
    long steps = UP(depth) / STEP, panels = UP(columns) / STEP, blocks = UP(rows) / STEP;
    long slice = RIGHT / (panels * CELLS);
    slice = slice < 1 ? 1 : slice;
    if (threads > blocks) threads = blocks;
    int failed = 0;
#pragma omp parallel num_threads(threads)
    {
        use_tiles();
        bf16 *left = room(slice * CELLS, 2);
        long count = omp_get_num_threads(), own = omp_get_thread_num();
        long begin = blocks * own / count, end = blocks * (own + 1) / count;
        float *sums = room((end - begin) * panels * CELLS, 4);
        if (!(left && sums)) failed = 1;
#pragma omp barrier
        if (failed) end = begin;
        for (long s0 = 0; s0 < steps; s0 += slice) {
            long here = MIN(slice, steps - s0);
            for (long block = begin; block < end; block++) {
                long first = block * STEP;
                Packing all = {x + first * x_stride + s0 * STEP, x_stride, MIN(rows - first, STEP),
                               depth - s0 * STEP, here, 0, 0, left};
                pack_lines(&all, here * STEP);
                for (long panel = 0; panel < panels; panel++) {
                    float *at = sums + ((block - begin) * panels + panel) * CELLS;
                    const bf16 *b = right + (panel * steps + s0) * CELLS;
                    if (s0) load_sums(at); else clear_sums();
                    for (long s = 0; s < here; s++) multiply_step(left + s * CELLS, b + s * CELLS);
                    store_sums(at);
                }
            }
        }
        for (long row = begin * STEP; row < MIN(end * STEP, rows); row++)
            for (long c = 0; c < columns; c++)
                y[row * columns + c] =
                    sums[((row / STEP - begin) * panels + c / STEP) * CELLS + row % STEP * STEP + c % STEP];
        free(left), free(sums);
        _tile_release();
    }
    return failed;
}

static inline void load_pair(const bf16 *from, long stride, long row, long rows, __mmask32 real,
                             __m512i *first, __m512i *last) {
    __m512i zero = _mm512_setzero_si512();
    __m512i one = row < rows ? _mm512_maskz_loadu_epi16(real, from + row * stride) : zero;
    __m512i two = row + 1 < rows ? _mm512_maskz_loadu_epi16(real, from + (row + 1) * stride) : zero;
    zip_rows(one, two, first, last);
}

static inline void add_up(const __m512i *pairs, __mmask16 real, float *to) {
    const __m512bh ones = (__m512bh)_mm512_set1_epi16(0x3f80);
    __m512 sum = _mm512_maskz_loadu_ps(real, to), other = _mm512_setzero_ps();
    for (int i = 0; i < 16; i += 2) {
        sum = _mm512_dpbf16_ps(sum, (__m512bh)pairs[i], ones);
        other = _mm512_dpbf16_ps(other, (__m512bh)pairs[i + 1], ones);
    }
    _mm512_mask_storeu_ps(to, real, _mm512_add_ps(sum, other));
}

// Packs `rows` of y, transposed: for each 32 columns of y and 32 rows, two tiles of 16 columns x 32
// rows. Also sums the columns, unless `sums` is NULL.
static void pack_turned(const bf16 *y, long stride, long rows, long columns, bf16 *to, float *sums) {
    long steps = UP(rows) / STEP;
    for (long s = 0; s < steps; s++) {
        for (long c = 0; c < columns; c += STEP) {
            __mmask32 real = first_of(columns - c);
            __m512i a[16], b[16];
            for (int i = 0; i < 16; i++)
                load_pair(y + c, stride, s * STEP + 2 * i, rows, real, a + i, b + i);
            if (sums) {
                add_up(a, (__mmask16)real, sums + c);
                add_up(b, (__mmask16)(real >> 16), sums + c + 16);
            }
            turn_pairs(a), turn_pairs(b);
            bf16 *tile = to + c * steps * STEP + s * CELLS;
            for (int i = 0; i < 16; i++) {
                _mm512_store_si512(tile + i * 32, a[i]);
                _mm512_store_si512(tile + 512 + i * 32, b[i]);
            }
        }
    }
}

// Packs `rows` of x as a right side.
static void pack_right(const bf16 *x, long stride, long rows, long columns, bf16 *to) {
    long steps = UP(rows) / STEP;
    for (long s = 0; s < steps; s++) {
        for (int i = 0; i < 16; i++) {
            for (long c = 0; c < columns; c += STEP) {
                bf16 *tile = to + c * steps * STEP + s * CELLS + i * 32;
                __m512i first, last;
                load_pair(x + c, stride, s * STEP + 2 * i, rows, first_of(columns - c), &first, &last);
                _mm512_store_si512(tile, first);
                _mm512_store_si512(tile + 512, last);
            }
        }
    }
}

// Computes sums (+)= left right, where the left side has `outs` and the right side `ins` columns.
// Each block of 32 x 32 sums is contiguous.
static void multiply_block(const bf16 *left, long outs, const bf16 *right, long ins, long steps,
                           int is_first, float *sums) {
    for (long f = 0; f < outs; f += STEP) {
        for (long i = 0; i < ins; i += STEP, sums += CELLS) {
            const bf16 *a = left + f * steps * STEP, *b = right + i * steps * STEP;
            if (is_first) clear_sums(); else load_sums(sums);
            for (long s = 0; s < steps; s++) multiply_step(a + s * CELLS, b + s * CELLS);
            store_sums(sums);
        }
    }
}

static void write_block(const float *sums, long outs, long ins, float *w, long stride, int add) {
    long across = UP(ins) / STEP;
    for (long f = 0; f < outs; f++, w += stride) {
        for (long i = 0; i < ins; i += STEP) {
            const float *from = sums + (f / STEP * across + i / STEP) * CELLS + f % STEP * STEP;
            long n = MIN(STEP, ins - i);
            if (add)
                for (long j = 0; j < n; j++) w[i + j] += from[j];
            else
                memcpy(w + i, from, n * 4);
        }
    }
}

// Computes w = yᵀ x, F x I, fp32, where y is `rows` x `outs` and x is `rows` x `ins`; and the sums
// of y's columns in `totals`, unless that is NULL. `add`: adds to w.
int multiply_turned(const bf16 *y, long y_stride, long outs, const bf16 *x, long x_stride,
                     long ins, long rows, float *w, float *totals, int add, int threads) {
    long wide = MIN(WIDE, UP(ins)), across = (ins + wide - 1) / wide, down = 1, high;
    do high = UP((outs + down - 1) / down);  // as many blocks as keep all threads busy
    while ((high > HIGH || down * across % threads) && high > STEP && down++);
    down = (outs + high - 1) / high;
    int failed = 0;
#pragma omp parallel num_threads(threads)
    {
        use_tiles();
        bf16 *left = room(high * DEPTH, 2), *right = room(wide * DEPTH, 2);
        float *sums = room(high * wide, 4);
        if (!(left && right && sums)) failed = 1;
#pragma omp barrier
        long todo = failed ? 0 : down * across;
#pragma omp for schedule(static)
        for (long block = 0; block < todo; block++) {
            long f0 = block / across * high, i0 = block % across * wide;
            long fs = MIN(high, outs - f0), is = MIN(wide, ins - i0);
            float *own = totals && !i0 ? totals + f0 : NULL;
            if (own) memset(own, 0, fs * 4);
            for (long r = 0; r < rows; r += DEPTH) {
                long deep = MIN(DEPTH, rows - r);
                pack_turned(y + r * y_stride + f0, y_stride, deep, fs, left, own);
                pack_right(x + r * x_stride + i0, x_stride, deep, is, right);
                multiply_block(left, fs, right, is, UP(deep) / STEP, !r, sums);
            }
            write_block(sums, fs, is, w + f0 * ins + i0, ins, add);
        }
        free(left), free(right), free(sums);
        _tile_release();
    }
    return failed;
}

#else
int has_tiles(void) { return 0; }
#endif
