/* Registries, locks of terms, and /groups/nodes; and which pods carry which terms. */
#include <inttypes.h>

#include "coord/service/fsck/fsck_int.h"
#include "coord/service/fsck/term_check.h"
#include "shardsched/records/rule_registry.h"
#include "shardsched/records/value_reader.h"

enum { LOCK_BYTES_MAX = 4096 };

static const struct pl_span no_key;

static uint32_t group_add(struct fsck_core *core, struct pl_span namespace,
                          struct pl_span id)
{
	uint32_t before = core->groups.count, number;
	struct keys_text text;

	if (!name_table_room((void **)&core->group, &core->group_cap, before,
	                     sizeof *core->group)) {
		fsck_no_memory(core);
		return FSCK_NONE;
	}
	number = name_table_add(&core->groups, fsck_name(&text, namespace, id));
	if (number == NAME_TABLE_NONE)
		fsck_no_memory(core);
	else if (core->groups.count > before)
		core->group[number] = (struct fsck_term_state){.registry = FSCK_NONE};
	return number;
}

/* namespace: empty for the global registry. */
static uint32_t registry_add(struct fsck_core *core, struct pl_span namespace)
{
	uint32_t before = core->registries.count, number;

	if (!name_table_room((void **)&core->registry, &core->registry_cap, before,
	                     sizeof *core->registry)) {
		fsck_no_memory(core);
		return FSCK_NONE;
	}
	number = name_table_add(&core->registries, namespace);
	if (number == NAME_TABLE_NONE)
		fsck_no_memory(core);
	else if (core->registries.count > before)
		core->registry[number] = (struct fsck_registry){0};
	return number;
}

static struct pl_span group_key(const struct fsck_core *core, uint32_t number,
                                struct keys_text *out)
{
	return fsck_key(out, KEYS_GROUP, 0, name_table_get(&core->groups, number));
}

static struct pl_span registry_key(const struct fsck_core *core, uint32_t number,
                                   struct keys_text *out)
{
	struct keys_id id = {.kind = KEYS_REGISTRY,
	                     .scope = name_table_get(&core->registries, number)};
	enum pl_code code;

	if (id.scope.len == 0)
		id.kind = KEYS_REGISTRY_GLOBAL;
	code = keys_build(&id, out, NULL);
	PL_ASSERT(code == PL_OK);
	return keys_span(out);
}

/* -- registries -------------------------------------------------------------------- */

static void feed_term(struct fsck_core *core, const struct kv_record *record,
                      uint32_t number, const struct rule_registry_term *term)
{
	struct pl_span namespace, scope = name_table_get(&core->registries, number);
	struct pl_err err = {0};
	struct fsck_term_state *group;
	uint32_t at;
	enum pl_code code =
		term_check(&core->model, &core->scratch, term, scope, &namespace, &err);

	if (code == PL_NOMEM) {
		fsck_no_memory(core);
		return;
	}
	if (code != PL_OK) {
		core->registry[number].flags |= REGISTRY_MEND;
		fsck_report(core, FSCK_REGISTRY_TERM, record->key, no_key,
		            PL_SPAN_FMT ": %s", PL_SPAN_ARG(term->id), err.msg);
		return;
	}
	at = group_add(core, namespace, term->id);
	if (at == FSCK_NONE)
		return;
	group = &core->group[at];
	group->flags |= TERM_REGISTERED;
	group->kind = (uint8_t)term->kind;
	group->registry = number;
}

static void feed_registry(struct fsck_core *core, const struct kv_record *record,
                          struct pl_span scope)
{
	uint32_t number = registry_add(core, scope);
	struct rule_registry registry = {0};
	struct pl_err err = {0};
	enum pl_code code;

	if (number == FSCK_NONE)
		return;
	core->registry[number].flags |= REGISTRY_THERE;
	code = rule_registry_parse(record->value, &core->scratch, &registry, &err);
	if (code == PL_NOMEM) {
		fsck_no_memory(core);
		return;
	}
	if (code != PL_OK) {
		core->registry[number].flags |= REGISTRY_MEND;
		fsck_report(core, FSCK_REGISTRY_MALFORMED, record->key, no_key,
		            "it is malformed: %s", err.msg);
	}
	for (uint32_t i = 0; i < registry.terms && core->code == PL_OK; i++)
		feed_term(core, record, number, &registry.term[i]);
}

/* -- locks ------------------------------------------------------------------------- */

/* Whether the value is {"v":1,...}; other fields are ignored. */
static bool is_value(struct fsck_core *core, struct pl_span value)
{
	struct value_reader in;

	(void)value_reader_begin(&in, &core->scratch, value, LOCK_BYTES_MAX, NULL);
	if (in.code == PL_NOMEM)
		fsck_no_memory(core);
	return in.code == PL_OK;
}

static void feed_lock(struct fsck_core *core, const struct kv_record *record,
                      const struct keys_id *id)
{
	uint32_t number = group_add(core, id->scope, id->name);
	struct fsck_term_state *group;

	if (number == FSCK_NONE)
		return;
	group = &core->group[number];
	group->flags |= TERM_HAS_LOCK;
	group->lock_rev = record->mod_revision;
	if (is_value(core, record->value))
		return;
	group->flags |= TERM_BAD_LOCK;
	fsck_report(core, FSCK_LOCK_MALFORMED, record->key, no_key, "it is malformed");
}

void fsck_feed_rules_key(struct fsck_core *core, const struct kv_record *record,
                         const struct keys_id *id)
{
	if (id->kind == KEYS_TOPOLOGY)
		core->shape_rev = record->mod_revision;
	else if (id->kind == KEYS_GROUP)
		feed_lock(core, record, id);
	else
		feed_registry(core, record, id->scope);
}

/* -- pods by labels ---------------------------------------------------------------- */

/* Only terms of anti-affinity have to stay registered while their pods are there. A
 * pod that spreads or wants to be near others looks at them when it is placed, and
 * registers its term before that. */
static bool is_needed(const struct fsck_term_state *group)
{
	return (group->flags & (TERM_REGISTERED | TERM_BOUND)) == TERM_BOUND &&
	       group->kind == RULE_KIND_ANTI_AFFINITY;
}

static void keep_carrier(struct fsck_core *core, struct fsck_term_state *group,
                         const struct rule_term *term, struct pl_span namespace)
{
	uint32_t number =
		registry_add(core, term->global ? (struct pl_span){0} : namespace);

	if (number == FSCK_NONE)
		return;
	group->registry = number;
	group->carrier = pl_arena_dup(&core->kept, term->pod);
	core->registry[number].flags |= REGISTRY_MEND;
	if (group->carrier.at == NULL)
		fsck_no_memory(core);
}

static void carry_term(struct fsck_core *core, const struct rule_term *term, bool placed)
{
	struct pl_span namespace, name;
	struct fsck_term_state *group;
	uint32_t number, pod = fsck_entry_add(core, keys_span(&core->at.name));

	fsck_split(keys_span(&core->at.name), &namespace, &name);
	number = group_add(core, namespace, pl_span_str(term->id));
	if (pod == FSCK_NONE || number == FSCK_NONE)
		return;
	group = &core->group[number];
	if ((group->flags & (TERM_BOUND | TERM_WAITING)) == 0 ||
	    (placed && (group->flags & TERM_BOUND) == 0)) {
		group->pod = pod;
		group->partition = (uint16_t)core->at.partition;
	}
	group->kind = (uint8_t)term->kind;
	group->flags |= (uint8_t)((placed ? TERM_BOUND : TERM_WAITING) |
	                          (term->global ? TERM_GLOBAL : 0));
	if (is_needed(group) && group->carrier.len == 0)
		keep_carrier(core, group, term, namespace);
}

void fsck_carry(struct fsck_core *core, const struct spec *spec, bool placed)
{
	struct rule_terms terms = {0};
	struct pl_err err = {0};
	enum pl_code code =
		rule_terms_of(&core->model, spec, &core->scratch, &terms, &err);

	/* A pod whose term is too large for a registry is never placed, and its state
	 * says so. */
	if (code == PL_NOMEM)
		fsck_no_memory(core);
	for (uint32_t i = 0; code == PL_OK && i < terms.count; i++)
		carry_term(core, &terms.term[i], placed);
}

bool fsck_term_is_orphan(const struct fsck_core *core, uint32_t number)
{
	return !core->pods_unreadable &&
	       (core->group[number].flags &
	        (TERM_REGISTERED | TERM_BOUND | TERM_WAITING)) == TERM_REGISTERED;
}

/* -- the end ----------------------------------------------------------------------- */

static struct pl_span carrier_key(const struct fsck_core *core,
                                  const struct fsck_term_state *group,
                                  struct keys_text *out)
{
	return fsck_key(out, KEYS_SPEC, group->partition,
	                name_table_get(&core->pods, group->pod));
}

static void end_registered(struct fsck_core *core, uint32_t number)
{
	const struct fsck_term_state *group = &core->group[number];
	struct keys_text text, other;

	if ((group->flags & TERM_HAS_LOCK) == 0)
		fsck_report(core, FSCK_LOCK_MISSING, group_key(core, number, &text),
		            registry_key(core, group->registry, &other),
		            "the term is registered, and its lock is not there");
	if (!fsck_term_is_orphan(core, number))
		return;
	core->registry[group->registry].flags |= REGISTRY_MEND;
	fsck_report(core, FSCK_TERM_UNUSED, registry_key(core, group->registry, &other),
	            group_key(core, number, &text), "no pod carries this term");
}

static void end_unregistered(struct fsck_core *core, uint32_t number)
{
	const struct fsck_term_state *group = &core->group[number];
	struct keys_text text, other;
	struct pl_span key = group_key(core, number, &text);

	if ((group->flags & (TERM_BOUND | TERM_WAITING)) == 0)
		fsck_report(core, FSCK_LOCK_UNUSED, key, no_key,
		            "no such term is registered");
	else if (is_needed(group))
		fsck_report(core, FSCK_TERM_UNREGISTERED, key,
		            carrier_key(core, group, &other),
		            "others that are placed do not know that the pod keeps them "
		            "away");
	else
		fsck_report(core, FSCK_TERM_LATER, key, carrier_key(core, group, &other),
		            "it is registered when a pod that carries it is placed");
}

void fsck_end_terms(struct fsck_core *core)
{
	struct keys_text text;
	enum pl_code code;

	for (uint32_t i = 0; i < core->groups.count && core->code == PL_OK; i++)
		if ((core->group[i].flags & TERM_REGISTERED) != 0)
			end_registered(core, i);
		else
			end_unregistered(core, i);
	if (core->shape_rev >= core->newest_node_rev)
		return;
	code = keys_build(&(struct keys_id){.kind = KEYS_TOPOLOGY}, &text, NULL);
	PL_ASSERT(code == PL_OK);
	fsck_report(core, FSCK_SHAPE_BEHIND, keys_span(&text), no_key,
	            "it is of revision %" PRId64 ", and a Node of %" PRId64,
	            core->shape_rev, core->newest_node_rev);
}
