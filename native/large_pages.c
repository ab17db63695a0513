/* Memory in large pages.
 *
 * What a crawl remembers lies all over hundreds of megabytes. To find out where a page of 4 KB of it is often costs the
 * machine more than to read what is there; with pages of 2 MB it knows. The system gives them to whoever asks (`madvise`)
 * and still only where memory is touched. What it has none for is in small pages as before.
 *
 * Two kinds of memory matter. Objects of the interpreter are in arenas of 1 MB, which it lets us provide: they are cut
 * from regions of our own. All the rest is the heap of the C library. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "large_pages.h"

#if defined(__linux__)

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_BYTES ((size_t)2 << 20)
#define ARENA_BYTES ((size_t)1 << 20) /* as CPython asks for; should one not, it has what it had before */
#define WANTED_BYTES ((size_t)24 << 20)
enum { ARENAS = 32, MOST_REGIONS = 1024 };

typedef struct {
    char *start;
    uint32_t free; /* a bit for each arena */
} Region;

static Region regions[MOST_REGIONS];
static int many;
static PyObjectArenaAllocator before;

static size_t to_next_page(const void *address) { return (LARGE_BYTES - (uintptr_t)address % LARGE_BYTES) % LARGE_BYTES; }

/* -- arenas --------------------------------------------------------------------------------------------------------- */

/* NULL if there is no memory for another one. */
static Region *make_region(void) {
    if (many == MOST_REGIONS) return NULL;
    size_t size = ARENAS * ARENA_BYTES, rest = LARGE_BYTES;
    char *start = mmap(NULL, size + rest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return NULL;
    size_t skipped = to_next_page(start);
    if (skipped > 0) munmap(start, skipped);
    munmap(start + skipped + size, rest - skipped);
    madvise(start + skipped, size, MADV_HUGEPAGE);
    regions[many] = (Region){start + skipped, UINT32_MAX};
    return regions + many++;
}

static void *take_arena(void *context, size_t size) {
    (void)context;
    Region *region = regions;
    while (region < regions + many && region->free == 0) region++;
    if (region == regions + many) region = make_region();
    if (size != ARENA_BYTES || region == NULL) return before.alloc(before.ctx, size);
    int at = 0;
    while (!(region->free >> at & 1)) at++;
    region->free &= ~(UINT32_C(1) << at);
    return region->start + (size_t)at * ARENA_BYTES;
}

/* The system has a page back once neither of its arenas is used. */
static void free_arena(void *context, void *arena, size_t size) {
    (void)context;
    Region *region = regions;
    while (region < regions + many && (uintptr_t)arena - (uintptr_t)region->start >= ARENAS * ARENA_BYTES) region++;
    if (region == regions + many) {
        before.free(before.ctx, arena, size);
        return;
    }
    size_t at = ((uintptr_t)arena - (uintptr_t)region->start) / ARENA_BYTES, first = at & ~(size_t)1;
    region->free |= UINT32_C(1) << at;
    if ((region->free >> first & 3) == 3) madvise(region->start + first * ARENA_BYTES, LARGE_BYTES, MADV_DONTNEED);
}

/* -- the heap ------------------------------------------------------------------------------------------------------- */

static char *heap_end; /* that of the heap when it was advised last; NULL before */

static void advise_heap(char *start) {
    heap_end = sbrk(0);
    start += to_next_page(start);
    if ((uintptr_t)start < (uintptr_t)heap_end) madvise(start, (size_t)(heap_end - start), MADV_HUGEPAGE);
}

/* The C library asks the system for as much as M_TOP_PAD says, and uses it bit by bit. To want more than it has at hand
 * makes it ask now. What it gives to another thread than the first, or for itself, lies elsewhere, behind the heap. */
static void enlarge_heap(void) {
    char *volatile wanted = malloc(WANTED_BYTES); /* or the compiler would see that nobody needs it */
    if (wanted != NULL && (uintptr_t)wanted < (uintptr_t)sbrk(0)) advise_heap(wanted);
    free(wanted);
}

void large_pages_use(void) {
    if (before.alloc != NULL) return;
    PyObjectArenaAllocator ours = {NULL, take_arena, free_arena};
    PyObject_GetArenaAllocator(&before);
    PyObject_SetArenaAllocator(&ours);
    enlarge_heap();
}

void large_pages_follow(void) {
    if (heap_end != NULL && heap_end != (char *)sbrk(0)) advise_heap(heap_end);
}

#else
void large_pages_use(void) {}
void large_pages_follow(void) {}
#endif
