/*
 * Terms, and their links with the open classes. Each new term is matched with every class
 * once, and each new class with the terms of its namespace and the global ones.
 */
#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "store/base/alloc.h"

enum { ARENA_CHUNK = 16 << 10 };

static struct registered_class *class_of(struct class_rules *class_rules)
{
	struct class_more *class =
		PL_CONTAINER_OF(class_rules, struct class_more, class_rules);

	return pool_class_of(&class->queue);
}

/* -- terms ------------------------------------------------------------------- */

static struct pl_span rule_key(const uint32_t key[2])
{
	return pl_span(key, 2 * sizeof key[0]);
}

struct sched_rule *rules_find(const struct sched *sched, uint32_t namespace, uint32_t id)
{
	const uint32_t key[2] = {namespace, id};
	struct pl_map_node *at = pl_map_get(&sched->rules.rules, rule_key(key));

	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct sched_rule, by_key);
}

static struct sched_rule *rule_new(struct sched *sched, uint32_t namespace, uint32_t id)
{
	struct sched_rule *rule = pl_calloc(1, sizeof *rule);

	if (rule == NULL)
		return NULL;
	rule->key[0] = strings_ref(&sched->model.strings, namespace);
	rule->key[1] = strings_ref(&sched->model.strings, id);
	pl_list_init(&rule->of_namespace);
	pl_list_init(&rule->gathered);
	pl_list_init(&rule->lost);
	(void)!pl_map_add(&sched->rules.rules, &rule->by_key, rule_key(rule->key));
	return rule;
}

struct sched_rule *rules_get(struct sched *sched, struct pl_span namespace,
                             struct pl_span id)
{
	struct strings *strings = &sched->model.strings;
	struct sched_rule *rule = NULL;
	uint32_t key[2] = {0};

	if (strings_add(strings, namespace, &key[0]) == PL_OK &&
	    strings_add(strings, id, &key[1]) == PL_OK) {
		rule = rules_find(sched, key[0], key[1]);
		if (rule == NULL)
			rule = rule_new(sched, key[0], key[1]);
	}
	strings_unref(strings, key[0]);
	strings_unref(strings, key[1]);
	return rule;
}

void rules_unregister(struct sched *sched, struct sched_rule *rule)
{
	pl_list_del(&rule->of_namespace);
	pl_list_del(&rule->lost);
	rule->namespace = NULL;
	sched->rules.label_terms -= rule->by_labels;
	rule->by_labels = false;
	model_unref(&sched->model, MODEL_SPECS, rule->carrier);
	rule->carrier = NULL;
}

static void rule_free(struct sched *sched, struct sched_rule *rule)
{
	rules_unregister(sched, rule);
	pl_list_del(&rule->gathered);
	pl_map_del(&sched->rules.rules, &rule->by_key);
	strings_unref(&sched->model.strings, rule->key[0]);
	strings_unref(&sched->model.strings, rule->key[1]);
	free(rule);
}

/* Classes that were not matched since may still refer to the rule. */
void rules_forget(struct sched *sched, struct sched_rule *rule)
{
	PL_MAP_EACH (at, &sched->rules.namespaces)
		if (PL_CONTAINER_OF(at, struct rule_namespace, by_name)->stale)
			return;
	rule_free(sched, rule);
}

/* -- links ------------------------------------------------------------------- */

static const struct own_term *own_term_of(const struct class_rule_links *links,
                                          const struct sched_rule *rule,
                                          const struct spec *spec)
{
	for (uint32_t i = 0; i < links->owns; i++)
		if (links->own[i].id == rule->key[1] && rule->key[0] == spec->namespace)
			return &links->own[i];
	return NULL;
}

/* False: the term does not concern the class. */
static bool link_of(const struct sched *sched, struct sched_rule *rule,
                    const struct spec *spec, bool carried, struct rule_link *out)
{
	bool mutual = rule->kind == RULE_KIND_ANTI_AFFINITY;
	bool found = rule_carrier_finds(
		&sched->model, rule->carrier, spec,
		catalog_namespace_labels(&sched->snapshot.catalog, spec->namespace));

	*out = (struct rule_link){.rule = rule,
	                          .puts = found || (carried && mutual),
	                          .compares = carried || (found && mutual)};
	return found || carried;
}

/* NULL: no memory. */
static struct class_rule_links *links_get(struct class_rules *class_rules)
{
	struct class_rare *rare = class_rare_get(
		PL_CONTAINER_OF(class_rules, struct class_more, class_rules));

	return rare == NULL ? NULL : &rare->links;
}

static enum pl_code links_add(struct class_rules *class_rules,
                              const struct rule_link *rule_link)
{
	struct class_rule_links *links = links_get(class_rules);
	struct rule_link *grown;
	uint32_t cap;

	if (links == NULL)
		return PL_NOMEM;
	cap = links->cap == 0 ? 4 : links->cap * 2u;
	PL_ASSERT(cap <= UINT16_MAX);
	if (links->count == links->cap) {
		grown = pl_realloc(links->rule_link, cap * sizeof *grown);
		if (grown == NULL)
			return PL_NOMEM;
		links->rule_link = grown;
		links->cap = (uint16_t)cap;
	}
	links->rule_link[links->count++] = *rule_link;
	return PL_OK;
}

/* Links the class and the term if the term concerns the class. */
static enum pl_code match_rule(struct sched *sched, struct class_rules *class_rules,
                               struct sched_rule *rule)
{
	const struct spec *spec = class_of(class_rules)->spec;
	bool carried = own_term_of(class_rule_links_of(class_rules), rule, spec) != NULL;
	struct rule_link rule_link;
	enum pl_code code;

	if (!link_of(sched, rule, spec, carried, &rule_link))
		return PL_OK;
	code = links_add(class_rules, &rule_link);
	if (code != PL_OK)
		return code;
	if (carried)
		links_get(class_rules)->missing--;
	class_rules->wide = class_rules->wide || rule_link.compares;
	return PL_OK;
}

static enum pl_code match_all(struct sched *sched, struct class_rules *class_rules,
                              const struct rule_namespace *namespace)
{
	enum pl_code code = PL_OK;

	PL_LIST_EACH (link, &namespace->rules)
		if (code == PL_OK)
			code = match_rule(
				sched, class_rules,
				PL_LIST_ITEM(link, struct sched_rule, of_namespace));
	return code;
}

static enum pl_code match_anew(struct sched *sched, struct class_rules *class_rules)
{
	struct class_rare *rare =
		PL_CONTAINER_OF(class_rules, struct class_more, class_rules)->rare;
	enum pl_code code;

	if (rare != NULL) {
		rare->links.count = 0;
		rare->links.missing = rare->links.owns;
	}
	class_rules->wide = rule_is_carrier(&sched->model, class_of(class_rules)->spec);
	class_rules->refused = class_rules->coarse = false;
	code = match_all(sched, class_rules, class_rules->namespace);
	return code == PL_OK ? match_all(sched, class_rules, sched->rules.global) : code;
}

static void want_registered(struct sched *sched, struct class_rules *class_rules)
{
	const struct spec *spec = class_of(class_rules)->spec;
	const struct class_rule_links *links = class_rule_links_of(class_rules);

	for (uint32_t i = 0; i < links->owns; i++) {
		const struct own_term *own = &links->own[i];
		const struct sched_rule *rule =
			rules_find(sched, spec->namespace, own->id);
		struct rule_namespace *namespace =
			own->global ? sched->rules.global : class_rules->namespace;

		if ((rule == NULL || rule->namespace == NULL) &&
		    pl_list_empty(&namespace->wanting))
			pl_list_add_tail(&sched->rules.wanting, &namespace->wanting);
	}
}

static uint8_t lane_of_class(const struct class_rules *class_rules)
{
	const struct class_rule_links *links = class_rule_links_of(class_rules);

	if (links->missing > 0 && !class_rules->refused)
		return LANE_UNREGISTERED;
	if (class_rules->wide)
		return LANE_RULED;
	return links->count > 0 ? LANE_SELECTED : LANE_PLAIN;
}

static void want_fleet_view(struct sched *sched, struct class_more *class)
{
	bool pods = class->queue.pods > 0 ||
	            (class->rare != NULL && !pl_list_empty(&class->rare->own));
	bool wants = pods && (class->class_rules.lane == LANE_RULED ||
	                      class->class_rules.lane == LANE_UNREGISTERED);

	if (wants && !class->class_rules.wants)
		fleet_view_acquire(sched);
	if (!wants && class->class_rules.wants)
		fleet_view_release(sched);
	class->class_rules.wants = wants;
}

void rules_class_pods_changed(struct sched *sched, struct registered_class *open)
{
	want_fleet_view(sched, class_more_of(open));
}

bool rules_class_ready(struct sched *sched, struct queue_class *class)
{
	unsigned lane = class_rules_of(pool_class_of(class))->lane;
	struct pl_err err = {0};

	return queue_class_move(queue_of_class(sched, class), class, lane, &err) == PL_OK;
}

/* Classes that cannot be moved now follow when they are popped (rules_class_ready). */
static void move_queue_classes(struct sched *sched, struct class_more *more)
{
	(void)rules_class_ready(sched, &more->queue);
	if (more->rare == NULL)
		return;
	PL_LIST_EACH (link, &more->rare->own)
		(void)rules_class_ready(
			sched, &PL_LIST_ITEM(link, struct own_class, of_open)->queue);
}

/* True: the class's pods were decided as if no rule concerned them, and now one does. */
static bool class_set_lane(struct sched *sched, struct class_rules *class_rules)
{
	uint8_t was = class_rules->lane;

	class_rules->lane = lane_of_class(class_rules);
	if (class_rules->lane == LANE_UNREGISTERED)
		want_registered(sched, class_rules);
	want_fleet_view(sched,
	                PL_CONTAINER_OF(class_rules, struct class_more, class_rules));
	if (class_rules->lane != was)
		move_queue_classes(sched, class_more_of(class_of(class_rules)));
	return was == LANE_PLAIN && class_rules->lane != LANE_PLAIN;
}

/* -- classes ----------------------------------------------------------------- */

static enum pl_code read_own_terms(struct sched *sched, struct class_rule_links *links,
                                   const struct spec *spec, struct pl_err *err)
{
	struct rule_terms terms = {0};
	enum pl_code code;

	if (!rule_is_carrier(&sched->model, spec))
		return PL_OK;
	pl_arena_reset(&sched->rules.arena);
	code = rule_terms_of(&sched->model, spec, &sched->rules.arena, &terms, err);
	if (code != PL_OK || terms.count == 0)
		return code;
	if (terms.count > UINT16_MAX)
		return pl_err_set(err, PL_LIMIT, "a pod has %u rules", terms.count);
	links->own = pl_calloc(terms.count, sizeof *links->own);
	if (links->own == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the rules of a pod");
	for (uint32_t i = 0; i < terms.count; i++) {
		struct own_term *own = &links->own[links->owns];

		own->global = terms.term[i].global;
		code = strings_add(&sched->model.strings, pl_span_str(terms.term[i].id),
		                   &own->id);
		if (code != PL_OK)
			return pl_err_set(err, code, "keep the rules of a pod");
		links->owns++;
	}
	return PL_OK;
}

static void links_done(struct sched *sched, struct class_rule_links *links)
{
	for (uint32_t i = 0; i < links->owns; i++)
		strings_unref(&sched->model.strings, links->own[i].id);
	free(links->own);
	free(links->rule_link);
	*links = (struct class_rule_links){0};
}

/* Most classes carry no terms, and need no memory for them. */
static enum pl_code learn_terms(struct sched *sched, struct class_rules *class_rules,
                                const struct spec *spec, struct pl_err *err)
{
	struct class_rule_links *links;

	if (!rule_is_carrier(&sched->model, spec))
		return PL_OK;
	links = links_get(class_rules);
	if (links == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the rules of a pod");
	return read_own_terms(sched, links, spec, err);
}

static void class_rules_done(struct sched *sched, struct class_rules *class_rules)
{
	struct class_rare *rare =
		PL_CONTAINER_OF(class_rules, struct class_more, class_rules)->rare;

	*class_rules = (struct class_rules){0};
	if (rare != NULL)
		links_done(sched, &rare->links);
}

enum pl_code rules_class_opened(struct sched *sched, struct registered_class *open,
                                struct pl_err *err)
{
	struct class_rules *class_rules = &class_more_of(open)->class_rules;
	enum pl_code code;

	code = rules_see_namespace(sched, open->spec->namespace);
	if (code != PL_OK)
		return pl_err_set(err, code, "keep a namespace");
	class_rules->namespace = rules_namespace_find(sched, open->spec->namespace);
	code = learn_terms(sched, class_rules, open->spec, err);
	if (code == PL_OK) {
		code = match_anew(sched, class_rules);
		if (code != PL_OK)
			pl_err_set(err, code, "keep the rules that select a pod");
	}
	if (code != PL_OK) {
		class_rules_done(sched, class_rules);
		return code;
	}
	pl_list_init(&class_rules->of_namespace);
	pl_list_add_tail(&class_rules->namespace->classes, &class_rules->of_namespace);
	(void)class_set_lane(sched, class_rules);
	return PL_OK;
}

void rules_class_closing(struct sched *sched, struct registered_class *open)
{
	struct class_rules *class_rules = &class_more_of(open)->class_rules;

	PL_ASSERT(!class_rules->wants);
	pl_list_del(&class_rules->of_namespace);
	class_rules_done(sched, class_rules);
}

static void refuse_namespace(struct sched *sched, struct rule_namespace *of, bool global)
{
	PL_LIST_EACH (link, &of->classes) {
		struct class_rules *class_rules =
			PL_LIST_ITEM(link, struct class_rules, of_namespace);
		const struct spec *spec = class_of(class_rules)->spec;
		const struct class_rule_links *links = class_rule_links_of(class_rules);

		for (uint32_t i = 0; links->missing > 0 && i < links->owns; i++) {
			const struct sched_rule *rule =
				rules_find(sched, spec->namespace, links->own[i].id);

			if (links->own[i].global == global &&
			    (rule == NULL || rule->namespace == NULL))
				class_rules->refused = true;
		}
		(void)class_set_lane(sched, class_rules);
	}
}

void rules_refuse(struct sched *sched, struct rule_namespace *namespace)
{
	pl_list_del(&namespace->wanting);
	if (namespace != sched->rules.global) {
		refuse_namespace(sched, namespace, false);
		return;
	}
	PL_MAP_EACH (at, &sched->rules.namespaces)
		refuse_namespace(
			sched, PL_CONTAINER_OF(at, struct rule_namespace, by_name), true);
}

/* -- when a registry changes ------------------------------------------------- */

static bool each_class(struct sched *sched, struct rule_namespace *namespace,
                       bool relist_due, bool *noticed)
{
	PL_LIST_EACH (link, &namespace->classes) {
		struct class_rules *class_rules =
			PL_LIST_ITEM(link, struct class_rules, of_namespace);

		if (relist_due && match_anew(sched, class_rules) != PL_OK)
			return false;
		*noticed = class_set_lane(sched, class_rules) || *noticed;
	}
	return true;
}

/* Fresh terms are the first ones of the namespace. */
static bool match_fresh(struct sched *sched, struct rule_namespace *of,
                        struct rule_namespace *namespace, uint32_t fresh)
{
	PL_LIST_EACH (link, &of->classes) {
		struct class_rules *class_rules =
			PL_LIST_ITEM(link, struct class_rules, of_namespace);
		struct pl_list *at = namespace->rules.next;

		class_rules->refused = class_rules->coarse = false;
		for (uint32_t i = 0; i < fresh; i++, at = at->next)
			if (match_rule(sched, class_rules,
			               PL_LIST_ITEM(at, struct sched_rule,
			                            of_namespace)) != PL_OK)
				return false;
	}
	return true;
}

bool rules_match_classes(struct sched *sched, struct rule_namespace *of,
                         struct rule_namespace *namespace, uint32_t fresh,
                         bool relist_due, bool *noticed)
{
	if (!relist_due && !match_fresh(sched, of, namespace, fresh))
		return false;
	return each_class(sched, of, relist_due, noticed);
}

/* -- pods of any spec -------------------------------------------------------- */

static enum pl_code each_open_link(struct sched *sched,
                                   const struct class_rule_links *links,
                                   const struct rule_namespace *namespace,
                                   const struct spec *spec,
                                   const struct rules_each_link *each)
{
	PL_LIST_EACH (link, &namespace->rules) {
		struct sched_rule *rule =
			PL_LIST_ITEM(link, struct sched_rule, of_namespace);
		bool carried = own_term_of(links, rule, spec) != NULL;
		struct rule_link rule_link;
		enum pl_code code = PL_OK;

		if (link_of(sched, rule, spec, carried, &rule_link))
			code = each->fn(each->ctx, &rule_link);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static enum pl_code each_closed_link(struct sched *sched, const struct spec *spec,
                                     const struct rules_each_link *each)
{
	struct class_rule_links own = {0};
	struct pl_err err = {0};
	enum pl_code code = rules_see_namespace(sched, spec->namespace);

	if (code == PL_OK)
		code = read_own_terms(sched, &own, spec, &err);
	if (code == PL_OK)
		code = each_open_link(sched, &own,
		                      rules_namespace_find(sched, spec->namespace), spec,
		                      each);
	if (code == PL_OK)
		code = each_open_link(sched, &own, sched->rules.global, spec, each);
	links_done(sched, &own);
	return code;
}

enum pl_code rules_each_link(struct sched *sched, const struct spec *spec,
                             const struct rules_each_link *each)
{
	struct registered_class *open = class_registry_find(sched->class_registry, spec);
	const struct class_rule_links *links;
	enum pl_code code = PL_OK;

	if (open == NULL)
		return each_closed_link(sched, spec, each);
	links = class_rule_links_of(class_rules_of(open));
	for (uint32_t i = 0; code == PL_OK && i < links->count; i++)
		code = each->fn(each->ctx, &links->rule_link[i]);
	return code;
}

/* -- its life ---------------------------------------------------------------- */

enum pl_code rules_init(struct sched *sched)
{
	struct sched_rules *rules = &sched->rules;

	pl_map_init(&rules->namespaces);
	pl_map_init(&rules->rules);
	pl_list_init(&rules->wanting);
	pl_list_init(&rules->gathered);
	pl_list_init(&rules->lost);
	pl_arena_init(&rules->arena, ARENA_CHUNK, READER_ARENA_MAX);
	pl_arena_init(&rules->of_term, ARENA_CHUNK, READER_ARENA_MAX);
	rules->global = rules_namespace(sched, 0);
	return rules->global == NULL ? PL_NOMEM : PL_OK;
}

/* All classes were closed before. */
void rules_done(struct sched *sched)
{
	struct sched_rules *rules = &sched->rules;

	PL_MAP_EACH (at, &rules->rules)
		rule_free(sched, PL_CONTAINER_OF(at, struct sched_rule, by_key));
	PL_MAP_EACH (at, &rules->namespaces) {
		struct rule_namespace *namespace =
			PL_CONTAINER_OF(at, struct rule_namespace, by_name);

		PL_ASSERT(pl_list_empty(&namespace->classes));
		pl_map_del(&rules->namespaces, &namespace->by_name);
		strings_unref(&sched->model.strings, namespace->name);
		free(namespace);
	}
	pl_map_done(&rules->rules);
	pl_map_done(&rules->namespaces);
	pl_arena_done(&rules->arena);
	pl_arena_done(&rules->of_term);
}
