#include "coord/janitor/pin.h"

#include <stdlib.h>

#include "coord/janitor/pin_core.h"
#include "store/base/alloc.h"
#include "store/base/json_out.h"
#include "store/base/timestamp.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "store/kv/lease.h"

/*
 * The driver of pin_core: a lease, and one key under it. Revoking the lease deletes
 * the key, so there is no other delete; a put that arrives later finds no lease and
 * does nothing.
 */

enum { TTL_S = 15, CALL_TIMEOUT_MS = 3000, VALUE_MAX = 2048 };

struct pin {
	struct pin_core core;
	struct kv *kv;
	struct pl_timer timer;
	struct lease *lease; /* NULL: it has ended */
	struct kv_call *call;
	struct pl_err failure; /* of a put that could not be started */
	bool start_failed;
	bool releasing;
	enum pl_code release_code;
	const struct pl_err *err; /* of the event that is being fed */
	struct keys_text key;
	struct pl_buf value;
	pin_fn *fn;
	void *ctx;
};

static void rearm_timer(struct pin *pin)
{
	uint64_t at = pin_deadline_ms(&pin->core);

	if (pin->releasing)
		at = pin->lease == NULL && pin->call == NULL ? 0 : UINT64_MAX;
	else if (pin->start_failed)
		at = 0;
	if (at == UINT64_MAX)
		pl_timer_stop(&pin->timer);
	else
		pl_timer_set(&pin->timer, at != 0 ? at : kv_now_ms(pin->kv));
}

static void pin_finish(struct pin *pin)
{
	struct pl_err err;
	struct pin_note last = {.what = PIN_RELEASED};
	pin_fn *fn = pin->fn;
	void *ctx = pin->ctx;

	if (pin->release_code != PL_OK) {
		pl_err_set(&err, pin->release_code, "%s: not known to be revoked",
		           pin->key.at);
		last.err = &err;
	}
	pl_timer_done(&pin->timer);
	pl_buf_done(&pin->value);
	free(pin);
	fn(ctx, &last);
}

static void feed_event(struct pin *pin, struct pin_event event);

static void on_put(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pin *pin = ctx;
	struct pin_event event = {.type = PIN_EV_FAILED};
	const struct kv_get_result *get;

	pin->call = NULL;
	if (result == NULL) {
		event.code = err->code;
		pin->err = err;
	} else if (result->txn.succeeded) {
		event.type = PIN_EV_ANSWER;
		event.lease = pin->core.lease;
		event.create_revision = result->header.revision;
	} else {
		get = &result->txn.results[0].get;
		event.type = PIN_EV_ANSWER;
		event.lease = get->count == 0 ? 0 : get->records[0].lease;
		event.create_revision =
			get->count == 0 ? 0 : get->records[0].create_revision;
	}
	if (!pin->releasing)
		feed_event(pin, event);
	rearm_timer(pin);
}

static void put_key(struct pin *pin, int64_t lease)
{
	struct pl_span key = keys_span(&pin->key);
	struct kv_compare absent = kv_if_create_rev(key, KV_EQ, 0);
	struct kv_req op = kv_op_put_leased(key, pl_buf_span(&pin->value), lease);
	struct kv_req otherwise = kv_op_get(kv_key(key));
	struct kv_txn txn = {.compares = &absent,
	                     .compare_count = 1,
	                     .then = &op,
	                     .then_count = 1,
	                     .otherwise = &otherwise,
	                     .otherwise_count = 1};

	if (kv_txn(pin->kv, &txn, CALL_TIMEOUT_MS, on_put, pin, &pin->call,
	           &pin->failure) != PL_OK) {
		pin->call = NULL;
		pin->start_failed = true;
	}
}

static void report_note(struct pin *pin, enum pin_what what,
                        const struct pin_action *action)
{
	struct pin_note note = {
		.what = what, .revision = action->revision, .err = pin->err};
	struct pl_err own;

	if (what == PIN_HELD) {
		note.err = NULL;
	} else if (note.err == NULL) {
		pl_err_set(&own, action->code, "%s: %s", pin->key.at,
		           action->code == PL_EXISTS ? "another has that name"
		                                     : pl_code_name(action->code));
		note.err = &own;
	}
	pin->fn(pin->ctx, &note);
}

static void perform_action(struct pin *pin, const struct pin_action *action)
{
	switch (action->type) {
	case PIN_DO_PUT:
		put_key(pin, action->lease);
		break;
	case PIN_REPORT_HELD:
		report_note(pin, PIN_HELD, action);
		break;
	case PIN_REPORT_LOST:
		report_note(pin, PIN_LOST, action);
		break;
	case PIN_REPORT_TROUBLE:
		report_note(pin, PIN_TROUBLE, action);
		break;
	}
}

static void step_core(struct pin *pin, const struct pin_event *event)
{
	struct pin_actions actions;

	pin_step(&pin->core, event, &actions);
	for (unsigned i = 0; i < actions.count && !pin->releasing; i++)
		perform_action(pin, &actions.item[i]);
}

/* The clock is checked before anything else. */
static void feed_event(struct pin *pin, struct pin_event event)
{
	event.now_ms = kv_now_ms(pin->kv);
	if (event.type != PIN_EV_TIMEOUT && pin_deadline_ms(&pin->core) <= event.now_ms)
		step_core(pin, &(struct pin_event){.type = PIN_EV_TIMEOUT,
		                                   .now_ms = event.now_ms});
	step_core(pin, &event);
	pin->err = NULL;
}

static void on_lease(void *ctx, const struct lease_note *note)
{
	struct pin *pin = ctx;
	struct pin_event event = {.type = PIN_EV_GONE, .code = PL_NOLEASE};

	if (note->state == LEASE_RELEASED) {
		pin->lease = NULL;
		pin->release_code = note->code;
	} else if (note->state == LEASE_HELD) {
		event = (struct pin_event){.type = PIN_EV_LEASE, .lease = note->id};
	} else if (note->state == LEASE_GRANTING) {
		struct pin_action trouble = {.code = note->code};

		if (!pin->releasing)
			report_note(pin, PIN_TROUBLE, &trouble);
		return;
	} else if (note->state == LEASE_DOUBT) {
		return; /* the lease is still safe */
	}
	if (!pin->releasing)
		feed_event(pin, event);
	rearm_timer(pin);
}

static void on_timer(void *ctx)
{
	struct pin *pin = ctx;
	struct pin_event event = {.type = PIN_EV_TIMEOUT};

	if (pin->releasing) {
		pin_finish(pin);
		return;
	}
	if (pin->start_failed) {
		pin->start_failed = false;
		event = (struct pin_event){.type = PIN_EV_FAILED,
		                           .code = pin->failure.code};
		pin->err = &pin->failure;
	}
	feed_event(pin, event);
	rearm_timer(pin);
}

static enum pl_code print_value(const struct pin_opts *opts, struct pl_buf *out,
                                struct pl_err *err)
{
	struct pl_json_out json;
	char until[PL_TIMESTAMP_SIZE];
	enum pl_code code;

	pl_json_out_init(&json, out);
	pl_json_out_object(&json);
	pl_json_out_name(&json, "v");
	pl_json_out_int(&json, 1);
	pl_json_out_name(&json, "by");
	pl_json_out_string(&json, opts->by);
	pl_json_out_name(&json, "why");
	pl_json_out_string(&json, opts->why);
	pl_json_out_name(&json, "until");
	pl_json_out_str(&json, pl_timestamp_print(opts->until_wall_ms, until));
	pl_json_out_end(&json);
	code = pl_json_out_done(&json);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "pin");
}

static enum pl_code pin_init(struct pin *pin, const struct pin_opts *opts,
                             struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_PIN, .name = opts->name};
	struct lease_opts lease = {.ttl_s = TTL_S, .seed = opts->seed};
	enum pl_code code = keys_build(&id, &pin->key, err);

	if (code == PL_OK)
		code = print_value(opts, &pin->value, err);
	if (code == PL_OK &&
	    pl_timer_init(&pin->timer, kv_timers(pin->kv), on_timer, pin) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "pin");
	if (code == PL_OK)
		code = lease_open(pin->kv, &lease, on_lease, pin, &pin->lease, err);
	return code;
}

enum pl_code pin_open(struct kv *kv, const struct pin_opts *opts, pin_fn *fn, void *ctx,
                      struct pin **out, struct pl_err *err)
{
	struct pin *pin = pl_calloc(1, sizeof *pin);
	enum pl_code code;

	if (pin == NULL)
		return pl_err_set(err, PL_NOMEM, "pin");
	pin->kv = kv;
	pin->fn = fn;
	pin->ctx = ctx;
	pl_buf_init(&pin->value, VALUE_MAX);
	pin_core_init(&pin->core, opts->seed);
	code = pin_init(pin, opts, err);
	if (code != PL_OK) {
		pl_timer_done(&pin->timer);
		pl_buf_done(&pin->value);
		free(pin);
		return code;
	}
	*out = pin;
	return PL_OK;
}

void pin_release(struct pin *pin)
{
	if (pin->releasing)
		return;
	pin->releasing = true;
	if (pin->call != NULL)
		kv_cancel(pin->kv, pin->call);
	if (pin->lease != NULL)
		lease_release(pin->lease);
	rearm_timer(pin);
}
