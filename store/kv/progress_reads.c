#include "store/kv/progress_reads.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/calls.h"

/* IDLE <---> READING --closed--> CLOSED; closing from IDLE frees at once. */
enum progress_reads_state {
	READS_IDLE, /* no read in flight */
	READS_READING,
	READS_CLOSED, /* the read in flight is the last */
};

struct progress_reads {
	struct kv *kv;
	uint64_t timeout_ms;
	struct pl_timer timer;  /* sends the next read */
	struct pl_list waiting; /* requests for the next read */
	struct pl_list asked;   /* requests that the read in flight will answer */
	struct kv_call *call;   /* set while a read is in flight */
	enum progress_reads_state state;
};

static void progress_reads_free(struct progress_reads *progress_reads)
{
	pl_timer_done(&progress_reads->timer);
	free(progress_reads);
}

/* A callback may make new requests, cancel others, and close the progress reads. */
static void answer_reads(struct pl_list *reads, const struct kv_header *header,
                         const struct pl_err *err)
{
	struct pl_list told;

	pl_list_init(&told);
	pl_list_move(&told, reads);
	while (!pl_list_empty(&told)) {
		struct progress_read *read =
			PL_LIST_ITEM(told.next, struct progress_read, link);

		pl_list_del(&read->link);
		read->fn(read->ctx, header, err);
	}
}

static void schedule_read(struct progress_reads *progress_reads)
{
	if (progress_reads->state == READS_IDLE &&
	    !pl_timer_is_set(&progress_reads->timer))
		pl_timer_set(&progress_reads->timer,
		             kv_now_ms(progress_reads->kv) + PROGRESS_READS_GATHER_MS);
}

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct progress_reads *progress_reads = ctx;

	if (progress_reads->state == READS_CLOSED) {
		progress_reads_free(progress_reads);
		return;
	}
	progress_reads->state = READS_IDLE;
	if (!pl_list_empty(&progress_reads->waiting))
		schedule_read(progress_reads);
	answer_reads(&progress_reads->asked, result == NULL ? NULL : &result->header,
	             err);
}

/* Reads one key of those that may be read, without its value: only the header counts. */
static void read_next(void *ctx)
{
	struct progress_reads *progress_reads = ctx;
	struct progress_read *first =
		PL_LIST_ITEM(progress_reads->waiting.next, struct progress_read, link);
	struct kv_get get = {.keys_only = true};
	struct pl_err err;

	if (pl_list_empty(&progress_reads->waiting))
		return; /* all requests were cancelled */
	get.keys = kv_key(first->key);
	if (kv_get(progress_reads->kv, &get, progress_reads->timeout_ms, on_read,
	           progress_reads, &progress_reads->call, &err) == PL_OK) {
		progress_reads->state = READS_READING;
		pl_list_move(&progress_reads->asked, &progress_reads->waiting);
	} else {
		answer_reads(&progress_reads->waiting, NULL, &err);
	}
}

enum pl_code progress_reads_open(struct kv *kv, uint64_t timeout_ms,
                                 struct progress_reads **out, struct pl_err *err)
{
	struct progress_reads *progress_reads = pl_calloc(1, sizeof *progress_reads);

	if (progress_reads == NULL || pl_timer_init(&progress_reads->timer, kv_timers(kv),
	                                            read_next, progress_reads) != PL_OK) {
		free(progress_reads);
		return pl_err_set(err, PL_NOMEM, "progress reads");
	}
	progress_reads->kv = kv;
	progress_reads->timeout_ms = timeout_ms;
	pl_list_init(&progress_reads->waiting);
	pl_list_init(&progress_reads->asked);
	*out = progress_reads;
	return PL_OK;
}

void progress_reads_close(struct progress_reads *progress_reads)
{
	if (progress_reads == NULL)
		return;
	PL_ASSERT(pl_list_empty(&progress_reads->asked) &&
	          pl_list_empty(&progress_reads->waiting));
	pl_timer_stop(&progress_reads->timer);
	if (progress_reads->state == READS_IDLE) {
		progress_reads_free(progress_reads);
		return;
	}
	PL_ASSERT(progress_reads->state == READS_READING);
	progress_reads->state = READS_CLOSED;
	kv_cancel(progress_reads->kv, progress_reads->call);
}

void progress_reads_start(struct progress_reads *progress_reads,
                          struct progress_read *read)
{
	PL_ASSERT(progress_reads->state != READS_CLOSED);
	pl_list_add_tail(&progress_reads->waiting, &read->link);
	schedule_read(progress_reads);
}
