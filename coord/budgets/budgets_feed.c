#include <stdlib.h>

#include "coord/budgets/budgets_int.h"
#include "store/base/alloc.h"
#include "store/kv/keys.h"

/*
 * The two lists that the counter follows. A record that does not parse, or for which
 * there is no room, is reported.
 *
 * They are relists and no informers (cache.h): the counter keeps what it needs of each
 * pod, some 150 bytes, and an informer would keep versions of spec and state besides, 400
 * bytes a pod (coord/service/pods/informer_bytes_test.c measures both): 550 MB for a
 * million pods instead of 150. The list of budgets is short, but goes the same way.
 */

static struct kv_keys keys_of(enum budgets_feed_kind what)
{
	return what == FEED_BUDGETS ? kv_prefix(PL_SPAN_LIT("/budgets/"))
	                            : kv_prefix(PL_SPAN_LIT("/schedules/"));
}

static void feed_stop(struct budgets_feed *feed)
{
	struct budgets *budgets = feed->owner;

	budgets->feed[feed->what] = NULL;
	feed->state = FEED_DETACHED;
	if (feed->what == FEED_PODS)
		counter_pods_lost(budgets->counter);
	relist_stop(feed->relist);
}

void feeds_stop(struct budgets *budgets)
{
	for (unsigned i = 0; i < FEEDS; i++)
		if (budgets->feed[i] != NULL)
			feed_stop(budgets->feed[i]);
}

/* -- records ----------------------------------------------------------------------- */

static void feed_fail(struct budgets_feed *feed, const struct pl_err *err)
{
	struct budgets *budgets = feed->owner;
	uint64_t wait_ms = err->code == PL_LIMIT ? BUDGETS_FULL_MS : BUDGETS_RETRY_MS;

	if (!feed->is_stale)
		budgets->retry_ms[feed->what] = kv_now_ms(budgets->kv) + wait_ms;
	feed->is_stale = true;
}

/* Applies one record. A record that could not be kept for want of memory marks the
 * feed as stale, so the prefix is listed again. */
static void apply_record(struct budgets_feed *feed, const struct kv_record *record,
                         bool gone)
{
	struct budgets *budgets = feed->owner;
	const struct kv_record *kept = gone ? NULL : record;
	struct pl_err err = {0};
	struct keys_id id;
	enum pl_code code = keys_parse(record->key, &id, &err);
	bool pods = feed->what == FEED_PODS;

	if (code == PL_OK && !pods && id.kind == KEYS_BUDGET)
		code = counter_budget(budgets->counter, &id, kept, &err);
	else if (code == PL_OK && pods && (id.kind == KEYS_SPEC || id.kind == KEYS_STATE))
		code = counter_pod(budgets->counter, &id, kept, &err);
	if (code == PL_OK)
		return;
	if (code == PL_NOMEM || (pods && code == PL_LIMIT))
		feed_fail(feed, &err);
	if (!pods || code == PL_LIMIT || code == PL_NOMEM)
		budgets_report(budgets,
		               &(struct budgets_note){.what = code == PL_NOMEM || pods
		                                                      ? BUDGETS_TROUBLE
		                                                      : BUDGETS_MALFORMED,
		                                      .key = record->key,
		                                      .err = &err});
}

static void list_begin(struct budgets_feed *feed)
{
	struct counter *counter = feed->owner->counter;

	feed->state = FEED_LISTING;
	feed->is_stale = false;
	if (feed->what == FEED_BUDGETS)
		counter_budgets_begin(counter);
	else
		counter_pods_begin(counter);
}

static void list_end(struct budgets_feed *feed, int64_t revision)
{
	struct counter *counter = feed->owner->counter;

	feed->state = FEED_LISTED;
	if (feed->what == FEED_BUDGETS)
		counter_budgets_end(counter);
	else
		counter_pods_end(counter, revision);
}

/* The connection to the list is lost. After PL_REWOUND the counts belong to another
 * store, so they are dropped; the other feed finds out by itself. */
static void on_lost(struct budgets_feed *feed, const struct pl_err *err)
{
	struct budgets *budgets = feed->owner;

	feed->state = FEED_LISTING;
	if (feed->what == FEED_PODS)
		counter_pods_lost(budgets->counter);
	if (err->code != PL_REWOUND)
		return;
	counter_forget(budgets->counter);
	for (unsigned i = 0; i < FEEDS; i++)
		if (budgets->feed[i] != NULL && budgets->feed[i] != feed)
			feed_stop(budgets->feed[i]);
}

static void on_relist_note(struct budgets_feed *feed, const struct relist_note *note)
{
	struct budgets *budgets = feed->owner;

	switch (note->what) {
	case RELIST_BEGIN:
		list_begin(feed);
		break;
	case RELIST_PAGE:
		for (size_t i = 0; i < note->count && feed->state != FEED_DETACHED; i++)
			apply_record(feed, &note->records[i], false);
		break;
	case RELIST_END:
		list_end(feed, note->revision);
		break;
	case RELIST_EVENTS:
		for (size_t i = 0; i < note->count && feed->state != FEED_DETACHED; i++)
			apply_record(feed, &note->events[i].record,
			             note->events[i].is_delete);
		if (feed->state != FEED_DETACHED && feed->what == FEED_PODS)
			counter_pods_seen(budgets->counter, note->revision);
		break;
	case RELIST_PROGRESS:
		if (feed->what == FEED_PODS)
			counter_pods_seen(budgets->counter, note->revision);
		break;
	case RELIST_LOST:
		on_lost(feed, note->err);
		budgets_report(budgets, &(struct budgets_note){.what = BUDGETS_TROUBLE,
		                                               .err = note->err});
		break;
	case RELIST_TROUBLE:
		budgets_report(budgets, &(struct budgets_note){.what = BUDGETS_TROUBLE,
		                                               .err = note->err});
		break;
	case RELIST_STOPPED:
		PL_UNREACHABLE("taken before");
	}
	budgets_kick(budgets);
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct budgets_feed *feed = ctx;
	struct budgets *budgets = feed->owner;

	if (note->what != RELIST_STOPPED) {
		if (feed->state != FEED_DETACHED)
			on_relist_note(feed, note);
		return;
	}
	pl_list_del(&feed->link);
	free(feed);
	budgets_kick(budgets);
}

/* -- prefixes ---------------------------------------------------------------------- */

static struct pl_span namespace_of(const struct budgets_feed *feed)
{
	const char *end = feed->prefix.at + feed->prefix.len;

	return feed->namespace_len == 0
	               ? (struct pl_span){0}
	               : pl_span(end - 1 - feed->namespace_len, feed->namespace_len);
}

static bool piece_at(struct budgets_feed *feed, unsigned levels, struct pl_span namespace)
{
	const struct keys_id id = {
		.kind = KEYS_SPEC, .partition = feed->partition, .scope = namespace};

	if (keys_prefix(&id, levels, &feed->prefix, NULL) != PL_OK)
		PL_UNREACHABLE("a namespace that has a budget, and no key");
	feed->namespace_len = namespace.len;
	return true;
}

/* Moves to the next namespace of the partition, or to the first namespace of the next
 * partition. */
static bool next_namespace(struct budgets_feed *feed)
{
	const struct counter *counter = feed->owner->counter;
	struct pl_span namespace;

	if (counter_pods_picked(counter, namespace_of(feed), &namespace))
		return piece_at(feed, 3, namespace);
	feed->namespace_len = 0;
	feed->partition++;
	return feed->partition < feed->owner->partitions &&
	       counter_pods_picked(counter, namespace_of(feed), &namespace) &&
	       piece_at(feed, 3, namespace);
}

static bool next_piece(void *ctx, bool first, struct pl_span *prefix)
{
	struct budgets_feed *feed = ctx;
	bool more;

	if (feed->state == FEED_DETACHED)
		return false;
	if (first) {
		feed->apart = counter_pods_pick(feed->owner->counter) <=
		              BUDGETS_NAMESPACES_APART;
		feed->partition = 0;
		feed->namespace_len = 0;
	}
	if (feed->apart)
		more = next_namespace(feed);
	else
		more = (first || ++feed->partition < feed->owner->partitions) &&
		       piece_at(feed, 2, (struct pl_span){0});
	*prefix = keys_span(&feed->prefix);
	return more;
}

/* -- feeds ------------------------------------------------------------------------- */

static enum pl_code feed_open(struct budgets *budgets, enum budgets_feed_kind what,
                              struct pl_err *err)
{
	struct relist_opts opts = {.keys = keys_of(what), .pages = &budgets->pages[what]};
	struct budgets_feed *feed = pl_calloc(1, sizeof *feed);
	enum pl_code code;

	if (feed == NULL)
		return pl_err_set(err, PL_NOMEM, "count for budgets");
	if (what == FEED_PODS) {
		opts.next_prefix = next_piece;
		opts.prefix_ctx = feed;
	}
	opts.seed = budgets->seed == 0 ? 0 : budgets->seed + what;
	feed->owner = budgets;
	feed->what = what;
	code = relist_open(budgets->kv, &opts, on_note, feed, &feed->relist, err);
	if (code != PL_OK) {
		free(feed);
		return code;
	}
	pl_list_add_tail(&budgets->feeds, &feed->link);
	budgets->feed[what] = feed;
	return PL_OK;
}

static bool is_wanted(const struct budgets *budgets, enum budgets_feed_kind what)
{
	if (!budgets->leading)
		return false;
	return what == FEED_BUDGETS || counter_wants_pods(budgets->counter);
}

/* Whether the feed has to be opened again: it is stale, or budgets have come in
 * namespaces that it did not list. */
static bool needs_relist(const struct budgets *budgets, const struct budgets_feed *feed)
{
	return feed->state == FEED_LISTED &&
	       (feed->is_stale ||
	        (feed->what == FEED_PODS && counter_stale(budgets->counter)));
}

static enum pl_code feed_follow(struct budgets *budgets, enum budgets_feed_kind what,
                                struct pl_err *err)
{
	struct budgets_feed *feed = budgets->feed[what];
	bool wanted = is_wanted(budgets, what);
	uint64_t now = kv_now_ms(budgets->kv);
	enum pl_code code = PL_OK;

	if (feed != NULL && !wanted)
		feed_stop(feed);
	if (!wanted || now < budgets->retry_ms[what])
		return PL_OK;
	if (feed != NULL && needs_relist(budgets, feed))
		feed_stop(feed);
	if (budgets->feed[what] == NULL)
		code = feed_open(budgets, what, err);
	if (code != PL_OK)
		budgets->retry_ms[what] = now + BUDGETS_RETRY_MS;
	return code;
}

enum pl_code feeds_follow(struct budgets *budgets, struct pl_err *err)
{
	for (unsigned i = 0; i < FEEDS; i++)
		if (feed_follow(budgets, (enum budgets_feed_kind)i, err) != PL_OK)
			return err->code;
	return PL_OK;
}

uint64_t feeds_deadline_ms(const struct budgets *budgets)
{
	uint64_t at = UINT64_MAX;

	for (unsigned i = 0; i < FEEDS; i++) {
		const struct budgets_feed *feed = budgets->feed[i];

		if (is_wanted(budgets, (enum budgets_feed_kind)i) &&
		    (feed == NULL || needs_relist(budgets, feed)) &&
		    budgets->retry_ms[i] < at)
			at = budgets->retry_ms[i];
	}
	return at;
}
