#include <stddef.h>
enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2 };
enum { MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20 };
#define MAP_FAILED ((void *)-1)
void *mmap(void *, size_t, int, int, int, long);
int mprotect(void *, size_t, int);
