#include "shardsched/ledger/group.h"

#include <stdio.h>
#include <stdlib.h>

#include "shardsched/model/node.h"
#include "shardsched/model/pod_term.h"
#include "store/base/hash.h"
#include "store/base/json_out.h"

#define GROUP_KIND_WORD(kind, word) [GROUP_##kind] = (word),
static const char *const words[GROUP_KINDS] = {GROUP_KIND_MAP(GROUP_KIND_WORD)};

const char *group_kind_word(enum group_kind kind)
{
	PL_ASSERT(kind < GROUP_KINDS);
	return words[kind];
}

enum group_kind group_kind_of(struct pl_span word)
{
	unsigned kind = 0;

	while (kind < GROUP_KINDS && !pl_span_eq(word, pl_span_str(words[kind])))
		kind++;
	return (enum group_kind)kind;
}

#define DECIDES_PART ",\"decides\":true"

struct pl_span group_value(const char *shard, bool decides, char out[GROUP_VALUE_SIZE])
{
	int len = snprintf(out, GROUP_VALUE_SIZE, "{\"v\":1,\"shard\":\"%s\"%s}", shard,
	                   decides ? DECIDES_PART : "");

	PL_ASSERT(len > 0 && len < GROUP_VALUE_SIZE);
	return pl_span(out, (size_t)len);
}

bool group_value_decides(struct pl_span value)
{
	struct pl_span end = PL_SPAN_LIT(DECIDES_PART "}");

	return value.len >= end.len &&
	       pl_span_eq(pl_span(value.at + value.len - end.len, end.len), end);
}

/* -- printing ---------------------------------------------------------------------- */

/* Numbers of strings differ from process to process: order is that of the texts. */
struct printer {
	const struct model *model;
	struct pl_arena *arena;
	struct pl_buf *buf;
	struct pl_json_out out;
	enum pl_code code;
};

struct sorted_row {
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
	const struct sorted_row *x = a, *y = b;
	int order = pl_span_cmp(x->key, y->key);

	if (order == 0 && x->op != y->op)
		order = x->op < y->op ? -1 : 1;
	for (uint32_t i = 0; order == 0 && i < x->count && i < y->count; i++)
		order = pl_span_cmp(x->value[i], y->value[i]);
	if (order == 0 && x->count != y->count)
		order = x->count < y->count ? -1 : 1;
	return order;
}

static void *room(struct printer *to, size_t count, size_t size)
{
	void *at = pl_arena_zalloc(to->arena, count == 0 ? 1 : count, size);

	if (at == NULL)
		to->code = PL_NOMEM;
	return at;
}

static struct pl_span *texts_sorted(struct printer *to, const uint32_t *id,
                                    uint32_t count)
{
	struct pl_span *text = room(to, count, sizeof *text);

	for (uint32_t i = 0; text != NULL && i < count; i++)
		text[i] = model_text(to->model, id[i]);
	if (text != NULL && count > 1)
		qsort(text, count, sizeof *text, span_cmp);
	return text;
}

static struct sorted_row *rows_sorted(struct printer *to, const struct selector *selector)
{
	struct sorted_row *row = room(to, selector->count, sizeof *row);

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

static void put_texts(struct printer *to, const char *name, const struct pl_span *text,
                      uint32_t count)
{
	pl_json_out_name(&to->out, name);
	pl_json_out_array(&to->out);
	for (uint32_t i = 0; i < count; i++)
		pl_json_out_string(&to->out, text[i]);
	pl_json_out_end(&to->out);
}

static void put_selector(struct printer *to, const char *name,
                         const struct selector *selector)
{
	const struct sorted_row *row = rows_sorted(to, selector);

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

static void put_topology(struct printer *to, uint32_t key)
{
	pl_json_out_name(&to->out, "topologyKey");
	pl_json_out_string(&to->out, model_text(to->model, key));
}

static void put_begin(struct printer *to, const struct spec *spec)
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

static bool is_nobody(const struct selector *selector)
{
	return (selector->flags & (SELECTOR_NOTHING | SELECTOR_INVALID)) != 0;
}

/* Just the carrier's own namespace. */
static bool is_own(const struct spec *spec, const struct pod_term *term)
{
	return term->count == 1 && term->namespace[0] == spec->namespace &&
	       is_nobody(term->namespace_selector);
}

static void put_pod_term(struct printer *to, const struct spec *spec,
                         const struct pod_term *term, enum group_kind kind)
{
	const struct pl_span *names = texts_sorted(to, term->namespace, term->count);

	put_begin(to, spec);
	pl_json_out_name(&to->out, "affinity");
	pl_json_out_object(&to->out);
	pl_json_out_name(&to->out,
	                 kind == GROUP_AFFINITY ? "podAffinity" : "podAntiAffinity");
	pl_json_out_object(&to->out);
	pl_json_out_name(&to->out, "requiredDuringSchedulingIgnoredDuringExecution");
	pl_json_out_array(&to->out);
	pl_json_out_object(&to->out);
	put_selector(to, "labelSelector", term->selector);
	if (!is_own(spec, term) && term->count > 0 && names != NULL)
		put_texts(to, "namespaces", names, term->count);
	if (!is_nobody(term->namespace_selector))
		put_selector(to, "namespaceSelector", term->namespace_selector);
	put_topology(to, term->topology_key);
	pl_json_out_end(&to->out);
	pl_json_out_end(&to->out);
	pl_json_out_end(&to->out);
	pl_json_out_end(&to->out);
}

static void put_spread(struct printer *to, const struct spec *spec,
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

/* Two keys of our own, for ever: 128 bits, so that nobody finds two rules of one name. */
static void name(struct group_term *term)
{
	const struct pl_hash_key one = {1, 0}, two = {2, 0};

	(void)snprintf(term->id, sizeof term->id, "%s-%016llx%016llx", words[term->kind],
	               (unsigned long long)pl_hash_keyed(term->pod, one),
	               (unsigned long long)pl_hash_keyed(term->pod, two));
}

/* What is in the buffer, if it is not there yet. */
static void add(struct printer *to, struct group_terms *terms, enum group_kind kind,
                bool global)
{
	struct group_term *term = &terms->term[terms->count];

	pl_json_out_end(&to->out);
	pl_json_out_end(&to->out);
	if (to->code == PL_OK)
		to->code = pl_json_out_done(&to->out);
	if (to->code != PL_OK)
		return;
	*term = (struct group_term){.kind = kind, .global = global};
	term->pod = pl_arena_dup(to->arena, pl_buf_span(to->buf));
	if (term->pod.at == NULL) {
		to->code = PL_NOMEM;
		return;
	}
	name(term);
	for (uint32_t i = 0; i < terms->count; i++)
		if (strcmp(terms->term[i].id, term->id) == 0)
			return;
	terms->count++;
}

static bool is_local(const struct model *model, const struct pod_term *term,
                     enum group_kind kind)
{
	return kind == GROUP_ANTI_AFFINITY && node_is_domain(model, term->topology_key);
}

static bool needs(const struct model *model, const struct pod_term *term,
                  enum group_kind kind)
{
	return !is_local(model, term, kind) && !is_nobody(term->selector) &&
	       (term->count > 0 || !is_nobody(term->namespace_selector));
}

static bool spread_needs(const struct spec_spread *spread)
{
	return spread->hard != 0 && !is_nobody(spread->selector);
}

static void add_pod_terms(struct printer *to, const struct spec *spec,
                          const struct spec_term *row, uint32_t count,
                          enum group_kind kind, struct group_terms *terms)
{
	for (uint32_t i = 0; to->code == PL_OK && i < count; i++) {
		const struct pod_term *term = row[i].term;

		if (!needs(to->model, term, kind))
			continue;
		put_pod_term(to, spec, term, kind);
		add(to, terms, kind, !is_own(spec, term));
	}
}

enum pl_code group_terms_of(const struct model *model, const struct spec *spec,
                            struct pl_arena *arena, struct group_terms *out,
                            struct pl_err *err)
{
	struct pl_buf buf = {.max = GROUP_POD_MAX};
	struct printer to = {.model = model, .arena = arena, .buf = &buf};
	uint32_t most = spec->form->affinity.count + spec->form->anti_affinity.count +
	                (uint32_t)spec->form->spreads.count;
	struct group_terms terms = {.term = room(&to, most, sizeof *terms.term)};

	add_pod_terms(&to, spec, spec_affinity(spec), spec->form->affinity.count,
	              GROUP_AFFINITY, &terms);
	add_pod_terms(&to, spec, spec_anti_affinity(spec),
	              spec->form->anti_affinity.count, GROUP_ANTI_AFFINITY, &terms);
	for (uint32_t i = 0; to.code == PL_OK && i < spec->form->spreads.count; i++) {
		if (!spread_needs(&spec_spreads(spec)[i]))
			continue;
		put_spread(&to, spec, &spec_spreads(spec)[i]);
		add(&to, &terms, GROUP_SPREAD, false);
	}
	pl_buf_done(&buf);
	if (to.code == PL_LIMIT)
		return pl_err_set(
			err, to.code,
			"spec: a rule about other pods takes more than %d bytes",
			GROUP_POD_MAX);
	if (to.code != PL_OK)
		return pl_err_set(err, to.code, "write down a rule of a pod");
	*out = terms;
	return PL_OK;
}

bool group_is_carrier(const struct model *model, const struct spec *spec)
{
	bool is = spec->form->affinity.count > 0;

	for (uint32_t i = 0; !is && i < spec->form->anti_affinity.count; i++)
		is = !is_local(model, spec_anti_affinity(spec)[i].term,
		               GROUP_ANTI_AFFINITY);
	for (uint32_t i = 0; !is && i < spec->form->spreads.count; i++)
		is = spec_spreads(spec)[i].hard != 0;
	return is;
}

/* -- who is found -------------------------------------------------------------------- */

static bool term_finds(const struct model *model, const struct spec_term *row,
                       uint32_t count, const struct spec *spec,
                       const struct labels *space)
{
	for (uint32_t i = 0; i < count; i++)
		if (pod_term_matches(&model->strings, row[i].term, spec->namespace, space,
		                     spec->labels))
			return true;
	return false;
}

bool group_finds(const struct model *model, const struct spec *carrier,
                 const struct spec *spec, const struct labels *space)
{
	const struct spec_spread *spread = spec_spreads(carrier);

	for (uint32_t i = 0; i < carrier->form->spreads.count; i++)
		if (carrier->namespace == spec->namespace &&
		    selector_matches(&model->strings, spread[i].selector, spec->labels))
			return true;
	return term_finds(model, spec_affinity(carrier), carrier->form->affinity.count,
	                  spec, space) ||
	       term_finds(model, spec_anti_affinity(carrier),
	                  carrier->form->anti_affinity.count, spec, space);
}
