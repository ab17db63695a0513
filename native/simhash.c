/* The fingerprint of `lycosa.kit.simhash`, bit for bit. */
#include "simhash.h"

#include <stdlib.h>
#include <string.h>

#define MULTIPLY UINT64_C(0x9E3779B97F4A7C15)
#define FINISH UINT64_C(0xD6E8FEB86659FD93)
#define BASE UINT64_C(0xB5026F5AA96619E9)
#define HIGH_BITS UINT64_C(0x8080808080808080)

enum {
    BLOCK = 64, /* letters that are looked at together: with a bit for each they fit into a number */
    LEVELS = 64, /* of votes */
};
static uint64_t powers[BLOCK + 1], inverses[BLOCK + 1]; /* of the base */

void simhash_prepare(void) {
    uint64_t inverse = BASE; /* right in three bits, and in twice as many after each step (Newton) */
    for (int step = 0; step < 5; step++) inverse *= 2 - BASE * inverse;
    powers[0] = inverses[0] = 1;
    for (int at = 1; at <= BLOCK; at++) {
        powers[at] = powers[at - 1] * BASE;
        inverses[at] = inverses[at - 1] * inverse;
    }
}

static uint64_t mix_word(uint64_t word) {
    word ^= word >> 31;
    return word * FINISH;
}

static uint64_t mix_pair(uint64_t pair) {
    pair ^= pair >> 32;
    pair *= FINISH;
    return pair ^ pair >> 29;
}

/* -- words ---------------------------------------------------------------------------------------------------------- */

struct Words {
    uint64_t *hashes;
    size_t count, letters, longest;
    /* Of the word that the last block ended in: its sum so far, the power it goes on with, and its letters, 0 if none. */
    uint64_t open_sum, open_power;
    size_t open_letters;
};

/* Letters without their case; white space is 0. Without tables, for then compilers do sixteen at once. */
static void make_plain(unsigned char plain[BLOCK], const unsigned char *text) {
    for (int at = 0; at < BLOCK; at++) {
        unsigned char byte = text[at];
        unsigned char is_capital = (unsigned char)(byte - 'A') < 26;
        unsigned char is_space = (unsigned char)(byte - '\t') < 5 || (unsigned char)(byte - 0x1c) < 5;
        plain[at] = is_space ? 0 : (unsigned char)(byte | is_capital << 5);
    }
}

/* A bit for each letter, the first is the lowest. */
static uint64_t find_letters(const unsigned char plain[BLOCK]) {
    uint64_t letters = 0;
    for (int at = 0; at < BLOCK; at += 8) {
        uint64_t eight;
        memcpy(&eight, plain + at, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        eight = __builtin_bswap64(eight);
#endif
        eight = (((eight & ~HIGH_BITS) + ~HIGH_BITS) | eight) & HIGH_BITS; /* of every byte that is not 0 */
        letters |= (eight >> 7) * UINT64_C(0x0102040810204080) >> 56 << at;
    }
    return letters;
}

static int take_lowest(uint64_t *bits) {
    int lowest = __builtin_ctzll(*bits);
    *bits &= *bits - 1;
    return lowest;
}

static void add_word(struct Words *words, uint64_t sum, size_t letters) {
    words->hashes[words->count++] = mix_word(sum);
    words->letters += letters;
    if (letters > words->longest) words->longest = letters;
}

/* Hashes the words of a block. The sum up to each letter is known, so a word is a difference of two, whatever its length:
 * a loop over its letters would have the processor guess wrongly at the end of every word. */
static void add_block(struct Words *words, const unsigned char *text) {
    unsigned char plain[BLOCK];
    uint64_t sums[BLOCK + 1];
    make_plain(plain, text);
    sums[0] = 0;
    for (int at = 0; at < BLOCK; at++) sums[at + 1] = sums[at] + plain[at] * powers[at];
    uint64_t letters = find_letters(plain), edges = letters ^ (letters << 1 | (words->open_letters != 0));
    if (words->open_letters != 0) {
        int is_end = edges != 0, end = is_end ? take_lowest(&edges) : BLOCK;
        words->open_sum += sums[end] * words->open_power;
        words->open_power *= powers[end];
        words->open_letters += (size_t)end;
        if (!is_end) return;
        add_word(words, words->open_sum, words->open_letters);
        words->open_letters = 0;
    }
    while (edges != 0) {
        int start = take_lowest(&edges), is_end = edges != 0, end = is_end ? take_lowest(&edges) : BLOCK;
        uint64_t sum = (sums[end] - sums[start]) * inverses[start];
        if (is_end) {
            add_word(words, sum, (size_t)(end - start));
        } else {
            words->open_sum = sum;
            words->open_power = powers[end - start];
            words->open_letters = (size_t)(end - start);
        }
    }
}

static void add_text(struct Words *words, const unsigned char *text, size_t size) {
    unsigned char last[BLOCK] = {0};
    if (size % BLOCK != 0) memcpy(last, text + size - size % BLOCK, size % BLOCK);
    for (size_t at = 0; at < size; at += BLOCK) add_block(words, size - at >= BLOCK ? text + at : last);
    if (words->open_letters != 0) add_word(words, words->open_sum, words->open_letters);
}

/* -- votes ---------------------------------------------------------------------------------------------------------- */

/* 64 sums at once, one for each bit: `sums[level]` has their binary digit of that level. Every second carry into a level
 * waits for the next one, and both are added together. */
struct Votes {
    uint64_t sums[LEVELS], waiting[LEVELS];
    size_t count;
};

static void vote(struct Votes *votes, uint64_t bits) {
    int level = 0;
    for (; votes->count >> level & 1; level++) {
        uint64_t sum = votes->sums[level], other = votes->waiting[level], either = sum ^ other;
        votes->sums[level] = either ^ bits;
        bits = (sum & other) | (either & bits);
    }
    votes->waiting[level] = bits;
    votes->count++;
}

/* The bits that more than half have set; the least byte of a vote is the first of the fingerprint. */
static uint64_t majority(const struct Votes *votes) {
    uint64_t won = 0;
    for (int bit = 0; bit < 64; bit++) {
        uint64_t ayes = 0;
        for (int level = 0; votes->count >> level != 0; level++) {
            ayes += (votes->sums[level] >> bit & 1) << level;
            if (votes->count >> level & 1) ayes += (votes->waiting[level] >> bit & 1) << level;
        }
        if (ayes * 2 > votes->count) won |= UINT64_C(1) << bit;
    }
    return __builtin_bswap64(won);
}

/* Each pair of neighbours that was not met before votes. An open table tells; 0 marks an empty place. */
static uint64_t elect(const uint64_t *words, size_t count, uint64_t *table, size_t mask) {
    struct Votes votes = {0};
    int has_zero = 0;
    if (count == 1) vote(&votes, mix_pair(words[0]));
    for (size_t at = 1; at < count; at++) {
        uint64_t pair = mix_pair(words[at - 1] * MULTIPLY + words[at]);
        size_t place = pair & mask;
        while (table[place] != 0 && table[place] != pair) place = (place + 1) & mask;
        int is_known = table[place] == pair && (pair != 0 || has_zero);
        if (is_known) continue;
        table[place] = pair;
        has_zero |= pair == 0;
        vote(&votes, pair);
    }
    return majority(&votes);
}

int simhash(const unsigned char *text, size_t size, size_t longest_word, size_t mean_letters, uint64_t *fingerprint) {
    static const size_t LEAST_ROOM = 64;
    struct Words words = {.hashes = malloc((size / 2 + 1) * sizeof(uint64_t))}; /* as many as there can be */
    if (words.hashes == NULL) return -1;
    add_text(&words, text, size);
    int done = 0;
    if (words.longest <= longest_word && words.letters <= mean_letters * words.count) {
        size_t room = LEAST_ROOM;
        while (room < 3 * words.count) room *= 2;
        uint64_t *table = calloc(room, sizeof *table);
        if (table != NULL) *fingerprint = elect(words.hashes, words.count, table, room - 1);
        done = table != NULL ? 1 : -1;
        free(table);
    }
    free(words.hashes);
    return done;
}
