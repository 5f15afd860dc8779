/*
 * Pods and their label sets. A pod's part in the sums is taken out before anything about
 * the pod changes, and added again afterwards.
 */
#include <stdlib.h>

#include "shardsched/budget/counter_inner.h"
#include "shardsched/records/pod_location.h"
#include "shardsched/records/pod_state.h"
#include "store/base/alloc.h"

static struct budget_namespace *namespace_at(struct pl_map_node *at)
{
	return PL_CONTAINER_OF(at, struct budget_namespace, by_name);
}

static struct counter_pod *pod_at(struct pl_map_node *at)
{
	return PL_CONTAINER_OF(at, struct counter_pod, by_name);
}

/* -- sums --------------------------------------------------------------------------- */

static void label_set_add(struct label_set *label_set, const struct counter_pod *pod,
                          bool more)
{
	uint32_t expected = !pod->over, healthy = pod->healthy;

	label_set->expected =
		more ? label_set->expected + expected : label_set->expected - expected;
	label_set->healthy =
		more ? label_set->healthy + healthy : label_set->healthy - healthy;
	for (uint32_t i = 0; i < label_set->budgets; i++) {
		struct counted_budget *budget = label_set->budget[i];

		budget->expected =
			more ? budget->expected + expected : budget->expected - expected;
		budget->healthy =
			more ? budget->healthy + healthy : budget->healthy - healthy;
	}
}

static void touch_budgets(struct counter *counter, const struct label_set *label_set)
{
	for (uint32_t i = 0; i < label_set->budgets; i++)
		counted_budget_touch(counter, label_set->budget[i]);
}

/* -- kins --------------------------------------------------------------------------- */

static void label_set_unmatch(struct counter *counter, struct label_set *label_set)
{
	for (uint32_t i = 0; i < label_set->budgets; i++) {
		label_set->budget[i]->expected -= label_set->expected;
		label_set->budget[i]->healthy -= label_set->healthy;
		counted_budget_touch(counter, label_set->budget[i]);
	}
	label_set->budgets = 0;
}

static bool budget_covers_set(const struct counter *counter,
                              const struct counted_budget *budget,
                              const struct label_set *label_set)
{
	return counted_budget_is_good(budget) &&
	       budget_covers(&counter->model.strings, &budget->object,
	                     label_set->key.labels);
}

enum pl_code label_set_match(struct counter *counter, struct label_set *label_set)
{
	const struct budget_namespace *namespace = label_set->key.namespace;
	uint32_t count = 0, had = label_set->budgets;
	struct counted_budget **grown = NULL;

	PL_LIST_EACH (link, &namespace->budgets)
		count += budget_covers_set(
			counter, PL_LIST_ITEM(link, struct counted_budget, of_namespace),
			label_set);
	if (count > had) {
		grown = pl_realloc(label_set->budget,
		                   count * sizeof(struct counted_budget *));
		if (grown == NULL)
			return PL_NOMEM;
		label_set->budget = grown;
	}
	label_set_unmatch(counter, label_set);
	PL_LIST_EACH (link, &namespace->budgets) {
		struct counted_budget *budget =
			PL_LIST_ITEM(link, struct counted_budget, of_namespace);

		if (!budget_covers_set(counter, budget, label_set))
			continue;
		label_set->budget[label_set->budgets++] = budget;
		budget->expected += label_set->expected;
		budget->healthy += label_set->healthy;
		counted_budget_touch(counter, budget);
	}
	return PL_OK;
}

static void label_set_tidy(struct counter *counter, struct label_set *label_set)
{
	if (label_set == NULL || label_set->pods > 0)
		return;
	label_set_unmatch(counter, label_set);
	pl_list_del(&label_set->of_namespace);
	pl_map_del(&counter->label_sets, &label_set->by_labels);
	model_unref(&counter->model, MODEL_LABELS, label_set->key.labels);
	free(label_set->budget);
	free(label_set);
}

/* Takes the reference. */
static struct label_set *label_set_get(struct counter *counter,
                                       struct budget_namespace *namespace,
                                       const struct labels *labels)
{
	const struct label_set_key key = {namespace, labels};
	struct pl_map_node *at =
		pl_map_get(&counter->label_sets, pl_span(&key, sizeof key));
	struct label_set *label_set;

	if (at != NULL) {
		model_unref(&counter->model, MODEL_LABELS, labels);
		return PL_CONTAINER_OF(at, struct label_set, by_labels);
	}
	label_set = pl_calloc(1, sizeof *label_set);
	if (label_set == NULL) {
		model_unref(&counter->model, MODEL_LABELS, labels);
		return NULL;
	}
	label_set->key = key;
	pl_list_add_tail(&namespace->label_sets, &label_set->of_namespace);
	(void)!pl_map_add(&counter->label_sets, &label_set->by_labels,
	                  pl_span(&label_set->key, sizeof label_set->key));
	if (label_set_match(counter, label_set) == PL_OK)
		return label_set;
	label_set_tidy(counter, label_set);
	return NULL;
}

static void set_label_set(struct counter *counter, struct counter_pod *pod,
                          struct label_set *label_set)
{
	struct label_set *was = pod->label_set;

	if (was == label_set)
		return;
	if (was != NULL) {
		label_set_add(was, pod, false);
		touch_budgets(counter, was);
		was->pods--;
	}
	pod->label_set = label_set;
	if (label_set != NULL) {
		label_set->pods++;
		label_set_add(label_set, pod, true);
		touch_budgets(counter, label_set);
	}
	label_set_tidy(counter, was);
}

/* -- pods --------------------------------------------------------------------------- */

struct counter_pod *pod_of(const struct counter *counter, uint32_t namespace,
                           struct pl_span name)
{
	const uint32_t key[2] = {namespace, strings_find(&counter->model.strings, name)};
	struct pl_map_node *at =
		key[1] == 0 ? NULL : pl_map_get(&counter->pods, pl_span(key, sizeof key));

	return at == NULL ? NULL : pod_at(at);
}

static struct counter_pod *pod_get(struct counter *counter,
                                   const struct budget_namespace *namespace,
                                   const struct keys_id *id)
{
	struct counter_pod *pod = pod_of(counter, namespace->name, id->name);

	if (pod != NULL || counter->pods.count >= counter->pods_max)
		return pod;
	pod = pl_calloc(1, sizeof *pod);
	if (pod == NULL)
		return NULL;
	if (strings_add(&counter->model.strings, id->name, &pod->key[1]) != PL_OK) {
		free(pod);
		return NULL;
	}
	pod->key[0] = strings_ref(&counter->model.strings, namespace->name);
	pod->partition = (uint16_t)id->partition;
	(void)!pl_map_add(&counter->pods, &pod->by_name,
	                  pl_span(pod->key, sizeof pod->key));
	return pod;
}

static void pod_free(struct counter *counter, struct counter_pod *pod)
{
	set_label_set(counter, pod, NULL);
	pl_map_del(&counter->pods, &pod->by_name);
	strings_unref(&counter->model.strings, pod->key[0]);
	strings_unref(&counter->model.strings, pod->key[1]);
	free(pod);
}

static void pod_tidy(struct counter *counter, struct counter_pod *pod)
{
	if (pod->label_set == NULL && pod->state_rev == 0)
		pod_free(counter, pod);
}

/* Shards read a spec in the same way: a spec with another pod's name is malformed. */
static bool is_own_key(struct reader *reader, struct pl_json meta,
                       const struct keys_id *id)
{
	return pl_span_eq(reader_text(reader, meta, "name"), id->name) &&
	       pl_span_eq(reader_text(reader, meta, "namespace"), id->scope);
}

/* The pod's labels, with a reference; NULL: malformed, or no memory (*code). */
static const struct labels *labels_of(struct counter *counter, const struct keys_id *id,
                                      struct pl_span value, enum pl_code *code)
{
	struct pl_err err = {0};
	struct reader reader;
	struct maker maker;
	struct pl_json root, meta;
	struct draft_pairs pairs;
	const struct labels *labels = NULL;
	bool own;

	pl_arena_reset(&counter->arena);
	root = reader_init(&reader, &counter->arena, value, &err);
	meta = reader_object(&reader, root, "metadata");
	pairs = reader_pairs(&reader, meta, "labels");
	own = is_own_key(&reader, meta, id);
	*code = reader.code == PL_NOMEM ? PL_NOMEM : PL_OK;
	if (reader.code != PL_OK || !own)
		return NULL;
	maker_init(&maker, &counter->model, &counter->arena);
	labels = labels_make(&maker, pairs);
	*code = maker.code;
	return labels;
}

static enum pl_code apply_spec(struct counter *counter,
                               struct budget_namespace *namespace,
                               const struct keys_id *id, struct pl_span value)
{
	const struct labels *labels;
	struct counter_pod *pod;
	enum pl_code code;
	struct label_set *label_set;

	labels = labels_of(counter, id, value, &code);
	if (code != PL_OK)
		return code;
	pod = pod_get(counter, namespace, id);
	if (pod == NULL) {
		model_unref(&counter->model, MODEL_LABELS, labels);
		return counter->pods.count >= counter->pods_max ? PL_LIMIT : PL_NOMEM;
	}
	pod->spec_seen = counter->pods_seen;
	pod->partition = (uint16_t)id->partition;
	label_set = labels == NULL ? NULL : label_set_get(counter, namespace, labels);
	if (labels != NULL && label_set == NULL) {
		pod_tidy(counter, pod);
		return PL_NOMEM;
	}
	set_label_set(counter, pod, label_set);
	pod_tidy(counter, pod);
	return PL_OK;
}

/* A pod that makes no sense is not taken for healthy. */
static enum pl_code judge_state(struct counter *counter, struct pl_span value, bool *over,
                                bool *healthy)
{
	struct pod_state state = {0};
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_reset(&counter->arena);
	*over = *healthy = false;
	code = state_parse(value, &counter->arena, &state, &err);
	if (code != PL_OK)
		return code == PL_NOMEM ? code : PL_OK;
	*over = state.phase == STATE_SUCCEEDED || state.phase == STATE_FAILED ||
	        state.ask == STATE_ASK_DELETE ||
	        (state.phase == STATE_TERMINATING && !state.next_pending);
	*healthy = state.phase == STATE_BOUND && state.ask == STATE_ASK_NONE &&
	           state.ended == STATE_ENDED_NOT;
	return PL_OK;
}

static void set_state(struct counter *counter, struct counter_pod *pod, int64_t rev,
                      bool over, bool healthy)
{
	bool changes = over != pod->over || healthy != pod->healthy;

	pod->state_rev = rev;
	if (!changes)
		return;
	if (pod->label_set != NULL)
		label_set_add(pod->label_set, pod, false);
	pod->over = over;
	pod->healthy = healthy;
	if (pod->label_set != NULL) {
		label_set_add(pod->label_set, pod, true);
		touch_budgets(counter, pod->label_set);
	}
}

static enum pl_code apply_state(struct counter *counter,
                                struct budget_namespace *namespace,
                                const struct keys_id *id, const struct kv_record *record)
{
	struct counter_pod *pod;
	bool over, healthy;
	enum pl_code code = judge_state(counter, record->value, &over, &healthy);

	if (code != PL_OK)
		return code;
	pod = pod_get(counter, namespace, id);
	if (pod == NULL)
		return counter->pods.count >= counter->pods_max ? PL_LIMIT : PL_NOMEM;
	if (pod->partition != id->partition && pod->label_set != NULL)
		return PL_OK; /* the state of another pod is not judged here */
	pod->state_seen = counter->pods_seen;
	set_state(counter, pod, record->mod_revision, over, healthy);
	return PL_OK;
}

static void apply_gone(struct counter *counter, const struct budget_namespace *namespace,
                       const struct keys_id *id)
{
	struct counter_pod *pod = pod_of(counter, namespace->name, id->name);

	if (pod == NULL || pod->partition != id->partition)
		return; /* maybe the pod's pointer */
	if (id->kind == KEYS_SPEC)
		set_label_set(counter, pod, NULL);
	else
		set_state(counter, pod, 0, false, false);
	pod_tidy(counter, pod);
}

static void forget_known(struct counter *counter)
{
	PL_MAP_EACH (at, &counter->namespaces)
		namespace_at(at)->pods = NAMESPACE_PODS_UNKNOWN;
	counter->listing = false;
}

enum pl_code counter_pod(struct counter *counter, const struct keys_id *id,
                         const struct kv_record *record, struct pl_err *err)
{
	struct budget_namespace *namespace = namespace_find(counter, id->scope);
	bool pointer = false;
	uint32_t at = 0;
	enum pl_code code = PL_OK;

	PL_ASSERT(id->kind == KEYS_SPEC || id->kind == KEYS_STATE);
	if (namespace == NULL)
		return PL_OK;
	if (record != NULL && id->kind == KEYS_SPEC &&
	    (pointer_parse(record->value, &pointer, &at, NULL) != PL_OK || pointer))
		return PL_OK;
	if (record == NULL)
		apply_gone(counter, namespace, id);
	else if (id->kind == KEYS_SPEC)
		code = apply_spec(counter, namespace, id, record->value);
	else
		code = apply_state(counter, namespace, id, record);
	if (code == PL_OK)
		return PL_OK;
	forget_known(counter);
	return code == PL_LIMIT
	               ? pl_err_set(err, code,
	                            "more than %u pods in namespaces with budgets",
	                            counter->pods_max)
	               : pl_err_set(err, code, "keep a pod that budgets may cover");
}

/* -- lists -------------------------------------------------------------------------- */

bool counter_wants_pods(const struct counter *counter)
{
	return counter->namespaces.count > 0;
}

bool counter_stale(const struct counter *counter)
{
	if (counter->listing)
		return false;
	PL_MAP_EACH (at, &counter->namespaces)
		if (!namespace_is_known(namespace_at(at)))
			return true;
	return false;
}

uint32_t counter_pods_pick(struct counter *counter)
{
	PL_MAP_EACH (at, &counter->namespaces)
		namespace_at(at)->picked = true;
	return (uint32_t)counter->namespaces.count;
}

bool counter_pods_picked(const struct counter *counter, struct pl_span after,
                         struct pl_span *out)
{
	bool found = false;

	PL_MAP_EACH (at, &counter->namespaces) {
		struct pl_span name = model_text(&counter->model, namespace_at(at)->name);

		if (!namespace_at(at)->picked || pl_span_cmp(name, after) <= 0 ||
		    (found && pl_span_cmp(name, *out) > 0))
			continue;
		*out = name;
		found = true;
	}
	return found;
}

/* From here to the end of the list new pods are known and deleted pods still count, so
 * sums may be too large. */
void counter_pods_begin(struct counter *counter)
{
	counter->pods_seen++;
	counter->listing = true;
	PL_MAP_EACH (at, &counter->namespaces) {
		struct budget_namespace *namespace = namespace_at(at);

		if (namespace->picked)
		namespace->pods = NAMESPACE_PODS_LISTING;
		else if (!namespace_is_known(namespace)) namespace->pods =
			NAMESPACE_PODS_UNKNOWN;
	}
}

void counter_pods_lost(struct counter *counter)
{
	counter->listing = false;
	PL_MAP_EACH (at, &counter->namespaces)
		if (!namespace_is_known(namespace_at(at)))
			namespace_at(at)->pods = NAMESPACE_PODS_UNKNOWN;
}

/* The pod is forgotten unless the list brought it. */
static void sweep_pod(struct counter *counter, struct counter_pod *pod)
{
	if (pod->spec_seen != counter->pods_seen)
		set_label_set(counter, pod, NULL);
	if (pod->state_seen != counter->pods_seen)
		set_state(counter, pod, 0, false, false);
	pod_tidy(counter, pod);
}

void counter_pods_end(struct counter *counter, int64_t revision)
{
	if (!counter->listing)
		return;
	counter->listing = false;
	PL_MAP_EACH (at, &counter->pods)
		sweep_pod(counter, pod_at(at));
	PL_MAP_EACH (at, &counter->namespaces) {
		struct budget_namespace *namespace = namespace_at(at);

		if (namespace->pods != NAMESPACE_PODS_LISTING)
			continue;
		namespace->pods = NAMESPACE_PODS_KNOWN;
		PL_LIST_EACH (link, &namespace->budgets)
			counted_budget_touch(
				counter,
				PL_LIST_ITEM(link, struct counted_budget, of_namespace));
	}
	counter_pods_seen(counter, revision);
}

void counter_pods_seen(struct counter *counter, int64_t revision)
{
	if (revision > counter->view_rev)
		counter->view_rev = revision;
	PL_LIST_EACH (link, &counter->noting)
		counted_budget_touch(counter,
		                     PL_LIST_ITEM(link, struct counted_budget, noting));
}

void pods_forget(struct counter *counter, const struct budget_namespace *namespace)
{
	PL_MAP_EACH (at, &counter->pods)
		if (pod_at(at)->key[0] == namespace->name)
			pod_free(counter, pod_at(at));
}
