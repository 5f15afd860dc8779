/* Shared by the files of the session's driver. */
#ifndef COORD_SESSION_SESSION_IMPL_H
#define COORD_SESSION_SESSION_IMPL_H

#include "coord/session/session.h"
#include "coord/session/session_core.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "store/kv/lease.h"

enum { SESSION_OTHER_SIZE = 160 };

struct session_call {
	struct pl_list link;
	struct session *owner;
	struct kv_call *handle;
	enum session_request_kind request;
	uint32_t seq;
};

struct session {
	struct session_core core;
	struct kv *kv;
	struct lease *lease; /* NULL: it has ended */
	struct pl_timer timer;
	struct pl_list calls;
	session_fn *fn;
	void *ctx;
	bool (*pid_lives)(void *ctx, int64_t pid);
	uint64_t call_ms;
	struct pl_arena arena;  /* for the session's whole life */
	struct membership self; /* only the fields that never change */
	struct keys_text key;
	struct pl_buf record; /* the record to be put */
	struct pl_buf urgent; /* urgent part of the record, to find out its changes */
	/* Recorded for the timer: */
	bool publish_due, publish_urgent, look, retuned, start_failed, publish_failed;
	uint64_t refresh_ms;
	struct session_event failure;
	struct pl_err err; /* of the last request that failed */
	struct pl_err publish_err;
	char other[SESSION_OTHER_SIZE]; /* description of the shard that has the record */
	bool closing;
	enum pl_code end;
};

static inline uint64_t session_now(const struct session *s)
{
	return kv_now_ms(s->kv);
}

/* session.c */
void session_feed(struct session *s, struct session_event event);
void session_rearm(struct session *s);
/* Ends the session once nothing is in flight. The memory may be gone afterwards. */
void session_finish(struct session *s);

/* session_requests.c */
void session_send(struct session *s, const struct session_action *action);

/* session_report.c */
void session_report(struct session *s, const struct session_action *action,
                    enum session_what what);

#endif
