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

/* Each instruction set has `Sums`: 32-bit sums of LANES outputs; DOWN rows and ACROSS blocks of
outputs are computed at once, so that the sums stay in registers. */
#if defined __AVX512VNNI__ || defined __AVXVNNI__ || defined __AVX2__
#ifdef __AVX512VNNI__
typedef __m512i Sums;
#define ACROSS 4
#define DOWN 6
#define set_sums _mm512_set1_epi32
#define to_floats _mm512_cvtepi32_ps
#define add_products _mm512_dpbusd_epi32
#else
typedef __m256i Sums;
#define ACROSS 1
#define set_sums _mm256_set1_epi32
#define to_floats _mm256_cvtepi32_ps
#ifdef __AVXVNNI__
#define DOWN 6
#define add_products _mm256_dpbusd_avx_epi32
#else
#define DOWN 4
#endif
#endif
#define prefetch(address) _mm_prefetch((const char *)(address), _MM_HINT_T1)

#elif FLIP
typedef int32x4_t Sums;
#define ACROSS 1
#define DOWN 6
#define set_sums vdupq_n_s32
#define to_floats vcvtq_f32_s32
#define prefetch(address) __builtin_prefetch(address)
INLINE Sums add_products(Sums sums, Sums x, Sums w) {
    return vdotq_s32(sums, vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(w));
}
#endif

#ifdef ACROSS
#define SETS (ACROSS * BLOCK / LANES) /* registers for the outputs of a row */
#define IN_ORDER(x) __asm__("" : "+" REGISTER(x)) /* else the compiler needs more registers */
#if FLIP
#define REGISTER(x) "w"(x)
#else
#define REGISTER(x) "x"(x)
#endif

INLINE Sums load_sums(const void *x) {
    Sums found;
    memcpy(&found, x, sizeof found);
    return found;
}

INLINE Sums broadcast_four(const uint8_t *x) {
    int32_t four;
    memcpy(&four, x, 4);
    return set_sums(four);
}

/* Add the products of some inputs to the sums. `step`: bytes from block to block. */
#if PAIRED
#define STEP (4 * PAIRED)
INLINE void add_step(const int8_t *weight, int64_t step, const uint8_t *x, int64_t stride, int rows,
                     int sets, Sums sums[DOWN][SETS]) {
    Sums parts[DOWN][SETS];
#pragma GCC unroll 8
    for (int k = 0; k < STEP; k += 4) {
        Sums w[SETS];
        UNROLLED(i, sets)
            w[i] = load_sums(weight + k * BLOCK + i * LANES / BLOCK * step + i * LANES % BLOCK * 4);
        UNROLLED(r, rows) {
            Sums four = broadcast_four(x + r * stride + k);
            UNROLLED(i, sets) {
                Sums both = _mm256_maddubs_epi16(four, w[i]);
                parts[r][i] = k ? _mm256_add_epi16(parts[r][i], both) : both;
                IN_ORDER(parts[r][i]);
            }
        }
    }
    UNROLLED(r, rows)
        UNROLLED(i, sets)
            sums[r][i] = _mm256_add_epi32(
                sums[r][i], _mm256_madd_epi16(parts[r][i], _mm256_set1_epi16(1)));
}
#else
#define STEP 4
INLINE void add_step(const int8_t *weight, int64_t step, const uint8_t *x, int64_t stride, int rows,
                     int sets, Sums sums[DOWN][SETS]) {
    Sums w[SETS];
    UNROLLED(i, sets) {
        const int8_t *from = weight + i * LANES / BLOCK * step + i * LANES % BLOCK * 4;
        w[i] = load_sums(from);
        if (rows < 4) prefetch(from + 1024); /* there is little else to do */
    }
    UNROLLED(r, rows) {
        Sums four = broadcast_four(x + r * stride);
        UNROLLED(i, sets) {
            sums[r][i] = add_products(sums[r][i], four, w[i]);
            IN_ORDER(sums[r][i]);
        }
    }
}
#endif

/* Compute `rows` rows, at most DOWN, of `blocks` blocks of outputs, at most ACROSS. ahead: weights
to be prefetched, a cache line at each step. */
INLINE void multiply_block(const Linear *map, const Rows *x, int64_t n, int64_t f, int rows,
                           int blocks, int relu, const int8_t *ahead, float *y, int64_t y_stride) {
    Sums sums[DOWN][SETS];
    int64_t step = (int64_t)map->inputs * BLOCK;
    int sets = blocks * BLOCK / LANES;
    const int8_t *weight = (const int8_t *)map->weight + f * map->inputs;
    const uint8_t *bytes = x->bytes + n * x->stride;
    UNROLLED(i, sets)
        UNROLLED(r, rows) sums[r][i] = load_sums(map->offset + f + i * LANES);
    for (int64_t k = 0; k < map->inputs; k += STEP, ahead += 64) {
        prefetch(ahead);
        add_step(weight + k * BLOCK, step, bytes + k, x->stride, rows, sets, sums);
    }
    const float *scale = x->scale + n;
    y += n * y_stride + f;
    UNROLLED(i, sets) {
        Factors factors = load_factors(map, f + i * LANES);
        UNROLLED(r, rows)
            finish(to_floats(sums[r][i]), factors, scale[r], relu, y + r * y_stride + i * LANES);
    }
}

#else /* any processor: products of 16-bit numbers */
#define ACROSS 1
#define DOWN 4
#define STEP 4
#if defined __SSE2__
#include <emmintrin.h>
#define dot_pairs(a, b) (Ints)_mm_madd_epi16((__m128i)(a), (__m128i)(b))
#elif defined __wasm_simd128__
#include <wasm_simd128.h>
#define dot_pairs(a, b) (Ints)wasm_i32x4_dot_i16x8((v128_t)(a), (v128_t)(b))
#elif defined __aarch64__
#define dot_pairs(a, b) (Ints)vpaddq_s32(vmull_s16(vget_low_s16((int16x8_t)(a)), \
    vget_low_s16((int16x8_t)(b))), vmull_high_s16((int16x8_t)(a), (int16x8_t)(b)))
#endif
typedef int16_t Shorts __attribute__((vector_size(16)));
typedef int8_t Bytes __attribute__((vector_size(8)));
typedef uint8_t UnsignedBytes __attribute__((vector_size(8)));
typedef int32_t Fours __attribute__((vector_size(8)));

#ifndef dot_pairs
INLINE Ints dot_pairs(Shorts a, Shorts b) {
    Ints sums;
    for (int i = 0; i < 4; i++) sums[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
    return sums;
}
#endif

INLINE void multiply_block(const Linear *map, const Rows *x, int64_t n, int64_t f, int rows,
                           int blocks, int relu, const int8_t *ahead, float *y, int64_t y_stride) {
    const int8_t *weight = (const int8_t *)map->weight + f * map->inputs;
    (void)blocks, (void)ahead;
    for (int part = 0; part < BLOCK; part += 8) { /* 8 outputs, in four vectors of two each */
        Ints sums[DOWN][4] = {0};
        for (int64_t k = 0; k < map->inputs; k += 4) {
            Shorts w[4];
            for (int i = 0; i < 4; i++) {
                Bytes eight;
                memcpy(&eight, weight + k * BLOCK + part * 4 + i * 8, 8);
                w[i] = __builtin_convertvector(eight, Shorts);
            }
            for (int r = 0; r < rows; r++) {
                int32_t four;
                memcpy(&four, x->bytes + (n + r) * x->stride + k, 4);
                Fours twice = {four, four};
                Shorts both = __builtin_convertvector((UnsignedBytes)twice, Shorts);
                for (int i = 0; i < 4; i++) sums[r][i] += dot_pairs(both, w[i]);
            }
        }
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < 2; i++) { /* LANES is 4 here */
                Ints a = sums[r][2 * i], b = sums[r][2 * i + 1];
                Ints sum = {a[0] + a[1], a[2] + a[3], b[0] + b[1], b[2] + b[3]}, offset;
                int64_t g = f + part + i * LANES;
                memcpy(&offset, map->offset + g, sizeof offset);
                finish((Vec)__builtin_convertvector(sum + offset, Vec), load_factors(map, g),
                       x->scale[n + r], relu, y + (n + r) * y_stride + g);
            }
    }
}
#endif

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
    const int64_t width = ACROSS * BLOCK;
    for (int64_t f = 0; f < map->outputs; f += width) {
        const int8_t *ahead = (const int8_t *)map->weight + (f + width) * map->inputs;
        int64_t last = smaller(f + width, map->outputs);
        for (int64_t n = 0; n < rows; n += DOWN, ahead += map->inputs / STEP * 64) {
#define MULTIPLY(r)                                                                    \
    if (f + width == last)                                                             \
        multiply_block(map, x, n, f, r, ACROSS, relu, ahead, y, y_stride);             \
    else                                                                               \
        for (int64_t g = f; g < last; g += BLOCK)                                      \
            multiply_block(map, x, n, g, r, 1, relu, ahead, y, y_stride);
            WITH_CONSTANT(smaller(rows - n, DOWN), DOWN, MULTIPLY)
#undef MULTIPLY
        }
    }
}
