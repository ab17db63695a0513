/* The elements of HTML, by what a reader has to know of each to follow the standard's tree construction. */
#ifndef LYCOSA_TAGS_H
#define LYCOSA_TAGS_H

#include <stddef.h>
#include <stdint.h>

enum {
    BLOCK = 1 << 0,     /* its text stands on lines of its own */
    CLOSES_P = 1 << 1,  /* ends a paragraph that is open */
    VOID = 1 << 2,      /* has no content and no end */
    RAW = 1 << 3,       /* its content is no markup */
    DECODED = 1 << 4,   /* ... but has character references */
    NOTED = 1 << 5,     /* told to the caller, with its attributes */
    HEADISH = 1 << 6,   /* may stand in the head */
    SPECIAL = 1 << 7,   /* stops the search for something to close */
    IMPLIED = 1 << 8,   /* ends by itself when what holds it ends */
    FORMATTING = 1 << 9,
    BARRIER = 1 << 10,  /* what is open outside is out of scope */
    INNER = 1 << 11,    /* table parts that hold no text */
    PART = 1 << 12,     /* belongs into a table */
    ODD = 1 << 13,      /* too intricate: the whole page is left to the parser */
    DRAWN = 1 << 14     /* a shape of SVG, without text */
};

typedef enum {
    T_OTHER = 0, T_A, T_ADDRESS, T_AREA, T_ARTICLE, T_ASIDE, T_B, T_BASE, T_BASEFONT, T_BGSOUND, T_BIG, T_BLOCKQUOTE,
    T_BODY, T_BR, T_BUTTON, T_CAPTION, T_CENTER, T_CODE, T_COL, T_COLGROUP, T_DD, T_DETAILS, T_DIALOG, T_DIR, T_DIV,
    T_DL, T_DT, T_EM, T_EMBED, T_FIELDSET, T_FIGCAPTION, T_FIGURE, T_FONT, T_FOOTER, T_FORM, T_H1, T_H2, T_H3, T_H4,
    T_H5, T_H6, T_HEAD, T_HEADER, T_HGROUP, T_HR, T_HTML, T_I, T_IFRAME, T_IMG, T_INPUT, T_LEGEND, T_LI, T_LINK,
    T_MAIN, T_MENU, T_META, T_NAV, T_NOBR, T_NOSCRIPT, T_OL, T_OPTGROUP, T_OPTION, T_P, T_PRE, T_S, T_SCRIPT, T_SEARCH, T_SECTION, T_SELECT, T_SMALL,
    T_SOURCE, T_STRIKE, T_STRONG, T_STYLE, T_SUMMARY, T_SVG, T_TABLE, T_TBODY, T_TD, T_TEXTAREA, T_TFOOT, T_TH,
    T_THEAD, T_TITLE, T_TR, T_TRACK, T_TT, T_U, T_UL, T_VIDEO, T_AUDIO, T_WBR, T_ODD, T_DRAWN, T_COUNT
} TagId;

typedef struct {
    const char *name;
    TagId id;
    unsigned flags;
} Tag;

const Tag *tag_find(const unsigned char *name, size_t size); /* the name in lower case; NULL if it is any other */
void tags_prepare(void);

#endif
