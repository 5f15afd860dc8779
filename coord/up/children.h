/*
 * Child processes: started, watched, and ended in order. They die with this process,
 * however it ends (the kernel signals them when the thread that started them is gone).
 */
#ifndef COORD_UP_CHILDREN_H
#define COORD_UP_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/base/err.h"

enum { CHILDREN_MAX = 80, CHILDREN_NAME_SIZE = 64, CHILDREN_ARGS_MAX = 32 };

struct child {
	char name[CHILDREN_NAME_SIZE];
	pid_t pid;  /* 0: it has ended */
	int status; /* exit status as in a shell: 128 plus the number of a signal */
	bool quiet; /* the child's end is not to be reported */
};

struct children {
	struct child child[CHILDREN_MAX];
	unsigned count;
};

/* Which of its output is passed on; the rest is discarded. */
enum child_says { CHILD_SAYS_ERRORS, CHILD_SAYS_NOTHING };

/* args ends with NULL; args[0] is the path. */
PL_NODISCARD enum pl_code children_start(struct children *all, const char *name,
                                         const char *const *args, enum child_says says,
                                         struct child **out, struct pl_err *err);
/* Reaps the children that have ended and returns the first of them; NULL: none. */
struct child *children_ended(struct children *all);
/* Waits for the child to end; false: it has not ended in time. */
bool children_wait(struct child *child, uint64_t timeout_ms);
unsigned children_running(const struct children *all);
/* Sends SIGTERM, last child first; SIGKILL to a child that does not end in time. */
void children_stop(struct children *all, uint64_t timeout_ms);

#endif
