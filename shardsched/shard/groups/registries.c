/*
 * Registries as they change: what is registered is read, the classes get to know of it,
 * and what was decided while nobody looked at it is decided again.
 */
#include "shardsched/model/parse.h"
#include "shardsched/shard/commit/bundle.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"

/* -- terms that are read ----------------------------------------------------------- */

/* What stands there is what it is called by, or it is set aside. */
static enum pl_code read_term(struct sched *sched, const struct group_space *space,
                              const struct registry_term *term, struct pod *out,
                              struct pl_err *err)
{
	struct pl_arena *arena = &sched->groups.of_term;
	struct parse parse = {.model = &sched->model, .arena = arena};
	struct group_terms terms = {0};
	enum pl_code code;

	pl_arena_reset(arena);
	code = pod_parse(&parse, term->pod, out, err);
	if (code == PL_OK)
		code = group_terms_of(&sched->model, out->spec, arena, &terms, err);
	if (code != PL_OK)
		return code;
	if (terms.count != 1 || terms.term[0].kind != term->kind ||
	    !pl_span_eq(pl_span_str(terms.term[0].id), term->id) ||
	    terms.term[0].global != (space->name == 0) ||
	    (space->name != 0 && out->spec->namespace != space->name))
		return pl_err_set(err, PL_INVALID, "terms.%.*s: not what its pod carries",
		                  PL_SPAN_ARG(term->id));
	return PL_OK;
}

static void tell_bad(struct sched *sched, const struct group_space *space,
                     const struct pl_err *err)
{
	const struct keys_id id = {.kind = space->name == 0 ? KEYS_REGISTRY_GLOBAL
	                                                    : KEYS_REGISTRY,
	                           .scope = sched_text(sched, space->name)};

	tell_garbled(sched, &id, err);
}

static bool is_garbled(enum pl_code code)
{
	return code == PL_INVALID || code == PL_LIMIT || code == PL_PROTO;
}

/* Those of a space with one id have carriers in the same namespace, or the term would
 * have another hash. */
static struct group *registered(const struct sched *sched,
                                const struct group_space *space, struct pl_span id)
{
	uint32_t text = strings_find(&sched->model.strings, id);

	if (text == 0)
		return NULL;
	if (space->name != 0) {
		struct group *group = groups_find(sched, space->name, text);

		return group == NULL || group->space != space ? NULL : group;
	}
	PL_LIST_EACH (link, &space->groups) {
		struct group *group = PL_LIST_ITEM(link, struct group, of_space);

		if (group->key[1] == text)
			return group;
	}
	return NULL;
}

/* PL_NOMEM, or it is there, or it was told. */
static enum pl_code take_term(struct sched *sched, struct group_space *space,
                              const struct registry_term *term, uint32_t *fresh)
{
	struct group *group = registered(sched, space, term->id);
	struct pod pod = {0};
	struct pl_err err = {0};
	enum pl_code code;

	if (group != NULL) {
		group->kept = true;
		return PL_OK;
	}
	code = read_term(sched, space, term, &pod, &err);
	if (code == PL_OK) {
		group = groups_get(sched, sched_text(sched, pod.spec->namespace),
		                   term->id);
		if (group != NULL) {
			group->space = space;
			group->kind = term->kind;
			group->kept = true;
			group->carrier = pod.spec;
			pod.spec = NULL;
			pl_list_add_head(&space->groups, &group->of_space);
			++*fresh;
		} else {
			code = PL_NOMEM;
		}
	} else if (is_garbled(code)) {
		tell_bad(sched, space, &err);
		code = PL_OK;
	}
	pod_drop(&sched->model, &pod);
	return code;
}

/* -- pods that are decided again ---------------------------------------------------- */

static void redo_on(struct sched *sched, struct sched_node *node)
{
	PL_LIST_EACH (link, &node->waiting) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);
		const struct class_more *class =
			class_more_of(pool_class_of(pod->queue.class));

		if (class->bonds.lane != LANE_PLAIN && (pod->flags & POD_BUNDLED) == 0)
			pod_redo(sched, pod);
	}
}

/* By its name: the answer that brings the registry may have told that the node is gone.
 */
static void redo_sent(struct sched *sched, const struct call_item *item)
{
	struct sched_node *node = NULL;

	if (item->id.kind == KEYS_ALLOC && item->node != NULL)
		node = node_find(sched, item->id.scope, item->id.name);
	if (node != NULL)
		redo_on(sched, node);
}

/* Nothing is sent for who is being told of, or read, until that has ended, so its node is
 * in no list if nobody else waits there. */
static void redo_told(struct sched *sched, const struct call *call)
{
	for (uint32_t n = 0; n < call->items; n++) {
		const struct sched_pod *pod = call->item[n].pod;

		if (pod != NULL && pod->place == POD_WAITS)
			redo_on(sched, pod->node);
	}
}

static void redo_in(struct sched *sched, const struct call *call)
{
	if (call->state == CALL_FREE)
		return;
	if (call->kind == CALL_TELL || call->kind == CALL_READ)
		redo_told(sched, call);
	for (uint32_t n = 0; call_commits(call) && n < call->items; n++)
		redo_sent(sched, &call->item[n]);
}

static void redo_plain(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->ready)
		redo_on(sched, PL_LIST_ITEM(link, struct sched_node, ready));
	PL_LIST_EACH (link, &sched->abroad.ready)
		redo_on(sched, PL_LIST_ITEM(link, struct sched_node, ready));
	PL_LIST_EACH (link, &sched->bundle.nodes)
		redo_on(sched, PL_LIST_ITEM(link, struct sched_node, bundle));
	for (unsigned i = 0; i < SCHED_CALLS; i++)
		redo_in(sched, &sched->call[i]);
}

void groups_unsent(struct sched *sched, const struct call *call)
{
	if (call->groups_epoch == sched->groups.epoch)
		return;
	for (uint32_t i = 0; i < call->items; i++) {
		const struct call_item *item = &call->item[i];
		struct sched_pod *pod;

		if (item->id.kind != KEYS_STATE)
			continue;
		pod = pod_find(sched, item->id.partition, item->id.scope, item->id.name);
		if (pod != NULL && pod->place == POD_WAITS)
			redo_on(sched, pod->node);
	}
}

/* -- what has changed ---------------------------------------------------------------- */

static bool refresh(struct sched *sched, struct group_space *of,
                    struct group_space *space, uint32_t fresh, bool anew)
{
	bool noticed = false;

	if (!groups_meet(sched, of, space, fresh, anew, &noticed))
		return false;
	if (noticed)
		redo_plain(sched);
	return true;
}

static bool follow(struct sched *sched, struct group_space *space, uint32_t fresh,
                   bool anew)
{
	pl_list_del(&space->wanting); /* who still wants it says so again */
	sched->groups.epoch++;
	bundle_break(sched);
	if (space != sched->groups.global)
		return refresh(sched, space, space, fresh, anew);
	PL_MAP_EACH (at, &sched->groups.spaces) {
		struct group_space *of = PL_CONTAINER_OF(at, struct group_space, by_name);

		if (!refresh(sched, of, space, fresh, anew))
			return false;
	}
	return true;
}

static bool drop_unkept(struct sched *sched, struct group_space *space)
{
	bool dropped = false;

	PL_LIST_EACH (link, &space->groups) {
		struct group *group = PL_LIST_ITEM(link, struct group, of_space);

		if (group->kept)
			continue;
		groups_unregister(sched, group);
		dropped = true;
	}
	return dropped;
}

static enum pl_code read_terms(struct sched *sched, struct group_space *space,
                               struct pl_span value, uint32_t *fresh)
{
	struct registry registry = {0};
	struct pl_err err = {0};
	enum pl_code code = registry_parse(value, &sched->groups.arena, &registry, &err);

	if (is_garbled(code)) { /* whoever registers next mends it */
		tell_bad(sched, space, &err);
		return PL_OK;
	}
	for (uint32_t i = 0; code == PL_OK && i < registry.terms; i++)
		code = take_term(sched, space, &registry.term[i], fresh);
	return code;
}

bool groups_take_registry(struct sched *sched, struct group_space *space,
                          struct pl_span value, bool gone, int64_t revision)
{
	enum pl_code code = PL_OK;
	uint32_t fresh = 0;
	bool anew = false;

	if (revision <= space->heard)
		return true;
	pl_arena_reset(&sched->groups.arena);
	PL_LIST_EACH (link, &space->groups)
		PL_LIST_ITEM(link, struct group, of_space)->kept = false;
	if (!gone)
		code = read_terms(sched, space, value, &fresh);
	if (code == PL_OK)
		anew = drop_unkept(sched, space) || space->stale;
	/* Until all classes know: who compares what he relied on compares the old one. */
	space->stale = true;
	if (code != PL_OK || !follow(sched, space, fresh, anew))
		return false;
	space->stale = space->full = false;
	space->rev = gone ? 0 : revision;
	space->heard = revision;
	space->bytes = gone ? 0 : value.len;
	/* It may stand for locks that were put (many.c). */
	groups_wait_for(sched, revision);
	return true;
}
