/*
 * Decides whole gangs: on local nodes first, then on all known ones. A gang that fits
 * into one transaction goes into the atomic batch, which also compares that there is no
 * record of a larger attempt; other gangs go to gang_large.c.
 */
#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/gang_records.h"
#include "shardsched/shard/gangs/gangs.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/txn/batch.h"
#include "shardsched/shard/txn/commit.h"
#include "shardsched/snapshot/label_column.h"
#include "store/base/alloc.h"
#include "store/base/hash.h"

enum { WORK_PER_MEMBER = 64, WORK_LEAST = 4096 };

/* A plugin number that is not used: no event helps. */
#define NO_PLUGIN (UINT64_C(1) << (QUEUE_PLUGINS_MAX - 1))

/* -- which pods are to be placed --------------------------------------------- */

static int cmp_by_age(const void *a, const void *b)
{
	const struct sched_pod *x = *(struct sched_pod *const *)a;
	const struct sched_pod *y = *(struct sched_pod *const *)b;

	if (x->created_ms != y->created_ms)
		return x->created_ms < y->created_ms ? -1 : 1;
	return x->rev[FACT_SPEC] < y->rev[FACT_SPEC] ? -1 : 1;
}

static enum pl_code members_reserve(struct gangs *gangs, uint32_t count)
{
	void *grown;

	if (count <= gangs->cap)
		return PL_OK;
	grown = pl_realloc(gangs->member, count * sizeof *gangs->member);
	if (grown == NULL)
		return PL_NOMEM;
	gangs->member = grown;
	grown = pl_realloc(gangs->pod, count * sizeof(struct sched_pod *));
	if (grown == NULL)
		return PL_NOMEM;
	gangs->pod = grown;
	gangs->cap = count;
	return PL_OK;
}

/* The members that wait, the oldest first. */
static enum pl_code gather_members(struct sched *sched, const struct sched_gang *gang,
                                   uint32_t *count)
{
	struct gangs *gangs = &sched->gangs;

	if (members_reserve(gangs, gang->count) != PL_OK)
		return PL_NOMEM;
	*count = 0;
	PL_LIST_EACH (link, &gang->members) {
		struct sched_pod *pod = member_of(link);

		if (pod->stage == POD_QUEUED && !pod->gated)
			gangs->pod[(*count)++] = pod;
	}
	qsort(gangs->pod, *count, sizeof(struct sched_pod *), cmp_by_age);
	return PL_OK;
}

static enum pl_code fill_members(struct sched *sched, uint32_t count, bool all,
                                 struct pl_err *err)
{
	struct gangs *gangs = &sched->gangs;

	for (uint32_t i = 0; i < count; i++) {
		struct sched_pod *pod = gangs->pod[i];
		struct registered_class *open = pool_class_of(pod->queue.class);
		struct gang_member *member = &gangs->member[i];
		enum pl_code code;

		*member = (struct gang_member){.self = {.name = pod->key[2],
		                                        .uid = pod_uid(sched, pod),
		                                        .nominated = SNAPSHOT_NONE,
		                                        .created_ms = pod->created_ms}};
		code = all ? class_registry_all(sched->class_registry, open,
		                                &member->class, err)
		           : class_registry_fw(sched->class_registry, open,
		                               &member->class, err);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

/* A node with a bound member, whose domain the others have to share. PL_BUSY: it is not
 * known. */
static enum pl_code find_bound_domain(struct sched *sched, const struct sched_gang *gang,
                                      uint32_t key, uint32_t *out, struct pl_err *err)
{
	struct label_column *column;
	bool known = true;
	enum pl_code code;

	*out = 0;
	if (key == 0 || gang->present == 0)
		return PL_OK;
	code = label_column_open_domains(&sched->snapshot, key, &column, err);
	if (code != PL_OK)
		return code;
	PL_LIST_EACH (link, &gang->members) {
		const struct sched_pod *pod = member_of(link);
		const struct sched_node *node;

		if (pod->stage != POD_IDLE || pod->phase != STATE_BOUND || *out != 0)
			continue;
		node = node_by_key(sched, pod->at);
		known = known && node != NULL && node->slot != SNAPSHOT_NONE;
		if (node != NULL && node->slot != SNAPSHOT_NONE)
			*out = column->value[node->slot] == 0 ? 0 : node->slot + 1;
	}
	label_column_close(&sched->snapshot, column);
	return known || *out != 0 ? PL_OK : PL_BUSY;
}

/* -- refused ----------------------------------------------------------------- */

static void gang_refuse(struct sched *sched, struct sched_gang *gang, uint64_t by,
                        uint32_t reason)
{
	gang_tried(gang);
	queue_refuse(sched->queue, &gang->queue, by, reason, sched->now_ms);
}

static void gang_fault(struct sched *sched, struct sched_gang *gang,
                       const struct pl_err *err)
{
	report_trouble(sched, err);
	queue_retry(sched->queue, &gang->queue, QUEUE_FAULT, true, REASON_FAILED,
	            sched->now_ms);
}

static void report_no_room(struct sched *sched, struct sched_gang *gang,
                           const struct gang_outcome *out)
{
	char why[GANG_MESSAGE_SIZE / 2] = "no node is in such a domain";
	struct pl_span who = PL_SPAN_LIT("");

	if (out->blocked != SNAPSHOT_NONE) {
		who = sched_text(sched, sched->gangs.pod[out->blocked]->key[2]);
		pending_status_explain(sched, &out->why, why, sizeof why);
	}
	gang_set_reason(sched, gang, REASON_GANG_ROOM,
	                "%s for %u of %u members: %.*s%s%s",
	                gang_result_word(out->result), out->placed + 1, gang->ready,
	                PL_SPAN_ARG(who), who.len > 0 ? ": " : "", why);
	gang_refuse(sched, gang, out->refused_by, REASON_GANG_ROOM);
}

static void report_disagrees(struct sched *sched, struct sched_gang *gang,
                             const struct gang_outcome *out)
{
	struct pl_span who = sched_text(sched, sched->gangs.pod[out->member]->key[2]);
	struct pl_span other = sched_text(sched, sched->gangs.pod[out->other]->key[2]);

	gang_set_reason(sched, gang, REASON_GANG_DISAGREES,
	                "%.*s does not agree with %.*s: %s %s", PL_SPAN_ARG(who),
	                PL_SPAN_ARG(other), gang_fault_field(out->fault),
	                gang_fault_sentence(out->fault));
	/* Until a member changes: then the gang is looked at anew. */
	gang_refuse(sched, gang, NO_PLUGIN, REASON_GANG_DISAGREES);
}

/* -- placed ------------------------------------------------------------------ */

/* Takes back the members that were assumed. */
static void unassume_members(struct sched *sched, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (sched->gangs.pod[i]->stage == POD_ASSUMED)
			pod_unassume(sched, sched->gangs.pod[i]);
}

static bool place_member(struct sched *sched, struct sched_pod *pod,
                         struct sched_node *node, struct pl_err *err)
{
	const struct pod_on_node on = {
		.spec = pod->spec, .name = pod->key[2], .uid = pod_uid(sched, pod)};

	PL_ASSERT(node != NULL && node->slot != SNAPSHOT_NONE);
	if (snapshot_pod_add(&sched->snapshot, node->slot, &on, &pod->placed, err) !=
	    PL_OK) {
		pod->placed = SNAPSHOT_NONE;
		return false;
	}
	sched->figures.decided++;
	emit_queue_event(sched, QUEUE_EV_POD_ADDED, node->slot);
	pod_unlink(sched, pod);
	node_add_waiting(sched, node, pod);
	batch_add(sched, pod);
	if (class_rules_of(pool_class_of(pod->queue.class))->lane != LANE_PLAIN)
		rules_batch_class(sched, pool_class_of(pod->queue.class));
	return true;
}

static bool assume_members(struct sched *sched, const uint32_t *slot, uint32_t count,
                           struct pl_err *err)
{
	for (uint32_t i = 0; i < count; i++)
		if (slot[i] != SNAPSHOT_NONE &&
		    !place_member(sched, sched->gangs.pod[i], sched->by_slot[slot[i]],
		                  err))
			return false;
	return true;
}

/* A larger attempt that was left behind is dealt with first. */
static void expect_no_record(struct sched *sched, const struct sched_gang *gang)
{
	struct keys_text text;

	(void)batch_add_condition(
		sched, &(struct batch_condition){
			       .how = BATCH_EXPECT,
			       .key = gang_records_key(sched, &gang->key[1], &text)});
}

/* All members in one transaction. */
static void batch_add_members(struct sched *sched, struct sched_gang *gang,
                              const uint32_t *slot, uint32_t count)
{
	struct pl_err err = {0};

	queue_placed(sched->queue, &gang->queue, sched->now_ms);
	batch_add_gang(sched, gang);
	expect_no_record(sched, gang);
	if (!assume_members(sched, slot, count, &err)) {
		report_trouble(sched, &err);
		unassume_members(sched, count);
		gang->pause = true;
		batch_break(sched);
	}
}

static uint32_t count_nodes(const uint32_t *slot, uint32_t count)
{
	uint32_t nodes = 0;

	/* members of one node mostly follow each other */
	for (uint32_t i = 0; i < count; i++)
		nodes += slot[i] != SNAPSHOT_NONE && (i == 0 || slot[i] != slot[i - 1]);
	return nodes;
}

/* A gang that is active in its lane is popped once fewer attempts are under way. */
static void wait_for_turn(struct sched *sched, struct sched_gang *gang)
{
	struct pl_err err = {0};

	if (queue_class_move(sched->queue, &gang->class, LANE_LARGE, &err) == PL_OK)
		queue_put_back(sched->queue, &gang->queue, sched->now_ms);
	else
		gang_fault(sched, gang, &err);
}

static void commit_members(struct sched *sched, struct sched_gang *gang,
                           const struct gang_outcome *out, uint32_t count)
{
	bool fits = batch_fits(sched, out->placed, count_nodes(out->slot, count));
	const char *why = NULL;

	if (fits && !gang->large) {
		batch_add_members(sched, gang, out->slot, count);
		return;
	}
	/* Other pods are in the batch, so the gang goes into the next one. */
	if (batch_is_gathering(sched)) {
		queue_put_back(sched->queue, &gang->queue, sched->now_ms);
		batch_close(sched);
		return;
	}
	if (large_gangs_are_full(sched)) {
		wait_for_turn(sched, gang);
		return;
	}
	if (large_gang_begin(sched, gang, out, count, &why))
		return;
	gang_set_reason(sched, gang, REASON_GANG_LARGE,
	                "%u members do not fit into one transaction, %s", out->placed,
	                why);
	gang_refuse(sched, gang, NO_PLUGIN, REASON_GANG_LARGE);
}

/* -- tried ------------------------------------------------------------------- */

static bool has_fleet_view(const struct sched *sched)
{
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		if (!sched->partition[i].owned)
			return false;
	return true;
}

static void want_fleet_view(struct sched *sched, struct sched_gang *gang)
{
	if (!gang->viewing)
		fleet_view_acquire(sched);
	gang->viewing = true;
}

/* Rules about pods on other nodes allow a decision, by the registries and by what the
 * fleet view has brought. */
static bool may_decide(struct sched *sched, struct sched_gang *gang, uint32_t count,
                       enum reason_code *refused)
{
	unsigned shut = rules_lanes_shut(sched);
	bool now = true;

	*refused = REASON_NONE;
	for (uint32_t i = 0; i < count; i++) {
		struct registered_class *open =
			pool_class_of(sched->gangs.pod[i]->queue.class);
		const struct class_rules *class_rules = class_rules_of(open);

		if (class_rules->refused)
			*refused = REASON_RULES_FULL;
		else if (class_rules->coarse)
			*refused = REASON_RULES_MANY;
		if (class_rules->wide)
			want_fleet_view(sched, gang);
		if (class_rules->lane == LANE_PLAIN)
			continue;
		/* every class is asked, so that all waits begin at once */
		now = rules_may_decide(sched, open) && now &&
		      (shut >> class_rules->lane & 1) == 0;
	}
	return now && *refused == REASON_NONE;
}

static enum pl_code run_cycle(struct sched *sched, struct sched_gang *gang,
                              uint32_t count, bool all, struct gang_outcome *out,
                              struct pl_err *err)
{
	const struct pl_hash_key key = {sched->opts.seed,
	                                gang->attempts + gang->queue.attempts};
	struct gang_opts opts = {
		.draw = pl_hash_keyed(sched_text(sched, gang->key[2]), key),
		.work_max = (uint64_t)WORK_PER_MEMBER * count + WORK_LEAST,
		.present = gang->present};
	enum pl_code code = fill_members(sched, count, all, err);

	if (code == PL_OK)
		code = find_bound_domain(sched, gang,
		                         sched->gangs.pod[0]->spec->template->gang_domain,
		                         &opts.present_node, err);
	if (code != PL_OK)
		return code;
	return gang_decide(sched->gangs.tool, sched->cycle, sched->gangs.member, count,
	                   &opts, out, err);
}

static bool is_refusal(enum gang_result result)
{
	return result == GANG_NO_ROOM || result == GANG_TOO_MUCH;
}

/* No local node has room: remote nodes are looked at, now or when they are known. */
static enum pl_code run_cycle_all(struct sched *sched, struct sched_gang *gang,
                                  uint32_t count, struct gang_outcome *out,
                                  struct pl_err *err)
{
	if (has_fleet_view(sched))
		return PL_OK;
	want_fleet_view(sched, gang);
	if (!sched->fleet_view.known && sched->remote_lists.known == 0)
		return PL_OK;
	return run_cycle(sched, gang, count, true, out, err);
}

/* The nodes of the bound members are not known here: they are remote, and are looked for,
 * or they are gone. */
static void find_bound_members(struct sched *sched, struct sched_gang *gang)
{
	if (!has_fleet_view(sched))
		want_fleet_view(sched, gang);
	if (!has_fleet_view(sched) && !sched->fleet_view.known) {
		queue_retry(sched->queue, &gang->queue, QUEUE_CONFLICT, true, REASON_NONE,
		            sched->now_ms);
		return;
	}
	gang_set_reason(sched, gang, REASON_GANG_ROOM,
	                "the nodes of its bound members are not known");
	gang_refuse(sched, gang, 0, REASON_GANG_ROOM);
}

static void place_late_members(struct sched *sched, struct sched_gang *gang,
                               const struct gang_outcome *out, uint32_t count)
{
	struct pl_err err = {0};

	switch (out->result) {
	case GANG_PLACED:
		commit_members(sched, gang, out, count);
		return;
	case GANG_INCOMPLETE: /* a member has gone just now */
		gang_refuse(sched, gang, NO_PLUGIN, REASON_GANG_INCOMPLETE);
		gang_set_dirty(sched, gang);
		return;
	case GANG_NO_ROOM:
	case GANG_TOO_MUCH:
		report_no_room(sched, gang, out);
		return;
	case GANG_DISAGREES:
		report_disagrees(sched, gang, out);
		return;
	case GANG_FAILED:
		decide_cycle_error(sched, "gang ", &gang->key[1], &out->why, &err);
		gang_fault(sched, gang, &err);
		return;
	case GANG_RESULTS:
		break;
	}
	PL_UNREACHABLE("result of a gang");
}

static void try_gang(struct sched *sched, struct sched_gang *gang)
{
	struct gang_outcome out = {0};
	struct pl_err err = {0};
	enum reason_code not_at_all = REASON_NONE;
	uint32_t count = 0;
	enum pl_code code = gather_members(sched, gang, &count);

	PL_ASSERT(batch_accepts_gang(sched));
	if (gang->work != NULL || gang_records_has(sched, &gang->key[1])) {
		queue_retry(sched->queue, &gang->queue, QUEUE_CONFLICT, true, REASON_NONE,
		            sched->now_ms);
		return;
	}
	if (code == PL_OK && count == 0) {
		gang_refuse(sched, gang, NO_PLUGIN, REASON_GANG_INCOMPLETE);
		gang_set_dirty(sched, gang);
		return;
	}
	if (code == PL_OK && !may_decide(sched, gang, count, &not_at_all)) {
		if (not_at_all != REASON_NONE) {
			gang_set_reason(sched, gang, not_at_all,
			                "the registry of rules is full");
			gang_refuse(sched, gang, 0, not_at_all);
		} else {
			queue_retry(sched->queue, &gang->queue, QUEUE_CONFLICT, true,
			            REASON_NONE, sched->now_ms);
		}
		return;
	}
	if (code == PL_OK)
		code = run_cycle(sched, gang, count, false, &out, &err);
	if (code == PL_OK && is_refusal(out.result))
		code = run_cycle_all(sched, gang, count, &out, &err);
	if (code == PL_OK) {
		place_late_members(sched, gang, &out, count);
		return;
	}
	if (code == PL_BUSY) {
		find_bound_members(sched, gang);
		return;
	}
	if (err.code == PL_OK)
		pl_err_set(&err, code, "decide a gang");
	gang_fault(sched, gang, &err);
}

/* Classes that are prepared for its members are kept until it is decided, however many
 * there are. */
void gang_try_now(struct sched *sched, struct sched_gang *gang)
{
	struct class_registry *class_registry = sched->class_registry;

	class_registry_hold(class_registry);
	try_gang(sched, gang);
	class_registry_release(class_registry);
}

/* -- and then ---------------------------------------------------------------- */

void gang_batch_done(struct sched *sched, struct sched_gang *gang, bool stood)
{
	bool pause = gang->pause;

	gang->pause = false;
	gang_set_dirty(sched, gang);
	if (!gang->open || gang->queue.place != QUEUE_IN_FLIGHT)
		return;
	if (stood) /* a gang that found no room beyond the minimum tries the rest */
		queue_retry(sched->queue, &gang->queue, QUEUE_NEW, false, REASON_NONE,
		            sched->now_ms);
	else
		queue_retry(sched->queue, &gang->queue,
		            pause ? QUEUE_FAULT : QUEUE_CONFLICT, pause, REASON_NONE,
		            sched->now_ms);
}

void gang_too_large(struct sched_gang *gang)
{
	gang->large = true;
}
