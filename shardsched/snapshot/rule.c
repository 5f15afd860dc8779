#include "shardsched/snapshot/rule.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/* Rules that might find pods of that namespace with that label. */
struct shelf {
	struct pl_map_node by_key;
	uint32_t key[3]; /* namespace; label's key and value, 0 for whatever labels */
	struct pl_list links;
};

struct shelf_link {
	struct pl_list in_shelf;
	struct shelf *shelf;
	struct rule *rule;
};

static bool term_sees(const struct strings *strings, const struct rule *rule,
                      const struct pod_term *term, uint32_t namespace,
                      const struct labels *space)
{
	if (space != NULL || !rule->strict ||
	    selector_is_everything(term->namespace_selector))
		return pod_term_sees(strings, term, namespace, space);
	for (uint32_t i = 0; i < term->count; i++)
		if (term->namespace[i] == namespace)
			return true;
	return false;
}

bool rule_finds(const struct strings *strings, const struct rule *rule,
                const struct spec *spec, const struct labels *space)
{
	for (uint32_t i = 0; i < rule->count; i++)
		if (!selector_matches(strings, rule->term[i]->selector, spec->labels) ||
		    !term_sees(strings, rule, rule->term[i], spec->namespace, space))
			return false;
	return rule->count > 0 ||
	       (rule->namespace == spec->namespace &&
	        selector_matches(strings, rule->selector, spec->labels));
}

static bool term_reads_spaces(const struct pod_term *term)
{
	return term->namespace_selector->flags == 0;
}

bool rule_reads_spaces(const struct rule *rule)
{
	for (uint32_t i = 0; i < rule->count; i++)
		if (term_reads_spaces(rule->term[i]))
			return true;
	return false;
}

/* Of its terms the one that says most about where to look; NULL: it has none. */
static const struct pod_term *narrowest(const struct rule *rule)
{
	for (uint32_t i = 0; i < rule->count; i++)
		if (!term_reads_spaces(rule->term[i]))
			return rule->term[i];
	return rule->count > 0 ? rule->term[0] : NULL;
}

bool rule_namespaces(const struct rule *rule, const uint32_t **first, uint32_t *count)
{
	const struct pod_term *term = narrowest(rule);

	if (term == NULL) {
		*first = &rule->namespace;
		*count = 1;
		return true;
	}
	*first = term->namespace;
	*count = term->count;
	return !term_reads_spaces(term);
}

/* A label without which the selector never matches. */
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

void shelves_init(struct shelves *shelves)
{
	pl_map_init(&shelves->by_key);
}

void shelves_done(struct shelves *shelves)
{
	PL_ASSERT(shelves->by_key.count == 0);
	pl_map_done(&shelves->by_key);
}

static struct shelf *shelf_find(const struct shelves *shelves, const uint32_t key[3])
{
	struct pl_map_node *node;

	node = pl_map_get(&shelves->by_key, pl_span(key, 3 * sizeof key[0]));
	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct shelf, by_key);
}

static struct shelf *shelf_take(struct shelves *shelves, const uint32_t key[3])
{
	struct shelf *shelf = shelf_find(shelves, key);
	struct pl_map_node *twin;

	if (shelf != NULL)
		return shelf;
	shelf = pl_calloc(1, sizeof *shelf);
	if (shelf == NULL)
		return NULL;
	for (unsigned i = 0; i < 3; i++)
		shelf->key[i] = key[i];
	pl_list_init(&shelf->links);
	twin = pl_map_add(&shelves->by_key, &shelf->by_key,
	                  pl_span(shelf->key, sizeof shelf->key));
	PL_ASSERT(twin == NULL);
	return shelf;
}

void shelves_del(struct shelves *shelves, struct rule *rule)
{
	for (uint32_t i = 0; i < rule->links; i++) {
		struct shelf *shelf = rule->link[i].shelf;

		pl_list_del(&rule->link[i].in_shelf);
		if (!pl_list_empty(&shelf->links))
			continue;
		pl_map_del(&shelves->by_key, &shelf->by_key);
		free(shelf);
	}
	free(rule->link);
	rule->link = NULL;
	rule->links = 0;
}

enum pl_code shelves_add(struct shelves *shelves, struct rule *rule, struct pl_err *err)
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
		struct shelf *shelf;

		key[0] = namespace[i];
		shelf = shelf_take(shelves, key);
		if (shelf == NULL) {
			shelves_del(shelves, rule);
			return pl_err_set(err, PL_NOMEM, "a rule about pods");
		}
		rule->link[i].shelf = shelf;
		rule->link[i].rule = rule;
		pl_list_add_tail(&shelf->links, &rule->link[i].in_shelf);
		rule->links = i + 1;
	}
	return PL_OK;
}

static enum pl_code on_shelf(const struct shelves *shelves, const uint32_t key[3],
                             shelves_fn *fn, void *ctx)
{
	struct shelf *shelf = shelf_find(shelves, key);
	enum pl_code code;

	if (shelf == NULL)
		return PL_OK;
	PL_LIST_EACH (at, &shelf->links) {
		code = fn(ctx, PL_LIST_ITEM(at, struct shelf_link, in_shelf)->rule);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static enum pl_code in_namespace(const struct shelves *shelves, uint32_t namespace,
                                 const struct labels *labels, shelves_fn *fn, void *ctx)
{
	uint32_t key[3] = {namespace, 0, 0};
	enum pl_code code = on_shelf(shelves, key, fn, ctx);

	for (uint32_t i = 0; i < labels->count && code == PL_OK; i++) {
		key[1] = labels->row[i].key;
		key[2] = labels->row[i].value;
		code = on_shelf(shelves, key, fn, ctx);
	}
	return code;
}

enum pl_code shelves_each(const struct shelves *shelves, const struct spec *spec,
                          shelves_fn *fn, void *ctx)
{
	enum pl_code code;

	if (shelves->by_key.count == 0)
		return PL_OK;
	code = in_namespace(shelves, spec->namespace, spec->labels, fn, ctx);
	return code == PL_OK ? in_namespace(shelves, 0, spec->labels, fn, ctx) : code;
}
