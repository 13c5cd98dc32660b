/* Compares a kernel, run by several threads, with a plain loop in double; 0 if they agree.

It is compiled for other processors too, and run there by an emulator. */
#include "train_norm.c"
#include <stdio.h>

enum { ROW_COUNT = 37, WIDTH = 50, THREADS = 3 };

static float value(int i) { return (float)((i * 2654435761u >> 8) % 2001) / 1000 - 1; }

static double check(const float *x, const float *y, const float *gain, const float *bias,
                    const float *found) {
    double worst = 0;
    for (int r = 0; r < ROW_COUNT; r++) {
        double s[WIDTH], mean = 0, variance = 0;
        for (int j = 0; j < WIDTH; j++) {
            s[j] = (double)x[r * WIDTH + j] + y[r * WIDTH + j];
            mean += s[j] / WIDTH;
        }
        for (int j = 0; j < WIDTH; j++) variance += (s[j] - mean) * (s[j] - mean) / WIDTH;
        for (int j = 0; j < WIDTH; j++) {
            double wanted = (s[j] - mean) / sqrt(variance + 1e-5) * gain[j] + bias[j];
            double apart = fabs(wanted - found[r * WIDTH + j]);
            if (!(apart <= worst)) worst = apart;
        }
    }
    return worst;
}

int main(void) {
    static float x[ROW_COUNT * WIDTH], y[ROW_COUNT * WIDTH], gain[WIDTH], bias[WIDTH];
    static float found[ROW_COUNT * WIDTH], mean[ROW_COUNT], slant[ROW_COUNT];
    for (int i = 0; i < ROW_COUNT * WIDTH; i++) x[i] = value(i), y[i] = value(7 * i + 3);
    for (int j = 0; j < WIDTH; j++) gain[j] = 1 + value(j), bias[j] = value(j + 99);
    Drop none = {.share = 0};
    for (int turn = 0; turn < 200; turn++) { /* the threads begin and end many times */
        memset(found, 0xff, sizeof found);
        if (add_norm(x, y, 0, &none, 0, gain, bias, 1e-5f, ROW_COUNT, WIDTH, found, NULL, mean,
                     slant, THREADS))
            return 2;
        double worst = check(x, y, gain, bias, found);
        if (!(worst < 1e-5)) {
            printf("turn %d: apart by %g\n", turn, worst);
            return 1;
        }
    }
    return 0;
}
