/* Several networks as one: the mean of their probabilities; the twin in Python is
decode/ensemble.py. */
#pragma once
#include "network.h"

/* Make a network of `count` others, at least one, which stay the caller's: nobody else uses them as
long as it is open. It knows neither short-lists nor watched heads. GF_BAD_REQUEST, and no network,
unless they have one vocabulary. */
int ensemble_open(int32_t count, const Network *members, Network *network);
void ensemble_close(Network *network);
