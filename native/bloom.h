#ifndef LYCOSA_BLOOM_H
#define LYCOSA_BLOOM_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds keys to a filter; -1 with an exception set. */
int bloom_add(PyObject *bits, PyObject *keys);

/* A new list: for each key the filters that have it, as bits of a number; the last stands for all from the 64th on. */
PyObject *bloom_find(PyObject *filters, PyObject *keys);

#endif
