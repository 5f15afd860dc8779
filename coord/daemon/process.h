/*
 * The process: starts the workers, takes the signals, and ends when they have.
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

/* Comes back when all is over; except after a second signal, which ends it here. */
enum process_status process_run(const struct daemon_opts *opts);

#endif
