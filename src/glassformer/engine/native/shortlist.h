/* Short-lists: a search that predicts only the candidates of each sentence, its likely tokens.

Every sentence has candidates of its own, so that its translation does not depend on which sentences
are searched for beside it. The candidates of two sentences differ, so there is no product of
matrices: the dot product of each hypothesis with the weights of each candidate is computed, which
pays as long as there are few. In int8 only. */
#pragma once
#include "cache.h"
#include "model.h"

/* Return whether all ids of a list are from 0 to below `end`. */
int are_ids_within(const int32_t *ids, int64_t count, int32_t end);
/* Mark the candidates of a text in `marks`, F zeros as the map to the logits has outputs; count them. */
int32_t mark_candidates(const Text *text, uint8_t *marks);
/* List those that are marked in the source, in ascending order, and take the marks away. */
void list_candidates(uint8_t *marks, const Model *model, const Source *source);
/* Compute the logits of the candidates from number `from` to `end` for `count` rows; behind those of
a row, memory up to a multiple of PAD is written. */
void predict_candidates(const Model *model, const Source *source, int32_t from, int32_t end,
                        const Rows *rows, int64_t count, float *logits, int64_t stride);
