/*
 * The process: starts the workers, handles the signals, and ends when all workers have
 * ended.
 *
 *	RUNS -- first signal, or a shard failed --> STOPS -- all have ended --> its status
 *	STOPS -- second signal --> status 3, at once
 *	STOPS -- drain timeout --> everything is abandoned, status 1
 */
#ifndef COORD_DAEMON_PROCESS_H
#define COORD_DAEMON_PROCESS_H

#include "coord/daemon/options.h"

enum process_status {
	PROCESS_OK = 0,
	PROCESS_FAILED = 1,
	PROCESS_USAGE = 2,
	PROCESS_AT_ONCE = 3,
};

/* Returns when all workers have ended. After a second signal it does not return: the
 * process exits. */
enum process_status process_run(const struct daemon_opts *opts);

#endif
