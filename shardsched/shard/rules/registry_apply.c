/*
 * Registries that change: their terms are read and matched with the classes, and what was
 * decided while no rule concerned it is decided again.
 */
#include "shardsched/model/parse.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/txn/batch.h"

/* -- terms that are read ----------------------------------------------------- */

/* The entry is left out unless its carrier has exactly the term that its id names. */
static enum pl_code read_term(struct sched *sched, const struct rule_namespace *namespace,
                              const struct rule_registry_term *term, struct pod *out,
                              struct pl_err *err)
{
	struct pl_arena *arena = &sched->rules.of_term;
	struct parse parse = {.model = &sched->model, .arena = arena};
	struct rule_terms terms = {0};
	enum pl_code code;

	pl_arena_reset(arena);
	code = pod_parse(&parse, term->pod, out, err);
	if (code == PL_OK)
		code = rule_terms_of(&sched->model, out->spec, arena, &terms, err);
	if (code != PL_OK)
		return code;
	if (terms.count != 1 || terms.term[0].kind != term->kind ||
	    !pl_span_eq(pl_span_str(terms.term[0].id), term->id) ||
	    terms.term[0].global != (namespace->name == 0) ||
	    (namespace->name != 0 && out->spec->namespace != namespace->name))
		return pl_err_set(err, PL_INVALID, "terms.%.*s: not what its pod carries",
		                  PL_SPAN_ARG(term->id));
	return PL_OK;
}

static void report_bad_registry(struct sched *sched,
                                const struct rule_namespace *namespace,
                                const struct pl_err *err)
{
	const struct keys_id id = {.kind = namespace->name == 0 ? KEYS_REGISTRY_GLOBAL
	                                                        : KEYS_REGISTRY,
	                           .scope = sched_text(sched, namespace->name)};

	report_malformed(sched, &id, err);
}

static bool is_malformed(enum pl_code code)
{
	return code == PL_INVALID || code == PL_LIMIT || code == PL_PROTO;
}

/* Rules of one id in a namespace have carriers of one namespace, or the term would have
 * another hash. */
static struct sched_rule *registered_rule(const struct sched *sched,
                                          const struct rule_namespace *namespace,
                                          struct pl_span id)
{
	uint32_t text = strings_find(&sched->model.strings, id);

	if (text == 0)
		return NULL;
	if (namespace->name != 0) {
		struct sched_rule *rule = rules_find(sched, namespace->name, text);

		return rule == NULL || rule->namespace != namespace ? NULL : rule;
	}
	PL_LIST_EACH (link, &namespace->rules) {
		struct sched_rule *rule =
			PL_LIST_ITEM(link, struct sched_rule, of_namespace);

		if (rule->key[1] == text)
			return rule;
	}
	return NULL;
}

/* PL_NOMEM; else the term is registered, or was reported. */
static enum pl_code apply_term(struct sched *sched, struct rule_namespace *namespace,
                               const struct rule_registry_term *term, uint32_t *fresh)
{
	struct sched_rule *rule = registered_rule(sched, namespace, term->id);
	struct pod pod = {0};
	struct pl_err err = {0};
	enum pl_code code;

	if (rule != NULL) {
		rule->kept = true;
		return PL_OK;
	}
	code = read_term(sched, namespace, term, &pod, &err);
	if (code == PL_OK) {
		rule = rules_get(sched, sched_text(sched, pod.spec->namespace), term->id);
		if (rule != NULL) {
			rule->namespace = namespace;
			rule->kind = term->kind;
			rule->kept = true;
			rule->carrier = pod.spec;
			pod.spec = NULL;
			rule->by_labels = rule_carrier_reads_labels(rule->carrier);
			sched->rules.label_terms += rule->by_labels;
			pl_list_add_head(&namespace->rules, &rule->of_namespace);
			++*fresh;
		} else {
			code = PL_NOMEM;
		}
	} else if (is_malformed(code)) {
		report_bad_registry(sched, namespace, &err);
		code = PL_OK;
	}
	pod_drop(&sched->model, &pod);
	return code;
}

/* -- pods that are decided again --------------------------------------------- */

static void redecide_on_node(struct sched *sched, struct sched_node *node, bool all)
{
	PL_LIST_EACH (link, &node->waiting) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);
		const struct class_more *class =
			class_more_of(pool_class_of(pod->queue.class));

		if ((all || class->class_rules.lane != LANE_PLAIN) &&
		    (pod->flags & POD_BATCHED) == 0)
			pod_redecide(sched, pod);
	}
}

/* Looked up by its key: the answer that brings the registry may have told before that the
 * node is gone. */
static void redecide_sent(struct sched *sched, const struct txn_entry *entry, bool all)
{
	struct sched_node *node = NULL;

	if (entry->id.kind == KEYS_ALLOC && entry->node != NULL)
		node = node_find(sched, entry->id.scope, entry->id.name);
	if (node != NULL)
		redecide_on_node(sched, node, all);
}

/* A pod whose status is being written, or that is being read, is not sent before that has
 * ended, so its node is in no ready list unless other pods wait there. */
static void redecide_reported(struct sched *sched, const struct shard_txn *txn, bool all)
{
	for (uint32_t n = 0; n < txn->entries; n++) {
		const struct sched_pod *pod = txn->entry[n].pod;

		if (pod != NULL && pod->stage == POD_ASSUMED)
			redecide_on_node(sched, pod->node, all);
	}
}

static void redecide_txn(struct sched *sched, const struct shard_txn *txn, bool all)
{
	if (!txn_is_posted(txn))
		return;
	if (txn->kind == TXN_STATUS || txn->kind == TXN_READ)
		redecide_reported(sched, txn, all);
	for (uint32_t n = 0; txn_commits(txn) && n < txn->entries; n++)
		redecide_sent(sched, &txn->entry[n], all);
}

/* all: also pods that no term concerns. */
static void redecide_waiting(struct sched *sched, bool all)
{
	PL_LIST_EACH (link, &sched->ready)
		redecide_on_node(sched, PL_LIST_ITEM(link, struct sched_node, ready),
		                 all);
	PL_LIST_EACH (link, &sched->remote.ready)
		redecide_on_node(sched, PL_LIST_ITEM(link, struct sched_node, ready),
		                 all);
	PL_LIST_EACH (link, &sched->batch.nodes)
		redecide_on_node(sched, PL_LIST_ITEM(link, struct sched_node, batch),
		                 all);
	for (unsigned i = 0; i < SCHED_TXNS; i++)
		redecide_txn(sched, &sched->txn[i], all);
}

void rules_txn_unsent(struct sched *sched, const struct shard_txn *txn)
{
	bool all = txn->rules_epoch < sched->rules.labels_epoch;

	if (txn->rules_epoch == sched->rules.epoch)
		return;
	for (uint32_t i = 0; i < txn->entries; i++) {
		const struct txn_entry *entry = &txn->entry[i];
		struct sched_pod *pod;

		if (entry->id.kind != KEYS_STATE)
			continue;
		pod = pod_find(sched, entry->id.partition, entry->id.scope,
		               entry->id.name);
		if (pod != NULL && pod->stage == POD_ASSUMED)
			redecide_on_node(sched, pod->node, all);
	}
}

/* -- changes ----------------------------------------------------------------- */

static bool refresh_classes(struct sched *sched, struct rule_namespace *of,
                            struct rule_namespace *namespace, uint32_t fresh,
                            bool relist_due)
{
	bool noticed = false;

	if (!rules_match_classes(sched, of, namespace, fresh, relist_due, &noticed))
		return false;
	if (noticed)
		redecide_waiting(sched, false);
	return true;
}

static bool follow_registry(struct sched *sched, struct rule_namespace *namespace,
                            uint32_t fresh, bool relist_due)
{
	/* classes that still want it say so when they are matched */
	pl_list_del(&namespace->wanting);
	sched->rules.epoch++;
	batch_break(sched);
	if (namespace != sched->rules.global)
		return refresh_classes(sched, namespace, namespace, fresh, relist_due);
	PL_MAP_EACH (at, &sched->rules.namespaces) {
		struct rule_namespace *of =
			PL_CONTAINER_OF(at, struct rule_namespace, by_name);

		if (!refresh_classes(sched, of, namespace, fresh, relist_due))
			return false;
	}
	return true;
}

bool rules_read_labels(const struct sched *sched)
{
	return sched->rules.label_terms > 0 ||
	       snapshot_reads_namespaces(&sched->snapshot);
}

enum pl_code rules_labels_changed(struct sched *sched, uint32_t name)
{
	struct rule_namespace *namespace = rules_namespace_find(sched, name);

	if (!rules_read_labels(sched))
		return PL_OK;
	sched->rules.labels_epoch = ++sched->rules.epoch;
	batch_break(sched);
	if (namespace != NULL && !refresh_classes(sched, namespace, namespace, 0, true))
		return PL_NOMEM;
	redecide_waiting(sched, true);
	return PL_OK;
}

bool rules_relabel(struct sched *sched)
{
	if (!sched->rules.relabel_due)
		return true;
	PL_MAP_EACH (at, &sched->rules.namespaces) {
		uint32_t name = PL_CONTAINER_OF(at, struct rule_namespace, by_name)->name;

		if (name == 0)
			continue;
		if ((!objects_have_namespace(sched, name) &&
		     rules_default_namespace(sched, name) != PL_OK) ||
		    rules_labels_changed(sched, name) != PL_OK)
			return false;
	}
	sched->rules.relabel_due = false;
	return true;
}

static bool drop_unregistered(struct sched *sched, struct rule_namespace *namespace)
{
	bool dropped = false;

	PL_LIST_EACH (link, &namespace->rules) {
		struct sched_rule *rule =
			PL_LIST_ITEM(link, struct sched_rule, of_namespace);

		if (rule->kept)
			continue;
		rules_unregister(sched, rule);
		dropped = true;
	}
	return dropped;
}

static enum pl_code read_terms(struct sched *sched, struct rule_namespace *namespace,
                               struct pl_span value, uint32_t *fresh)
{
	struct rule_registry registry = {0};
	struct pl_err err = {0};
	enum pl_code code =
		rule_registry_parse(value, &sched->rules.arena, &registry, &err);

	if (is_malformed(code)) { /* the next registration repairs it */
		report_bad_registry(sched, namespace, &err);
		return PL_OK;
	}
	for (uint32_t i = 0; code == PL_OK && i < registry.terms; i++)
		code = apply_term(sched, namespace, &registry.term[i], fresh);
	return code;
}

bool rules_apply_registry(struct sched *sched, struct rule_namespace *namespace,
                          struct pl_span value, bool gone, int64_t revision)
{
	enum pl_code code = PL_OK;
	uint32_t fresh = 0;
	bool relist_due = false;

	if (revision <= namespace->heard)
		return true;
	pl_arena_reset(&sched->rules.arena);
	PL_LIST_EACH (link, &namespace->rules)
		PL_LIST_ITEM(link, struct sched_rule, of_namespace)->kept = false;
	if (!gone)
		code = read_terms(sched, namespace, value, &fresh);
	if (code == PL_OK)
		relist_due = drop_unregistered(sched, namespace) || namespace->stale;
	/* Until all classes are matched: a txn compares the registry that it relied on,
	 * which is the old one. */
	namespace->stale = true;
	if (code != PL_OK || !follow_registry(sched, namespace, fresh, relist_due))
		return false;
	namespace->stale = namespace->full = false;
	namespace->rev = gone ? 0 : revision;
	namespace->heard = revision;
	namespace->bytes = gone ? 0 : value.len;
	/* The put may have been a coarse lock. */
	rules_wait_for(sched, revision);
	return true;
}
