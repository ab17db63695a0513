#ifndef LYCOSA_LARGE_PAGES_H
#define LYCOSA_LARGE_PAGES_H

/* From now on the heap grows on large pages, as far as the C library grows it in one step, and so do the arenas of the
 * interpreter. Nothing happens where the system has none. */
void large_pages_use(void);

#endif
