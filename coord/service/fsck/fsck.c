/*
 *	pin --held--> pages of all that the core wants (fsck_prefixes) at its revision
 *	    --> the core's end --> pin released --> done
 *
 * If the pin is lost or a page can not be read, the pin is released, and done reports
 * the error.
 */
#include "coord/service/fsck/fsck.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/bulk/bulk_writer.h"
#include "coord/janitor/pin.h"
#include "store/base/alloc.h"
#include "store/base/buf.h"
#include "store/kv/calls.h"

enum {
	PAGE_DEFAULT = 10000,
	PIECES_MAX = 32, /* most pieces of one prefix */
	PIECE_KEY_SIZE = 32,
	TIMEOUT_DEFAULT_MS = 10000,
	PATIENCE_DEFAULT_MS = 30000,
	PIN_FOR_MS = 10 * 60 * 1000,
	PIN_NAME_SIZE = 48,
};

struct fsck {
	struct kv *kv;
	struct fsck_opts opts;
	struct fsck_core *core;
	struct pin *pin;            /* NULL: it has been released */
	struct bulk_writer *writer; /* reads the pages one after the other; NULL: it
	                             * has ended */
	struct pl_timer patience;
	int64_t revision;
	unsigned prefix, piece;
	struct pl_buf from; /* first key of the next page; empty: the beginning of the
	                     * piece */
	bool releasing;
	struct pl_err err;
};

const struct fsck_core *fsck_core(const struct fsck *fsck)
{
	return fsck->core;
}

void fsck_free(struct fsck *fsck)
{
	if (fsck == NULL)
		return;
	PL_ASSERT(fsck->pin == NULL && fsck->writer == NULL);
	pl_timer_done(&fsck->patience);
	pl_buf_done(&fsck->from);
	fsck_core_free(fsck->core);
	free(fsck);
}

/* Ends with this error, or with success, once the reads and the pin have ended. */
static void fsck_finish(struct fsck *fsck, const struct pl_err *err)
{
	pl_timer_stop(&fsck->patience);
	if (err != NULL && fsck->err.code == PL_OK)
		fsck->err = *err;
	if (fsck->writer != NULL) {
		bulk_cancel(fsck->writer, err);
		return;
	}
	if (!fsck->releasing && fsck->pin != NULL)
		pin_release(fsck->pin);
	fsck->releasing = true;
}

/* -- pages ------------------------------------------------------------------------- */

/*
 * For each page etcd goes through the whole rest of the range. So a prefix is read in
 * pieces, cut at partitions if its keys have any. The first and the last piece reach
 * to the ends of the prefix, so that keys of no partition are read too.
 */
static unsigned pieces_of(const struct fsck *fsck)
{
	const char *prefix = fsck_prefixes[fsck->prefix];

	if (strcmp(prefix, "/budgets/") == 0 || strcmp(prefix, "/gangs/") == 0 ||
	    strcmp(prefix, "/groups/") == 0 ||
	    pl_span_starts(pl_span_str(prefix), PL_SPAN_LIT("/objects/")))
		return 1;
	return fsck->opts.partitions < PIECES_MAX ? fsck->opts.partitions : PIECES_MAX;
}

/* The first key of the piece. */
static struct pl_span piece_from(const struct fsck *fsck, unsigned piece,
                                 struct pl_arena *arena)
{
	const char *prefix = fsck_prefixes[fsck->prefix];
	uint64_t partition = (uint64_t)fsck->opts.partitions * piece / pieces_of(fsck);
	char text[PIECE_KEY_SIZE];
	int len = snprintf(text, sizeof text, "%s%04u", prefix, (unsigned)partition);

	if (piece == 0)
		return pl_arena_dup(arena, pl_span_str(prefix));
	PL_ASSERT(len > 0 && (size_t)len < sizeof text);
	return pl_arena_dup(arena, pl_span(text, (size_t)len));
}

static struct pl_span piece_to(const struct fsck *fsck, struct pl_arena *arena)
{
	struct pl_span prefix = pl_span_str(fsck_prefixes[fsck->prefix]);
	uint8_t *room;

	if (fsck->piece + 1 < pieces_of(fsck))
		return piece_from(fsck, fsck->piece + 1, arena);
	room = pl_arena_alloc(arena, prefix.len);
	return room == NULL ? (struct pl_span){0} : kv_prefix_end(prefix, room);
}

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct fsck *fsck = ctx;
	struct pl_span from, to;

	(void)slot;
	if (fsck->prefix == FSCK_PREFIXES || fsck->err.code != PL_OK)
		return false;
	from = fsck->from.len > 0 ? pl_buf_span(&fsck->from)
	                          : piece_from(fsck, fsck->piece, arena);
	to = piece_to(fsck, arena);
	if (from.at == NULL || to.at == NULL) {
		(void)pl_err_set(&fsck->err, PL_NOMEM, "fsck");
		return false;
	}
	*req = kv_op_get(kv_range(from, to));
	req->get.limit = fsck->opts.page_keys;
	req->get.revision = fsck->revision;
	return true;
}

static void piece_next(struct fsck *fsck)
{
	fsck->piece++;
	if (fsck->piece < pieces_of(fsck))
		return;
	fsck->piece = 0;
	fsck->prefix++;
}

static enum pl_code feed_page(struct fsck *fsck, const struct kv_get_result *get)
{
	struct pl_span last;
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < get->count && code == PL_OK; i++)
		code = fsck_core_feed(fsck->core, &get->records[i], &fsck->err);
	fsck->from.len = 0;
	if (code != PL_OK)
		return code;
	if (!get->more || get->count == 0) {
		piece_next(fsck);
		return PL_OK;
	}
	/* The next page begins with the least key after the last one. */
	last = get->records[get->count - 1].key;
	code = pl_buf_add(&fsck->from, last);
	if (code == PL_OK)
		code = pl_buf_add(&fsck->from, pl_span("", 1));
	return code == PL_OK ? PL_OK : pl_err_set(&fsck->err, code, "fsck");
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	struct fsck *fsck = ctx;

	(void)slot;
	(void)again;
	if (feed_page(fsck, &result->get) == PL_OK && fsck->opts.progress != NULL)
		fsck->opts.progress(fsck->opts.ctx, fsck_core_counts(fsck->core));
}

static void on_read(void *ctx, const struct pl_err *err)
{
	struct fsck *fsck = ctx;

	fsck->writer = NULL;
	if (err == NULL && fsck->err.code == PL_OK)
		(void)!fsck_core_end(fsck->core, &fsck->err);
	fsck_finish(fsck, err);
}

static void reading_start(struct fsck *fsck)
{
	struct bulk_opts opts = {.slots = 1,
	                         .timeout_ms = fsck->opts.timeout_ms,
	                         .patience_ms = fsck->opts.patience_ms,
	                         .next = on_next,
	                         .answer = on_answer,
	                         .done = on_read,
	                         .ctx = fsck};
	struct pl_err err = {0};

	if (bulk_open(fsck->kv, &opts, &fsck->writer, &err) != PL_OK)
		fsck_finish(fsck, &err);
}

/* -- the pin ----------------------------------------------------------------------- */

static void on_released(struct fsck *fsck)
{
	struct pl_err err = fsck->err;

	fsck->pin = NULL;
	pl_timer_done(&fsck->patience);
	fsck->patience = (struct pl_timer){0};
	fsck->opts.done(fsck->opts.ctx, fsck->revision, err.code == PL_OK ? NULL : &err);
}

static void on_pin(void *ctx, const struct pin_note *note)
{
	struct fsck *fsck = ctx;

	switch (note->what) {
	case PIN_HELD:
		if (fsck->releasing)
			return;
		pl_timer_stop(&fsck->patience);
		fsck->revision = note->revision;
		reading_start(fsck);
		return;
	case PIN_LOST:
		fsck_finish(fsck, note->err);
		return;
	case PIN_TROUBLE:
		return; /* tried again until the patience is over */
	case PIN_RELEASED:
		on_released(fsck);
		return;
	}
	PL_UNREACHABLE("note of a pin");
}

static void on_patience(void *ctx)
{
	struct pl_err err;

	(void)pl_err_set(&err, PL_TIMEOUT, "the store does not take a pin");
	fsck_finish(ctx, &err);
}

static enum pl_code open_pin(struct fsck *fsck, struct pl_err *err)
{
	char name[PIN_NAME_SIZE];
	struct pin_opts opts = {.by = fsck->opts.by,
	                        .why = PL_SPAN_LIT("fsck"),
	                        .until_wall_ms = fsck->opts.wall_ms + PIN_FOR_MS,
	                        .seed = fsck->opts.seed};

	(void)snprintf(name, sizeof name, "fsck-%016" PRIx64, fsck->opts.seed);
	opts.name = pl_span_str(name);
	return pin_open(fsck->kv, &opts, on_pin, fsck, &fsck->pin, err);
}

/* -- life -------------------------------------------------------------------------- */

static void fill_defaults(struct fsck_opts *opts)
{
	if (opts->page_keys == 0)
		opts->page_keys = PAGE_DEFAULT;
	if (opts->timeout_ms == 0)
		opts->timeout_ms = TIMEOUT_DEFAULT_MS;
	if (opts->patience_ms == 0)
		opts->patience_ms = PATIENCE_DEFAULT_MS;
}

enum pl_code fsck_open(struct kv *kv, const struct fsck_opts *opts, struct fsck **out,
                       struct pl_err *err)
{
	struct fsck *fsck = pl_calloc(1, sizeof *fsck);
	enum pl_code code;

	if (fsck == NULL)
		return pl_err_set(err, PL_NOMEM, "fsck");
	fsck->kv = kv;
	fsck->opts = *opts;
	fill_defaults(&fsck->opts);
	pl_buf_init(&fsck->from, 1 << 20);
	code = fsck_core_new(&(struct fsck_core_opts){.partitions = opts->partitions,
	                                              .wall_ms = opts->wall_ms,
	                                              .found = opts->found,
	                                              .ctx = opts->ctx},
	                     &fsck->core, err);
	if (code == PL_OK &&
	    pl_timer_init(&fsck->patience, kv_timers(kv), on_patience, fsck) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "fsck");
	if (code == PL_OK)
		code = open_pin(fsck, err);
	if (code != PL_OK) {
		fsck_free(fsck);
		return code;
	}
	pl_timer_set(&fsck->patience, kv_now_ms(kv) + fsck->opts.patience_ms);
	*out = fsck;
	return PL_OK;
}

void fsck_cancel(struct fsck *fsck)
{
	struct pl_err err;

	(void)pl_err_set(&err, PL_CANCELED, "canceled");
	fsck_finish(fsck, &err);
}
