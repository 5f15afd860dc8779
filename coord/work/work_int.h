/*
 * Work inside. A partition is owned, then adopted (sched knows it, its feeds run), then
 * opened; what can not be had at once is tried again from the timer of turns.
 */
#ifndef COORD_WORK_WORK_INT_H
#define COORD_WORK_WORK_INT_H

#include "coord/work/work.h"
#include "store/kv/relist.h"

enum {
	WORK_TURN_PODS = 64,
	WORK_LOAD_MS = 5000,
	WORK_RETRY_MS = 1000,    /* what could not be opened */
	WORK_PAUSE_MS = 20,      /* after a call that could not be started */
	WORK_FLEET_KEYS = 2000,  /* of a page: Nodes come after allocs, and are large */
	WORK_LISTED_AT_ONCE = 2, /* partitions that are not open yet */
	WORK_LIST_PATIENCE_MS = 2000, /* one that takes longer holds up nobody */
	WORK_ACTIONS = 64,            /* of a turn */
	WORK_HEAD_MS = 10000,         /* a look at the store */
	WORK_REMOTE_PREFIXES = 2,     /* nodes and allocs */
};

/* A relist of a part of a partition. It outlives its partition's loss until it has
 * stopped: part is NULL then. */
struct work_feed {
	struct pl_list link;
	struct work *work;
	struct work_part *part;
	struct relist *relist;
	uint32_t partition;
	enum sched_part what;
};

struct work_part {
	int64_t epoch; /* 0: not ours */
	uint64_t owned_ms;
	uint64_t listed_ms; /* when its feeds were opened */
	struct work_feed *feed[SCHED_PARTS];
	bool known;   /* to sched */
	bool adopted; /* and all its feeds run */
	bool opened;
	bool quiescing; /* the shard waits to hear that it is quiet */
	/* Of visits, while somebody else has it. */
	struct relist_page_size remote_pages[WORK_REMOTE_PREFIXES];
};

struct work_call {
	struct pl_list link;
	struct work *work;
	struct kv_call *kv_call;
	uint32_t number;
};

/* For the shard's record: what was counted when it was told last, and a commit that a
 * watch has to show. */
struct work_rates {
	struct sched_figures told;
	uint64_t told_ms;
	int64_t seen_rev; /* the newest that a watch has shown */
	int64_t sent_rev; /* 0: none is waited for */
	uint64_t sent_ms;
	uint64_t lag_ms; /* the longest since it was told */
};

struct work_view;

struct work {
	struct kv *kv;
	struct shard *shard; /* NULL: closed */
	struct work_opts opts;
	work_fn *fn;
	void *ctx;
	struct sched *sched;    /* NULL: not yet */
	struct work_part *part; /* of each partition */
	uint32_t parts;         /* 0: not known yet */
	uint32_t unadopted, unopened, quiescing, opened;
	struct pl_list feeds, calls, views, remote_lists;
	struct work_view *view[SCHED_VIEWS]; /* that is listened to */
	struct relist_page_size feed_pages[SCHED_PARTS], view_pages[SCHED_VIEWS];
	struct progress_reads *progress_reads; /* of all feeds and views */
	struct pl_timer turn, load;
	uint32_t turn_pods; /* of the next, at most */
	uint64_t retry_ms, pause_ms, view_ms;
	uint64_t adopt_ms; /* until then enough partitions are being listed */
	/* Live configuration. */
	bool config_due;         /* other settings are to be applied */
	bool configured;         /* some have been */
	uint64_t config_version; /* of them */
	uint64_t config_retry_ms;
	struct work_rates rates;
	/* A call for which there was no room: the next one that is started. */
	struct sched_action deferred;
	struct kv_waiter waiter;
	bool is_deferred;
	bool closing;
	work_closed_fn *closed;
	void *closed_ctx;
};

/* work.c */
void work_free(struct work *work);
void work_kick(struct work *work); /* a turn follows, soon */
/* Everything is listed anew, but by who found out that revisions mean nothing any more.
 */
void work_rewound(struct work *work, const struct work_feed *feed,
                  const struct work_view *view);
/* The last thing that a function does. */
void work_report(struct work *work, const struct work_note *told);

/* work_feed.c */
PL_NODISCARD enum pl_code feed_open(struct work *work, uint32_t partition,
                                    enum sched_part what, struct pl_err *err);
void feed_stop(struct work_feed *feed);
const char *feed_name(enum sched_part what);

/* work_parts.c */
void parts_own(struct work *work, uint32_t partition, int64_t epoch);
void parts_lost(struct work *work, uint32_t partition);
void parts_quiesce(struct work *work, uint32_t partition);
void parts_lose_all(struct work *work);
void parts_rewound(struct work *work, const struct work_feed *but);
/* That part is listed anew. */
void parts_relist(struct work *work, uint32_t partition, enum sched_part what);
/* What is owned and not adopted is tried. PL_OK, or why not: it will be tried again. */
PL_NODISCARD enum pl_code parts_adopt(struct work *work, struct pl_err *err);
void parts_quiet(struct work *work); /* tells the shard which are */
/* One that has become open since; false: none has. */
bool parts_opened(struct work *work, uint32_t *partition);

/* work_config.c */
/* False: there are no settings yet by which to decide. */
bool config_apply(struct work *work);

/* work_rates.c */
void rates_report(struct work *work);
void rates_answered(struct work *work, const struct kv_result *result);
void rates_seen(struct work *work, int64_t revision);
void rates_rewound(struct work *work);

/* work_views.c: what sched wants to see is opened, what it does not want is stopped */
void views_follow(struct work *work);
bool views_missing(const struct work *work); /* that could not be opened */
void views_anew(struct work *work, enum sched_view which);
void views_stop(struct work *work, const struct work_view *but);

/* work_visits.c */
void remote_lists_begin(struct work *work, uint32_t partition);
void remote_lists_cancel(struct work *work);

/* work_turn.c */
void turn_run(void *ctx);
void turn_on_room(void *ctx);
void work_calls_cancel(struct work *work);
void work_deferred_drop(struct work *work); /* as if it had been canceled */

#endif
