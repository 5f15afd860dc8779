/*
 * A shard's one lease, and its record under it: session_core with its requests
 * sent and its deadlines kept. See docs/coordination.md.
 *
 * Goes on for ever: after DOWN it grants another lease and registers again, until
 * it is closed, abandoned or refused.
 */
#ifndef COORD_SESSION_SESSION_H
#define COORD_SESSION_SESSION_H

#include "coord/membership/membership.h"
#include "store/kv/kv.h"

struct session;

enum session_what {
	SESSION_UP,      /* lease, safe_until_ms; again at each renewal */
	SESSION_DOUBT,   /* keep-alives fail, see err; still safe until safe_until_ms */
	SESSION_DOWN,    /* stop acting before this returns; err says why */
	SESSION_TROUBLE, /* err: not up yet, or something about the record failed; goes
	                  * on trying. The lease is not touched by that */
	SESSION_REFUSED, /* PL_EXISTS: the id is another's, who lives. Only close it */
	SESSION_CLOSED,  /* last; err NULL: the lease is revoked */
};

struct session_note {
	enum session_what what;
	int64_t lease;
	int64_t revision; /* UP: create revision of /shards/<id> */
	uint64_t safe_until_ms;
	const struct pl_err *err;
};

typedef void session_fn(void *ctx, const struct session_note *note);

struct session_opts {
	/* What the record says at first; copied. instance, id, host, pid, boot are
	 * for good. */
	const struct membership *self;
	int64_t ttl_s;
	uint64_t margin_ms;  /* 0: a tenth of the TTL */
	uint64_t refresh_ms; /* at most one slow refresh of the record in that time */
	uint64_t seed;
	/* Whether a process of this host and boot lives; NULL: nobody can tell. Asked
	 * for our own pid too: no, when no other shard of this process has our id.
	 * Called from inside; gets the ctx of the notes. */
	bool (*pid_lives)(void *ctx, int64_t pid);
};

/* Notes come later, never from inside a call of ours. */
PL_NODISCARD enum pl_code session_open(struct kv *kv, const struct session_opts *opts,
                                       session_fn *fn, void *ctx, struct session **out,
                                       struct pl_err *err);

/* The record as it should be from now on (copied); merged with what waits. A
 * change of state, partitions or refused configuration goes out at once (one put in
 * flight at a time), everything else with the next refresh. */
void session_publish(struct session *session, const struct membership *self);

/* Something may have happened to our record (a watch saw it go): it is looked at
 * now, and not when the next refresh is due. */
void session_look(struct session *session);

/* What may be acted on at this moment; 0: nothing. */
int64_t session_lease(const struct session *session);
uint64_t session_safe_until_ms(const struct session *session);

void session_refresh(struct session *session, uint64_t refresh_ms);

/* Revokes the lease, so that everything that hangs on it goes. CLOSED follows. */
void session_close(struct session *session);
/* As if the process had died: nothing is sent. CLOSED follows. */
void session_abandon(struct session *session);

#endif
