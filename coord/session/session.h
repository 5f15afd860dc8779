/*
 * The session: the one lease of a shard, and its record under that lease. The driver
 * of session_core; see docs/coordination.md.
 *
 * A session does not end by itself. After DOWN it gets another lease and registers
 * again, until it is closed, abandoned or refused.
 */
#ifndef COORD_SESSION_SESSION_H
#define COORD_SESSION_SESSION_H

#include "coord/membership/membership.h"
#include "store/kv/kv.h"

struct session;

enum session_what {
	SESSION_UP,      /* lease, safe_until_ms; again at each renewal */
	SESSION_DOUBT,   /* err: keep-alives fail; the lease is still safe until
	                  * safe_until_ms */
	SESSION_DOWN,    /* err: the reason; all acting has to stop before this returns */
	SESSION_TROUBLE, /* err: not up yet, or a request about the record failed; it
	                  * is tried again. The lease is not affected */
	SESSION_REFUSED, /* PL_EXISTS: a living shard has the id. The session can only
	                  * be closed */
	SESSION_CLOSED,  /* the last note; err NULL: the lease is revoked */
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
	/* The record at first; copied. instance, id, host, pid and boot never change. */
	const struct membership *self;
	int64_t ttl_s;
	uint64_t margin_ms;  /* 0: a tenth of the TTL */
	uint64_t refresh_ms; /* interval of refreshes of the record that are not urgent */
	uint64_t seed;
	/* Whether a process of this host and boot runs; NULL: that can not be found out.
	 * It is called for our own pid too, and is to say no if no other shard of this
	 * process has our id. Called from inside the session with the ctx of the notes.
	 */
	bool (*pid_lives)(void *ctx, int64_t pid);
};

/* Notes come later, never from inside a call of ours. */
PL_NODISCARD enum pl_code session_open(struct kv *kv, const struct session_opts *opts,
                                       session_fn *fn, void *ctx, struct session **out,
                                       struct pl_err *err);

/* Sets the record, which is copied, and replaces one that has not been sent yet. A
 * change of state, partitions or refused configuration is sent at once (one put at a
 * time), everything else with the next refresh. */
void session_publish(struct session *session, const struct membership *self);

/* Reads the record now, because a watch saw that something happened to it. */
void session_look(struct session *session);

/* The lease to act under at this moment; 0: none. */
int64_t session_lease(const struct session *session);
uint64_t session_safe_until_ms(const struct session *session);

void session_refresh(struct session *session, uint64_t refresh_ms);

/* Revokes the lease, and with it all keys under it. CLOSED follows. */
void session_close(struct session *session);
/* Sends nothing, as if the process had died. CLOSED follows. */
void session_abandon(struct session *session);

#endif
