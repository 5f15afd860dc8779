#include <stdlib.h>

#include "coord/janitor/janitor_driver.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"

/*
 * At most one request of the pace and one of the sweep that count. One that the core
 * has given up goes on unheard, and may not touch the page.
 */

enum { CALL_TIMEOUT_MS = 5000 };

struct call {
	struct pl_list link;
	struct janitor *owner;
	struct kv_call *handle;
	enum janitor_action_type type;
	bool shards; /* the second half of a page */
	bool status; /* the first half of a look */
	uint32_t seq;
};

static void ask_more(struct janitor *j, const struct call *call);
static void ask_pins(struct janitor *j, struct call like);

static bool is_current(const struct janitor *j, const struct call *call)
{
	return call->seq == j->core.pace.seq || call->seq == j->core.sweep.seq;
}

static void feed_failure(struct janitor *j, uint32_t seq, const struct pl_err *err)
{
	j->err = err;
	janitor_feed(j, (struct janitor_event){.type = JANITOR_EV_FAILED,
	                                       .seq = seq,
	                                       .code = err->code});
}

static void looked(struct janitor *j, const struct call *call,
                   const struct kv_result *result)
{
	int64_t pins[JANITOR_PINS_MAX];
	const struct kv_get_result *get = &result->get;
	struct janitor_event event = {.type = JANITOR_EV_LOOKED,
	                              .seq = call->seq,
	                              .revision = result->header.revision,
	                              .pins = pins,
	                              .bytes = j->bytes,
	                              .full = j->full,
	                              .too_many = get->more};

	for (size_t i = 0; i < get->count && i < JANITOR_PINS_MAX; i++)
		pins[event.pin_count++] = get->records[i].create_revision;
	j->pins = get->records;
	janitor_feed(j, event);
}

/* A page is complete with its first answer, or with its second. */
static void paged(struct janitor *j, const struct call *call,
                  const struct kv_result *result)
{
	struct pl_err err;

	if (call->shards) {
		page_take_shards(&j->page, result);
	} else if (page_take(&j->page, result, &err) != PL_OK) {
		feed_failure(j, call->seq, &err);
		return;
	} else if (j->page.stage == JANITOR_DIGESTS && j->page.count != 0) {
		ask_more(j, call);
		return;
	}
	janitor_feed(j, (struct janitor_event){.type = JANITOR_EV_PAGE,
	                                       .seq = call->seq,
	                                       .page = page_view(&j->page)});
}

static void removed(struct janitor *j, const struct call *call,
                    const struct kv_result *result)
{
	const struct kv_txn_result *txn = &result->txn;

	janitor_feed(j, (struct janitor_event){.type = JANITOR_EV_REMOVED,
	                                       .seq = call->seq,
	                                       .removed = txn->succeeded,
	                                       .absent = txn->succeeded ||
	                                                 txn->results[0].get.count == 0});
}

static void answered(struct janitor *j, const struct call *call,
                     const struct kv_result *result)
{
	switch (call->type) {
	case JANITOR_DO_LOOK:
		if (call->status) {
			j->bytes = (uint64_t)result->status.db_bytes_in_use;
			j->full = result->status.alarm_nospace;
			ask_pins(j, (struct call){.type = call->type, .seq = call->seq});
			break;
		}
		looked(j, call, result);
		break;
	case JANITOR_DO_COMPACT:
		janitor_feed(j, (struct janitor_event){.type = JANITOR_EV_COMPACTED,
		                                       .seq = call->seq});
		break;
	case JANITOR_DO_PAGE:
		paged(j, call, result);
		break;
	case JANITOR_DO_REMOVE:
		removed(j, call, result);
		break;
	case JANITOR_TELL_COMPACTED:
	case JANITOR_TELL_HELD:
	case JANITOR_TELL_CROWDED:
	case JANITOR_TELL_REMOVED:
	case JANITOR_TELL_TROUBLE:
		PL_UNREACHABLE("not a request");
	}
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct call *call = ctx;
	struct janitor *j = call->owner;

	pl_list_del(&call->link);
	if (!j->ending && is_current(j, call)) {
		if (result != NULL)
			answered(j, call, result);
		else if (call->status) /* without it, by revisions alone */
			ask_pins(j, (struct call){.type = call->type, .seq = call->seq});
		else
			feed_failure(j, call->seq, err);
	}
	free(call);
	janitor_rearm(j);
}

static enum janitor_part part_of(enum janitor_action_type type)
{
	return type == JANITOR_DO_LOOK || type == JANITOR_DO_COMPACT ? JANITOR_PACE
	                                                             : JANITOR_SWEEP;
}

static void fail_later(struct janitor *j, enum janitor_part part, uint32_t seq,
                       const struct pl_err *err)
{
	j->failed[part] = true;
	j->failed_seq[part] = seq;
	j->failure[part] = *err;
}

static void start(struct janitor *j, const struct kv_req *req, struct call like)
{
	struct call *call = pl_malloc(sizeof *call);
	struct pl_err err = {.code = PL_NOMEM, .msg = "janitor"};

	if (call != NULL) {
		*call = like;
		call->owner = j;
		if (kv_start(j->kv, req, CALL_TIMEOUT_MS, on_done, call, &call->handle,
		             &err) == PL_OK) {
			pl_list_add_tail(&j->calls, &call->link);
			return;
		}
	}
	free(call);
	fail_later(j, part_of(like.type), like.seq, &err);
}

static void ask_more(struct janitor *j, const struct call *call)
{
	struct page_req req;
	struct call second = {.type = call->type, .shards = true, .seq = call->seq};

	if (page_ask_shards(&j->page, &req))
		start(j, &req.req, second);
}

static void do_look(struct janitor *j, struct call like)
{
	struct kv_req req = {.op = KV_STATUS};

	j->bytes = 0;
	j->full = false;
	like.status = true;
	start(j, &req, like);
}

static void ask_pins(struct janitor *j, struct call like)
{
	struct keys_id id = {.kind = KEYS_PIN};
	struct keys_text prefix;
	struct kv_req req;
	enum pl_code code = keys_prefix(&id, 1, &prefix, NULL);

	PL_ASSERT(code == PL_OK);
	req = kv_op_get(kv_prefix(keys_span(&prefix)));
	req.get.keys_only = true;
	req.get.limit = JANITOR_PINS_MAX;
	start(j, &req, like);
}

static void do_compact(struct janitor *j, int64_t revision, struct call like)
{
	struct kv_req req = {.op = KV_COMPACT, .compact = {.revision = revision}};

	start(j, &req, like);
}

static void do_remove(struct janitor *j, size_t item, struct call like)
{
	struct kv_compare compares[ELECT_COMPARES + PAGE_COMPARES_MAX];
	struct kv_keys key = kv_key(keys_span(&j->page.keys[item]));
	struct kv_req then = kv_op_delete(key), otherwise = kv_op_get(key);
	struct kv_req req = {.op = KV_TXN,
	                     .txn = {.compares = compares,
	                             .then = &then,
	                             .then_count = 1,
	                             .otherwise = &otherwise,
	                             .otherwise_count = 1}};
	struct pl_err err;
	size_t count = elect_guard(j->elect, compares);

	if (count == 0) {
		pl_err_set(&err, PL_FENCED, "not leading");
		fail_later(j, JANITOR_SWEEP, like.seq, &err);
		return;
	}
	otherwise.get.keys_only = true;
	req.txn.compare_count = count + page_compares(&j->page, item, compares + count);
	start(j, &req, like);
}

/* A note before it may have ended what this was to be asked for. */
static bool is_wanted(const struct janitor *j, uint32_t seq)
{
	return !j->ending && (seq == j->core.pace.seq || seq == j->core.sweep.seq);
}

void janitor_request(struct janitor *j, const struct janitor_action *action)
{
	struct call like = {.type = action->type, .seq = action->seq};
	struct page_req req;

	if (!is_wanted(j, action->seq))
		return;
	if (action->type == JANITOR_DO_LOOK) {
		do_look(j, like);
	} else if (action->type == JANITOR_DO_COMPACT) {
		do_compact(j, action->revision, like);
	} else if (action->type == JANITOR_DO_REMOVE) {
		do_remove(j, action->item, like);
	} else {
		page_ask(&j->page, action->stage, action->config, action->next, &req);
		start(j, &req.req, like);
	}
}

bool janitor_failure(struct janitor *j)
{
	for (unsigned i = 0; i < JANITOR_PARTS; i++) {
		if (!j->failed[i])
			continue;
		j->failed[i] = false;
		feed_failure(j, j->failed_seq[i], &j->failure[i]);
		return true;
	}
	return false;
}

void janitor_cancel(struct janitor *j)
{
	PL_LIST_EACH (link, &j->calls)
		kv_cancel(j->kv, PL_LIST_ITEM(link, struct call, link)->handle);
}
