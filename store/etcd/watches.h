/* One watch, and what the files that keep watches have in common. */
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

/* -- watches.c ---------------------------------------------------------------- */

/* One reference less; the last one frees. */
void watch_free(struct kv_watch *watch);
void watch_note(struct kv_watch *watch, struct kv_watch_note note);

/* The last note comes later, on a stack of its own. Nothing comes before it. */
void watch_end_soon(struct kv_watch *watch, const struct pl_err *err);
void watches_end_all(struct client *client, const struct pl_err *err);

/* -- watch_send.c ------------------------------------------------------------- */

PL_NODISCARD enum pl_code watch_send_create(struct watches *watches,
                                            const struct kv_watch *watch,
                                            struct pl_err *err);
void watch_send_cancel(struct watches *watches, int64_t id);
void watches_send_progress(struct watches *watches);
/* It ends; the next one resumes what was on it. */
void watches_drop_stream(struct watches *watches);

/* -- watch_progress.c ----------------------------------------------------------- */

/* Everything up to revision has been delivered, or is about to be. */
void watch_advanced(struct kv_watch *watch, int64_t revision);
void watches_on_progress(struct client *client, int64_t revision);
void watches_on_progress_timer(void *ctx);
void watches_check_rewound(struct client *client, const struct kv_watch *watch);
void watches_ask_version(struct client *client, struct channel_conn *conn);

/* -- watch_stream.c --------------------------------------------------------------- */

/* Before the stream is opened again. */
void watches_on_timer(void *ctx);

#endif
