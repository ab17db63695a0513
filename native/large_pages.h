#ifndef LYCOSA_LARGE_PAGES_H
#define LYCOSA_LARGE_PAGES_H

/* From now on the arenas of the interpreter are in large pages, and the heap as far as the C library has it by now.
 * Nothing happens where the system has none. */
void large_pages_use(void);

/* What the heap has grown by since is as well. */
void large_pages_follow(void);

#endif
