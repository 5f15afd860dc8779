/*
 * A process with one shard in it, and the work that it does on its partitions.
 *
 * It ends by proc_crash() (the rest of it runs on as a ghost whose requests no longer
 * leave it), by proc_leave(), or because its shard was refused.
 */
#ifndef TESTS_SIM_PROC_H
#define TESTS_SIM_PROC_H

#include "coord/shard/shard.h"
#include "coord/work/work.h"
#include "tests/sim/world.h"

enum hold_state { HOLD_NONE, HOLD_OWNED, HOLD_ENDING };

/* A partition as the worker knows it. */
struct held_partition {
	enum hold_state state;
	int64_t epoch;
	unsigned inflight;
	uint64_t quiet_ms; /* HOLD_ENDING: the work does not end before that time of the
			    * local clock */
	bool answered;
};

struct proc {
	struct pl_list link;
	struct world *world;
	unsigned id; /* number in the shard's id, s<id> */
	unsigned host;
	int64_t pid;
	char name[40]; /* name in the story */
	char id_text[16];
	char host_text[16];
	char boot_text[16];
	struct simkv *sim;
	struct shard *shard; /* NULL: the shard has closed */
	struct work *work;   /* the real work; NULL: standin_work.c stands in for it */
	uint32_t partitions; /* length of hold; 0: not known yet */
	struct held_partition *hold;
	int64_t lease;
	enum membership_state state;
	bool ghost, leaving, refused, twin;
	/* Excuses for acting longer than allowed: a clock that ran slower than any margin
	 * allows, until that time; a lease that an operator revoked. */
	uint64_t broken_until_ms;
	int64_t revoked_lease;
	bool kv_closing;
	uint64_t started_ms, leave_ms, died_ms;
	int64_t wall_ms; /* by how much its machine's wall clock is ahead */
	uint64_t seq;    /* number of its next write */
	uint64_t config[CONFIG_NAME_COUNT];
	bool config_refused[CONFIG_NAME_COUNT];
	char leads[TRUTH_ROLES_MAX][TRUTH_ROLE_SIZE]; /* empty: free */
	struct pl_timer busy;
	struct agenda_item reap;
	/* Items that undo faults of this process. */
	struct agenda_item wake, heal, turn;
	bool falls_behind; /* while it is cut off, history is compacted */
};

struct proc_opts {
	unsigned id;
	unsigned host;
	bool twin;
};

struct proc *proc_start(struct world *world, const struct proc_opts *opts);
void proc_leave(struct proc *proc);
void proc_crash(struct proc *proc);

/* The process runs its shard's code: it is neither dead nor paused. */
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

/* Processes in the order of starting. NULL: there is none, or no other. */
struct proc *proc_first(const struct world *world);
struct proc *proc_next(const struct proc *proc);
/* NOLINTBEGIN(bugprone-macro-parentheses): the argument is a name */
#define PROC_EACH(it, world) \
	for (struct proc *it = proc_first(world); it != NULL; it = proc_next(it))
/* NOLINTEND(bugprone-macro-parentheses) */

bool proc_leads(const struct proc *proc, const char *role);

/* The living process with that id; NULL: none. */
struct proc *proc_of(struct world *world, unsigned id);
/* A living process, drawn at random; NULL: none. */
struct proc *proc_any(struct world *world);
unsigned proc_count(struct world *world);
/* Living processes that are not drained by the configuration. */
unsigned proc_active(struct world *world);

void proc_on_note(void *ctx, const struct shard_note *note); /* proc_notes.c */

/* proc_real.c: coord/work, with the shard's core */
void proc_real_open(struct proc *proc);
void proc_real_close(struct proc *proc); /* the memory is freed when the work has
					  * closed */

/* standin_work.c */
void proc_work_start(struct proc *proc);
void proc_work_owned(struct proc *proc, uint32_t partition, int64_t epoch);
void proc_work_end(struct proc *proc, uint32_t partition, int64_t epoch,
                   uint64_t deadline_ms);
void proc_work_lost(struct proc *proc, uint32_t partition);

#endif
