#include "coord/balance/balance.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/balance/balance_input.h"
#include "coord/config/config_edit.h"
#include "store/base/alloc.h"

/*
 * The driver of the balancer.
 *
 * Happy path: the timer samples the roster, runs rounds of the search, then starts one
 * edit of the configuration. The edit carries the leader's compares and the version
 * that the search began from. If anything of that changed meanwhile the edit fails and
 * the core samples again.
 *
 * Functions that are called from a note or from the user only record what is wanted.
 * Troubles are reported from the timer, on a fresh stack.
 */

enum { TABLE_BYTES_MAX = 1 << 20, WHY_SIZE = 96, EDIT_TIMEOUT_MS = 10000 };

struct balance_settings {
	struct pl_arena arena;
	struct config_shards shards;
	struct config_weights weights;
};

struct balance {
	struct balance_core core;
	struct kv *kv;
	struct pl_timer timer;
	balance_fn *fn;
	void *ctx;
	struct balance_opts opts; /* id points to the end of this allocation */
	struct pl_hash_key chance;
	double *smoothed;
	uint16_t *before;
	struct balance_input input;
	struct balance_settings settings;
	uint64_t version; /* version of the applied table of weights */
	struct config_edit *edit;
	struct kv_compare guard[ELECT_COMPARES];
	struct balance_action writing;
	bool stopping;
	bool trouble_due;
	struct pl_err trouble;
};

static uint64_t now_of(const struct balance *b)
{
	return kv_now_ms(b->kv);
}

static void rearm_timer(struct balance *b)
{
	uint64_t at = balance_deadline_ms(&b->core);

	if (b->trouble_due)
		at = now_of(b);
	if (b->stopping)
		at = b->edit == NULL ? now_of(b) : UINT64_MAX;
	if (at == UINT64_MAX)
		pl_timer_stop(&b->timer);
	else
		pl_timer_set(&b->timer, at);
}

static void balance_free(struct balance *b)
{
	pl_timer_done(&b->timer);
	pl_arena_done(&b->settings.arena);
	free(b->smoothed);
	free(b->before);
	free(b);
}

static void balance_finish(struct balance *b)
{
	static const struct balance_note stopped = {.what = BALANCE_STOPPED};
	balance_fn *fn = b->fn;
	void *ctx = b->ctx;

	balance_input_done(&b->input);
	balance_free(b);
	fn(ctx, &stopped);
}

static void note_trouble(struct balance *b, const struct pl_err *err)
{
	b->trouble = *err;
	b->trouble_due = true;
}

static struct balance_event sample_input(struct balance *b)
{
	struct balance_event event = {.type = BALANCE_EV_NO_VIEW};
	struct pl_err err;

	if (roster_synced(b->opts.roster)) {
		if (balance_input_look(&b->input, b->opts.roster, &b->settings.shards,
		                       &b->settings.weights, now_of(b), &event.view,
		                       &err) == PL_OK)
			event.type = BALANCE_EV_VIEW;
		else
			note_trouble(b, &err);
	}
	return event;
}

static int factor_cmp(const void *a, const void *b)
{
	const struct config_factor *left = a, *right = b;

	return pl_span_cmp(left->id, right->id);
}

/* Writes the new table. A factor of one is left out. */
static enum pl_code print_table(const struct balance_view *view, struct pl_buf *out,
                                struct pl_err *err)
{
	struct config_value value = {.name = CONFIG_WEIGHTS};
	struct config_factor *factors PL_CLEANUP(pl_freep) =
		pl_calloc(view->member_count + 1, sizeof *factors);
	uint32_t count = 0;

	if (factors == NULL)
		return pl_err_set(err, PL_NOMEM, "a table of weights");
	for (uint32_t i = 0; i < view->member_count; i++) {
		const struct balance_member *m = &view->members[i];

		if (m->plan != 0 && m->plan != ASSIGN_WEIGHT_ONE)
			factors[count++] = (struct config_factor){m->id, m->plan};
	}
	qsort(factors, count, sizeof *factors, factor_cmp);
	value.weights = (struct config_weights){factors, count};
	return config_print(&value, out, err);
}

static void feed_event(struct balance *b, struct balance_event event);

static void on_edited(void *ctx, uint64_t version, const struct pl_err *err)
{
	struct balance *b = ctx;
	struct balance_note note = {.what = BALANCE_WROTE,
	                            .version = version,
	                            .worst = b->writing.worst,
	                            .planned = b->writing.planned,
	                            .moves = b->writing.moves};

	b->edit = NULL;
	if (b->stopping) {
		rearm_timer(b);
		return;
	}
	if (err != NULL)
		note = (struct balance_note){.what = BALANCE_TROUBLE, .err = err};
	feed_event(b, (struct balance_event){.type = err == NULL ? BALANCE_EV_WRITTEN
	                                                         : BALANCE_EV_FAILED});
	rearm_timer(b);
	b->fn(b->ctx, &note);
}

static enum pl_code start_edit(struct balance *b, struct pl_span table,
                               struct pl_err *err)
{
	char why[WHY_SIZE];
	struct config_edit_opts opts = {
		.name = CONFIG_WEIGHTS,
		.config = table,
		.by = b->opts.id,
		.at_ms = b->opts.wall_ms(b->ctx),
		.expect_version = (int64_t)b->version,
		.guard = b->guard,
		.guard_count = elect_guard(b->opts.elect, b->guard),
		.timeout_ms = EDIT_TIMEOUT_MS,
		.seed = pl_hash_keyed(pl_span(&b->version, sizeof b->version),
	                              b->chance) |
	                1,
	};
	int len = snprintf(why, sizeof why, "fullest %.2f of the mean, then %.2f",
	                   b->writing.worst, b->writing.planned);

	opts.why = pl_span(why, (size_t)len < sizeof why ? (size_t)len : sizeof why - 1);
	b->chance.k1++;
	if (opts.guard_count == 0)
		return pl_err_set(err, PL_FENCED, "the balancer leads no more");
	return config_edit_start(b->kv, &opts, on_edited, b, &b->edit, err);
}

/* Starts the edit. An edit that was abandoned because the leadership was lost may
 * still be in flight; then PL_BUSY. */
static enum pl_code try_write(struct balance *b, struct pl_err *err)
{
	struct pl_buf table;
	enum pl_code code;

	if (b->edit != NULL)
		return pl_err_set(err, PL_BUSY, "the last table is still being written");
	pl_buf_init(&table, TABLE_BYTES_MAX);
	code = print_table(b->core.view, &table, err);
	if (code == PL_OK)
		code = start_edit(b, pl_buf_span(&table), err);
	pl_buf_done(&table);
	return code;
}

/* True: *event is the answer, to be fed at once. */
static bool perform_action(struct balance *b, const struct balance_action *action,
                           struct balance_event *event)
{
	struct pl_err err;

	switch (action->type) {
	case BALANCE_DO_LOOK:
		*event = sample_input(b);
		return true;
	case BALANCE_DO_WRITE:
		b->writing = *action;
		if (try_write(b, &err) == PL_OK)
			return false;
		note_trouble(b, &err);
		*event = (struct balance_event){.type = BALANCE_EV_FAILED};
		return true;
	}
	PL_UNREACHABLE("no such action");
}

static void feed_event(struct balance *b, struct balance_event event)
{
	struct balance_actions actions;
	bool more = true;

	while (more) {
		event.now_ms = now_of(b);
		balance_step(&b->core, &event, &actions);
		more = actions.count != 0 && perform_action(b, &actions.item[0], &event);
	}
}

static void report_trouble(struct balance *b)
{
	struct pl_err err = b->trouble;

	b->trouble_due = false;
	rearm_timer(b);
	b->fn(b->ctx, &(struct balance_note){.what = BALANCE_TROUBLE, .err = &err});
}

static void on_timer(void *ctx)
{
	struct balance *b = ctx;

	if (b->stopping) {
		balance_finish(b);
		return;
	}
	feed_event(b, (struct balance_event){.type = BALANCE_EV_TIMEOUT});
	if (b->trouble_due)
		report_trouble(b);
	else
		rearm_timer(b);
}

static struct balance *balance_alloc(const struct balance_opts *opts)
{
	struct balance *b = pl_calloc(1, sizeof *b + opts->id.len);

	if (b == NULL)
		return NULL;
	memcpy(b + 1, opts->id.at, opts->id.len);
	b->opts = *opts;
	b->opts.id.at = (const uint8_t *)(b + 1);
	pl_arena_init(&b->settings.arena, 0, 0);
	b->smoothed = pl_calloc(opts->partitions, sizeof *b->smoothed);
	b->before = pl_calloc(opts->partitions, sizeof *b->before);
	return b;
}

enum pl_code balance_open(struct kv *kv, const struct balance_opts *opts, balance_fn *fn,
                          void *ctx, struct balance **out, struct pl_err *err)
{
	struct balance *b = balance_alloc(opts);
	enum pl_code code;

	if (b == NULL)
		return pl_err_set(err, PL_NOMEM, "balancer");
	if (b->smoothed == NULL || b->before == NULL ||
	    pl_timer_init(&b->timer, kv_timers(kv), on_timer, b) != PL_OK) {
		balance_free(b);
		return pl_err_set(err, PL_NOMEM, "balancer");
	}
	code = balance_input_init(&b->input, opts->partitions, err);
	if (code != PL_OK) {
		balance_free(b);
		return code;
	}
	b->chance = (struct pl_hash_key){pl_hash(opts->id), kv_now_ms(kv)};
	balance_core_init(&b->core, opts->partitions, b->smoothed, b->before,
	                  b->chance.k0);
	b->kv = kv;
	b->fn = fn;
	b->ctx = ctx;
	*out = b;
	return PL_OK;
}

static bool copy_shards(struct balance_settings *to, const struct config_shards *from)
{
	struct pl_span *drain =
		pl_arena_zalloc(&to->arena, from->drain_count + 1, sizeof *drain);

	for (uint32_t i = 0; drain != NULL && i < from->drain_count; i++) {
		drain[i] = pl_arena_dup(&to->arena, from->drain[i]);
		if (drain[i].at == NULL)
			return false;
	}
	to->shards = (struct config_shards){drain, from->drain_count};
	return drain != NULL;
}

static bool copy_weights(struct balance_settings *to, const struct config_weights *from)
{
	struct config_factor *factors =
		pl_arena_zalloc(&to->arena, from->factor_count + 1, sizeof *factors);

	for (uint32_t i = 0; factors != NULL && i < from->factor_count; i++) {
		factors[i] = from->factors[i];
		factors[i].id = pl_arena_dup(&to->arena, from->factors[i].id);
		if (factors[i].id.at == NULL)
			return false;
	}
	to->weights = (struct config_weights){factors, from->factor_count};
	return factors != NULL;
}

/* Keeps copies of the settings. Without memory the old ones stay: the members then do
 * not look settled, so nothing is written by them. */
static void apply_settings(struct balance *b, const struct config_shards *shards,
                           const struct config_weights *weights)
{
	struct balance_settings fresh = {0};
	struct pl_err err;

	pl_arena_init(&fresh.arena, 0, 0);
	if (copy_shards(&fresh, shards) && copy_weights(&fresh, weights)) {
		pl_arena_done(&b->settings.arena);
		b->settings = fresh;
		return;
	}
	pl_arena_done(&fresh.arena);
	(void)pl_err_set(&err, PL_NOMEM, "the balancer's settings");
	note_trouble(b, &err);
}

void balance_config(struct balance *b, const struct config_coord *coord,
                    const struct config_shards *shards,
                    const struct config_weights *weights, uint64_t weights_version)
{
	struct balance_event rules = {
		.type = BALANCE_EV_RULES,
		.rules = {.enabled = coord->balancer.enabled,
	                  .interval_ms = coord->balancer.interval_ms,
	                  .threshold_percent = coord->balancer.threshold_percent,
	                  .moves_percent = coord->balancer.moves_percent}};

	apply_settings(b, shards, weights);
	feed_event(b, rules);
	if (weights_version != b->version)
		feed_event(b, (struct balance_event){.type = BALANCE_EV_TABLE});
	b->version = weights_version;
	rearm_timer(b);
}

void balance_lead(struct balance *b, bool leading)
{
	feed_event(b,
	           (struct balance_event){.type = BALANCE_EV_LEAD, .leading = leading});
	rearm_timer(b);
}

void balance_stop(struct balance *b)
{
	b->stopping = true;
	if (b->edit != NULL)
		config_edit_cancel(b->edit);
	rearm_timer(b);
}
