// AMX tiles and the layout of their operands: see train_product.c.

#ifndef TILES_H
#define TILES_H
#include "math.h"

#if defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__linux__)
#define HAS_TILES
#include "amx.h"

// Return the mask of the first n of 32 values.
static inline __mmask32 first_of(long n) { return n >= 32 ? 0xffffffffu : (1u << n) - 1; }

// Transpose 16 x 16 pairs.
static inline void turn_pairs(__m512i *r) {
    __m512i t[16];
    for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++) {
        r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0x88);
        t[4 + i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0xdd);
        t[8 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0x88);
        t[12 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
        r[8 + i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xdd);
        r[4 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0x88);
        r[12 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0xdd);
    }
}

// Interleave two rows of 32 values to 32 pairs: the first 16, the last 16.
static inline void zip_rows(__m512i a, __m512i b, __m512i *first, __m512i *last) {
    const __m512i low = _mm512_unpacklo_epi16(a, b), high = _mm512_unpackhi_epi16(a, b);
    const __m512i x = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i y = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    *first = _mm512_permutex2var_epi64(low, x, high);
    *last = _mm512_permutex2var_epi64(low, y, high);
}
static inline __m512 exponential_16(__m512 x) {  // error 4e-6; 0 and inf beyond fp32
    __m512 turns = _mm512_mul_ps(x, _mm512_set1_ps(1.44269504f));
    __m512 whole = _mm512_roundscale_ps(turns, 8);
    __m512 r = _mm512_fnmadd_ps(whole, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fmadd_ps(whole, _mm512_set1_ps(2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(8.3334519073e-3f), one = _mm512_set1_ps(1);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
    p = _mm512_fmadd_ps(p, r, one);
    p = _mm512_fmadd_ps(p, r, one);
    return _mm512_scalef_ps(p, whole);
}
#endif
#endif
