/* `lycosa.native`: hot paths in C. Without them everything gives the same results, only slower. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bloom.h"
#include "columns.h"
#include "large_pages.h"
#include "links.h"
#include "notes.h"
#include "page.h"
#include "recent.h"
#include "simhash.h"
#include "tags.h"

typedef PyObject *(*Reading)(const char *html, Py_ssize_t size, PyObject *entities, Py_ssize_t longest_href);

static PyObject *read_with(Reading reading, PyObject *arguments) {
    const char *html;
    Py_ssize_t size, longest_href;
    PyObject *entities;
    if (!PyArg_ParseTuple(arguments, "y#O!n", &html, &size, &PyDict_Type, &entities, &longest_href)) return NULL;
    return reading(html, size, entities, longest_href);
}

static PyObject *read_page(PyObject *module, PyObject *arguments) {
    (void)module;
    return read_with(page_read, arguments);
}

static PyObject *read_words(PyObject *module, PyObject *arguments) {
    (void)module;
    return read_with(page_words, arguments);
}

static PyObject *read_links(PyObject *module, PyObject *arguments) {
    Links links;
    PyObject *refs;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!UnO!O!O!O!O:read_links", &PyList_Type, &refs, &links.base, &links.origin,
                          &PyDict_Type, &links.origins, &PyDict_Type, &links.rooted, &PyDict_Type, &links.whole,
                          &PyDict_Type, &links.dropped, &links.learn))
        return NULL;
    return links_read(&links, refs);
}

static PyObject *fingerprint(PyObject *module, PyObject *arguments) {
    const char *text;
    Py_ssize_t size, longest_word, mean_letters;
    uint64_t found = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "s#nn:simhash", &text, &size, &longest_word, &mean_letters)) return NULL;
    switch (simhash((const unsigned char *)text, (size_t)size, (size_t)longest_word, (size_t)mean_letters, &found)) {
    case 1: return PyLong_FromUnsignedLongLong(found);
    case 0: Py_RETURN_NONE;
    default: return PyErr_NoMemory();
    }
}

static PyObject *add_keys(PyObject *module, PyObject *arguments) {
    PyObject *bits, *keys;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!:add_keys", &bits, &PyList_Type, &keys) || bloom_add(bits, keys) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *find_keys(PyObject *module, PyObject *arguments) {
    PyObject *filters, *keys;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!:find_keys", &PyList_Type, &filters, &PyList_Type, &keys)) return NULL;
    return bloom_find(filters, keys);
}

static PyObject *read_columns(PyObject *module, PyObject *arguments) {
    PyObject *entries, *kinds, *places;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!O!:read_columns", &PyList_Type, &entries, &PyTuple_Type, &kinds, &PyTuple_Type,
                          &places))
        return NULL;
    return columns_read(entries, kinds, places);
}

static PyObject *add_notes(PyObject *module, PyObject *arguments) {
    PyObject *buffer, *urls;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!:add_notes", &buffer, &PyList_Type, &urls)) return NULL;
    Py_ssize_t added = notes_add(buffer, urls);
    return added < 0 ? NULL : PyLong_FromSsize_t(added);
}

static PyObject *find_notes(PyObject *module, PyObject *arguments) {
    PyObject *buffers, *files, *urls, *places;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!:find_notes", &PyList_Type, &buffers, &PyList_Type, &files, &PyList_Type,
                          &urls, &PyList_Type, &places))
        return NULL;
    return notes_find(buffers, files, urls, places);
}

static PyObject *sweep_notes(PyObject *module, PyObject *arguments) {
    PyObject *buffer, *file;
    Py_ssize_t first, end;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOnn:sweep_notes", &buffer, &file, &first, &end)) return NULL;
    if (notes_sweep(buffer, file, first, end) < 0) return NULL;
    Py_RETURN_NONE;
}

typedef PyObject *(*Looking)(PyObject *table, PyObject *secret, PyObject *texts);

static PyObject *look_with(Looking looking, PyObject *arguments) {
    PyObject *table, *secret, *texts;
    if (!PyArg_ParseTuple(arguments, "OOO!", &table, &secret, &PyList_Type, &texts)) return NULL;
    return looking(table, secret, texts);
}

static PyObject *meet(PyObject *module, PyObject *arguments) {
    (void)module;
    return look_with(recent_meet, arguments);
}

static PyObject *unmet(PyObject *module, PyObject *arguments) {
    (void)module;
    return look_with(recent_unmet, arguments);
}

static PyObject *use_large_pages(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    large_pages_use();
    Py_RETURN_NONE;
}

static PyObject *follow_heap(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    large_pages_follow();
    Py_RETURN_NONE;
}

static PyMethodDef FUNCTIONS[] = {
    {"read_page", read_page, METH_VARARGS, "What a plain page holds, and its main text; None if the page is not plain."},
    {"read_words", read_words, METH_VARARGS, "All the text of a plain page, whole and in blocks; None if it is not plain."},
    {"read_links", read_links, METH_VARARGS, "The normal forms of a page's links; None if its own URL is not plain."},
    {"simhash", fingerprint, METH_VARARGS, "The fingerprint of a text; None if it is no text of words."},
    {"add_keys", add_keys, METH_VARARGS, "Add keys to a Bloom filter."},
    {"find_keys", find_keys, METH_VARARGS, "For each key the Bloom filters that have it, as bits of a number."},
    {"add_notes", add_notes, METH_VARARGS, "Put notes of URLs into a buffer; how many were new there."},
    {"find_notes", find_notes, METH_VARARGS, "For each URL whether there is a note of it in buffers or files."},
    {"sweep_notes", sweep_notes, METH_VARARGS, "Write what a buffer holds for some buckets of a file into them."},
    {"meet", meet, METH_VARARGS, "For each text whether it was met lately; all of them are, from now on."},
    {"unmet", unmet, METH_VARARGS, "Those of these texts that were not met lately."},
    {"read_columns", read_columns, METH_VARARGS, "The columns of what entries tell; None if one is not as expected."},
    {"use_large_pages", use_large_pages, METH_NOARGS, "Have memory in large pages from now on."},
    {"follow_heap", follow_heap, METH_NOARGS, "Have what the heap has grown by in large pages too, if it was before."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "native", "Hot paths in C.", -1, FUNCTIONS, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_native(void) {
    tags_prepare();
    page_prepare();
    simhash_prepare();
    return PyModule_Create(&MODULE);
}
