/* The calls that Clang makes for `#pragma omp parallel`, `for schedule(static)` and `barrier`.

Zig's and Apple's Clang compile OpenMP but come without its runtime, so the kernels get this one:
a pool of threads that sleep when there is nothing to do. One parallel region runs at a time; a
second one that begins meanwhile, or inside the first, runs on the thread that begins it. GCC has
a runtime of its own, and does not compile this file. */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden"))) /* PyTorch's runtime has the same names */

enum { MOST_VALUES = 32, MOST_THREADS = 1024, SPINS = 2000 /* some 20 microseconds */ };

/* A region as Clang outlines it: the numbers of its thread, then the addresses of what it uses.
It ignores addresses beyond those. */
typedef void *Value;
typedef void (*Region)(int32_t *, int32_t *, Value, Value, Value, Value, Value, Value, Value, Value,
                       Value, Value, Value, Value, Value, Value, Value, Value, Value, Value, Value,
                       Value, Value, Value, Value, Value, Value, Value, Value, Value, Value, Value,
                       Value, Value);

static struct {
    pthread_mutex_t busy; /* held while a region runs */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    atomic_int begun, passed; /* regions that have begun; barriers that were passed */
    atomic_int arrived;       /* threads that wait at the barrier */
    int helpers, threads;     /* threads there are but for the caller's; those of this region */
    Region region;
    Value value[MOST_VALUES];
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local int32_t own = 0, count = 1, wanted = 1;

/* Wait until a counter is no longer what it was: watch it for a moment, then sleep. */
static void await(atomic_int *counter, int before) {
    for (int spin = 0; spin < SPINS; spin++) {
        if (atomic_load(counter) != before) return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&pool.lock);
    while (atomic_load(counter) == before) pthread_cond_wait(&pool.changed, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

HIDDEN void __kmpc_barrier(void *place, int32_t thread) {
    if (count == 1) return;
    int before = atomic_load(&pool.passed);
    if (atomic_fetch_add(&pool.arrived, 1) + 1 < count) {
        await(&pool.passed, before);
        return;
    }
    atomic_store(&pool.arrived, 0);
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add(&pool.passed, 1);
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}

static void run(Region region, Value *v, int32_t thread, int32_t threads) {
    int32_t before = own, before_count = count;
    own = thread, count = threads;
    region(&own, &own, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11],
           v[12], v[13], v[14], v[15], v[16], v[17], v[18], v[19], v[20], v[21], v[22], v[23],
           v[24], v[25], v[26], v[27], v[28], v[29], v[30], v[31]);
    __kmpc_barrier(0, thread);
    own = before, count = before_count;
}

static void *help(void *number) {
    int thread = (int)(intptr_t)number, seen = 0;
    for (;;) {
        await(&pool.begun, seen);
        pthread_mutex_lock(&pool.lock); /* both numbers are of the same region */
        seen = atomic_load(&pool.begun);
        int threads = pool.threads;
        pthread_mutex_unlock(&pool.lock);
        if (thread < threads) run(pool.region, pool.value, thread, threads);
    }
    return 0;
}

#if !defined(_WIN32)
/* A forked process has none of the threads. */
static void forget(void) {
    pthread_mutex_init(&pool.busy, 0), pthread_mutex_init(&pool.lock, 0);
    pthread_cond_init(&pool.changed, 0);
    pool.helpers = 0, atomic_store(&pool.begun, 0), atomic_store(&pool.arrived, 0);
}

__attribute__((constructor)) static void prepare(void) { pthread_atfork(0, 0, forget); }
#endif

/* Begin a region of up to `threads`: those of them that the system lets start. */
static void begin(Region region, Value *value, int threads) {
    while (pool.helpers < threads - 1) {
        pthread_t started;
        Value number = (Value)(intptr_t)(pool.helpers + 1);
        if (pthread_create(&started, 0, help, number)) break;
        pthread_detach(started);
        pool.helpers++;
    }
    pthread_mutex_lock(&pool.lock);
    pool.threads = pool.helpers + 1 < threads ? pool.helpers + 1 : threads;
    pool.region = region;
    for (int i = 0; i < MOST_VALUES; i++) pool.value[i] = value[i];
    atomic_fetch_add(&pool.begun, 1);
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
}

HIDDEN void __kmpc_fork_call(void *place, int32_t values, Region region, ...) {
    Value value[MOST_VALUES] = {0};
    va_list given;
    va_start(given, region);
    for (int i = 0; i < values && i < MOST_VALUES; i++) value[i] = va_arg(given, Value);
    va_end(given);
    int threads = wanted > MOST_THREADS ? MOST_THREADS : wanted;
    wanted = 1;
    if (threads < 2 || pthread_mutex_trylock(&pool.busy)) {
        run(region, value, 0, 1);
        return;
    }
    begin(region, value, threads);
    run(region, value, 0, pool.threads);
    pthread_mutex_unlock(&pool.busy);
}

HIDDEN void __kmpc_push_num_threads(void *place, int32_t thread, int32_t threads) {
    wanted = threads;
}

HIDDEN int32_t __kmpc_global_thread_num(void *place) { return own; }
HIDDEN int omp_get_thread_num(void) { return own; }
HIDDEN int omp_get_num_threads(void) { return count; }

/* Cut the iterations lower, lower + by, ..., upper into equal parts, and return those of `thread`. */
#define CUT(name, Integer)                                                                      \
    HIDDEN void name(void *place, int32_t thread, int32_t kind, int32_t *is_last, Integer *lower, \
                     Integer *upper, Integer *stride, Integer by, Integer chunk) {              \
        Integer times = by > 0 ? (*upper - *lower + by) / by : (*lower - *upper - by) / -by;    \
        if (times < 0) times = 0;                                                               \
        Integer part = times / count, more = times % count;                                     \
        Integer first = own * part + (own < more ? own : more);                                 \
        *is_last = own == count - 1;                                                            \
        *stride = times * by;                                                                   \
        *lower += first * by;                                                                   \
        *upper = *lower + (part + (own < more) - 1) * by;                                       \
    }
CUT(__kmpc_for_static_init_4, int32_t)
CUT(__kmpc_for_static_init_8, int64_t)
HIDDEN void __kmpc_for_static_fini(void *place, int32_t thread) {}
