/* Namespaces whose pods are known, or in which terms are registered. */
#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "store/base/alloc.h"

enum { NAMESPACES_FEW = 64 /* as many unneeded ones may stay */ };

static struct pl_span namespace_key(const uint32_t *name)
{
	return pl_span(name, sizeof *name);
}

struct rule_namespace *rules_namespace_find(const struct sched *sched, uint32_t name)
{
	struct pl_map_node *at =
		pl_map_get(&sched->rules.namespaces, namespace_key(&name));

	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct rule_namespace, by_name);
}

struct rule_namespace *rules_namespace(struct sched *sched, uint32_t name)
{
	struct rule_namespace *namespace = rules_namespace_find(sched, name);

	if (namespace != NULL)
		return namespace;
	namespace = pl_calloc(1, sizeof *namespace);
	if (namespace == NULL)
		return NULL;
	namespace->name = strings_ref(&sched->model.strings, name);
	pl_list_init(&namespace->rules);
	pl_list_init(&namespace->classes);
	pl_list_init(&namespace->wanting);
	(void)!pl_map_add(&sched->rules.namespaces, &namespace->by_name,
	                  namespace_key(&namespace->name));
	return namespace;
}

static enum pl_code put_default(struct sched *sched, uint32_t name)
{
	struct parse parse = {.model = &sched->model, .arena = &sched->rules.arena};
	struct namespace object;
	struct pl_err err = {0};
	enum pl_code code = cluster_namespace_default(&parse, name, &object);

	return code == PL_OK ? snapshot_namespace_put(&sched->snapshot, &object, &err)
	                     : code;
}

enum pl_code rules_see_namespace(struct sched *sched, uint32_t name)
{
	struct rule_namespace *namespace = rules_namespace(sched, name);
	enum pl_code code = namespace == NULL ? PL_NOMEM : PL_OK;

	if (code != PL_OK || namespace->seen)
		return code;
	if (!objects_have_namespace(sched, name))
		code = put_default(sched, name);
	namespace->seen = code == PL_OK;
	return code;
}

enum pl_code rules_default_namespace(struct sched *sched, uint32_t name)
{
	const struct rule_namespace *namespace = rules_namespace_find(sched, name);
	struct pl_err err = {0};

	if (namespace != NULL && namespace->seen)
		return put_default(sched, name);
	return snapshot_namespace_drop(&sched->snapshot, name, &err);
}

/* One whose registry is known stays, since the registry is not told again. */
static bool is_namespace_needed(const struct sched *sched,
                                const struct rule_namespace *namespace)
{
	return namespace == sched->rules.global || namespace->rev != 0 ||
	       namespace->heard != 0 || namespace->stale ||
	       !pl_list_empty(&namespace->rules) || !pl_list_empty(&namespace->classes) ||
	       !pl_list_empty(&namespace->wanting) ||
	       snapshot_namespace_is_used(&sched->snapshot, namespace->name);
}

static void namespace_free(struct sched *sched, struct rule_namespace *namespace)
{
	struct pl_err err = {0};

	if (namespace->seen && !objects_have_namespace(sched, namespace->name) &&
	    snapshot_namespace_drop(&sched->snapshot, namespace->name, &err) != PL_OK)
		PL_UNREACHABLE("a namespace that is needed");
	pl_map_del(&sched->rules.namespaces, &namespace->by_name);
	strings_unref(&sched->model.strings, namespace->name);
	free(namespace);
}

/* Looks once there are twice as many as were needed at the last look, so that each new
 * one costs little. Txns under way find their namespaces by name, and make them again. */
void rules_tidy(struct sched *sched)
{
	struct sched_rules *rules = &sched->rules;

	if (rules->namespaces.count < rules->tidy_at)
		return;
	PL_MAP_EACH (at, &rules->namespaces) {
		struct rule_namespace *namespace =
			PL_CONTAINER_OF(at, struct rule_namespace, by_name);

		if (!is_namespace_needed(sched, namespace))
			namespace_free(sched, namespace);
	}
	rules->tidy_at = 2 * rules->namespaces.count + NAMESPACES_FEW;
}
