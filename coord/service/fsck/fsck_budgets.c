/* Judges disruption budgets: whether a budget allows more than its pods do. */
#include <inttypes.h>

#include "coord/service/fsck/fsck_int.h"
#include "shardsched/records/budget_record.h"

static void keep_budget(struct fsck_core *core, const struct budget_record *record,
                        const struct budget *budget, struct pl_span key)
{
	struct fsck_rules *rules = &core->rules;
	struct fsck_budget *kept;

	if (!record->counted || record->status.allowed == 0)
		return;
	if (!name_table_room((void **)&rules->budget, &rules->budget_cap, rules->budgets,
	                     sizeof *rules->budget)) {
		fsck_no_memory(core);
		return;
	}
	kept = &rules->budget[rules->budgets];
	*kept = (struct fsck_budget){.allowed = record->status.allowed,
	                             .desired = record->status.desired,
	                             .key = pl_arena_dup(&core->kept, key)};
	if (kept->key.at == NULL) {
		fsck_no_memory(core);
		return;
	}
	kept->namespace = strings_ref(&core->model.strings, budget->namespace);
	kept->selector = model_ref(&core->model, MODEL_SELECTORS, budget->selector);
	rules->budgets++;
}

void fsck_feed_budget(struct fsck_core *core, const struct kv_record *record,
                      const struct keys_id *id)
{
	struct parse parse = {.model = &core->model, .arena = &core->scratch};
	struct budget_record parsed;
	struct budget budget = {0};
	struct pl_err err = {0};
	enum pl_code code =
		budget_record_parse(record->value, &core->scratch, &parsed, &err);

	if (code == PL_OK)
		code = budget_record_object(&parsed, &parse, id->scope, id->name, &budget,
		                            &err);
	if (code == PL_OK) {
		keep_budget(core, &parsed, &budget, record->key);
		budget_drop(&core->model, &budget);
	} else if (code == PL_NOMEM) {
		fsck_no_memory(core);
	} else {
		fsck_report(core, FSCK_BUDGET_MALFORMED, record->key, (struct pl_span){0},
		            "it is malformed: %s", err.msg);
	}
}

void fsck_judge_budget(struct fsck_core *core, uint32_t number)
{
	const struct fsck_rules *rules = &core->rules;
	const struct fsck_budget *budget = &rules->budget[number];
	uint64_t healthy = 0, constraint = (uint64_t)budget->desired + budget->allowed;

	fsck_find_spread(core, budget->namespace, budget->selector,
	                 rules->rules + number + 1);
	for (uint32_t i = 0; i < rules->finder.founds; i++) {
		const struct fsck_labelset *labelset =
			&rules->labelset[rules->finder.found[i]];

		for (uint32_t n = 0; n < labelset->pods; n++)
			healthy += rules->bound[rules->by_labelset[labelset->first + n]]
			                   .healthy;
	}
	if (healthy >= constraint)
		return;
	fsck_report(core, FSCK_BUDGET_BEHIND, budget->key, (struct pl_span){0},
	            "%" PRIu32 " pods more may go and %" PRIu32
	            " are to stay, of %" PRIu64
	            " that are healthy: it was counted before",
	            budget->allowed, budget->desired, healthy);
}
