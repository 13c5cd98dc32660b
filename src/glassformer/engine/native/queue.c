/* The queue of sentences: see queue.h. */
#include "queue.h"
#include "scratch.h"

#define FEWEST 4 /* sentences that a worker takes at once, if its fair share is as large */
#define TAKES 3   /* the first take of a worker is 1 / TAKES of its share of the queue */
#define PATIENCE 16 /* steps after which `progress` is called even if nothing is done: see Ctrl-C */

static int compare_requests(const void *a, const void *b) {
    const Request *one = *(const Request *const *)a, *other = *(const Request *const *)b;
    int32_t sizes[2] = {request_size(one), request_size(other)};
    if (sizes[0] != sizes[1]) return sizes[0] > sizes[1] ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

int queue_run(Queue *queue, Call *call, const Request *requests, int64_t count, int32_t rows,
              void (*work)(void *shared, int32_t worker), void *shared) {
    int32_t workers = call->workers <= count ? call->workers : count ? (int32_t)count : 1;
    *queue = (Queue){.call = call, .count = count, .rows = rows, .workers = workers};
    queue->waiting = malloc((size_t)(count + 1) * sizeof *queue->waiting);
    if (!queue->waiting) return GF_OUT_OF_MEMORY;
    for (int64_t i = 0; i < count; i++) queue->waiting[i] = requests + i;
    qsort(queue->waiting, (size_t)count, sizeof *queue->waiting, compare_requests);
    lock_init(&queue->lock);
    signal_init(&queue->change);
    if (call->pool) pool_run(call->pool, workers, work, shared);
    else for (int32_t worker = 0; worker < workers; worker++) work(shared, worker);
    signal_free(&queue->change);
    lock_free(&queue->lock);
    free(queue->waiting);
    return queue->error;
}

/* Return how many of the waiting requests to take. A few are not worth a run of the encoder, so
none are taken until a quarter of those at work would fit. Each of several workers takes a part of
what is left, so that all end at about the same time. */
static int64_t count_fitting(const Queue *queue, int32_t working, int32_t longest) {
    int64_t left = queue->count - queue->next;
    if (!left || queue->error) return 0;
    int32_t size = request_size(queue->waiting[queue->next]);
    int64_t fit = queue->call->budget / queue->rows / (size > longest ? size : longest) - working;
    if (fit < 1) fit = working ? 0 : 1;
    if (4 * fit < working) return 0;
    int64_t parts = TAKES * (int64_t)queue->workers, share = (left + parts - 1) / parts;
    if (queue->workers == 1) share = left;
    int64_t fair = (left + queue->workers - 1) / queue->workers;
    int64_t fewest = fair < FEWEST ? fair : FEWEST;
    if (share < fewest) share = fewest;
    fit = fit < share ? fit : share;
    return fit < left ? fit : left;
}

static void end_worker(Queue *queue) {
    queue->workers--;
    queue->at_work--;
    signal_all(&queue->change);
}

int32_t queue_take(Queue *queue, int32_t working, int32_t longest, const Request ***requests) {
    lock_take(&queue->lock);
    if (!*requests) queue->at_work++;
    int64_t count = count_fitting(queue, working, longest);
    if (count && !GROW(*requests, count)) {
        queue->error = GF_OUT_OF_MEMORY;
        count = 0;
    }
    for (int64_t i = 0; i < count; i++) (*requests)[i] = queue->waiting[queue->next++];
    bool ends = !count && (!working || queue->error);
    if (ends) end_worker(queue);
    lock_leave(&queue->lock);
    return ends ? -1 : (int32_t)count;
}

static void note_error(Queue *queue, int error, const Request *failed) {
    if (queue->error) return;
    queue->error = error;
    queue->call->failed = failed ? failed->index : -1;
    queue->call->failed_size = failed ? request_size(failed) : 0;
}

bool queue_put_back(Queue *queue, int32_t count, const Request **requests) {
    qsort(requests, (size_t)count, sizeof *requests, compare_requests);
    lock_take(&queue->lock);
    queue->next -= count; /* they were taken from here, or from further on */
    memcpy(queue->waiting + queue->next, requests, (size_t)count * sizeof *requests);
    int64_t fewer = (int64_t)queue->rows * request_size(requests[0]) * (count / 2);
    if (count > 1 && fewer < queue->call->budget) queue->call->budget = fewer;
    if (count == 1 && queue->workers == 1) note_error(queue, GF_OUT_OF_MEMORY, requests[0]);
    if (count == 1) end_worker(queue);
    lock_leave(&queue->lock);
    return count > 1;
}

void queue_fail(Queue *queue, int error, const Request *failed) {
    lock_take(&queue->lock);
    note_error(queue, error, failed);
    lock_leave(&queue->lock);
}

void queue_report(Queue *queue) {
    lock_take(&queue->lock);
    int64_t more = queue->done - queue->told;
    queue->told = queue->done;
    lock_leave(&queue->lock);
    if (!queue->call->progress || (!more && ++queue->calls < PATIENCE)) return;
    queue->calls = 0;
    if (queue->call->progress(more)) queue_fail(queue, GF_CANCELLED, NULL);
}

void queue_wait(Queue *queue) {
    for (bool is_over = false; !is_over;) {
        queue_report(queue);
        lock_take(&queue->lock);
        if (queue->at_work && queue->done == queue->told) signal_wait(&queue->change, &queue->lock);
        is_over = !queue->at_work && queue->done == queue->told;
        lock_leave(&queue->lock);
    }
}
