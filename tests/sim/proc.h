/*
 * A process with one shard in it, and the work that it does on its partitions.
 *
 * Dies by proc_crash() (what is left of it ends as a ghost that nobody hears),
 * by proc_leave(), or because it was refused.
 */
#ifndef TESTS_SIM_PROC_H
#define TESTS_SIM_PROC_H

#include "coord/shard/shard.h"
#include "coord/work/work.h"
#include "tests/sim/world.h"

enum tenure_state { HOLD_NONE, HOLD_OWNED, HOLD_ENDING };

/* What the worker knows of a partition. */
struct tenure {
	enum tenure_state state;
	int64_t epoch;
	unsigned inflight;
	uint64_t quiet_ms; /* ENDING: not before that, on the local clock */
	bool answered;
};

struct proc {
	struct pl_list link;
	struct world *world;
	unsigned id; /* s<id> */
	unsigned host;
	int64_t pid;
	char name[40]; /* in the story */
	char id_text[16];
	char host_text[16];
	char boot_text[16];
	struct simkv *sim;
	struct shard *shard; /* NULL: not any more */
	struct work *work;   /* what it really does; NULL: work.c stands in for it */
	uint32_t partitions; /* of hold; 0: not known yet */
	struct tenure *hold;
	int64_t lease;
	enum membership_state state;
	bool ghost, leaving, refused, twin;
	/* What explains that it acts for longer than it may: a clock that ran slower
	 * than any margin allows; a lease that an operator revoked. */
	uint64_t broken_until_ms;
	int64_t robbed_lease;
	bool kv_closing;
	uint64_t started_ms, leave_ms, died_ms;
	int64_t wall_ms; /* so far ahead is its machine's wall clock */
	uint64_t seq;    /* of its writes */
	uint64_t config[CONFIG_NAME_COUNT];
	bool config_refused[CONFIG_NAME_COUNT];
	char leads[TRUTH_ROLES_MAX][TRUTH_ROLE_SIZE]; /* empty: free */
	struct pl_timer busy;
	struct agenda_item reap;
	/* What will undo what was done to it. */
	struct agenda_item wake, heal, turn;
	bool falls_behind; /* when it is cut off: by more than history has */
};

struct proc_opts {
	unsigned id;
	unsigned host;
	bool twin;
};

struct proc *proc_start(struct world *world, const struct proc_opts *opts);
void proc_leave(struct proc *proc);
void proc_crash(struct proc *proc);

/* Runs its shard's code: neither dead nor standing still. */
static inline bool proc_lives(const struct proc *proc)
{
	return !proc->ghost && proc->shard != NULL;
}
static inline bool proc_moves(const struct proc *proc)
{
	return proc_lives(proc) && !simkv_is_paused(proc->sim);
}

static inline int64_t proc_wall_ms(const struct proc *proc)
{
	return world_wall_ms(proc->world) + proc->wall_ms;
}

/* In the order of starting. NULL: there is none, or no other. */
struct proc *proc_first(const struct world *world);
struct proc *proc_next(const struct proc *proc);
/* NOLINTBEGIN(bugprone-macro-parentheses): it is a name */
#define PROC_EACH(it, world) \
	for (struct proc *it = proc_first(world); it != NULL; it = proc_next(it))
/* NOLINTEND(bugprone-macro-parentheses) */

bool proc_leads(const struct proc *proc, const char *role);

/* The living one with that id; NULL: none. */
struct proc *proc_of(struct world *world, unsigned id);
/* One of the living, by chance; NULL: none. */
struct proc *proc_any(struct world *world);
unsigned proc_count(struct world *world);
/* Those of them that are not to drain. */
unsigned proc_active(struct world *world);

void proc_on_note(void *ctx, const struct shard_note *note); /* proc_told.c */

/* proc_real.c: coord/work, with the shard's core */
void proc_real_open(struct proc *proc);
void proc_real_close(struct proc *proc); /* the memory is reaped after that */

/* work.c */
void proc_work_start(struct proc *proc);
void proc_work_owned(struct proc *proc, uint32_t partition, int64_t epoch);
void proc_work_end(struct proc *proc, uint32_t partition, int64_t epoch,
                   uint64_t deadline_ms);
void proc_work_lost(struct proc *proc, uint32_t partition);

#endif
