/* This machine, as a shard's record tells of it. */
#ifndef COORD_DAEMON_HOST_H
#define COORD_DAEMON_HOST_H

#include <stdbool.h>
#include <stdint.h>

enum { HOST_NAME_SIZE = 257, HOST_BOOT_SIZE = 96 };

struct host {
	char name[HOST_NAME_SIZE];
	/* Another after each start of the kernel, and in each namespace of process
	 * numbers; or empty. */
	char boot[HOST_BOOT_SIZE];
	int64_t pid;
};

void host_read(struct host *host);

/* Whether another process with that number is there. It may be one that has got the
 * number since, so true says less than false. Our own is not another: ids are unique
 * within a process, so who had ours under our number is gone. */
bool host_pid_lives(int64_t pid);

#endif
