/* The machine that the process runs on, as a shard's record names it. */
#ifndef COORD_DAEMON_HOST_H
#define COORD_DAEMON_HOST_H

#include <stdbool.h>
#include <stdint.h>

enum { HOST_NAME_SIZE = 257, HOST_BOOT_SIZE = 96 };

struct host {
	char name[HOST_NAME_SIZE];
	/* Differs after each start of the kernel and in each process namespace; empty if
	 * it can not be found. */
	char boot[HOST_BOOT_SIZE];
	int64_t pid;
};

void host_read(struct host *host);

/* Whether another process with that number runs. True proves little, because the
 * number may have been given to another process since; false proves that the old one
 * is gone. Our own process does not count: ids are unique within a process, so a shard
 * that had our id under our process number is gone. */
bool host_pid_lives(int64_t pid);

#endif
