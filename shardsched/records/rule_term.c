#include "shardsched/records/rule_term.h"

#include <stdio.h>
#include <stdlib.h>

#include "shardsched/model/node.h"
#include "shardsched/model/pod_term.h"
#include "store/base/hash.h"
#include "store/base/json_out.h"

#define GROUP_KIND_WORD(kind, word) [RULE_KIND_##kind] = (word),
static const char *const words[RULE_KINDS] = {RULE_KIND_MAP(GROUP_KIND_WORD)};

const char *rule_kind_word(enum rule_kind kind)
{
	PL_ASSERT(kind < RULE_KINDS);
	return words[kind];
}

enum rule_kind rule_kind_of(struct pl_span word)
{
	unsigned kind = 0;

	while (kind < RULE_KINDS && !pl_span_eq(word, pl_span_str(words[kind])))
		kind++;
	return (enum rule_kind)kind;
}

#define DECIDES_PART ",\"decides\":true"

struct pl_span rule_lock_value(const char *shard, bool decides, char out[RULE_LOCK_SIZE])
{
	int len = snprintf(out, RULE_LOCK_SIZE, "{\"v\":1,\"shard\":\"%s\"%s}", shard,
	                   decides ? DECIDES_PART : "");

	PL_ASSERT(len > 0 && len < RULE_LOCK_SIZE);
	return pl_span(out, (size_t)len);
}

bool rule_lock_decides(struct pl_span value)
{
	struct pl_span end = PL_SPAN_LIT(DECIDES_PART "}");

	return value.len >= end.len &&
	       pl_span_eq(pl_span(value.at + value.len - end.len, end.len), end);
}

/* -- printing ---------------------------------------------------------------------- */

/* Numbers of strings differ from process to process, so rows are ordered by their
 * texts. */
struct term_printer {
	const struct model *model;
	struct pl_arena *arena;
	struct pl_buf *buf;
	struct pl_json_out out;
	enum pl_code code;
};

struct sorted_requirement {
	struct pl_span key;
	enum selector_op op;
	struct pl_span *value;
	uint32_t count;
};

static int span_cmp(const void *a, const void *b)
{
	return pl_span_cmp(*(const struct pl_span *)a, *(const struct pl_span *)b);
}

static int row_cmp(const void *a, const void *b)
{
	const struct sorted_requirement *x = a, *y = b;
	int order = pl_span_cmp(x->key, y->key);

	if (order == 0 && x->op != y->op)
		order = x->op < y->op ? -1 : 1;
	for (uint32_t i = 0; order == 0 && i < x->count && i < y->count; i++)
		order = pl_span_cmp(x->value[i], y->value[i]);
	if (order == 0 && x->count != y->count)
		order = x->count < y->count ? -1 : 1;
	return order;
}

static void *alloc_array(struct term_printer *to, size_t count, size_t size)
{
	void *at = pl_arena_zalloc(to->arena, count == 0 ? 1 : count, size);

	if (at == NULL)
		to->code = PL_NOMEM;
	return at;
}

static struct pl_span *texts_sorted(struct term_printer *to, const uint32_t *id,
                                    uint32_t count)
{
	struct pl_span *text = alloc_array(to, count, sizeof *text);

	for (uint32_t i = 0; text != NULL && i < count; i++)
		text[i] = model_text(to->model, id[i]);
	if (text != NULL && count > 1)
		qsort(text, count, sizeof *text, span_cmp);
	return text;
}

static struct sorted_requirement *rows_sorted(struct term_printer *to,
                                              const struct selector *selector)
{
	struct sorted_requirement *row = alloc_array(to, selector->count, sizeof *row);

	for (uint32_t i = 0; row != NULL && i < selector->count; i++) {
		const struct selector_row *from = &selector->row[i];

		row[i].key = model_text(to->model, from->key);
		row[i].op = (enum selector_op)from->op;
		row[i].count = from->count;
		row[i].value =
			texts_sorted(to, selector_values(selector, from), from->count);
		if (row[i].value == NULL)
			return NULL;
	}
	if (row != NULL && selector->count > 1)
		qsort(row, selector->count, sizeof *row, row_cmp);
	return row;
}

static const char *op_word(enum selector_op op)
{
	switch (op) {
	case SELECTOR_IN:
		return "In";
	case SELECTOR_NOT_IN:
		return "NotIn";
	case SELECTOR_EXISTS:
		return "Exists";
	case SELECTOR_NOT_EXISTS:
		return "DoesNotExist";
	case SELECTOR_GT:
	case SELECTOR_LT:
	case SELECTOR_BAD:
		break;
	}
	PL_UNREACHABLE("an operator that selects no pods");
}

static void put_texts(struct term_printer *to, const char *name,
                      const struct pl_span *text, uint32_t count)
{
	pl_json_out_name(&to->out, name);
	pl_json_out_array(&to->out);
	for (uint32_t i = 0; i < count; i++)
		pl_json_out_string(&to->out, text[i]);
	pl_json_out_end(&to->out);
}

static void put_selector(struct term_printer *to, const char *name,
                         const struct selector *selector)
{
	const struct sorted_requirement *row = rows_sorted(to, selector);

	pl_json_out_name(&to->out, name);
	pl_json_out_object(&to->out);
	if (row != NULL && selector->count > 0) {
		pl_json_out_name(&to->out, "matchExpressions");
		pl_json_out_array(&to->out);
		for (uint32_t i = 0; i < selector->count; i++) {
			pl_json_out_object(&to->out);
			pl_json_out_name(&to->out, "key");
			pl_json_out_string(&to->out, row[i].key);
			pl_json_out_name(&to->out, "operator");
			pl_json_out_str(&to->out, op_word(row[i].op));
			if (row[i].count > 0)
				put_texts(to, "values", row[i].value, row[i].count);
			pl_json_out_end(&to->out);
		}
		pl_json_out_end(&to->out);
	}
	pl_json_out_end(&to->out);
}

static void put_topology(struct term_printer *to, uint32_t key)
{
	pl_json_out_name(&to->out, "topologyKey");
	pl_json_out_string(&to->out, model_text(to->model, key));
}

static void put_begin(struct term_printer *to, const struct spec *spec)
{
	pl_buf_clear(to->buf, to->buf->cap);
	pl_json_out_init(&to->out, to->buf);
	pl_json_out_object(&to->out);
	pl_json_out_name(&to->out, "metadata");
	pl_json_out_object(&to->out);
	pl_json_out_name(&to->out, "namespace");
	pl_json_out_string(&to->out, model_text(to->model, spec->namespace));
	pl_json_out_end(&to->out);
	pl_json_out_name(&to->out, "spec");
	pl_json_out_object(&to->out);
}

static bool finds_nothing(const struct selector *selector)
{
	return (selector->flags & (SELECTOR_NOTHING | SELECTOR_INVALID)) != 0;
}

/* Whether the term looks at the carrier's own namespace only. */
static bool is_own(const struct spec *spec, const struct pod_term *term)
{
	return term->count == 1 && term->namespace[0] == spec->namespace &&
	       finds_nothing(term->namespace_selector);
}

static void put_pod_term(struct term_printer *to, const struct spec *spec,
                         const struct pod_term *term, enum rule_kind kind)
{
	const struct pl_span *names = texts_sorted(to, term->namespace, term->count);

	put_begin(to, spec);
	pl_json_out_name(&to->out, "affinity");
	pl_json_out_object(&to->out);
	pl_json_out_name(&to->out,
	                 kind == RULE_KIND_AFFINITY ? "podAffinity" : "podAntiAffinity");
	pl_json_out_object(&to->out);
	pl_json_out_name(&to->out, "requiredDuringSchedulingIgnoredDuringExecution");
	pl_json_out_array(&to->out);
	pl_json_out_object(&to->out);
	put_selector(to, "labelSelector", term->selector);
	if (!is_own(spec, term) && term->count > 0 && names != NULL)
		put_texts(to, "namespaces", names, term->count);
	if (!finds_nothing(term->namespace_selector))
		put_selector(to, "namespaceSelector", term->namespace_selector);
	put_topology(to, term->topology_key);
	pl_json_out_end(&to->out);
	pl_json_out_end(&to->out);
	pl_json_out_end(&to->out);
	pl_json_out_end(&to->out);
}

static void put_spread(struct term_printer *to, const struct spec *spec,
                       const struct spec_spread *spread)
{
	put_begin(to, spec);
	pl_json_out_name(&to->out, "topologySpreadConstraints");
	pl_json_out_array(&to->out);
	pl_json_out_object(&to->out);
	put_selector(to, "labelSelector", spread->selector);
	pl_json_out_name(&to->out, "maxSkew");
	pl_json_out_int(&to->out, 1);
	put_topology(to, spread->topology_key);
	pl_json_out_name(&to->out, "whenUnsatisfiable");
	pl_json_out_str(&to->out, "DoNotSchedule");
	pl_json_out_end(&to->out);
	pl_json_out_end(&to->out);
}

/* -- terms --------------------------------------------------------------------------- */

/* The two hash keys never change: 128 bits, so that no two rules with one id can be
 * found. */
static void name_term(struct rule_term *term)
{
	const struct pl_hash_key one = {1, 0}, two = {2, 0};

	(void)snprintf(term->id, sizeof term->id, "%s-%016llx%016llx", words[term->kind],
	               (unsigned long long)pl_hash_keyed(term->pod, one),
	               (unsigned long long)pl_hash_keyed(term->pod, two));
}

/* Adds the term in the buffer, unless the list has it. */
static void add_term(struct term_printer *to, struct rule_terms *terms,
                     enum rule_kind kind, bool global)
{
	struct rule_term *term = &terms->term[terms->count];

	pl_json_out_end(&to->out);
	pl_json_out_end(&to->out);
	if (to->code == PL_OK)
		to->code = pl_json_out_done(&to->out);
	if (to->code != PL_OK)
		return;
	*term = (struct rule_term){.kind = kind, .global = global};
	term->pod = pl_arena_dup(to->arena, pl_buf_span(to->buf));
	if (term->pod.at == NULL) {
		to->code = PL_NOMEM;
		return;
	}
	name_term(term);
	for (uint32_t i = 0; i < terms->count; i++)
		if (strcmp(terms->term[i].id, term->id) == 0)
			return;
	terms->count++;
}

static bool is_local(const struct model *model, const struct pod_term *term,
                     enum rule_kind kind)
{
	return kind == RULE_KIND_ANTI_AFFINITY &&
	       node_is_domain(model, term->topology_key);
}

static bool term_needs_lock(const struct model *model, const struct pod_term *term,
                            enum rule_kind kind)
{
	return !is_local(model, term, kind) && !finds_nothing(term->selector) &&
	       (term->count > 0 || !finds_nothing(term->namespace_selector));
}

static bool spread_needs(const struct spec_spread *spread)
{
	return spread->hard != 0 && !finds_nothing(spread->selector);
}

static void add_pod_terms(struct term_printer *to, const struct spec *spec,
                          const struct spec_term *row, uint32_t count,
                          enum rule_kind kind, struct rule_terms *terms)
{
	for (uint32_t i = 0; to->code == PL_OK && i < count; i++) {
		const struct pod_term *term = row[i].term;

		if (!term_needs_lock(to->model, term, kind))
			continue;
		put_pod_term(to, spec, term, kind);
		add_term(to, terms, kind, !is_own(spec, term));
	}
}

enum pl_code rule_terms_of(const struct model *model, const struct spec *spec,
                           struct pl_arena *arena, struct rule_terms *out,
                           struct pl_err *err)
{
	struct pl_buf buf = {.max = RULE_POD_MAX};
	struct term_printer to = {.model = model, .arena = arena, .buf = &buf};
	uint32_t most = spec->template->affinity.count +
	                spec->template->anti_affinity.count +
	                (uint32_t)spec->template->spreads.count;
	struct rule_terms terms = {.term = alloc_array(&to, most, sizeof *terms.term)};

	add_pod_terms(&to, spec, spec_affinity(spec), spec->template->affinity.count,
	              RULE_KIND_AFFINITY, &terms);
	add_pod_terms(&to, spec, spec_anti_affinity(spec),
	              spec->template->anti_affinity.count, RULE_KIND_ANTI_AFFINITY,
	              &terms);
	for (uint32_t i = 0; to.code == PL_OK && i < spec->template->spreads.count; i++) {
		if (!spread_needs(&spec_spreads(spec)[i]))
			continue;
		put_spread(&to, spec, &spec_spreads(spec)[i]);
		add_term(&to, &terms, RULE_KIND_SPREAD, false);
	}
	pl_buf_done(&buf);
	if (to.code == PL_LIMIT)
		return pl_err_set(
			err, to.code,
			"spec: a rule about other pods takes more than %d bytes",
			RULE_POD_MAX);
	if (to.code != PL_OK)
		return pl_err_set(err, to.code, "write a rule of a pod");
	*out = terms;
	return PL_OK;
}

bool rule_is_carrier(const struct model *model, const struct spec *spec)
{
	bool is = spec->template->affinity.count > 0;

	for (uint32_t i = 0; !is && i < spec->template->anti_affinity.count; i++)
		is = !is_local(model, spec_anti_affinity(spec)[i].term,
		               RULE_KIND_ANTI_AFFINITY);
	for (uint32_t i = 0; !is && i < spec->template->spreads.count; i++)
		is = spec_spreads(spec)[i].hard != 0;
	return is;
}

/* -- pods that a carrier finds -------------------------------------------------------- */

static bool term_finds(const struct model *model, const struct spec_term *row,
                       uint32_t count, const struct spec *spec,
                       const struct labels *namespace)
{
	for (uint32_t i = 0; i < count; i++)
		if (pod_term_matches(&model->strings, row[i].term, spec->namespace,
		                     namespace, spec->labels))
			return true;
	return false;
}

static bool terms_read_labels(const struct spec_term *row, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!finds_nothing(row[i].term->namespace_selector) &&
		    !selector_is_everything(row[i].term->namespace_selector))
			return true;
	return false;
}

bool rule_carrier_reads_labels(const struct spec *carrier)
{
	return terms_read_labels(spec_affinity(carrier),
	                         carrier->template->affinity.count) ||
	       terms_read_labels(spec_anti_affinity(carrier),
	                         carrier->template->anti_affinity.count);
}

bool rule_carrier_finds(const struct model *model, const struct spec *carrier,
                        const struct spec *spec, const struct labels *namespace)
{
	const struct spec_spread *spread = spec_spreads(carrier);

	for (uint32_t i = 0; i < carrier->template->spreads.count; i++)
		if (carrier->namespace == spec->namespace &&
		    selector_matches(&model->strings, spread[i].selector, spec->labels))
			return true;
	return term_finds(model, spec_affinity(carrier),
	                  carrier->template->affinity.count, spec, namespace) ||
	       term_finds(model, spec_anti_affinity(carrier),
	                  carrier->template->anti_affinity.count, spec, namespace);
}
