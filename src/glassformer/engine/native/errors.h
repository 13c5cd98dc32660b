/* What the functions of the engine return: 0, or the reason why nothing was done. */
#pragma once

enum {
    GF_OK = 0,
    GF_OUT_OF_MEMORY = 1,
    GF_TOKEN_OUT_OF_RANGE = 2, /* a token is not in its vocabulary */
    GF_TOO_LONG = 3,           /* more tokens than the model has positions */
    GF_NOT_FINITE = 4,         /* a logit is NaN or infinite */
    GF_CANCELLED = 5,
    GF_BAD_REQUEST = 6, /* rows, lengths or sizes that contradict each other */
    GF_BAD_MODEL = 7,   /* settings or weights that contradict each other, or are out of bounds */
    GF_NO_TILES = 8,    /* the system grants no AMX tiles; probe.c asks before this library is taken */
    GF_NO_HYPOTHESIS = 9, /* the rules of a search forbid every token */
};
