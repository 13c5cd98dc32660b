/* The k largest values and the logsumexp of each row, for a search. */
#include "topk.h"

/* Answer `question` about rows that are `row` floats apart. */
void top_survey(const float *x, int64_t rows, int64_t row, const Question *question, int threads) {
#pragma omp parallel for num_threads(rows > 1 ? threads : 1)
    for (int64_t r = 0; r < rows; r++) {
        Tally tally = begin_survey(question, r);
        read_on(question, r, x + r * row, 0, question->values, &tally);
        end_survey(question, r, tally);
    }
}
