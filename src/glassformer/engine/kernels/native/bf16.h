/* The type bf16: the upper half of a float. */
#pragma once
#include <stdint.h>
#include <string.h>

typedef uint16_t bf16;

static inline float widen(bf16 x) {
    uint32_t bits = (uint32_t)x << 16;
    float found;
    memcpy(&found, &bits, 4);
    return found;
}

static inline bf16 narrow(float x) { /* rounds to nearest, ties to even */
    uint32_t bits;
    memcpy(&bits, &x, 4);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return x != x ? 0x7fc0 : rounded;
}
