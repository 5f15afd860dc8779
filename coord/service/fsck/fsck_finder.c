/*
 * The finder: which pods a selector matches. It has one sorted list of looks, by
 * namespace and by each of their labels. A selector that requires one value of a key
 * is matched only against the looks with that value.
 */
#include <stdlib.h>

#include "coord/service/fsck/fsck_int.h"
#include "store/base/alloc.h"

enum { DOMAINS_LEAST = 64 };

/* -- indexes, made in the end ------------------------------------------------------ */

static int number_cmp(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int tag_cmp(const void *a, const void *b)
{
	const struct fsck_tag *x = a, *y = b;
	int order = number_cmp(x->namespace, y->namespace);

	if (order == 0)
		order = number_cmp(x->key, y->key);
	if (order == 0)
		order = number_cmp(x->value, y->value);
	return order != 0 ? order : number_cmp(x->labelset, y->labelset);
}

static void make_tags(struct fsck_rules *rules)
{
	struct fsck_finder *finder = &rules->finder;

	for (uint32_t i = 0; i < rules->labelsets; i++) {
		const struct fsck_labelset *labelset = &rules->labelset[i];

		finder->tag[finder->tags++] = (struct fsck_tag){
			.namespace = labelset->namespace, .labelset = i};
		for (uint32_t n = 0; n < labelset->labels->count; n++)
			finder->tag[finder->tags++] = (struct fsck_tag){
				labelset->namespace, labelset->labels->row[n].key,
				labelset->labels->row[n].value, i};
	}
	if (finder->tags > 1)
		qsort(finder->tag, finder->tags, sizeof *finder->tag, tag_cmp);
}

static void make_namespaces(struct fsck_core *core)
{
	struct fsck_finder *finder = &core->rules.finder;

	for (uint32_t i = 0; i < finder->tags && core->code == PL_OK; i++) {
		uint32_t namespace = finder->tag[i].namespace;

		if (i > 0 && finder->tag[i - 1].namespace == namespace)
			continue;
		finder->in_namespace[finder->namespaces++] = (struct fsck_namespace){
			.namespace = namespace,
			.labels = fsck_namespace_labels(core, namespace)};
	}
}

bool fsck_finder_open(struct fsck_core *core)
{
	struct fsck_rules *rules = &core->rules;
	struct fsck_finder *finder = &rules->finder;
	size_t tags = rules->labelsets;

	for (uint32_t i = 0; i < rules->labelsets; i++)
		tags += rules->labelset[i].labels->count;
	finder->tag = pl_calloc(tags + 1, sizeof *finder->tag);
	finder->in_namespace =
		pl_calloc(rules->labelsets + 1u, sizeof *finder->in_namespace);
	finder->found = pl_calloc(rules->labelsets + 1u, sizeof *finder->found);
	if (finder->tag == NULL || finder->in_namespace == NULL ||
	    finder->found == NULL || tags > UINT32_MAX) {
		fsck_no_memory(core);
		return false;
	}
	make_tags(rules);
	make_namespaces(core);
	return core->code == PL_OK;
}

void fsck_finder_done(struct fsck_core *core)
{
	struct fsck_finder *finder = &core->rules.finder;

	for (uint32_t i = 0; i < finder->namespaces; i++)
		model_unref(&core->model, MODEL_LABELS, finder->in_namespace[i].labels);
	free(finder->in_namespace);
	free(finder->tag);
	free(finder->found);
	free(finder->domain);
}

/* -- search ------------------------------------------------------------------------ */

/* A query: the terms of a rule, which all have to match, or one selector. */
struct fsck_seek {
	struct fsck_core *core;
	const struct spec_term *row;
	uint32_t count;
	const struct selector *selector;
	uint32_t stamp;
};

static bool matches_pod(const struct fsck_seek *seek,
                        const struct fsck_labelset *labelset,
                        const struct labels *namespace)
{
	const struct strings *strings = &seek->core->model.strings;

	for (uint32_t i = 0; i < seek->count; i++)
		if (!pod_term_matches(strings, seek->row[i].term, labelset->namespace,
		                      namespace, labelset->labels))
			return false;
	return seek->count > 0 ||
	       selector_matches(strings, seek->selector, labelset->labels);
}

/* The first tag that is not less than this one. */
static uint32_t tag_from(const struct fsck_finder *finder, const struct fsck_tag *tag)
{
	uint32_t low = 0, high = finder->tags;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (tag_cmp(&finder->tag[middle], tag) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A label that the selector requires; key 0: none. */
static struct fsck_tag wanted_tag(const struct selector *selector, uint32_t namespace)
{
	struct fsck_tag tag = {.namespace = namespace};

	for (uint32_t i = 0; i < selector->count && tag.key == 0; i++) {
		const struct selector_row *row = &selector->row[i];

		if (row->op != SELECTOR_IN || row->count != 1)
			continue;
		tag.key = row->key;
		tag.value = selector_values(selector, row)[0];
	}
	return tag;
}

static void find_in_space(const struct fsck_seek *seek,
                          const struct fsck_namespace *namespace)
{
	struct fsck_rules *rules = &seek->core->rules;
	struct fsck_finder *finder = &rules->finder;
	const struct selector *selector =
		seek->count > 0 ? seek->row[0].term->selector : seek->selector;
	struct fsck_tag tag;

	PL_ASSERT(selector != NULL);
	tag = wanted_tag(selector, namespace->namespace);
	for (uint32_t i = tag_from(finder, &tag); i < finder->tags; i++) {
		const struct fsck_tag *at = &finder->tag[i];

		if (at->namespace != tag.namespace || at->key != tag.key ||
		    at->value != tag.value)
			return;
		if (!matches_pod(seek, &rules->labelset[at->labelset], namespace->labels))
			continue;
		rules->labelset[at->labelset].stamp = seek->stamp;
		finder->found[finder->founds++] = at->labelset;
	}
}

static int namespace_cmp(const void *a, const void *b)
{
	const struct fsck_namespace *x = a, *y = b;

	return number_cmp(x->namespace, y->namespace);
}

static void find_in_namespace(const struct fsck_seek *seek, uint32_t namespace)
{
	const struct fsck_finder *finder = &seek->core->rules.finder;
	const struct fsck_namespace key = {.namespace = namespace};
	const struct fsck_namespace *at =
		bsearch(&key, finder->in_namespace, finder->namespaces, sizeof key,
	                namespace_cmp);

	if (at != NULL)
		find_in_space(seek, at);
}

void fsck_find_spread(struct fsck_core *core, uint32_t namespace,
                      const struct selector *selector, uint32_t stamp)
{
	const struct fsck_seek seek = {
		.core = core, .selector = selector, .stamp = stamp};

	core->rules.finder.founds = 0;
	find_in_namespace(&seek, namespace);
}

void fsck_find_terms(struct fsck_core *core, const struct spec_term *row, uint32_t count,
                     uint32_t stamp)
{
	const struct fsck_seek seek = {
		.core = core, .row = row, .count = count, .stamp = stamp};
	const struct pod_term *term = row[0].term;
	struct fsck_finder *finder = &core->rules.finder;

	finder->founds = 0;
	if ((term->namespace_selector->flags & SELECTOR_NOTHING) != 0) {
		for (uint32_t i = 0; i < term->count; i++)
			find_in_namespace(&seek, term->namespace[i]);
		return;
	}
	for (uint32_t i = 0; i < finder->namespaces; i++)
		find_in_space(&seek, &finder->in_namespace[i]);
}

uint32_t fsck_found_pods(const struct fsck_core *core)
{
	const struct fsck_finder *finder = &core->rules.finder;
	uint32_t pods = 0;

	for (uint32_t i = 0; i < finder->founds; i++)
		pods += core->rules.labelset[finder->found[i]].pods;
	return pods;
}

/* -- domains ----------------------------------------------------------------------- */

bool fsck_domains_clear(struct fsck_core *core, uint32_t most)
{
	struct fsck_finder *finder = &core->rules.finder;
	uint32_t wanted = DOMAINS_LEAST;

	while (wanted / 2 < most)
		wanted *= 2;
	if (wanted > finder->domain_cap) {
		free(finder->domain);
		finder->domain_cap = 0;
		finder->domain = pl_malloc(wanted * sizeof *finder->domain);
		if (finder->domain == NULL) {
			fsck_no_memory(core);
			return false;
		}
		finder->domain_cap = wanted;
	}
	finder->domains = wanted;
	memset(finder->domain, 0, wanted * sizeof *finder->domain);
	return true;
}

struct fsck_domain *fsck_domain(struct fsck_core *core, uint32_t number)
{
	const struct fsck_finder *finder = &core->rules.finder;
	uint32_t at = number * UINT32_C(2654435761);

	for (at ^= at >> 15;; at++) {
		struct fsck_domain *domain = &finder->domain[at & (finder->domains - 1)];

		if (domain->number == 0 || domain->number == number)
			return domain;
	}
}
