/* Shared by the parts of simkv.c; no other file includes it. */
#ifndef TESTS_SIM_SIMKV_INT_H
#define TESTS_SIM_SIMKV_INT_H

#include "tests/sim/simkv.h"

struct simkv {
	struct kv kv;
	struct agenda *agenda;
	struct simstore *store;
	struct story *story;
	const char *name;
	int64_t writer;
	struct simkv_counts *counts;
	struct simclock clock;
	struct simlink link;
	struct pl_rng rng;
	struct pl_timers timers;
	struct agenda_item tick; /* the earliest of the timers */
	struct pl_list calls;    /* calls whose callers wait for the end */
	struct pl_list orphans;  /* calls whose callers do not */
	struct pl_list watches;
	struct pl_list held[SIMKV_WAYS]; /* items held by each cut */
	struct pl_list held_by_pause;    /* items held by the pause */
	bool cut[SIMKV_WAYS];
	struct pl_list waiters;
	struct agenda_item room;
	size_t bytes, room_bytes;
	int64_t seen_revision;
	bool paused, dead, closing, closed;
	kv_closed_fn *on_closed;
	void *ctx;
	struct agenda_item end;
};

static inline struct simkv *simkv_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct simkv, kv);
}

uint64_t simkv_delay(struct simkv *sim);
/* True: the item may go on. Otherwise it is held by the pause, or by the cut. */
bool simkv_awake(struct simkv *sim, struct agenda_item *item);
bool simkv_passes(struct simkv *sim, enum simkv_way way, struct agenda_item *item);
void simkv_ended(struct simkv *sim); /* a call or watch less */

/* simkv_call.c */
enum pl_code simkv_start(struct kv *kv, const struct kv_req *req, uint64_t timeout_ms,
                         kv_done_fn *done, void *ctx, struct kv_call **out,
                         struct pl_err *err);
void simkv_cancel(struct kv *kv, struct kv_call *handle);
void simkv_calls_end(struct simkv *sim, enum pl_code code, const char *why);
/* Ends the requests under way. forget: they are lost; otherwise they may be. */
void simkv_calls_break(struct simkv *sim, bool forget);
void simkv_orphans_leave(struct simkv *sim);

/* simkv_watch.c */
enum pl_code simkv_watch(struct kv *kv, const struct kv_watch_req *req, kv_watch_fn *fn,
                         void *ctx, struct kv_watch **out, struct pl_err *err);
void simkv_unwatch(struct kv *kv, struct kv_watch *handle);
enum pl_code simkv_progress(struct kv *kv, struct kv_watch *handle, int64_t revision,
                            struct pl_err *err);
void simkv_watches_end(struct simkv *sim, enum pl_code code, const char *why);
void simkv_watches_break(struct simkv *sim);

#endif
