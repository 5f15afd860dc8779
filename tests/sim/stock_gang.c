/* Records of large gangs and disruption budgets, read for the judges. */
#include <stdlib.h>

#include "store/base/json.h"
#include "store/base/timestamp.h"
#include "tests/sim/world.h"

/* -- a gang's record ---------------------------------------------------------- */

static struct stock_gang *touch_gang(struct stock *stock, uint32_t i)
{
	if (!stock->is_touched_gang[i]) {
		stock->is_touched_gang[i] = true;
		stock->was_gang[i] = stock->gang[i];
		stock->touched_gang[stock->touched_gangs++] = i;
	}
	return &stock->gang[i];
}

const struct stock_planned *stock_planned_of(const struct stock_gang *gang, uint32_t pod)
{
	for (uint32_t i = 0; i < gang->count && gang->phase != STOCK_GANG_NONE; i++)
		if (gang->plan[i].pod == pod)
			return &gang->plan[i];
	return NULL;
}

static bool read_planned(struct stock *stock, struct pl_json pods,
                         struct pl_span namespace, uint32_t node, struct stock_gang *out)
{
	PL_JSON_EACH (pod, pods) {
		struct stock_planned *to = &out->plan[out->count];
		const char *rev = "";

		if (out->count == SCENE_GANG_PODS ||
		    pl_json_as_string(pod, &rev, NULL) != PL_OK)
			return false;
		*to = (struct stock_planned){
			.pod = scene_pod_of(&stock->scene, namespace,
		                            pl_span_str(pl_json_key(pod))),
			.node = node,
			.spec_rev = strtoll(rev, NULL, 10)};
		if (to->pod == STOCK_NONE)
			return false;
		out->count++;
	}
	return true;
}

static bool read_plan(struct stock *stock, struct pl_json nodes, struct pl_span namespace,
                      struct stock_gang *out)
{
	PL_JSON_EACH (node, nodes) {
		const char *cluster = "", *name = "";
		uint32_t i;

		if (pl_json_string(node, "cluster", PL_JSON_REQUIRED, &cluster, NULL) !=
		            PL_OK ||
		    pl_json_string(node, "node", PL_JSON_REQUIRED, &name, NULL) != PL_OK)
			return false;
		i = scene_node_of(&stock->scene, pl_span_str(cluster), pl_span_str(name));
		if (i == STOCK_NONE ||
		    !read_planned(stock, pl_json_member(node, "pods"), namespace, i, out))
			return false;
	}
	return out->count > 0;
}

static enum stock_gang_phase gang_phase_of(const char *word)
{
	static const char *const words[] = {[STOCK_GANG_RESERVING] = "reserving",
	                                    [STOCK_GANG_BOUND] = "bound",
	                                    [STOCK_GANG_ABORTING] = "aborting"};

	for (unsigned i = STOCK_GANG_RESERVING; i <= STOCK_GANG_ABORTING; i++)
		if (strcmp(words[i], word) == 0)
			return (enum stock_gang_phase)i;
	return STOCK_GANG_BAD;
}

static bool read_record(struct stock *stock, struct pl_span value,
                        struct pl_span namespace, struct stock_gang *out)
{
	const char *phase = "", *shard = "", *until = "";
	struct pl_json root;
	int64_t v = 0;

	pl_arena_reset(&stock->arena);
	if (pl_json_parse(&stock->arena, value, NULL, &root, NULL) != PL_OK ||
	    pl_json_int(root, "v", PL_JSON_REQUIRED, &v, NULL) != PL_OK || v != 1 ||
	    pl_json_string(root, "phase", PL_JSON_REQUIRED, &phase, NULL) != PL_OK ||
	    pl_json_string(root, "shard", PL_JSON_REQUIRED, &shard, NULL) != PL_OK ||
	    pl_json_string(root, "until", PL_JSON_REQUIRED, &until, NULL) != PL_OK ||
	    pl_timestamp_parse(pl_span_str(until), &out->until_ms, NULL) != PL_OK ||
	    !read_plan(stock, pl_json_member(root, "nodes"), namespace, out))
		return false;
	out->phase = gang_phase_of(phase);
	out->shard = truth_shard_of(pl_span_str(shard), UINT16_MAX);
	return out->phase != STOCK_GANG_BAD;
}

/* What happened to those who are in it, up to now. */
static void note_over(const struct stock *stock, struct stock_gang *gang)
{
	for (uint32_t i = 0; i < gang->count; i++) {
		struct stock_planned *is = &gang->plan[i];
		const struct stock_pod *pod = &stock->pod[is->pod];
		const struct stock_node *node = &stock->node[is->node];

		is->over = is->over || pod->spoilt || pod->spec_rev != is->spec_rev ||
		           (pod->phase != STOCK_NO_STATE && pod->phase != STOCK_PENDING);
		is->lost = is->lost || node->spoilt || !node->has_alloc;
	}
}

static void remember(const struct stock *stock, struct stock_gang *gang,
                     const struct stock_gang *was)
{
	bool goes_on = was->phase != STOCK_GANG_NONE && was->count == gang->count;

	gang->blurred = was->blurred || stock->world->truth.listing;
	for (uint32_t i = 0; i < gang->count; i++) {
		struct stock_planned *is = &gang->plan[i];
		const struct scene_pod *what = &stock->pod[is->pod].what;

		is->sum = (struct stock_sum){what->cpu_milli, what->memory_mib << 20, 1};
		is->life = what->life;
		if (!goes_on)
			continue;
		is->life = was->plan[i].life;
		is->sum = was->plan[i].sum;
		is->over = was->plan[i].over;
		is->lost = was->plan[i].lost;
	}
	if (!goes_on)
		note_over(stock, gang);
	gang->partition = stock->pod[gang->plan[0].pod].partition;
}

void stock_gang_event(struct stock *stock, const struct keys_id *id,
                      const struct kv_event *event)
{
	uint32_t i = scene_gang_of(id->scope, id->name, stock->pods);
	struct stock_gang *gang, was, is = {.rev = event->record.mod_revision};

	stock->revision = event->record.mod_revision;
	if (i == STOCK_NONE) {
		stock->strays++;
		return;
	}
	gang = touch_gang(stock, i);
	was = *gang;
	if (event->is_delete)
		is.rev = 0;
	else if (read_record(stock, event->record.value, id->scope, &is))
		remember(stock, &is, &was);
	else
		is = (struct stock_gang){
			.phase = STOCK_GANG_BAD, .rev = is.rev, .blurred = was.blurred};
	*gang = is;
}

/* -- a budget ---------------------------------------------------------------- */

static bool read_notes(struct stock *stock, struct pl_json notes,
                       struct pl_span namespace, struct stock_budget *out)
{
	PL_JSON_EACH (note, notes) {
		const char *rev = "";

		if (out->notes == STOCK_NOTES ||
		    pl_json_as_string(note, &rev, NULL) != PL_OK)
			return false;
		out->note[out->notes++] = (struct stock_note){
			.pod = scene_pod_of(&stock->scene, namespace,
		                            pl_span_str(pl_json_key(note))),
			.state_rev = strtoll(rev, NULL, 10)};
	}
	return true;
}

static bool read_count(struct pl_json status, const char *name, uint32_t *out)
{
	int64_t number = -1;

	if (pl_json_int(status, name, PL_JSON_REQUIRED, &number, NULL) != PL_OK ||
	    number < 0 || number > INT32_MAX)
		return false;
	*out = (uint32_t)number;
	return true;
}

static bool read_budget(struct stock *stock, struct pl_span value,
                        struct pl_span namespace, struct stock_budget *out)
{
	struct pl_json root, status;
	int64_t v = 0;

	pl_arena_reset(&stock->arena);
	if (!scene_budget_read(value, &out->what) ||
	    pl_json_parse(&stock->arena, value, NULL, &root, NULL) != PL_OK ||
	    pl_json_int(root, "v", PL_JSON_REQUIRED, &v, NULL) != PL_OK || v != 1)
		return false;
	status = pl_json_member(root, "status");
	out->counted = status.node != NULL;
	return (!out->counted || (read_count(status, "expected", &out->expected) &&
	                          read_count(status, "desired", &out->desired) &&
	                          read_count(status, "healthy", &out->healthy) &&
	                          read_count(status, "allowed", &out->allowed))) &&
	       read_notes(stock, pl_json_member(root, "disrupted"), namespace, out);
}

void stock_budget_event(struct stock *stock, const struct keys_id *id,
                        const struct kv_event *event)
{
	uint32_t i = scene_budget_of(id->scope, id->name);
	struct stock_budget *budget;

	stock->revision = event->record.mod_revision;
	if (i == STOCK_NONE) {
		stock->strays++;
		return;
	}
	budget = &stock->budget[i];
	if (!stock->touched_budget[i]) {
		stock->touched_budget[i] = true;
		stock->touched_budgets++;
	}
	*budget = (struct stock_budget){.exists = !event->is_delete};
	if (event->is_delete)
		return;
	budget->rev = event->record.mod_revision;
	budget->create_rev = event->record.create_revision;
	budget->bad = !read_budget(stock, event->record.value, id->scope, budget);
}

/* -- all of them -------------------------------------------------------------- */

void stock_gangs_reset(struct stock *stock)
{
	memset(stock->gang, 0, stock->gangs * sizeof *stock->gang);
	memset(stock->budget, 0, sizeof stock->budget);
	memset(stock->was_budget, 0, sizeof stock->was_budget);
}

void stock_gangs_end(struct stock *stock)
{
	for (uint32_t i = 0; i < stock->gangs; i++) {
		if (stock->gang[i].phase != STOCK_GANG_NONE)
			note_over(stock, &stock->gang[i]);
	}
	for (uint32_t i = 0; i < stock->touched_gangs; i++)
		stock->is_touched_gang[stock->touched_gang[i]] = false;
	stock->touched_gangs = 0;
	if (stock->touched_budgets > 0)
		memcpy(stock->was_budget, stock->budget, sizeof stock->budget);
	memset(stock->touched_budget, 0, sizeof stock->touched_budget);
	stock->touched_budgets = 0;
}
