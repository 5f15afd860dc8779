/*
 * Lists and watches /partitions/ and turns the keys into facts.
 *
 * This is a relist and no informer (cache.h), because the core's facts are newer than any
 * copy of the keys: the answers of claims and releases are facts, too.
 */
#include "coord/claims/claims_int.h"
#include "store/kv/keys.h"

enum { REOPEN_MS = 1000 };

/* False: the key belongs to no partition of this store. */
static bool partition_of(struct claims *claims, struct pl_span key, uint32_t *out)
{
	struct keys_id id;
	struct pl_err err;
	enum pl_code code = keys_parse(key, &id, &err);

	if (code == PL_OK && id.kind == KEYS_OWNER &&
	    id.partition < claims->core.partitions) {
		*out = id.partition;
		return true;
	}
	if (code == PL_OK)
		(void)pl_err_set(&err, PL_INVALID,
		                 PL_SPAN_FMT ": there are %u partitions",
		                 PL_SPAN_ARG(key), claims->core.partitions);
	claims_trouble(claims, &err);
	return false;
}

static void set_synced(struct claims *claims, bool on)
{
	claims_feed(claims, (struct claims_event){.type = on ? CLAIMS_EV_SYNCED
	                                                     : CLAIMS_EV_UNSYNCED});
}

/* False: the rest of the page is void, because a fact could not be read, or because
 * the user stopped the claims in a note. */
static bool feed_fact(struct claims *claims, struct claims_event event,
                      const struct kv_record *record)
{
	static const struct pl_err err = {.code = PL_NOMEM, .msg = "partitions"};

	if (!claims_fact(claims, event, record)) {
		set_synced(claims, false);
		claims_view_close(claims);
		claims_trouble(claims, &err);
	}
	return !claims->relist_ends;
}

/* Feeds a key, or its deletion (record NULL). False: as feed_fact(). */
static bool feed_key(struct claims *claims, enum claims_event_type type, int64_t revision,
                     const struct kv_record *record)
{
	struct claims_event event = {.type = type, .revision = revision};
	bool seen = type == CLAIMS_EV_SEEN;

	if (revision <= 0 || (seen && record->create_revision <= 0))
		return true; /* a revision of 0 comes from no store: skipped */
	if (!partition_of(claims, record->key, &event.partition))
		return !claims->relist_ends;
	pl_bitset_add(claims->mentioned, event.partition);
	return feed_fact(claims, event, seen ? record : NULL);
}

static void on_page(struct claims *claims, const struct relist_note *note)
{
	for (size_t i = 0; i < note->count; i++)
		if (!feed_key(claims, CLAIMS_EV_SEEN, note->revision, &note->records[i]))
			return;
}

static void on_end(struct claims *claims, int64_t revision)
{
	for (uint32_t p = 0; p < claims->core.partitions; p++) {
		struct claims_event event = {
			.type = CLAIMS_EV_GONE, .partition = p, .revision = revision};

		if (!pl_bitset_has(claims->mentioned, p) &&
		    !feed_fact(claims, event, NULL))
			return;
	}
	set_synced(claims, true);
}

static void on_events(struct claims *claims, const struct relist_note *note)
{
	for (size_t i = 0; i < note->count; i++) {
		const struct kv_event *event = &note->events[i];

		if (!feed_key(claims, event->is_delete ? CLAIMS_EV_GONE : CLAIMS_EV_SEEN,
		              event->record.mod_revision, &event->record))
			return;
	}
}

static void on_lost(struct claims *claims, const struct pl_err *err)
{
	set_synced(claims, false);
	if (err->code == PL_REWOUND) {
		claims_drop_calls(claims);
		claims_feed(claims, (struct claims_event){.type = CLAIMS_EV_REWOUND});
	}
	claims_trouble(claims, err);
}

static void on_stopped(struct claims *claims)
{
	claims->relist = NULL;
	claims->relist_ends = false;
	if (claims->stopping)
		claims_maybe_finish(claims);
	else
		claims_view_open(claims);
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct claims *claims = ctx;

	switch (note->what) {
	case RELIST_BEGIN:
		pl_bitset_clear(claims->mentioned);
		break;
	case RELIST_PAGE:
		on_page(claims, note);
		break;
	case RELIST_END:
		on_end(claims, note->revision);
		break;
	case RELIST_EVENTS:
		on_events(claims, note);
		break;
	case RELIST_PROGRESS:
		return;
	case RELIST_LOST:
		on_lost(claims, note->err);
		break;
	case RELIST_TROUBLE:
		claims_trouble(claims, note->err);
		break;
	case RELIST_STOPPED:
		on_stopped(claims);
		return;
	}
	claims_pump(claims);
}

void claims_view_open(struct claims *claims)
{
	struct keys_id id = {.kind = KEYS_OWNER};
	struct relist_opts opts = {.seed = claims->seed};
	struct keys_text prefix;
	struct pl_err err;
	enum pl_code code;

	PL_ASSERT(claims->relist == NULL && !claims->stopping);
	claims->seed += claims->seed != 0;
	claims->reopen_ms = UINT64_MAX;
	code = keys_prefix(&id, 1, &prefix, &err);
	opts.keys = kv_prefix(keys_span(&prefix));
	if (code == PL_OK)
		code = relist_open(claims->kv, &opts, on_note, claims, &claims->relist,
		                   &err);
	if (code == PL_OK)
		return;
	claims->relist = NULL;
	claims->reopen_ms = kv_now_ms(claims->kv) + REOPEN_MS;
	claims_trouble(claims, &err);
	claims_rearm(claims);
}

void claims_view_close(struct claims *claims)
{
	if (claims->relist == NULL || claims->relist_ends)
		return;
	claims->relist_ends = true;
	relist_stop(claims->relist);
}
