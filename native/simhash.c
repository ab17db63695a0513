/* The fingerprint of `lycosa.kit.simhash`, bit for bit. */
#include "simhash.h"

#include <stdlib.h>
#include <string.h>

#define MULTIPLY UINT64_C(0x9E3779B97F4A7C15)
#define FINISH UINT64_C(0xD6E8FEB86659FD93)
#define BASE UINT64_C(0xB5026F5AA96619E9)

enum { POWERS = 64 }; /* of the base: as many as most words have letters */
static uint64_t powers[POWERS];
static unsigned char plain[256]; /* letters without their case; white space is 0 */

void simhash_prepare(void) {
    powers[0] = 1;
    for (int at = 1; at < POWERS; at++) powers[at] = powers[at - 1] * BASE;
    for (int byte = 0; byte < 256; byte++) plain[byte] = (unsigned char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
    for (const char *space = "\t\n\v\f\r\x1c\x1d\x1e\x1f "; *space; space++) plain[(unsigned char)*space] = 0;
}

static uint64_t mix_pair(uint64_t pair) {
    pair ^= pair >> 32;
    pair *= FINISH;
    return pair ^ pair >> 29;
}

/* Adds a hash to an open table; 0 marks an empty place and has a flag of its own. Says whether it is new. */
static int add(uint64_t *table, size_t mask, int *has_zero, uint64_t hash) {
    if (hash == 0) {
        int is_new = !*has_zero;
        *has_zero = 1;
        return is_new;
    }
    for (size_t place = hash & mask;; place = (place + 1) & mask) {
        if (table[place] == hash) return 0;
        if (table[place] == 0) {
            table[place] = hash;
            return 1;
        }
    }
}

static void vote(uint32_t votes[8][256], uint64_t hash) {
    for (int column = 0; column < 8; column++) votes[column][hash >> (8 * column) & 0xff]++;
}

/* The least byte of a vote is the first of the fingerprint. Half of a column votes for its highest bit; folding that half
 * onto the other leaves a column of one bit less. */
static uint64_t majority(uint32_t votes[8][256], size_t count) {
    uint64_t fingerprint = 0;
    for (int column = 0; column < 8; column++)
        for (int bit = 7; bit >= 0; bit--) {
            uint32_t *low = votes[column], *high = low + (1 << bit);
            uint64_t ayes = 0;
            for (int at = 0; at < 1 << bit; at++) {
                ayes += high[at];
                low[at] += high[at];
            }
            if (ayes * 2 > count) fingerprint |= UINT64_C(1) << (8 * (7 - column) + bit);
        }
    return fingerprint;
}

int simhash(const unsigned char *text, size_t size, size_t longest_word, size_t mean_letters, uint64_t *fingerprint) {
    static const size_t LEAST_ROOM = 64;
    size_t room = LEAST_ROOM, words = 0, letters = 0, count = 0, at = 0;
    while (room < size / 2 + 2) room *= 2; /* at least one place more than there can be words */
    uint64_t *table = calloc(room, sizeof *table);
    uint32_t (*votes)[256] = calloc(8, sizeof *votes);
    int has_zero = 0, done = table != NULL && votes != NULL ? 1 : -1;
    uint64_t last = 0;
    while (done > 0 && at < size) {
        if (plain[text[at]] == 0) {
            at++;
            continue;
        }
        uint64_t word = 0;
        size_t start = at, near = size - at < POWERS ? size : at + POWERS;
        for (; at < near && plain[text[at]] != 0; at++) word += plain[text[at]] * powers[at - start];
        if (at == start + POWERS) {
            uint64_t power = powers[POWERS - 1] * BASE;
            for (; at < size && plain[text[at]] != 0; at++, power *= BASE) word += plain[text[at]] * power;
        }
        letters += at - start;
        if (at - start > longest_word) done = 0;
        word ^= word >> 31;
        word *= FINISH;
        if (words++ > 0) {
            uint64_t pair = mix_pair(last * MULTIPLY + word);
            if (add(table, room - 1, &has_zero, pair)) vote(votes, pair), count++;
        }
        last = word;
    }
    if (letters > mean_letters * words) done = done < 0 ? done : 0; /* no text of words */
    if (done > 0) {
        if (words == 1) vote(votes, mix_pair(last)), count++;
        *fingerprint = majority(votes, count);
    }
    free(table);
    free(votes);
    return done;
}
