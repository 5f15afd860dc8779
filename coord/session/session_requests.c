/* The requests of the session, and what their answers mean to the core. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/session/session_impl.h"
#include "store/base/alloc.h"
#include "store/base/timestamp.h"

/* -- answers ----------------------------------------------------------------------- */

static void describe_other(struct session *s, const struct membership *other,
                           int64_t lease)
{
	char stamp[PL_TIMESTAMP_SIZE];

	(void)snprintf(s->other, sizeof s->other,
	               "host %.*s, pid %" PRId64 ", started %s, lease %" PRIx64,
	               other->host.len > 64 ? 64 : (int)other->host.len,
	               (const char *)other->host.at, other->pid,
	               pl_timestamp_print(other->started_ms, stamp), (uint64_t)lease);
}

static bool is_dead(const struct session *s, const struct membership *other)
{
	return s->pid_lives != NULL && s->self.boot.len != 0 && other->pid > 0 &&
	       pl_span_eq(s->self.boot, other->boot) &&
	       pl_span_eq(s->self.host, other->host) && !s->pid_lives(s->ctx, other->pid);
}

/* PL_NOMEM: the owner can not be found out. */
static enum pl_code find_owner(struct session *s, const struct kv_record *record,
                               enum session_owner *out)
{
	struct pl_arena arena;
	struct membership other;
	struct pl_err err;
	enum pl_code code;

	*out = SESSION_OURS;
	if (record->lease == s->core.lease)
		return PL_OK;
	pl_arena_init(&arena, 0, 0);
	code = membership_parse(s->self.id, record->value, &arena, &other, &err);
	if (code == PL_OK) {
		describe_other(s, &other, record->lease);
		*out = SESSION_ANOTHER;
		if (strcmp(other.instance, s->self.instance) == 0)
			*out = SESSION_OURS_OLD;
		else if (is_dead(s, &other))
			*out = SESSION_DEAD;
	} else if (code != PL_NOMEM) {
		(void)snprintf(s->other, sizeof s->other,
		               "a shard with a malformed record (%.80s), lease %" PRIx64,
		               err.msg, (uint64_t)record->lease);
		*out = SESSION_MALFORMED;
		code = PL_OK;
	}
	pl_arena_done(&arena);
	return code;
}

static void from_get(struct session *s, const struct kv_get_result *get,
                     struct session_event *event)
{
	const struct kv_record *record = get->records;

	event->type = SESSION_EV_ABSENT;
	if (get->count == 0)
		return;
	event->code = find_owner(s, record, &event->owner);
	event->type = event->code == PL_OK ? SESSION_EV_FOUND : SESSION_EV_FAILED;
	event->lease = record->lease;
	event->create_revision = record->create_revision;
	event->revision = record->mod_revision;
}

static void from_txn(struct session *s, const struct kv_result *result,
                     struct session_event *event)
{
	if (result->txn.succeeded) {
		event->type = SESSION_EV_PUT;
		event->revision = result->header.revision;
	} else if (result->txn.count == 1 && result->txn.results[0].op == KV_GET) {
		from_get(s, &result->txn.results[0].get, event);
	} else {
		event->code = PL_PROTO;
	}
}

static void from_result(struct session *s, const struct session_call *call,
                        const struct kv_result *result, struct session_event *event)
{
	switch (call->request) {
	case SESSION_REQUEST_CREATE:
	case SESSION_REQUEST_PUT:
		from_txn(s, result, event);
		break;
	case SESSION_REQUEST_READ:
		from_get(s, &result->get, event);
		break;
	case SESSION_REQUEST_TTL:
		event->type = SESSION_EV_TTL;
		event->left_s = result->lease.ttl_s;
		event->sent_ms = result->sent_ms < session_now(s) ? result->sent_ms
		                                                  : session_now(s);
		break;
	case SESSION_REQUEST_REVOKE:
		event->type = SESSION_EV_NOLEASE;
		break;
	case SESSION_REQUEST_NOTHING:
		PL_UNREACHABLE("no call");
	}
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct session_call *call = ctx;
	struct session *s = call->owner;
	struct session_event event = {.type = SESSION_EV_FAILED, .seq = call->seq};
	bool other = call->request == SESSION_REQUEST_TTL ||
	             call->request == SESSION_REQUEST_REVOKE;
	/* find_owner() compares with the present lease, which must still be that of the
	 * request */
	bool heard = !s->closing && call->seq == s->core.seq && s->core.lease != 0;

	if (heard && result != NULL)
		from_result(s, call, result, &event);
	else if (err != NULL)
		event.code = err->code;
	if (other && err != NULL && err->code == PL_NOLEASE)
		event.type = SESSION_EV_NOLEASE;
	if (heard && event.type == SESSION_EV_FAILED)
		pl_err_set(&s->err, event.code, "%s: %s", s->key.at,
		           err != NULL ? err->msg : pl_code_name(event.code));
	pl_list_del(&call->link);
	free(call);
	if (s->closing) {
		session_finish(s);
		return;
	}
	if (heard)
		session_feed(s, event);
	session_rearm(s);
}

/* -- requests ---------------------------------------------------------------------- */

static enum pl_code send_put(struct session *s, const struct session_action *action,
                             struct session_call *call)
{
	struct pl_span key = keys_span(&s->key);
	struct kv_compare as_seen[] = {kv_if_mod_rev(key, KV_EQ, action->revision),
	                               kv_if_lease(key, KV_EQ, action->seen_lease)};
	struct kv_compare absent = kv_if_absent(key);
	struct kv_req put = kv_op_put_leased(key, pl_buf_span(&s->record), action->lease);
	struct kv_req get = kv_op_get(kv_key(key));
	struct kv_txn txn = {.compares = as_seen,
	                     .compare_count = 2,
	                     .then = &put,
	                     .then_count = 1,
	                     .otherwise = &get,
	                     .otherwise_count = 1};

	if (action->request == SESSION_REQUEST_CREATE) {
		txn.compares = &absent;
		txn.compare_count = 1;
	}
	return kv_txn(s->kv, &txn, s->call_ms, on_done, call, &call->handle, &s->err);
}

static enum pl_code send_call(struct session *s, const struct session_action *action,
                              struct session_call *call)
{
	struct kv_get get = {.keys = kv_key(keys_span(&s->key))};
	struct kv_lease_req lease = {.id = action->lease};

	switch (action->request) {
	case SESSION_REQUEST_CREATE:
	case SESSION_REQUEST_PUT:
		return send_put(s, action, call);
	case SESSION_REQUEST_READ:
		return kv_get(s->kv, &get, s->call_ms, on_done, call, &call->handle,
		              &s->err);
	case SESSION_REQUEST_TTL:
		return kv_lease_ttl(s->kv, &lease, s->call_ms, on_done, call,
		                    &call->handle, &s->err);
	case SESSION_REQUEST_REVOKE:
		return kv_lease_revoke(s->kv, &lease, s->call_ms, on_done, call,
		                       &call->handle, &s->err);
	case SESSION_REQUEST_NOTHING:
		break;
	}
	PL_UNREACHABLE("nothing to ask");
}

void session_send(struct session *s, const struct session_action *action)
{
	struct session_call *call = pl_malloc(sizeof *call);
	enum pl_code code = PL_NOMEM;

	if (call != NULL) {
		*call = (struct session_call){
			.owner = s, .request = action->request, .seq = action->seq};
		code = send_call(s, action, call);
	} else {
		pl_err_set(&s->err, PL_NOMEM, "%s", s->key.at);
	}
	if (code == PL_OK) {
		pl_list_add_tail(&s->calls, &call->link);
		return;
	}
	free(call);
	s->start_failed = true;
	s->failure = (struct session_event){
		.type = SESSION_EV_FAILED, .seq = action->seq, .code = code};
}
