/* Notes of a shard, passed to its worker, the judges and the story. */
#include <inttypes.h>
#include <stdio.h>

#include "tests/sim/proc.h"

static void note_lost(struct proc *proc, const struct shard_note *note)
{
	static const enum cover_what hits[] = {
		[CLAIMS_HANDED_OVER] = COVER_HANDED_OVER,
		[CLAIMS_KEPT] = COVER_HANDED_OVER,
		[CLAIMS_GONE] = COVER_LOST_GONE,
		[CLAIMS_SESSION] = COVER_LOST_SESSION,
		[CLAIMS_FENCED] = COVER_LOST_FENCED,
		[CLAIMS_REWOUND] = COVER_LOST_REWOUND,
		[CLAIMS_CLOSED] = COVER_LOST_SESSION,
	};
	static const char *const whys[] = {
		[CLAIMS_KEPT] = "kept",
		[CLAIMS_HANDED_OVER] = "handed over",
		[CLAIMS_GONE] = "its key is gone",
		[CLAIMS_SESSION] = "session down",
		[CLAIMS_FENCED] = "fenced",
		[CLAIMS_REWOUND] = "store rewound",
		[CLAIMS_CLOSED] = "closing",
	};

	world_hit(proc->world, hits[note->why]);
	STORY(&proc->world->story, proc->name, "loses %u, epoch %" PRId64 ": %s",
	      note->partition, note->epoch, whys[note->why]);
	proc_work_lost(proc, note->partition);
	world_observe(proc->world, &(struct obs){.what = OBS_LOST,
	                                         .proc = proc,
	                                         .partition = note->partition,
	                                         .epoch = note->epoch});
}

static bool has_waiting(const struct world *world, uint32_t partition)
{
	const struct mirror *mirror = world->mirror;

	for (uint32_t i = 0; mirror != NULL && i < mirror->pods; i++)
		if (mirror->pod[i].has_spec && mirror->pod[i].partition == partition &&
		    !mirror_is_placed(&mirror->pod[i]))
			return true;
	return false;
}

static void note_own(struct proc *proc, const struct shard_note *note)
{
	STORY(&proc->world->story, proc->name, "owns %u, epoch %" PRId64, note->partition,
	      note->epoch);
	world_hit(proc->world, COVER_OWN);
	if (has_waiting(proc->world, note->partition))
		world_hit(proc->world, COVER_TAKEN_WAITING);
	world_observe(proc->world, &(struct obs){.what = OBS_OWN,
	                                         .proc = proc,
	                                         .partition = note->partition,
	                                         .epoch = note->epoch});
	proc_work_owned(proc, note->partition, note->epoch);
}

static void note_meta(struct proc *proc)
{
	proc->partitions = shard_partitions(proc->shard);
	STORY(&proc->world->story, proc->name, "knows of %u partitions",
	      proc->partitions);
	PL_ASSERT(proc->partitions <= proc->world->truth.partitions);
	if (proc->hold == NULL)
		proc_work_start(proc);
}

static void note_config(struct proc *proc, const struct shard_note *note)
{
	STORY(&proc->world->story, proc->name, "%s %s version %" PRIu64 "%s%s",
	      note->err == NULL ? "applies" : "refuses", config_name_text(note->config),
	      note->version, note->err == NULL ? "" : ": ",
	      note->err == NULL ? "" : note->err->msg);
	proc->config_refused[note->config] = note->err != NULL;
	if (note->err == NULL && note->config == CONFIG_COORD && note->version != 0 &&
	    note->version == proc->world->bad_version)
		check_fail(proc->world, "config",
		           "%s applies version %" PRIu64 " of coord, which is broken",
		           proc->name, note->version);
	if (note->err == NULL)
		proc->config[note->config] = note->version;
	world_hit(proc->world,
	          note->err == NULL ? COVER_CONFIG_APPLIED : COVER_CONFIG_REFUSED);
}

bool proc_leads(const struct proc *proc, const char *role)
{
	for (unsigned i = 0; i < TRUTH_ROLES_MAX; i++)
		if (strcmp(proc->leads[i], role) == 0)
			return true;
	return false;
}

static void set_leads(struct proc *proc, const char *role, bool leads)
{
	for (unsigned i = 0; i < TRUTH_ROLES_MAX; i++)
		if (strcmp(proc->leads[i], leads ? "" : role) == 0) {
			(void)snprintf(proc->leads[i], TRUTH_ROLE_SIZE, "%s",
			               leads ? role : "");
			return;
		}
}

static void note_role(struct proc *proc, const struct shard_note *note)
{
	bool leads = note->what == SHARD_LEAD;

	if (leads)
		STORY(&proc->world->story, proc->name, "leads %s, epoch %" PRId64,
		      note->role, note->epoch);
	else
		STORY(&proc->world->story, proc->name, "does not lead %s", note->role);
	set_leads(proc, note->role, leads);
	if (leads)
		world_hit(proc->world, COVER_LEAD);
	world_observe(proc->world, &(struct obs){.what = leads ? OBS_LEAD : OBS_FOLLOW,
	                                         .proc = proc,
	                                         .role = note->role,
	                                         .epoch = note->epoch});
}

static void story_note(struct proc *proc, enum cover_what what, const char *words,
                       const struct pl_err *err)
{
	if (what != COVER_COUNT)
		world_hit(proc->world, what);
	STORY(&proc->world->story, proc->name, "%s%s%s", words, err == NULL ? "" : ": ",
	      err == NULL ? "" : err->msg);
}

static void note_swept(struct proc *proc, const struct shard_note *note)
{
	if (note->key.len != 0)
		STORY(&proc->world->story, proc->name, "removes " PL_SPAN_FMT,
		      PL_SPAN_ARG(note->key));
	else
		STORY(&proc->world->story, proc->name, "compacts to %" PRId64,
		      note->revision);
	world_hit(proc->world, note->key.len != 0 ? COVER_SWEPT : COVER_COMPACTED);
}

static void note_closed(struct proc *proc)
{
	proc->shard = NULL;
	if (!proc->ghost) {
		story_note(proc, COVER_COUNT, "is closed", NULL);
		world_observe(proc->world,
		              &(struct obs){.what = OBS_CLOSED, .proc = proc});
	}
	pl_timer_done(&proc->busy);
	if (proc->work != NULL)
		proc_real_close(proc);
	else
		agenda_set(&proc->world->agenda, &proc->reap, proc->world->agenda.now_ms);
}

static void note_trouble(struct proc *proc, const struct shard_note *note)
{
	if (!proc->world->story.terse)
		STORY(&proc->world->story, proc->name, "has trouble with %s: %s",
		      note->part == NULL ? "something" : note->part,
		      note->err == NULL ? "" : note->err->msg);
}

static void note_session(struct proc *proc, const struct shard_note *note)
{
	if (note->what == SHARD_UP) {
		if (proc->lease != note->lease)
			STORY(&proc->world->story, proc->name, "is up, lease %" PRIx64,
			      (uint64_t)note->lease);
		proc->lease = note->lease;
	} else if (note->what == SHARD_DOUBT) {
		story_note(proc, COVER_DOUBT, "is in doubt", note->err);
	} else {
		story_note(proc, COVER_DOWN, "is down", note->err);
		proc->lease = 0;
	}
}

static void note_end(struct proc *proc, const struct shard_note *note)
{
	story_note(proc, COVER_REFUSED, "is refused", note->err);
	proc->refused = true;
	agenda_set(&proc->world->agenda, &proc->reap, proc->world->agenda.now_ms);
}

static void note_state(struct proc *proc, enum membership_state state, const char *words)
{
	proc->state = state;
	story_note(proc, COVER_COUNT, words, NULL);
}

static void note_quiesce(struct proc *proc, const struct shard_note *note)
{
	STORY(&proc->world->story, proc->name, "is to hand over %u", note->partition);
	world_hit(proc->world, COVER_QUIESCE);
	proc_work_end(proc, note->partition, note->epoch, note->deadline_ms);
}

static void note_fenced(struct proc *proc, const struct shard_note *note)
{
	world_hit(proc->world, COVER_FENCED);
	STORY(&proc->world->story, proc->name, "was fenced on %u", note->partition);
	world_observe(proc->world, &(struct obs){.what = OBS_FENCED,
	                                         .proc = proc,
	                                         .partition = note->partition,
	                                         .epoch = note->epoch});
}

/* A table of weights moves at most a tenth of the partitions: no configuration allows
 * more. */
static void note_balanced(struct proc *proc, const struct shard_note *note)
{
	uint32_t most = proc->partitions / 10 == 0 ? 1 : proc->partitions / 10;

	STORY(&proc->world->story, proc->name, "balances, %u moves", note->moves);
	world_hit(proc->world, COVER_BALANCED);
	if (note->moves == 0 || note->moves > most)
		check_fail(proc->world, "moves", "%s writes weights that move %u of %u",
		           proc->name, note->moves, proc->partitions);
}

/* Handles notes about a partition; returns false for other notes. */
static bool note_partition(struct proc *proc, const struct shard_note *note)
{
	if (note->what == SHARD_OWN)
		note_own(proc, note);
	else if (note->what == SHARD_QUIESCE)
		note_quiesce(proc, note);
	else if (note->what == SHARD_LOST)
		note_lost(proc, note);
	else if (note->what == SHARD_FENCED)
		note_fenced(proc, note);
	else
		return false;
	return true;
}

static void note_other(struct proc *proc, const struct shard_note *note)
{
	switch (note->what) {
	case SHARD_META:
		note_meta(proc);
		break;
	case SHARD_UP:
	case SHARD_DOUBT:
	case SHARD_DOWN:
		note_session(proc, note);
		break;
	case SHARD_ACTIVE:
		note_state(proc, MEMBERSHIP_ACTIVE, "is active");
		break;
	case SHARD_DRAINING:
		note_state(proc, MEMBERSHIP_DRAINING, "drains");
		break;
	case SHARD_DRAINED:
		story_note(proc, COVER_COUNT, "is drained", NULL);
		break;
	case SHARD_MALFORMED:
		story_note(proc, COVER_MALFORMED, "reports a malformed key", note->err);
		break;
	case SHARD_CONFIG:
		note_config(proc, note);
		break;
	case SHARD_LEAD:
	case SHARD_FOLLOW:
		note_role(proc, note);
		break;
	case SHARD_BALANCED:
		note_balanced(proc, note);
		break;
	case SHARD_SWEPT:
		note_swept(proc, note);
		break;
	case SHARD_REWOUND:
		story_note(proc, COVER_COUNT, "sees that the store went back", NULL);
		break;
	case SHARD_TROUBLE:
		note_trouble(proc, note);
		break;
	case SHARD_REFUSED:
		note_end(proc, note);
		break;
	case SHARD_CLOSED:
	case SHARD_OWN:
	case SHARD_QUIESCE:
	case SHARD_LOST:
	case SHARD_FENCED:
		PL_UNREACHABLE("handled elsewhere");
	}
}

void proc_on_note(void *ctx, const struct shard_note *note)
{
	struct proc *proc = ctx;

	if (proc->work != NULL)
		work_on_note(proc->work, note);
	if (note->what == SHARD_CLOSED)
		note_closed(proc);
	else if (!proc->ghost && !note_partition(proc, note))
		note_other(proc, note);
}
