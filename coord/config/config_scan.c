#include "coord/config/config_scan.h"

#include "store/kv/calls.h"

/*
 * The keys of versions have ten digits, so they come before "current", and the range
 * goes from the first version to it. One page holds a whole history; more pages are
 * needed only where more versions are kept.
 */

enum { PAGE_KEYS = 2000 };

uint64_t config_time_left(struct kv *kv, uint64_t deadline_ms)
{
	uint64_t now = kv_now_ms(kv);

	return deadline_ms > now ? deadline_ms - now : 1;
}

static void add_version(struct config_scan *scan, uint64_t version)
{
	PL_ASSERT(version > scan->highest);
	scan->highest = version;
	if (version < scan->current)
		scan->previous = version;
	scan->ring[scan->count++ % CONFIG_HISTORY_MAX] = version;
}

/* Fails only for want of memory; what is wrong with current is left to the caller. */
static enum pl_code read_current(struct config_scan *scan,
                                 const struct kv_get_result *get)
{
	struct pl_arena arena;
	enum pl_code code;

	scan->current = 0;
	scan->current_rev = 0;
	scan->current_err = (struct pl_err){0};
	if (get->count == 0)
		return PL_OK;
	pl_arena_init(&arena, 0, 0);
	scan->current_rev = get->records[0].mod_revision;
	code = config_current_parse(get->records[0].value, &arena, &scan->current,
	                            &scan->current_err);
	pl_arena_done(&arena);
	return code == PL_NOMEM ? code : PL_OK;
}

static void read_page(struct config_scan *scan, const struct kv_get_result *get)
{
	struct keys_id id;

	for (size_t i = 0; i < get->count; i++) {
		if (keys_parse(get->records[i].key, &id, NULL) == PL_OK &&
		    id.kind == KEYS_CONFIG && id.version > scan->highest)
			add_version(scan, id.version);
	}
}

static enum pl_code fetch_page(struct config_scan *scan, struct pl_err *err);

static void on_page(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct config_scan *scan = ctx;
	uint64_t before = scan->highest;
	const struct kv_get_result *get;
	struct pl_err why;

	scan->call = NULL;
	if (err != NULL) {
		scan->done(scan->ctx, err);
		return;
	}
	PL_ASSERT(result->txn.count == 2);
	if (scan->count == 0 &&
	    read_current(scan, &result->txn.results[0].get) != PL_OK) {
		why = scan->current_err;
		scan->done(scan->ctx, &why);
		return;
	}
	get = &result->txn.results[1].get;
	read_page(scan, get);
	if (!get->more || scan->highest == KEYS_VERSION_MAX) {
		scan->done(scan->ctx, NULL);
		return;
	}
	if (scan->highest == before)
		(void)pl_err_set(&why, PL_LIMIT, "%d keys that are no versions",
		                 PAGE_KEYS);
	else if (fetch_page(scan, &why) == PL_OK)
		return;
	scan->done(scan->ctx, &why);
}

static enum pl_code fetch_page(struct config_scan *scan, struct pl_err *err)
{
	struct keys_text from, current;
	struct kv_req gets[2];

	config_current_key(scan->name, &current);
	config_version_key(scan->name, scan->highest + 1, &from);
	gets[0] = kv_op_get(kv_key(keys_span(&current)));
	gets[1] = kv_op_get(kv_range(keys_span(&from), keys_span(&current)));
	gets[1].get.keys_only = true;
	gets[1].get.limit = PAGE_KEYS;
	return kv_txn(scan->kv, &(struct kv_txn){.then = gets, .then_count = 2},
	              config_time_left(scan->kv, scan->deadline_ms), on_page, scan,
	              &scan->call, err);
}

enum pl_code config_scan_start(struct config_scan *scan, struct pl_err *err)
{
	PL_ASSERT(scan->call == NULL && scan->count == 0);
	return fetch_page(scan, err);
}

void config_scan_cancel(struct config_scan *scan)
{
	if (scan->call != NULL)
		kv_cancel(scan->kv, scan->call);
}
