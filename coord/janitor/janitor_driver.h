/* What the files of the janitor's driver share. */
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
	struct pl_err failure[JANITOR_PARTS]; /* of what could not be started */
	uint32_t failed_seq[JANITOR_PARTS];
	bool failed[JANITOR_PARTS];
	bool ending;
	uint64_t bytes; /* of the look that is under way */
	bool full;
	janitor_fn *fn;
	void *ctx;
	/* What the event brought that is being told. */
	const struct pl_err *err;
	const struct kv_record *pins;
};

/* janitor.c. The clock is heard before the event. */
void janitor_feed(struct janitor *j, struct janitor_event event);
void janitor_rearm(struct janitor *j);

/* janitor_calls.c */
void janitor_request(struct janitor *j, const struct janitor_action *action);
void janitor_cancel(struct janitor *j);
/* Feeds what could not even be started; false: there is nothing. */
bool janitor_failure(struct janitor *j);

#endif
