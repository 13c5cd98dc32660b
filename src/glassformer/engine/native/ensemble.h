/* Several networks as one: the mean of their probabilities; the twin in Python is
decode/ensemble.py. */
#pragma once
#include "network.h"

/* Make a network of `count` others, at least one, which have one vocabulary and stay the caller's:
nobody else uses them as long as it is open. It knows neither short-lists nor watched heads. */
int ensemble_open(int32_t count, const Network *members, Network *network);
void ensemble_close(Network *network);
