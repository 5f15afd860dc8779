#include "coord/session/session.h"

#include <stdlib.h>

#include "coord/session/session_impl.h"
#include "store/base/alloc.h"

/*
 * The driver of session_core.
 *
 * Happy path: the lease is granted; one transaction creates the record under it; UP is
 * reported, and again at each renewal; puts of the record follow, one at a time.
 *
 * The core waits for one request at most; a request that it has given up is ignored.
 * Wishes of the user are recorded and performed from the timer, so a note may call any
 * function here. Closing listens to nothing more and waits for the end of the lease
 * and of the requests in flight.
 */

enum { CALL_MIN_MS = 500, CALL_MAX_MS = 5000, REFRESH_MS = 5000 };

void session_rearm(struct session *s)
{
	bool due = s->publish_due || s->look || s->retuned || s->start_failed ||
	           s->publish_failed;
	uint64_t at = due ? session_now(s) : session_deadline_ms(&s->core);

	if (s->closing || at == UINT64_MAX)
		pl_timer_stop(&s->timer);
	else
		pl_timer_set(&s->timer, at);
}

void session_finish(struct session *s)
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

static void perform_action(struct session *s, const struct session_action *action)
{
	switch (action->type) {
	case SESSION_DO_REQUEST:
		session_send(s, action);
		break;
	case SESSION_DO_AGAIN:
		lease_regrant(s->lease);
		break;
	case SESSION_DO_GIVE_UP:
		lease_give_up(s->lease);
		break;
	case SESSION_REPORT_UP:
		session_report(s, action, SESSION_UP);
		break;
	case SESSION_REPORT_DOUBT:
		session_report(s, action, SESSION_DOUBT);
		break;
	case SESSION_REPORT_DOWN:
		session_report(s, action, SESSION_DOWN);
		break;
	case SESSION_REPORT_TROUBLE:
		session_report(s, action, SESSION_TROUBLE);
		break;
	case SESSION_REPORT_REFUSED:
		session_report(s, action, SESSION_REFUSED);
		break;
	}
}

static void step_core(struct session *s, const struct session_event *event)
{
	struct session_actions actions;

	session_step(&s->core, event, &actions);
	for (unsigned i = 0; i < actions.count && !s->closing; i++)
		perform_action(s, &actions.item[i]);
}

/* The clock is checked before anything else. */
void session_feed(struct session *s, struct session_event event)
{
	uint64_t now = session_now(s);

	while (!s->closing && session_deadline_ms(&s->core) <= now)
		step_core(s, &(struct session_event){.type = SESSION_EV_TIMEOUT,
		                                     .now_ms = now});
	if (s->closing || event.type == SESSION_EV_TIMEOUT)
		return;
	event.now_ms = now;
	step_core(s, &event);
}

static bool take_flag(bool *flag)
{
	bool was = *flag;

	*flag = false;
	return was;
}

static void on_timer(void *ctx)
{
	struct session *s = ctx;
	struct session_event event = {.type = SESSION_EV_TIMEOUT};

	if (take_flag(&s->publish_failed)) {
		struct session_note note = {.what = SESSION_TROUBLE,
		                            .err = &s->publish_err};

		session_rearm(s);
		s->fn(s->ctx, &note);
		return;
	}
	if (take_flag(&s->start_failed)) {
		event = s->failure;
	} else if (take_flag(&s->publish_due)) {
		event.type = SESSION_EV_PUBLISH;
		event.urgent = take_flag(&s->publish_urgent);
	} else if (take_flag(&s->look)) {
		event.type = SESSION_EV_LOOK;
	} else if (take_flag(&s->retuned)) {
		event.type = SESSION_EV_REFRESH;
		event.refresh_ms = s->refresh_ms;
	}
	session_feed(s, event);
	session_rearm(s);
}

/* -- the lease --------------------------------------------------------------------- */

static void on_released(struct session *s, enum pl_code code)
{
	PL_ASSERT(s->closing);
	s->lease = NULL;
	s->end = code;
	session_finish(s);
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
	session_feed(s, event);
	session_rearm(s);
}

/* -- the record -------------------------------------------------------------------- */

static enum pl_code print_both(const struct session *s, const struct membership *given,
                               struct pl_buf *record, struct pl_buf *urgent,
                               struct pl_err *err)
{
	struct membership m = *given, now = {0};
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
			now.config[now.config_count++] = (struct membership_config){
				.name = m.config[i].name, .refused = m.config[i].refused};
	pl_buf_init(record, MEMBERSHIP_BYTES_MAX);
	pl_buf_init(urgent, MEMBERSHIP_BYTES_MAX);
	code = membership_print(&m, record, err);
	if (code == PL_OK)
		code = membership_print(&now, urgent, err);
	if (code != PL_OK) {
		pl_buf_done(record);
		pl_buf_done(urgent);
	}
	return code;
}

void session_publish(struct session *s, const struct membership *self)
{
	struct pl_buf record, urgent;

	if (s->closing)
		return;
	if (print_both(s, self, &record, &urgent, &s->publish_err) != PL_OK) {
		s->publish_failed = true;
		session_rearm(s);
		return;
	}
	if (!pl_span_eq(pl_buf_span(&record), pl_buf_span(&s->record)))
		s->publish_due = true;
	if (!pl_span_eq(pl_buf_span(&urgent), pl_buf_span(&s->urgent)))
		s->publish_urgent = true;
	pl_buf_done(&s->record);
	pl_buf_done(&s->urgent);
	s->record = record;
	s->urgent = urgent;
	session_rearm(s);
}

/* -- life -------------------------------------------------------------------------- */

static enum pl_code keep_self(struct session *s, const struct membership *self,
                              struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_SHARD, .name = self->id};
	enum pl_code code = keys_build(&id, &s->key, err);

	if (code != PL_OK)
		return code;
	pl_arena_init(&s->arena, 1024, 0);
	s->self = (struct membership){.pid = self->pid, .started_ms = self->started_ms};
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

static uint64_t clamp_ms(uint64_t ms, uint64_t low, uint64_t high)
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
	s->call_ms = clamp_ms((uint64_t)opts->ttl_s * 500, CALL_MIN_MS, CALL_MAX_MS);
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
	session_rearm(s);
}

void session_refresh(struct session *s, uint64_t refresh_ms)
{
	PL_ASSERT(refresh_ms > 0);
	s->retuned = true;
	s->refresh_ms = refresh_ms;
	session_rearm(s);
}

static void stop_listening(struct session *s)
{
	s->closing = true;
	pl_timer_stop(&s->timer);
	PL_LIST_EACH (link, &s->calls)
		kv_cancel(s->kv, PL_LIST_ITEM(link, struct session_call, link)->handle);
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
