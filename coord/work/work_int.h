/*
 * Internals of the work.
 *
 * A step that fails is tried again from the timer of turns.
 */
#ifndef COORD_WORK_WORK_INT_H
#define COORD_WORK_WORK_INT_H

#include "coord/work/work.h"
#include "store/kv/relist.h"

enum {
	WORK_TURN_PODS = 64,
	WORK_LOAD_MS = 5000,
	WORK_RETRY_MS = 1000,         /* after something could not be opened */
	WORK_PAUSE_MS = 20,           /* after a call could not be started */
	WORK_FLEET_KEYS = 2000,       /* page size of the fleet view: Nodes come after
	                          * allocs, and are large */
	WORK_LISTED_AT_ONCE = 2,      /* partitions that are listed at the same time */
	WORK_LIST_PATIENCE_MS = 2000, /* a list that takes longer does not hold up
	                               * others */
	WORK_ACTIONS = 64,            /* actions of sched in one turn */
	WORK_HEAD_MS = 10000,         /* interval of progress reads */
	WORK_REMOTE_PREFIXES = 2,     /* nodes and allocs */
};

/* A relist of one part of a partition. It outlives the loss of the partition until it
 * has stopped; part is NULL then. */
struct work_feed {
	struct pl_list link;
	struct work *work;
	struct work_part *part;
	struct relist *relist;
	uint32_t partition;
	enum sched_part what;
};

/*
 *	FREE --own--> OWNED --sched knows it--> ADOPTING --all feeds run--> LISTING
 *	                                         ^   ^                        | |
 *	                                         |   +--- a feed stopped -----+ | open
 *	                                         |                              v
 *	                                         +--- not open any more ---- OPEN
 *	                                         |                            | ^ all feeds run
 *	                                         |             a feed stopped v |
 *	                                         +--- not open any more ---- REFEEDING
 *
 *	lost: FREE, from anywhere. OPEN to LISTING: not open any more, and all feeds run.
 */
enum work_part_state {
	WORK_PART_FREE,      /* not owned */
	WORK_PART_OWNED,     /* sched does not know it yet */
	WORK_PART_ADOPTING,  /* sched knows it; some feeds have to be opened */
	WORK_PART_LISTING,   /* all feeds run; their lists are not complete */
	WORK_PART_OPEN,      /* all feeds run, and pods are decided */
	WORK_PART_REFEEDING, /* pods are decided; some feeds have to be opened */
};

struct work_part {
	int64_t epoch; /* 0: not owned */
	uint64_t owned_ms;
	uint64_t listed_ms; /* when its feeds were opened */
	struct work_feed *feed[SCHED_PARTS];
	enum work_part_state state; /* set by part_set() only */
	bool quiescing;             /* the shard waits for parts_quiet() */
	/* Page sizes of remote lists, while another shard owns it. */
	struct relist_page_size remote_pages[WORK_REMOTE_PREFIXES];
};

struct work_call {
	struct pl_list link;
	struct work *work;
	struct kv_call *kv_call;
	uint32_t number;
};

/* For the shard's record: the counts that were reported last, and a commit that a
 * watch has yet to show. */
struct work_rates {
	struct sched_figures reported;
	uint64_t reported_ms;
	int64_t seen_rev;     /* newest revision that a watch has shown */
	int64_t progress_rev; /* the same, and what watches said without events */
	int64_t newest_rev;   /* the same, and what answers said */
	int64_t sent_rev;     /* revision of that commit; 0: none */
	uint64_t sent_ms;
	uint64_t lag_ms; /* the longest lag since the last report */
	struct work_metrics metrics;
};

struct work_view;

struct work {
	struct kv *kv;
	struct shard *shard; /* NULL: it has closed */
	struct work_opts opts;
	work_fn *fn;
	void *ctx;
	struct sched *sched;    /* NULL: not made yet */
	struct work_part *part; /* one a partition */
	uint32_t parts;         /* 0: not known yet */
	uint32_t unadopted, unopened, quiescing, opened;
	struct pl_list feeds, calls, views, remote_lists;
	struct work_view *view[SCHED_VIEWS]; /* the views that sched wants; NULL: not
	                                      * open */
	struct relist_page_size feed_pages[SCHED_PARTS], view_pages[SCHED_VIEWS];
	struct progress_reads *progress_reads; /* shared by all feeds and views */
	struct pl_timer turn, load;
	uint32_t turn_pods; /* most pods of the next turn */
	uint64_t retry_ms, pause_ms, view_ms;
	uint64_t adopt_ms; /* enough partitions are being listed until then */
	/* Live configuration: */
	bool config_due;         /* other settings are to be applied */
	bool configured;         /* some settings have been applied */
	uint64_t config_version; /* version of these */
	uint64_t config_retry_ms;
	struct work_rates rates;
	/* A transaction for which the client had no room; it is started next. */
	struct sched_action deferred;
	struct kv_waiter waiter;
	bool is_deferred;
	bool closing;
	work_closed_fn *closed;
	void *closed_ctx;
};

/* work.c */
void work_free(struct work *work);
void work_kick(struct work *work); /* a turn follows soon */
/* Lists everything again, because revisions start again. The feed or view that found
 * out does so by itself. */
void work_rewound(struct work *work, const struct work_feed *feed,
                  const struct work_view *view);
/* To be called as the last step of a function. */
void work_report(struct work *work, const struct work_note *note);

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
/* Lists this part of the partition again. */
void parts_relist(struct work *work, uint32_t partition, enum sched_part what);
/* Adopts the owned partitions that are not adopted yet. An error says why one could
 * not be; it is tried again. */
PL_NODISCARD enum pl_code parts_adopt(struct work *work, struct pl_err *err);
void parts_quiet(struct work *work); /* tells the shard which partitions have become
                                      * quiet */
/* A partition that has become open since the last call; false: none. */
bool parts_opened(struct work *work, uint32_t *partition);

/* work_config.c */
/* False: there are no settings yet, so nothing can be decided. */
bool config_apply(struct work *work);

/* work_rates.c */
void rates_report(struct work *work);
void rates_answered(struct work *work, const struct kv_result *result);
void rates_seen(struct work *work, int64_t revision);
/* A watch has shown everything up to that revision; the others may not have. */
void rates_progress(struct work *work, int64_t revision);
void rates_rewound(struct work *work);

/* work_views.c: opens the views that sched wants, stops the others */
void views_follow(struct work *work);
bool views_missing(const struct work *work); /* whether some could not be opened */
void views_reopen(struct work *work, enum sched_view which);
void views_stop(struct work *work, const struct work_view *but);

/* work_remote_lists.c */
void remote_lists_begin(struct work *work, uint32_t partition);
void remote_lists_cancel(struct work *work);

/* work_turn.c */
void turn_run(void *ctx);
void turn_on_room(void *ctx);
void work_calls_cancel(struct work *work);
void work_deferred_drop(struct work *work); /* the transaction counts as canceled */

#endif
