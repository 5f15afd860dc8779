/*
 * Coarse locks, for a pod that is selected by more terms than a transaction has room for
 * locks. A decision under a term has compared the registry in which the term stands. Once
 * the registry is put, even unchanged, such a decision fails, and nothing is decided
 * until the view has reached the new revision (registry_apply.c). So a put of a registry
 * stands for the locks of all its terms. It costs more than these: every txn that
 * compares the registry fails, and all shards read it again.
 *
 * A large registry is not put: beside another one, or beside a node's alloc, it would not
 * fit into a transaction. /groups/nodes is put instead, which every decision under a term
 * compares: so those under terms of other namespaces fail, too.
 *
 * A decision under a term compares the lock of just that one. A pod that carries so many
 * terms that their locks do not fit is not decided (rules.many).
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/txn/batch.h"
#include "shardsched/shard/txn/inflight.h"

enum {
	OPS_DEFAULT = 128,
	/* the part of a transaction's entries that locks may take one by one */
	PARTS = 4,
	BYTES_DEFAULT = 3 << 19,
	BYTE_PARTS = 12, /* the part of a transaction's bytes that a registry may take */
};

bool coarse_lock_is_needed(const struct sched *sched, uint32_t locks)
{
	uint32_t ops = sched->limits.txn_ops == 0 ? OPS_DEFAULT : sched->limits.txn_ops;

	return locks > ops / PARTS;
}

void coarse_lock_reset(struct sched *sched)
{
	PL_MAP_EACH (at, &sched->rules.namespaces) {
		const struct rule_namespace *namespace =
			PL_CONTAINER_OF(at, struct rule_namespace, by_name);

		PL_LIST_EACH (link, &namespace->classes)
			PL_LIST_ITEM(link, struct class_rules, of_namespace)->coarse =
				false;
	}
}

uint32_t coarse_lock_keys_of(const struct sched *sched,
                             const struct class_rules *class_rules)
{
	uint32_t count = class_rule_links_of(class_rules)->count;

	return coarse_lock_is_needed(sched, count) ? COARSE_LOCK_KEYS : count;
}

static struct pl_span coarse_key(const struct sched *sched,
                                 const struct rule_namespace *namespace,
                                 struct keys_text *text)
{
	const struct keys_id id = {.kind = namespace->name == 0 ? KEYS_REGISTRY_GLOBAL
	                                                        : KEYS_REGISTRY,
	                           .scope = sched_text(sched, namespace->name)};

	if (keys_build(&id, text, NULL) != PL_OK)
		PL_UNREACHABLE("a namespace that no key can have");
	return keys_span(text);
}

static bool is_registry_large(const struct sched *sched,
                              const struct rule_namespace *namespace)
{
	size_t most = sched->limits.request_bytes == 0 ? BYTES_DEFAULT
	                                               : sched->limits.request_bytes;

	return namespace->bytes > most / BYTE_PARTS;
}

bool coarse_lock_is_put(const struct sched *sched, const struct shard_txn *txn,
                        const struct rule_namespace *namespace)
{
	if (namespace == NULL)
		return false;
	if (namespace->put == txn->serial || sched->rules.node_set_put == txn->serial)
		return true;
	if (txn->batch && rules_batch_puts_node_set(sched))
		return true;
	return txn->batch && namespace->batch == sched->batch.number + 1;
}

static enum pl_code put_entry(struct shard_txn *txn, struct txn_entry entry,
                              struct pl_span key)
{
	if (!builder_bump(&txn->builder, key, entry.value))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	return txn_add_key(txn, &entry, key);
}

static enum pl_code put_registry(struct sched *sched, struct shard_txn *txn,
                                 struct rule_namespace *namespace)
{
	struct pl_err err = {0};
	struct keys_text text;
	struct txn_entry entry = {0};
	enum pl_code code;

	code = registration_print(sched, namespace, &err);
	if (code != PL_OK)
		return code;
	entry.value = pl_arena_dup(&txn->arena, pl_buf_span(&sched->buf));
	if (entry.value.at == NULL)
		return PL_NOMEM;
	code = put_entry(txn, entry, coarse_key(sched, namespace, &text));
	if (code == PL_OK)
	namespace->put = txn->serial;
	return code;
}

enum pl_code coarse_lock_put(struct sched *sched, struct shard_txn *txn,
                             const struct sched_rule *rule)
{
	struct rule_namespace *namespace = rule->namespace;
	struct keys_text text;
	enum pl_code code;

	/* The term was unregistered, and not all classes have been matched since: the
	 * registry that is compared is an old one. */
	if (namespace == NULL || coarse_lock_is_put(sched, txn, namespace))
		return PL_OK;
	if (!is_registry_large(sched, namespace))
		return put_registry(sched, txn, namespace);
	code = put_entry(txn, (struct txn_entry){.value = RULES_NODE_SET_VALUE},
	                 rules_node_set_key(&text));
	if (code == PL_OK)
		sched->rules.node_set_put = txn->serial;
	return code;
}

void coarse_lock_batch(struct sched *sched, const struct sched_rule *rule)
{
	struct rule_namespace *namespace = rule->namespace;
	struct batch_condition condition = {.how = BATCH_BUMP};
	struct pl_err err = {0};
	struct keys_text text;

	if (namespace == NULL || namespace->batch == sched->batch.number + 1 ||
	    rules_batch_puts_node_set(sched))
		return;
	if (is_registry_large(sched, namespace)) {
		rules_batch_node_set(sched, false, true);
		return;
	}
	if (registration_print(sched, namespace, &err) != PL_OK) {
		batch_break(sched);
		return;
	}
	condition.key = coarse_key(sched, namespace, &text);
	condition.value = pl_buf_span(&sched->buf);
	if (batch_add_condition(sched, &condition) != UINT32_MAX)
	namespace->batch = sched->batch.number + 1;
}
