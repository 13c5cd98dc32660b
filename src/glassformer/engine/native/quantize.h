/* Numbers as bytes: a row of activations with a scale of its own, an output's weights with another.

Activations become unsigned bytes, x = (byte - zero) * scale: zero is 128, or 0 where nothing is
negative (after ReLU). A row has a multiple of DEEP bytes; those beyond the inputs are `zero`.
*/
#pragma once
#include "vector.h"

#define DEEP 64 /* inputs of a linear map are padded to a multiple of these */
#define LARGEST 127
#define TINY 1e-20f /* the smallest scale */

#if defined __aarch64__ && defined __ARM_FEATURE_DOTPROD
#define FLIP 0x80 /* bytes are stored with this bit flipped: signed, less 128 */
#else
#define FLIP 0
#endif

#if defined __AVX2__ && !defined __AVX512VNNI__ && !defined __AVXVNNI__
#define PAIRED 2 /* so many products of four inputs are summed in 16 bits: see `find_scale` */
#else
#define PAIRED 0
#endif

/* Quantize a row of `padded` floats, a multiple of PAD, into `deep` bytes; return its scale. The
scale of a row that is not finite is NaN, and so is all that is computed from it. */
INLINE float quantize_row(const float *x, int64_t padded, int64_t deep, int32_t zero, uint8_t *row) {
    Vec high = v_set(0);
    for (int64_t i = 0; i < padded; i += LANES) high = v_max_abs(v_load(x + i), high);
    float largest = v_largest_abs(high), scale = largest * (zero ? 1 / 127.0f : 1 / 255.0f);
    scale = scale > TINY ? scale : TINY;
    Vec inverse = v_set(1 / scale), shift = v_set((float)zero + 0.5f);
    for (int64_t i = 0; i < padded; i += LANES) v_store_bytes(row + i, v_load(x + i) * inverse + shift);
#if FLIP
    for (int64_t i = 0; i < padded; i++) row[i] ^= FLIP;
#endif
    for (int64_t i = padded; i < deep; i++) row[i] = (uint8_t)zero ^ FLIP;
    return scale + largest * 0.0f;
}

/* Return the scale of one output; NaN where a weight is not finite. Where products are summed in 16
bits, the positive weights of a sum add up to at most 128, so do the negative: 255 * 128 fits. */
static inline float find_scale(const float *row, int64_t inputs) {
    Vec largest = v_set(0);
    for (int64_t k = 0; k < inputs; k += LANES) largest = v_max_abs(v_load(row + k), largest);
    float high = v_largest_abs(largest), sums = 0;
#if PAIRED
    for (int64_t k = 0; k < inputs; k += 4 * PAIRED) {
        float more[2] = {0}, less[2] = {0};
        for (int64_t i = k; i < k + 4 * PAIRED && i < inputs; i++)
            *(row[i] > 0 ? more + i / 2 % 2 : less + i / 2 % 2) += fabsf(row[i]);
        for (int i = 0; i < 2; i++) sums = fmaxf(sums, fmaxf(more[i], less[i]));
    }
#endif
    /* Rounding may add a half for each of 2 * PAIRED, which counts towards the 128. */
    float scale = fmaxf(high / LARGEST, sums / (128 - PAIRED));
    return isfinite(high) ? fmaxf(scale, TINY) : NAN;
}
