#ifndef LYCOSA_SIMHASH_H
#define LYCOSA_SIMHASH_H

#include <stddef.h>
#include <stdint.h>

void simhash_prepare(void);

/* 1, or 0 if the text has words too long to be some, or -1 without memory. */
int simhash(const unsigned char *text, size_t size, size_t longest_word, size_t mean_letters, uint64_t *fingerprint);

#endif
