#include "store/kv/heads.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/calls.h"

struct heads {
	struct kv *kv;
	uint64_t timeout_ms;
	struct pl_timer timer;  /* the next read leaves */
	struct pl_list waiting; /* for it */
	struct pl_list asked;   /* before the read that is under way left */
	struct kv_call *call;   /* while reading */
	bool reading, closed;
};

static void heads_free(struct heads *heads)
{
	pl_timer_done(&heads->timer);
	free(heads);
}

/* Whoever is told may ask again, make others forget, and close us. */
static void tell(struct pl_list *asks, const struct kv_header *header,
                 const struct pl_err *err)
{
	struct pl_list told;

	pl_list_init(&told);
	pl_list_move(&told, asks);
	while (!pl_list_empty(&told)) {
		struct heads_ask *ask = PL_LIST_ITEM(told.next, struct heads_ask, link);

		pl_list_del(&ask->link);
		ask->fn(ask->ctx, header, err);
	}
}

static void gather(struct heads *heads)
{
	if (!heads->reading && !pl_timer_is_set(&heads->timer))
		pl_timer_set(&heads->timer, kv_now_ms(heads->kv) + HEADS_GATHER_MS);
}

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct heads *heads = ctx;

	heads->reading = false;
	if (heads->closed) {
		heads_free(heads);
		return;
	}
	if (!pl_list_empty(&heads->waiting))
		gather(heads);
	tell(&heads->asked, result == NULL ? NULL : &result->header, err);
}

/* One key of those they may read, without its value: all that counts is the header. */
static void read_next(void *ctx)
{
	struct heads *heads = ctx;
	struct heads_ask *first =
		PL_LIST_ITEM(heads->waiting.next, struct heads_ask, link);
	struct kv_get get = {.keys_only = true};
	struct pl_err err;

	if (pl_list_empty(&heads->waiting))
		return; /* all have forgotten it */
	get.keys = kv_key(first->key);
	if (kv_get(heads->kv, &get, heads->timeout_ms, on_read, heads, &heads->call,
	           &err) == PL_OK) {
		heads->reading = true;
		pl_list_move(&heads->asked, &heads->waiting);
	} else {
		tell(&heads->waiting, NULL, &err);
	}
}

enum pl_code heads_open(struct kv *kv, uint64_t timeout_ms, struct heads **out,
                        struct pl_err *err)
{
	struct heads *heads = pl_calloc(1, sizeof *heads);

	if (heads == NULL ||
	    pl_timer_init(&heads->timer, kv_timers(kv), read_next, heads) != PL_OK) {
		free(heads);
		return pl_err_set(err, PL_NOMEM, "how far the store is");
	}
	heads->kv = kv;
	heads->timeout_ms = timeout_ms;
	pl_list_init(&heads->waiting);
	pl_list_init(&heads->asked);
	*out = heads;
	return PL_OK;
}

void heads_close(struct heads *heads)
{
	if (heads == NULL)
		return;
	PL_ASSERT(pl_list_empty(&heads->asked) && pl_list_empty(&heads->waiting));
	heads->closed = true;
	pl_timer_stop(&heads->timer);
	if (heads->reading)
		kv_cancel(heads->kv, heads->call);
	else
		heads_free(heads);
}

void heads_ask(struct heads *heads, struct heads_ask *ask)
{
	PL_ASSERT(!heads->closed);
	pl_list_add_tail(&heads->waiting, &ask->link);
	gather(heads);
}
