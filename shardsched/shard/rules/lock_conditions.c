/*
 * The conditions of transactions: what they compare and put so that rules hold whichever
 * shard places.
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/txn/batch.h"
#include "shardsched/shard/txn/inflight.h"

/* -- into a batch ------------------------------------------------------------ */

static struct pl_span lock_key(const struct sched *sched, const struct sched_rule *rule,
                               struct keys_text *text)
{
	const struct keys_id id = {.kind = KEYS_GROUP,
	                           .scope = sched_text(sched, rule->key[0]),
	                           .name = sched_text(sched, rule->key[1])};

	if (keys_build(&id, text, NULL) != PL_OK)
		PL_UNREACHABLE("a term that no key can have");
	return keys_span(text);
}

static enum batch_condition_kind condition_of(bool compares, bool puts)
{
	if (!puts)
		return BATCH_EXPECT;
	return compares ? BATCH_PUT : BATCH_BUMP;
}

/* The lock is in the batch already, for another pod. */
static void relink_condition(struct sched *sched, const struct rule_link *rule_link)
{
	struct batch_condition *at = &sched->batch.condition[rule_link->rule->condition];
	enum batch_condition_kind how =
		condition_of(at->how != BATCH_BUMP || rule_link->compares,
	                     at->how != BATCH_EXPECT || rule_link->puts);
	char value[RULE_LOCK_SIZE];

	at->rev = rules_lock_rev(rule_link->rule);
	if (at->how == how)
		return;
	at->how = how;
	batch_condition_set_value(sched, at,
	                          rule_lock_value(sched->shard, how == BATCH_PUT, value));
}

static void batch_add_link(struct sched *sched, const struct rule_link *rule_link)
{
	struct sched_rule *rule = rule_link->rule;
	struct batch *batch = &sched->batch;
	struct keys_text text;
	char value[RULE_LOCK_SIZE];
	struct batch_condition condition = {
		.how = condition_of(rule_link->compares, rule_link->puts),
		.rev = rules_lock_rev(rule)};

	if (rule->batch == batch->number + 1) {
		relink_condition(sched, rule_link);
		return;
	}
	condition.value =
		rule_lock_value(sched->shard, condition.how == BATCH_PUT, value);
	condition.key = lock_key(sched, rule, &text);
	rule->condition = batch_add_condition(sched, &condition);
	if (rule->condition != UINT32_MAX)
		rule->batch = batch->number + 1;
}

struct pl_span rules_node_set_key(struct keys_text *text)
{
	if (keys_build(&(struct keys_id){.kind = KEYS_TOPOLOGY}, text, NULL) != PL_OK)
		PL_UNREACHABLE("a key without names");
	return keys_span(text);
}

/* /groups/nodes as the fleet view brought it. */
static struct batch_condition node_set_condition(const struct sched *sched,
                                                 struct keys_text *text)
{
	return (struct batch_condition){.how = BATCH_EXPECT,
	                                .rev = rules_node_set_rev(&sched->rules),
	                                .key = rules_node_set_key(text)};
}

bool rules_batch_puts_node_set(const struct sched *sched)
{
	const struct batch *batch = &sched->batch;

	return batch->node_set != 0 &&
	       batch->condition[batch->node_set - 1].how != BATCH_EXPECT;
}

bool rules_batch_has_node_set(const struct sched *sched)
{
	const struct batch *batch = &sched->batch;

	return batch->node_set != 0 &&
	       batch->condition[batch->node_set - 1].how != BATCH_BUMP;
}

static void node_set_update(struct sched *sched, bool compares, bool puts)
{
	struct batch_condition *at = &sched->batch.condition[sched->batch.node_set - 1];

	at->rev = rules_node_set_rev(&sched->rules);
	at->how = condition_of(at->how != BATCH_BUMP || compares,
	                       at->how != BATCH_EXPECT || puts);
	if (at->how != BATCH_EXPECT && at->value.len == 0)
		batch_condition_set_value(sched, at, RULES_NODE_SET_VALUE);
}

void rules_batch_node_set(struct sched *sched, bool compares, bool puts)
{
	struct batch *batch = &sched->batch;
	struct keys_text text;
	struct batch_condition condition;
	uint32_t at;

	if (batch->node_set != 0) {
		node_set_update(sched, compares, puts);
		return;
	}
	condition = node_set_condition(sched, &text);
	condition.how = condition_of(compares, puts);
	if (puts)
		condition.value = RULES_NODE_SET_VALUE;
	at = batch_add_condition(sched, &condition);
	batch->node_set = at == UINT32_MAX ? 0 : at + 1;
}

static uint32_t count_only_put(const struct class_rules *class_rules)
{
	const struct class_rule_links *links = class_rule_links_of(class_rules);
	uint32_t count = 0;

	for (uint32_t i = 0; i < links->count; i++)
		count += !links->rule_link[i].compares;
	return count;
}

void rules_batch_class(struct sched *sched, struct registered_class *open)
{
	const struct class_rules *class_rules = class_rules_of(open);
	uint32_t only = count_only_put(class_rules);
	bool coarse =
		only > COARSE_LOCK_KEYS &&
		coarse_lock_is_needed(sched, class_rule_links_of(class_rules)->count);

	for (uint32_t i = 0; i < class_rule_links_of(class_rules)->count; i++) {
		const struct rule_link *rule_link =
			&class_rule_links_of(class_rules)->rule_link[i];

		if (coarse && !rule_link->compares)
			coarse_lock_batch(sched, rule_link->rule);
		else
			batch_add_link(sched, rule_link);
	}
	if (class_rules->wide)
		rules_batch_node_set(sched, true, false);
}

/* -- into the call that binds a gang
 * -----------------------------------------------------
 */

void rules_gather_begin(struct sched *sched)
{
	struct sched_rules *rules = &sched->rules;

	PL_LIST_EACH (link, &rules->gathered)
		pl_list_del(link);
	rules->gathers = 0;
	rules->gathers_node_set = false;
}

void rules_gather(struct sched *sched, struct registered_class *open)
{
	struct sched_rules *rules = &sched->rules;
	const struct class_rules *class_rules = class_rules_of(open);

	for (uint32_t i = 0; i < class_rule_links_of(class_rules)->count; i++) {
		const struct rule_link *rule_link =
			&class_rule_links_of(class_rules)->rule_link[i];
		struct sched_rule *rule = rule_link->rule;

		if (pl_list_empty(&rule->gathered)) {
			pl_list_add_tail(&rules->gathered, &rule->gathered);
			rule->compares = rule->puts = false;
			rules->gathers++;
		}
		rule->compares = rule->compares || rule_link->compares;
		rule->puts = rule->puts || rule_link->puts;
	}
	rules->gathers_node_set = rules->gathers_node_set || class_rules->wide;
}

static uint32_t gathered_only_put(const struct sched *sched)
{
	uint32_t count = 0;

	PL_LIST_EACH (link, &sched->rules.gathered)
		count += !PL_LIST_ITEM(link, struct sched_rule, gathered)->compares;
	return count;
}

static bool are_too_many_gathered(const struct sched *sched, uint32_t count_only_put)
{
	return count_only_put > COARSE_LOCK_KEYS &&
	       coarse_lock_is_needed(sched, sched->rules.gathers);
}

uint32_t rules_gathered(const struct sched *sched)
{
	uint32_t only = gathered_only_put(sched);

	return are_too_many_gathered(sched, only)
	               ? sched->rules.gathers - only + COARSE_LOCK_KEYS
	               : sched->rules.gathers;
}

/* Decisions of other shards that were made without these pods, and look at them, are to
 * fail. */
static enum pl_code put_gathered_rule(struct sched *sched, struct shard_txn *txn,
                                      const struct sched_rule *rule)
{
	enum batch_condition_kind how = condition_of(rule->compares, rule->puts);
	char value[RULE_LOCK_SIZE];
	struct keys_text text;
	const struct batch_condition condition = {
		.how = how,
		.rev = rules_lock_rev(rule),
		.key = lock_key(sched, rule, &text),
		.value = pl_arena_dup(
			&txn->arena,
			rule_lock_value(sched->shard, how == BATCH_PUT, value))};

	return condition.value.at == NULL ? PL_NOMEM
	                                  : batch_put_condition(txn, &condition);
}

enum pl_code rules_gathered_put(struct sched *sched, struct shard_txn *txn)
{
	struct sched_rules *rules = &sched->rules;
	bool coarse = are_too_many_gathered(sched, gathered_only_put(sched));
	struct batch_condition node_set;
	struct keys_text key;
	enum pl_code code = PL_OK;

	PL_LIST_EACH (link, &rules->gathered) {
		const struct sched_rule *rule =
			PL_LIST_ITEM(link, struct sched_rule, gathered);

		if (code == PL_OK)
			code = coarse && !rule->compares
			               ? coarse_lock_put(sched, txn, rule)
			               : put_gathered_rule(sched, txn, rule);
	}
	if (code == PL_OK && rules->gathers_node_set) {
		node_set = node_set_condition(sched, &key);
		code = batch_put_condition(txn, &node_set);
	}
	rules_gather_begin(sched);
	return code;
}

/* -- into any transaction ---------------------------------------------------- */

static enum pl_code expect_registry(struct sched *sched, struct shard_txn *txn,
                                    struct rule_namespace *namespace)
{
	const struct keys_id id = {.kind = namespace->name == 0 ? KEYS_REGISTRY_GLOBAL
	                                                        : KEYS_REGISTRY,
	                           .scope = sched_text(sched, namespace->name)};
	struct keys_text text;
	enum pl_code code;

	if (namespace->stamp == txn->serial)
		return PL_OK;
	if (keys_build(&id, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a namespace that no key can have");
	if (!builder_expect(&txn->builder, keys_span(&text), namespace->rev))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	code = txn_add_key(txn, &(struct txn_entry){.compared = true}, keys_span(&text));
	/* else rules_undo, which goes by entries, would not take it back */
	if (code == PL_OK) {
		namespace->stamp = txn->serial;
	}
	return code;
}

/* The labels by which namespaces are selected are those that are known. */
static enum pl_code expect_labels(struct sched *sched, struct shard_txn *txn)
{
	struct keys_text text;
	enum pl_code code;

	if (sched->objects.labels.stamp == txn->serial || !rules_read_labels(sched))
		return PL_OK;
	if (keys_build(&(struct keys_id){.kind = KEYS_NAMESPACES}, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a key without names");
	if (!builder_expect(&txn->builder, keys_span(&text), sched->objects.labels.rev))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	code = txn_add_key(txn, &(struct txn_entry){.compared = true}, keys_span(&text));
	if (code == PL_OK) {
		sched->objects.labels.stamp = txn->serial;
	}
	return code;
}

enum pl_code rules_expect_registries(struct sched *sched, struct shard_txn *txn,
                                     uint32_t name)
{
	struct rule_namespace *namespace = rules_namespace(sched, name);
	enum pl_code code = namespace == NULL ? PL_NOMEM : PL_OK;

	if (code == PL_OK)
		code = expect_labels(sched, txn);
	if (code == PL_OK)
		code = expect_registry(sched, txn, sched->rules.global);
	return code == PL_OK ? expect_registry(sched, txn, namespace) : code;
}

struct lock_puts {
	struct sched *sched;
	struct shard_txn *txn;
	bool goes;
	uint32_t count;
};

static bool is_lock_put(const struct lock_puts *to, const struct sched_rule *rule)
{
	const struct batch *batch = &to->sched->batch;

	if (rule->stamp == to->txn->serial ||
	    coarse_lock_is_put(to->sched, to->txn, rule->namespace))
		return true;
	return to->txn->batch && rule->batch == batch->number + 1 &&
	       batch->condition[rule->condition].how != BATCH_EXPECT;
}

static bool is_link_due(const struct lock_puts *to, const struct rule_link *rule_link)
{
	if (to->goes && rule_link->rule->kind == RULE_KIND_ANTI_AFFINITY)
		return false;
	return rule_link->puts && !is_lock_put(to, rule_link->rule);
}

static enum pl_code on_link_put(void *ctx, const struct rule_link *rule_link)
{
	struct lock_puts *to = ctx;
	struct shard_txn *txn = to->txn;
	struct sched_rule *rule = rule_link->rule;
	char value[RULE_LOCK_SIZE];
	struct keys_text text;
	struct txn_entry entry;
	enum pl_code code;

	if (!is_link_due(to, rule_link))
		return PL_OK;
	if (coarse_lock_is_needed(to->sched, ++to->count))
		return PL_LIMIT;
	entry = (struct txn_entry){
		.value = pl_arena_dup(&txn->arena,
	                              rule_lock_value(to->sched->shard, false, value))};
	if (entry.value.at == NULL)
		return PL_NOMEM;
	if (!builder_bump(&txn->builder, lock_key(to->sched, rule, &text), entry.value))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	code = txn_add_key(txn, &entry, keys_span(&text));
	if (code == PL_OK)
		rule->stamp = txn->serial;
	return code;
}

static enum pl_code on_link_put_coarse(void *ctx, const struct rule_link *rule_link)
{
	const struct lock_puts *to = ctx;

	return is_link_due(to, rule_link)
	               ? coarse_lock_put(to->sched, to->txn, rule_link->rule)
	               : PL_OK;
}

enum pl_code rules_put_locks(struct sched *sched, struct shard_txn *txn,
                             const struct spec *spec, bool goes)
{
	struct lock_puts to = {.sched = sched, .txn = txn, .goes = goes};
	enum pl_code code = rules_expect_registries(sched, txn, spec->namespace);
	const struct txn_builder was = txn->builder;
	uint32_t entries = txn->entries;

	if (code == PL_OK)
		code = rules_each_link(sched, spec,
		                       &(struct rules_each_link){on_link_put, &to});
	if (code != PL_LIMIT || !coarse_lock_is_needed(sched, to.count))
		return code;
	while (txn->entries > entries)
		rules_undo(sched, txn, &txn->entry[--txn->entries]);
	txn->builder = was;
	return rules_each_link(sched, spec,
	                       &(struct rules_each_link){on_link_put_coarse, &to});
}

void rules_undo(struct sched *sched, struct shard_txn *txn, const struct txn_entry *entry)
{
	struct rule_namespace *namespace;
	struct sched_rule *rule;

	txn->extra_entries--;
	if (entry->id.kind == KEYS_GROUP) {
		rule = rules_of_lock(sched, &entry->id);
		if (rule != NULL)
			rule->stamp = 0;
	} else if (rules_is_registry(&entry->id)) {
		namespace = rules_of_registry(sched, &entry->id);
		if (namespace != NULL && entry->compared)
		namespace->stamp = 0;
		else if (namespace != NULL) namespace->put = 0;
	} else if (entry->id.kind == KEYS_NAMESPACES) {
		sched->objects.labels.stamp = 0;
	} else if (entry->id.kind == KEYS_TOPOLOGY && !entry->compared) {
		sched->rules.node_set_put = 0;
	}
}
