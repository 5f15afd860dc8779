#include "coord/service/base/key_list.h"

#include <stdlib.h>
#include <string.h>

#include "coord/service/base/sequence.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"
#include "store/kv/relist_page_size.h"

struct key_list {
	struct key_list_opts opts;
	struct sequence sequence;
	struct keys_text prefix;
	uint8_t end_bytes[KEYS_SIZE_MAX];
	struct pl_span end; /* after all keys with the prefix */
	uint8_t from[KEYS_SIZE_MAX * 2];
	size_t from_len; /* where the next page begins */
	struct relist_page_size page;
	int64_t revision; /* 0: not known yet */
	bool newest; /* the page is read at the newest revision: that was compacted */
};

static void on_page(void *ctx, const struct kv_result *result, const struct pl_err *err);

static void finish_list(struct key_list *list, const struct pl_err *err)
{
	struct key_list_opts opts = list->opts;
	int64_t revision = list->revision;
	struct pl_err kept = {0};

	if (err != NULL)
		kept = *err;
	sequence_done(&list->sequence);
	free(list);
	opts.done(opts.ctx, revision, err == NULL ? NULL : &kept);
}

static void read_page(struct key_list *list)
{
	struct kv_req req =
		kv_op_get(kv_range(pl_span(list->from, list->from_len), list->end));

	req.get.limit = relist_page_size_keys(&list->page);
	req.get.revision = list->newest ? 0 : list->revision;
	req.get.keys_only = list->opts.keys_only;
	sequence_send(&list->sequence, &req, on_page);
}

static void next_prefix(struct key_list *list)
{
	struct pl_err err = {0};
	enum pl_code code = list->opts.prefix(list->opts.ctx, &list->prefix, &err);

	if (code != PL_OK) {
		finish_list(list, code == PL_NOTFOUND ? NULL : &err);
		return;
	}
	PL_ASSERT(list->prefix.len > 0);
	memcpy(list->from, list->prefix.at, list->prefix.len);
	list->from_len = list->prefix.len;
	list->end = kv_prefix_end(keys_span(&list->prefix), list->end_bytes);
	read_page(list);
}

/* Begins the next page at the key after this one: itself with a NUL. False for a key that
 * is longer than any of Placet's. */
static bool continue_after(struct key_list *list, struct pl_span key)
{
	if (key.len + 1 > sizeof list->from)
		return false;
	memcpy(list->from, key.at, key.len);
	list->from[key.len] = 0;
	list->from_len = key.len + 1;
	return true;
}

/* Whether the page is read again in another way: with fewer keys when the answer was too
 * large, at the newest revision when its own is gone. */
static bool retries_page(struct key_list *list, enum pl_code code)
{
	uint32_t keys = relist_page_size_keys(&list->page);

	if (code == PL_NOMEM || code == PL_LIMIT) {
		relist_page_size_halve(&list->page);
		return relist_page_size_keys(&list->page) < keys;
	}
	if (code != PL_COMPACTED || list->opts.exact || list->revision == 0 ||
	    list->newest)
		return false;
	list->newest = true;
	return true;
}

static void on_page(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct key_list *list = ctx;
	struct pl_err why = {0};
	enum pl_code code = PL_OK;

	if (err != NULL) {
		if (retries_page(list, err->code))
			read_page(list);
		else
			finish_list(list, err);
		return;
	}
	if (list->newest || list->revision == 0)
		list->revision = result->header.revision;
	list->newest = false;
	relist_page_size_observe(&list->page, result->get.records, result->get.count);
	for (size_t i = 0; i < result->get.count && code == PL_OK; i++)
		code = list->opts.each(list->opts.ctx, &result->get.records[i], &why);
	if (code == PL_OK && result->get.more &&
	    (result->get.count == 0 ||
	     !continue_after(list, result->get.records[result->get.count - 1].key)))
		code = pl_err_set(&why, PL_PROTO, "a page that does not end");
	if (code != PL_OK)
		finish_list(list, &why);
	else if (result->get.more)
		read_page(list);
	else
		next_prefix(list);
}

/* The first prefix is asked for later, as every other: nothing is called inside start. */
static void on_start(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)result;
	if (err != NULL)
		finish_list(ctx, err);
	else
		next_prefix(ctx);
}

enum pl_code key_list_start(const struct service *service,
                            const struct key_list_opts *opts, struct key_list **out,
                            struct pl_err *err)
{
	struct key_list *list = pl_calloc(1, sizeof *list);

	if (list == NULL)
		return pl_err_set(err, PL_NOMEM, "list keys");
	list->opts = *opts;
	list->revision = opts->revision;
	if (sequence_init(&list->sequence, service->kv, service->timeout_ms, list, err) !=
	    PL_OK) {
		free(list);
		return err->code;
	}
	sequence_pause(&list->sequence, 0, on_start);
	*out = list;
	return PL_OK;
}

void key_list_cancel(struct key_list *list)
{
	sequence_cancel(&list->sequence);
}
