#include "shardsched/snapshot/matcher.h"

#include <stdlib.h>

#include "shardsched/snapshot/views_inner.h"
#include "store/base/alloc.h"

/* -- its pods ------------------------------------------------------------------------ */

void matcher_add(struct matcher *matcher, uint32_t slot, uint32_t pods)
{
	if (matcher->on_node != NULL)
		matcher->on_node[slot] += pods;
	matcher->pods += pods;
	tallies_add(matcher->inner, slot, pods);
}

void matcher_sub(struct matcher *matcher, uint32_t slot, uint32_t pods)
{
	PL_ASSERT(matcher->pods >= pods);
	if (matcher->on_node != NULL)
		matcher->on_node[slot] -= pods;
	matcher->pods -= pods;
	tallies_sub(matcher->inner, slot, pods);
}

static void count_view(struct snapshot *snapshot, struct matcher_inner *matcher,
                       const struct spec_view_inner *view, bool add)
{
	for (uint32_t at = view->view.first_pod; at != SNAPSHOT_NONE;
	     at = snapshot->placed[at].next_of_view) {
		const struct placed_pod *pod = &snapshot->placed[at];

		if (!matcher_counts(matcher, pod->flags))
			continue;
		if (add)
			matcher_add(&matcher->matcher, pod->node, 1);
		else
			matcher_sub(&matcher->matcher, pod->node, 1);
	}
}

bool matcher_has_view(const struct matcher_inner *matcher,
                      const struct spec_view_inner *view)
{
	for (uint32_t i = 0; i < view->found_count; i++)
		if (view->found_by[i] == &matcher->matcher)
			return true;
	return false;
}

static enum pl_code find_view(struct matcher_inner *matcher, struct spec_view_inner *view,
                              struct pl_err *err)
{
	enum pl_code code =
		views_reserve(&view->found_by, view->found_count, &view->found_cap, err);

	if (code == PL_OK)
		view->found_by[view->found_count++] = &matcher->matcher;
	return code;
}

static bool unlink_view(struct matcher_inner *matcher, struct spec_view_inner *view)
{
	for (uint32_t i = 0; i < view->found_count; i++) {
		if (view->found_by[i] != &matcher->matcher)
			continue;
		view->found_by[i] = view->found_by[--view->found_count];
		return true;
	}
	return false;
}

struct matcher_search {
	struct snapshot *snapshot;
	struct matcher_inner *matcher;
	struct spec_view_inner *view;
	struct pl_err *err;
};

static enum pl_code on_rule(void *ctx, struct rule *rule)
{
	struct matcher_search *find = ctx;
	struct matcher_inner *matcher = PL_CONTAINER_OF(rule, struct matcher_inner, rule);

	if (!rule_finds(&find->snapshot->model->strings, rule, find->view->view.spec,
	                view_namespace_labels(find->view)))
		return PL_OK;
	return find_view(matcher, find->view, find->err);
}

enum pl_code matchers_find(struct snapshot *snapshot, struct spec_view_inner *view,
                           struct pl_err *err)
{
	struct matcher_search find = {.snapshot = snapshot, .view = view, .err = err};

	return rule_index_each(&snapshot->inner->views->matcher_index, view->view.spec,
	                       on_rule, &find);
}

static enum pl_code on_view(void *ctx, struct spec_view_inner *view)
{
	struct matcher_search *find = ctx;
	enum pl_code code;

	if (!rule_finds(&find->snapshot->model->strings, &find->matcher->rule,
	                view->view.spec, view_namespace_labels(view)))
		return PL_OK;
	code = find_view(find->matcher, view, find->err);
	if (code == PL_OK)
		count_view(find->snapshot, find->matcher, view, true);
	return code;
}

static enum pl_code unlink_matcher(void *ctx, struct spec_view_inner *view)
{
	(void)unlink_view(ctx, view);
	return PL_OK;
}

enum pl_code matcher_rematch(struct snapshot *snapshot, struct matcher_inner *matcher,
                             struct spec_view_inner *view, const struct labels *namespace,
                             struct pl_err *err)
{
	bool now = rule_finds(&snapshot->model->strings, &matcher->rule, view->view.spec,
	                      namespace);
	bool before = unlink_view(matcher, view);
	enum pl_code code = PL_OK;

	/* A lost entry leaves room for this one. */
	if (now)
		code = find_view(matcher, view, err);
	if (code == PL_OK && now != before)
		count_view(snapshot, matcher, view, now);
	return code;
}

/* -- its life ---------------------------------------- */

enum pl_code matcher_grow(struct matcher_inner *matcher, uint32_t from, uint32_t capacity,
                          struct pl_err *err)
{
	const uint32_t *old = matcher->matcher.on_node;
	uint32_t *on_node;

	if (!matcher->spread)
		return PL_OK;
	/* Fresh pages of a large array take no memory before they are touched. */
	on_node = pl_calloc(capacity + 1, sizeof *on_node);
	if (on_node == NULL)
		return pl_err_set(err, PL_NOMEM, "count pods on %u nodes", capacity);
	for (uint32_t i = 0; i < from; i++)
		if (old[i] != 0)
			on_node[i] = old[i];
	free(matcher->matcher.on_node);
	matcher->matcher.on_node = on_node;
	return PL_OK;
}

/* Takes the terms over; takes references to everything in the terms and the rule. */
static struct matcher_inner *matcher_make(struct snapshot *snapshot, struct rule rule)
{
	struct model *model = snapshot->model;
	struct matcher_inner *made = pl_calloc(1, sizeof *made);

	if (made == NULL) {
		free(rule.term);
		return NULL;
	}
	made->matcher.inner = made;
	made->rule = rule;
	made->spread = rule.count == 0;
	pl_list_init(&made->reads_namespaces);
	pl_list_init(&made->idle);
	pl_list_init(&made->tallies);
	for (uint32_t i = 0; i < rule.count; i++)
		(void)model_ref(model, MODEL_POD_TERMS, rule.term[i]);
	(void)model_ref(model, MODEL_SELECTORS, rule.selector);
	(void)strings_ref(&model->strings, rule.namespace);
	return made;
}

void matcher_free(struct snapshot *snapshot, struct matcher_inner *matcher)
{
	struct views *views = snapshot->inner->views;
	struct model *model = snapshot->model;

	PL_ASSERT(matcher->matcher.users == 0 && pl_list_empty(&matcher->tallies));
	(void)views_each(views, &matcher->rule, unlink_matcher, matcher);
	rule_index_del(&views->matcher_index, &matcher->rule);
	if (pl_map_has(&matcher->by_key))
		pl_map_del(&views->matchers, &matcher->by_key);
	pl_list_del(&matcher->reads_namespaces);
	pl_list_del(&matcher->idle);
	for (uint32_t i = 0; i < matcher->rule.count; i++)
		model_unref(model, MODEL_POD_TERMS, matcher->rule.term[i]);
	model_unref(model, MODEL_SELECTORS, matcher->rule.selector);
	strings_unref(&model->strings, matcher->rule.namespace);
	free(matcher->rule.term);
	free(matcher->key);
	free(matcher->matcher.on_node);
	free(matcher);
}

/* Finds the existing views, and counts their pods. */
static enum pl_code matcher_begin(struct snapshot *snapshot, struct matcher_inner *made,
                                  struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	struct matcher_search find = {snapshot, made, NULL, err};
	enum pl_code code;

	code = matcher_grow(made, 0, snapshot->capacity, err);
	if (code == PL_OK)
		code = rule_index_add(&views->matcher_index, &made->rule, err);
	if (code == PL_OK && rule_reads_namespaces(&made->rule))
		pl_list_add_tail(&views->matchers_of_namespaces, &made->reads_namespaces);
	if (code == PL_OK)
		code = views_each(views, &made->rule, on_view, &find);
	return code;
}

static struct matcher_inner *matcher_find(const struct views *views, const uint32_t *key,
                                          uint32_t words)
{
	struct pl_map_node *node;

	node = pl_map_get(&views->matchers, pl_span(key, words * sizeof *key));
	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct matcher_inner, by_key);
}

/* Takes key over. */
static enum pl_code matcher_new(struct snapshot *snapshot, struct rule rule,
                                uint32_t *key, uint32_t words, struct matcher_inner **out,
                                struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	struct matcher_inner *made = NULL;
	enum pl_code code = PL_OK;

	if (views->matchers.count >= MATCHERS_MAX) {
		free(rule.term);
		code = pl_err_set(err, PL_LIMIT, "more than %d rules about pods at once",
		                  MATCHERS_MAX);
	} else {
		made = matcher_make(snapshot, rule);
		if (made == NULL)
			code = pl_err_set(err, PL_NOMEM, "a rule about pods");
	}
	if (made == NULL) {
		free(key);
		return code;
	}
	made->key = key;
	code = matcher_begin(snapshot, made, err);
	if (code != PL_OK) {
		matcher_free(snapshot, made);
		return code;
	}
	views_map_add(&views->matchers, &made->by_key, pl_span(key, words * sizeof *key));
	*out = made;
	return PL_OK;
}

/* Takes the terms over. */
static enum pl_code matcher_open(struct snapshot *snapshot, struct rule rule,
                                 struct matcher **out, struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	uint32_t words = matcher_key_words(&rule);
	uint32_t *key = pl_malloc(words * sizeof *key);
	struct matcher_inner *matcher;
	enum pl_code code;

	if (key == NULL) {
		free(rule.term);
		return pl_err_set(err, PL_NOMEM, "a rule about pods");
	}
	matcher_key_write(&rule, key);
	matcher = matcher_find(views, key, words);
	if (matcher == NULL) {
		code = matcher_new(snapshot, rule, key, words, &matcher, err);
		if (code != PL_OK)
			return code;
	} else {
		free(rule.term);
		free(key);
	}
	if (matcher->matcher.users++ == 0 && !pl_list_empty(&matcher->idle)) {
		pl_list_del(&matcher->idle);
		views->idle_matchers_count--;
	}
	*out = &matcher->matcher;
	return PL_OK;
}

enum pl_code matcher_open_terms(struct snapshot *snapshot,
                                const struct pod_term *const *terms, uint32_t count,
                                struct matcher **out, struct pl_err *err)
{
	const struct pod_term **kept;
	enum pl_code code;

	PL_ASSERT(count > 0);
	if (count > MATCHER_TERMS_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d terms", MATCHER_TERMS_MAX);
	code = view_reconcile(snapshot, err);
	if (code != PL_OK)
		return code;
	kept = pl_malloc(count * sizeof(void *));
	if (kept == NULL)
		return pl_err_set(err, PL_NOMEM, "a rule about pods");
	for (uint32_t i = 0; i < count; i++)
		kept[i] = terms[i];
	return matcher_open(snapshot,
	                    (struct rule){.term = kept,
	                                  .count = matcher_sort_terms(kept, count),
	                                  .strict = true},
	                    out, err);
}

enum pl_code matcher_open_spread(struct snapshot *snapshot, uint32_t namespace,
                                 const struct selector *selector, struct matcher **out,
                                 struct pl_err *err)
{
	return matcher_open(snapshot,
	                    (struct rule){.namespace = namespace, .selector = selector},
	                    out, err);
}

void matcher_close(struct snapshot *snapshot, struct matcher *matcher)
{
	struct views *views = snapshot->inner->views;
	struct pl_list *oldest;

	PL_ASSERT(matcher->users > 0);
	if (--matcher->users > 0)
		return;
	pl_list_add_tail(&views->idle_matchers, &matcher->inner->idle);
	views->idle_matchers_count++;
	while (views->idle_matchers_count > views_idle_max(snapshot)) {
		oldest = views->idle_matchers.next;
		views->idle_matchers_count--;
		matcher_free(snapshot, PL_LIST_ITEM(oldest, struct matcher_inner, idle));
	}
}

bool matcher_finds(const struct snapshot *snapshot, const struct matcher *matcher,
                   const struct spec *spec)
{
	return rule_finds(&snapshot->model->strings, &matcher->inner->rule, spec,
	                  catalog_namespace_labels(&snapshot->catalog, spec->namespace));
}
