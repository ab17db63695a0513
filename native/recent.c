/* The table of `lycosa.kit.recent`: hashes of what was met lately.
 *
 * It is in lines of eight, as the cache of the machine is, and a hash has its place in one of them. Those of a line stand
 * in the order in which they were met last; the last one makes room. So a look costs one wait for memory, and even that
 * only for the first of many: the lines of all are asked for before the first is looked at. */
#include "recent.h"
#include "siphash.h"

#include <string.h>

enum { LINE = 8, LINE_BYTES = 8 * LINE, TOGETHER = 64 };

#if defined(__GNUC__)
#define FETCH(address) __builtin_prefetch(address)
#else
#define FETCH(address) ((void)(address))
#endif

typedef struct {
    uint64_t *lines; /* 0 where nothing was met yet */
    uint64_t count;
    Secret secret;
} Table;

/* A line more than is used, since memory need not begin where a line does. */
static int read_table(PyObject *given, PyObject *secret, Table *table) {
    if (!PyByteArray_Check(given) || PyByteArray_GET_SIZE(given) < 2 * LINE_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a table is a bytearray of two lines or more");
        return -1;
    }
    char *start = PyByteArray_AS_STRING(given);
    start += (LINE_BYTES - (uintptr_t)start % LINE_BYTES) % LINE_BYTES;
    table->lines = (uint64_t *)(void *)start;
    table->count = (uint64_t)(PyByteArray_GET_SIZE(given) / LINE_BYTES - 1);
    return secret_read(secret, &table->secret);
}

static uint64_t *line_of(const Table *table, uint64_t hash) {
    return table->lines + ((hash >> 32) * table->count >> 32) * LINE;
}

/* Its place in its line; the last if it has none there, and `*is_met` is 0. */
static int place_of(const uint64_t *line, uint64_t hash, int *is_met) {
    int at = 0;
    while (at < LINE && line[at] != hash) at++;
    *is_met = at < LINE;
    return *is_met ? at : LINE - 1;
}

static void put_first(uint64_t *line, int at, uint64_t hash) {
    memmove(line + 1, line, (size_t)at * sizeof *line);
    line[0] = hash;
}

/* Is it there? If so it is the first of its line from now on, and if not, only where it is to be put in. */
static int look(const Table *table, uint64_t hash, int put_in) {
    if (hash == 0) return 0;
    uint64_t *line = line_of(table, hash);
    int is_met, at = place_of(line, hash, &is_met);
    if (is_met || put_in) put_first(line, at, hash);
    return is_met;
}

/* The hashes of some texts, 0 for those that have none; -1 with an exception set. */
static int hash_some(const Table *table, PyObject *texts, Py_ssize_t start, Py_ssize_t count, uint64_t *hashes) {
    for (Py_ssize_t at = 0; at < count; at++) {
        Text text;
        if (text_read(PyList_GET_ITEM(texts, start + at), &text) < 0) return -1;
        hashes[at] = text.text != NULL ? siphash(text, &table->secret) : 0;
        FETCH(line_of(table, hashes[at]));
    }
    return 0;
}

typedef int (*Tell)(PyObject *found, Py_ssize_t at, PyObject *text, int is_met);

static int tell_all(PyObject *found, Py_ssize_t at, PyObject *text, int is_met) {
    (void)text;
    PyList_SET_ITEM(found, at, Py_NewRef(is_met ? Py_True : Py_False));
    return 0;
}

static int tell_unmet(PyObject *found, Py_ssize_t at, PyObject *text, int is_met) {
    (void)at;
    return is_met ? 0 : PySet_Add(found, text);
}

static PyObject *look_for(const Table *table, PyObject *texts, int put_in, PyObject *found, Tell tell) {
    Py_ssize_t size = PyList_GET_SIZE(texts);
    int done = found != NULL ? 0 : -1;
    for (Py_ssize_t start = 0; done == 0 && start < size; start += TOGETHER) {
        uint64_t hashes[TOGETHER];
        Py_ssize_t count = size - start < TOGETHER ? size - start : TOGETHER;
        done = hash_some(table, texts, start, count, hashes);
        for (Py_ssize_t at = 0; done == 0 && at < count; at++)
            done = tell(found, start + at, PyList_GET_ITEM(texts, start + at), look(table, hashes[at], put_in));
    }
    if (done < 0) Py_CLEAR(found);
    return found;
}

PyObject *recent_meet(PyObject *given, PyObject *secret, PyObject *texts) {
    Table table;
    if (read_table(given, secret, &table) < 0) return NULL;
    return look_for(&table, texts, 1, PyList_New(PyList_GET_SIZE(texts)), tell_all);
}

PyObject *recent_unmet(PyObject *given, PyObject *secret, PyObject *texts) {
    Table table;
    if (read_table(given, secret, &table) < 0) return NULL;
    return look_for(&table, texts, 0, PySet_New(NULL), tell_unmet);
}
