#include "shardsched/snapshot/rule.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/* The rules that might find pods of that namespace with that label. */
struct rule_bucket {
	struct pl_map_node by_key;
	uint32_t key[3]; /* namespace; key and value of the label, both 0 for any
			  * labels */
	struct pl_list links;
};

struct rule_index_link {
	struct pl_list in_bucket;
	struct rule_bucket *bucket;
	struct rule *rule;
};

static bool term_sees(const struct strings *strings, const struct rule *rule,
                      const struct pod_term *term, uint32_t namespace,
                      const struct labels *namespace_labels)
{
	if (namespace_labels != NULL || !rule->strict ||
	    selector_is_everything(term->namespace_selector))
		return pod_term_sees(strings, term, namespace, namespace_labels);
	for (uint32_t i = 0; i < term->count; i++)
		if (term->namespace[i] == namespace)
			return true;
	return false;
}

bool rule_finds(const struct strings *strings, const struct rule *rule,
                const struct spec *spec, const struct labels *namespace_labels)
{
	for (uint32_t i = 0; i < rule->count; i++)
		if (!selector_matches(strings, rule->term[i]->selector, spec->labels) ||
		    !term_sees(strings, rule, rule->term[i], spec->namespace,
		               namespace_labels))
			return false;
	return rule->count > 0 ||
	       (rule->namespace == spec->namespace &&
	        selector_matches(strings, rule->selector, spec->labels));
}

static bool term_reads_namespaces(const struct pod_term *term)
{
	return term->namespace_selector->flags == 0;
}

bool rule_reads_namespaces(const struct rule *rule)
{
	for (uint32_t i = 0; i < rule->count; i++)
		if (term_reads_namespaces(rule->term[i]))
			return true;
	return false;
}

/* The term that restricts the search most; NULL: the rule has no terms. */
static const struct pod_term *narrowest_term(const struct rule *rule)
{
	for (uint32_t i = 0; i < rule->count; i++)
		if (!term_reads_namespaces(rule->term[i]))
			return rule->term[i];
	return rule->count > 0 ? rule->term[0] : NULL;
}

bool rule_namespaces(const struct rule *rule, const uint32_t **first, uint32_t *count)
{
	const struct pod_term *term = narrowest_term(rule);

	if (term == NULL) {
		*first = &rule->namespace;
		*count = 1;
		return true;
	}
	*first = term->namespace;
	*count = term->count;
	return !term_reads_namespaces(term);
}

/* A label without which the selector never matches; false: none. */
static bool wanted_label(const struct selector *selector, uint32_t *key, uint32_t *value)
{
	for (uint32_t i = 0; i < selector->count; i++) {
		const struct selector_row *row = &selector->row[i];

		if (row->op == SELECTOR_IN && row->count == 1) {
			*key = row->key;
			*value = selector_values(selector, row)[0];
			return true;
		}
	}
	*key = 0;
	*value = 0;
	return false;
}

bool rule_label(const struct rule *rule, uint32_t *key, uint32_t *value)
{
	if (rule->count == 0)
		return wanted_label(rule->selector, key, value);
	for (uint32_t i = 0; i < rule->count; i++)
		if (wanted_label(rule->term[i]->selector, key, value))
			return true;
	return false;
}

void rule_index_init(struct rule_index *index)
{
	pl_map_init(&index->by_key);
}

void rule_index_done(struct rule_index *index)
{
	PL_ASSERT(index->by_key.count == 0);
	pl_map_done(&index->by_key);
}

static struct rule_bucket *bucket_find(const struct rule_index *index,
                                       const uint32_t key[3])
{
	struct pl_map_node *node;

	node = pl_map_get(&index->by_key, pl_span(key, 3 * sizeof key[0]));
	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct rule_bucket, by_key);
}

static struct rule_bucket *bucket_get(struct rule_index *index, const uint32_t key[3])
{
	struct rule_bucket *bucket = bucket_find(index, key);
	struct pl_map_node *twin;

	if (bucket != NULL)
		return bucket;
	bucket = pl_calloc(1, sizeof *bucket);
	if (bucket == NULL)
		return NULL;
	for (unsigned i = 0; i < 3; i++)
		bucket->key[i] = key[i];
	pl_list_init(&bucket->links);
	twin = pl_map_add(&index->by_key, &bucket->by_key,
	                  pl_span(bucket->key, sizeof bucket->key));
	PL_ASSERT(twin == NULL);
	return bucket;
}

void rule_index_del(struct rule_index *index, struct rule *rule)
{
	for (uint32_t i = 0; i < rule->links; i++) {
		struct rule_bucket *bucket = rule->link[i].bucket;

		pl_list_del(&rule->link[i].in_bucket);
		if (!pl_list_empty(&bucket->links))
			continue;
		pl_map_del(&index->by_key, &bucket->by_key);
		free(bucket);
	}
	free(rule->link);
	rule->link = NULL;
	rule->links = 0;
}

enum pl_code rule_index_add(struct rule_index *index, struct rule *rule,
                            struct pl_err *err)
{
	static const uint32_t any[1];
	const uint32_t *namespace;
	uint32_t count, key[3];

	if (!rule_namespaces(rule, &namespace, &count)) {
		namespace = any;
		count = 1;
	}
	(void)rule_label(rule, &key[1], &key[2]);
	rule->link = pl_calloc(count + 1, sizeof *rule->link);
	if (rule->link == NULL)
		return pl_err_set(err, PL_NOMEM, "a rule about pods");
	for (uint32_t i = 0; i < count; i++) {
		struct rule_bucket *bucket;

		key[0] = namespace[i];
		bucket = bucket_get(index, key);
		if (bucket == NULL) {
			rule_index_del(index, rule);
			return pl_err_set(err, PL_NOMEM, "a rule about pods");
		}
		rule->link[i].bucket = bucket;
		rule->link[i].rule = rule;
		pl_list_add_tail(&bucket->links, &rule->link[i].in_bucket);
		rule->links = i + 1;
	}
	return PL_OK;
}

static enum pl_code bucket_each(const struct rule_index *index, const uint32_t key[3],
                                rule_index_fn *fn, void *ctx)
{
	struct rule_bucket *bucket = bucket_find(index, key);
	enum pl_code code;

	if (bucket == NULL)
		return PL_OK;
	PL_LIST_EACH (at, &bucket->links) {
		code = fn(ctx, PL_LIST_ITEM(at, struct rule_index_link, in_bucket)->rule);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static enum pl_code in_namespace(const struct rule_index *index, uint32_t namespace,
                                 const struct labels *labels, rule_index_fn *fn,
                                 void *ctx)
{
	uint32_t key[3] = {namespace, 0, 0};
	enum pl_code code = bucket_each(index, key, fn, ctx);

	for (uint32_t i = 0; i < labels->count && code == PL_OK; i++) {
		key[1] = labels->row[i].key;
		key[2] = labels->row[i].value;
		code = bucket_each(index, key, fn, ctx);
	}
	return code;
}

enum pl_code rule_index_each(const struct rule_index *index, const struct spec *spec,
                             rule_index_fn *fn, void *ctx)
{
	enum pl_code code;

	if (index->by_key.count == 0)
		return PL_OK;
	code = in_namespace(index, spec->namespace, spec->labels, fn, ctx);
	return code == PL_OK ? in_namespace(index, 0, spec->labels, fn, ctx) : code;
}
