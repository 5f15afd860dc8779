/*
 * The revisions of locks as they are known, and which pods may be decided by them.
 *
 * A lock's revision is known in two ways: from the fleet view, once everything up to it
 * has been applied; or from this shard's last put of it, if that compared the revision
 * before, since then nothing that the term looks at has changed but by this shard. A put
 * that did not compare (a blind one) says nothing about what came before it, so the view
 * has to reach it.
 */
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/txn/batch.h"
#include "shardsched/shard/txn/inflight.h"

/* -- the fleet view ---------------------------------------------------------- */

/* A decision in the batch that compares the lock may not hold any more. */
static void break_batch_under(struct sched *sched, const struct sched_rule *rule)
{
	const struct batch *batch = &sched->batch;

	if (rule->batch == batch->number + 1 &&
	    batch->condition[rule->condition].how != BATCH_BUMP)
		batch_break(sched);
}

static bool apply_lock(struct sched *sched, const struct keys_id *id,
                       const struct kv_record *record, bool gone)
{
	struct sched_rule *rule = rules_get(sched, id->scope, id->name);

	if (rule == NULL)
		return false;
	if (record->mod_revision <= rule->seen)
		return true;
	rule->seen = record->mod_revision;
	rule->gone = gone;
	if (!gone && rule->seen != rule->own)
		lock_backoff_heard(sched, rule, record->value);
	if (!gone)
		pl_list_del(&rule->lost);
	if (rule->seen > rule->own)
		break_batch_under(sched, rule);
	if (gone && rule->namespace == NULL)
		rules_forget(sched, rule);
	return true;
}

bool rules_is_registry(const struct keys_id *id)
{
	return id->kind == KEYS_REGISTRY || id->kind == KEYS_REGISTRY_GLOBAL;
}

static bool apply_registry(struct sched *sched, const struct keys_id *id,
                           const struct kv_record *record, bool gone)
{
	uint32_t name = 0;
	struct rule_namespace *namespace = sched->rules.global;

	if (id->kind == KEYS_REGISTRY) {
		if (strings_add(&sched->model.strings, id->scope, &name) != PL_OK)
			return false;
		namespace = rules_namespace(sched, name);
		strings_unref(&sched->model.strings, name);
	}
	return namespace != NULL && rules_apply_registry(sched, namespace, record->value,
	                                                 gone, record->mod_revision);
}

bool rules_apply(struct sched *sched, const struct keys_id *id,
                 const struct kv_record *record, bool gone)
{
	struct sched_rules *rules = &sched->rules;

	if (id->kind == KEYS_GROUP)
		return apply_lock(sched, id, record, gone);
	if (rules_is_registry(id))
		return apply_registry(sched, id, record, gone);
	if (id->kind == KEYS_TOPOLOGY && record->mod_revision > rules->node_set) {
		rules->node_set = record->mod_revision;
		rules->node_set_gone = gone;
		rules->node_set_lost = rules->node_set_lost && gone;
		if (rules_batch_has_node_set(sched))
			batch_break(sched);
	}
	return true;
}

void rules_view_begun(struct sched *sched)
{
	struct sched_rules *rules = &sched->rules;

	rules->view_epoch++;
	rules->node_set = 0;
	rules->node_set_gone = rules->node_set_lost = false;
	batch_break(sched);
	PL_MAP_EACH (at, &rules->rules) {
		struct sched_rule *rule = PL_CONTAINER_OF(at, struct sched_rule, by_key);

		rule->seen = rule->own = 0;
		rule->gone = false;
		pl_list_del(&rule->lost);
	}
}

void rules_rewound(struct sched *sched)
{
	struct sched_rules *rules = &sched->rules;

	rules_view_begun(sched);
	rules->wait_rev = 0;
	PL_MAP_EACH (at, &rules->rules)
		PL_CONTAINER_OF(at, struct sched_rule, by_key)->blind = 0;
	PL_MAP_EACH (at, &rules->namespaces)
		PL_CONTAINER_OF(at, struct rule_namespace, by_name)->heard = 0;
}

/* -- what may be decided ----------------------------------------------------- */

/* Every txn that was decided by older registries has ended. */
static bool compute_steady(const struct sched *sched)
{
	for (unsigned i = 0; i < SCHED_TXNS; i++)
		if (txn_is_posted(&sched->txn[i]) && txn_commits(&sched->txn[i]) &&
		    sched->txn[i].rules_epoch != sched->rules.epoch)
			return false;
	return true;
}

void rules_turn_begin(struct sched *sched)
{
	sched->rules.turn.known = true;
	sched->rules.turn.steady = compute_steady(sched);
	sched->rules.turn.clear = fleet_view_applied_rev(sched);
}

void rules_turn_end(struct sched *sched)
{
	sched->rules.turn.known = false;
}

static bool is_steady(const struct sched *sched)
{
	return sched->rules.turn.known ? sched->rules.turn.steady : compute_steady(sched);
}

static int64_t view_clear_rev(const struct sched *sched)
{
	return sched->rules.turn.known ? sched->rules.turn.clear
	                               : fleet_view_applied_rev(sched);
}

static bool is_wide_lane_shut(const struct sched *sched)
{
	const struct sched_rules *rules = &sched->rules;
	int64_t clear = view_clear_rev(sched);

	return clear == 0 || clear < rules->wait_rev || clear < rules->node_set ||
	       sched->shrunk || rules->node_set_lost || !pl_list_empty(&rules->lost) ||
	       large_gangs_shut_rules(sched);
}

bool rules_are_shut(const struct sched *sched)
{
	return !is_steady(sched) || is_wide_lane_shut(sched);
}

unsigned rules_lanes_shut(const struct sched *sched)
{
	unsigned shut = 1u << LANE_UNREGISTERED;

	if (!objects_are_known(sched))
		return (1u << QUEUE_LANES) - 1;
	if (large_gangs_are_full(sched))
		shut |= 1u << LANE_LARGE;
	if (large_gangs_want_turn(sched) || !batch_accepts_gang(sched))
		shut |= 1u << LANE_GANG | 1u << LANE_LARGE;
	if (large_gangs_want_turn(sched))
		return shut | 1u << LANE_SELECTED | 1u << LANE_RULED;
	if (!batch_accepts_pod(sched) || !is_steady(sched))
		return shut | 1u << LANE_SELECTED | 1u << LANE_RULED;
	if (is_wide_lane_shut(sched) || lock_backoff_waits(sched))
		shut |= 1u << LANE_RULED;
	return shut;
}

static bool is_lock_known(const struct sched_rule *rule, int64_t clear)
{
	if (rule->own > rule->seen && rule->own > rule->blind)
		return true;
	return rule->seen <= clear && rule->blind <= clear;
}

int64_t rules_lock_rev(const struct sched_rule *rule)
{
	if (rule->own > rule->seen)
		return rule->own;
	return rule->gone ? 0 : rule->seen;
}

void rules_wait_for(struct sched *sched, int64_t revision)
{
	if (revision > sched->rules.wait_rev)
		sched->rules.wait_rev = revision;
}

/* The lock is to be made again, unless the view is about to bring it with its registry,
 * which is known already. A term that is in no registry needs no lock. */
static void want_lock_made(struct sched *sched, struct sched_rule *rule, int64_t clear)
{
	if (rule->namespace == NULL)
		return;
	if (rule->namespace->heard > clear)
		rules_wait_for(sched, rule->namespace->heard);
	else if (pl_list_empty(&rule->lost))
		pl_list_add_tail(&sched->rules.lost, &rule->lost);
}

/* False: the lane of ruled pods is shut until something has come. */
static bool may_rely_on_lock(struct sched *sched, struct sched_rule *rule, int64_t clear)
{
	if (!is_lock_known(rule, clear)) {
		rules_wait_for(sched, rule->seen);
		rules_wait_for(sched, rule->blind);
		return false;
	}
	if (rules_lock_rev(rule) == 0) {
		want_lock_made(sched, rule, clear);
		return false;
	}
	return true;
}

int64_t rules_node_set_rev(const struct sched_rules *rules)
{
	return rules->node_set_gone ? 0 : rules->node_set;
}

bool rules_may_decide(struct sched *sched, struct registered_class *open)
{
	const struct class_rules *class_rules = class_rules_of(open);
	int64_t clear = class_rules->wide ? view_clear_rev(sched) : 0;
	bool may = true;

	/* All missing locks are made in one txn, so the loop does not stop at the
	 * first. */
	for (uint32_t i = 0;
	     class_rules->wide && i < class_rule_links_of(class_rules)->count; i++)
		if (class_rule_links_of(class_rules)->rule_link[i].compares)
			may = may_rely_on_lock(
				      sched,
				      class_rule_links_of(class_rules)->rule_link[i].rule,
				      clear) &&
			      may;
	if (!class_rules->wide || rules_node_set_rev(&sched->rules) != 0)
		return may;
	sched->rules.node_set_lost = true;
	return false;
}

/* -- the outcome of a txn ---------------------------------------------------- */

struct sched_rule *rules_of_lock(const struct sched *sched, const struct keys_id *id)
{
	const struct strings *strings = &sched->model.strings;

	return rules_find(sched, strings_find(strings, id->scope),
	                  strings_find(strings, id->name));
}

struct rule_namespace *rules_of_registry(struct sched *sched, const struct keys_id *id)
{
	uint32_t name = strings_find(&sched->model.strings, id->scope);

	if (id->kind == KEYS_REGISTRY_GLOBAL)
		return sched->rules.global;
	return name == 0 ? NULL : rules_namespace(sched, name);
}

void rules_txn_applied(struct sched *sched, const struct shard_txn *txn,
                       const struct txn_entry *entry, int64_t revision)
{
	struct sched_rule *rule;
	struct rule_namespace *namespace;

	if (entry->value.len == 0)
		return;
	if (rules_is_registry(&entry->id)) {
		namespace = rules_of_registry(sched, &entry->id);
		if (namespace != NULL)
			(void)rules_apply_registry(sched, namespace, entry->value, false,
			                           revision);
	}
	if (entry->id.kind == KEYS_TOPOLOGY) {
		sched->rules.node_set_lost = false;
		rules_wait_for(sched, revision);
		if (rules_batch_has_node_set(sched))
			batch_break(sched);
	}
	rule = entry->id.kind == KEYS_GROUP ? rules_of_lock(sched, &entry->id) : NULL;
	if (rule == NULL)
		return;
	pl_list_del(&rule->lost);
	if (entry->compared && txn->kind != TXN_REGISTER &&
	    txn->view_epoch == sched->rules.view_epoch)
		rule->own = revision;
	else if (revision > rule->blind)
		rule->blind = revision;
	if (rule->blind == revision)
		break_batch_under(sched, rule);
}

static void registry_failed(struct sched *sched, const struct txn_entry *entry,
                            const struct kv_record *record, int64_t revision)
{
	struct rule_namespace *namespace = rules_of_registry(sched, &entry->id);

	if (namespace == NULL)
		return;
	if (record == NULL)
		(void)rules_apply_registry(sched, namespace, PL_SPAN_LIT(""), true,
		                           revision);
	else
		(void)rules_apply_registry(sched, namespace, record->value, false,
		                           record->mod_revision);
}

/* An answer about /groups/nodes is not applied: its revision counts as known only when
 * the view has brought it with all that happened before. If the key is missing it is made
 * again; the view may not have heard of its deletion, nor of a change before that. */
static void node_set_failed(struct sched *sched, const struct kv_record *record,
                            int64_t revision)
{
	struct sched_rules *rules = &sched->rules;

	if (record != NULL) {
		rules->node_set_lost = false;
		rules_wait_for(sched, record->mod_revision);
	} else if (revision > rules->node_set) {
		rules->node_set_lost = true;
	}
}

static void lock_failed(struct sched *sched, struct sched_rule *rule,
                        const struct kv_record *record, int64_t revision)
{
	rule->own = 0; /* another shard has put it since */
	if (record != NULL) {
		if (sched->answered != NULL && sched->answered->batch)
			lock_backoff_conflict(sched, rule, record->value);
		pl_list_del(&rule->lost);
		rules_wait_for(sched, record->mod_revision);
	} else if (rule->namespace != NULL && revision > rule->seen &&
	           pl_list_empty(&rule->lost)) {
		pl_list_add_tail(&sched->rules.lost, &rule->lost);
	}
}

void rules_txn_failed(struct sched *sched, const struct txn_entry *entry,
                      const struct builder_found *found, int64_t revision)
{
	const struct kv_record *record = found->record;
	struct sched_rule *rule = NULL;

	if (found->verdict == BUILDER_SAME || !entry->compared)
		return;
	if (rules_is_registry(&entry->id)) {
		registry_failed(sched, entry, record, revision);
		return;
	}
	if (entry->id.kind == KEYS_NAMESPACES) {
		objects_labels_changed(sched, record == NULL ? 0 : record->mod_revision);
		return;
	}
	if (entry->id.kind == KEYS_TOPOLOGY) {
		node_set_failed(sched, record, revision);
		return;
	}
	rule = entry->id.kind == KEYS_GROUP ? rules_of_lock(sched, &entry->id) : NULL;
	if (rule != NULL)
		lock_failed(sched, rule, record, revision);
	else if (record != NULL)
		rules_wait_for(sched, record->mod_revision);
}
