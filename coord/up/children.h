/*
 * Processes of ours: started, watched, ended in order. They die with us, however we end
 * (the kernel tells them when the thread that started them is gone).
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
	int status; /* as of a shell: 128 and the signal's number for one */
	bool quiet; /* its end is nothing to speak of */
};

struct children {
	struct child child[CHILDREN_MAX];
	unsigned count;
};

/* What of its output is ours; the rest goes nowhere. */
enum child_says { CHILD_SAYS_ERRORS, CHILD_SAYS_NOTHING };

/* args ends with NULL; args[0] is the path. */
PL_NODISCARD enum pl_code children_start(struct children *all, const char *name,
                                         const char *const *args, enum child_says says,
                                         struct child **out, struct pl_err *err);
/* Takes note of those that have ended. The first that has just done so; NULL: none. */
struct child *children_ended(struct children *all);
/* Until it has ended; false: not within that time. */
bool children_wait(struct child *child, uint64_t timeout_ms);
unsigned children_running(const struct children *all);
/* SIGTERM, last first; SIGKILL for whoever does not end within that time. */
void children_stop(struct children *all, uint64_t timeout_ms);

#endif
