#ifndef LYCOSA_RECENT_H
#define LYCOSA_RECENT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* For each of these texts whether it was met lately, in a list. All of them are, from now on. */
PyObject *recent_meet(PyObject *table, PyObject *secret, PyObject *texts);

/* Those of these texts that were not met lately, in a set. */
PyObject *recent_unmet(PyObject *table, PyObject *secret, PyObject *texts);

#endif
