/* SipHash-1-3 of a text under a secret: whoever does not know the secret cannot make up two texts that share a hash. */
#ifndef LYCOSA_SIPHASH_H
#define LYCOSA_SIPHASH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>
#include <stdint.h>

enum { SECRET_BYTES = 16 };

typedef struct {
    uint64_t words[2];
} Secret;

typedef struct {
    const unsigned char *text; /* NULL: not to be written as UTF-8, and so without a hash */
    size_t size;
} Text;

int secret_read(PyObject *given, Secret *secret); /* -1 with an exception set unless it is 16 bytes */

int text_read(PyObject *given, Text *text); /* -1 with an exception set unless it is a str, which it borrows from */

uint64_t siphash(Text text, const Secret *secret); /* never 0 */

#endif
