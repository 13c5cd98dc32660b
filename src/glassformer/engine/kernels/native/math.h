// Allocation, conversion from and to bf16, and the random bits of dropout.

#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512")
#endif

#ifndef NUMBERS_H
#define NUMBERS_H
#include "bf16.h"
#include <stdlib.h>

#if defined(_WIN32)
#include <malloc.h>
#define aligned_alloc(alignment, bytes) _aligned_malloc(bytes, alignment)
#define free _aligned_free
#endif

// Returns NULL where memory runs out; the caller then does nothing and returns 1.
static inline void *room(long values, int size) {
    return aligned_alloc(64, ((size_t)values * size + 63) / 64 * 64 + 64);
}

static inline void *clear_room(long values, int size) {
    void *found = room(values, size);
    if (found) memset(found, 0, (size_t)values * size);
    return found;
}

// The settings of a dropout; its bits are a pure function of a key, a row number and a column.
typedef struct {
    uint32_t key[2], share;  // of 1 << 15 values, `share` are kept; 0: no dropout
    float scale;             // kept values are multiplied by it
} Drop;

// Set factor[j] to 0 for dropped values, else to the scale. It has 31 values more than `width`.
static inline void draw(const Drop *drop, uint64_t row, long width, float *factor) {
    long half = (width + 31) / 32 * 16;
    uint32_t k1 = drop->key[1], share = drop->share;
    uint64_t first = row * half;
    uint32_t k0 = drop->key[0] ^ (uint32_t)(first >> 32) * 0x9e3779b9u, from = (uint32_t)first;
    float scale = drop->scale;
    for (long block = 0; block < half; block += 16) {
        float *to = factor + 2 * block;
        for (int i = 0; i < 16; i++) {
            uint32_t x = from + (uint32_t)block + i;
            x = (x ^ x >> 16 ^ k0) * 0x21f0aaadu;
            x = (x ^ x >> 15 ^ k1) * 0xd35a2d97u;
            x = (x ^ x >> 15) * 0x735a2d97u;
            x ^= x >> 15;
            to[i] = (x & 0x7fff) < share ? scale : 0;
            to[i + 16] = (x >> 17) < share ? scale : 0;
        }
    }
}
#endif
