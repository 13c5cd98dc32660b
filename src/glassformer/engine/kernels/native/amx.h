/* The eight AMX tiles of a processor, each of 16 rows of 64 bytes. */
#pragma once
#if defined(__AMX_TILE__) && defined(__linux__)
#include <immintrin.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Request the tiles from the system; return whether it grants them. */
static inline int ask_for_tiles(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

static inline void use_tiles(void) {
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } __attribute__((packed)) shape = {.palette = 1};
    for (int i = 0; i < 8; i++) shape.bytes[i] = 64, shape.rows[i] = 16;
    _tile_loadconfig(&shape);
}
#endif
