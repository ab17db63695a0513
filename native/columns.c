/* Columns from rows: what `lycosa.crawl.feed` does with values of Python, without any.
 *
 * An entry of the feed is in MessagePack: a request, a page or nothing, and the links of the page, each a list of values.
 * Each value is appended to the column it belongs to, which lies in memory as Arrow has it: a bit for each value that is
 * not null, where each text ends, and the values themselves. An entry that is not as expected, or a number that does not
 * fit its column, is for Python to judge: every doubt has one answer, `return 0`.
 *
 * Each position is compared with the end before it is read, and no length is trusted. */
#include "columns.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>

#include "growing.h"

enum { TABLES = 3, MOST_COLUMNS = 64 };

typedef enum { NOTHING, NATURAL, NEGATIVE, REAL, TEXT, LIST } Sort;

typedef struct {
    Sort sort;
    union {
        uint64_t natural;
        int64_t negative;
        double real;
        size_t size; /* of a list: of a text too, which begins at `text` */
    };
    const unsigned char *text;
} Value;

typedef struct {
    const unsigned char *at, *end;
} Bytes;

typedef struct {
    char kind;
    size_t count, nulls;
    Growing known, ends, values;
} Column;

typedef struct {
    Column columns[MOST_COLUMNS];
    size_t width;
} Table;

/* -- MessagePack ---------------------------------------------------------------------------------------------------- */

/* A number of so many bytes, the highest first. */
static int read_natural(Bytes *from, size_t size, uint64_t *number) {
    if ((size_t)(from->end - from->at) < size) return 0;
    *number = 0;
    for (size_t at = 0; at < size; at++) *number = *number << 8 | from->at[at];
    from->at += size;
    return 1;
}

static int read_integer(Bytes *from, size_t size, Value *value) {
    uint64_t number;
    if (!read_natural(from, size, &number)) return 0;
    int64_t whole = (int64_t)(number << (64 - 8 * size)) >> (64 - 8 * size);
    *value = whole < 0 ? (Value){.sort = NEGATIVE, .negative = whole} : (Value){.sort = NATURAL, .natural = number};
    return 1;
}

static int read_real(Bytes *from, Value *value) {
    uint64_t bits;
    if (!read_natural(from, 8, &bits)) return 0;
    value->sort = REAL;
    memcpy(&value->real, &bits, 8);
    return 1;
}

static int read_text(Bytes *from, size_t size, Value *value) {
    if ((size_t)(from->end - from->at) < size) return 0;
    *value = (Value){.sort = TEXT, .size = size, .text = from->at};
    from->at += size;
    return 1;
}

/* A value, or the beginning of a list of them. */
static int read_value(Bytes *from, Value *value) {
    uint64_t size;
    if (from->at == from->end) return 0;
    unsigned char first = *from->at++;
    if (first < 0x80) return *value = (Value){.sort = NATURAL, .natural = first}, 1;
    if (first >= 0xe0) return *value = (Value){.sort = NEGATIVE, .negative = (int64_t)first - 0x100}, 1;
    if (first >= 0xa0 && first < 0xc0) return read_text(from, first & 0x1f, value);
    if (first >= 0x90 && first < 0xa0) return *value = (Value){.sort = LIST, .size = first & 0x0f}, 1;
    switch (first) {
    case 0xc0: return *value = (Value){.sort = NOTHING}, 1;
    case 0xcb: return read_real(from, value);
    case 0xcc: case 0xcd: case 0xce: case 0xcf:
        value->sort = NATURAL;
        return read_natural(from, (size_t)1 << (first - 0xcc), &value->natural);
    case 0xd0: case 0xd1: case 0xd2: case 0xd3: return read_integer(from, (size_t)1 << (first - 0xd0), value);
    case 0xd9: case 0xda: case 0xdb:
        return read_natural(from, (size_t)1 << (first - 0xd9), &size) && read_text(from, size, value);
    case 0xdc: case 0xdd:
        value->sort = LIST;
        if (!read_natural(from, (size_t)2 << (first - 0xdc), &size)) return 0;
        value->size = size;
        return 1;
    default: return 0;
    }
}

/* A list of just so many values, none of which is a list. */
static int read_row(Bytes *from, Value *values, size_t width) {
    Value row;
    if (!read_value(from, &row) || row.sort != LIST || row.size != width) return 0;
    for (size_t at = 0; at < width; at++)
        if (!read_value(from, values + at) || values[at].sort == LIST) return 0;
    return 1;
}

/* -- columns -------------------------------------------------------------------------------------------------------- */

static size_t width_of(char kind) {
    switch (kind) {
    case 'h': return 2;
    case 'i': return 4;
    default: return 8;
    }
}

static int add_text(Column *column, const Value *value) {
    if (value->sort != TEXT && value->sort != NOTHING) return 0;
    if (value->sort == TEXT) growing_append(&column->values, value->text, value->size);
    if (column->kind == 'S') {
        int64_t end = (int64_t)column->values.size;
        growing_append(&column->ends, &end, sizeof end);
    } else {
        int32_t end = (int32_t)column->values.size;
        if (column->values.size > INT32_MAX) return 0;
        growing_append(&column->ends, &end, sizeof end);
    }
    return 1;
}

static int add_integer(Column *column, const Value *value, int64_t least, int64_t most) {
    int64_t whole = 0;
    if (value->sort == NATURAL) {
        if (value->natural > (uint64_t)most) return 0;
        whole = (int64_t)value->natural;
    } else if (value->sort == NEGATIVE) {
        if (value->negative < least) return 0;
        whole = value->negative;
    } else if (value->sort != NOTHING) {
        return 0;
    }
    int16_t small = (int16_t)whole;
    int32_t middle = (int32_t)whole;
    size_t width = width_of(column->kind);
    growing_append(&column->values, width == 2 ? (void *)&small : width == 4 ? (void *)&middle : (void *)&whole, width);
    return 1;
}

static int add_natural(Column *column, const Value *value) {
    uint64_t natural = value->sort == NATURAL ? value->natural : 0;
    if (value->sort != NATURAL && value->sort != NOTHING) return 0;
    growing_append(&column->values, &natural, sizeof natural);
    return 1;
}

static int add_real(Column *column, const Value *value) {
    double real = value->sort == REAL ? value->real : 0.0;
    if (value->sort != REAL && value->sort != NOTHING) return 0;
    growing_append(&column->values, &real, sizeof real);
    return 1;
}

/* Seconds, as microseconds. */
static int add_time(Column *column, const Value *value) {
    static const double MOST_SECONDS = 9e12;
    double seconds = value->sort == REAL ? value->real : 0.0;
    if ((value->sort != REAL && value->sort != NOTHING) || !(fabs(seconds) < MOST_SECONDS)) return 0;
    int64_t micros = (int64_t)rint(seconds * 1e6);
    growing_append(&column->values, &micros, sizeof micros);
    return 1;
}

static int add_value(Column *column, const Value *value) {
    int is_known = value->sort != NOTHING;
    if (column->count % 8 == 0) growing_push(&column->known, 0);
    if (column->known.failed) return 0;
    column->known.data[column->count / 8] |= (char)(is_known << column->count % 8);
    column->count++;
    column->nulls += !is_known;
    switch (column->kind) {
    case 's': case 'S': return add_text(column, value);
    case 'h': return add_integer(column, value, INT16_MIN, INT16_MAX);
    case 'i': return add_integer(column, value, INT32_MIN, INT32_MAX);
    case 'q': return add_integer(column, value, INT64_MIN, INT64_MAX);
    case 'Q': return add_natural(column, value);
    case 'd': return add_real(column, value);
    default: return add_time(column, value);
    }
}

/* -- tables --------------------------------------------------------------------------------------------------------- */

static int add_row(Table *table, const Value *values) {
    for (size_t at = 0; at < table->width; at++)
        if (!add_value(table->columns + at, values + at)) return 0;
    return 1;
}

/* A row for each link; what stands at a negative place is the page's. */
static int add_links(Table *table, const int *places, Bytes *from, const Value *page, size_t width) {
    Value links, link[MOST_COLUMNS];
    if (!read_value(from, &links) || links.sort != LIST) return 0;
    for (size_t number = 0; number < links.size; number++) {
        if (!read_row(from, link, width)) return 0;
        for (size_t at = 0; at < table->width; at++)
            if (!add_value(table->columns + at, places[at] < 0 ? page + ~places[at] : link + places[at])) return 0;
    }
    return 1;
}

static int add_entry(Table *tables, const int *places, size_t link_width, const unsigned char *entry, size_t size) {
    Bytes from = {entry, entry + size};
    Value whole, request[MOST_COLUMNS], page[MOST_COLUMNS], links;
    if (!read_value(&from, &whole) || whole.sort != LIST || whole.size != TABLES) return 0;
    if (!read_row(&from, request, tables[0].width) || !add_row(tables, request)) return 0;
    if (from.at < from.end && *from.at == 0xc0) { /* no page */
        from.at++;
        return read_value(&from, &links) && links.sort == LIST && links.size == 0 && from.at == from.end;
    }
    if (!read_row(&from, page, tables[1].width) || !add_row(tables + 1, page)) return 0;
    return add_links(tables + 2, places, &from, page, link_width) && from.at == from.end;
}

/* -- for Python ----------------------------------------------------------------------------------------------------- */

static int begin_table(Table *table, PyObject *kinds) {
    Py_ssize_t width = 0;
    const char *letters = PyUnicode_Check(kinds) ? PyUnicode_AsUTF8AndSize(kinds, &width) : NULL;
    if (letters == NULL || width == 0 || width > MOST_COLUMNS || strspn(letters, "sShiqQdt") != (size_t)width) {
        PyErr_SetString(PyExc_ValueError, "the kinds of a table's columns are letters of sShiqQdt");
        return 0;
    }
    table->width = (size_t)width;
    for (Py_ssize_t at = 0; at < width; at++) {
        int64_t start = 0;
        Column *column = table->columns + at;
        column->kind = letters[at];
        if (column->kind == 's' || column->kind == 'S')
            growing_append(&column->ends, &start, column->kind == 'S' ? sizeof(int64_t) : sizeof(int32_t));
    }
    return 1;
}

static int begin_places(const Table *tables, PyObject *given, int *places, size_t *link_width) {
    *link_width = 0;
    if (PyTuple_GET_SIZE(given) != (Py_ssize_t)tables[2].width) goto wrong;
    for (size_t at = 0; at < tables[2].width; at++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(given, (Py_ssize_t)at));
        if (place == -1 && PyErr_Occurred()) return 0;
        if (place >= MOST_COLUMNS || place < -(long)tables[1].width) goto wrong;
        places[at] = (int)place;
        if (place >= (long)*link_width) *link_width = (size_t)place + 1;
    }
    return 1;
wrong:
    PyErr_SetString(PyExc_ValueError, "each column of the links has a place, in a link or in its page");
    return 0;
}

static int has_failed(const Table *tables) {
    for (size_t table = 0; table < TABLES; table++)
        for (size_t at = 0; at < tables[table].width; at++) {
            const Column *column = tables[table].columns + at;
            if (column->known.failed || column->ends.failed || column->values.failed) return 1;
        }
    return 0;
}

/* How many values, how many nulls, and their memory: what is NULL becomes None. */
static PyObject *give_column(const Column *column) {
    const char *known = column->nulls > 0 ? column->known.data : NULL, *values = column->values.data;
    return Py_BuildValue("nny#y#y#", (Py_ssize_t)column->count, (Py_ssize_t)column->nulls, known,
                         (Py_ssize_t)column->known.size, column->ends.data, (Py_ssize_t)column->ends.size,
                         values != NULL ? values : "", (Py_ssize_t)column->values.size);
}

static PyObject *give_tables(const Table *tables) {
    PyObject *given = PyList_New(0);
    for (size_t table = 0; given != NULL && table < TABLES; table++) {
        PyObject *columns = PyList_New((Py_ssize_t)tables[table].width);
        int is_whole = columns != NULL;
        for (size_t at = 0; is_whole && at < tables[table].width; at++) {
            PyObject *column = give_column(tables[table].columns + at);
            is_whole = column != NULL;
            if (is_whole) PyList_SET_ITEM(columns, (Py_ssize_t)at, column);
        }
        if (!is_whole || PyList_Append(given, columns) < 0) Py_CLEAR(given);
        Py_XDECREF(columns);
    }
    return given;
}

static PyObject *read_all(Table *tables, const int *places, size_t link_width, PyObject *entries) {
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(entries); at++) {
        PyObject *entry = PyList_GET_ITEM(entries, at);
        if (!PyBytes_Check(entry)) return PyErr_SetString(PyExc_TypeError, "an entry is bytes"), NULL;
        const unsigned char *bytes = (const unsigned char *)PyBytes_AS_STRING(entry);
        int is_expected = add_entry(tables, places, link_width, bytes, (size_t)PyBytes_GET_SIZE(entry));
        if (has_failed(tables)) return PyErr_NoMemory();
        if (!is_expected) Py_RETURN_NONE;
    }
    return give_tables(tables);
}

PyObject *columns_read(PyObject *entries, PyObject *kinds, PyObject *places) {
    PyObject *given = NULL;
    int read_places[MOST_COLUMNS];
    size_t link_width;
    Table *tables = calloc(TABLES, sizeof *tables);
    if (tables == NULL) return PyErr_NoMemory();
    int is_begun = PyTuple_GET_SIZE(kinds) == TABLES;
    if (!is_begun) PyErr_SetString(PyExc_ValueError, "there are three tables");
    for (size_t table = 0; is_begun && table < TABLES; table++)
        is_begun = begin_table(tables + table, PyTuple_GET_ITEM(kinds, (Py_ssize_t)table));
    if (is_begun && begin_places(tables, places, read_places, &link_width))
        given = has_failed(tables) ? PyErr_NoMemory() : read_all(tables, read_places, link_width, entries);
    for (size_t table = 0; table < TABLES; table++)
        for (size_t at = 0; at < MOST_COLUMNS; at++) {
            growing_free(&tables[table].columns[at].known);
            growing_free(&tables[table].columns[at].ends);
            growing_free(&tables[table].columns[at].values);
        }
    free(tables);
    return given;
}
