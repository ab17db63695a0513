/* The filters of `lycosa.kit.bloom`, bit for bit.
 *
 * What a look costs is waiting for memory. So many keys are looked for at once, and the block of each in the next filter
 * is asked for while those in this one are looked at. */
#include "bloom.h"

#include <stdint.h>

#define MULTIPLY UINT64_C(0x9E3779B97F4A7C15)
#define FINISH UINT64_C(0xD6E8FEB86659FD93)

enum { KEY_BYTES = 16, BLOCK_BYTES = 64, LANES = 8, TOGETHER = 64, LAST_BIT = 63 };

typedef struct {
    uint64_t where; /* in which block: in proportion to its upper half */
    uint64_t lanes; /* which bit of each lane: six bits for each */
} Place;

typedef struct {
    unsigned char *bits;
    uint64_t blocks;
} Filter;

#if defined(__GNUC__)
#define FETCH(address) __builtin_prefetch(address)
#else
#define FETCH(address) ((void)(address))
#endif

static uint64_t read_word(const unsigned char *from) {
    uint64_t word = 0;
    for (int at = 7; at >= 0; at--) word = word << 8 | from[at];
    return word;
}

static uint64_t mix(uint64_t hash) {
    hash ^= hash >> 32;
    hash *= FINISH;
    return hash ^ hash >> 29;
}

static Place place_of(const unsigned char *key) {
    uint64_t hash = mix(read_word(key) * MULTIPLY + read_word(key + 8));
    return (Place){hash, mix(hash * MULTIPLY)};
}

static unsigned char *block_of(const Filter *filter, Place place) {
    return filter->bits + ((place.where >> 32) * filter->blocks >> 32) * BLOCK_BYTES;
}

/* Bit n of a lane is bit n % 8 of its byte n / 8: the same on every machine. */
static unsigned char *byte_of(unsigned char *block, Place place, int lane) {
    return block + 8 * lane + (place.lanes >> (6 * lane + 3) & 7);
}

static unsigned char bit_of(Place place, int lane) { return (unsigned char)(1u << (place.lanes >> 6 * lane & 7)); }

static int has(const Filter *filter, Place place) {
    unsigned char *block = block_of(filter, place);
    for (int lane = 0; lane < LANES; lane++)
        if (!(*byte_of(block, place, lane) & bit_of(place, lane))) return 0;
    return 1;
}

static void fetch(const Filter *filter, const Place *places, Py_ssize_t count) {
    for (Py_ssize_t at = 0; at < count; at++) {
        unsigned char *block = block_of(filter, places[at]);
        FETCH(block);
        FETCH(block + BLOCK_BYTES - 1); /* it need not begin where a line of the cache does */
    }
}

static int read_filter(PyObject *bits, Filter *filter) {
    if (!PyByteArray_Check(bits) || PyByteArray_GET_SIZE(bits) == 0 || PyByteArray_GET_SIZE(bits) % BLOCK_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a filter is a bytearray of whole blocks");
        return -1;
    }
    filter->bits = (unsigned char *)PyByteArray_AS_STRING(bits);
    filter->blocks = (uint64_t)(PyByteArray_GET_SIZE(bits) / BLOCK_BYTES);
    return 0;
}

static int read_places(PyObject *keys, Py_ssize_t start, Py_ssize_t count, Place *places) {
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *key = PyList_GET_ITEM(keys, start + at);
        if (!PyBytes_Check(key) || PyBytes_GET_SIZE(key) != KEY_BYTES) {
            PyErr_SetString(PyExc_ValueError, "a key has 16 bytes");
            return -1;
        }
        places[at] = place_of((const unsigned char *)PyBytes_AS_STRING(key));
    }
    return 0;
}

static Py_ssize_t some_of(PyObject *keys, Py_ssize_t start) {
    Py_ssize_t left = PyList_GET_SIZE(keys) - start;
    return left < TOGETHER ? left : TOGETHER;
}

int bloom_add(PyObject *bits, PyObject *keys) {
    Filter filter;
    Place places[TOGETHER];
    if (read_filter(bits, &filter) < 0) return -1;
    for (Py_ssize_t start = 0, count; (count = some_of(keys, start)) > 0; start += count) {
        if (read_places(keys, start, count, places) < 0) return -1;
        fetch(&filter, places, count);
        for (Py_ssize_t at = 0; at < count; at++) {
            unsigned char *block = block_of(&filter, places[at]);
            for (int lane = 0; lane < LANES; lane++) *byte_of(block, places[at], lane) |= bit_of(places[at], lane);
        }
    }
    return 0;
}

static int find_some(const Filter *filters, Py_ssize_t many, PyObject *keys, Py_ssize_t start, PyObject *found) {
    Place places[TOGETHER];
    uint64_t found_in[TOGETHER] = {0};
    Py_ssize_t count = some_of(keys, start);
    if (read_places(keys, start, count, places) < 0) return -1;
    if (many > 0) fetch(filters, places, count);
    for (Py_ssize_t number = 0; number < many; number++) {
        if (number + 1 < many) fetch(filters + number + 1, places, count);
        uint64_t bit = UINT64_C(1) << (number < LAST_BIT ? number : LAST_BIT);
        for (Py_ssize_t at = 0; at < count; at++)
            if (has(filters + number, places[at])) found_in[at] |= bit;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *bits = PyLong_FromUnsignedLongLong(found_in[at]);
        if (bits == NULL) return -1;
        PyList_SET_ITEM(found, start + at, bits);
    }
    return 0;
}

PyObject *bloom_find(PyObject *filters, PyObject *keys) {
    Py_ssize_t many = PyList_GET_SIZE(filters);
    Filter *read = PyMem_New(Filter, many > 0 ? many : 1);
    PyObject *found = PyList_New(PyList_GET_SIZE(keys));
    int done = read != NULL && found != NULL ? 0 : -1;
    if (read == NULL) PyErr_NoMemory();
    for (Py_ssize_t number = 0; done == 0 && number < many; number++)
        done = read_filter(PyList_GET_ITEM(filters, number), read + number);
    for (Py_ssize_t start = 0; done == 0 && start < PyList_GET_SIZE(keys); start += TOGETHER)
        done = find_some(read, many, keys, start, found);
    PyMem_Free(read);
    if (done < 0) Py_CLEAR(found);
    return found;
}
