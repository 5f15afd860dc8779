#include <stdlib.h>

#include "coord/janitor/janitor_driver.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"

/*
 * The requests of the janitor: at most one of the compaction and one of the sweep are
 * waited for. A request that the core has given up is ignored, and its answer may not
 * touch the page.
 */

enum { CALL_TIMEOUT_MS = 5000 };

struct janitor_call {
	struct pl_list link;
	struct janitor *owner;
	struct kv_call *handle;
	enum janitor_action_type type;
	bool shards; /* this is the second request of a page, for the shards of digests */
	bool status; /* this is the first request of a look, for the status */
	uint32_t seq;
};

static void request_shards(struct janitor *j, const struct janitor_call *call);
static void request_pins(struct janitor *j, struct janitor_call like);

static bool is_current(const struct janitor *j, const struct janitor_call *call)
{
	return call->seq == j->core.compaction.seq || call->seq == j->core.sweep.seq;
}

static void feed_failure(struct janitor *j, uint32_t seq, const struct pl_err *err)
{
	j->err = err;
	janitor_feed(j, (struct janitor_event){.type = JANITOR_EV_FAILED,
	                                       .seq = seq,
	                                       .code = err->code});
}

static void feed_looked(struct janitor *j, const struct janitor_call *call,
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

/* A page is complete with its first answer, or with its second one. */
static void feed_page(struct janitor *j, const struct janitor_call *call,
                      const struct kv_result *result)
{
	struct pl_err err;

	if (call->shards) {
		sweep_page_apply_shards(&j->page, result);
	} else if (sweep_page_apply(&j->page, result, &err) != PL_OK) {
		feed_failure(j, call->seq, &err);
		return;
	} else if (j->page.stage == JANITOR_DIGESTS && j->page.count != 0) {
		request_shards(j, call);
		return;
	}
	janitor_feed(j, (struct janitor_event){.type = JANITOR_EV_PAGE,
	                                       .seq = call->seq,
	                                       .page = sweep_page_view(&j->page)});
}

static void feed_removed(struct janitor *j, const struct janitor_call *call,
                         const struct kv_result *result)
{
	const struct kv_txn_result *txn = &result->txn;

	janitor_feed(j, (struct janitor_event){.type = JANITOR_EV_REMOVED,
	                                       .seq = call->seq,
	                                       .removed = txn->succeeded,
	                                       .absent = txn->succeeded ||
	                                                 txn->results[0].get.count == 0});
}

static void feed_answer(struct janitor *j, const struct janitor_call *call,
                        const struct kv_result *result)
{
	switch (call->type) {
	case JANITOR_DO_LOOK:
		if (call->status) {
			j->bytes = (uint64_t)result->status.db_bytes_in_use;
			j->full = result->status.alarm_nospace;
			request_pins(j, (struct janitor_call){.type = call->type,
			                                      .seq = call->seq});
			break;
		}
		feed_looked(j, call, result);
		break;
	case JANITOR_DO_COMPACT:
		janitor_feed(j, (struct janitor_event){.type = JANITOR_EV_COMPACTED,
		                                       .seq = call->seq});
		break;
	case JANITOR_DO_PAGE:
		feed_page(j, call, result);
		break;
	case JANITOR_DO_REMOVE:
		feed_removed(j, call, result);
		break;
	case JANITOR_REPORT_COMPACTED:
	case JANITOR_REPORT_HELD:
	case JANITOR_REPORT_TOO_MANY_PINS:
	case JANITOR_REPORT_REMOVED:
	case JANITOR_REPORT_TROUBLE:
		PL_UNREACHABLE("not a request");
	}
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct janitor_call *call = ctx;
	struct janitor *j = call->owner;

	pl_list_del(&call->link);
	if (!j->ending && is_current(j, call)) {
		if (result != NULL)
			feed_answer(j, call, result);
		else if (call->status) /* a look without the status goes by revisions
		                        * alone */
			request_pins(j, (struct janitor_call){.type = call->type,
			                                      .seq = call->seq});
		else
			feed_failure(j, call->seq, err);
	}
	free(call);
	janitor_rearm(j);
}

static enum janitor_part part_of(enum janitor_action_type type)
{
	return type == JANITOR_DO_LOOK || type == JANITOR_DO_COMPACT ? JANITOR_COMPACTION
	                                                             : JANITOR_SWEEP;
}

static void fail_later(struct janitor *j, enum janitor_part part, uint32_t seq,
                       const struct pl_err *err)
{
	j->failed[part] = true;
	j->failed_seq[part] = seq;
	j->failure[part] = *err;
}

static void start_request(struct janitor *j, const struct kv_req *req,
                          struct janitor_call like)
{
	struct janitor_call *call = pl_malloc(sizeof *call);
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

static void request_shards(struct janitor *j, const struct janitor_call *call)
{
	struct sweep_page_req req;
	struct janitor_call second = {
		.type = call->type, .shards = true, .seq = call->seq};

	if (sweep_page_request_shards(&j->page, &req))
		start_request(j, &req.req, second);
}

static void request_look(struct janitor *j, struct janitor_call like)
{
	struct kv_req req = {.op = KV_STATUS};

	j->bytes = 0;
	j->full = false;
	like.status = true;
	start_request(j, &req, like);
}

static void request_pins(struct janitor *j, struct janitor_call like)
{
	struct keys_id id = {.kind = KEYS_PIN};
	struct keys_text prefix;
	struct kv_req req;
	enum pl_code code = keys_prefix(&id, 1, &prefix, NULL);

	PL_ASSERT(code == PL_OK);
	req = kv_op_get(kv_prefix(keys_span(&prefix)));
	req.get.keys_only = true;
	req.get.limit = JANITOR_PINS_MAX;
	start_request(j, &req, like);
}

static void request_compact(struct janitor *j, int64_t revision, struct janitor_call like)
{
	struct kv_req req = {.op = KV_COMPACT, .compact = {.revision = revision}};

	start_request(j, &req, like);
}

static void request_remove(struct janitor *j, size_t item, struct janitor_call like)
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
	req.txn.compare_count =
		count + sweep_page_compares(&j->page, item, compares + count);
	start_request(j, &req, like);
}

/* A note before this request may have ended what it was to be sent for. */
static bool is_wanted(const struct janitor *j, uint32_t seq)
{
	return !j->ending && (seq == j->core.compaction.seq || seq == j->core.sweep.seq);
}

void janitor_request(struct janitor *j, const struct janitor_action *action)
{
	struct janitor_call like = {.type = action->type, .seq = action->seq};
	struct sweep_page_req req;

	if (!is_wanted(j, action->seq))
		return;
	if (action->type == JANITOR_DO_LOOK) {
		request_look(j, like);
	} else if (action->type == JANITOR_DO_COMPACT) {
		request_compact(j, action->revision, like);
	} else if (action->type == JANITOR_DO_REMOVE) {
		request_remove(j, action->item, like);
	} else {
		sweep_page_request(&j->page, action->stage, action->config, action->next,
		                   &req);
		start_request(j, &req.req, like);
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
		kv_cancel(j->kv, PL_LIST_ITEM(link, struct janitor_call, link)->handle);
}
