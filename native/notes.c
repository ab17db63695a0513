/* The notes of `lycosa.backends.notes`: which URLs have rows.
 *
 * A note is 64 bits, the SipHash-1-3 of a URL under the secret of its file, and is never 0. Its upper half says where it
 * belongs: in which bucket of the file, and about where in the buffer of those that are not there yet. Both are in the
 * same order, so a stretch of buckets is filled from a stretch of the buffer. A bucket that is full takes no more: a note
 * that is missing costs a look at a row. */
#include "notes.h"
#include "siphash.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum {
    NOTES = 64, /* in a bucket */
    BUCKET_BYTES = NOTES * 8,
    CHUNK = 128, /* buckets that are read and written at a time */
    PLACES = 64
};

typedef struct {
    uint64_t *slots; /* 0 where there is no note */
    uint64_t count;
    Secret secret;
} Buffer;

typedef struct {
    int descriptor; /* -1: there is no such file */
    uint64_t buckets;
    Secret secret;
} File;

static uint64_t share_of(uint64_t note, uint64_t whole) { return (note >> 32) * whole >> 32; }

/* -- what Python hands over ---------------------------------------------------------------------------------------- */

/* (slots: bytearray, secret: bytes) */
static int read_buffer(PyObject *given, Buffer *buffer) {
    PyObject *slots, *secret;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "O!O", &PyByteArray_Type, &slots, &secret)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a buffer is its slots and its secret");
        return -1;
    }
    if (PyByteArray_GET_SIZE(slots) < 8 || PyByteArray_GET_SIZE(slots) % 8 || (uintptr_t)PyByteArray_AS_STRING(slots) % 8) {
        PyErr_SetString(PyExc_ValueError, "slots have 8 bytes each, and begin where a word does");
        return -1;
    }
    buffer->slots = (uint64_t *)(void *)PyByteArray_AS_STRING(slots);
    buffer->count = (uint64_t)(PyByteArray_GET_SIZE(slots) / 8);
    return secret_read(secret, &buffer->secret);
}

/* (descriptor: int, buckets: int, secret: bytes) */
static int read_file(PyObject *given, File *file) {
    PyObject *secret;
    unsigned long long buckets;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "iKO", &file->descriptor, &buckets, &secret)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a file is its descriptor, its buckets and its secret");
        return -1;
    }
    if (buckets == 0 || buckets > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a file has at least one bucket and at most 2**32 - 1");
        return -1;
    }
    file->buckets = buckets;
    return secret_read(secret, &file->secret);
}

/* -- buffers ------------------------------------------------------------------------------------------------------- */

/* Where a note is, or the free slot where it would be; `count` if there is neither. */
static uint64_t slot_of(const Buffer *buffer, uint64_t note) {
    uint64_t at = share_of(note, buffer->count);
    while (at < buffer->count && buffer->slots[at] != 0 && buffer->slots[at] != note) at++;
    return at;
}

static int in_buffer(const Buffer *buffer, uint64_t note) {
    uint64_t at = slot_of(buffer, note);
    return at < buffer->count && buffer->slots[at] == note;
}

Py_ssize_t notes_add(PyObject *given, PyObject *urls) {
    Buffer buffer;
    Py_ssize_t added = 0;
    if (read_buffer(given, &buffer) < 0) return -1;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(urls); at++) {
        Text url;
        if (text_read(PyList_GET_ITEM(urls, at), &url) < 0) return -1;
        if (url.text == NULL) continue;
        uint64_t note = siphash(url, &buffer.secret), slot = slot_of(&buffer, note);
        if (slot < buffer.count && buffer.slots[slot] == 0) {
            buffer.slots[slot] = note;
            added++;
        }
    }
    return added;
}

/* -- files --------------------------------------------------------------------------------------------------------- */

static off_t offset_of(uint64_t bucket) { return (off_t)(bucket * BUCKET_BYTES); }

static int in_file(const File *file, Text url) {
    if (file->descriptor < 0) return 0;
    uint64_t bucket[NOTES], note = siphash(url, &file->secret);
    ssize_t got = pread(file->descriptor, bucket, BUCKET_BYTES, offset_of(share_of(note, file->buckets)));
    if (got != BUCKET_BYTES) return 0;
    int found = 0;
    for (int at = 0; at < NOTES; at++) found |= bucket[at] == note;
    return found;
}

typedef struct {
    Buffer *buffers;
    Py_ssize_t many_buffers;
    File *files;
    Py_ssize_t many_files;
} Shelf;

static int is_noted(const Shelf *shelf, Text url, uint64_t places) {
    if (url.text == NULL) return 0;
    for (Py_ssize_t at = 0; at < shelf->many_buffers; at++)
        if (in_buffer(shelf->buffers + at, siphash(url, &shelf->buffers[at].secret))) return 1;
    for (Py_ssize_t at = 0; at < shelf->many_files; at++)
        if ((places >> at & 1 || at + 1 == shelf->many_files) && in_file(shelf->files + at, url)) return 1;
    return 0;
}

static int read_shelf(PyObject *buffers, PyObject *files, Shelf *shelf) {
    for (Py_ssize_t at = 0; at < shelf->many_buffers; at++)
        if (read_buffer(PyList_GET_ITEM(buffers, at), shelf->buffers + at) < 0) return -1;
    for (Py_ssize_t at = 0; at < shelf->many_files; at++)
        if (read_file(PyList_GET_ITEM(files, at), shelf->files + at) < 0) return -1;
    return 0;
}

static PyObject *find_all(const Shelf *shelf, PyObject *urls, PyObject *places) {
    PyObject *found = PyList_New(PyList_GET_SIZE(urls));
    for (Py_ssize_t at = 0; found != NULL && at < PyList_GET_SIZE(urls); at++) {
        Text url;
        uint64_t place = PyLong_AsUnsignedLongLongMask(PyList_GET_ITEM(places, at));
        if (PyErr_Occurred() || text_read(PyList_GET_ITEM(urls, at), &url) < 0) {
            Py_CLEAR(found);
        } else {
            PyObject *answer = is_noted(shelf, url, place) ? Py_True : Py_False;
            Py_INCREF(answer);
            PyList_SET_ITEM(found, at, answer);
        }
    }
    return found;
}

PyObject *notes_find(PyObject *buffers, PyObject *files, PyObject *urls, PyObject *places) {
    Shelf shelf = {NULL, PyList_GET_SIZE(buffers), NULL, PyList_GET_SIZE(files)};
    PyObject *found = NULL;
    if (PyList_GET_SIZE(urls) != PyList_GET_SIZE(places) || shelf.many_files > PLACES) {
        PyErr_SetString(PyExc_ValueError, "every URL has its places, and there are 64 at most");
        return NULL;
    }
    shelf.buffers = PyMem_New(Buffer, shelf.many_buffers + 1);
    shelf.files = PyMem_New(File, shelf.many_files + 1);
    if (shelf.buffers == NULL || shelf.files == NULL) PyErr_NoMemory();
    else if (read_shelf(buffers, files, &shelf) == 0) found = find_all(&shelf, urls, places);
    PyMem_Free(shelf.buffers);
    PyMem_Free(shelf.files);
    return found;
}

static int put(uint64_t *bucket, uint64_t note) {
    for (int at = 0; at < NOTES; at++) {
        if (bucket[at] == note) return 0;
        if (bucket[at] == 0) {
            bucket[at] = note;
            return 1;
        }
    }
    return 0;
}

/* The least note, but for its lower half, that belongs to a bucket. */
static uint64_t least_of(uint64_t bucket, uint64_t buckets) {
    return ((bucket << 32) + buckets - 1) / buckets << 32;
}

/* Notes of these buckets stand from where the least belongs to the first free slot behind where the greatest does. */
static int fill(uint64_t *chunk, const Buffer *buffer, const File *file, uint64_t first, uint64_t end) {
    uint64_t at = share_of(least_of(first, file->buckets), buffer->count);
    uint64_t last = end < file->buckets ? share_of(least_of(end, file->buckets), buffer->count) : buffer->count - 1;
    int changed = 0;
    for (; at < buffer->count && (at <= last || buffer->slots[at] != 0); at++) {
        uint64_t note = buffer->slots[at], bucket = share_of(note, file->buckets);
        if (note != 0 && bucket >= first && bucket < end) changed |= put(chunk + (bucket - first) * NOTES, note);
    }
    return changed;
}

static int sweep_chunk(const Buffer *buffer, const File *file, uint64_t first, uint64_t end, uint64_t *chunk) {
    size_t size = (size_t)(end - first) * BUCKET_BYTES;
    ssize_t got = pread(file->descriptor, chunk, size, offset_of(first));
    if (got >= 0 && (size_t)got != size) memset(chunk, 0, size); /* cut off: begun again */
    if (got < 0) return -1;
    if (!fill(chunk, buffer, file, first, end)) return 0;
    ssize_t put_out = pwrite(file->descriptor, chunk, size, offset_of(first));
    if (put_out >= 0 && (size_t)put_out != size) errno = ENOSPC;
    return put_out == (ssize_t)size ? 0 : -1;
}

int notes_sweep(PyObject *given, PyObject *given_file, Py_ssize_t first, Py_ssize_t end) {
    Buffer buffer;
    File file;
    if (read_buffer(given, &buffer) < 0 || read_file(given_file, &file) < 0) return -1;
    if (first < 0 || end < first || (uint64_t)end > file.buckets) {
        PyErr_SetString(PyExc_ValueError, "there are no such buckets");
        return -1;
    }
    uint64_t *chunk = PyMem_Malloc(CHUNK * BUCKET_BYTES);
    if (chunk == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int done = 0;
    for (Py_ssize_t at = first; done == 0 && at < end; at += CHUNK)
        done = sweep_chunk(&buffer, &file, (uint64_t)at, (uint64_t)(end - at < CHUNK ? end : at + CHUNK), chunk);
    PyMem_Free(chunk);
    if (done < 0) PyErr_SetFromErrno(PyExc_OSError);
    return done;
}
