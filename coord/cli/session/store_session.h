/* A store session is the store for a command that does one thing after another: a
 * loop of its own, and calls that run it until their answer is there. */
#ifndef COORD_CLI_SESSION_STORE_SESSION_H
#define COORD_CLI_SESSION_STORE_SESSION_H

#include <stdbool.h>
#include <uv.h>

#include "store/base/arena.h"
#include "store/etcd/etcd.h"

enum { STORE_USER_SIZE = 128 };

struct store_session {
	uv_loop_t loop;
	struct kv *kv;
	struct pl_arena arena;      /* of the answers; the caller resets it */
	uint64_t timeout_ms;        /* of each request */
	char user[STORE_USER_SIZE]; /* "ann@host", noted in what is written */
};

PL_NODISCARD enum pl_code store_session_open(struct store_session *session,
                                             const struct etcd_opts *opts,
                                             uint64_t timeout_ms, struct pl_err *err);
void store_session_close(struct store_session *session);

/* result may be NULL. What it points to is in the session's arena. */
PL_NODISCARD enum pl_code store_session_call(struct store_session *session,
                                             const struct kv_req *req,
                                             struct kv_result *result,
                                             struct pl_err *err);

/* Runs the loop until *flag is true or the time is up (false). */
bool store_session_until(struct store_session *session, const bool *flag);

#endif
