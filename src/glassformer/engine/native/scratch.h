/* Arrays that grow and never shrink, so that a step of a search allocates nothing. Their capacity
stands before the first element; an array without any memory is NULL. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 16 /* bytes before the first element: a multiple of every element's alignment */

static inline int64_t get_capacity(const void *array) {
    return array ? *(const int64_t *)((const char *)array - HEAD) : 0;
}

/* Grow the array whose address `where` holds to at least `wanted` elements of `size` bytes. Return
false, and change nothing, if there is no memory for it. */
static inline bool grow_array(void *where, int64_t wanted, int64_t size) {
    char *old, *new;
    memcpy(&old, where, sizeof old); /* `where` points to a pointer of any type */
    int64_t capacity = get_capacity(old);
    if (wanted <= capacity) return true;
    capacity = wanted > 2 * capacity ? wanted : 2 * capacity;
    if ((uint64_t)capacity > SIZE_MAX / 4 / (uint64_t)size) return false;
    new = realloc(old ? old - HEAD : NULL, (size_t)(HEAD + capacity * size));
    if (!new) return false;
    *(int64_t *)new = capacity;
    new += HEAD;
    memcpy(where, &new, sizeof new);
    return true;
}

static inline void free_array(void *array) {
    if (array) free((char *)array - HEAD);
}

#define GROW(array, wanted) grow_array(&(array), (wanted), (int64_t)sizeof *(array))
