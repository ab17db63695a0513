#include "tags.h"

#include <string.h>

#define LINES (BLOCK | CLOSES_P | SPECIAL)

static const Tag TAGS[] = {
    {"a", T_A, FORMATTING}, {"b", T_B, FORMATTING}, {"big", T_BIG, FORMATTING}, {"code", T_CODE, FORMATTING},
    {"em", T_EM, FORMATTING}, {"font", T_FONT, FORMATTING}, {"i", T_I, FORMATTING}, {"nobr", T_NOBR, ODD},
    {"s", T_S, FORMATTING}, {"small", T_SMALL, FORMATTING}, {"strike", T_STRIKE, FORMATTING},
    {"strong", T_STRONG, FORMATTING}, {"tt", T_TT, FORMATTING}, {"u", T_U, FORMATTING},
    {"address", T_ADDRESS, LINES}, {"article", T_ARTICLE, LINES}, {"aside", T_ASIDE, LINES},
    {"blockquote", T_BLOCKQUOTE, LINES}, {"center", T_CENTER, LINES}, {"details", T_DETAILS, LINES},
    {"dialog", T_DIALOG, BLOCK | CLOSES_P}, {"dir", T_DIR, LINES}, {"div", T_DIV, LINES}, {"dl", T_DL, LINES},
    {"fieldset", T_FIELDSET, LINES}, {"figcaption", T_FIGCAPTION, LINES}, {"figure", T_FIGURE, LINES},
    {"footer", T_FOOTER, LINES}, {"form", T_FORM, LINES}, {"header", T_HEADER, LINES}, {"hgroup", T_HGROUP, LINES},
    {"main", T_MAIN, LINES}, {"menu", T_MENU, LINES}, {"nav", T_NAV, LINES}, {"ol", T_OL, LINES},
    {"p", T_P, LINES | IMPLIED}, {"pre", T_PRE, LINES}, {"search", T_SEARCH, LINES}, {"section", T_SECTION, LINES},
    {"summary", T_SUMMARY, LINES}, {"ul", T_UL, LINES}, {"hr", T_HR, LINES | VOID},
    {"h1", T_H1, LINES}, {"h2", T_H2, LINES}, {"h3", T_H3, LINES}, {"h4", T_H4, LINES}, {"h5", T_H5, LINES},
    {"h6", T_H6, LINES},
    {"li", T_LI, LINES | IMPLIED}, {"dd", T_DD, LINES | IMPLIED}, {"dt", T_DT, LINES | IMPLIED},
    {"button", T_BUTTON, BLOCK | SPECIAL | BARRIER}, {"legend", T_LEGEND, BLOCK}, {"br", T_BR, BLOCK | VOID | SPECIAL},
    {"table", T_TABLE, BLOCK | SPECIAL | BARRIER | INNER},
    {"caption", T_CAPTION, BLOCK | SPECIAL | BARRIER | PART},
    {"td", T_TD, BLOCK | SPECIAL | BARRIER | PART}, {"th", T_TH, BLOCK | SPECIAL | BARRIER | PART},
    {"tr", T_TR, SPECIAL | INNER | PART}, {"tbody", T_TBODY, SPECIAL | INNER | PART},
    {"thead", T_THEAD, SPECIAL | INNER | PART}, {"tfoot", T_TFOOT, SPECIAL | INNER | PART},
    {"colgroup", T_COLGROUP, SPECIAL | INNER | PART}, {"col", T_COL, SPECIAL | PART | VOID},
    {"html", T_HTML, SPECIAL | BARRIER}, {"head", T_HEAD, SPECIAL}, {"body", T_BODY, SPECIAL},
    {"title", T_TITLE, RAW | DECODED | NOTED | HEADISH}, {"meta", T_META, VOID | NOTED | HEADISH},
    {"link", T_LINK, VOID | NOTED | HEADISH}, {"base", T_BASE, VOID | NOTED | HEADISH},
    {"basefont", T_BASEFONT, VOID | HEADISH}, {"bgsound", T_BGSOUND, VOID | HEADISH},
    {"script", T_SCRIPT, RAW | NOTED | HEADISH}, {"style", T_STYLE, RAW | HEADISH},
    {"noscript", T_NOSCRIPT, RAW | NOTED | HEADISH}, {"textarea", T_TEXTAREA, RAW | DECODED},
    {"iframe", T_IFRAME, RAW | NOTED}, {"area", T_AREA, VOID | NOTED}, {"img", T_IMG, VOID | NOTED},
    {"embed", T_EMBED, VOID | NOTED}, {"input", T_INPUT, VOID | NOTED}, {"source", T_SOURCE, VOID | NOTED},
    {"track", T_TRACK, VOID | NOTED}, {"wbr", T_WBR, VOID}, {"video", T_VIDEO, NOTED}, {"audio", T_AUDIO, NOTED},
    {"svg", T_SVG, 0}, {"select", T_SELECT, BLOCK | SPECIAL}, {"option", T_OPTION, BLOCK}, {"optgroup", T_OPTGROUP, BLOCK},
    {"applet", T_ODD, ODD}, {"frame", T_ODD, ODD}, {"frameset", T_ODD, ODD}, {"image", T_ODD, ODD},
    {"isindex", T_ODD, ODD}, {"keygen", T_ODD, ODD}, {"listing", T_ODD, ODD}, {"marquee", T_ODD, ODD},
    {"math", T_ODD, ODD}, {"noembed", T_ODD, ODD}, {"noframes", T_ODD, ODD}, {"object", T_ODD, ODD},
    {"param", T_ODD, ODD}, {"plaintext", T_ODD, ODD},
    {"rb", T_ODD, ODD}, {"rp", T_ODD, ODD}, {"rt", T_ODD, ODD}, {"rtc", T_ODD, ODD},
    {"template", T_ODD, ODD}, {"text", T_ODD, ODD}, {"xmp", T_ODD, ODD}, {"selectedcontent", T_ODD, ODD},
    {"circle", T_DRAWN, DRAWN}, {"clippath", T_DRAWN, DRAWN}, {"defs", T_DRAWN, DRAWN}, {"ellipse", T_DRAWN, DRAWN},
    {"g", T_DRAWN, DRAWN}, {"line", T_DRAWN, DRAWN}, {"lineargradient", T_DRAWN, DRAWN}, {"mask", T_DRAWN, DRAWN},
    {"path", T_DRAWN, DRAWN}, {"polygon", T_DRAWN, DRAWN}, {"polyline", T_DRAWN, DRAWN},
    {"radialgradient", T_DRAWN, DRAWN}, {"rect", T_DRAWN, DRAWN}, {"stop", T_DRAWN, DRAWN},
    {"symbol", T_DRAWN, DRAWN}, {"use", T_DRAWN, DRAWN},
};

#define PLACES 1024
static const Tag *places[PLACES];

static size_t place_of(const unsigned char *name, size_t size) {
    uint32_t hash = (uint32_t)size;
    for (size_t at = 0; at < size; at++) hash = hash * 31 + name[at];
    return (hash ^ hash >> 10) & (PLACES - 1);
}

void tags_prepare(void) {
    memset(places, 0, sizeof places);
    for (size_t at = 0; at < sizeof TAGS / sizeof *TAGS; at++) {
        size_t place = place_of((const unsigned char *)TAGS[at].name, strlen(TAGS[at].name));
        while (places[place] != NULL) place = (place + 1) & (PLACES - 1);
        places[place] = &TAGS[at];
    }
}

const Tag *tag_find(const unsigned char *name, size_t size) {
    for (size_t place = place_of(name, size); places[place] != NULL; place = (place + 1) & (PLACES - 1)) {
        const char *known = places[place]->name;
        if (strncmp(known, (const char *)name, size) == 0 && known[size] == '\0') return places[place];
    }
    return NULL;
}
