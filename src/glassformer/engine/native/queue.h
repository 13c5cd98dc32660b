/* The sentences that wait, which all workers share. Whoever reads or writes the fields while
workers run holds the lock. The longest sentences come first, so that memory runs out at once or
never. */
#pragma once
#include "pool.h"
#include "search.h"
#include "threads.h"

typedef struct {
    Lock lock;
    Signal change;       /* something is done, or a worker has ended */
    const Request **waiting; /* those from `next` to `count - 1` */
    int64_t next, count;
    int64_t budget;           /* rows at work times the longest of them, in tokens */
    int32_t rows;             /* of each sentence */
    int32_t workers, at_work; /* that have not ended; of these, that have begun */
    int error;                /* the first, a code of errors.h; it ends the work of all */
    const Request *failed;        /* the sentence of the error, or NULL */
    int64_t done, told;       /* sentences; of these, told to `progress` */
    int32_t calls;            /* of queue_report since `progress` was called */
    int (*progress)(int64_t done); /* called by the first worker; not 0: the work is cancelled */
} Queue;

/* Sort the requests and let the workers do them: `work` is called with `shared` for each worker,
and begins with queue_begin. Return the first error. */
int queue_run(Queue *queue, const Request *requests, int64_t count, Pool *pool, int32_t workers,
              void (*work)(void *shared, int32_t worker), void *shared);
void queue_begin(Queue *queue);

/* Copy the next requests that fit beside `working` others, the longest of so many tokens, to the
array `*requests`, which grows; return their number. -1: the worker ends. */
int32_t queue_take(Queue *queue, int32_t working, int32_t longest, const Request ***requests);

/* Put the requests back on which memory ran out, and reduce the budget; return whether the worker
goes on. One whose memory did not suffice for a single sentence ends and leaves it to the others. */
bool queue_put_back(Queue *queue, int32_t count, const Request **requests);

/* End the work of all because of an error. */
void queue_fail(Queue *queue, int error, const Request *failed);

/* Tell `progress` what is done, and wait for the other workers; for the first worker only. */
void queue_report(Queue *queue);
void queue_wait(Queue *queue);
