#ifndef LYCOSA_LINKS_H
#define LYCOSA_LINKS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* What the links of a page are read with; all of it is borrowed. */
typedef struct {
    PyObject *base;
    Py_ssize_t origin;        /* the size of its origin, which has been parsed before */
    PyObject *origins;        /* those that have been parsed before */
    PyObject *rooted, *whole; /* what is known of links that begin with a slash, and of whole URLs */
    PyObject *dropped;        /* which names of parameters are known, and whether they are dropped */
    PyObject *learn;          /* gives the normal form of any other link, or None */
} Links;

PyObject *links_read(const Links *links, PyObject *refs); /* None if the base is not plain */

#endif
