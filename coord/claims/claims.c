#include "coord/claims/claims.h"

#include <stdlib.h>
#include <string.h>

#include "coord/claims/claims_int.h"
#include "store/base/alloc.h"

/*
 * The driver of claims_core.
 *
 * Happy path: list and watch /partitions/ (claims_watch.c); each key is a fact for the
 * core; claims and releases are sent (claims_requests.c), and their answers are facts
 * again.
 *
 * Calls of the user are fed to the core without reporting anything, so they take
 * effect at once (claims_epoch) and are reported from the timer. Actions are taken
 * from the core one by one, so each is decided after everything that the note before
 * led to. A request that could not even be started counts as a failed one, and the
 * core retries it.
 */

enum { TROUBLE_EVERY_MS = 1000, VALUE_MAX = 1024 };

void claims_feed(struct claims *c, struct claims_event event)
{
	struct claims_actions none = {.max = 0};

	event.now_ms = kv_now_ms(c->kv);
	claims_step(&c->core, &event, &none);
}

static void report_note(struct claims *c, const struct claims_note *note)
{
	c->fn(c->ctx, note);
}

/* Reports trouble, at most once every TROUBLE_EVERY_MS. */
void claims_trouble(struct claims *c, const struct pl_err *err)
{
	uint64_t now = kv_now_ms(c->kv);

	if (c->stopping || now < c->trouble_ms)
		return;
	c->trouble_ms = now + TROUBLE_EVERY_MS;
	report_note(c, &(struct claims_note){.what = CLAIMS_TROUBLE, .err = err});
}

static void perform_action(struct claims *c, const struct claims_action *action)
{
	struct claims_note note = {.partition = action->partition,
	                           .epoch = action->epoch,
	                           .deadline_ms = action->deadline_ms,
	                           .why = action->why};

	switch (action->type) {
	case CLAIMS_DO_CLAIM:
	case CLAIMS_DO_RELEASE:
	case CLAIMS_DO_READ:
		claims_request(c, action);
		return;
	case CLAIMS_REPORT_OWNED:
		note.what = CLAIMS_OWNED;
		break;
	case CLAIMS_REPORT_QUIESCE:
		note.what = CLAIMS_QUIESCE;
		break;
	case CLAIMS_REPORT_LOST:
		note.what = CLAIMS_LOST;
		break;
	}
	report_note(c, &note);
}

static void perform_due(struct claims *c)
{
	struct claims_event due = {.type = CLAIMS_EV_TIMEOUT};
	struct claims_actions actions = {.max = 1};

	for (;;) {
		due.now_ms = kv_now_ms(c->kv);
		if (claims_deadline_ms(&c->core) > due.now_ms)
			return;
		claims_step(&c->core, &due, &actions);
		if (actions.count != 0)
			perform_action(c, &actions.item[0]);
	}
}

void claims_rearm(struct claims *c)
{
	uint64_t now = kv_now_ms(c->kv), at = claims_deadline_ms(&c->core);
	bool over = c->stopping && c->relist == NULL && pl_list_empty(&c->calls);

	if (c->reopen_ms < at)
		at = c->reopen_ms;
	if (over || c->reported_synced != c->core.synced)
		at = now;
	if (at == UINT64_MAX)
		pl_timer_stop(&c->timer);
	else
		pl_timer_set(&c->timer, at < now ? now : at);
}

void claims_pump(struct claims *c)
{
	perform_due(c);
	if (c->reported_synced != c->core.synced && !c->stopping) {
		c->reported_synced = c->core.synced;
		report_note(c, &(struct claims_note){.what = CLAIMS_VIEW,
		                                     .synced = c->reported_synced});
	}
	claims_rearm(c);
}

static void holders_free(struct claims *c)
{
	for (uint32_t p = 0; c->holders != NULL && p < c->core.partitions; p++)
		free(c->holders[p].shard);
	free(c->holders);
}

static void claims_free(struct claims *c)
{
	holders_free(c);
	free(c->slots);
	free(c->shown);
	free(c->mentioned.word);
	pl_buf_done(&c->value);
	pl_timer_done(&c->timer);
	free(c);
}

void claims_maybe_finish(struct claims *c)
{
	claims_fn *fn = c->fn;
	void *ctx = c->ctx;

	if (!c->stopping || c->relist != NULL || !pl_list_empty(&c->calls) ||
	    claims_deadline_ms(&c->core) == 0) {
		claims_rearm(c);
		return;
	}
	claims_free(c);
	fn(ctx, &(struct claims_note){.what = CLAIMS_STOPPED});
}

static void on_timer(void *ctx)
{
	struct claims *c = ctx;

	if (c->reopen_ms <= kv_now_ms(c->kv) && c->relist == NULL && !c->stopping)
		claims_view_open(c);
	claims_pump(c);
	if (c->stopping)
		claims_maybe_finish(c);
}

static void holder_set(struct claims *c, uint32_t partition, const struct owner *owner)
{
	struct claims_holder *holder = &c->holders[partition];

	free(holder->shard);
	*holder = (struct claims_holder){.epoch = owner->epoch, .lease = owner->lease};
	if (owner->epoch != 0 && owner->shard[0] != 0)
		holder->shard = pl_strdup(owner->shard);
}

/* Reads the value of an owner key. A value that no shard can have written belongs to
 * no shard, and not to this one either, whatever its lease is. */
static enum pl_code read_owner(const struct claims *c, const struct kv_record *record,
                               struct owner *out, struct pl_err *err)
{
	enum pl_code code;

	*out = (struct owner){.epoch = record->create_revision, .lease = record->lease};
	code = owner_parse(record->value, out, err);
	if (code != PL_OK)
		return code;
	if (record->lease == 0)
		return pl_err_set(err, PL_INVALID, "owner %s without a lease",
		                  out->shard);
	if (record->lease == c->core.lease && !pl_span_eq(pl_span_str(out->shard), c->id))
		return pl_err_set(err, PL_INVALID, "owner %s under our lease",
		                  out->shard);
	return PL_OK;
}

bool claims_fact(struct claims *c, struct claims_event event,
                 const struct kv_record *record)
{
	struct claims_note note = {.what = CLAIMS_MALFORMED,
	                           .partition = event.partition};
	bool is_newer = event.revision > c->core.slot[event.partition].revision;
	struct owner owner = {.epoch = 0};
	struct pl_err err;
	enum pl_code code = PL_OK;

	if (record != NULL)
		code = read_owner(c, record, &owner, &err);
	if (code == PL_NOMEM)
		return false;
	event.epoch = owner.epoch;
	event.lease = code == PL_OK ? owner.lease : 0;
	if (is_newer)
		holder_set(c, event.partition, &owner);
	claims_feed(c, event);
	note.err = &err;
	if (is_newer && code != PL_OK)
		report_note(c, &note);
	return true;
}

static enum pl_code claims_init(struct claims *c, const struct claims_opts *opts,
                                struct pl_err *err)
{
	struct keys_id key = {.kind = KEYS_SHARD, .name = opts->id};
	uint32_t count = opts->partitions;
	uint64_t *words = pl_calloc(pl_bitset_words(count), sizeof *words);
	enum pl_code code = keys_build(&key, &c->shard_key, err);

	c->mentioned.word = words;
	c->slots = pl_calloc(count, sizeof *c->slots);
	c->holders = pl_calloc(count, sizeof *c->holders);
	c->shown = pl_calloc(1, sizeof *c->shown);
	if (code != PL_OK)
		return code;
	if (words == NULL || c->slots == NULL || c->holders == NULL || c->shown == NULL)
		return pl_err_set(err, PL_NOMEM, "%u partitions", count);
	c->mentioned = pl_bitset_init(words, count);
	/* The id is the last part of the key. */
	c->id = pl_span(c->shard_key.at + c->shard_key.len - opts->id.len, opts->id.len);
	return owner_print(opts->id, &c->value, err);
}

enum pl_code claims_open(struct kv *kv, const struct claims_opts *opts, claims_fn *fn,
                         void *ctx, struct claims **out, struct pl_err *err)
{
	struct claims_core_opts core = {.partitions = opts->partitions,
	                                .inflight = opts->inflight,
	                                .handover_ms = opts->handover_ms,
	                                .settle_ms = opts->settle_ms,
	                                .seed = opts->seed};
	struct claims *c;
	enum pl_code code;

	if (opts->partitions == 0 || opts->partitions > KEYS_PARTITIONS_MAX)
		return pl_err_set(err, PL_INVALID, "%u partitions", opts->partitions);
	c = pl_calloc(1, sizeof *c);
	if (c == NULL)
		return pl_err_set(err, PL_NOMEM, "claims");
	pl_list_init(&c->calls);
	pl_buf_init(&c->value, VALUE_MAX);
	c->core.partitions = opts->partitions;
	code = pl_timer_init(&c->timer, kv_timers(kv), on_timer, c);
	if (code == PL_OK)
		code = claims_init(c, opts, err);
	else
		(void)pl_err_set(err, code, "claims");
	if (code != PL_OK) {
		claims_free(c);
		return code;
	}
	core.slots = c->slots;
	core.seed = core.seed != 0 ? core.seed : pl_rng_seed_random();
	claims_core_init(&c->core, &core);
	c->kv = kv;
	c->fn = fn;
	c->ctx = ctx;
	c->seed = core.seed;
	c->reopen_ms = kv_now_ms(kv);
	claims_rearm(c);
	*out = c;
	return PL_OK;
}

void claims_session(struct claims *c, int64_t lease, uint64_t safe_until_ms)
{
	if (lease == 0 || lease != c->core.lease) {
		claims_drop_calls(c);
		claims_feed(c, (struct claims_event){.type = CLAIMS_EV_SESSION});
		perform_due(c);
	}
	if (lease != 0 && !c->stopping)
		claims_feed(c, (struct claims_event){.type = CLAIMS_EV_SESSION,
		                                     .lease = lease,
		                                     .safe_until_ms = safe_until_ms});
	claims_rearm(c);
}

static enum claims_target target_of(const struct claims *c, const struct assign *assign,
                                    uint32_t partition)
{
	struct pl_span member = assign_of(assign, partition);

	if (member.len == 0)
		return CLAIMS_NOBODYS;
	return pl_span_eq(member, c->id) ? CLAIMS_MINE : CLAIMS_OTHERS;
}

void claims_assign(struct claims *c, const struct assign *assign, bool leaving)
{
	struct claims_event event = {.type = CLAIMS_EV_LEAVING, .on = leaving};

	PL_ASSERT(assign_partitions(assign) == c->core.partitions);
	claims_feed(c, event);
	event.type = CLAIMS_EV_TARGET;
	for (uint32_t p = 0; p < c->core.partitions; p++) {
		event.partition = p;
		event.target = target_of(c, assign, p);
		if (event.target != c->core.slot[p].target)
			claims_feed(c, event);
	}
	claims_rearm(c);
}

void claims_tune(struct claims *c, uint64_t handover_ms, uint64_t settle_ms)
{
	claims_feed(c, (struct claims_event){.type = CLAIMS_EV_TUNE,
	                                     .handover_ms = handover_ms,
	                                     .settle_ms = settle_ms});
	claims_rearm(c);
}

void claims_quiet(struct claims *c, uint32_t partition, int64_t epoch)
{
	if (partition >= c->core.partitions)
		return;
	claims_feed(c, (struct claims_event){.type = CLAIMS_EV_QUIET,
	                                     .partition = partition,
	                                     .epoch = epoch});
	claims_rearm(c);
}

void claims_fenced(struct claims *c, uint32_t partition, int64_t epoch)
{
	if (partition >= c->core.partitions)
		return;
	claims_feed(c, (struct claims_event){.type = CLAIMS_EV_FENCED,
	                                     .partition = partition,
	                                     .epoch = epoch});
	claims_rearm(c);
}

void claims_rewound(struct claims *c)
{
	if (c->stopping)
		return;
	claims_drop_calls(c);
	claims_feed(c, (struct claims_event){.type = CLAIMS_EV_REWOUND});
	claims_view_close(c); /* the watch opens again once it has stopped */
	claims_rearm(c);
}

int64_t claims_epoch(const struct claims *c, uint32_t partition)
{
	return partition < c->core.partitions
	               ? claims_core_epoch(&c->core, partition, kv_now_ms(c->kv))
	               : 0;
}

int64_t claims_lease(const struct claims *c)
{
	return kv_now_ms(c->kv) < c->core.safe_until_ms ? c->core.lease : 0;
}

bool claims_may_begin(const struct claims *c, uint32_t partition)
{
	return partition < c->core.partitions &&
	       claims_core_may_begin(&c->core, partition, kv_now_ms(c->kv));
}

uint32_t claims_owned(const struct claims *c)
{
	return c->core.owned;
}

bool claims_settled(const struct claims *c)
{
	return !c->stopping && claims_core_settled(&c->core);
}

const struct owner *claims_owner(const struct claims *c, uint32_t partition)
{
	const struct claims_holder *holder;

	if (partition >= c->core.partitions || c->holders[partition].epoch == 0)
		return NULL;
	holder = &c->holders[partition];
	*c->shown = (struct owner){.epoch = holder->epoch, .lease = holder->lease};
	if (holder->shard != NULL)
		memcpy(c->shown->shard, holder->shard, strlen(holder->shard) + 1);
	return c->shown;
}

void claims_stop(struct claims *c)
{
	if (c->stopping)
		return;
	c->stopping = true;
	c->reopen_ms = UINT64_MAX;
	claims_feed(c, (struct claims_event){.type = CLAIMS_EV_CLOSE});
	claims_drop_calls(c);
	claims_view_close(c);
	claims_rearm(c);
}
