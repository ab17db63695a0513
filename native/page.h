#ifndef LYCOSA_PAGE_H
#define LYCOSA_PAGE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

void page_prepare(void);

/* Notes, links, how many were too long, headings and main text. None if the page is not plain. */
PyObject *page_read(const char *html, Py_ssize_t size, PyObject *entities, Py_ssize_t longest_href);
/* All text and its blocks, likewise. */
PyObject *page_words(const char *html, Py_ssize_t size, PyObject *entities, Py_ssize_t longest_href);

#endif
