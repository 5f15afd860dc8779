/*
 * The process as its API shows it: the health of its shards and loops,
 * the options in force, its status. Called on the API's thread; reads only what the
 * workers show in atomics.
 */
#ifndef COORD_DAEMON_TELL_H
#define COORD_DAEMON_TELL_H

#include "coord/api/server/api_server.h"
#include "coord/daemon/worker.h"

struct tell {
	const struct daemon_opts *opts;
	struct worker *worker;
	unsigned count;
	int64_t since_ms; /* wall time of the start */
	struct health_check *check;
};

/* The workers' ids are set. */
PL_NODISCARD enum pl_code tell_init(struct tell *tell, const struct daemon_opts *opts,
                                    struct worker *workers, unsigned count,
                                    struct pl_err *err);
void tell_done(struct tell *tell);
/* Valid until tell_done. */
struct api_server_process tell_process(struct tell *tell);

#endif
