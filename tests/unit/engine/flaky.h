/* Allocation that fails once, as `sanitized.c` decides: included before each file under test. */
#pragma once
#include <stdlib.h>
void *flaky_realloc(void *old, size_t size);
#ifndef RELIABLE
#define malloc(size) flaky_realloc(NULL, size)
#define calloc(count, size) flaky_calloc(count, size)
#define realloc flaky_realloc
void *flaky_calloc(size_t count, size_t size);
#endif
