#include "coord/janitor/janitor.h"

#include <stdlib.h>

#include "coord/janitor/janitor_driver.h"
#include "store/base/alloc.h"

void janitor_rearm(struct janitor *j)
{
	uint64_t now = kv_now_ms(j->kv), at = janitor_deadline_ms(&j->core);

	if (j->ending)
		at = pl_list_empty(&j->calls) ? now : UINT64_MAX;
	else if (j->failed[JANITOR_COMPACTION] || j->failed[JANITOR_SWEEP])
		at = now;
	if (at == UINT64_MAX)
		pl_timer_stop(&j->timer);
	else
		pl_timer_set(&j->timer, at);
}

static void janitor_finish(struct janitor *j)
{
	static const struct janitor_note stopped = {.what = JANITOR_STOPPED};
	janitor_fn *fn = j->fn;
	void *ctx = j->ctx;

	pl_timer_done(&j->timer);
	sweep_page_done(&j->page);
	free(j);
	fn(ctx, &stopped);
}

static void report_note(struct janitor *j, enum janitor_what what, int64_t revision,
                        struct pl_span key, const struct pl_err *err)
{
	struct janitor_note note = {
		.what = what, .revision = revision, .key = key, .err = err};

	j->fn(j->ctx, &note);
}

static void report_removed(struct janitor *j, const struct janitor_action *action)
{
	static const struct {
		enum pl_code code;
		const char *text;
	} whys[] = {
		[JANITOR_NO_LEASE] = {PL_NOLEASE, "has no lease, so no shard holds it"},
		[JANITOR_NO_SHARD] = {PL_NOTFOUND, "its shard is gone"},
		[JANITOR_OLD_VERSION] = {PL_LIMIT, "beyond the history that is kept"},
	};
	struct keys_text key = j->page.keys[action->item];
	struct pl_err why;

	pl_err_set(&why, whys[action->why].code, "%s", whys[action->why].text);
	report_note(j, JANITOR_REMOVED, 0, keys_span(&key), &why);
}

static void report_trouble(struct janitor *j, enum pl_code code)
{
	struct pl_err err = {.code = code, .cause = code};

	if (j->err != NULL && j->err->code == code)
		err = *j->err;
	else
		pl_err_set(&err, code, "janitor: %s", pl_code_name(code));
	report_note(j, JANITOR_TROUBLE, 0, pl_span(NULL, 0), &err);
}

static void report_too_many_pins(struct janitor *j)
{
	struct pl_err err;

	pl_err_set(&err, PL_LIMIT, "more than %d pins: nothing is compacted",
	           JANITOR_PINS_MAX);
	report_note(j, JANITOR_TROUBLE, 0, pl_span(NULL, 0), &err);
}

static void perform_action(struct janitor *j, const struct janitor_action *action)
{
	switch (action->type) {
	case JANITOR_DO_LOOK:
	case JANITOR_DO_COMPACT:
	case JANITOR_DO_PAGE:
	case JANITOR_DO_REMOVE:
		janitor_request(j, action);
		break;
	case JANITOR_REPORT_COMPACTED:
		report_note(j, JANITOR_COMPACTED, action->revision, pl_span(NULL, 0),
		            NULL);
		break;
	case JANITOR_REPORT_HELD:
		report_note(j, JANITOR_HELD, action->revision, j->pins[action->item].key,
		            NULL);
		break;
	case JANITOR_REPORT_TOO_MANY_PINS:
		report_too_many_pins(j);
		break;
	case JANITOR_REPORT_REMOVED:
		report_removed(j, action);
		break;
	case JANITOR_REPORT_TROUBLE:
		report_trouble(j, action->code);
		break;
	}
}

static void step_core(struct janitor *j, const struct janitor_event *event)
{
	struct janitor_actions actions;

	janitor_step(&j->core, event, &actions);
	for (unsigned i = 0; i < actions.count && !j->ending; i++)
		perform_action(j, &actions.item[i]);
}

/* The clock is checked before anything else. */
void janitor_feed(struct janitor *j, struct janitor_event event)
{
	uint64_t now = kv_now_ms(j->kv);

	event.now_ms = now;
	if (event.type != JANITOR_EV_TIMEOUT && janitor_deadline_ms(&j->core) <= now)
		step_core(j, &(struct janitor_event){.type = JANITOR_EV_TIMEOUT,
		                                     .now_ms = now});
	if (!j->ending)
		step_core(j, &event);
	j->err = NULL;
	j->pins = NULL;
}

static void on_timer(void *ctx)
{
	struct janitor *j = ctx;

	if (j->ending) {
		janitor_finish(j);
		return;
	}
	if (!janitor_failure(j))
		janitor_feed(j, (struct janitor_event){.type = JANITOR_EV_TIMEOUT});
	janitor_rearm(j);
}

static struct janitor_tune tune_of(const struct config_coord *coord)
{
	return (struct janitor_tune){.enabled = coord->janitor.enabled,
	                             .interval_ms = coord->janitor.interval_ms,
	                             .keep_revisions = coord->janitor.keep_revisions,
	                             .history_bytes = coord->janitor.history_bytes,
	                             .pin_max_ms = coord->janitor.pin_max_ms,
	                             .config_history = coord->janitor.config_history};
}

enum pl_code janitor_open(struct kv *kv, const struct elect *elect, uint64_t seed,
                          janitor_fn *fn, void *ctx, struct janitor **out,
                          struct pl_err *err)
{
	struct janitor *j = pl_calloc(1, sizeof *j);
	struct config_value value;
	struct janitor_tune tune;

	if (j == NULL)
		return pl_err_set(err, PL_NOMEM, "janitor");
	if (pl_timer_init(&j->timer, kv_timers(kv), on_timer, j) != PL_OK) {
		free(j);
		return pl_err_set(err, PL_NOMEM, "janitor");
	}
	config_default(CONFIG_COORD, &value);
	tune = tune_of(&value.coord);
	janitor_core_init(&j->core, &tune, CONFIG_NAME_COUNT, seed);
	sweep_page_init(&j->page);
	pl_list_init(&j->calls);
	j->kv = kv;
	j->elect = elect;
	j->fn = fn;
	j->ctx = ctx;
	*out = j;
	return PL_OK;
}

/* Feeds a change by the user. Nothing is reported from inside the call; what follows
 * waits for the timer. */
static void feed_change(struct janitor *j, struct janitor_event event)
{
	if (j->ending)
		return;
	janitor_feed(j, event);
	janitor_rearm(j);
}

void janitor_config(struct janitor *j, const struct config_coord *coord)
{
	feed_change(j, (struct janitor_event){.type = JANITOR_EV_TUNE,
	                                      .tune = tune_of(coord)});
}

void janitor_lead(struct janitor *j, bool leading)
{
	feed_change(j,
	            (struct janitor_event){.type = JANITOR_EV_LEAD, .leading = leading});
}

void janitor_rewound(struct janitor *j)
{
	feed_change(j, (struct janitor_event){.type = JANITOR_EV_REWOUND});
}

void janitor_stop(struct janitor *j)
{
	if (j->ending)
		return;
	j->ending = true;
	janitor_cancel(j);
	janitor_rearm(j);
}
