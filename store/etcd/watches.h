/* One watch, as watches.c keeps it. */
#ifndef STORE_ETCD_WATCHES_H
#define STORE_ETCD_WATCHES_H

#include "store/etcd/client.h"

enum watch_state { WATCH_WAITING, WATCH_CREATING, WATCH_ACTIVE };

struct kv_watch {
	struct client *client;
	enum watch_state state;
	unsigned refs; /* the user's until the end, a read's that asks for progress */
	bool ending;   /* the last note is on its way */
	bool ended;    /* delivered; kept for an answer that is still to come */
	bool progress_due;
	bool target_asked;
	bool target_again; /* asked for anew while the read was under way */
	bool target_missed;
	struct pl_list at; /* in watches.waiting or .creating */
	struct pl_list in_all;
	struct pl_list in_bucket;
	struct kv_watch_req req;
	int64_t id;
	int64_t next_revision;   /* the first not seen; 0: from now on */
	int64_t progress_target; /* 0: nobody waits for progress */
	int64_t compact_revision;
	struct pl_err err;
	struct pl_timer timer; /* for notes that must not come inside a call */
	kv_watch_fn *fn;
	void *ctx;
	uint8_t bytes[]; /* the keys of req */
};

#endif
