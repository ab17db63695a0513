/* A run of bytes that grows. A failed allocation is remembered in `failed`; what is appended after it goes nowhere. */
#ifndef LYCOSA_GROWING_H
#define LYCOSA_GROWING_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *data;
    size_t size, room;
    int failed;
} Growing;

static inline int growing_reserve(Growing *run, size_t more) {
    if (run->room - run->size >= more) return 1;
    size_t room = run->room ? run->room : 1024;
    while (room - run->size < more) {
        if (room > SIZE_MAX / 2) goto failed;
        room *= 2;
    }
    char *data = realloc(run->data, room);
    if (data == NULL) goto failed;
    run->data = data;
    run->room = room;
    return 1;
failed:
    run->failed = 1;
    return 0;
}

static inline void growing_append(Growing *run, const void *bytes, size_t count) {
    if (count > 0 && growing_reserve(run, count)) {
        memcpy(run->data + run->size, bytes, count);
        run->size += count;
    }
}

static inline void growing_push(Growing *run, char byte) {
    if (run->size < run->room || growing_reserve(run, 1)) run->data[run->size++] = byte;
}

static inline void growing_free(Growing *run) {
    free(run->data);
    run->data = NULL;
}

#endif
