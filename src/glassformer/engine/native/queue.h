/* The sentences that wait, which all workers share. Whoever reads or writes the fields while
workers run holds the lock. The longest sentences come first, so that memory runs out at once or
never. */
#pragma once
#include "api.h"
#include "threads.h"

typedef struct {
    Lock lock;
    Signal change;       /* something is done, or a worker has ended */
    const Request **waiting; /* those from `next` to `count - 1` */
    int64_t next, count;
    Call *call;               /* its budget falls, and its `failed` is written */
    int32_t rows;             /* of each sentence */
    int32_t workers, at_work; /* that have not ended; of these, that have taken something */
    int error;                /* the first, a code of errors.h; it ends the work of all */
    int64_t done, told;       /* sentences; of these, told to `progress` of the call */
    int32_t calls;            /* of queue_report since `progress` was called */
} Queue;

/* Sort the requests and let the workers of a call do them: `work` is called with `shared` for each
worker, until queue_take ends it. Return the first error, and note in the call where it was. */
int queue_run(Queue *queue, Call *call, const Request *requests, int64_t count, int32_t rows,
              void (*work)(void *shared, int32_t worker), void *shared);

/* Copy the next requests that fit beside `working` others, the longest of so many tokens, to the
array `*requests`, which is NULL at a worker's first call; return their number. -1: it ends. */
int32_t queue_take(Queue *queue, int32_t working, int32_t longest, const Request ***requests);

/* Put the requests back on which memory ran out, and reduce the budget; return whether the worker
goes on. One whose memory did not suffice for a single sentence ends and leaves it to the others. */
bool queue_put_back(Queue *queue, int32_t count, const Request **requests);

/* End the work of all because of an error. */
void queue_fail(Queue *queue, int error, const Request *failed);

/* Tell `progress` what is done, and wait for the other workers; for the first worker only. */
void queue_report(Queue *queue);
void queue_wait(Queue *queue);
