/* The normal forms of a page's links: the loop of `lycosa.web.url.Normaliser.links`.
 *
 * Most links are simple: they are their own normal form, or are so behind the origin or a directory of the page. Others
 * may be known from earlier pages. All that is neither is given to Python, and so is a page whose own URL is not plain:
 * every doubt in this file has one answer, `return 0`.
 *
 * Each position is compared with `end` before it is read, and links of more than `LONGEST_URL` are not read at all.
 */
#include "links.h"

#include <string.h>

enum { LONGEST_URL = 1000 };     /* `_LONGEST_AUTHORITY` in Python: longer ones have rules of their own */
enum { LONGEST_PARAMETER = 19 }; /* no `_TOKEN` of a session is as short */

typedef unsigned char Byte;

typedef struct {
    const Links *links;
    const Byte *base;
    Py_ssize_t directory, page; /* how much of it these are; the page ends before its query, and is 0 if not simple */
    PyObject *found, *forms;
} Reader;

static int is_small(Byte byte) { return byte >= 'a' && byte <= 'z'; }
static int is_letter(Byte byte) { return is_small(byte | 0x20); }
static int is_digit(Byte byte) { return byte >= '0' && byte <= '9'; }
static int is_name(Byte byte) { return is_letter(byte) || is_digit(byte) || byte == '_' || byte == '~' || byte == '-'; }

/* -- what is simple ------------------------------------------------------------------------------------------------- */

/* Names between single slashes, none of which begins with a dot: `_PATH` in Python. */
static int is_simple_path(const Byte *at, const Byte *end) {
    do {
        if (at == end || !is_name(*at)) return 0;
        while (at < end && (is_name(*at) || *at == '.')) at++;
        if (at == end) return 1;
        if (*at++ != '/') return 0;
    } while (at < end);
    return 1;
}

/* The same behind a slash, or the slash alone. */
static int is_simple_rooted(const Byte *at, const Byte *end) {
    return at < end && *at == '/' && (at + 1 == end || is_simple_path(at + 1, end));
}

/* The position behind `http://` or `https://`; NULL if neither stands there. */
static const Byte *skip_scheme(const Byte *at, const Byte *end) {
    if (end - at < 8 || memcmp(at, "http", 4) != 0) return NULL;
    at += at[4] == 's' ? 5 : 4;
    return memcmp(at, "://", 3) == 0 ? at + 3 : NULL;
}

/* The position behind a name of labels, none of which is empty; NULL if none stands there. `last` is the last label. */
static const Byte *skip_host(const Byte *at, const Byte *end, const Byte **last) {
    for (*last = at; at < end && (is_small(*at) || is_digit(*at) || *at == '-' || *at == '.'); at++)
        if (*at == '.') {
            if (at == *last) return NULL;
            *last = at + 1;
        }
    return at > *last ? at : NULL;
}

/* The position behind an origin, if all of it is plain: no name and password, no dot at the end of the host. */
static const Byte *skip_origin(const Byte *at, const Byte *end) {
    const Byte *last;
    if ((at = skip_scheme(at, end)) == NULL || (at = skip_host(at, end, &last)) == NULL) return NULL;
    if (at == end || *at != ':') return at;
    for (last = ++at; at < end && is_digit(*at); at++) continue;
    return at > last ? at : NULL;
}

/* One whose host is no number, since its last label begins with a letter, and no Punycode: `_SIMPLE_URL` in Python. */
static int is_simple_url(const Byte *at, const Byte *end) {
    const Byte *host = skip_scheme(at, end), *last;
    if (host == NULL || (at = skip_host(host, end, &last)) == NULL || !is_small(*last)) return 0;
    for (; host + 4 <= at; host++)
        if (memcmp(host, "xn--", 4) == 0) return 0;
    return is_simple_rooted(at, end);
}

/* Does it name a scheme that is not of the web? Then it is no link to a page, whatever else it is. */
static int is_elsewhere(const Byte *at, const Byte *end) {
    const Byte *name = at;
    if (at == end || !is_letter(*at)) return 0;
    while (at < end && (is_letter(*at) || is_digit(*at) || *at == '+' || *at == '.' || *at == '-')) at++;
    if (at == end || *at != ':') return 0;
    return at - name < 4 || at - name > 5 || (name[0] | 0x20) != 'h';
}

/* Does a query, which begins at its mark, hold nothing but parameters that are known to be kept, short and in order? */
static int is_simple_query(PyObject *dropped, const Byte *at, const Byte *end) {
    const Byte *last = at;
    size_t last_size = 0;
    while (at < end) {
        const Byte *name = ++at, *mark;
        while (at < end && (is_name(*at) || *at == '.')) at++;
        mark = at;
        while (at < end && (is_name(*at) || *at == '.' || *at == '=')) at++;
        if (at == name || at - name > LONGEST_PARAMETER || (at < end && *at != '&')) return 0;
        size_t size = (size_t)(mark - name), common = size < last_size ? size : last_size;
        int order = memcmp(last, name, common);
        if (order > 0 || (order == 0 && last_size > size)) return 0;
        PyObject *text = PyUnicode_FromStringAndSize((const char *)name, (Py_ssize_t)size);
        int is_kept = text != NULL && PyDict_GetItemWithError(dropped, text) == Py_False;
        Py_XDECREF(text);
        if (!is_kept) return 0;
        last = name;
        last_size = size;
    }
    return 1;
}

/* -- the page ------------------------------------------------------------------------------------------------------- */

/* Is its origin in normal form, and are the directories behind it simple? The file's name may be anything that cannot
 * be a directory. */
static int read_base(Reader *r) {
    const Links *links = r->links;
    if (!PyUnicode_IS_COMPACT_ASCII(links->base)) return 0;
    Py_ssize_t size = PyUnicode_GET_LENGTH(links->base);
    if (size > LONGEST_URL || links->origin < 0 || links->origin >= size) return 0;
    const Byte *base = PyUnicode_1BYTE_DATA(links->base), *end = base + size;
    const Byte *path = base + links->origin, *name = path + 1, *at;
    if (skip_origin(base, end) != path || *path != '/') return 0;
    for (at = name; at < end && *at != '?' && *at != '#'; at++) {
        if (*at <= ' ' || *at == '\\') return 0;
        if (at == name && !is_name(*at)) return 0;
        if (*at == '/') name = at + 1;
    }
    r->base = base;
    r->directory = name - base;
    r->page = is_simple_rooted(path, at) ? at - base : 0;
    return name == path + 1 || is_simple_path(path + 1, name);
}

/* -- links ---------------------------------------------------------------------------------------------------------- */

/* The beginning of the base with a simple path behind it. */
static PyObject *join(const Reader *r, Py_ssize_t size, const Byte *at, const Byte *end) {
    PyObject *url = PyUnicode_New(size + (end - at), 127);
    if (url == NULL) return NULL;
    memcpy(PyUnicode_1BYTE_DATA(url), r->base, (size_t)size);
    memcpy(PyUnicode_1BYTE_DATA(url) + size, at, (size_t)(end - at));
    return url;
}

/* A path that may begin with a way up, and what stands behind it. */
static PyObject *join_path(const Reader *r, const Byte *at, const Byte *path_end, const Byte *end) {
    Py_ssize_t size = r->directory, top = r->links->origin + 1;
    const Byte *start = at;
    if (path_end - at >= 2 && at[0] == '.' && at[1] == '/') at += 2;
    for (; path_end - at >= 3 && memcmp(at, "../", 3) == 0; at += 3)
        if (size > top)
            while (r->base[--size - 1] != '/') continue;
    return (at == path_end && at > start) || is_simple_path(at, path_end) ? join(r, size, at, end) : NULL;
}

/* Is it a simple path behind an origin that stood in a page's own URL? That is in normal form, then. -1 on an error. */
static int is_of_known_origin(const Reader *r, const Byte *at, const Byte *end) {
    const Byte *path = skip_origin(at, end);
    if (path == NULL || !is_simple_rooted(path, end)) return 0;
    PyObject *origin = PyUnicode_FromStringAndSize((const char *)at, path - at);
    int is_known = origin != NULL ? PyDict_Contains(r->links->origins, origin) : -1;
    Py_XDECREF(origin);
    return is_known;
}

/* The normal form of a simple link; None if it is none; NULL without an error if it is not simple. */
static PyObject *simple_form(const Reader *r, PyObject *target) {
    if (!PyUnicode_IS_COMPACT_ASCII(target) || PyUnicode_GET_LENGTH(target) > LONGEST_URL) return NULL;
    const Byte *at = PyUnicode_1BYTE_DATA(target), *end = at + PyUnicode_GET_LENGTH(target);
    if (is_elsewhere(at, end)) return Py_NewRef(Py_None);
    const Byte *path_end = at < end ? memchr(at, '?', (size_t)(end - at)) : NULL;
    if (path_end == NULL) path_end = end;
    else if (!is_simple_query(r->links->dropped, path_end, end)) return NULL;
    if (at == end) return r->page == PyUnicode_GET_LENGTH(r->links->base) ? Py_NewRef(r->links->base) : NULL;
    if (at == path_end) return r->page > 0 ? join(r, r->page, at, end) : NULL;
    if (*at == '/') return is_simple_rooted(at, path_end) ? join(r, r->links->origin, at, end) : NULL;
    if (is_simple_url(at, path_end)) return Py_NewRef(target);
    int is_known = is_of_known_origin(r, at, path_end);
    if (is_known != 0) return is_known > 0 ? Py_NewRef(target) : NULL;
    return join_path(r, at, path_end, end);
}

/* What a dictionary has; NULL without an error if it has nothing. */
static PyObject *recall(PyObject *known, PyObject *target) {
    return Py_XNewRef(PyDict_GetItemWithError(known, target));
}

/* The normal form of a link without its fragment; None if it has none; NULL on an error.
 *
 * Simple links are made again on every page. To remember them would take more time where a site has many pages: their
 * number has no bounds, and what is remembered among many is far away in memory. */
static PyObject *form_of(const Reader *r, PyObject *target) {
    PyObject *url = simple_form(r, target);
    if (url != NULL || PyErr_Occurred()) return url;
    Py_UCS4 first = PyUnicode_GET_LENGTH(target) > 0 ? PyUnicode_READ_CHAR(target, 0) : 0;
    PyObject *known = first == '/' ? r->links->rooted : first == 'h' ? r->links->whole : r->forms;
    url = recall(known, target);
    if (url == NULL && known != r->forms && !PyErr_Occurred()) url = recall(r->forms, target);
    if (url != NULL || PyErr_Occurred()) return url;
    url = PyObject_CallFunctionObjArgs(r->links->learn, r->links->base, target, NULL);
    if (url != NULL && PyDict_SetItem(r->forms, target, url) < 0) Py_CLEAR(url);
    return url;
}

static PyObject *cut_fragment(PyObject *ref) {
    Py_ssize_t mark = PyUnicode_FindChar(ref, '#', 0, PyUnicode_GET_LENGTH(ref), 1);
    if (mark == -2) return NULL;
    return mark < 0 ? Py_NewRef(ref) : PyUnicode_Substring(ref, 0, mark);
}

/* 0 on an error. */
static int read_link(const Reader *r, PyObject *ref) {
    if (!PyUnicode_Check(ref)) {
        PyErr_SetString(PyExc_TypeError, "a link must be a str");
        return 0;
    }
    int done = PyDict_Contains(r->found, ref);
    if (done != 0) return done > 0;
    PyObject *target = cut_fragment(ref);
    PyObject *url = target != NULL ? form_of(r, target) : NULL;
    done = url != NULL && (url == Py_None || PyDict_SetItem(r->found, ref, url) == 0);
    Py_XDECREF(target);
    Py_XDECREF(url);
    return done;
}

PyObject *links_read(const Links *links, PyObject *refs) {
    Reader r = {.links = links};
    if (!read_base(&r)) Py_RETURN_NONE;
    r.found = PyDict_New();
    r.forms = PyDict_New();
    int done = r.found != NULL && r.forms != NULL;
    for (Py_ssize_t at = 0; done && at < PyList_GET_SIZE(refs); at++) {
        PyObject *ref = Py_NewRef(PyList_GET_ITEM(refs, at)); /* `learn` could change the list */
        done = read_link(&r, ref);
        Py_DECREF(ref);
    }
    Py_XDECREF(r.forms);
    if (!done) Py_CLEAR(r.found);
    return r.found;
}
