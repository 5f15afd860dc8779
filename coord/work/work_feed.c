#include <stdlib.h>

#include "coord/work/work_int.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/keys.h"

/*
 * A feed: one part of a partition, listed and watched.
 *
 * Feeds and views are relists and no informers (cache.h): the cache of sched is the one
 * that decisions read, and an informer would keep a version of each key besides, which is
 * 128 bytes and the key; a pending pod may take 600 bytes in all.
 */

static const struct {
	enum keys_kind kind;
	const char *name;
} feeds[SCHED_PARTS] = {
	[SCHED_NODES] = {KEYS_NODE, "nodes"},
	[SCHED_ALLOCS] = {KEYS_ALLOC, "alloc"},
	[SCHED_SCHEDULES] = {KEYS_SPEC, "schedules"},
};

const char *feed_name(enum sched_part what)
{
	return feeds[what].name;
}

/* The feed is ignored from here on, and freed when its relist has stopped. */
void feed_stop(struct work_feed *feed)
{
	feed->part->feed[feed->what] = NULL;
	feed->part = NULL;
	relist_stop(feed->relist);
}

static void report_trouble(const struct work_feed *feed, const struct pl_err *err)
{
	work_report(feed->work, &(struct work_note){.what = WORK_TROUBLE,
	                                            .partition = feed->partition,
	                                            .part = feed_name(feed->what),
	                                            .err = err});
}

static void on_lost(struct work_feed *feed, const struct pl_err *err)
{
	if (err->code == PL_REWOUND)
		work_rewound(feed->work, feed, NULL);
	report_trouble(feed, err);
}

static void on_stopped(struct work_feed *feed)
{
	struct work *work = feed->work;

	PL_ASSERT(feed->part == NULL);
	pl_list_del(&feed->link);
	free(feed);
	work_kick(work);
}

static void on_relist_note(struct work_feed *feed, const struct relist_note *note)
{
	struct sched *sched = feed->work->sched;
	uint32_t p = feed->partition;

	sched_measure_at(sched, kv_now_ms(feed->work->kv));
	switch (note->what) {
	case RELIST_BEGIN:
		feed->work->rates.metrics.lists[WORK_LIST_PART]++;
		sched_list_begin(sched, p, feed->what);
		return;
	case RELIST_PAGE:
		sched_list_records(sched, p, feed->what, note->records, note->count);
		break;
	case RELIST_END:
		rates_progress(feed->work, note->revision);
		sched_list_end(sched, p, feed->what, note->revision);
		break;
	case RELIST_EVENTS:
		if (note->count > 0)
			rates_seen(feed->work,
			           note->events[note->count - 1].record.mod_revision);
		sched_events(sched, p, feed->what, note->events, note->count);
		break;
	case RELIST_LOST:
		on_lost(feed, note->err);
		return;
	case RELIST_TROUBLE:
		report_trouble(feed, note->err);
		return;
	case RELIST_PROGRESS:
		rates_progress(feed->work, note->revision);
		sched_progress(sched, p, feed->what, note->revision);
		return;
	case RELIST_STOPPED:
		return;
	}
	work_kick(feed->work);
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct work_feed *feed = ctx;

	if (note->what == RELIST_STOPPED)
		on_stopped(feed);
	else if (feed->part != NULL)
		on_relist_note(feed, note);
}

static enum pl_code feed_start(struct work_feed *feed, struct pl_err *err)
{
	struct keys_id id = {.kind = feeds[feed->what].kind,
	                     .partition = feed->partition};
	struct keys_text prefix;
	struct relist_opts opts = {.pages = &feed->work->feed_pages[feed->what],
	                           .progress_reads = feed->work->progress_reads};

	if (keys_prefix(&id, 2, &prefix, err) != PL_OK)
		return PL_INVALID;
	opts.keys = kv_prefix(keys_span(&prefix));
	opts.seed = feed->work->opts.sched.seed;
	if (opts.seed != 0)
		opts.seed += (uint64_t)feed->partition * SCHED_PARTS + feed->what + 1;
	return relist_open(feed->work->kv, &opts, on_note, feed, &feed->relist, err);
}

enum pl_code feed_open(struct work *work, uint32_t partition, enum sched_part what,
                       struct pl_err *err)
{
	struct work_feed *feed = pl_calloc(1, sizeof *feed);
	enum pl_code code;

	if (feed == NULL)
		return pl_err_set(err, PL_NOMEM, "partition %u", partition);
	feed->work = work;
	feed->part = &work->part[partition];
	feed->partition = partition;
	feed->what = what;
	code = feed_start(feed, err);
	if (code != PL_OK) {
		free(feed);
		return code;
	}
	pl_list_add_tail(&work->feeds, &feed->link);
	feed->part->feed[what] = feed;
	return PL_OK;
}
