/* The state that the cases of the takeover bench share. */
#ifndef BENCH_TAKEOVER_TAKEOVER_H
#define BENCH_TAKEOVER_TAKEOVER_H

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "bench/live/live.h"
#include "tests/support/coord/daemon/daemon_fixture.h"

enum {
	TAKEOVER_PROCESSES = 3,
	TAKEOVER_SHARDS = 8,
	TAKEOVER_WAIT_MAX_MS = 120000,
};

struct takeover {
	uint32_t partitions, ttl_s, rounds;
	uint32_t rest_ms;     /* without a move: settled */
	uint32_t nodes, pods; /* size of the load */
	const char *dir;
	struct live live;
	struct daemon_fixture_view view;
	struct daemon_fixture_process process[TAKEOVER_PROCESSES + 1];
};

extern const char *const takeover_names[TAKEOVER_PROCESSES + 1];

void takeover_emit(const struct takeover *t, const char *op, const char *metric,
                   double value, const char *unit);
/* Waits until all processes are active, all partitions owned, and none moved for a
 * while. */
void takeover_settle(struct takeover *t);
void takeover_start(struct takeover *t, unsigned which);

/* flow.c: pods while a process is killed; rounds of it. */
void takeover_flow(struct takeover *t);

#endif
