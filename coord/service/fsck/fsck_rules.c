/*
 * Pods that have a place, and which pods carry which rules. Equal things are kept
 * once: labels, constraints on nodes, rules. They are numbered by their bytes, because
 * equal values of the model have equal addresses.
 */
#include <stdlib.h>

#include "coord/service/fsck/fsck_int.h"
#include "shardsched/records/rule_term.h"
#include "store/base/alloc.h"

enum { CARRIED_PLACED = 1, CARRIED_WAITING = 2 };

static void *grow_array(struct fsck_core *core, void **at, uint32_t *cap, uint32_t count,
                        size_t size)
{
	if (!name_table_room(at, cap, count, size))
		fsck_no_memory(core);
	return core->code == PL_OK ? (char *)*at + (size_t)count * size : NULL;
}

#define ROOM(core, rows, cap, count) \
	grow_array(core, (void **)&(rows), &(cap), count, sizeof *(rows))

/* The number of these bytes in the table; *fresh: it was added just now. */
static uint32_t number_of(struct fsck_core *core, struct name_table *table,
                          const void *bytes, size_t size, bool *fresh)
{
	uint32_t before = table->count;
	uint32_t number = name_table_add(table, pl_span(bytes, size));

	*fresh = table->count > before;
	if (number == NAME_TABLE_NONE)
		fsck_no_memory(core);
	return number;
}

/* -- label sets and constraints ---------------------------------------------------- */

static uint32_t labelset_of(struct fsck_core *core, uint32_t namespace,
                            const struct labels *labels)
{
	struct fsck_rules *rules = &core->rules;
	const uint64_t key[2] = {(uintptr_t)labels, namespace};
	struct fsck_labelset *labelset =
		ROOM(core, rules->labelset, rules->labelset_cap, rules->labelsets);
	bool fresh = false;
	uint32_t number = FSCK_NONE;

	if (labelset != NULL)
		number = number_of(core, &rules->labelset_at, key, sizeof key, &fresh);
	if (!fresh)
		return number;
	*labelset = (struct fsck_labelset){
		.namespace = strings_ref(&core->model.strings, namespace),
		.labels = model_ref(&core->model, MODEL_LABELS, labels)};
	return rules->labelsets++;
}

static uint32_t constraint_of(struct fsck_core *core, const struct spec *spec)
{
	struct fsck_rules *rules = &core->rules;
	const uint64_t key[3] = {(uintptr_t)spec->template->node_selector,
	                         (uintptr_t)spec->template->required,
	                         (uintptr_t)spec->template->tolerations};
	struct fsck_constraint *constraint =
		ROOM(core, rules->constraint, rules->constraint_cap, rules->constraints);
	bool fresh = false;
	uint32_t number = FSCK_NONE;

	if (constraint != NULL)
		number = number_of(core, &rules->constraint_at, key, sizeof key, &fresh);
	if (!fresh)
		return number;
	*constraint = (struct fsck_constraint){
		.labels = model_ref(&core->model, MODEL_LABELS,
	                            spec->template->node_selector),
		.required = model_ref(&core->model, MODEL_NODE_SELECTORS,
	                              spec->template->required),
		.tolerations = model_ref(&core->model, MODEL_TOLERATIONS,
	                                 spec->template->tolerations),
		.plain = spec->template->node_selector->count == 0 &&
	                 spec->template->required == NULL};
	return rules->constraints++;
}

/* -- topology keys and eligible nodes ---------------------------------------------- */

/* RULES_KEYS_MAX: the key is not known, or there are too many. */
uint32_t fsck_key_number(const struct fsck_rules *rules, uint32_t key)
{
	uint32_t i = 0;

	while (i < rules->keys && rules->key[i] != key)
		i++;
	return i < rules->keys ? i : RULES_KEYS_MAX;
}

/* RULES_KEYS_MAX: there is no room for the key. */
static uint32_t key_add(struct fsck_core *core, uint32_t key)
{
	struct fsck_rules *rules = &core->rules;
	uint32_t number = fsck_key_number(rules, key);

	if (number < RULES_KEYS_MAX || rules->keys == RULES_KEYS_MAX)
		return number;
	rules->key[rules->keys] = strings_ref(&core->model.strings, key);
	return rules->keys++;
}

static uint32_t scope_add(struct fsck_rules *rules, struct fsck_scope scope)
{
	for (uint32_t i = 0; i < rules->scopes; i++) {
		const struct fsck_scope *at = &rules->scope[i];

		if (at->constraint == scope.constraint &&
		    at->affinity == scope.affinity && at->taints == scope.taints &&
		    at->keys == scope.keys)
			return i;
	}
	if (rules->scopes < RULES_SCOPES_MAX)
		rules->scope[rules->scopes++] = scope;
	else
		return RULES_SCOPES_MAX;
	return rules->scopes - 1;
}

/* -- rules ------------------------------------------------------------------------- */

static bool keys_of_terms(struct fsck_core *core, const struct spec_term *row,
                          uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (key_add(core, row[i].term->topology_key) == RULES_KEYS_MAX)
			return false;
	return true;
}

/* A node counts for spreading if it has the keys of all hard constraints of the pod. */
static bool scope_of(struct fsck_core *core, const struct spec *spec, uint32_t at,
                     uint32_t *out)
{
	const struct spec_spread *row = spec_spreads(spec);
	struct fsck_scope scope = {.constraint = constraint_of(core, spec),
	                           .affinity = row[at].affinity != 0,
	                           .taints = row[at].taints != 0};

	for (uint32_t i = 0; i < spec->template->spreads.count; i++) {
		uint32_t key;

		if (row[i].hard == 0)
			continue;
		key = key_add(core, row[i].topology_key);
		if (key >= RULES_KEYS_MAX)
			return false;
		scope.keys |= UINT64_C(1) << key;
	}
	*out = scope_add(&core->rules, scope);
	return *out < RULES_SCOPES_MAX;
}

/* False: there is no room for what the rule looks at. */
static bool rule_open(struct fsck_core *core, struct fsck_rule *rule)
{
	const struct spec *spec = rule->spec;

	switch (rule->kind) {
	case RULE_ANTI_AFFINITY:
		return keys_of_terms(core, &spec_anti_affinity(spec)[rule->at], 1);
	case RULE_AFFINITY:
		return keys_of_terms(core, spec_affinity(spec),
		                     spec->template->affinity.count);
	case RULE_SPREAD:
		return scope_of(core, spec, rule->at, &rule->scope);
	}
	PL_UNREACHABLE("kind of rule");
}

static uint32_t rule_add(struct fsck_core *core, const struct pl_buf *key,
                         struct fsck_rule rule)
{
	struct fsck_rules *rules = &core->rules;
	struct fsck_rule *at = ROOM(core, rules->rule, rules->rule_cap, rules->rules);
	uint32_t number = FSCK_NONE;
	bool fresh = false;

	if (at != NULL)
		number = number_of(core, &rules->rule_at, key->at, key->len, &fresh);
	if (!fresh)
		return number;
	*at = rule;
	at->spec = model_ref(&core->model, MODEL_SPECS, rule.spec);
	rules->rules++;
	at->skipped = !rule_open(core, at);
	rules->skipped += at->skipped;
	return number;
}

static void key_word(struct fsck_core *core, uint64_t word)
{
	if (pl_buf_add(&core->rules.key_text, pl_span(&word, sizeof word)) != PL_OK)
		fsck_no_memory(core);
}

static void key_begin(struct fsck_core *core, const struct spec *spec,
                      enum fsck_rule_kind kind)
{
	pl_buf_clear(&core->rules.key_text, core->rules.key_text.cap);
	key_word(core, (uint64_t)spec->namespace << 32 | (uint32_t)kind);
}

static void add_carrier(struct fsck_core *core, struct fsck_rule rule, uint32_t bound)
{
	struct fsck_rules *rules = &core->rules;
	uint32_t number = rule_add(core, &rules->key_text, rule);
	uint8_t how = bound == FSCK_NONE ? CARRIED_WAITING : CARRIED_PLACED;
	struct fsck_carry *carry;

	if (core->code != PL_OK)
		return;
	if ((rules->rule[number].carried & how) == 0)
		fsck_carry(core, rule.spec, bound != FSCK_NONE);
	rules->rule[number].carried |= how;
	if (bound == FSCK_NONE || rules->rule[number].skipped)
		return;
	carry = ROOM(core, rules->carry, rules->carry_cap, rules->carries);
	if (carry == NULL)
		return;
	*carry = (struct fsck_carry){number, bound};
	rules->carries++;
	rules->rule[number].pods++;
}

static void carry_apart(struct fsck_core *core, const struct spec *spec, uint32_t bound)
{
	for (uint32_t i = 0; i < spec->template->anti_affinity.count; i++) {
		key_begin(core, spec, RULE_ANTI_AFFINITY);
		key_word(core, (uintptr_t)spec_anti_affinity(spec)[i].term);
		add_carrier(core,
		            (struct fsck_rule){
				    .kind = RULE_ANTI_AFFINITY, .spec = spec, .at = i},
		            bound);
	}
}

static void carry_affinity(struct fsck_core *core, const struct spec *spec,
                           uint32_t bound)
{
	if (spec->template->affinity.count == 0)
		return;
	key_begin(core, spec, RULE_AFFINITY);
	for (uint32_t i = 0; i < spec->template->affinity.count; i++)
		key_word(core, (uintptr_t)spec_affinity(spec)[i].term);
	add_carrier(core, (struct fsck_rule){.kind = RULE_AFFINITY, .spec = spec}, bound);
}

static void key_spread(struct fsck_core *core, const struct spec_spread *row)
{
	key_word(core, (uintptr_t)row->selector);
	key_word(core, (uint64_t)row->topology_key << 32 | (uint32_t)row->max_skew);
	key_word(core, (uint64_t)(uint32_t)row->min_domains << 32 |
	                       (uint32_t)row->affinity << 8 | row->taints);
}

static void carry_spread(struct fsck_core *core, const struct spec *spec, uint32_t bound)
{
	const struct spec_spread *row = spec_spreads(spec);

	for (uint32_t i = 0; i < spec->template->spreads.count; i++) {
		if (row[i].hard == 0)
			continue;
		key_begin(core, spec, RULE_SPREAD);
		key_spread(core, &row[i]);
		key_word(core, (uintptr_t)spec->template->node_selector);
		key_word(core, (uintptr_t)spec->template->required);
		key_word(core, (uintptr_t)spec->template->tolerations);
		for (uint32_t n = 0; n < spec->template->spreads.count; n++)
			if (row[n].hard != 0)
				key_word(core, row[n].topology_key);
		add_carrier(
			core,
			(struct fsck_rule){.kind = RULE_SPREAD, .spec = spec, .at = i},
			bound);
	}
}

/* -- pods -------------------------------------------------------------------------- */

/* The pod was placed at this revision or later. A member of a gang is placed when the
 * gang's record says so, which may be well before its own state does, but not before
 * the state existed. */
static int64_t bound_since(const struct fsck_current *at, const struct spec *spec)
{
	int64_t rev = fsck_is_as_bound(at) ? at->state_rev : at->state_since_rev;

	/* No shard wrote the state: a repair derived it from an alloc, some time after
	 * the placement. */
	if (at->state.shard.len == 0)
		return 0;
	return spec->template->gang != 0 && at->spec_rev < rev ? at->spec_rev + 1 : rev;
}

static uint32_t bound_add(struct fsck_core *core, uint32_t node)
{
	const struct fsck_current *at = &core->at;
	const struct spec *spec = at->pod.spec;
	struct fsck_rules *rules = &core->rules;
	struct fsck_bound *bound =
		ROOM(core, rules->bound, rules->bound_cap, rules->bounds);
	uint32_t entry = fsck_entry_add(core, keys_span(&at->name));

	if (bound == NULL || entry == FSCK_NONE)
		return FSCK_NONE;
	*bound = (struct fsck_bound){
		.lo = bound_since(at, spec),
		.spec_rev = at->spec_rev,
		.entry = entry,
		.node = node,
		.next = core->node[node].first_bound,
		.labelset = labelset_of(core, spec->namespace, spec->labels),
		.constraint = constraint_of(core, spec),
		.index = at->pod.index,
		.partition = (uint16_t)at->partition,
		.identity_keys = at->pod.identity_keys,
		.leaving = at->state.phase == STATE_TERMINATING,
		.of_gang = spec->template->gang != 0,
		.healthy = at->state.phase == STATE_BOUND &&
	                   at->state.ask == STATE_ASK_NONE &&
	                   at->state.ended == STATE_ENDED_NOT,
	};
	core->node[node].first_bound = rules->bounds;
	return rules->bounds++;
}

static void keep_ports(struct fsck_core *core, const struct spec *spec, uint32_t bound)
{
	struct fsck_rules *rules = &core->rules;

	for (uint32_t i = 0; i < spec->template->ports.count; i++) {
		const struct spec_port *row = &spec_ports(spec)[i];
		struct fsck_host_port *port =
			ROOM(core, rules->port, rules->port_cap, rules->ports);

		if (port == NULL)
			return;
		*port = (struct fsck_host_port){
			.node = rules->bound[bound].node,
			.bound = bound,
			.ip = strings_ref(&core->model.strings, row->ip),
			.port = row->port,
			.protocol = row->protocol};
		rules->ports++;
	}
}

void fsck_rules_pod(struct fsck_core *core, uint32_t node)
{
	const struct spec *spec = core->at.pod.spec;
	uint32_t bound = FSCK_NONE;

	if (!core->at.spec_ok)
		return;
	if (node != FSCK_NONE) {
		bound = bound_add(core, node);
		if (bound == FSCK_NONE)
			return;
		keep_ports(core, spec, bound);
	}
	carry_apart(core, spec, bound);
	carry_affinity(core, spec, bound);
	carry_spread(core, spec, bound);
}

/* -- the end ----------------------------------------------------------------------- */

static const struct labels *make_promoted_labels(struct fsck_core *core,
                                                 const struct labels *labels,
                                                 uint32_t name,
                                                 const struct identity_labels *identity,
                                                 uint32_t due)
{
	char room[IDENTITY_KEYS][PL_NUM_TEXT_SIZE];
	struct draft_pairs pairs = {0};
	struct maker maker;

	pairs.at = pl_arena_zalloc(&core->scratch, labels->count + IDENTITY_KEYS,
	                           sizeof *pairs.at);
	if (pairs.at == NULL) {
		fsck_no_memory(core);
		return NULL;
	}
	for (uint32_t i = 0; i < labels->count; i++)
		pairs.at[pairs.count++] = (struct draft_pair){
			model_text(&core->model, labels->row[i].key),
			model_text(&core->model, labels->row[i].value)};
	for (unsigned key = 0; key < IDENTITY_KEYS; key++)
		if ((due & 1u << key) != 0)
			pairs.at[pairs.count++] = (struct draft_pair){
				identity_key_text((enum identity_key)key),
				identity_value(&core->model, (enum identity_key)key, name,
			                       identity, room[key])};
	maker_init(&maker, &core->model, &core->scratch);
	labels = labels_make(&maker, pairs);
	if (maker.code != PL_OK)
		fsck_no_memory(core);
	return labels;
}

/* Adds the labels of the replica itself (index and name) to those of its class, if a
 * rule asks for them. */
static void promote_labels(struct fsck_core *core, struct fsck_bound *bound)
{
	const struct identity_labels identity = {bound->index, bound->identity_keys};
	struct strings *strings = &core->model.strings;
	const struct fsck_labelset *labelset = &core->rules.labelset[bound->labelset];
	const struct labels *labels;
	struct pl_span namespace, text;
	uint32_t name = 0, due;

	fsck_split(name_table_get(&core->pods, bound->entry), &namespace, &text);
	if (strings_add(strings, text, &name) != PL_OK) {
		fsck_no_memory(core);
		return;
	}
	due = identity_due_labels(&core->model, name, &identity);
	if (due != 0) {
		labels = make_promoted_labels(core, labelset->labels, name, &identity,
		                              due);
		if (labels != NULL)
			bound->labelset = labelset_of(core, labelset->namespace, labels);
		model_unref(&core->model, MODEL_LABELS, labels);
	}
	strings_unref(strings, name);
}

static void promote_all_labels(struct fsck_core *core)
{
	for (uint32_t i = 0; i < core->rules.bounds && core->code == PL_OK; i++) {
		if (core->rules.bound[i].identity_keys == 0)
			continue;
		pl_arena_reset(&core->scratch);
		promote_labels(core, &core->rules.bound[i]);
	}
}

/* Sorts pods by look, and carriers by rule. */
static bool sort_pods(struct fsck_core *core)
{
	struct fsck_rules *rules = &core->rules;
	uint32_t at = 0;

	rules->by_labelset = pl_calloc(rules->bounds + 1u, sizeof *rules->by_labelset);
	rules->by_rule = pl_calloc(rules->carries + 1u, sizeof *rules->by_rule);
	if (rules->by_labelset == NULL || rules->by_rule == NULL) {
		fsck_no_memory(core);
		return false;
	}
	for (uint32_t i = 0; i < rules->bounds; i++)
		rules->labelset[rules->bound[i].labelset].pods++;
	for (uint32_t i = 0; i < rules->labelsets; i++) {
		rules->labelset[i].first = at;
		at += rules->labelset[i].pods;
		rules->labelset[i].pods = 0;
	}
	at = 0;
	for (uint32_t i = 0; i < rules->rules; i++) {
		rules->rule[i].first = at;
		at += rules->rule[i].pods;
		rules->rule[i].pods = 0;
	}
	for (uint32_t i = 0; i < rules->bounds; i++) {
		struct fsck_labelset *labelset =
			&rules->labelset[rules->bound[i].labelset];

		rules->by_labelset[labelset->first + labelset->pods++] = i;
	}
	for (uint32_t i = 0; i < rules->carries; i++) {
		struct fsck_rule *rule = &rules->rule[rules->carry[i].rule];

		rules->by_rule[rule->first + rule->pods++] = rules->carry[i].bound;
	}
	return true;
}

static void report_skipped(struct fsck_core *core)
{
	if (core->rules.skipped > 0)
		fsck_report(
			core, FSCK_RULES_SKIPPED, PL_SPAN_LIT("/schedules/"),
			(struct pl_span){0},
			"%u rules: pods name more than %d topology keys, or spread over "
			"more than %d kinds of sets of nodes",
			core->rules.skipped, RULES_KEYS_MAX, RULES_SCOPES_MAX);
}

void fsck_end_rules(struct fsck_core *core)
{
	struct fsck_rules *rules = &core->rules;

	report_skipped(core);
	fsck_judge_ports(core);
	if ((rules->carries == 0 && rules->budgets == 0) || core->code != PL_OK)
		return;
	promote_all_labels(core);
	if (core->code != PL_OK || !sort_pods(core) || !fsck_finder_open(core))
		return;
	for (uint32_t i = 0; i < rules->rules && core->code == PL_OK; i++) {
		pl_arena_reset(&core->scratch);
		if (rules->rule[i].pods > 0)
			fsck_judge_rule(core, i);
	}
	for (uint32_t i = 0; i < rules->budgets && core->code == PL_OK; i++)
		fsck_judge_budget(core, i);
}

static void release_refs(struct fsck_rules *rules, struct model *model)
{
	struct strings *strings = &model->strings;

	for (uint32_t i = 0; i < rules->labelsets; i++) {
		strings_unref(strings, rules->labelset[i].namespace);
		model_unref(model, MODEL_LABELS, rules->labelset[i].labels);
	}
	for (uint32_t i = 0; i < rules->constraints; i++) {
		model_unref(model, MODEL_LABELS, rules->constraint[i].labels);
		model_unref(model, MODEL_NODE_SELECTORS, rules->constraint[i].required);
		model_unref(model, MODEL_TOLERATIONS, rules->constraint[i].tolerations);
	}
	for (uint32_t i = 0; i < rules->rules; i++)
		model_unref(model, MODEL_SPECS, rules->rule[i].spec);
	for (uint32_t i = 0; i < rules->ports; i++)
		strings_unref(strings, rules->port[i].ip);
	for (size_t i = 0; i < (size_t)rules->valued * rules->keys; i++)
		strings_unref(strings, rules->value[i]);
	for (uint32_t i = 0; i < rules->keys; i++)
		strings_unref(strings, rules->key[i]);
	for (uint32_t i = 0; i < rules->budgets; i++) {
		strings_unref(strings, rules->budget[i].namespace);
		model_unref(model, MODEL_SELECTORS, rules->budget[i].selector);
	}
}

void fsck_rules_done(struct fsck_core *core)
{
	struct fsck_rules *rules = &core->rules;

	fsck_finder_done(core);
	release_refs(rules, &core->model);
	name_table_done(&rules->labelset_at);
	name_table_done(&rules->constraint_at);
	name_table_done(&rules->rule_at);
	pl_buf_done(&rules->key_text);
	free(rules->bound);
	free(rules->labelset);
	free(rules->constraint);
	free(rules->rule);
	free(rules->carry);
	free(rules->value);
	free(rules->counted);
	free(rules->port);
	free(rules->budget);
	free(rules->by_labelset);
	free(rules->by_rule);
}
