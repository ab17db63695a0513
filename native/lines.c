/* The main text of a page, by the rules of `lycosa.web.text`, line by line. */
#include "lines.h"

#include <stdlib.h>

enum { LONG = 80, SHORT = 25, REACH = 3, ENOUGH = 120 };
static const double LINKED = 0.33, UNLINKED = 0.15, MENU = 0.6;

typedef struct {
    const Line *line;
    size_t length; /* in characters */
    int is_sure, is_kept;
} Block;

static size_t count_characters(const char *text, const Line *line) {
    size_t count = 0;
    for (size_t at = line->start; at < line->end; at++) count += (text[at] & 0xc0) != 0x80;
    return count;
}

static size_t size_of(const Block *blocks, size_t count) {
    size_t size = 0;
    for (size_t at = 0; at < count; at++) size += blocks[at].is_kept ? blocks[at].length : 0;
    return size;
}

static double link_share(const Block *blocks, size_t count) {
    size_t size = 0, linked = 0;
    for (size_t at = 0; at < count; at++) {
        size += blocks[at].length;
        linked += (size_t)blocks[at].line->linked;
    }
    return (double)linked / (double)(size > 0 ? size : 1);
}

static int is_heading(const Line *line) {
    return line->tag[0] == 'h' && line->tag[1] >= '1' && line->tag[1] <= '6' && line->tag[2] == 0;
}

/* Short, but not a menu: headings always, the rest if it is words more than links. */
static int may_be(const Block *block) {
    double share = (double)block->line->linked / (double)(block->length > 0 ? block->length : 1);
    return is_heading(block->line) || share < (block->length < SHORT ? LINKED : MENU);
}

static void choose(Block *body, size_t count) {
    size_t before = count; /* the last sure one; none yet */
    for (size_t at = 0; at < count; at++)
        body[at].is_kept = body[at].is_sure = body[at].length >= LONG && body[at].line->linked < LINKED * (double)body[at].length;
    for (size_t at = 0; at < count; at++) {
        if (!body[at].is_sure) continue;
        for (size_t near = at > REACH ? at - REACH : 0; near < count && near <= at + REACH; near++)
            body[near].is_kept = body[near].is_kept || may_be(&body[near]);
        /* What lies between two stretches of text is part of the article unless it is a list of links. */
        if (before < count && link_share(body + before + 1, at - before - 1) < LINKED)
            for (size_t between = before; between < at; between++) body[between].is_kept = 1;
        before = at;
    }
}

/* The lines outside of menus and the like, or those of the part that is marked as the main one if there is enough in it. */
static size_t take_body(Block *body, const char *text, const Line *lines, size_t count) {
    size_t taken = 0, marked = 0, marked_size = 0;
    for (size_t at = 0; at < count; at++) {
        if (lines[at].region != R_NONE && lines[at].region != R_MAIN) continue;
        body[taken] = (Block){.line = &lines[at], .length = count_characters(text, &lines[at]), .is_kept = 1};
        if (lines[at].region == R_MAIN) marked_size += body[taken].length;
        taken++;
    }
    if (marked_size < ENOUGH) return taken;
    for (size_t at = 0; at < taken; at++)
        if (body[at].line->region == R_MAIN) body[marked++] = body[at];
    return marked;
}

static void put_line(Growing *out, const char *text, const Line *line, int *is_first) {
    if (!*is_first) growing_push(out, '\n');
    *is_first = 0;
    growing_append(out, text + line->start, line->end - line->start);
}

void put_main_text(Growing *out, const char *text, const Line *lines, size_t count) {
    Block *body = malloc((count + 1) * sizeof *body);
    int is_first = 1, takes_all = 0;
    if (body == NULL) {
        out->failed = 1;
        return;
    }
    size_t taken = take_body(body, text, lines, count);
    if (link_share(body, taken) >= UNLINKED) choose(body, taken);
    takes_all = size_of(body, taken) < ENOUGH;
    for (size_t at = 0; at < taken; at++)
        if (takes_all || body[at].is_kept) put_line(out, text, body[at].line, &is_first);
    for (size_t at = 0; at < count && taken == 0; at++) put_line(out, text, &lines[at], &is_first);
    free(body);
}
