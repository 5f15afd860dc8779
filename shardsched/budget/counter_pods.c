/*
 * Pods and their kins. A pod's part in the sums is taken out before anything about it
 * changes, and put in again afterwards.
 */
#include <stdlib.h>

#include "shardsched/budget/inner.h"
#include "shardsched/ledger/home.h"
#include "shardsched/ledger/state.h"
#include "store/base/alloc.h"

static struct space_of_budgets *space_at(struct pl_map_node *at)
{
	return PL_CONTAINER_OF(at, struct space_of_budgets, by_name);
}

static struct counter_pod *pod_at(struct pl_map_node *at)
{
	return PL_CONTAINER_OF(at, struct counter_pod, by_name);
}

/* -- sums --------------------------------------------------------------------------- */

static void add(struct kin *kin, const struct counter_pod *pod, bool more)
{
	uint32_t expected = !pod->over, healthy = pod->healthy;

	kin->expected = more ? kin->expected + expected : kin->expected - expected;
	kin->healthy = more ? kin->healthy + healthy : kin->healthy - healthy;
	for (uint32_t i = 0; i < kin->budgets; i++) {
		struct counted *budget = kin->budget[i];

		budget->expected =
			more ? budget->expected + expected : budget->expected - expected;
		budget->healthy =
			more ? budget->healthy + healthy : budget->healthy - healthy;
	}
}

static void touch(struct counter *counter, const struct kin *kin)
{
	for (uint32_t i = 0; i < kin->budgets; i++)
		counted_touch(counter, kin->budget[i]);
}

/* -- kins --------------------------------------------------------------------------- */

static void unmatch(struct counter *counter, struct kin *kin)
{
	for (uint32_t i = 0; i < kin->budgets; i++) {
		kin->budget[i]->expected -= kin->expected;
		kin->budget[i]->healthy -= kin->healthy;
		counted_touch(counter, kin->budget[i]);
	}
	kin->budgets = 0;
}

static bool covers(const struct counter *counter, const struct counted *budget,
                   const struct kin *kin)
{
	return budget->good &&
	       budget_covers(&counter->model.strings, &budget->object, kin->key.labels);
}

enum pl_code kin_match(struct counter *counter, struct kin *kin)
{
	const struct space_of_budgets *space = kin->key.space;
	uint32_t count = 0, had = kin->budgets;
	struct counted **grown = NULL;

	PL_LIST_EACH (link, &space->budgets)
		count += covers(counter, PL_LIST_ITEM(link, struct counted, of_space),
		                kin);
	if (count > had) {
		grown = pl_realloc(kin->budget, count * sizeof(struct counted *));
		if (grown == NULL)
			return PL_NOMEM;
		kin->budget = grown;
	}
	unmatch(counter, kin);
	PL_LIST_EACH (link, &space->budgets) {
		struct counted *budget = PL_LIST_ITEM(link, struct counted, of_space);

		if (!covers(counter, budget, kin))
			continue;
		kin->budget[kin->budgets++] = budget;
		budget->expected += kin->expected;
		budget->healthy += kin->healthy;
		counted_touch(counter, budget);
	}
	return PL_OK;
}

static void kin_tidy(struct counter *counter, struct kin *kin)
{
	if (kin == NULL || kin->pods > 0)
		return;
	unmatch(counter, kin);
	pl_list_del(&kin->of_space);
	pl_map_del(&counter->kins, &kin->by_labels);
	model_unref(&counter->model, MODEL_LABELS, kin->key.labels);
	free(kin->budget);
	free(kin);
}

/* Takes the reference. */
static struct kin *kin_get(struct counter *counter, struct space_of_budgets *space,
                           const struct labels *labels)
{
	const struct kin_key key = {space, labels};
	struct pl_map_node *at = pl_map_get(&counter->kins, pl_span(&key, sizeof key));
	struct kin *kin;

	if (at != NULL) {
		model_unref(&counter->model, MODEL_LABELS, labels);
		return PL_CONTAINER_OF(at, struct kin, by_labels);
	}
	kin = pl_calloc(1, sizeof *kin);
	if (kin == NULL) {
		model_unref(&counter->model, MODEL_LABELS, labels);
		return NULL;
	}
	kin->key = key;
	pl_list_add_tail(&space->kins, &kin->of_space);
	(void)!pl_map_add(&counter->kins, &kin->by_labels,
	                  pl_span(&kin->key, sizeof kin->key));
	if (kin_match(counter, kin) == PL_OK)
		return kin;
	kin_tidy(counter, kin);
	return NULL;
}

static void set_kin(struct counter *counter, struct counter_pod *pod, struct kin *kin)
{
	struct kin *was = pod->kin;

	if (was == kin)
		return;
	if (was != NULL) {
		add(was, pod, false);
		touch(counter, was);
		was->pods--;
	}
	pod->kin = kin;
	if (kin != NULL) {
		kin->pods++;
		add(kin, pod, true);
		touch(counter, kin);
	}
	kin_tidy(counter, was);
}

/* -- pods --------------------------------------------------------------------------- */

struct counter_pod *pod_of(const struct counter *counter, uint32_t space,
                           struct pl_span name)
{
	const uint32_t key[2] = {space, strings_find(&counter->model.strings, name)};
	struct pl_map_node *at =
		key[1] == 0 ? NULL : pl_map_get(&counter->pods, pl_span(key, sizeof key));

	return at == NULL ? NULL : pod_at(at);
}

static struct counter_pod *pod_get(struct counter *counter,
                                   const struct space_of_budgets *space,
                                   const struct keys_id *id)
{
	struct counter_pod *pod = pod_of(counter, space->name, id->name);

	if (pod != NULL || counter->pods.count >= counter->pods_max)
		return pod;
	pod = pl_calloc(1, sizeof *pod);
	if (pod == NULL)
		return NULL;
	if (strings_add(&counter->model.strings, id->name, &pod->key[1]) != PL_OK) {
		free(pod);
		return NULL;
	}
	pod->key[0] = strings_ref(&counter->model.strings, space->name);
	pod->partition = (uint16_t)id->partition;
	(void)!pl_map_add(&counter->pods, &pod->by_name,
	                  pl_span(pod->key, sizeof pod->key));
	return pod;
}

static void pod_free(struct counter *counter, struct counter_pod *pod)
{
	set_kin(counter, pod, NULL);
	pl_map_del(&counter->pods, &pod->by_name);
	strings_unref(&counter->model.strings, pod->key[0]);
	strings_unref(&counter->model.strings, pod->key[1]);
	free(pod);
}

static void pod_tidy(struct counter *counter, struct counter_pod *pod)
{
	if (pod->kin == NULL && pod->state_rev == 0)
		pod_free(counter, pod);
}

/* As the shards have it: to them a spec that is another's makes no sense either. */
static bool is_its_own(struct reader *reader, struct pl_json meta,
                       const struct keys_id *id)
{
	return pl_span_eq(reader_text(reader, meta, "name"), id->name) &&
	       pl_span_eq(reader_text(reader, meta, "namespace"), id->scope);
}

/* Its labels, with a reference; NULL: it makes no sense, or there is no memory (*code).
 */
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
	own = is_its_own(&reader, meta, id);
	*code = reader.code == PL_NOMEM ? PL_NOMEM : PL_OK;
	if (reader.code != PL_OK || !own)
		return NULL;
	maker_init(&maker, &counter->model, &counter->arena);
	labels = labels_make(&maker, pairs);
	*code = maker.code;
	return labels;
}

static enum pl_code take_spec(struct counter *counter, struct space_of_budgets *space,
                              const struct keys_id *id, struct pl_span value)
{
	const struct labels *labels;
	struct counter_pod *pod;
	enum pl_code code;
	struct kin *kin;

	labels = labels_of(counter, id, value, &code);
	if (code != PL_OK)
		return code;
	pod = pod_get(counter, space, id);
	if (pod == NULL) {
		model_unref(&counter->model, MODEL_LABELS, labels);
		return counter->pods.count >= counter->pods_max ? PL_LIMIT : PL_NOMEM;
	}
	pod->spec_seen = counter->pods_seen;
	pod->partition = (uint16_t)id->partition;
	kin = labels == NULL ? NULL : kin_get(counter, space, labels);
	if (labels != NULL && kin == NULL) {
		pod_tidy(counter, pod);
		return PL_NOMEM;
	}
	set_kin(counter, pod, kin);
	pod_tidy(counter, pod);
	return PL_OK;
}

/* A pod that makes no sense is not taken for healthy. */
static enum pl_code judge(struct counter *counter, struct pl_span value, bool *over,
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
	if (pod->kin != NULL)
		add(pod->kin, pod, false);
	pod->over = over;
	pod->healthy = healthy;
	if (pod->kin != NULL) {
		add(pod->kin, pod, true);
		touch(counter, pod->kin);
	}
}

static enum pl_code take_state(struct counter *counter, struct space_of_budgets *space,
                               const struct keys_id *id, const struct kv_record *record)
{
	struct counter_pod *pod;
	bool over, healthy;
	enum pl_code code = judge(counter, record->value, &over, &healthy);

	if (code != PL_OK)
		return code;
	pod = pod_get(counter, space, id);
	if (pod == NULL)
		return counter->pods.count >= counter->pods_max ? PL_LIMIT : PL_NOMEM;
	if (pod->partition != id->partition && pod->kin != NULL)
		return PL_OK; /* what is left of another one: not ours to judge */
	pod->state_seen = counter->pods_seen;
	set_state(counter, pod, record->mod_revision, over, healthy);
	return PL_OK;
}

static void take_gone(struct counter *counter, const struct space_of_budgets *space,
                      const struct keys_id *id)
{
	struct counter_pod *pod = pod_of(counter, space->name, id->name);

	if (pod == NULL || pod->partition != id->partition)
		return; /* its pointer, perhaps */
	if (id->kind == KEYS_SPEC)
		set_kin(counter, pod, NULL);
	else
		set_state(counter, pod, 0, false, false);
	pod_tidy(counter, pod);
}

static void unknow(struct counter *counter)
{
	PL_MAP_EACH (at, &counter->spaces)
		space_at(at)->known = space_at(at)->listing = false;
	counter->listing = false;
}

enum pl_code counter_pod(struct counter *counter, const struct keys_id *id,
                         const struct kv_record *record, struct pl_err *err)
{
	struct space_of_budgets *space = space_find(counter, id->scope);
	bool pointer = false;
	uint32_t at = 0;
	enum pl_code code = PL_OK;

	PL_ASSERT(id->kind == KEYS_SPEC || id->kind == KEYS_STATE);
	if (space == NULL)
		return PL_OK;
	if (record != NULL && id->kind == KEYS_SPEC &&
	    (pointer_parse(record->value, &pointer, &at, NULL) != PL_OK || pointer))
		return PL_OK;
	if (record == NULL)
		take_gone(counter, space, id);
	else if (id->kind == KEYS_SPEC)
		code = take_spec(counter, space, id, record->value);
	else
		code = take_state(counter, space, id, record);
	if (code == PL_OK)
		return PL_OK;
	unknow(counter);
	return code == PL_LIMIT
	               ? pl_err_set(err, code,
	                            "more than %u pods in namespaces with budgets",
	                            counter->pods_max)
	               : pl_err_set(err, code, "keep a pod that budgets may cover");
}

/* -- lists -------------------------------------------------------------------------- */

bool counter_wants_pods(const struct counter *counter)
{
	return counter->spaces.count > 0;
}

bool counter_stale(const struct counter *counter)
{
	if (counter->listing)
		return false;
	PL_MAP_EACH (at, &counter->spaces)
		if (!space_at(at)->known)
			return true;
	return false;
}

uint32_t counter_pods_pick(struct counter *counter)
{
	PL_MAP_EACH (at, &counter->spaces)
		space_at(at)->picked = true;
	return (uint32_t)counter->spaces.count;
}

bool counter_pods_picked(const struct counter *counter, struct pl_span after,
                         struct pl_span *out)
{
	bool found = false;

	PL_MAP_EACH (at, &counter->spaces) {
		struct pl_span name = model_text(&counter->model, space_at(at)->name);

		if (!space_at(at)->picked || pl_span_cmp(name, after) <= 0 ||
		    (found && pl_span_cmp(name, *out) > 0))
			continue;
		*out = name;
		found = true;
	}
	return found;
}

/* From here to its end those who came since the last one are known, and those who are
 * gone are not: counted together they are more than ever were. */
void counter_pods_begin(struct counter *counter)
{
	counter->pods_seen++;
	counter->listing = true;
	PL_MAP_EACH (at, &counter->spaces) {
		struct space_of_budgets *space = space_at(at);

		space->listing = space->picked;
		space->known = space->known && !space->picked;
	}
}

void counter_pods_lost(struct counter *counter)
{
	counter->listing = false;
	PL_MAP_EACH (at, &counter->spaces)
		space_at(at)->listing = false;
}

/* What the list did not have is gone. */
static void sweep(struct counter *counter, struct counter_pod *pod)
{
	if (pod->spec_seen != counter->pods_seen)
		set_kin(counter, pod, NULL);
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
		sweep(counter, pod_at(at));
	PL_MAP_EACH (at, &counter->spaces) {
		struct space_of_budgets *space = space_at(at);

		if (!space->listing)
			continue;
		space->known = true;
		space->listing = false;
		PL_LIST_EACH (link, &space->budgets)
			counted_touch(counter,
			              PL_LIST_ITEM(link, struct counted, of_space));
	}
	counter_pods_seen(counter, revision);
}

void counter_pods_seen(struct counter *counter, int64_t revision)
{
	if (revision > counter->view_rev)
		counter->view_rev = revision;
	PL_LIST_EACH (link, &counter->noting)
		counted_touch(counter, PL_LIST_ITEM(link, struct counted, noting));
}

void pods_forget(struct counter *counter, const struct space_of_budgets *space)
{
	PL_MAP_EACH (at, &counter->pods)
		if (pod_at(at)->key[0] == space->name)
			pod_free(counter, pod_at(at));
}
