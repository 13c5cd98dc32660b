/* A pool of threads that sleep until there is work. */
#pragma once
#include <stdint.h>

typedef struct Pool Pool;

/* Start a pool for so many workers, the calling thread being one; without threads on this platform,
or memory for them, fewer work. */
int pool_open(int32_t workers, Pool **pool);
void pool_close(Pool *pool);
/* Call job(context, worker) once for each worker in [0, count), side by side; return when all are
done. One thread at a time may call this. */
void pool_run(Pool *pool, int32_t count, void (*job)(void *context, int32_t worker), void *context);
