/* Internals of the watch: config_watch.c follows the keys and reports,
 * config_watch_read.c parses versions and reads those that did not come with current. */
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
	unsigned live; /* index of the arena that holds value; the other one holds the
	                * candidate */
	struct config_value value, candidate;
	struct pl_err why;     /* why the candidate, or current, is not valid */
	struct pl_err refused; /* as reported; PL_OK: the current version is applied */
	struct config_body_read *read;
	bool read_failed; /* the read could not even be started */
	struct pl_err failure;
};

struct config_watch {
	struct config_core core;
	struct kv *kv;
	struct relist *relist; /* NULL once it has stopped */
	struct pl_timer timer;
	struct pl_list reads;
	struct pl_arena scratch; /* for the value of current, with enough room: so a
	                          * want of memory is never taken for a value that does
	                          * not parse */
	struct config_slot slot[CONFIG_NAME_COUNT];
	const struct pl_err *lost;
	bool stopping;
	config_fn *fn;
	void *ctx;
};

void watch_feed(struct config_watch *w, struct config_event event);
void watch_rearm(struct config_watch *w);
/* Whether the watch is stopping and nothing is in flight: watch_finish() is due. */
bool watch_has_ended(const struct config_watch *w);
void watch_finish(struct config_watch *w);

/* Makes the body the candidate, or says why it is not valid. UNSEEN: there was no
 * memory to check it. */
enum config_body watch_body_look(struct config_watch *w, enum config_name name,
                                 uint64_t version, struct pl_span json);
enum config_body watch_body_absent(struct config_watch *w, enum config_name name,
                                   uint64_t version);
void watch_read(struct config_watch *w, enum config_name name, uint64_t version);
void watch_unread(struct config_watch *w, enum config_name name);

#endif
