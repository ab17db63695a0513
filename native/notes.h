#ifndef LYCOSA_NOTES_H
#define LYCOSA_NOTES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Puts notes of URLs into a buffer: how many of them were new there; -1 with an exception set. */
Py_ssize_t notes_add(PyObject *buffer, PyObject *urls);

/* For each URL whether a buffer has a note of it, or one of those files that its `places` name, or the last file. */
PyObject *notes_find(PyObject *buffers, PyObject *files, PyObject *urls, PyObject *places);

/* Writes what a buffer holds for some buckets of a file into them; -1 with an exception set. */
int notes_sweep(PyObject *buffer, PyObject *file, Py_ssize_t first, Py_ssize_t end);

#endif
