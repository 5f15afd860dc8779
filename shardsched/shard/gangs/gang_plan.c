#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/gang_records.h"

enum { CHUNK = 16 << 10 };

/* A member and its node, with the names by which they are ordered. */
struct planned_member {
	struct pl_span cluster, name, pod;
	const struct sched_node *node;
	const struct sched_pod *member;
	uint32_t number; /* of the member */
};

static int by_names(const void *a, const void *b)
{
	const struct planned_member *x = a, *y = b;
	int order = pl_span_cmp(x->cluster, y->cluster);

	if (order == 0)
		order = pl_span_cmp(x->name, y->name);
	return order != 0 ? order : pl_span_cmp(x->pod, y->pod);
}

static void gather_members(const struct sched *sched, const struct gang_outcome *out,
                           struct planned_member *pair)
{
	for (uint32_t i = 0; i < out->placed; i++) {
		uint32_t number = out->placement[i].member;
		const struct sched_pod *pod = sched->gangs.pod[number];
		const struct sched_node *node = sched->by_slot[out->slot[number]];

		pair[i] = (struct planned_member){.cluster =
		                                          sched_text(sched, node->key[0]),
		                                  .name = sched_text(sched, node->key[1]),
		                                  .pod = sched_text(sched, pod->key[2]),
		                                  .node = node,
		                                  .member = pod,
		                                  .number = number};
	}
	qsort(pair, out->placed, sizeof *pair, by_names);
}

static void plan_begin(struct gang_plan *plan)
{
	*plan = (struct gang_plan){0};
	pl_arena_init(&plan->arena, CHUNK, 0);
}

static enum pl_code plan_alloc(struct gang_plan *plan, uint32_t nodes, uint32_t pods,
                               struct gang_plan_pod **pod)
{
	plan->node = pl_arena_zalloc(&plan->arena, nodes, sizeof *plan->node);
	*pod = pl_arena_zalloc(&plan->arena, pods, sizeof **pod);
	return plan->node == NULL || *pod == NULL ? PL_NOMEM : PL_OK;
}

static void plan_fill(struct sched *sched, struct gang_plan *plan,
                      const struct planned_member *pair, uint32_t pairs,
                      struct gang_plan_pod *pod)
{
	struct strings *strings = &sched->model.strings;
	struct gang_plan_node *node = NULL;

	for (uint32_t i = 0; i < pairs; i++) {
		const struct sched_node *to = pair[i].node;

		if (i == 0 || pair[i - 1].node != to) {
			node = &plan->node[plan->nodes++];
			node->key[0] = strings_ref(strings, to->key[0]);
			node->key[1] = strings_ref(strings, to->key[1]);
			node->partition = to->partition;
			node->node_rev = to->rev[FACT_NODE];
			node->pod = pod;
		}
		*pod++ = (struct gang_plan_pod){
			.name = strings_ref(strings, pair[i].member->key[2]),
			.spec_rev = pair[i].member->rev[FACT_SPEC]};
		node->pods++;
		plan->pods++;
	}
}

/* First where each member stands in the plan, by its number; then in the order of
 * placing. */
static void plan_set_turns(struct gang_plan *plan, const struct gang_outcome *out,
                           const struct planned_member *pair, struct gang_plan_turn *at)
{
	uint32_t pod = 0;

	for (uint32_t i = 0; i < plan->nodes; i++)
		for (uint32_t n = 0; n < plan->node[i].pods; n++)
			at[pair[pod++].number] = (struct gang_plan_turn){i, n};
	PL_ASSERT(pod == plan->pods && pod == out->placed);
	for (uint32_t i = 0; i < plan->pods; i++)
		plan->turn[i] = at[out->placement[i].member];
}

enum pl_code gang_plan_from_decision(struct sched *sched, struct gang_plan *plan,
                                     const struct gang_outcome *out, uint32_t count,
                                     struct pl_err *err)
{
	struct gang_plan_pod *pod = NULL;
	struct gang_plan_turn *at;
	struct planned_member *pair;

	plan_begin(plan);
	pair = pl_arena_zalloc(&plan->arena, out->placed, sizeof *pair);
	at = pl_arena_zalloc(&plan->arena, count, sizeof *at);
	plan->turn = pl_arena_zalloc(&plan->arena, out->placed, sizeof *plan->turn);
	if (pair == NULL || at == NULL || plan->turn == NULL ||
	    plan_alloc(plan, out->placed, out->placed, &pod) != PL_OK) {
		gang_plan_done(sched, plan);
		return pl_err_set(err, PL_NOMEM, "plan a gang");
	}
	gather_members(sched, out, pair);
	plan_fill(sched, plan, pair, out->placed, pod);
	plan_set_turns(plan, out, pair, at);
	return PL_OK;
}

static enum pl_code plan_read_node(struct sched *sched, struct gang_plan *plan,
                                   const struct gang_record_node *from,
                                   struct gang_plan_pod *pod)
{
	struct strings *strings = &sched->model.strings;
	struct gang_plan_node *node = &plan->node[plan->nodes++];

	node->partition = from->partition;
	node->pod = pod;
	if (strings_add(strings, from->cluster, &node->key[0]) != PL_OK ||
	    strings_add(strings, from->name, &node->key[1]) != PL_OK)
		return PL_NOMEM;
	for (uint32_t i = 0; i < from->pods; i++) {
		if (strings_add(strings, from->pod[i].name, &pod[i].name) != PL_OK)
			return PL_NOMEM;
		pod[i].spec_rev = from->pod[i].spec_rev;
		node->pods++;
		plan->pods++;
	}
	return PL_OK;
}

enum pl_code gang_plan_from_record(struct sched *sched, struct gang_plan *plan,
                                   const struct gang_record_entry *known,
                                   struct pl_err *err)
{
	struct gang_record record = {0};
	struct gang_plan_pod *pod = NULL;
	uint32_t pods = 0;
	enum pl_code code;

	plan_begin(plan);
	pl_arena_reset(&sched->gangs.arena);
	code = gang_record_parse(pl_span(known->value, known->len), &sched->gangs.arena,
	                         &record, err);
	for (uint32_t i = 0; code == PL_OK && i < record.nodes; i++)
		pods += record.node[i].pods;
	if (code == PL_OK)
		code = plan_alloc(plan, record.nodes, pods, &pod);
	for (uint32_t i = 0; code == PL_OK && i < record.nodes; i++) {
		code = plan_read_node(sched, plan, &record.node[i], pod);
		pod += record.node[i].pods;
	}
	if (code == PL_OK)
		return PL_OK;
	gang_plan_done(sched, plan);
	return pl_err_set(err, code, "read a gang's record");
}

void gang_plan_done(struct sched *sched, struct gang_plan *plan)
{
	struct strings *strings = &sched->model.strings;

	for (uint32_t i = 0; i < plan->nodes; i++) {
		const struct gang_plan_node *node = &plan->node[i];

		strings_unref(strings, node->key[0]);
		strings_unref(strings, node->key[1]);
		for (uint32_t n = 0; n < node->pods; n++)
			strings_unref(strings, node->pod[n].name);
	}
	pl_arena_done(&plan->arena);
	*plan = (struct gang_plan){0};
}

/* -- as a record ------------------------------------------------------------- */

static enum pl_code print_record(struct sched *sched, const struct gang_record *record,
                                 struct pl_arena *arena, struct pl_span *out,
                                 struct pl_err *err)
{
	enum pl_code code;

	pl_buf_clear(&sched->buf, sched->buf.cap);
	code = gang_record_print(record, &sched->buf, err);
	if (code != PL_OK)
		return code;
	*out = pl_arena_dup(arena, pl_buf_span(&sched->buf));
	return out->at == NULL ? pl_err_set(err, PL_NOMEM, "write a gang's record")
	                       : PL_OK;
}

enum pl_code gang_plan_print(struct sched *sched, const struct gang_plan *plan,
                             enum gang_phase phase, int64_t until_ms,
                             struct pl_arena *arena, struct pl_span *out,
                             struct pl_err *err)
{
	struct gang_record record = {.phase = phase,
	                             .shard = pl_span_str(sched->shard),
	                             .until_ms = until_ms,
	                             .nodes = plan->nodes};
	struct gang_record_node *node;
	struct gang_record_pod *pod;

	pl_arena_reset(&sched->gangs.arena);
	node = pl_arena_zalloc(&sched->gangs.arena, plan->nodes, sizeof *node);
	pod = pl_arena_zalloc(&sched->gangs.arena, plan->pods, sizeof *pod);
	if (node == NULL || pod == NULL)
		return pl_err_set(err, PL_NOMEM, "write a gang's record");
	record.node = node;
	record.epoch = plan->epoch;
	for (uint32_t i = 0; i < plan->nodes; i++) {
		const struct gang_plan_node *from = &plan->node[i];

		node[i] = (struct gang_record_node){
			.partition = from->partition,
			.cluster = sched_text(sched, from->key[0]),
			.name = sched_text(sched, from->key[1]),
			.pod = pod,
			.pods = from->pods};
		for (uint32_t n = 0; n < from->pods; n++)
			*pod++ = (struct gang_record_pod){
				.name = sched_text(sched, from->pod[n].name),
				.spec_rev = from->pod[n].spec_rev};
	}
	return print_record(sched, &record, arena, out, err);
}

enum pl_code gang_plan_print_phase(struct sched *sched,
                                   const struct gang_record_entry *known,
                                   enum gang_phase phase, struct pl_arena *arena,
                                   struct pl_span *out, struct pl_err *err)
{
	struct gang_record record = {0};
	enum pl_code code;

	pl_arena_reset(&sched->gangs.arena);
	code = gang_record_parse(pl_span(known->value, known->len), &sched->gangs.arena,
	                         &record, err);
	if (code != PL_OK)
		return code;
	record.phase = phase;
	record.shard = pl_span_str(sched->shard);
	record.epoch = sched->partition[known->partition].epoch;
	return print_record(sched, &record, arena, out, err);
}

/* -- which pods are meant ---------------------------------------------------- */

struct sched_node *gang_plan_find_node(const struct sched *sched,
                                       const struct gang_plan_node *node)
{
	return node_by_key(sched, node->key);
}

struct sched_pod *gang_plan_find_pod(const struct sched *sched,
                                     const struct sched_gang *gang,
                                     const struct gang_plan_pod *pod)
{
	return pod_find(sched, gang->key[0], sched_text(sched, gang->key[1]),
	                sched_text(sched, pod->name));
}

bool gang_plan_pod_waits(const struct sched_pod *pod, const struct gang_plan_pod *is)
{
	return pod != NULL && pod->rev[FACT_SPEC] == is->spec_rev &&
	       pod->stage == POD_QUEUED;
}
