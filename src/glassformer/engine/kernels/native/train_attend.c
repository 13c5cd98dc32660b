// Attention, softmax(Q Kᵀ / √d_k) V, for training, and its gradients: one head of one sentence at a
// time, in a core's cache. Heads are read and written in place: values of a head are neighbours, a
// position is `stride` values from the next. Sums are in fp32, one order for all thread counts.

#include "tiles.h"
#include <math.h>

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4)));
typedef int32_t Whole __attribute__((vector_size(LANES * 4), aligned(4)));
#define INLINE static inline __attribute__((always_inline))
#define UP(n) (((n) + LANES - 1) / LANES * LANES)

typedef struct {
    const void *start;
    long of_batch, of_row;  // strides, in values
} Heads;

// Computes c (rows x columns) = a b. Value (i, p) of a is a[i * down + p * along]; b has `deep`
// rows.
INLINE void block(int high, int wide, const float *a, long down, long along, const float *b,
                  long b_stride, long deep, float *c, long c_stride) {
    Vector sum[8][4];
    for (int i = 0; i < high; i++)
        for (int j = 0; j < wide; j++) sum[i][j] = (Vector){0};
    for (long p = 0; p < deep; p++, b += b_stride, a += along) {
        Vector right[4];
        for (int j = 0; j < wide; j++) right[j] = *(const Vector *)(b + j * LANES);
        for (int i = 0; i < high; i++)
            for (int j = 0; j < wide; j++) sum[i][j] += a[i * down] * right[j];
    }
    for (int i = 0; i < high; i++)
        for (int j = 0; j < wide; j++) *(Vector *)(c + i * c_stride + j * LANES) = sum[i][j];
}

static void multiply(const float *a, long down, long along, const float *b, long b_stride,
                     long rows, long deep, long columns, float *c, long c_stride) {
#define PART(high, wide)                                                                      \
    for (; i + high <= rows; i += high)                                                       \
    block(high, wide, a + i * down, down, along, b + j, b_stride, deep, c + i * c_stride + j, \
          c_stride)
    long j = 0;
#if defined(__AVX512F__)
    for (; j + 4 * LANES <= columns; j += 4 * LANES) {
        long i = 0;
        PART(4, 4);
        PART(1, 4);
    }
#endif
    for (; j + 2 * LANES <= columns; j += 2 * LANES) {
        long i = 0;
        PART(4, 2);
        PART(1, 2);
    }
    for (; j < columns; j += LANES) {
        long i = 0;
        PART(8, 1);
        PART(4, 1);
        PART(1, 1);
    }
#undef PART
}

// Converts rows of a head to fp32, times `scale`, `wide` values apart; the padding is 0.
INLINE void read_rows(const void *from, int is_low, long stride, long rows, long width,
                      float scale, float *to, long wide) {
    for (long i = 0; i < rows; i++, to += wide) {
        if (is_low) {
            const bf16 *x = (const bf16 *)from + i * stride;
            for (long k = 0; k < width; k++) to[k] = widen(x[k]) * scale;
        } else {
            const float *x = (const float *)from + i * stride;
            for (long k = 0; k < width; k++) to[k] = x[k] * scale;
        }
        for (long k = width; k < wide; k++) to[k] = 0;
    }
}

INLINE void write_rows(const float *from, long wide, long rows, long width, void *to, int is_low,
                       long stride) {
    for (long i = 0; i < rows; i++, from += wide) {
        if (is_low) {
            bf16 *x = (bf16 *)to + i * stride;
            for (long k = 0; k < width; k++) x[k] = narrow(from[k]);
        } else {
            memcpy((float *)to + i * stride, from, width * 4);
        }
    }
}

// Returns the values of a and b, one after the other, at these places.
INLINE Vector shuffle(Vector a, Vector b, Whole places) {
#if defined(__clang__)  // finds the instruction in a loop
    Vector found;
    for (int i = 0; i < LANES; i++)
        found[i] = places[i] < LANES ? a[places[i]] : b[places[i] - LANES];
    return found;
#else
    return __builtin_shuffle(a, b, places);
#endif
}

INLINE void zip(Vector a, Vector b, Vector *low, Vector *high) {
    Whole x, y;
    for (int i = 0; i < LANES; i++) {
        x[i] = i / 2 + i % 2 * LANES;
        y[i] = x[i] + LANES / 2;
    }
    *low = shuffle(a, b, x), *high = shuffle(a, b, y);
}

// Transposes x (rows x columns) to columns x `high`; the padding is 0. Both strides are multiples
// of LANES, and x has 0 beyond its columns.
static void turn(const float *x, long stride, long rows, long columns, float *to, long high) {
    for (long r = 0; r < high; r += LANES) {
        for (long c = 0; c < columns; c += LANES) {
            Vector v[LANES], w[LANES];
            for (int i = 0; i < LANES; i++)
                v[i] = r + i < rows ? *(const Vector *)(x + (r + i) * stride + c) : (Vector){0};
            for (int stage = 1; stage < LANES; stage *= 2) {
                for (int i = 0; i < LANES / 2; i++)
                    zip(v[i], v[i + LANES / 2], w + 2 * i, w + 2 * i + 1);
                memcpy(v, w, sizeof v);
            }
            for (int i = 0; i < LANES; i++) *(Vector *)(to + (c + i) * high + r) = v[i];
        }
    }
}

// The head of x that belongs to task (b, h).
#define HEAD(x) ((char *)(x).start + ((x).of_batch * b + h * width) * (is_low ? 2 : 4))

// Expands a sentence's mask to integers, `wide` in a row, 0 beyond the last column; one row if all
// are alike.
static void read_mask(const uint8_t *mask, long row, long step, long rows, long columns, long wide,
                      int32_t *open) {
    for (long i = 0; i < (row ? rows : 1); i++)
        for (long m = 0; m < wide; m++)
            open[i * wide + m] = m < columns && mask[i * row + m * step] ? -1 : 0;
}

INLINE Vector choose(Whole which, Vector yes, Vector no) {
    return (Vector)(((Whole)yes & which) | ((Whole)no & ~which));
}

INLINE Vector exponential(Vector x) {  // for x <= 0; the error is within 2 units of the last place
    const Vector lowest = (Vector){0} - 87, shift = (Vector){0} + 12582912.0f;
    x = choose(x < lowest, lowest, x);
    Vector n = x * 1.44269504f + shift;
    Whole power = (Whole)n << 23;
    n -= shift;
    Vector r = x - n * 0.693359375f + n * 2.12194440e-4f, p = (Vector){0} + 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1;
    return p * (Vector)(power + 0x3f800000);
}

INLINE Vector swap(Vector x, int apart) {
    Whole places;
    for (int i = 0; i < LANES; i++) places[i] = i ^ apart;
    return shuffle(x, x, places);
}

INLINE float total(Vector x) {
    for (int apart = LANES / 2; apart; apart /= 2) x += swap(x, apart);
    return x[0];
}

INLINE float largest(Vector x) {
    for (int apart = LANES / 2; apart; apart /= 2) {
        Vector other = swap(x, apart);
        x = choose(x > other, x, other);
    }
    return x[0];
}

// Turns a row of scores into weights: exactly 0 where `open` is 0, as it is beyond the last column.
// The weights are NaN where the softmax is undefined: for NaN, for infinity, and if all are masked.
INLINE void soften(float *s, const int32_t *open, long wide) {
    const Vector lowest = (Vector){0} - INFINITY;
    Vector tops = lowest, sums = {0};
    for (long m = 0; m < wide; m += LANES) {
        Vector x = choose(*(const Whole *)(open + m), *(Vector *)(s + m), lowest);
        *(Vector *)(s + m) = x;
        tops = choose(x > tops, x, tops);
    }
    float top = largest(tops);
    for (long m = 0; m < wide; m += LANES) {
        Vector x = *(Vector *)(s + m);
        Vector e = choose(x == lowest, (Vector){0}, exponential(x - top));
        *(Vector *)(s + m) = e;
        sums += e;
    }
    float by = 1 / total(sums);
    for (long m = 0; m < wide; m += LANES) *(Vector *)(s + m) *= by;
}

#ifdef HAS_TILES
enum { TILE = 512 };  // values of bf16
#define UP32(n) (((n) + 31) / 32 * 32)

int has_tiles(void) { return ask_for_tiles(); }

// Copies rows of a head, `wide` values apart; the padding was 0 and stays so.
INLINE void copy_rows(const bf16 *from, long stride, long rows, long width, bf16 *to, long wide) {
    for (long i = 0; i < rows; i++)
        for (long k = 0; k < width; k += 32) {
            __mmask32 real = first_of(width - k);
            __m512i x = _mm512_maskz_loadu_epi16(real, from + i * stride + k);
            _mm512_store_si512(to + i * wide + k, x);
        }
}

// Packs x, rows x columns, as the right side of a product over its columns: a xᵀ.
INLINE void pack_turned(const bf16 *x, long wide, long rows, long columns, bf16 *to) {
    for (long c = 0; c < columns; c += 32)
        for (long r = 0; r < rows; r += 16, to += TILE) {
            __m512i pairs[16];
            for (int i = 0; i < 16; i++) pairs[i] = _mm512_load_si512(x + (r + i) * wide + c);
            turn_pairs(pairs);
            for (int i = 0; i < 16; i++) _mm512_store_si512(to + i * 32, pairs[i]);
        }
}

// Packs x, rows x columns, as the right side of a product over its rows: a x.
INLINE void pack_zipped(const bf16 *x, long wide, long rows, long columns, bf16 *to) {
    long across = UP32(columns) / 16;
    for (long r = 0; r < rows; r += 32)
        for (long c = 0; c < columns; c += 32)
            for (int i = 0; i < 16; i++) {
                bf16 *tile = to + (r / 32 * across + c / 16) * TILE + i * 32;
                __m512i first, last;
                zip_rows(_mm512_load_si512(x + (r + 2 * i) * wide + c),
                         _mm512_load_si512(x + (r + 2 * i + 1) * wide + c), &first, &last);
                _mm512_store_si512(tile, first), _mm512_store_si512(tile + TILE, last);
            }
}

// Transposes x, rows x columns, to columns x `wide_to`: the left side of a product over the rows.
INLINE void turn_left(const bf16 *x, long wide, long rows, long columns, bf16 *to, long wide_to) {
    for (long r = 0; r < rows; r += 32)
        for (long c = 0; c < columns; c += 32) {
            __m512i a[16], b[16];
            for (int i = 0; i < 16; i++)
                zip_rows(_mm512_load_si512(x + (r + 2 * i) * wide + c),
                         _mm512_load_si512(x + (r + 2 * i + 1) * wide + c), a + i, b + i);
            turn_pairs(a), turn_pairs(b);
            for (int i = 0; i < 16; i++) {
                _mm512_store_si512(to + (c + i) * wide_to + r, a[i]);
                _mm512_store_si512(to + (c + 16 + i) * wide_to + r, b[i]);
            }
        }
}

// Computes c = a B, fp32, in tiles of 16 x 16; the depth is `steps` times 32.
static void multiply_tiles(const bf16 *a, long wide, long rows, long steps, const bf16 *right,
                           long across, float *c, long c_wide) {
#define FOUR(what) what(0) what(1) what(2) what(3)
#define CLEAR(n) if (n < tiles) _tile_zero(n);
#define STEP(n)                                                 \
    if (n < tiles) {                                            \
        _tile_loadd(5, right + (s * across + j + n) * TILE, 64); \
        _tile_dpbf16ps(n, 4, 5);                                \
    }
#define STORE(n) if (n < tiles) _tile_stored(n, c + i * c_wide + (j + n) * 16, c_wide * 4);
    for (long i = 0; i < rows; i += 16)
        for (long j = 0; j < across; j += 4) {
            long tiles = across - j;
            FOUR(CLEAR)
            for (long s = 0; s < steps; s++) {
                _tile_loadd(4, a + i * wide + s * 32, wide * 2);
                FOUR(STEP)
            }
            FOUR(STORE)
        }
#undef FOUR
#undef CLEAR
#undef STEP
#undef STORE
}

INLINE void narrow_rows(const float *from, long wide, long rows, long width, bf16 *to, long stride) {
    for (long i = 0; i < rows; i++)
        for (long k = 0; k < width; k += 32) {
            __m512 one = _mm512_loadu_ps(from + i * wide + k);
            __m512 two = _mm512_loadu_ps(from + i * wide + k + 16);
            __m512i low = (__m512i)_mm512_cvtne2ps_pbh(two, one);
            _mm512_mask_storeu_epi16(to + i * stride + k, first_of(width - k), low);
        }
}

// Turns a row of scores, times `scale`, into weights: in `kept`, and, after dropout, in `left`.
INLINE void soften_tiles(float *s, const __mmask16 *open, long columns, __m512 scale,
                         const float *factor, bf16 *kept, bf16 *left) {
    const __m512 lowest = _mm512_set1_ps(-INFINITY), least = _mm512_set1_ps(-87);
    __m512 top = lowest, sum = _mm512_setzero_ps();
    for (long m = 0; m < columns; m += 16) {
        __m512 x = _mm512_mul_ps(_mm512_loadu_ps(s + m), scale);
        x = _mm512_mask_mov_ps(lowest, open[m / 16], x);
        _mm512_storeu_ps(s + m, x);
        top = _mm512_max_ps(top, x);
    }
    top = _mm512_set1_ps(_mm512_reduce_max_ps(top));
    for (long m = 0; m < columns; m += 16) {
        __m512 x = _mm512_max_ps(least, _mm512_sub_ps(_mm512_loadu_ps(s + m), top));
        x = _mm512_maskz_mov_ps(open[m / 16], exponential_16(x));
        _mm512_storeu_ps(s + m, x);
        sum = _mm512_add_ps(sum, x);
    }
    __m512 by = _mm512_set1_ps(1 / _mm512_reduce_add_ps(sum));
    for (long m = 0; m < columns; m += 16) {
        __mmask16 real = (__mmask16)first_of(columns - m);
        __m512 x = _mm512_mul_ps(_mm512_loadu_ps(s + m), by);
        __m256i low = (__m256i)_mm512_cvtneps_pbh(x);
        _mm256_mask_storeu_epi16(kept + m, real, low);
        if (factor) {
            __m512 f = _mm512_loadu_ps(factor + m);
            __mmask16 stays = _mm512_cmp_ps_mask(f, _mm512_setzero_ps(), _CMP_NEQ_OQ);
            low = (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_mul_ps(stays, x, f));
        }
        _mm256_mask_storeu_epi16(left + m, real, low);
    }
}

int attend_forward_tiles(Heads q, Heads k, Heads v, Heads out, bf16 *kept, const uint8_t *mask,
                          long mask_batch, long mask_row, long mask_step, const Drop *drop,
                          long first, long batch, long heads, long queries, long memory, long width,
                          int threads) {
    enum { is_low = 1 };
    int failed = 0;
    const __m512 scale = _mm512_set1_ps(1 / sqrtf(width));
    long wide = UP32(width), high = UP32(memory), deep = UP32(queries);
#pragma omp parallel num_threads(threads)
    {
        bf16 *qs = clear_room(deep * wide, 2), *ks = clear_room(high * wide, 2);
        bf16 *vs = clear_room(high * wide, 2), *right = room(high * wide, 2);
        bf16 *ps = clear_room(deep * high, 2);
        float *s = room(deep * high, 4), *o = room(deep * wide, 4), *factor = room(high + 32, 4);
        __mmask16 *open = room((mask_row ? queries : 1) * high / 16, 2);
        long opened = -1, open_row = mask_row ? high / 16 : 0;
        if (!(qs && ks && vs && right && ps && s && o && factor && open)) failed = 1;
#pragma omp barrier
        long tasks = failed ? 0 : batch * heads;
        use_tiles();
#pragma omp for schedule(static)
        for (long task = 0; task < tasks; task++) {
            long b = task / heads, h = task % heads;
            if (b != opened) {
                memset(open, 0, (mask_row ? queries : 1) * high / 16 * 2);
                for (long i = 0; i < (mask_row ? queries : 1); i++)
                    for (long m = 0; m < memory; m++)
                        if (mask[b * mask_batch + i * mask_row + m * mask_step])
                            open[i * high / 16 + m / 16] |= 1 << m % 16;
                opened = b;
            }
            copy_rows((bf16 *)HEAD(q), q.of_row, queries, width, qs, wide);
            copy_rows((bf16 *)HEAD(k), k.of_row, memory, width, ks, wide);
            copy_rows((bf16 *)HEAD(v), v.of_row, memory, width, vs, wide);
            pack_turned(ks, wide, high, width, right);
            multiply_tiles(qs, wide, queries, wide / 32, right, high / 16, s, high);
            for (long i = 0; i < queries; i++) {
                if (drop->share)
                    draw(drop, ((first + b) * heads + h) * queries + i, memory, factor);
                soften_tiles(s + i * high, open + i * open_row, memory, scale,
                             drop->share ? factor : NULL, kept + (task * queries + i) * memory,
                             ps + i * high);
            }
            pack_zipped(vs, wide, high, width, right);
            multiply_tiles(ps, high, queries, high / 32, right, wide / 16, o, wide);
            narrow_rows(o, wide, queries, width, (bf16 *)HEAD(out), out.of_row);
        }
        _tile_release();
        free(qs), free(ks), free(vs), free(right), free(ps), free(s), free(o), free(factor);
        free(open);
    }
    return failed;
}

INLINE __m512 read_16(const bf16 *from, __mmask16 real) {
    __m512i x = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(real, from));
    return (__m512)_mm512_slli_epi32(x, 16);
}

// Turns the gradients of a row of weights into those of its scores, `ds`; writes the weights after
// dropout to `left`.
INLINE void grad_tiles(float *s, const bf16 *kept, long columns, __m512 scale,
                        const float *factor, bf16 *ds, bf16 *left) {
    const __m512 zero = _mm512_setzero_ps();
    __m512 along = zero;
    for (long m = 0; m < columns; m += 16) {
        __mmask16 real = (__mmask16)first_of(columns - m);
        __m512 weight = read_16(kept + m, real), x = _mm512_maskz_loadu_ps(real, s + m);
        __m512 after = weight;
        if (factor) {
            __m512 f = _mm512_maskz_loadu_ps(real, factor + m);
            __mmask16 stays = _mm512_cmp_ps_mask(f, zero, _CMP_NEQ_OQ);
            x = _mm512_maskz_mul_ps(stays, x, f), after = _mm512_maskz_mul_ps(stays, weight, f);
        }
        _mm512_storeu_ps(s + m, x);
        _mm256_mask_storeu_epi16(left + m, real, (__m256i)_mm512_cvtneps_pbh(after));
        along = _mm512_fmadd_ps(x, weight, along);
    }
    __m512 sum = _mm512_set1_ps(_mm512_reduce_add_ps(along));
    for (long m = 0; m < columns; m += 16) {
        __mmask16 real = (__mmask16)first_of(columns - m);
        __m512 x = _mm512_sub_ps(_mm512_loadu_ps(s + m), sum);
        x = _mm512_mul_ps(_mm512_mul_ps(x, read_16(kept + m, real)), scale);
        _mm256_mask_storeu_epi16(ds + m, real, (__m256i)_mm512_cvtneps_pbh(x));
    }
}

int attend_backward_tiles(Heads q, Heads k, Heads v, Heads g, const bf16 *kept, const Drop *drop,
                           long first, long batch, long heads, long queries, long memory,
                           long width, Heads dq, Heads dk, Heads dv, int threads) {
    enum { is_low = 1 };
    int failed = 0;
    const __m512 scale = _mm512_set1_ps(1 / sqrtf(width));
    long wide = UP32(width), high = UP32(memory), deep = UP32(queries);
    long most = high > deep ? high : deep;
#pragma omp parallel num_threads(threads)
    {
        bf16 *qs = clear_room(deep * wide, 2), *gs = clear_room(deep * wide, 2);
        bf16 *ks = clear_room(high * wide, 2), *vs = clear_room(high * wide, 2);
        bf16 *right = room(most * wide, 2), *ps = clear_room(deep * high, 2);
        bf16 *ds = clear_room(deep * high, 2), *turned = room(deep * high, 2);
        float *s = room(deep * high, 4), *out = room(most * wide, 4);
        float *factor = room(high + 32, 4);
        if (!(qs && gs && ks && vs && right && ps && ds && turned && s && out && factor))
            failed = 1;
#pragma omp barrier
        long tasks = failed ? 0 : batch * heads;
        use_tiles();
#pragma omp for schedule(static)
        for (long task = 0; task < tasks; task++) {
            long b = task / heads, h = task % heads;
            copy_rows((bf16 *)HEAD(q), q.of_row, queries, width, qs, wide);
            copy_rows((bf16 *)HEAD(k), k.of_row, memory, width, ks, wide);
            copy_rows((bf16 *)HEAD(v), v.of_row, memory, width, vs, wide);
            copy_rows((bf16 *)HEAD(g), g.of_row, queries, width, gs, wide);
            pack_turned(vs, wide, high, width, right);
            multiply_tiles(gs, wide, queries, wide / 32, right, high / 16, s, high);
            for (long i = 0; i < queries; i++) {
                if (drop->share)
                    draw(drop, ((first + b) * heads + h) * queries + i, memory, factor);
                grad_tiles(s + i * high, kept + (task * queries + i) * memory, memory, scale,
                            drop->share ? factor : NULL, ds + i * high, ps + i * high);
            }
            pack_zipped(ks, wide, high, width, right);
            multiply_tiles(ds, high, queries, high / 32, right, wide / 16, out, wide);
            narrow_rows(out, wide, queries, width, (bf16 *)HEAD(dq), dq.of_row);
            turn_left(ds, high, deep, high, turned, deep);
            pack_zipped(qs, wide, deep, width, right);
            multiply_tiles(turned, deep, memory, deep / 32, right, wide / 16, out, wide);
            narrow_rows(out, wide, memory, width, (bf16 *)HEAD(dk), dk.of_row);
            turn_left(ps, high, deep, high, turned, deep);
            pack_zipped(gs, wide, deep, width, right);
            multiply_tiles(turned, deep, memory, deep / 32, right, wide / 16, out, wide);
            narrow_rows(out, wide, memory, width, (bf16 *)HEAD(dv), dv.of_row);
        }
        _tile_release();
        free(qs), free(gs), free(ks), free(vs), free(right), free(ps), free(ds), free(turned);
        free(s), free(out), free(factor);
    }
    return failed;
}
#else
int has_tiles(void) { return 0; }
#endif

// q, k, v, out: those of head 0; head h is h * width values further. `kept`: the weights, B H Q M,
// for the backward pass, in the type of the operands. Dropout applies to the weights; `first`: the
// number of the first sentence. mask[b, q, m] at mask + b * mask_batch + q * mask_row + m *
// mask_step.
int attend_forward(Heads q, Heads k, Heads v, Heads out, void *kept, int is_low,
                    const uint8_t *mask, long mask_batch, long mask_row, long mask_step,
                    const Drop *drop, long first, long batch, long heads, long queries,
                    long memory, long width, int threads) {
    int failed = 0;
    float scale = 1 / sqrtf(width);
    long wide = UP(width), high = UP(memory), size = is_low ? 2 : 4;
#pragma omp parallel num_threads(threads)
    {
        float *qs = room(queries * wide, 4), *ks = room(memory * wide, 4);
        float *turned = room(high * wide, 4), *vs = room(memory * wide, 4);
        float *s = room(queries * high, 4), *o = room(queries * wide, 4);
        float *factor = room(memory + 32, 4);
        int32_t *open = room(queries * high, 4);
        long opened = -1, open_row = mask_row ? high : 0;
        if (!(qs && ks && turned && vs && s && o && factor && open)) failed = 1;
#pragma omp barrier
        long tasks = failed ? 0 : batch * heads;
#pragma omp for schedule(static)
        for (long task = 0; task < tasks; task++) {
            long b = task / heads, h = task % heads;
            if (b != opened) {
                read_mask(mask + b * mask_batch, mask_row, mask_step, queries, memory, high, open);
                opened = b;
            }
            read_rows(HEAD(q), is_low, q.of_row, queries, width, scale, qs, wide);
            read_rows(HEAD(k), is_low, k.of_row, memory, width, 1, ks, wide);
            read_rows(HEAD(v), is_low, v.of_row, memory, width, 1, vs, wide);
            turn(ks, wide, memory, width, turned, high);
            multiply(qs, wide, 1, turned, high, queries, width, high, s, high);
            for (long i = 0; i < queries; i++) {
                float *row = s + i * high;
                soften(row, open + i * open_row, high);
                char *keep = (char *)kept + ((task * queries + i) * memory) * size;
                write_rows(row, high, 1, memory, keep, is_low, memory);
                if (drop->share) {
                    draw(drop, ((first + b) * heads + h) * queries + i, memory, factor);
                    for (long m = 0; m < memory; m++)
                        row[m] = factor[m] == 0 ? 0 : row[m] * factor[m];
                }
            }
            multiply(s, high, 1, vs, wide, queries, memory, wide, o, wide);
            write_rows(o, wide, queries, width, HEAD(out), is_low, out.of_row);
        }
        free(qs), free(ks), free(turned), free(vs), free(s), free(o), free(factor), free(open);
    }
    return failed;
}

int attend_backward(Heads q, Heads k, Heads v, Heads g, const void *kept, int is_low,
                     const Drop *drop, long first, long batch, long heads, long queries,
                     long memory, long width, Heads dq, Heads dk, Heads dv, int threads) {
    int failed = 0;
    float scale = 1 / sqrtf(width);
    long wide = UP(width), high = UP(memory), size = is_low ? 2 : 4;
#pragma omp parallel num_threads(threads)
    {
        float *qs = room(queries * wide, 4), *gs = room(queries * wide, 4);
        float *ks = room(memory * wide, 4), *vs = room(memory * wide, 4);
        float *turned = room(high * wide, 4), *out = room((queries + memory) * wide, 4);
        float *s = room(queries * high, 4), *p = room(queries * high, 4);
        float *factor = room(memory + 32, 4);
        if (!(qs && gs && ks && vs && turned && out && s && p && factor)) failed = 1;
#pragma omp barrier
        long tasks = failed ? 0 : batch * heads;
#pragma omp for schedule(static)
        for (long task = 0; task < tasks; task++) {
            long b = task / heads, h = task % heads;
            read_rows(HEAD(q), is_low, q.of_row, queries, width, 1, qs, wide);
            read_rows(HEAD(k), is_low, k.of_row, memory, width, 1, ks, wide);
            read_rows(HEAD(v), is_low, v.of_row, memory, width, 1, vs, wide);
            read_rows(HEAD(g), is_low, g.of_row, queries, width, 1, gs, wide);
            read_rows((char *)kept + task * queries * memory * size, is_low, memory, queries,
                      memory, 1, p, high);
            turn(vs, wide, memory, width, turned, high);
            multiply(gs, wide, 1, turned, high, queries, width, high, s, high);
            for (long i = 0; i < queries; i++) {
                float *row = s + i * high, *weight = p + i * high, along = 0;
                if (drop->share) {
                    draw(drop, ((first + b) * heads + h) * queries + i, memory, factor);
                    for (long m = 0; m < memory; m++)
                        row[m] = factor[m] == 0 ? 0 : row[m] * factor[m];
                }
#pragma omp simd reduction(+ : along)
                for (long m = 0; m < memory; m++) along += row[m] * weight[m];
                for (long m = 0; m < memory; m++) row[m] = (row[m] - along) * weight[m] * scale;
                if (drop->share)
                    for (long m = 0; m < memory; m++)
                        weight[m] = factor[m] == 0 ? 0 : weight[m] * factor[m];
            }
            multiply(s, high, 1, ks, wide, queries, memory, wide, out, wide);
            write_rows(out, wide, queries, width, HEAD(dq), is_low, dq.of_row);
            multiply(s, 1, high, qs, wide, memory, queries, wide, out, wide);
            write_rows(out, wide, memory, width, HEAD(dk), is_low, dk.of_row);
            multiply(p, 1, high, gs, wide, memory, queries, wide, out, wide);
            write_rows(out, wide, memory, width, HEAD(dv), is_low, dv.of_row);
        }
        free(qs), free(gs), free(ks), free(vs), free(turned), free(out), free(s), free(p);
        free(factor);
    }
    return failed;
}
