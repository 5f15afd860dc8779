#include "coord/service/shards/conflict_watch.h"

#include <stdlib.h>

#include "coord/service/shards/shards_report.h"
#include "store/base/alloc.h"

enum { ARENA_CHUNK = 1 << 16 };

struct conflict_watch {
	struct conflict_watch_opts opts;
	struct kv *kv;
	uint64_t start_ms; /* of the store's clock */
	struct shards_report *report;
	const struct roster *roster; /* NULL: not known yet */
	struct pl_timer timer;       /* of the next sample */
	struct pl_arena arena;       /* of one sample */
	struct pl_err err;           /* why the watch is canceled; PL_OK: it is not */
};

static int64_t wall_ms(const struct conflict_watch *watch)
{
	return watch->opts.wall_ms + (int64_t)(kv_now_ms(watch->kv) - watch->start_ms);
}

static enum pl_code give_sample(struct conflict_watch *watch, struct pl_err *err)
{
	struct conflict_stats stats;
	enum pl_code code;

	pl_arena_reset(&watch->arena);
	code = conflict_stats_collect(watch->roster, wall_ms(watch), &watch->arena,
	                              &stats, err);
	if (code == PL_OK)
		watch->opts.sample(watch->opts.ctx, &stats,
		                   (uint32_t)roster_count(watch->roster));
	return code;
}

static void set_timer(struct conflict_watch *watch)
{
	pl_timer_set(&watch->timer, kv_now_ms(watch->kv) + watch->opts.every_ms);
}

/* A sample that is due is put together outside of notes: the roster holds still. */
static void on_due(void *ctx)
{
	struct conflict_watch *watch = ctx;

	set_timer(watch); /* a cancel in the sample stops it */
	if (give_sample(watch, &watch->err) != PL_OK)
		conflict_watch_cancel(watch);
}

static enum pl_code on_note(void *ctx, const struct shards_view *view,
                            const struct shards_view_note *note, struct pl_err *err)
{
	struct conflict_watch *watch = ctx;
	enum pl_code code;

	if (note->what == SHARDS_VIEW_TROUBLE && watch->opts.trouble != NULL)
		watch->opts.trouble(watch->opts.ctx, note->err);
	if (note->what != SHARDS_VIEW_ALL || watch->roster != NULL)
		return PL_OK;
	watch->roster = view->roster;
	if (watch->opts.every_ms > 0)
		set_timer(watch);
	code = give_sample(watch, err);
	if (code != PL_OK)
		pl_timer_stop(&watch->timer);
	return code;
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct conflict_watch *watch = ctx;
	const struct conflict_watch_opts opts = watch->opts;
	const struct pl_err own = watch->err;

	pl_timer_done(&watch->timer);
	pl_arena_done(&watch->arena);
	free(watch);
	opts.done(opts.ctx, own.code == PL_OK ? err : &own);
}

enum pl_code conflict_watch_start(const struct service *service,
                                  const struct conflict_watch_opts *opts,
                                  struct conflict_watch **out, struct pl_err *err)
{
	struct conflict_watch *watch = pl_calloc(1, sizeof *watch);
	const struct shards_report_opts report = {.wanted = SHARDS_VIEW_ROSTER,
	                                          .follow = opts->every_ms > 0,
	                                          .note = on_note,
	                                          .done = on_done,
	                                          .ctx = watch};

	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "watch conflicts");
	watch->opts = *opts;
	watch->kv = service->kv;
	watch->start_ms = kv_now_ms(service->kv);
	if (pl_timer_init(&watch->timer, kv_timers(service->kv), on_due, watch) !=
	    PL_OK) {
		free(watch);
		return pl_err_set(err, PL_NOMEM, "watch conflicts");
	}
	pl_arena_init(&watch->arena, ARENA_CHUNK, 0);
	if (shards_report_start(service, &report, &watch->report, err) != PL_OK) {
		pl_timer_done(&watch->timer);
		pl_arena_done(&watch->arena);
		free(watch);
		return err->code;
	}
	*out = watch;
	return PL_OK;
}

void conflict_watch_cancel(struct conflict_watch *watch)
{
	pl_timer_stop(&watch->timer);
	shards_report_cancel(watch->report);
}
