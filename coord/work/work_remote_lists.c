#include <stdlib.h>

#include "coord/work/work_int.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "store/kv/keys.h"

/*
 * A remote list: the nodes and allocs of another shard's partition, listed once at one
 * revision. The first pages of both come in one transaction, which is all for most
 * partitions.
 *
 * A list that fails is not tried again here, since sched knows whether it is still
 * wanted, and when. If its pages took too long, the next list has smaller ones.
 */

enum {
	VISIT_TIMEOUT_MS = 5000,
	KEY_BYTES_MAX = 1 << 30, /* more than any store accepts */
};

struct remote_list {
	struct pl_list link;
	struct work *work;
	struct kv_call *call;
	struct kv_waiter waiter; /* while the client has no room */
	uint32_t partition;
	int64_t revision; /* 0: nothing has been read yet */
	unsigned left;    /* prefixes that have more keys, as bits */
	struct keys_text prefix[WORK_REMOTE_PREFIXES];
	uint8_t end[WORK_REMOTE_PREFIXES][KEYS_SIZE_MAX];
	struct pl_buf from[WORK_REMOTE_PREFIXES]; /* first key of the next page, which may
		                             * have any length */
};

static void remote_list_close(struct remote_list *remote_list)
{
	struct work *work = remote_list->work;

	pl_list_del(&remote_list->link);
	pl_list_del(&remote_list->waiter.link);
	for (unsigned i = 0; i < WORK_REMOTE_PREFIXES; i++)
		pl_buf_done(&remote_list->from[i]);
	free(remote_list);
	work_kick(work);
}

static void remote_list_succeed(struct remote_list *remote_list)
{
	sched_remote_list_end(remote_list->work->sched, remote_list->partition,
	                      remote_list->revision);
	remote_list_close(remote_list);
}

static void remote_list_fail(struct remote_list *remote_list, const struct pl_err *err)
{
	sched_remote_list_failed(remote_list->work->sched, remote_list->partition, err);
	remote_list_close(remote_list);
}

static enum pl_code no_memory(struct pl_err *err)
{
	return pl_err_set(err, PL_NOMEM, "out of memory");
}

static struct relist_page_size *pages_of(struct remote_list *remote_list, unsigned which)
{
	return &remote_list->work->part[remote_list->partition].remote_pages[which];
}

static enum pl_code go_behind(struct pl_buf *from, struct pl_span key, struct pl_err *err)
{
	pl_buf_clear(from, SIZE_MAX);
	if (pl_buf_add(from, key) != PL_OK || pl_buf_add(from, pl_span("", 1)) != PL_OK)
		return no_memory(err);
	return PL_OK;
}

static enum pl_code apply_page(struct remote_list *remote_list, unsigned which,
                               const struct kv_get_result *page, struct pl_err *err)
{
	if (page->more && page->count == 0)
		return pl_err_set(err, PL_PROTO,
		                  "a page has no keys, and is not the last");
	sched_remote_list_records(remote_list->work->sched, remote_list->partition,
	                          page->records, page->count);
	relist_page_size_observe(pages_of(remote_list, which), page->records,
	                         page->count);
	remote_list->left &= ~(1u << which);
	if (!page->more)
		return PL_OK;
	remote_list->left |= 1u << which;
	return go_behind(&remote_list->from[which], page->records[page->count - 1].key,
	                 err);
}

static enum pl_code apply_pages(struct remote_list *remote_list,
                                const struct kv_result *result, struct pl_err *err)
{
	unsigned asked = remote_list->left;
	size_t at = 0;
	enum pl_code code = PL_OK;

	if (remote_list->revision == 0)
		remote_list->revision = result->header.revision;
	if (remote_list->revision <= 0 ||
	    result->txn.count != (size_t)__builtin_popcount(asked))
		return pl_err_set(err, PL_PROTO,
		                  "an answer without a revision, or to something else");
	for (unsigned i = 0; code == PL_OK && i < WORK_REMOTE_PREFIXES; i++)
		if ((asked >> i & 1) != 0)
			code = apply_page(remote_list, i, &result->txn.results[at++].get,
			                  err);
	return code;
}

static void note_late(struct remote_list *remote_list)
{
	for (unsigned i = 0; i < WORK_REMOTE_PREFIXES; i++)
		if ((remote_list->left >> i & 1) != 0)
			relist_page_size_halve(pages_of(remote_list, i));
}

static void request_next(struct remote_list *remote_list);

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct remote_list *remote_list = ctx;
	struct pl_err bad = {0};

	remote_list->call = NULL;
	if (err != NULL && (err->cause == PL_TIMEOUT || err->cause == PL_LIMIT))
		note_late(remote_list);
	if (err == NULL && apply_pages(remote_list, result, &bad) != PL_OK)
		err = &bad;
	if (err != NULL)
		remote_list_fail(remote_list, err);
	else if (remote_list->left == 0)
		remote_list_succeed(remote_list);
	else
		request_next(remote_list);
}

static enum pl_code request_pages(struct remote_list *remote_list, struct pl_err *err)
{
	struct kv_req op[WORK_REMOTE_PREFIXES];
	struct kv_req req = {.op = KV_TXN, .txn = {.then = op}};
	/* The two prefixes share one page when they are read at once. */
	uint32_t shares = (remote_list->left & (remote_list->left - 1)) == 0 ? 1 : 2;

	for (unsigned i = 0; i < WORK_REMOTE_PREFIXES; i++) {
		struct kv_keys keys;

		if ((remote_list->left >> i & 1) == 0)
			continue;
		keys = kv_range(pl_buf_span(&remote_list->from[i]),
		                kv_prefix_end(keys_span(&remote_list->prefix[i]),
		                              remote_list->end[i]));
		op[req.txn.then_count] = kv_op_get(keys);
		op[req.txn.then_count].get.limit =
			relist_page_size_keys(pages_of(remote_list, i)) / shares;
		op[req.txn.then_count++].get.revision = remote_list->revision;
	}
	return kv_start(remote_list->work->kv, &req, VISIT_TIMEOUT_MS, on_done,
	                remote_list, &remote_list->call, err);
}

static void request_next(struct remote_list *remote_list)
{
	struct pl_err err = {0};
	enum pl_code code = request_pages(remote_list, &err);

	if (code == PL_BUSY)
		kv_when_room(remote_list->work->kv, &remote_list->waiter);
	else if (code != PL_OK)
		remote_list_fail(remote_list, &err);
}

static void on_room(void *ctx)
{
	request_next(ctx);
}

void remote_lists_begin(struct work *work, uint32_t partition)
{
	static const enum keys_kind kinds[WORK_REMOTE_PREFIXES] = {KEYS_NODE, KEYS_ALLOC};
	struct remote_list *remote_list = pl_calloc(1, sizeof *remote_list);
	struct pl_err err = {0};
	bool good = true;

	if (remote_list == NULL) {
		(void)no_memory(&err);
		sched_remote_list_failed(work->sched, partition, &err);
		return;
	}
	remote_list->work = work;
	remote_list->partition = partition;
	remote_list->waiter = (struct kv_waiter){.fn = on_room, .ctx = remote_list};
	remote_list->left = (1u << WORK_REMOTE_PREFIXES) - 1;
	pl_list_init(&remote_list->waiter.link);
	pl_list_add_tail(&work->remote_lists, &remote_list->link);
	for (unsigned i = 0; i < WORK_REMOTE_PREFIXES; i++) {
		struct keys_id id = {.kind = kinds[i], .partition = partition};
		enum pl_code code = keys_prefix(&id, 2, &remote_list->prefix[i], NULL);

		PL_ASSERT(code == PL_OK);
		pl_buf_init(&remote_list->from[i], KEY_BYTES_MAX);
		good = good && pl_buf_add(&remote_list->from[i],
		                          keys_span(&remote_list->prefix[i])) == PL_OK;
	}
	if (good) {
		request_next(remote_list);
	} else {
		(void)no_memory(&err);
		remote_list_fail(remote_list, &err);
	}
}

void remote_lists_cancel(struct work *work)
{
	struct pl_err canceled = {0};

	(void)pl_err_set(&canceled, PL_CANCELED, "canceled");
	PL_LIST_EACH (link, &work->remote_lists) {
		struct remote_list *remote_list =
			PL_LIST_ITEM(link, struct remote_list, link);

		if (remote_list->call != NULL)
			kv_cancel(work->kv, remote_list->call);
		else
			remote_list_fail(remote_list, &canceled);
	}
}
