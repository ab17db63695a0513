#include "siphash.h"

static uint64_t read_word(const unsigned char *from, size_t bytes) {
    uint64_t word = 0;
    for (size_t at = bytes; at-- > 0;) word = word << 8 | from[at];
    return word;
}

static uint64_t turn(uint64_t word, int by) { return word << by | word >> (64 - by); }

static void stir(uint64_t v[4]) {
    v[0] += v[1], v[1] = turn(v[1], 13) ^ v[0], v[0] = turn(v[0], 32);
    v[2] += v[3], v[3] = turn(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = turn(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = turn(v[1], 17) ^ v[2], v[2] = turn(v[2], 32);
}

/* Aumasson and Bernstein, SipHash: a fast short-input PRF, 2012; one round a word and three at the end. */
uint64_t siphash(Text text, const Secret *secret) {
    uint64_t v[4] = {secret->words[0] ^ UINT64_C(0x736F6D6570736575), secret->words[1] ^ UINT64_C(0x646F72616E646F6D),
                     secret->words[0] ^ UINT64_C(0x6C7967656E657261), secret->words[1] ^ UINT64_C(0x7465646279746573)};
    size_t whole = text.size & ~(size_t)7;
    for (size_t at = 0; at <= whole; at += 8) {
        uint64_t word = at < whole ? read_word(text.text + at, 8)
                                   : read_word(text.text + at, text.size - whole) | (uint64_t)text.size << 56;
        v[3] ^= word;
        stir(v);
        v[0] ^= word;
    }
    v[2] ^= 0xFF;
    for (int round = 0; round < 3; round++) stir(v);
    uint64_t hash = v[0] ^ v[1] ^ v[2] ^ v[3];
    return hash != 0 ? hash : 1;
}

int secret_read(PyObject *given, Secret *secret) {
    if (!PyBytes_Check(given) || PyBytes_GET_SIZE(given) != SECRET_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a secret has 16 bytes");
        return -1;
    }
    for (int at = 0; at < 2; at++)
        secret->words[at] = read_word((const unsigned char *)PyBytes_AS_STRING(given) + 8 * at, 8);
    return 0;
}

int text_read(PyObject *given, Text *text) {
    Py_ssize_t size = 0;
    if (!PyUnicode_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "a URL is a str");
        return -1;
    }
    text->text = (const unsigned char *)PyUnicode_AsUTF8AndSize(given, &size);
    text->size = (size_t)size;
    if (text->text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeError)) PyErr_Clear();
    return PyErr_Occurred() ? -1 : 0;
}
