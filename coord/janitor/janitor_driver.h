/* Shared by the files of the janitor's driver. */
#ifndef COORD_JANITOR_JANITOR_DRIVER_H
#define COORD_JANITOR_JANITOR_DRIVER_H

#include "coord/janitor/janitor.h"
#include "coord/janitor/janitor_core.h"
#include "coord/janitor/sweep_page.h"

enum janitor_part { JANITOR_COMPACTION, JANITOR_SWEEP, JANITOR_PARTS };

struct janitor {
	struct janitor_core core;
	struct sweep_page page;
	struct kv *kv;
	const struct elect *elect;
	struct pl_timer timer;
	struct pl_list calls;
	struct pl_err failure[JANITOR_PARTS]; /* of requests that could not be started */
	uint32_t failed_seq[JANITOR_PARTS];
	bool failed[JANITOR_PARTS];
	bool ending;
	uint64_t bytes; /* as the look in progress has found it */
	bool full;
	janitor_fn *fn;
	void *ctx;
	/* Data of the event that is being reported: */
	const struct pl_err *err;
	const struct kv_record *pins;
};

/* janitor.c. The clock is checked before the event. */
void janitor_feed(struct janitor *j, struct janitor_event event);
void janitor_rearm(struct janitor *j);

/* janitor_requests.c */
void janitor_request(struct janitor *j, const struct janitor_action *action);
void janitor_cancel(struct janitor *j);
/* Feeds the failure of a request that could not be started. False: there is none. */
bool janitor_failure(struct janitor *j);

#endif
