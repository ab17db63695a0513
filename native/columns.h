#ifndef LYCOSA_COLUMNS_H
#define LYCOSA_COLUMNS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* The columns of three tables, from entries of the feed: see columns.c. None if an entry is not as expected. `kinds` has
 * three strings, a letter for each column; `places` has for each column of the third table where its value stands. */
PyObject *columns_read(PyObject *entries, PyObject *kinds, PyObject *places);

#endif
