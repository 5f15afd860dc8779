#include "coord/session/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/session/session_core.h"
#include "store/base/alloc.h"
#include "store/base/stamp.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "store/kv/lease.h"

/*
 * Happy path: the lease is granted, one transaction creates the record under it,
 * the user hears UP and, at each renewal, UP again; puts of the record follow, one
 * at a time.
 *
 * The core has at most one request that counts; one that it has given up goes on to
 * its end unheard. What the user says is noted down and done from the timer, so that
 * a note may call anything here. Closing listens to nothing more: it waits for the
 * lease's end and for what is in flight, whichever comes last.
 */

enum { CALL_MIN_MS = 500, CALL_MAX_MS = 5000, OTHER_SIZE = 160, REFRESH_MS = 5000 };

struct call {
	struct pl_list link;
	struct session *owner;
	struct kv_call *handle;
	enum session_ask ask;
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
	struct pl_arena arena; /* of what is for good */
	struct member self;    /* only that */
	struct keys_text key;
	struct pl_buf record; /* as it should be */
	struct pl_buf urgent; /* the part of it that does not wait */
	/* Noted down for the timer. */
	bool said, said_urgent, look, retuned, start_failed, say_failed;
	uint64_t refresh_ms;
	struct session_event failure;
	struct pl_err err; /* of the last request that failed */
	struct pl_err say_err;
	char other[OTHER_SIZE]; /* who stands in our way */
	bool closing;
	enum pl_code end;
};

static uint64_t now_of(const struct session *s)
{
	return kv_now_ms(s->kv);
}

static void rearm(struct session *s)
{
	bool due = s->said || s->look || s->retuned || s->start_failed || s->say_failed;
	uint64_t at = due ? now_of(s) : session_deadline_ms(&s->core);

	if (s->closing || at == UINT64_MAX)
		pl_timer_stop(&s->timer);
	else
		pl_timer_set(&s->timer, at);
}

/* -- notes ---------------------------------------------------------------- */

static void explain_trouble(const struct session *s, const struct session_action *action,
                            struct pl_err *err)
{
	const char *id = (const char *)s->self.id.at;

	switch (action->why) {
	case SESSION_WHY_LEASE:
		pl_err_set(err, action->code, "lease of shard %s: %s", id,
		           pl_code_name(action->code));
		break;
	case SESSION_WHY_REQUEST:
		*err = s->err;
		break;
	case SESSION_WHY_REMOVED:
		pl_err_set(err, action->code,
		           "%s was removed although its lease lives; putting it again",
		           s->key.at);
		break;
	case SESSION_WHY_TAKEN:
		pl_err_set(err, action->code,
		           "shard id %s is taken by %s; watching whether it lives", id,
		           s->other);
		break;
	case SESSION_WHY_UNCERTAIN:
		pl_err_set(err, action->code,
		           "%s is of %s and has no lease, so it will not go by itself: "
		           "delete that key if that shard is gone",
		           s->key.at, s->other);
		break;
	}
}

static void explain_down(const struct session *s, enum pl_code code, struct pl_err *err)
{
	const char *id = (const char *)s->self.id.at;

	if (code == PL_EXISTS)
		pl_err_set(err, code, "shard id %s is now of %s", id, s->other);
	else if (code == PL_NOLEASE)
		pl_err_set(err, code, "shard %s: the store has ended its lease", id);
	else
		pl_err_set(err, code, "shard %s: its lease was not renewed in time", id);
}

static void tell(struct session *s, const struct session_action *action,
                 enum session_what what)
{
	struct session_note note = {.what = what, .lease = action->lease};
	struct pl_err err;

	note.err = &err;
	switch (what) {
	case SESSION_UP:
		note.err = NULL;
		note.revision = action->revision;
		note.safe_until_ms = action->until_ms;
		break;
	case SESSION_DOUBT:
		pl_err_set(&err, action->code,
		           "keep-alives of shard " PL_SPAN_FMT " fail",
		           PL_SPAN_ARG(s->self.id));
		note.safe_until_ms = action->until_ms;
		break;
	case SESSION_DOWN:
		explain_down(s, action->code, &err);
		break;
	case SESSION_TROUBLE:
		explain_trouble(s, action, &err);
		break;
	case SESSION_REFUSED:
		pl_err_set(&err, PL_EXISTS,
		           "shard id " PL_SPAN_FMT
		           " is in use: %s, which renews its lease",
		           PL_SPAN_ARG(s->self.id), s->other);
		break;
	case SESSION_CLOSED:
		PL_UNREACHABLE("told by finish");
	}
	s->fn(s->ctx, &note);
}

static void finish(struct session *s)
{
	struct session_note note = {.what = SESSION_CLOSED};
	session_fn *fn = s->fn;
	void *ctx = s->ctx;
	struct pl_err err;

	if (s->lease != NULL || !pl_list_empty(&s->calls))
		return;
	if (s->end != PL_OK) {
		pl_err_set(&err, s->end, "lease of shard " PL_SPAN_FMT " is left behind",
		           PL_SPAN_ARG(s->self.id));
		note.err = &err;
	}
	pl_timer_done(&s->timer);
	pl_buf_done(&s->record);
	pl_buf_done(&s->urgent);
	pl_arena_done(&s->arena);
	free(s);
	fn(ctx, &note);
}

/* -- answers -------------------------------------------------------------- */

static void describe(struct session *s, const struct member *other, int64_t lease)
{
	char stamp[PL_STAMP_SIZE];

	(void)snprintf(s->other, sizeof s->other,
	               "host %.*s, pid %" PRId64 ", started %s, lease %" PRIx64,
	               other->host.len > 64 ? 64 : (int)other->host.len,
	               (const char *)other->host.at, other->pid,
	               pl_stamp_print(other->started_ms, stamp), (uint64_t)lease);
}

static bool is_dead(const struct session *s, const struct member *other)
{
	return s->pid_lives != NULL && s->self.boot.len != 0 && other->pid > 0 &&
	       pl_span_eq(s->self.boot, other->boot) &&
	       pl_span_eq(s->self.host, other->host) && !s->pid_lives(s->ctx, other->pid);
}

/* PL_NOMEM: nobody can say. */
static enum pl_code whose(struct session *s, const struct kv_record *record,
                          enum session_owner *out)
{
	struct pl_arena arena;
	struct member other;
	struct pl_err err;
	enum pl_code code;

	*out = SESSION_OURS;
	if (record->lease == s->core.lease)
		return PL_OK;
	pl_arena_init(&arena, 0, 0);
	code = member_parse(s->self.id, record->value, &arena, &other, &err);
	if (code == PL_OK) {
		describe(s, &other, record->lease);
		*out = SESSION_ANOTHER;
		if (strcmp(other.instance, s->self.instance) == 0)
			*out = SESSION_OURS_OLD;
		else if (is_dead(s, &other))
			*out = SESSION_DEAD;
	} else if (code != PL_NOMEM) {
		(void)snprintf(s->other, sizeof s->other,
		               "somebody whose record is garbled (%.80s), lease %" PRIx64,
		               err.msg, (uint64_t)record->lease);
		*out = SESSION_GARBLED;
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
	event->code = whose(s, record, &event->owner);
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

static void from_result(struct session *s, const struct call *call,
                        const struct kv_result *result, struct session_event *event)
{
	switch (call->ask) {
	case SESSION_ASK_CREATE:
	case SESSION_ASK_PUT:
		from_txn(s, result, event);
		break;
	case SESSION_ASK_READ:
		from_get(s, &result->get, event);
		break;
	case SESSION_ASK_TTL:
		event->type = SESSION_EV_TTL;
		event->left_s = result->lease.ttl_s;
		event->sent_ms =
			result->sent_ms < now_of(s) ? result->sent_ms : now_of(s);
		break;
	case SESSION_ASK_REVOKE:
		event->type = SESSION_EV_NOLEASE;
		break;
	case SESSION_ASK_NOTHING:
		PL_UNREACHABLE("no call");
	}
}

static void feed(struct session *s, struct session_event event);

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct call *call = ctx;
	struct session *s = call->owner;
	struct session_event event = {.type = SESSION_EV_FAILED, .seq = call->seq};
	bool other = call->ask == SESSION_ASK_TTL || call->ask == SESSION_ASK_REVOKE;
	/* whose() compares with a lease that only then is the one of the question */
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
		finish(s);
		return;
	}
	if (heard)
		feed(s, event);
	rearm(s);
}

/* -- requests ------------------------------------------------------------- */

static enum pl_code send_put(struct session *s, const struct session_action *action,
                             struct call *call)
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

	if (action->ask == SESSION_ASK_CREATE) {
		txn.compares = &absent;
		txn.compare_count = 1;
	}
	return kv_txn(s->kv, &txn, s->call_ms, on_done, call, &call->handle, &s->err);
}

static enum pl_code send_call(struct session *s, const struct session_action *action,
                              struct call *call)
{
	struct kv_get get = {.keys = kv_key(keys_span(&s->key))};
	struct kv_lease_req lease = {.id = action->lease};

	switch (action->ask) {
	case SESSION_ASK_CREATE:
	case SESSION_ASK_PUT:
		return send_put(s, action, call);
	case SESSION_ASK_READ:
		return kv_get(s->kv, &get, s->call_ms, on_done, call, &call->handle,
		              &s->err);
	case SESSION_ASK_TTL:
		return kv_lease_ttl(s->kv, &lease, s->call_ms, on_done, call,
		                    &call->handle, &s->err);
	case SESSION_ASK_REVOKE:
		return kv_lease_revoke(s->kv, &lease, s->call_ms, on_done, call,
		                       &call->handle, &s->err);
	case SESSION_ASK_NOTHING:
		break;
	}
	PL_UNREACHABLE("nothing to ask");
}

static void ask(struct session *s, const struct session_action *action)
{
	struct call *call = pl_malloc(sizeof *call);
	enum pl_code code = PL_NOMEM;

	if (call != NULL) {
		*call = (struct call){.owner = s, .ask = action->ask, .seq = action->seq};
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

static void perform(struct session *s, const struct session_action *action)
{
	switch (action->type) {
	case SESSION_DO_ASK:
		ask(s, action);
		break;
	case SESSION_DO_AGAIN:
		lease_again(s->lease);
		break;
	case SESSION_TELL_UP:
		tell(s, action, SESSION_UP);
		break;
	case SESSION_TELL_DOUBT:
		tell(s, action, SESSION_DOUBT);
		break;
	case SESSION_TELL_DOWN:
		tell(s, action, SESSION_DOWN);
		break;
	case SESSION_TELL_TROUBLE:
		tell(s, action, SESSION_TROUBLE);
		break;
	case SESSION_TELL_REFUSED:
		tell(s, action, SESSION_REFUSED);
		break;
	}
}

static void step(struct session *s, const struct session_event *event)
{
	struct session_actions actions;

	session_step(&s->core, event, &actions);
	for (unsigned i = 0; i < actions.count && !s->closing; i++)
		perform(s, &actions.item[i]);
}

/* The clock is heard before anything else. */
static void feed(struct session *s, struct session_event event)
{
	uint64_t now = now_of(s);

	while (!s->closing && session_deadline_ms(&s->core) <= now)
		step(s,
		     &(struct session_event){.type = SESSION_EV_TIMEOUT, .now_ms = now});
	if (s->closing || event.type == SESSION_EV_TIMEOUT)
		return;
	event.now_ms = now;
	step(s, &event);
}

static bool take(bool *flag)
{
	bool was = *flag;

	*flag = false;
	return was;
}

static void on_timer(void *ctx)
{
	struct session *s = ctx;
	struct session_event event = {.type = SESSION_EV_TIMEOUT};

	if (take(&s->say_failed)) {
		struct session_note note = {.what = SESSION_TROUBLE, .err = &s->say_err};

		rearm(s);
		s->fn(s->ctx, &note);
		return;
	}
	if (take(&s->start_failed)) {
		event = s->failure;
	} else if (take(&s->said)) {
		event.type = SESSION_EV_SAY;
		event.urgent = take(&s->said_urgent);
	} else if (take(&s->look)) {
		event.type = SESSION_EV_LOOK;
	} else if (take(&s->retuned)) {
		event.type = SESSION_EV_REFRESH;
		event.refresh_ms = s->refresh_ms;
	}
	feed(s, event);
	rearm(s);
}

/* -- the lease ------------------------------------------------------------ */

static void on_released(struct session *s, enum pl_code code)
{
	PL_ASSERT(s->closing);
	s->lease = NULL;
	s->end = code;
	finish(s);
}

static void on_lease(void *ctx, const struct lease_note *note)
{
	static const enum session_event_type types[] = {
		[LEASE_GRANTING] = SESSION_EV_LEASE_TROUBLE,
		[LEASE_HELD] = SESSION_EV_HELD,
		[LEASE_DOUBT] = SESSION_EV_DOUBT,
		[LEASE_EXPIRED] = SESSION_EV_LEASE_GONE,
		[LEASE_LOST] = SESSION_EV_LEASE_GONE,
	};
	struct session *s = ctx;
	struct session_event event = {
		.lease = note->id, .until_ms = note->safe_until_ms, .code = note->code};

	if (note->state == LEASE_RELEASED) {
		on_released(s, note->code);
		return;
	}
	if (s->closing)
		return;
	event.type = types[note->state];
	if (note->state == LEASE_EXPIRED)
		event.code = PL_TIMEOUT;
	if (note->state == LEASE_LOST)
		event.code = PL_NOLEASE;
	feed(s, event);
	rearm(s);
}

/* -- what the record says ------------------------------------------------- */

static enum pl_code print_both(const struct session *s, const struct member *said,
                               struct pl_buf *record, struct pl_buf *urgent,
                               struct pl_err *err)
{
	struct member m = *said, now = {0};
	enum pl_code code;

	m.id = now.id = s->self.id;
	m.host = s->self.host;
	m.boot = s->self.boot;
	m.pid = s->self.pid;
	m.started_ms = s->self.started_ms;
	memcpy(m.instance, s->self.instance, sizeof m.instance);
	memcpy(now.instance, s->self.instance, sizeof now.instance);
	now.weight = 1;
	now.state = m.state;
	now.partitions = m.partitions;
	now.partition_count = m.partition_count;
	for (uint32_t i = 0; i < m.config_count; i++)
		if (m.config[i].refused.len != 0)
			now.config[now.config_count++] = (struct member_config){
				.name = m.config[i].name, .refused = m.config[i].refused};
	pl_buf_init(record, MEMBER_BYTES_MAX);
	pl_buf_init(urgent, MEMBER_BYTES_MAX);
	code = member_print(&m, record, err);
	if (code == PL_OK)
		code = member_print(&now, urgent, err);
	if (code != PL_OK) {
		pl_buf_done(record);
		pl_buf_done(urgent);
	}
	return code;
}

void session_say(struct session *s, const struct member *self)
{
	struct pl_buf record, urgent;

	if (s->closing)
		return;
	if (print_both(s, self, &record, &urgent, &s->say_err) != PL_OK) {
		s->say_failed = true;
		rearm(s);
		return;
	}
	if (!pl_span_eq(pl_buf_span(&record), pl_buf_span(&s->record)))
		s->said = true;
	if (!pl_span_eq(pl_buf_span(&urgent), pl_buf_span(&s->urgent)))
		s->said_urgent = true;
	pl_buf_done(&s->record);
	pl_buf_done(&s->urgent);
	s->record = record;
	s->urgent = urgent;
	rearm(s);
}

/* -- life ----------------------------------------------------------------- */

static enum pl_code keep_self(struct session *s, const struct member *self,
                              struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_SHARD, .name = self->id};
	enum pl_code code = keys_build(&id, &s->key, err);

	if (code != PL_OK)
		return code;
	pl_arena_init(&s->arena, 1024, 0);
	s->self = (struct member){.pid = self->pid, .started_ms = self->started_ms};
	memcpy(s->self.instance, self->instance, sizeof s->self.instance);
	s->self.id = pl_arena_dup(&s->arena, self->id);
	s->self.host = pl_arena_dup(&s->arena, self->host);
	s->self.boot = pl_arena_dup(&s->arena, self->boot);
	if (s->self.id.at == NULL || (self->host.len != 0 && s->self.host.at == NULL) ||
	    (self->boot.len != 0 && s->self.boot.at == NULL))
		return pl_err_set(err, PL_NOMEM, "session");
	return print_both(s, self, &s->record, &s->urgent, err);
}

static void session_free(struct session *s)
{
	pl_timer_done(&s->timer);
	pl_buf_done(&s->record);
	pl_buf_done(&s->urgent);
	pl_arena_done(&s->arena);
	free(s);
}

static uint64_t within(uint64_t ms, uint64_t low, uint64_t high)
{
	return ms < low ? low : ms > high ? high : ms;
}

enum pl_code session_open(struct kv *kv, const struct session_opts *opts, session_fn *fn,
                          void *ctx, struct session **out, struct pl_err *err)
{
	struct session *s = pl_calloc(1, sizeof *s);
	struct lease_opts lease = {
		.ttl_s = opts->ttl_s, .margin_ms = opts->margin_ms, .seed = opts->seed};
	uint64_t refresh_ms = opts->refresh_ms == 0 ? REFRESH_MS : opts->refresh_ms;
	enum pl_code code;

	if (s == NULL)
		return pl_err_set(err, PL_NOMEM, "session");
	s->kv = kv;
	s->fn = fn;
	s->ctx = ctx;
	s->pid_lives = opts->pid_lives;
	pl_list_init(&s->calls);
	code = keep_self(s, opts->self, err);
	if (code == PL_OK &&
	    pl_timer_init(&s->timer, kv_timers(kv), on_timer, s) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "session");
	if (code == PL_OK)
		code = lease_open(kv, &lease, on_lease, s, &s->lease, err);
	if (code != PL_OK) {
		session_free(s);
		return code;
	}
	s->call_ms = within((uint64_t)opts->ttl_s * 500, CALL_MIN_MS, CALL_MAX_MS);
	session_core_init(&s->core, (uint64_t)opts->ttl_s * 1000, refresh_ms,
	                  opts->seed != 0 ? opts->seed + 1 : pl_rng_seed_random());
	*out = s;
	return PL_OK;
}

int64_t session_lease(const struct session *s)
{
	return s->closing || !s->core.up ? 0 : lease_id(s->lease);
}

uint64_t session_safe_until_ms(const struct session *s)
{
	return s->closing || !s->core.up ? 0 : lease_safe_until_ms(s->lease);
}

void session_look(struct session *s)
{
	s->look = true;
	rearm(s);
}

void session_refresh(struct session *s, uint64_t refresh_ms)
{
	PL_ASSERT(refresh_ms > 0);
	s->retuned = true;
	s->refresh_ms = refresh_ms;
	rearm(s);
}

static void stop_listening(struct session *s)
{
	s->closing = true;
	pl_timer_stop(&s->timer);
	PL_LIST_EACH (link, &s->calls)
		kv_cancel(s->kv, PL_LIST_ITEM(link, struct call, link)->handle);
}

void session_close(struct session *s)
{
	if (s->closing)
		return;
	stop_listening(s);
	lease_release(s->lease);
}

void session_abandon(struct session *s)
{
	if (!s->closing)
		stop_listening(s);
	if (s->lease != NULL)
		lease_abandon(s->lease);
}
