/* A page's text in lines, and which of them are what the page is about. */
#ifndef LYCOSA_LINES_H
#define LYCOSA_LINES_H

#include <stddef.h>

#include "growing.h"

enum { R_NONE, R_MAIN, R_NAV, R_ASIDE, R_HEADER, R_FOOTER, R_FORM, R_COUNT };

typedef struct {
    size_t start, end;
    const char *tag;
    int region, linked; /* how many of its characters are links */
} Line;

/* Appends the main lines to `out`, with a line feed between them: the rules of `lycosa.web.text`. */
void put_main_text(Growing *out, const char *text, const Line *lines, size_t count);

#endif
