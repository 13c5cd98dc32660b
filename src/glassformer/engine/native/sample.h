/* Sampling: the twin of decode/sample.py. With the same logits, seed, line and position it draws
the same token. */
#pragma once
#include "search.h"

#define MOST_DRAWN 64 /* with a larger top_k all logits are asked for */

/* Put the token drawn from the best of each row in the first place. */
void draw_from_best(Search *search);

/* Make the token drawn from the logits of each row its best. */
int draw_from_logits(Search *search);
