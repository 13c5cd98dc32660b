/* A pool of threads: they sleep on a condition variable, and never spin. */
#include "pool.h"
#include "errors.h"
#include "threads.h"
#include <stdlib.h>

typedef void Job(void *context, int32_t worker);

struct Pool {
    Lock lock;
    Signal wake, done;
    Job *job; /* what is being done; NULL: nothing */
    void *context;
    int32_t next, count, running; /* the next worker to begin, all of them, those under way */
    int32_t is_closing, threads;
    Thread thread[];
};

/* Do what is left of the job; the lock is held before and after. */
static void work(Pool *pool) {
    while (pool->next < pool->count) {
        int32_t worker = pool->next++;
        pool->running++;
        lock_leave(&pool->lock);
        pool->job(pool->context, worker);
        lock_take(&pool->lock);
        pool->running--;
    }
    if (!pool->running) signal_all(&pool->done);
}

static RESULT run_thread(void *pointer) {
    Pool *pool = pointer;
    lock_take(&pool->lock);
    while (!pool->is_closing) {
        if (pool->next < pool->count) work(pool);
        else signal_wait(&pool->wake, &pool->lock);
    }
    lock_leave(&pool->lock);
    return 0;
}

int pool_open(int32_t workers, Pool **pool) {
    int32_t threads = workers > 1 ? workers - 1 : 0;
    Pool *made = calloc(1, sizeof *made + (size_t)threads * sizeof *made->thread);
    *pool = made;
    if (!made) return GF_OUT_OF_MEMORY;
    lock_init(&made->lock);
    signal_init(&made->wake);
    signal_init(&made->done);
    while (made->threads < threads && thread_start(made->thread + made->threads, run_thread, made))
        made->threads++;
    return GF_OK;
}

void pool_close(Pool *pool) {
    if (!pool) return;
    lock_take(&pool->lock);
    pool->is_closing = 1;
    signal_all(&pool->wake);
    lock_leave(&pool->lock);
    for (int32_t i = 0; i < pool->threads; i++) thread_join(pool->thread[i]);
    free(pool);
}

void pool_run(Pool *pool, int32_t count, Job *job, void *context) {
    lock_take(&pool->lock);
    pool->job = job, pool->context = context;
    pool->next = 0, pool->count = count;
    if (count > 1) signal_all(&pool->wake);
    work(pool);
    while (pool->running) signal_wait(&pool->done, &pool->lock);
    pool->next = pool->count = 0;
    lock_leave(&pool->lock);
}
