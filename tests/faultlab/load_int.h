/* The load, for the files that make it up. */
#ifndef TESTS_FAULTLAB_LOAD_INT_H
#define TESTS_FAULTLAB_LOAD_INT_H

#include "store/base/rng.h"
#include "store/kv/calls.h"
#include "store/kv/lease.h"
#include "store/kv/relist.h"
#include "tests/faultlab/load.h"

enum {
	LOAD_REGISTERS = 8,
	LOAD_BLINDS = 3,
	LOAD_WATCHERS_MAX = 16,
	LOAD_TICK_MS = 50,
	LOAD_LEASE_SLOT = LOAD_SLOTS_MAX, /* the slot that puts the leased key */
};

struct worker;

/* A slot of a worker has one call in flight at most. */
struct worker_slot {
	struct worker *worker;
	struct pl_timer timer;
	uint32_t op; /* 0: no call in flight */
};

/* A worker's belief about a key, from its last answer: often out of date. */
struct belief {
	bool known;
	int64_t mod;
};

struct list_belief {
	uint32_t number;
	struct belief now;
	struct hist_value value;
	size_t len;
	char text[HIST_VALUE_SIZE];
};

/* The worker's lease, at most one at a time. */
struct lessee {
	struct lease *lease;  /* NULL: none open */
	struct pl_timer life; /* when the lease is opened, or released */
	int64_t id;           /* granted and recorded; 0: none */
	size_t record;        /* in the history */
};

struct worker {
	struct load *load;
	unsigned index;
	struct kv *kv;
	struct worker_slot slot[LOAD_SLOTS_MAX + 1];
	struct belief reg[LOAD_REGISTERS];
	struct list_belief list;
	struct lessee lessee;
	bool proved; /* a write worked after the faults were gone */
};

struct load_watcher {
	struct load *load;
	struct kv *kv;
	unsigned stream;
	enum hist_class class;
	int64_t covered; /* the watcher has seen every event up to here */
	struct kv_watch *watch;
	struct relist *relist;   /* instead of watch */
	struct pl_timer restart; /* churning watchers: stop, and go on from there */
	bool churns;
	bool stopped; /* the watcher does not run any more */
	/* Events of the list that is under way. */
	struct hist_event *page;
	size_t page_count, page_cap;
	int64_t page_revision;
};

enum load_phase {
	LOAD_RUN,
	LOAD_FINISH, /* calls in flight end, leases are released */
	LOAD_PROVE,  /* every worker writes once */
	LOAD_EMPTY,  /* the leased keys are deleted */
	LOAD_READ,   /* all keys are read at the final revision */
	LOAD_CATCH_UP,
	LOAD_REPLAY, /* a new watcher sees what was not compacted */
	LOAD_STOP,   /* workers and watchers end before their clients close */
	LOAD_CLOSE,
	LOAD_PHASE_COUNT,
};

struct load {
	struct load_opts opts;
	struct hist *hist;
	struct pl_rng rng;
	struct worker worker[LOAD_WORKERS_MAX];
	struct kv *scribe, *sleeper;
	struct load_watcher watcher[LOAD_WATCHERS_MAX];
	unsigned watcher_count;
	enum load_phase phase;
	uint64_t phase_end_ms;
	struct pl_timer tick;
	bool call_busy; /* a read of the current phase is under way */
	bool phase_met; /* the reads have seen what the phase waits for */
	int64_t compacted;
	uint64_t progress_at_ms;
	unsigned closing;
	uint64_t relists;
	uint64_t outcome[HIST_UNKNOWN + 1];
};

uint64_t load_now(const struct load *load);

/* load_call.c: makes a recorded operation into a call, and records the answer. */
struct hist_op *slot_begin(struct worker_slot *slot);
void slot_call(struct worker_slot *slot);
/* Picks the next operation after a pause; defined by load_pick.c. */
void slot_next(void *ctx);
void slot_later(struct worker_slot *slot);

/* load_pick.c */
void worker_learn(struct worker *worker, const struct hist_part *part,
                  const struct kv_record *record);
void worker_put_leased(struct worker *worker);
bool worker_idle(const struct worker *worker);

/* load_lease.c */
PL_NODISCARD enum pl_code lessee_init(struct worker *worker);
void lessee_let_go(struct worker *worker, bool revoke);
void lessee_done(struct worker *worker);

/* load_watch.c */
PL_NODISCARD enum pl_code watcher_add(struct load *load, struct kv *kv, const char *name,
                                      enum hist_class class, int64_t from);
/* The impatient one looks for itself whether its watch has fallen silent; the other
 * relies on the watch to come back, or to say that it can not. */
PL_NODISCARD enum pl_code watcher_add_relist(struct load *load, struct kv *kv,
                                             const char *name, enum hist_class class,
                                             bool impatient);
PL_NODISCARD enum pl_code watcher_churn(struct load_watcher *watcher);
void watchers_progress(struct load *load);
int64_t watchers_covered(const struct load *load);
/* True once every watcher has been told all events up to that revision. */
bool watchers_caught_up(const struct load *load, int64_t revision);
void watchers_stop(struct load *load);
bool watchers_stopped(const struct load *load);
void watchers_done(struct load *load);
struct hist_event event_of_record(const struct kv_record *record, bool is_delete);

/* load_end.c */
void load_tick(void *ctx);
void load_enter(struct load *load, enum load_phase phase);
const char *load_phase_name(enum load_phase phase);
/* load.c */
void load_close(struct load *load);

#endif
