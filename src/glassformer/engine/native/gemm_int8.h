/* The product of quantized rows with an int8 linear map: exact sums of integers, then scales.

The result of a row does not depend on other rows. The sums are the same on all instruction sets;
only AVX2 without VNNI has other weights: see `find_scale`.
*/
#pragma once
#include "linear.h"

/* What sums are finished with, for LANES outputs. */
typedef struct {
    Vec scale, bias;
} Factors;

INLINE Factors load_factors(const Linear *map, int64_t f) {
    return (Factors){v_load(map->scale + f), v_load(map->bias + f)};
}

/* Write outputs: sums times both scales, plus bias, with ReLU if wanted. */
INLINE void finish(Vec sums, Factors factors, float scale, int relu, float *y) {
    Vec out = sums * factors.scale * v_set(scale) + factors.bias;
    v_store(y, relu ? v_max(v_set(0), out) : out); /* NaN stays */
}

/* Each instruction set has `add_products`, which adds the products of STEP inputs, broadcast as
groups of four bytes, with the weights of LANES outputs, four bytes each too. DOWN rows and ACROSS
outputs are computed at once, so that the sums stay in registers. Where vectors are wide,
`add_fours` adds to each sum the products of four bytes with four. */
#if defined __AVX512VNNI__ || defined __AVXVNNI__ || FLIP
typedef Ints Sums;
#define STEP 4
#define DOWN 6
INLINE Ints add_fours(Ints sums, Ints x, Ints w) {
#ifdef __AVX512VNNI__
#define ACROSS 64
    return (Ints)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)x, (__m512i)w);
#elif defined __AVXVNNI__
#define ACROSS 16
    return (Ints)_mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)x, (__m256i)w);
#else
#define ACROSS 16
    return (Ints)vdotq_s32((int32x4_t)sums, (int8x16_t)x, (int8x16_t)w);
#endif
}
INLINE Sums add_products(Sums sums, const Ints *x, const Ints *w) { return add_fours(sums, *x, *w); }

#elif PAIRED
typedef Ints Sums;
#define STEP (4 * PAIRED)
#define DOWN 4
#define ACROSS 16
INLINE Sums add_products(Sums sums, const Ints *x, const Ints *w) {
    __m256i one = _mm256_maddubs_epi16((__m256i)x[0], (__m256i)w[0]);
    __m256i both = _mm256_add_epi16(one, _mm256_maddubs_epi16((__m256i)x[1], (__m256i)w[1]));
    return sums + (Ints)_mm256_madd_epi16(both, _mm256_set1_epi16(1));
}
INLINE Ints add_fours(Ints sums, Ints x, Ints w) {
    __m256i pairs = _mm256_maddubs_epi16((__m256i)x, (__m256i)w);
    return sums + (Ints)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

#else /* any processor: products of 16-bit numbers, LANES being 4 */
typedef struct {
    Ints first, last; /* of two outputs each: of the first two inputs of four, of the other two */
} Sums;
#define STEP 4
#define DOWN 4
#define ACROSS 8
typedef int16_t Shorts __attribute__((vector_size(16)));
typedef int8_t Bytes __attribute__((vector_size(8)));
typedef uint8_t UnsignedBytes __attribute__((vector_size(8)));
#if defined __SSE2__
#include <emmintrin.h>
#define dot_pairs(a, b) (Ints)_mm_madd_epi16((__m128i)(a), (__m128i)(b))
#elif defined __wasm_simd128__
#include <wasm_simd128.h>
#define dot_pairs(a, b) (Ints)wasm_i32x4_dot_i16x8((v128_t)(a), (v128_t)(b))
#elif defined __aarch64__
#define dot_pairs(a, b) (Ints)vpaddq_s32(vmull_s16(vget_low_s16((int16x8_t)(a)), \
    vget_low_s16((int16x8_t)(b))), vmull_high_s16((int16x8_t)(a), (int16x8_t)(b)))
#else
INLINE Ints dot_pairs(Shorts a, Shorts b) {
    Ints sums;
    for (int i = 0; i < 4; i++) sums[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
    return sums;
}
#endif
INLINE Sums add_products(Sums sums, const Ints *x, const Ints *w) {
    UnsignedBytes four;
    Bytes halves[2];
    memcpy(&four, x, sizeof four);
    memcpy(halves, w, sizeof halves);
    Shorts inputs = __builtin_convertvector(four, Shorts);
    sums.first += dot_pairs(inputs, __builtin_convertvector(halves[0], Shorts));
    sums.last += dot_pairs(inputs, __builtin_convertvector(halves[1], Shorts));
    return sums;
}
#endif

#define SETS (ACROSS / LANES) /* registers for the outputs of a row */
#define LEAST (ACROSS < BLOCK ? ACROSS : BLOCK) /* outputs where not so many are left */
/* Sums are computed in this order: else the compiler needs more registers. */
#if FLIP
#define IN_ORDER(x) __asm__("" : "+w"(x))
#elif LANES > 4
#define IN_ORDER(x) __asm__("" : "+x"(x))
#else
#define IN_ORDER(x) (void)(x)
#endif

INLINE Ints load_ints(const void *x) {
    Ints found;
    memcpy(&found, x, sizeof found);
    return found;
}

INLINE Ints broadcast_four(const uint8_t *x) {
    int32_t four;
    memcpy(&four, x, 4);
    return four - (Ints){0};
}

#if LANES > 4 || FLIP
#define begin_sums load_ints
#define to_floats(sums) (Vec)__builtin_convertvector(sums, Vec)
#else
INLINE Sums begin_sums(const int32_t *x) { return (Sums){{x[0], 0, x[1], 0}, {x[2], 0, x[3], 0}}; }
INLINE Vec to_floats(Sums sums) {
    Ints a = sums.first, b = sums.last, all = {a[0] + a[1], a[2] + a[3], b[0] + b[1], b[2] + b[3]};
    return __builtin_convertvector(all, Vec);
}
#endif

/* Compute `rows` rows, at most DOWN, of `outputs` outputs, at most ACROSS. ahead: weights to be
prefetched, a cache line at each step. */
INLINE void multiply_block(const Linear *map, const Rows *x, int64_t n, int64_t f, int rows,
                           int outputs, int relu, const int8_t *ahead, float *y, int64_t y_stride) {
    Sums sums[DOWN][SETS];
    int64_t step = (int64_t)map->inputs * BLOCK; /* from block to block */
    int sets = outputs / LANES;
    const int8_t *weight = (const int8_t *)map->weight + f / BLOCK * step + f % BLOCK * 4;
    const uint8_t *bytes = x->bytes + n * x->stride;
    UNROLLED(i, sets)
        UNROLLED(r, rows) sums[r][i] = begin_sums(map->offset + f + i * LANES);
    for (int64_t k = 0; k < map->inputs; k += STEP, ahead += 64) {
        Ints w[SETS][STEP / 4];
        __builtin_prefetch(ahead, 0, 2);
        UNROLLED(i, sets) {
            const int8_t *from = weight + k * BLOCK + i * LANES / BLOCK * step + i * LANES % BLOCK * 4;
            UNROLLED(g, STEP / 4) w[i][g] = load_ints(from + g * 4 * BLOCK);
            if (rows < 4 && !PAIRED) __builtin_prefetch(from + 1024, 0, 2); /* little else to do */
        }
        UNROLLED(r, rows) {
            Ints four[STEP / 4];
            UNROLLED(g, STEP / 4) four[g] = broadcast_four(bytes + r * x->stride + k + g * 4);
            UNROLLED(i, sets) {
                sums[r][i] = add_products(sums[r][i], four, w[i]);
                IN_ORDER(sums[r][i]);
            }
        }
    }
    const float *scale = x->scale + n;
    y += n * y_stride + f;
    UNROLLED(i, sets) {
        Factors factors = load_factors(map, f + i * LANES);
        UNROLLED(r, rows)
            finish(to_floats(sums[r][i]), factors, scale[r], relu, y + r * y_stride + i * LANES);
    }
}

#if defined __AMX_INT8__ && defined __linux__
#include <sys/syscall.h>
#include <unistd.h>
#define SMALL (1 << 19) /* bytes of weights that are in the L2 cache anyway */
#define TILED 12 /* the number of rows from which tiles are faster */

/* Request the tiles from the system; return whether it grants them. */
static inline int request_tiles(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

/* Give the eight tiles of the processor 16 rows of 64 bytes each. */
static inline void configure_tiles(void) {
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } __attribute__((packed)) shape = {.palette = 1};
    for (int i = 0; i < 8; i++) shape.bytes[i] = 64, shape.rows[i] = 16;
    _tile_loadconfig(&shape);
}

/* Multiply 32 rows by 32 outputs at once. Bytes of rows beyond the last are read, not used. */
static inline void multiply_tiles(const Linear *map, const Rows *x, int64_t rows, int relu, float *y,
                           int64_t y_stride) {
    int32_t sums[4][BLOCK * BLOCK] __attribute__((aligned(64)));
    const int8_t *all = map->weight;
    int64_t step = (int64_t)map->inputs * BLOCK, down = BLOCK * x->stride;
    int64_t turns = (rows + 31) / 32, share = (2 * BLOCK + turns - 1) / turns * 64;
    configure_tiles();
    for (int64_t f = 0; f < map->outputs; f += 2 * BLOCK) {
        int64_t right = f + BLOCK < map->outputs ? BLOCK : 0; /* or the left block again */
        /* Prefetch the next weights into the L2 cache, a part at each step. */
        const int8_t *ahead = all + (f + 2 * BLOCK) * map->inputs, *end = ahead + 2 * step;
        if (f + 4 * BLOCK > map->outputs || step * map->outputs < BLOCK * SMALL) ahead = end;
        for (int64_t n = 0; n < rows; n += 2 * BLOCK) {
            const int8_t *weight = all + f * map->inputs;
            const uint8_t *bytes = x->bytes + n * x->stride;
            int is_tall = rows - n > BLOCK;
            _tile_loadd(0, map->offset + f, 0); /* the same row 16 times */
            _tile_loadd(1, map->offset + f, 0);
            _tile_loadd(2, map->offset + f + right, 0);
            _tile_loadd(3, map->offset + f + right, 0);
            for (int64_t k = 0; k < map->inputs; k += 64, weight += 64 * BLOCK, bytes += 64) {
                for (const int8_t *to = ahead + share; ahead < to && ahead < end; ahead += 64)
                    _mm_prefetch(ahead, _MM_HINT_T1);
                _tile_loadd(4, bytes, x->stride);
                _tile_loadd(6, weight, 64);
                _tile_dpbusd(0, 4, 6);
                _tile_loadd(7, weight + right * map->inputs, 64);
                _tile_dpbusd(2, 4, 7);
                if (is_tall) {
                    _tile_loadd(5, bytes + down, x->stride);
                    _tile_dpbusd(1, 5, 6);
                    _tile_dpbusd(3, 5, 7);
                }
            }
            _tile_stored(0, sums[0], 64);
            _tile_stored(2, sums[2], 64);
            if (is_tall) {
                _tile_stored(1, sums[1], 64);
                _tile_stored(3, sums[3], 64);
            }
            for (int i = 0; i < (right ? 4 : 2); i++) {
                int64_t r = n + i % 2 * BLOCK, c = f + i / 2 * BLOCK;
                int64_t stop = smaller(rows - r, BLOCK);
                Factors factors = load_factors(map, c);
                const float *scale = x->scale + r;
                float *out = y + r * y_stride + c;
                for (int64_t m = 0; m < stop; m++, out += y_stride)
                    finish(_mm512_cvtepi32_ps(_mm512_load_si512(sums[i] + m * BLOCK)), factors,
                           scale[m], relu, out);
            }
        }
    }
    _tile_release();
}
#endif

/* Compute all outputs of all rows into y, whose rows are `y_stride` apart. */
static inline void gemm_int8(const Linear *map, const Rows *x, int64_t rows, int relu, float *y,
                      int64_t y_stride) {
#ifdef TILED
    if (rows >= TILED) {
        multiply_tiles(map, x, rows, relu, y, y_stride);
        return;
    }
#endif
    /* A few outputs at a time, so that their weights stay in the cache for all rows; the next ones
    are prefetched meanwhile. */
    for (int64_t f = 0; f < map->outputs; f += ACROSS) {
        const int8_t *ahead = (const int8_t *)map->weight + (f + ACROSS) * map->inputs;
        int64_t last = smaller(f + ACROSS, map->outputs);
        for (int64_t n = 0; n < rows; n += DOWN, ahead += map->inputs / STEP * 64) {
#define MULTIPLY(r)                                                        \
    if (f + ACROSS == last)                                                \
        multiply_block(map, x, n, f, r, ACROSS, relu, ahead, y, y_stride); \
    else                                                                   \
        for (int64_t g = f; g < last; g += LEAST)                          \
            multiply_block(map, x, n, g, r, LEAST, relu, ahead, y, y_stride);
            WITH_CONSTANT(smaller(rows - n, DOWN), DOWN, MULTIPLY)
#undef MULTIPLY
        }
    }
}
