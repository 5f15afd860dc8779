/*
 * A watch, and what the files of the watches share.
 *
 * Its place on the stream, its life, and the read for requested progress:
 *
 *   WAITING --creation sent--> CREATING --answered--> ACTIVE
 *      ^                          |                     |
 *      \--------------------------+---------------------/  stream lost or refused
 *
 *   OPEN --watch_end_soon()--> ENDING --the last note--> ENDED --refs 0--> freed
 *
 *   NONE --watches_progress()--> ASKED --watches_progress()--> REPEAT
 *     ^-----answered---------------/                            |  asked again
 *     \---------------------------------------------------------/
 *
 * Invariants: next_revision only grows; events below it are dropped, so no event is
 * delivered twice and none is missed. A watch on the creating list has a reference for
 * the answer. After watch_end_soon() only the last note comes.
 */
#ifndef STORE_ETCD_WATCHES_H
#define STORE_ETCD_WATCHES_H

#include "store/etcd/client.h"

enum watch_state { WATCH_WAITING, WATCH_CREATING, WATCH_ACTIVE };

enum watch_life {
	WATCH_OPEN,
	WATCH_ENDING, /* the last note is due */
	WATCH_ENDED,  /* the last note was delivered; an answer is still to come */
};
enum watch_target { WATCH_TARGET_NONE, WATCH_TARGET_ASKED, WATCH_TARGET_REPEAT };

struct kv_watch {
	struct client *client;
	enum watch_state state;
	/* one of the user until the end, one for a creation or a progress read under way
	 */
	unsigned refs;
	enum watch_life life;
	bool progress_due;
	enum watch_target target; /* the read that finds the progress to wait for */
	bool target_missed;       /* the read failed: the timer repeats it */
	struct pl_list at; /* in watches.waiting, in watches.creating, or in no list */
	struct pl_list in_all;
	struct pl_list in_bucket;
	struct kv_watch_req req;
	int64_t id;
	int64_t next_revision;   /* the first revision not seen; 0: from now on */
	int64_t progress_target; /* revision that progress was requested for; 0: none */
	int64_t compact_revision;
	struct pl_err err;
	struct pl_timer timer; /* delivers notes that must not come inside a call */
	kv_watch_fn *fn;
	void *ctx;
	uint8_t bytes[]; /* holds the keys of req */
};

/* -- watches.c ---------------------------------------------------------------- */

/* Drops a reference; the last one frees the watch. */
void watch_free(struct kv_watch *watch);
void watch_note(struct kv_watch *watch, struct kv_watch_note note);

/* Ends the watch: the last note comes from the loop, and no note comes before it. */
void watch_end_soon(struct kv_watch *watch, const struct pl_err *err);
void watches_end_all(struct client *client, const struct pl_err *err);

/* -- watch_send.c ------------------------------------------------------------- */

PL_NODISCARD enum pl_code watch_send_create(struct watches *watches,
                                            const struct kv_watch *watch,
                                            struct pl_err *err);
void watch_send_cancel(struct watches *watches, int64_t id);
void watches_send_progress(struct watches *watches);
/* Ends the stream; the next one resumes its watches. */
void watches_drop_stream(struct watches *watches);

/* -- watch_progress.c ----------------------------------------------------------- */

/* Everything up to revision has been delivered, or is about to be. */
void watch_advanced(struct kv_watch *watch, int64_t revision);
void watches_on_progress(struct client *client, int64_t revision);
void watches_on_progress_timer(void *ctx);
void watches_check_rewound(struct client *client, const struct kv_watch *watch);
void watches_ask_version(struct client *client, struct channel_conn *conn);

/* -- watch_stream.c --------------------------------------------------------------- */

/* Opens the stream again after a pause. */
void watches_on_timer(void *ctx);

#endif
