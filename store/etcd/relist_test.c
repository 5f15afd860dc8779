/*
 * List-and-watch against a real etcd that is written, compacted and killed all the time.
 *
 * Each write below "p/" is a revision of its own. So a follower must report each revision
 * after its list's exactly once, and its list must agree with a reference: a watch from
 * the first revision.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/rng.h"
#include "store/kv/relist.h"
#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"

enum {
	KEYS = 40,
	WRITERS = 4,
	WRITES = 12000,
	REVISIONS = WRITES + 1000, /* writes with an unknown outcome are repeated */
	FOLLOWERS = 12,
	LISTS_MAX = 20000,
	LIFE = 150, /* events of a follower, on average, before it is restarted */
};

/* The keys at a revision: the last change of each; 0: the key did not exist. */
struct listed_key {
	int64_t revision;
	int64_t changed[KEYS];
};

struct follower {
	struct relist *relist;
	struct listed_key list;
	int64_t seen;
	unsigned events, life;
	bool listing, over;
};

struct list_writer {
	bool busy;
	bool deletes;
	unsigned key;
};

static struct etcd_rig rig;
static struct pl_rng rng;
static struct follower follower[FOLLOWERS];
static struct list_writer writer[WRITERS];
static unsigned written, lost_count, followers;
static int64_t newest, compacted;
/* The reference: for each revision its key, and whether it was deleted. */
static uint8_t changed_key[REVISIONS];
static bool is_deleted[REVISIONS];
static struct kv_watch *history;
static int64_t history_revision;
static bool history_over;
static struct listed_key *lists;
static unsigned list_count;

static unsigned key_of(struct pl_span key)
{
	T_TRUE(key.len == 4 && memcmp(key.at, "p/", 2) == 0);
	return (unsigned)(key.at[2] - '0') * 10 + (unsigned)(key.at[3] - '0');
}

static void on_history(void *ctx, const struct kv_watch_note *note)
{
	(void)ctx;
	if (note->what == KV_WATCH_END)
		history_over = true;
	for (size_t i = 0; i < note->count; i++) {
		const struct kv_event *event = &note->events[i];

		T_EQ(event->record.mod_revision, history_revision + 1);
		history_revision++;
		T_TRUE(history_revision < REVISIONS);
		changed_key[history_revision] = (uint8_t)key_of(event->record.key);
		is_deleted[history_revision] = event->is_delete;
	}
}

/* -- followers ------------------------------------------------------------- */

static void check_page(struct follower *f, const struct relist_note *note)
{
	T_TRUE(f->listing);
	for (size_t i = 0; i < note->count; i++) {
		int64_t *changed = &f->list.changed[key_of(note->records[i].key)];

		T_EQ(*changed, 0);
		*changed = note->records[i].mod_revision;
	}
}

static void check_events(struct follower *f, const struct relist_note *note)
{
	T_TRUE(f->seen != 0);
	for (size_t i = 0; i < note->count; i++) {
		T_EQ(note->events[i].record.mod_revision, f->seen + 1);
		f->seen++;
	}
	T_EQ(note->revision, f->seen);
	f->events += (unsigned)note->count;
}

static void on_note(void *ctx, const struct relist_note *note);

static void start_follower(struct follower *f)
{
	struct relist_opts opts = {.keys = kv_prefix(PL_SPAN_LIT("p/")),
	                           .page_keys = (uint32_t)pl_rng_between(&rng, 5, 60),
	                           .seed = pl_rng_next(&rng) | 1};

	*f = (struct follower){.life = (unsigned)pl_rng_below(&rng, UINT64_C(2) * LIFE)};
	followers++;
	T_OK(relist_open(rig.kv, &opts, on_note, f, &f->relist, &rig.err), &rig.err);
}

static void check_list_end(struct follower *f, const struct relist_note *note)
{
	T_TRUE(f->listing && list_count < LISTS_MAX);
	T_EQ(note->revision, f->list.revision);
	lists[list_count++] = f->list;
	f->seen = note->revision;
	f->listing = false;
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct follower *f = ctx;

	switch (note->what) {
	case RELIST_BEGIN:
		f->list = (struct listed_key){.revision = note->revision};
		f->listing = true;
		f->seen = 0;
		break;
	case RELIST_PAGE:
		check_page(f, note);
		break;
	case RELIST_END:
		check_list_end(f, note);
		break;
	case RELIST_EVENTS:
		check_events(f, note);
		break;
	case RELIST_LOST:
		T_EQ(note->err->code, PL_COMPACTED);
		lost_count++;
		f->seen = 0;
		f->listing = false;
		break;
	case RELIST_STOPPED:
		f->over = true;
		break;
	case RELIST_PROGRESS:
	case RELIST_TROUBLE:
		break;
	}
	if (note->what != RELIST_STOPPED && f->events > f->life && written < WRITES)
		relist_stop(f->relist);
}

/* -- writers --------------------------------------------------------------- */

static void on_written(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct list_writer *w = ctx;

	w->busy = false;
	if (err != NULL) {
		T_TRUE(err->code == PL_UNKNOWN || err->code == PL_UNAVAIL);
		return; /* the reference watch shows the outcome */
	}
	written++;
	if (result->header.revision > newest)
		newest = result->header.revision;
}

static void start_write(struct list_writer *w)
{
	char key[16];
	struct kv_req req;

	/* Each writer has its own keys; a delete may find none. */
	w->key = (unsigned)(w - writer) + WRITERS * (unsigned)pl_rng_below(&rng, 10);
	(void)snprintf(key, sizeof key, "p/%02u", w->key);
	w->deletes = pl_rng_below(&rng, 5) == 0;
	req = w->deletes ? kv_op_delete(kv_key(pl_span_str(key)))
	                 : kv_op_put(pl_span_str(key), PL_SPAN_LIT("value"));
	w->busy = true;
	T_OK(kv_start(rig.kv, &req, ETCD_RIG_TIMEOUT_MS, on_written, w, NULL, &rig.err),
	     &rig.err);
}

static void on_compacted(void *ctx, const struct kv_result *result,
                         const struct pl_err *err)
{
	(void)result;
	(void)err; /* a later compaction covers it */
	*(bool *)ctx = false;
}

/* Compacts directly below the last write that the reference has seen. */
static void compact(void)
{
	static bool busy;
	struct kv_req req = {.op = KV_COMPACT, .compact = {.revision = history_revision}};

	if (busy || history_revision < compacted + 40)
		return;
	busy = true;
	compacted = history_revision;
	T_OK(kv_start(rig.kv, &req, ETCD_RIG_TIMEOUT_MS, on_compacted, &busy, NULL,
	              &rig.err),
	     &rig.err);
}

/* -- the case ------------------------------------------------------------------------ */

static void restart_ended_followers(void)
{
	for (unsigned i = 0; i < FOLLOWERS; i++)
		if (follower[i].over)
			start_follower(&follower[i]);
}

static void run_turn(void)
{
	for (unsigned i = 0; i < WRITERS && written < WRITES; i++)
		if (!writer[i].busy)
			start_write(&writer[i]);
	restart_ended_followers();
	compact();
	(void)uv_run(&rig.loop, UV_RUN_ONCE);
}

static void kill_and_restart(void)
{
	T_OK(etcd_launch_signal(rig.launch, 0, SIGKILL, &rig.err), &rig.err);
	T_OK(etcd_launch_restart(rig.launch, 0, &rig.err), &rig.err);
}

static bool all_have_caught_up(void)
{
	for (unsigned i = 0; i < WRITERS; i++)
		if (writer[i].busy)
			return false;
	for (unsigned i = 0; i < FOLLOWERS; i++)
		if (follower[i].seen < newest)
			return false;
	return history_revision >= newest;
}

static int by_revision(const void *a, const void *b)
{
	const struct listed_key *x = a, *y = b;

	return (x->revision > y->revision) - (x->revision < y->revision);
}

static void check_lists(void)
{
	int64_t stood[KEYS] = {0}, revision = 1;

	qsort(lists, list_count, sizeof *lists, by_revision);
	for (unsigned i = 0; i < list_count; i++) {
		while (revision < lists[i].revision) {
			revision++;
			stood[changed_key[revision]] =
				is_deleted[revision] ? 0 : revision;
		}
		T_MEM(lists[i].changed, stood, sizeof stood);
	}
}

static void stop_all(void)
{
	for (unsigned i = 0; i < FOLLOWERS; i++) {
		if (!follower[i].over)
			relist_stop(follower[i].relist);
		etcd_rig_until(&rig, &follower[i].over);
	}
	kv_unwatch(rig.kv, history);
	etcd_rig_until(&rig, &history_over);
}

T_CASE_SECONDS(each_revision_is_reported_once, 120)
{
	struct kv_watch_req all = {.keys = kv_all_keys(), .from_revision = 2};
	unsigned kills = 0;

	pl_rng_init(&rng, t_seed());
	lists = pl_calloc(LISTS_MAX, sizeof *lists);
	T_TRUE(lists != NULL);
	history_revision = 1;
	etcd_rig_up(&rig, NULL, NULL);
	T_OK(kv_watch(rig.kv, &all, on_history, NULL, &history, &rig.err), &rig.err);
	for (unsigned i = 0; i < FOLLOWERS; i++)
		start_follower(&follower[i]);
	while (written < WRITES) {
		run_turn();
		if (written > WRITES / 4 * (kills + 1) && kills < 2) {
			kill_and_restart();
			kills++;
		}
	}
	/* Followers that were stopped by the last writes may end only now. */
	while (!all_have_caught_up()) {
		restart_ended_followers();
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	}
	T_EQ(kills, 2);
	stop_all();
	check_lists();
	T_REACHED(followers > 200 && lost_count > 20);
	free(lists);
	etcd_rig_down(&rig);
}
