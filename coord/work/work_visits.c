#include <stdlib.h>

#include "coord/work/work_int.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "store/kv/keys.h"

/*
 * A visit: the nodes and allocs of a partition, listed once, all at one revision. The
 * first page of both comes in one transaction, which for most partitions is all.
 *
 * One that fails is not tried again here: sched knows whether it is still wanted, and
 * when. The next one has smaller pages, if it was these that took too long.
 */

enum {
	VISIT_TIMEOUT_MS = 5000,
	KEY_BYTES_MAX = 1 << 30, /* more than any store takes */
};

struct visit {
	struct pl_list link;
	struct work *work;
	struct kv_call *call;
	struct kv_waiter waiter; /* while the client has no room */
	uint32_t partition;
	int64_t revision; /* 0: nothing was read yet */
	unsigned left;    /* prefixes, as bits, of which there is more */
	struct keys_text prefix[WORK_VISIT_PREFIXES];
	uint8_t end[WORK_VISIT_PREFIXES][KEYS_SIZE_MAX];
	struct pl_buf from[WORK_VISIT_PREFIXES]; /* whoever put that key: of any length */
};

static void close_visit(struct visit *visit)
{
	struct work *work = visit->work;

	pl_list_del(&visit->link);
	pl_list_del(&visit->waiter.link);
	for (unsigned i = 0; i < WORK_VISIT_PREFIXES; i++)
		pl_buf_done(&visit->from[i]);
	free(visit);
	work_kick(work);
}

static void succeed(struct visit *visit)
{
	sched_visit_end(visit->work->sched, visit->partition, visit->revision);
	close_visit(visit);
}

static void fail(struct visit *visit, const struct pl_err *err)
{
	sched_visit_failed(visit->work->sched, visit->partition, err);
	close_visit(visit);
}

static enum pl_code no_memory(struct pl_err *err)
{
	return pl_err_set(err, PL_NOMEM, "out of memory");
}

static struct relist_pages *pages_of(struct visit *visit, unsigned which)
{
	return &visit->work->part[visit->partition].visit_pages[which];
}

static enum pl_code go_behind(struct pl_buf *from, struct pl_span key, struct pl_err *err)
{
	pl_buf_clear(from, SIZE_MAX);
	if (pl_buf_add(from, key) != PL_OK || pl_buf_add(from, pl_span("", 1)) != PL_OK)
		return no_memory(err);
	return PL_OK;
}

static enum pl_code take(struct visit *visit, unsigned which,
                         const struct kv_get_result *page, struct pl_err *err)
{
	if (page->more && page->count == 0)
		return pl_err_set(err, PL_PROTO,
		                  "a page has no keys, and is not the last");
	sched_visit_records(visit->work->sched, visit->partition, page->records,
	                    page->count);
	relist_pages_seen(pages_of(visit, which), page->records, page->count);
	visit->left &= ~(1u << which);
	if (!page->more)
		return PL_OK;
	visit->left |= 1u << which;
	return go_behind(&visit->from[which], page->records[page->count - 1].key, err);
}

static enum pl_code take_all(struct visit *visit, const struct kv_result *result,
                             struct pl_err *err)
{
	unsigned asked = visit->left;
	size_t at = 0;
	enum pl_code code = PL_OK;

	if (visit->revision == 0)
		visit->revision = result->header.revision;
	if (visit->revision <= 0 ||
	    result->txn.count != (size_t)__builtin_popcount(asked))
		return pl_err_set(err, PL_PROTO,
		                  "an answer without a revision, or to something else");
	for (unsigned i = 0; code == PL_OK && i < WORK_VISIT_PREFIXES; i++)
		if ((asked >> i & 1) != 0)
			code = take(visit, i, &result->txn.results[at++].get, err);
	return code;
}

static void late(struct visit *visit)
{
	for (unsigned i = 0; i < WORK_VISIT_PREFIXES; i++)
		if ((visit->left >> i & 1) != 0)
			relist_pages_late(pages_of(visit, i));
}

static void next(struct visit *visit);

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct visit *visit = ctx;
	struct pl_err bad = {0};

	visit->call = NULL;
	if (err != NULL && (err->cause == PL_TIMEOUT || err->cause == PL_LIMIT))
		late(visit);
	if (err == NULL && take_all(visit, result, &bad) != PL_OK)
		err = &bad;
	if (err != NULL)
		fail(visit, err);
	else if (visit->left == 0)
		succeed(visit);
	else
		next(visit);
}

static enum pl_code ask(struct visit *visit, struct pl_err *err)
{
	struct kv_req op[WORK_VISIT_PREFIXES];
	struct kv_req req = {.op = KV_TXN, .txn = {.then = op}};
	/* What comes at once is one page. */
	uint32_t shares = (visit->left & (visit->left - 1)) == 0 ? 1 : 2;

	for (unsigned i = 0; i < WORK_VISIT_PREFIXES; i++) {
		struct kv_keys keys;

		if ((visit->left >> i & 1) == 0)
			continue;
		keys = kv_range(
			pl_buf_span(&visit->from[i]),
			kv_prefix_end(keys_span(&visit->prefix[i]), visit->end[i]));
		op[req.txn.then_count] = kv_op_get(keys);
		op[req.txn.then_count].get.limit =
			relist_pages_keys(pages_of(visit, i)) / shares;
		op[req.txn.then_count++].get.revision = visit->revision;
	}
	return kv_start(visit->work->kv, &req, VISIT_TIMEOUT_MS, on_done, visit,
	                &visit->call, err);
}

static void next(struct visit *visit)
{
	struct pl_err err = {0};
	enum pl_code code = ask(visit, &err);

	if (code == PL_BUSY)
		kv_when_room(visit->work->kv, &visit->waiter);
	else if (code != PL_OK)
		fail(visit, &err);
}

static void on_room(void *ctx)
{
	next(ctx);
}

void visits_begin(struct work *work, uint32_t partition)
{
	static const enum keys_kind kinds[WORK_VISIT_PREFIXES] = {KEYS_NODE, KEYS_ALLOC};
	struct visit *visit = pl_calloc(1, sizeof *visit);
	struct pl_err err = {0};
	bool good = true;

	if (visit == NULL) {
		(void)no_memory(&err);
		sched_visit_failed(work->sched, partition, &err);
		return;
	}
	visit->work = work;
	visit->partition = partition;
	visit->waiter = (struct kv_waiter){.fn = on_room, .ctx = visit};
	visit->left = (1u << WORK_VISIT_PREFIXES) - 1;
	pl_list_init(&visit->waiter.link);
	pl_list_add_tail(&work->visits, &visit->link);
	for (unsigned i = 0; i < WORK_VISIT_PREFIXES; i++) {
		struct keys_id id = {.kind = kinds[i], .partition = partition};
		enum pl_code code = keys_prefix(&id, 2, &visit->prefix[i], NULL);

		PL_ASSERT(code == PL_OK);
		pl_buf_init(&visit->from[i], KEY_BYTES_MAX);
		good = good &&
		       pl_buf_add(&visit->from[i], keys_span(&visit->prefix[i])) == PL_OK;
	}
	if (good) {
		next(visit);
	} else {
		(void)no_memory(&err);
		fail(visit, &err);
	}
}

void visits_cancel(struct work *work)
{
	struct pl_err canceled = {0};

	(void)pl_err_set(&canceled, PL_CANCELED, "canceled");
	PL_LIST_EACH (link, &work->visits) {
		struct visit *visit = PL_LIST_ITEM(link, struct visit, link);

		if (visit->call != NULL)
			kv_cancel(work->kv, visit->call);
		else
			fail(visit, &canceled);
	}
}
