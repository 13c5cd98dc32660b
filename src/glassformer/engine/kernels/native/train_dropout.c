// Dropout of rows in fp32 or bf16; the backward pass is the same function.

#include "math.h"

int drop_rows(const void *x, int is_low, const Drop *drop, long first, long rows, long width,
              void *out, int threads) {
    int failed = 0;
#pragma omp parallel num_threads(threads)
    {
        float *factor = room(width + 32, 4);
        if (!factor) failed = 1;
#pragma omp barrier
        long todo = failed ? 0 : rows;
#pragma omp for schedule(static)
        for (long r = 0; r < todo; r++) {
            draw(drop, first + r, width, factor);
            const bf16 *low = (const bf16 *)x + r * width;
            const float *high = (const float *)x + r * width;
            if (is_low)
                for (long j = 0; j < width; j++)
                    ((bf16 *)out)[r * width + j] =
                        factor[j] == 0 ? 0 : narrow(widen(low[j]) * factor[j]);
            else
                for (long j = 0; j < width; j++)
                    ((float *)out)[r * width + j] = factor[j] == 0 ? 0 : high[j] * factor[j];
        }
        free(factor);
    }
    return failed;
}
