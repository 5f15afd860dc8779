/* Records of large gangs and disruption budgets, read for the judges. */
#include <stdlib.h>

#include "store/base/json.h"
#include "store/base/timestamp.h"
#include "tests/sim/world.h"

/* -- a gang's record ---------------------------------------------------------- */

static struct mirror_gang *touch_gang(struct mirror *mirror, uint32_t i)
{
	if (!mirror->is_touched_gang[i]) {
		mirror->is_touched_gang[i] = true;
		mirror->was_gang[i] = mirror->gang[i];
		mirror->touched_gang[mirror->touched_gangs++] = i;
	}
	return &mirror->gang[i];
}

const struct mirror_planned *mirror_planned_of(const struct mirror_gang *gang,
                                               uint32_t pod)
{
	for (uint32_t i = 0; i < gang->count && gang->phase != MIRROR_GANG_NONE; i++)
		if (gang->plan[i].pod == pod)
			return &gang->plan[i];
	return NULL;
}

static bool read_planned(struct mirror *mirror, struct pl_json pods,
                         struct pl_span namespace, uint32_t node, struct mirror_gang *out)
{
	PL_JSON_EACH (pod, pods) {
		struct mirror_planned *to = &out->plan[out->count];
		const char *rev = "";

		if (out->count == SCENARIO_GANG_PODS ||
		    pl_json_as_string(pod, &rev, NULL) != PL_OK)
			return false;
		*to = (struct mirror_planned){
			.pod = scenario_pod_of(&mirror->scenario, namespace,
		                               pl_span_str(pl_json_key(pod))),
			.node = node,
			.spec_rev = strtoll(rev, NULL, 10)};
		if (to->pod == MIRROR_NONE)
			return false;
		out->count++;
	}
	return true;
}

static bool read_plan(struct mirror *mirror, struct pl_json nodes,
                      struct pl_span namespace, struct mirror_gang *out)
{
	PL_JSON_EACH (node, nodes) {
		const char *cluster = "", *name = "";
		uint32_t i;

		if (pl_json_string(node, "cluster", PL_JSON_REQUIRED, &cluster, NULL) !=
		            PL_OK ||
		    pl_json_string(node, "node", PL_JSON_REQUIRED, &name, NULL) != PL_OK)
			return false;
		i = scenario_node_of(&mirror->scenario, pl_span_str(cluster),
		                     pl_span_str(name));
		if (i == MIRROR_NONE ||
		    !read_planned(mirror, pl_json_member(node, "pods"), namespace, i,
		                  out))
			return false;
	}
	return out->count > 0;
}

static enum mirror_gang_phase gang_phase_of(const char *word)
{
	static const char *const words[] = {[MIRROR_GANG_RESERVING] = "reserving",
	                                    [MIRROR_GANG_BOUND] = "bound",
	                                    [MIRROR_GANG_ABORTING] = "aborting"};

	for (unsigned i = MIRROR_GANG_RESERVING; i <= MIRROR_GANG_ABORTING; i++)
		if (strcmp(words[i], word) == 0)
			return (enum mirror_gang_phase)i;
	return MIRROR_GANG_BAD;
}

static bool read_record(struct mirror *mirror, struct pl_span value,
                        struct pl_span namespace, struct mirror_gang *out)
{
	const char *phase = "", *shard = "", *until = "";
	struct pl_json root;
	int64_t v = 0;

	pl_arena_reset(&mirror->arena);
	if (pl_json_parse(&mirror->arena, value, NULL, &root, NULL) != PL_OK ||
	    pl_json_int(root, "v", PL_JSON_REQUIRED, &v, NULL) != PL_OK || v != 1 ||
	    pl_json_string(root, "phase", PL_JSON_REQUIRED, &phase, NULL) != PL_OK ||
	    pl_json_string(root, "shard", PL_JSON_REQUIRED, &shard, NULL) != PL_OK ||
	    pl_json_string(root, "until", PL_JSON_REQUIRED, &until, NULL) != PL_OK ||
	    pl_timestamp_parse(pl_span_str(until), &out->until_ms, NULL) != PL_OK ||
	    !read_plan(mirror, pl_json_member(root, "nodes"), namespace, out))
		return false;
	out->phase = gang_phase_of(phase);
	out->shard = truth_shard_of(pl_span_str(shard), UINT16_MAX);
	return out->phase != MIRROR_GANG_BAD;
}

/* Notes what happened to the planned pods and nodes up to now. */
static void note_lost_plans(const struct mirror *mirror, struct mirror_gang *gang)
{
	for (uint32_t i = 0; i < gang->count; i++) {
		struct mirror_planned *is = &gang->plan[i];
		const struct mirror_pod *pod = &mirror->pod[is->pod];
		const struct mirror_node *node = &mirror->node[is->node];

		is->over =
			is->over || pod->corrupted || pod->spec_rev != is->spec_rev ||
			(pod->phase != MIRROR_NO_STATE && pod->phase != MIRROR_PENDING);
		is->lost = is->lost || node->corrupted || !node->has_alloc;
	}
}

static void carry_over_plan(const struct mirror *mirror, struct mirror_gang *gang,
                            const struct mirror_gang *was)
{
	bool goes_on = was->phase != MIRROR_GANG_NONE && was->count == gang->count;

	gang->uncertain = was->uncertain || mirror->world->truth.listing;
	for (uint32_t i = 0; i < gang->count; i++) {
		struct mirror_planned *is = &gang->plan[i];
		const struct scenario_pod *what = &mirror->pod[is->pod].what;

		is->sum = (struct mirror_sum){what->cpu_milli, what->memory_mib << 20, 1};
		is->incarnation = what->incarnation;
		if (!goes_on)
			continue;
		is->incarnation = was->plan[i].incarnation;
		is->sum = was->plan[i].sum;
		is->over = was->plan[i].over;
		is->lost = was->plan[i].lost;
	}
	if (!goes_on)
		note_lost_plans(mirror, gang);
	gang->partition = mirror->pod[gang->plan[0].pod].partition;
}

void mirror_gang_event(struct mirror *mirror, const struct keys_id *id,
                       const struct kv_event *event)
{
	uint32_t i = scenario_gang_of(id->scope, id->name, mirror->pods);
	struct mirror_gang *gang, was, is = {.rev = event->record.mod_revision};

	mirror->revision = event->record.mod_revision;
	if (i == MIRROR_NONE) {
		mirror->unknown_keys++;
		return;
	}
	gang = touch_gang(mirror, i);
	was = *gang;
	if (event->is_delete)
		is.rev = 0;
	else if (read_record(mirror, event->record.value, id->scope, &is))
		carry_over_plan(mirror, &is, &was);
	else
		is = (struct mirror_gang){.phase = MIRROR_GANG_BAD,
		                          .rev = is.rev,
		                          .uncertain = was.uncertain};
	*gang = is;
}

/* -- a budget ---------------------------------------------------------------- */

static bool read_notes(struct mirror *mirror, struct pl_json notes,
                       struct pl_span namespace, struct mirror_budget *out)
{
	PL_JSON_EACH (note, notes) {
		const char *rev = "";

		if (out->notes == MIRROR_NOTES ||
		    pl_json_as_string(note, &rev, NULL) != PL_OK)
			return false;
		out->note[out->notes++] = (struct mirror_note){
			.pod = scenario_pod_of(&mirror->scenario, namespace,
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

static bool read_budget(struct mirror *mirror, struct pl_span value,
                        struct pl_span namespace, struct mirror_budget *out)
{
	struct pl_json root, status;
	int64_t v = 0;

	pl_arena_reset(&mirror->arena);
	if (!scenario_budget_read(value, &out->what) ||
	    pl_json_parse(&mirror->arena, value, NULL, &root, NULL) != PL_OK ||
	    pl_json_int(root, "v", PL_JSON_REQUIRED, &v, NULL) != PL_OK || v != 1)
		return false;
	status = pl_json_member(root, "status");
	out->counted = status.node != NULL;
	return (!out->counted || (read_count(status, "expected", &out->expected) &&
	                          read_count(status, "desired", &out->desired) &&
	                          read_count(status, "healthy", &out->healthy) &&
	                          read_count(status, "allowed", &out->allowed))) &&
	       read_notes(mirror, pl_json_member(root, "disrupted"), namespace, out);
}

void mirror_budget_event(struct mirror *mirror, const struct keys_id *id,
                         const struct kv_event *event)
{
	uint32_t i = scenario_budget_of(id->scope, id->name);
	struct mirror_budget *budget;

	mirror->revision = event->record.mod_revision;
	if (i == MIRROR_NONE) {
		mirror->unknown_keys++;
		return;
	}
	budget = &mirror->budget[i];
	if (!mirror->touched_budget[i]) {
		mirror->touched_budget[i] = true;
		mirror->touched_budgets++;
	}
	*budget = (struct mirror_budget){.exists = !event->is_delete};
	if (event->is_delete)
		return;
	budget->rev = event->record.mod_revision;
	budget->create_rev = event->record.create_revision;
	budget->bad = !read_budget(mirror, event->record.value, id->scope, budget);
}

/* -- reset and end ------------------------------------------------------------ */

void mirror_gangs_reset(struct mirror *mirror)
{
	memset(mirror->gang, 0, mirror->gangs * sizeof *mirror->gang);
	memset(mirror->budget, 0, sizeof mirror->budget);
	memset(mirror->was_budget, 0, sizeof mirror->was_budget);
}

void mirror_gangs_end(struct mirror *mirror)
{
	for (uint32_t i = 0; i < mirror->gangs; i++) {
		if (mirror->gang[i].phase != MIRROR_GANG_NONE)
			note_lost_plans(mirror, &mirror->gang[i]);
	}
	for (uint32_t i = 0; i < mirror->touched_gangs; i++)
		mirror->is_touched_gang[mirror->touched_gang[i]] = false;
	mirror->touched_gangs = 0;
	if (mirror->touched_budgets > 0)
		memcpy(mirror->was_budget, mirror->budget, sizeof mirror->budget);
	memset(mirror->touched_budget, 0, sizeof mirror->touched_budget);
	mirror->touched_budgets = 0;
}
