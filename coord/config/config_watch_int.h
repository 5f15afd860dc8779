/* Inside the watch: config_watch.c follows the keys and tells, watch_read.c looks at
 * versions and reads those that did not come with current. */
#ifndef COORD_CONFIG_CONFIG_WATCH_INT_H
#define COORD_CONFIG_CONFIG_WATCH_INT_H

#include "coord/config/config_core.h"
#include "coord/config/config_record.h"
#include "coord/config/config_watch.h"
#include "store/kv/relist.h"

struct config_body_read {
	struct pl_list link;
	struct config_watch *owner;
	enum config_name name;
	uint64_t version;
	struct kv_call *call;
	bool dropped;
};

struct config_slot {
	struct pl_arena arena[2];
	unsigned live; /* of them, what value is in; the other has the candidate */
	struct config_value value, candidate;
	struct pl_err why;     /* the candidate or current is no good */
	struct pl_err refused; /* told; PL_OK: current is applied */
	struct config_body_read *read;
	bool read_failed; /* could not even be started */
	struct pl_err failure;
};

struct config_watch {
	struct config_core core;
	struct kv *kv;
	struct relist *relist; /* NULL once it has stopped */
	struct pl_timer timer;
	struct pl_list reads;
	struct pl_arena scratch; /* for current, with its room: reading it can not fail
	                          * for want of memory, and be taken for garbage */
	struct config_slot slot[CONFIG_NAME_COUNT];
	const struct pl_err *lost;
	bool stopping;
	config_fn *fn;
	void *ctx;
};

void watch_feed(struct config_watch *w, struct config_event event);
void watch_rearm(struct config_watch *w);
/* Stopping, and nothing is in flight any more: finish is all that is left. */
bool watch_has_ended(const struct config_watch *w);
void watch_finish(struct config_watch *w);

/* Makes it the candidate, or says why not. UNSEEN: no memory to look at it. */
enum config_body watch_body_look(struct config_watch *w, enum config_name name,
                                 uint64_t version, struct pl_span json);
enum config_body watch_body_absent(struct config_watch *w, enum config_name name,
                                   uint64_t version);
void watch_read(struct config_watch *w, enum config_name name, uint64_t version);
void watch_unread(struct config_watch *w, enum config_name name);

#endif
