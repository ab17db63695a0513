/* Reads a plain HTML page in one pass: links, lines of text, headings and the elements that say something of the page.
 *
 * A page is plain if its tags nest as they stand, but for the end tags that the standard lets authors leave out. Then
 * the tree that the standard builds has no surprises, and what is read here is what is read from that tree
 * (`lycosa.web.html`), at a fraction of the cost. A page that is not plain in any way is given up: `read` returns None
 * and the caller builds the tree. So every doubt in this file has one answer, `return 0`.
 *
 * Each position is compared with `end` before it is read. All memory is in `Growing` or in arrays of fixed size.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "growing.h"
#include "lines.h"
#include "page.h"
#include "tags.h"

enum { DEEPEST = 256, LONGEST_NAME = 31, LONGEST_ENTITY = 33, MOST_BLOCKS = 25000, MOST_LINKS = 10000 };
enum { MOST_HEADINGS = 1000, LONGEST_LINK_TEXT = 500 };
static const char *const REGIONS[R_COUNT] = {"", "main", "nav", "aside", "header", "footer", "form"};
static const char *const ROLES[R_COUNT] = {"", "main", "navigation", "complementary", "banner", "contentinfo", "search"};

typedef unsigned char Byte;

typedef struct {
    const Tag *tag; /* NULL for an element of any other name */
    const Byte *name;
    size_t name_size;
    int region;  /* of what lies around it */
    size_t text; /* where its text begins */
} Open;

typedef struct {
    const Byte *at, *end;
    PyObject *entities;
    PyObject *notes, *links, *headings; /* lists of tuples */
    Growing text, value;                /* all lines; an attribute while it is read */
    Growing lines;                      /* of `Line` */
    Line line;                          /* the one that is being read */
    int owes_space;                     /* white space was read, and nothing after it yet */
    Open open[DEEPEST];
    int depth;
    int closes; /* did the last tag close itself? */
    int is_body, seen_html, seen_head, is_form, is_heading, blocks, notable;
    int anchor; /* the depth of the open link plus one */
    size_t anchor_text, anchor_line;
    PyObject *href, *rel, *alt, *kind; /* the last is "a" */
    Py_ssize_t longest_href, too_long; /* how long one may be, and how many were longer */
} Reader;

static int is_space(Byte byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r' && byte != '\v'); }
static int is_letter(Byte byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }
static int is_digit(Byte byte) { return byte >= '0' && byte <= '9'; }
static Byte lower(Byte byte) { return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; }

/* -- character references ----------------------------------------------------------------------------------------- */

static int put_character(Growing *out, unsigned long code) {
    /* Those that the standard replaces by others are rare enough to give up. */
    if (code < 0x20 ? code != '\n' && code != '\t' : (code >= 0x7f && code < 0xa0)) return 0;
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
    if (code < 0x80) {
        growing_push(out, (char)code);
    } else if (code < 0x800) {
        growing_push(out, (char)(0xc0 | code >> 6));
        growing_push(out, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        growing_push(out, (char)(0xe0 | code >> 12));
        growing_push(out, (char)(0x80 | (code >> 6 & 0x3f)));
        growing_push(out, (char)(0x80 | (code & 0x3f)));
    } else {
        growing_push(out, (char)(0xf0 | code >> 18));
        growing_push(out, (char)(0x80 | (code >> 12 & 0x3f)));
        growing_push(out, (char)(0x80 | (code >> 6 & 0x3f)));
        growing_push(out, (char)(0x80 | (code & 0x3f)));
    }
    return 1;
}

static const Byte *put_number(Growing *out, const Byte *at, const Byte *end) {
    unsigned long code = 0;
    int is_hex = at < end && (*at | 0x20) == 'x';
    const Byte *first = at += is_hex;
    for (; at < end && at - first < 8; at++) {
        if (is_digit(*at)) code = code * (is_hex ? 16 : 10) + (*at - '0');
        else if (is_hex && (*at | 0x20) >= 'a' && (*at | 0x20) <= 'f') code = code * 16 + ((*at | 0x20) - 'a' + 10);
        else break;
    }
    if (at == first || at == end || *at != ';' || !put_character(out, code)) return NULL;
    return at + 1;
}

/* The named reference behind `&`, looked up in Python's table of HTML 5; 1 if it was put, 0 if there is none of that name,
 * -1 on an error. */
static int put_name(Growing *out, PyObject *entities, const Byte *name, size_t size) {
    PyObject *key = PyUnicode_FromStringAndSize((const char *)name, (Py_ssize_t)size);
    if (key == NULL) return -1;
    PyObject *found = PyDict_GetItemWithError(entities, key);
    Py_DECREF(key);
    if (found == NULL) return PyErr_Occurred() ? -1 : 0;
    Py_ssize_t count;
    const char *bytes = PyUnicode_AsUTF8AndSize(found, &count);
    if (bytes == NULL) return -1;
    growing_append(out, bytes, (size_t)count);
    return 1;
}

/* Puts what stands at `&` and returns the position behind it; NULL to give up. The rules for attributes differ from
 * those for text where the semicolon is missing. */
static const Byte *put_reference(Growing *out, PyObject *entities, const Byte *at, const Byte *end, int is_attribute) {
    const Byte *name = at + 1, *behind = name;
    if (name < end && *name == '#') return put_number(out, name + 1, end);
    while (behind < end && (is_letter(*behind) || is_digit(*behind)) && behind - name < LONGEST_ENTITY) behind++;
    if (behind == name) {
        growing_push(out, '&');
        return name;
    }
    if (behind < end && *behind == ';') {
        int found = put_name(out, entities, name, (size_t)(behind + 1 - name));
        return found > 0 ? behind + 1 : NULL; /* or a shorter name begins it */
    }
    if (is_attribute && behind < end && *behind == '=') {
        growing_append(out, at, (size_t)(behind - at));
        return behind;
    }
    for (size_t size = (size_t)(behind - name); size >= 2; size--) {
        size_t before = out->size;
        int found = put_name(out, entities, name, size);
        out->size = found > 0 ? before : out->size;
        if (found) return NULL; /* a name without its semicolon */
        if (is_attribute) break;
    }
    growing_append(out, at, (size_t)(behind - at));
    return behind;
}

/* -- lines ---------------------------------------------------------------------------------------------------------- */

static int is_wide_space(const Byte *at) {
    switch (at[0]) {
    case 0xe1: return at[1] == 0x9a && at[2] == 0x80;
    case 0xe2:
        if (at[1] == 0x81) return at[2] == 0x9f;
        return at[1] == 0x80 && (at[2] <= 0x8a || at[2] == 0xa8 || at[2] == 0xa9 || at[2] == 0xaf);
    case 0xe3: return at[1] == 0x80 && at[2] == 0x80;
    default: return 0;
    }
}

/* Does a line begin or end with white space that is not ASCII? Python would strip it. */
static int has_wide_edge(const Byte *text, size_t size) {
    const Byte *last = text + size;
    if (size >= 2 && ((text[0] == 0xc2 && text[1] == 0x85) || (last[-2] == 0xc2 && last[-1] == 0x85))) return 1;
    return size >= 3 && (is_wide_space(text) || is_wide_space(last - 3));
}

/* A new line begins here, of an element of this name, or of none if one has ended. */
static int break_line(Reader *r, const char *tag, int region) {
    if (r->text.size > r->line.start) {
        r->line.end = r->text.size;
        if (has_wide_edge((Byte *)r->text.data + r->line.start, r->line.end - r->line.start)) return 0;
        growing_append(&r->lines, &r->line, sizeof r->line);
        growing_push(&r->text, '\n');
        r->line.start = r->text.size;
        r->line.linked = 0;
    }
    r->line.tag = tag;
    r->line.region = region;
    r->owes_space = 0;
    return 1;
}

enum { C_PLAIN, C_SPACE, C_REFERENCE, C_WIDE, C_ODD };
static unsigned char classes[256];

static void put_bytes(Reader *r, const Byte *from, size_t count) {
    if (r->owes_space) {
        if (r->text.size > r->line.start) growing_push(&r->text, ' ');
        r->owes_space = 0;
    }
    growing_append(&r->text, from, count);
}

/* Nothing but words with single blanks between them? Without branches, so that the compiler looks at many bytes at once:
 * most text of most pages passes through here. */
static int is_simple(const Byte *text, size_t size) {
    Byte odd = 0;
    for (size_t at = 0; at < size; at++)
        odd |= (Byte)((text[at] < 0x20) | (text[at] == '&') | (text[at] == 0x7f) | (text[at] == 0xc2));
    for (size_t at = 1; at < size; at++) odd |= (Byte)((text[at] == ' ') & (text[at - 1] == ' '));
    return !odd;
}

/* A piece of text, byte by byte. */
static int read_piece(Reader *r, const Byte *at, const Byte *end) {
    while (at < end) {
        const Byte *from = at;
        while (at < end && classes[*at] == C_PLAIN) at++;
        if (at > from) put_bytes(r, from, (size_t)(at - from));
        if (at == end) break;
        switch (classes[*at]) {
        case C_SPACE:
            r->owes_space = 1;
            at++;
            break;
        case C_WIDE: /* 0xc2: a blank that does not break, or any letter */
            if (at + 1 < end && at[1] == 0xa0) r->owes_space = 1;
            else put_bytes(r, at, at + 1 < end ? 2 : 1);
            at += at + 1 < end ? 2 : 1;
            break;
        case C_REFERENCE:
            r->value.size = 0;
            at = put_reference(&r->value, r->entities, at, end, 0);
            if (at == NULL) return 0;
            for (size_t part = 0; part < r->value.size; part++) {
                Byte byte = (Byte)r->value.data[part];
                if (classes[byte] == C_ODD) return 0;
                if (is_space(byte)) r->owes_space = 1;
                else if (byte == 0xc2 && part + 1 < r->value.size && (Byte)r->value.data[part + 1] == 0xa0)
                    r->owes_space = 1, part++;
                else put_bytes(r, &byte, 1);
            }
            break;
        default:
            return 0;
        }
    }
    return 1;
}

/* The text between two tags, with white space folded. */
static int read_text(Reader *r, const Byte *at, const Byte *end) {
    while (at < end) {
        const Byte *mark = memchr(at, '\n', (size_t)(end - at)), *to = mark != NULL ? mark : end, *next = to;
        for (; at < to && *at == ' '; at++) r->owes_space = 1;
        while (to > at && to[-1] == ' ') to--;
        if (to > at) {
            if (is_simple(at, (size_t)(to - at))) put_bytes(r, at, (size_t)(to - at));
            else if (!read_piece(r, at, to)) return 0;
        }
        if (to < next || mark != NULL) r->owes_space = 1;
        at = mark != NULL ? mark + 1 : end;
    }
    return 1;
}

static int has_text(const Byte *at, const Byte *end) {
    while (at < end && is_space(*at)) at++;
    return at < end;
}

/* The text since `start`, lines joined by blanks. */
static PyObject *text_since(Reader *r, size_t start) {
    size_t end = r->text.size;
    while (start < end && (r->text.data[start] == ' ' || r->text.data[start] == '\n')) start++;
    while (end > start && r->text.data[end - 1] == '\n') end--;
    r->value.size = 0;
    growing_append(&r->value, r->text.data + start, end - start);
    for (size_t at = 0; at < r->value.size; at++)
        if (r->value.data[at] == '\n') r->value.data[at] = ' ';
    return PyUnicode_DecodeUTF8(r->value.data ? r->value.data : "", (Py_ssize_t)r->value.size, NULL);
}

/* -- attributes ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const Byte *name, *value; /* no value: NULL */
    size_t name_size, value_size;
} Attribute;

/* The next attribute of a tag, in the standard's states; 0 at the end of the tag, -1 if the page ends first. */
static int next_attribute(Reader *r, Attribute *found) {
    const Byte *at = r->at, *end = r->end;
    while (at < end && (is_space(*at) || *at == '/')) at++;
    if (at >= end) return -1;
    if (*at == '>') {
        r->closes = at > r->at && at[-1] == '/';
        r->at = at + 1;
        return 0;
    }
    found->name = at++; /* even an `=` */
    while (at < end && !is_space(*at) && *at != '/' && *at != '>' && *at != '=') at++;
    found->name_size = (size_t)(at - found->name);
    found->value = NULL;
    found->value_size = 0;
    const Byte *after = at;
    while (after < end && is_space(*after)) after++;
    if (after < end && *after == '=') {
        at = after + 1;
        while (at < end && is_space(*at)) at++;
        if (at >= end) return -1;
        if (*at == '"' || *at == '\'') {
            const Byte *closing = memchr(at + 1, *at, (size_t)(end - at - 1));
            if (closing == NULL) return -1;
            found->value = at + 1;
            found->value_size = (size_t)(closing - at - 1);
            at = closing + 1;
        } else {
            found->value = at;
            while (at < end && !is_space(*at) && *at != '>') at++;
            found->value_size = (size_t)(at - found->value);
        }
    }
    r->at = at;
    return 1;
}

static int skip_attributes(Reader *r) {
    Attribute attribute;
    int found;
    while ((found = next_attribute(r, &attribute)) > 0) {}
    return found == 0;
}

static int is_named(const Attribute *attribute, const char *name) {
    size_t size = strlen(name);
    if (attribute->name_size != size) return 0;
    for (size_t at = 0; at < size; at++)
        if (lower(attribute->name[at]) != (Byte)name[at]) return 0;
    return 1;
}

static PyObject *decode_value(Reader *r, const Byte *at, size_t size) {
    const Byte *end = at + size;
    if (at == NULL) Py_RETURN_NONE;
    if (memchr(at, '\r', size) != NULL) return NULL;
    if (memchr(at, '&', size) == NULL) return PyUnicode_DecodeUTF8((const char *)at, (Py_ssize_t)size, NULL);
    r->value.size = 0;
    while (at < end) {
        const Byte *next = memchr(at, '&', (size_t)(end - at));
        growing_append(&r->value, at, (size_t)((next ? next : end) - at));
        if (next == NULL) break;
        at = put_reference(&r->value, r->entities, next, end, 1);
        if (at == NULL) return NULL;
    }
    return PyUnicode_DecodeUTF8(r->value.data ? r->value.data : "", (Py_ssize_t)r->value.size, NULL);
}

/* All attributes of a tag, by lower-case name; of two with one name the first counts. */
static PyObject *read_attributes(Reader *r) {
    PyObject *attributes = PyDict_New();
    Attribute attribute;
    int found;
    if (attributes == NULL) return NULL;
    while ((found = next_attribute(r, &attribute)) > 0) {
        char name[LONGEST_NAME + 1];
        if (attribute.name_size > LONGEST_NAME || PyDict_GET_SIZE(attributes) > 50) goto failed;
        for (size_t at = 0; at < attribute.name_size; at++) {
            name[at] = (char)lower(attribute.name[at]);
            if (attribute.name[at] >= 0x80) goto failed;
        }
        PyObject *key = PyUnicode_FromStringAndSize(name, (Py_ssize_t)attribute.name_size);
        if (key == NULL) goto failed;
        int known = PyDict_Contains(attributes, key);
        PyObject *value = known ? NULL : decode_value(r, attribute.value, attribute.value_size);
        int failed = known < 0 || (!known && (value == NULL || PyDict_SetItem(attributes, key, value) < 0));
        Py_DECREF(key);
        Py_XDECREF(value);
        if (failed) goto failed;
    }
    if (found == 0) return attributes;
failed:
    Py_DECREF(attributes);
    return NULL;
}

static int add_tuple(PyObject *list, PyObject *tuple) {
    if (tuple == NULL) return 0;
    int failed = PyList_Append(list, tuple) < 0;
    Py_DECREF(tuple);
    return !failed;
}

static int note(Reader *r, const char *tag, PyObject *attributes, PyObject *text) {
    if (++r->notable > MOST_LINKS) return 0;
    return add_tuple(r->notes, Py_BuildValue("(sOO)", tag, attributes, text));
}

/* -- elements ------------------------------------------------------------------------------------------------------- */

static int top_is(const Reader *r, TagId id) {
    return r->depth > 0 && r->open[r->depth - 1].tag != NULL && r->open[r->depth - 1].tag->id == id;
}

static unsigned top_flags(const Reader *r) {
    const Tag *tag = r->depth > 0 ? r->open[r->depth - 1].tag : NULL;
    return tag != NULL ? tag->flags : 0;
}

/* White space of all kinds as one blank, none at the ends, and at most so much as a link may say. Takes its argument. */
static PyObject *fold(PyObject *text) {
    PyObject *words = text != NULL ? PyUnicode_Split(text, NULL, -1) : NULL, *folded = NULL;
    PyObject *blank = words != NULL ? PyUnicode_FromString(" ") : NULL;
    if (blank != NULL) folded = PyUnicode_Join(blank, words);
    Py_XDECREF(blank);
    Py_XDECREF(words);
    Py_XDECREF(text);
    if (folded != NULL && PyUnicode_GET_LENGTH(folded) > LONGEST_LINK_TEXT)
        Py_SETREF(folded, PyUnicode_Substring(folded, 0, LONGEST_LINK_TEXT));
    return folded;
}

static int close_link(Reader *r) {
    PyObject *text = text_since(r, r->anchor_text);
    if (text == NULL) return 0;
    if (!PyUnicode_IS_ASCII(text) || PyUnicode_GET_LENGTH(text) > LONGEST_LINK_TEXT) {
        text = fold(text);
        if (text == NULL) return 0;
    }
    int linked = (int)PyUnicode_GET_LENGTH(text);
    if (linked == 0 && r->alt != NULL) {
        Py_DECREF(text);
        text = fold(Py_NewRef(r->alt));
        if (text == NULL) return 0;
    }
    size_t count = r->lines.size / sizeof(Line);
    if (r->anchor_line < count) ((Line *)(void *)r->lines.data)[r->anchor_line].linked += linked;
    else r->line.linked += linked;
    int is_short = PyUnicode_GET_LENGTH(r->href) <= r->longest_href;
    PyObject *link = is_short ? PyTuple_Pack(4, r->href, r->kind, r->rel, text) : NULL;
    Py_DECREF(text);
    Py_CLEAR(r->href);
    Py_CLEAR(r->rel);
    Py_CLEAR(r->alt);
    r->anchor = 0;
    r->too_long += !is_short;
    return !is_short || add_tuple(r->links, link);
}

static int close_heading(Reader *r, const Open *heading) {
    PyObject *text = text_since(r, heading->text);
    r->is_heading = 0;
    if (text == NULL) return 0;
    int is_said = PyUnicode_GET_LENGTH(text) > 0, done = 1;
    if (r->line.start != heading->text && !PyUnicode_IS_ASCII(text)) {
        done = 0; /* white space of other scripts is folded in a heading of many lines only */
    } else if (is_said) {
        int level = (int)heading->tag->id - T_H1 + 1;
        done = PyList_GET_SIZE(r->headings) < MOST_HEADINGS && add_tuple(r->headings, Py_BuildValue("(iO)", level, text));
    }
    Py_DECREF(text);
    return done;
}

static int pop(Reader *r) {
    Open *top = &r->open[--r->depth];
    if (top->tag == NULL) return 1;
    TagId id = top->tag->id;
    if (id == T_A && r->anchor == r->depth + 1 && !close_link(r)) return 0;
    if (id >= T_H1 && id <= T_H6 && !close_heading(r, top)) return 0;
    if (id == T_FORM) r->is_form = 0;
    return !(top->tag->flags & BLOCK) || break_line(r, "p", top->region);
}

static int push(Reader *r, const Tag *tag, const Byte *name, size_t size, int region) {
    if (r->depth == DEEPEST) return 0;
    int around = r->line.region;
    if (tag != NULL && tag->flags & BLOCK) {
        if (++r->blocks > MOST_BLOCKS) return 0;
        if (region == R_NONE || !(around == R_NONE || around == R_MAIN)) region = around;
        if (!break_line(r, tag->name, region)) return 0;
    }
    Open *top = &r->open[r->depth++];
    *top = (Open){.tag = tag, .name = name, .name_size = size, .region = around, .text = r->text.size};
    return 1;
}

static int pop_implied(Reader *r, TagId kept) {
    while (top_flags(r) & IMPLIED && !top_is(r, kept))
        if (!pop(r)) return 0;
    return 1;
}

/* Is an element of this kind open, with nothing between that hides it? Its place plus one. */
static int in_scope(const Reader *r, TagId id) {
    for (int at = r->depth - 1; at >= 0; at--) {
        const Tag *tag = r->open[at].tag;
        if (tag == NULL) continue;
        if (tag->id == id) return at + 1;
        if (tag->flags & BARRIER) return 0;
    }
    return 0;
}

/* A block begins: an open paragraph ends, and must be the innermost. */
static int close_paragraph(Reader *r) {
    int place = in_scope(r, T_P);
    return place == 0 || (place == r->depth && pop(r));
}

/* An item begins: the one before it ends if nothing but a paragraph is open in it. */
static int close_item(Reader *r, TagId one, TagId other) {
    for (int at = r->depth - 1; at >= 0; at--) {
        const Tag *tag = r->open[at].tag;
        if (tag != NULL && (tag->id == one || tag->id == other)) {
            while (r->depth > at) {
                if (r->depth - 1 > at && !top_is(r, T_P)) return 0;
                if (!pop(r)) return 0;
            }
            return 1;
        }
        if (tag != NULL && tag->flags & SPECIAL && tag->id != T_P && tag->id != T_DIV && tag->id != T_ADDRESS) return 1;
    }
    return 1;
}

static int region_of(TagId id) {
    switch (id) {
    case T_MAIN: return R_MAIN;
    case T_NAV: return R_NAV;
    case T_ASIDE: return R_ASIDE;
    case T_HEADER: return R_HEADER;
    case T_FOOTER: return R_FOOTER;
    case T_FORM: return R_FORM;
    default: return R_NONE;
    }
}

static int region_of_role(const Attribute *role) {
    const Byte *from = role->value, *to = from + role->value_size;
    while (from < to && is_space(*from)) from++;
    while (to > from && is_space(to[-1])) to--;
    for (int region = 1; region < R_COUNT; region++) {
        size_t size = strlen(ROLES[region]), at = 0;
        if ((size_t)(to - from) != size) continue;
        while (at < size && lower(from[at]) == (Byte)ROLES[region][at]) at++;
        if (at == size) return region;
    }
    return R_NONE;
}

/* Passes over the attributes of a block, but for its role. -1 to give up. */
static int read_role(Reader *r) {
    Attribute attribute;
    int found, region = R_NONE, is_first = 1;
    while ((found = next_attribute(r, &attribute)) > 0)
        if (attribute.name_size == 4 && is_first && is_named(&attribute, "role")) {
            if (attribute.value == NULL) continue;
            if (memchr(attribute.value, '&', attribute.value_size) != NULL) return -1;
            region = region_of_role(&attribute);
            is_first = 0;
        }
    return found == 0 ? region : -1;
}

static int open_link(Reader *r, const Tag *tag, const Byte *name) {
    Attribute attribute;
    int found;
    for (int at = r->depth - 1; at >= 0; at--)
        if (r->open[at].tag != NULL && r->open[at].tag->id == T_A) return 0;
    while ((found = next_attribute(r, &attribute)) > 0) {
        PyObject **value = is_named(&attribute, "href") ? &r->href : is_named(&attribute, "rel") ? &r->rel : NULL;
        if (value != NULL && *value == NULL) {
            if (attribute.value == NULL) attribute.value = attribute.name;
            *value = decode_value(r, attribute.value, attribute.value_size);
            if (*value == NULL) return 0;
        }
    }
    if (found < 0) return 0;
    if (r->href == NULL) {
        Py_CLEAR(r->rel);
    } else {
        if (++r->notable > MOST_LINKS) return 0;
        if (r->rel == NULL && (r->rel = PyUnicode_FromStringAndSize(NULL, 0)) == NULL) return 0;
        r->anchor = r->depth + 1;
        r->anchor_text = r->text.size;
        r->anchor_line = r->lines.size / sizeof(Line);
    }
    return push(r, tag, name, 1, R_NONE);
}

/* The content of an element that holds no markup, up to its end tag; NULL if there is none. */
static const Byte *find_raw_end(Reader *r, const Tag *tag) {
    size_t size = strlen(tag->name);
    const Byte *at = r->at;
    while ((at = memchr(at, '<', (size_t)(r->end - at))) != NULL) {
        if ((size_t)(r->end - at) < size + 3) return NULL;
        if (at[1] == '/') {
            size_t same = 0;
            while (same < size && lower(at[2 + same]) == (Byte)tag->name[same]) same++;
            Byte after = at[2 + size];
            if (same == size && (is_space(after) || after == '>' || after == '/')) return at;
        } else if (tag->id == T_SCRIPT && at[1] == '!' && at[2] == '-') {
            return NULL; /* a comment in a script may hide its end */
        }
        at++;
    }
    return NULL;
}

static PyObject *decode_raw(Reader *r, const Tag *tag, const Byte *from, const Byte *to) {
    if (tag->flags & DECODED) {
        PyObject *text;
        const Byte *at = from;
        r->value.size = 0;
        while (at < to) {
            if (*at == '&') {
                at = put_reference(&r->value, r->entities, at, to, 0);
                if (at == NULL) return NULL;
            } else {
                growing_push(&r->value, (char)*at++);
            }
        }
        text = PyUnicode_DecodeUTF8(r->value.data ? r->value.data : "", (Py_ssize_t)r->value.size, NULL);
        return text;
    }
    return PyUnicode_DecodeUTF8((const char *)from, (Py_ssize_t)(to - from), NULL);
}

static int read_raw(Reader *r, const Tag *tag) {
    if (r->anchor) return 0; /* the parser counts it as text of the link */
    PyObject *attributes = tag->flags & NOTED ? read_attributes(r) : NULL, *text = NULL;
    if (tag->flags & NOTED ? attributes == NULL : !skip_attributes(r)) return 0;
    const Byte *from = r->at, *to = find_raw_end(r, tag);
    int done = to != NULL;
    if (done && tag->flags & NOTED) {
        text = decode_raw(r, tag, from, to);
        done = text != NULL && note(r, tag->name, attributes, text);
    }
    Py_XDECREF(text);
    Py_XDECREF(attributes);
    if (!done) return 0;
    r->at = to + 2 + strlen(tag->name);
    return skip_attributes(r);
}

static int read_void(Reader *r, const Tag *tag) {
    if (tag->flags & NOTED) {
        PyObject *attributes = read_attributes(r);
        if (attributes == NULL) return 0;
        if (tag->id == T_IMG && r->anchor && r->alt == NULL) {
            PyObject *alt = PyDict_GetItemString(attributes, "alt");
            r->alt = alt == Py_None ? PyUnicode_FromStringAndSize(NULL, 0) : Py_XNewRef(alt);
        }
        int done = note(r, tag->name, attributes, Py_None);
        Py_DECREF(attributes);
        return done;
    }
    if (!skip_attributes(r)) return 0;
    if (!(tag->flags & BLOCK)) return 1;
    return ++r->blocks <= MOST_BLOCKS && break_line(r, "p", r->line.region);
}

/* -- tables --------------------------------------------------------------------------------------------------------- */

static int is_group(const Reader *r) { return top_is(r, T_TBODY) || top_is(r, T_THEAD) || top_is(r, T_TFOOT); }

static int push_implied(Reader *r, const char *name) {
    const Byte *bytes = (const Byte *)name;
    return push(r, tag_find(bytes, strlen(name)), bytes, strlen(name), R_NONE);
}

/* Ends what is open in a table until a part of this kind can stand here. */
static int make_place(Reader *r, TagId part) {
    int is_cell = part == T_TD || part == T_TH;
    if (!(top_flags(r) & INNER)) { /* in a cell */
        if (!pop_implied(r, T_OTHER) || !(top_is(r, T_TD) || top_is(r, T_TH)) || !pop(r)) return 0;
    }
    if (top_is(r, T_COLGROUP) && part != T_COL && !pop(r)) return 0;
    if (part == T_COL && top_is(r, T_COLGROUP)) return 1;
    if (top_is(r, T_TR)) {
        if (is_cell) return 1;
        if (!pop(r)) return 0;
    }
    if (is_group(r)) {
        if (part == T_TR) return 1;
        if (is_cell) return push_implied(r, "tr");
        if (!pop(r)) return 0;
    }
    if (!top_is(r, T_TABLE)) return 0;
    if (part == T_COL) return push_implied(r, "colgroup");
    if (part == T_TR) return push_implied(r, "tbody");
    return !is_cell || (push_implied(r, "tbody") && push_implied(r, "tr"));
}

/* The end tag of a table or of a part of one. */
static int close_part(Reader *r, TagId part) {
    int is_cell = part == T_TD || part == T_TH || part == T_CAPTION;
    if (!(top_flags(r) & INNER)) {
        if (!pop_implied(r, T_OTHER)) return 0;
        if (is_cell) return top_is(r, part) && pop(r);
        if (!(top_is(r, T_TD) || top_is(r, T_TH)) || !pop(r)) return 0;
    }
    if (is_cell) return 0;
    if (part == T_COLGROUP) return top_is(r, T_COLGROUP) && pop(r);
    if (top_is(r, T_COLGROUP) && !pop(r)) return 0;
    if (part == T_TR) return top_is(r, T_TR) && pop(r);
    if (top_is(r, T_TR) && !pop(r)) return 0;
    if (part == T_TABLE && is_group(r) && !pop(r)) return 0;
    return top_is(r, part) && pop(r);
}

/* -- choices -------------------------------------------------------------------------------------------------------- */

static int is_choice(const Reader *r) { return top_is(r, T_SELECT) || top_is(r, T_OPTGROUP) || top_is(r, T_OPTION); }

/* Ends what is open in a `select` until one of this kind can stand here, or, for `select` itself, end here. */
static int make_choice(Reader *r, TagId id) {
    if (top_is(r, T_OPTION) && !pop(r)) return 0;
    if (id != T_OPTION && top_is(r, T_OPTGROUP) && !pop(r)) return 0;
    return top_is(r, T_SELECT) || (id == T_OPTION && top_is(r, T_OPTGROUP));
}

static int close_choice(Reader *r, TagId id) {
    if (id == T_SELECT) return make_choice(r, id) && pop(r);
    if (id == T_OPTGROUP && top_is(r, T_OPTION) && !pop(r)) return 0;
    return top_is(r, id) && pop(r);
}

/* -- drawings ------------------------------------------------------------------------------------------------------- */

static size_t read_name(const Byte *at, const Byte *end, Byte *name) {
    size_t size = 0;
    while (at + size < end && !is_space(at[size]) && at[size] != '/' && at[size] != '>') {
        if (size == LONGEST_NAME || at[size] == 0) return 0;
        name[size] = lower(at[size]);
        size++;
    }
    return at + size < end ? size : 0;
}

static const Byte *skip_comment(const Byte *at, const Byte *end) {
    /* `at` is behind `<!--`. Comments that end in odd ways are left to the parser. */
    if (at < end && (*at == '>' || *at == '-')) return NULL;
    while (at + 2 < end && (at = memchr(at, '-', (size_t)(end - 2 - at))) != NULL) {
        if (at[1] == '-' && at[2] == '>') return at + 3;
        if (at[1] == '-' && at[2] == '!') return NULL;
        at++;
    }
    return NULL;
}

/* A drawing of shapes only, with its title if it has one: nothing in it is read. */
static int skip_drawing(Reader *r) {
    if (!skip_attributes(r)) return 0;
    if (r->closes) return 1;
    for (;;) {
        const Byte *mark = memchr(r->at, '<', (size_t)(r->end - r->at));
        if (mark == NULL || r->end - mark < 5 || has_text(r->at, mark)) return 0;
        if (mark > r->at) r->owes_space = 1;
        if (memcmp(mark, "<!--", 4) == 0) {
            r->at = skip_comment(mark + 4, r->end);
            if (r->at == NULL) return 0;
            continue;
        }
        Byte name[LONGEST_NAME + 1];
        int is_end = mark[1] == '/';
        size_t size = read_name(mark + 1 + is_end, r->end, name);
        const Tag *tag = size ? tag_find(name, size) : NULL;
        if (tag == NULL) return 0;
        r->at = mark + 1 + is_end + size;
        if (!skip_attributes(r)) return 0;
        if (tag->id == T_SVG && is_end) return 1;
        if (tag->id == T_TITLE && !is_end && !r->closes && !r->anchor) {
            const Byte *end = memchr(r->at, '<', (size_t)(r->end - r->at));
            if (end == NULL || r->end - end < 8 || memcmp(end, "</title>", 8) != 0) return 0;
            r->at = end + 8;
        } else if (tag->id != T_DRAWN) {
            return 0;
        }
    }
}

/* -- tags ----------------------------------------------------------------------------------------------------------- */

/* `html`, `head` and `body` themselves. */
static int open_frame(Reader *r, const Tag *tag) {
    if (tag->id == T_HTML) {
        if (r->seen_html || r->seen_head || r->is_body) return 0;
        r->seen_html = 1;
        PyObject *attributes = read_attributes(r);
        int done = attributes != NULL && note(r, "html", attributes, Py_None);
        Py_XDECREF(attributes);
        return done;
    }
    if (r->is_body || (tag->id == T_HEAD && r->seen_head)) return 0;
    r->seen_head = 1;
    r->is_body = tag->id == T_BODY;
    if (tag->id == T_HEAD) return skip_attributes(r);
    int region = read_role(r);
    return region == R_NONE; /* a body that is a region of itself: rare */
}

static int open_block(Reader *r, const Tag *tag, const Byte *name, size_t size) {
    TagId id = tag->id;
    if (id >= T_H1 && id <= T_H6) {
        if (r->is_heading) return 0;
        r->is_heading = 1;
    } else if (id == T_FORM) {
        if (r->is_form) return 0;
        r->is_form = 1;
    } else if (id == T_BUTTON) {
        if (in_scope(r, T_BUTTON)) return 0;
    } else if (id == T_TABLE) {
        if (in_scope(r, T_P)) return 0; /* whether it ends the paragraph depends on the document's type */
    }
    int region = region_of(id);
    if (region != R_NONE ? !skip_attributes(r) : (region = read_role(r)) < 0) return 0;
    return push(r, tag, name, size, region);
}

static int open_tag(Reader *r, const Tag *tag, const Byte *name, size_t size) {
    unsigned flags = tag != NULL ? tag->flags : 0;
    TagId id = tag != NULL ? tag->id : T_OTHER;
    if (flags & ODD) return 0;
    if (id == T_HTML || id == T_HEAD || id == T_BODY) return open_frame(r, tag);
    if (!r->is_body) {
        r->seen_head = 1;
        if (!(flags & HEADISH)) r->is_body = 1;
    }
    if (flags & PART) {
        if (!make_place(r, id)) return 0;
        if (flags & VOID) return skip_attributes(r);
        int region = flags & BLOCK ? read_role(r) : skip_attributes(r) - 1;
        return region >= 0 && push(r, tag, name, size, region);
    }
    if (top_flags(r) & INNER && id != T_SCRIPT && id != T_STYLE) return 0; /* would stand before the table */
    if (is_choice(r) || id == T_OPTION || id == T_OPTGROUP) {
        int region = (id == T_OPTION || id == T_OPTGROUP) && make_choice(r, id) ? read_role(r) : -1;
        return region >= 0 && push(r, tag, name, size, region);
    }
    if (flags & RAW) return read_raw(r, tag);
    if (id == T_LI && !close_item(r, T_LI, T_LI)) return 0;
    if ((id == T_DD || id == T_DT) && !close_item(r, T_DD, T_DT)) return 0;
    if (flags & CLOSES_P && !close_paragraph(r)) return 0;
    if (flags & VOID) return read_void(r, tag);
    if (id == T_A) return open_link(r, tag, name);
    if (id == T_SVG) return skip_drawing(r);
    if (flags & BLOCK) return open_block(r, tag, name, size);
    if (flags & NOTED) { /* a film or a sound */
        PyObject *attributes = read_attributes(r);
        int done = attributes != NULL && note(r, tag->name, attributes, Py_None);
        Py_XDECREF(attributes);
        return done && push(r, tag, name, size, R_NONE);
    }
    return skip_attributes(r) && push(r, tag, name, size, R_NONE);
}

/* Behind `</body>` nothing may stand but the end. */
static int read_tail(Reader *r) {
    static const Byte END[] = "</html>";
    const Byte *at = r->at;
    while (at < r->end && is_space(*at)) at++;
    if ((size_t)(r->end - at) >= sizeof END - 1 && memcmp(at, END, sizeof END - 1) == 0) at += sizeof END - 1;
    while (at < r->end) {
        if (is_space(*at)) at++;
        else if (r->end - at > 4 && memcmp(at, "<!--", 4) == 0) {
            at = skip_comment(at + 4, r->end);
            if (at == NULL) return 0;
        } else return 0;
    }
    r->at = r->end;
    return 1;
}

static int close_tag(Reader *r, const Tag *tag, const Byte *name, size_t size) {
    unsigned flags = tag != NULL ? tag->flags : 0;
    TagId id = tag != NULL ? tag->id : T_OTHER;
    if (!skip_attributes(r)) return 0;
    if (id == T_HEAD) return !r->is_body && r->depth == 0;
    if (id == T_BODY || id == T_HTML) return r->is_body && read_tail(r);
    if (flags & (VOID | RAW | ODD) || !r->is_body) return 0;
    if (flags & PART || id == T_TABLE) return close_part(r, id);
    if (top_flags(r) & INNER) return 0;
    if (is_choice(r)) return close_choice(r, id);
    if (id == T_P && !in_scope(r, T_P)) /* it makes an empty paragraph */
        return ++r->blocks <= MOST_BLOCKS && break_line(r, "p", r->line.region);
    if (flags & BLOCK && id != T_LEGEND && !pop_implied(r, flags & IMPLIED ? id : T_OTHER)) return 0;
    if (r->depth == 0) return 0;
    const Open *top = &r->open[r->depth - 1];
    if (top->tag != tag || top->name_size != size) return 0;
    for (size_t at = 0; at < size; at++)
        if (lower(top->name[at]) != name[at]) return 0;
    return pop(r);
}

static int read_tag(Reader *r) {
    Byte name[LONGEST_NAME + 1];
    const Byte *at = r->at + 1;
    int is_end = at < r->end && *at == '/';
    at += is_end;
    size_t size = read_name(at, r->end, name);
    if (size == 0 || !is_letter(*at)) return 0;
    r->at = at + size;
    const Tag *tag = tag_find(name, size);
    return is_end ? close_tag(r, tag, name, size) : open_tag(r, tag, at, size);
}

/* A doctype, a comment, or a processing instruction. */
static int skip_declaration(Reader *r) {
    const Byte *at = r->at;
    if (r->end - at >= 4 && memcmp(at, "<!--", 4) == 0) {
        at = skip_comment(at + 4, r->end);
    } else if (at[1] == '?' || (r->end - at > 9 && lower(at[2]) == 'd')) {
        at = memchr(at, '>', (size_t)(r->end - at)); /* a doctype that is in the wrong place is passed over as well */
        at = at != NULL ? at + 1 : NULL;
    } else {
        at = NULL;
    }
    r->at = at;
    return at != NULL;
}

static int read_all(Reader *r) {
    while (r->at < r->end) {
        const Byte *mark = r->at;
        do {
            mark = memchr(mark, '<', (size_t)(r->end - mark));
            if (mark == NULL) mark = r->end;
            else if (mark + 1 == r->end) return 0;
            else if (is_letter(mark[1]) || mark[1] == '/' || mark[1] == '!' || mark[1] == '?') break;
            else mark++;
        } while (mark < r->end);
        if (mark > r->at) {
            if (!r->is_body || top_flags(r) & INNER) {
                if (has_text(r->at, mark)) {
                    if (r->is_body) return 0;
                    r->is_body = r->seen_head = 1;
                }
            }
            if (r->is_body && !(top_flags(r) & INNER) && !read_text(r, r->at, mark)) return 0;
            r->at = mark;
        }
        if (r->at == r->end) break;
        if (!(mark[1] == '!' || mark[1] == '?' ? skip_declaration(r) : read_tag(r))) return 0;
        if (r->text.failed || r->value.failed || r->lines.failed) return 0;
    }
    if (r->anchor) return 0;
    while (r->depth > 0)
        if (!pop(r)) return 0;
    return break_line(r, "p", R_NONE);
}

/* -- the result ----------------------------------------------------------------------------------------------------- */

static PyObject *make_blocks(Reader *r) {
    size_t count = r->lines.size / sizeof(Line);
    const Line *lines = (const Line *)(const void *)r->lines.data;
    PyObject *blocks = PyList_New((Py_ssize_t)count);
    for (size_t at = 0; blocks != NULL && at < count; at++) {
        PyObject *block = Py_BuildValue("(s#ssi)", r->text.data + lines[at].start,
                                        (Py_ssize_t)(lines[at].end - lines[at].start), lines[at].tag,
                                        REGIONS[lines[at].region], lines[at].linked);
        if (block == NULL) Py_CLEAR(blocks);
        else PyList_SET_ITEM(blocks, (Py_ssize_t)at, block);
    }
    return blocks;
}

static PyObject *make_text(const Growing *text) {
    size_t size = text->size;
    if (size > 0 && text->data[size - 1] == '\n') size--;
    return PyUnicode_DecodeUTF8(text->data ? text->data : "", (Py_ssize_t)size, NULL);
}

static int is_ascii(const Growing *text) {
    Byte all = 0;
    for (size_t at = 0; at < text->size; at++) all |= (Byte)text->data[at];
    return all < 0x80;
}

static PyObject *make_page(Reader *r) {
    Growing main_lines = {0};
    PyObject *whole = is_ascii(&r->text) ? Py_NewRef(Py_None) : make_text(&r->text); /* fails if it is no UTF-8 */
    if (whole == NULL) return NULL;
    Py_DECREF(whole);
    put_main_text(&main_lines, r->text.data, (const Line *)(const void *)r->lines.data, r->lines.size / sizeof(Line));
    PyObject *text = main_lines.failed ? PyErr_NoMemory() : make_text(&main_lines);
    PyObject *page = text != NULL ? Py_BuildValue("OOnOO", r->notes, r->links, r->too_long, r->headings, text) : NULL;
    Py_XDECREF(text);
    growing_free(&main_lines);
    return page;
}

static PyObject *make_words(Reader *r) {
    PyObject *text = make_text(&r->text);
    PyObject *blocks = text != NULL ? make_blocks(r) : NULL;
    PyObject *words = blocks != NULL ? PyTuple_Pack(2, text, blocks) : NULL;
    Py_XDECREF(text);
    Py_XDECREF(blocks);
    return words;
}

void page_prepare(void) {
    memset(classes, C_PLAIN, sizeof classes);
    for (int byte = 0; byte < 0x20; byte++) classes[byte] = C_ODD;
    classes[0x7f] = C_ODD;
    for (const char *space = " \t\n\f\r"; *space; space++) classes[(Byte)*space] = C_SPACE;
    classes['&'] = C_REFERENCE;
    classes[0xc2] = C_WIDE;
}

typedef PyObject *(*Making)(Reader *);

static PyObject *read_as(Making make, const char *html, Py_ssize_t size, PyObject *entities, Py_ssize_t longest_href) {
    Reader *r = calloc(1, sizeof *r);
    if (r == NULL) return PyErr_NoMemory();
    PyObject *made = NULL;
    r->at = (const Byte *)html;
    r->end = r->at + size;
    r->entities = entities;
    r->longest_href = longest_href;
    r->line.tag = "p";
    r->kind = PyUnicode_FromString("a");
    r->notes = PyList_New(0);
    r->links = PyList_New(0);
    r->headings = PyList_New(0);
    int is_ready = r->kind != NULL && r->notes != NULL && r->links != NULL && r->headings != NULL;
    if (is_ready && read_all(r)) made = make(r);
    int failed = r->text.failed || r->value.failed || r->lines.failed;
    Py_XDECREF(r->notes);
    Py_XDECREF(r->links);
    Py_XDECREF(r->headings);
    Py_XDECREF(r->href);
    Py_XDECREF(r->rel);
    Py_XDECREF(r->alt);
    Py_XDECREF(r->kind);
    growing_free(&r->text);
    growing_free(&r->value);
    growing_free(&r->lines);
    free(r);
    if (made != NULL) return made;
    if (failed) return PyErr_NoMemory();
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) return NULL;
        PyErr_Clear(); /* bytes that are no UTF-8: the parser replaces them */
    }
    Py_RETURN_NONE;
}

PyObject *page_read(const char *html, Py_ssize_t size, PyObject *entities, Py_ssize_t longest_href) {
    return read_as(make_page, html, size, entities, longest_href);
}

PyObject *page_words(const char *html, Py_ssize_t size, PyObject *entities, Py_ssize_t longest_href) {
    return read_as(make_words, html, size, entities, longest_href);
}
