/*
 * May a pod find a node in a partition of another shard, as far as the digest tells? The
 * answer is no only when no node there can do: what the digest can not tell counts as
 * yes, and so do filters that the pod's profile does not have.
 */
#include "shardsched/plugins/fit.h"
#include "shardsched/plugins/plugins.h"
#include "shardsched/shard/inner.h"

/* The pod, and the filters of its profile. */
struct digest_query {
	const struct sched *sched;
	const struct spec *spec;
	/* NULL: no profile schedules the pod; it has no filters then */
	const struct profile *profile;
	uint64_t filters;
};

static struct digest_query query_of(const struct sched *sched, const struct spec *spec)
{
	struct digest_query query = {.sched = sched, .spec = spec};
	const struct profile_point *filters;

	query.profile = profiles_find(sched->class_registry->opts.profiles,
	                              spec->template->scheduler);
	if (query.profile == NULL)
		return query;
	filters = &query.profile->at[POINT_FILTER];
	for (unsigned i = 0; i < filters->count; i++)
		query.filters |= UINT64_C(1) << filters->plugin[i];
	return query;
}

static bool is_filter_on(const struct digest_query *query, enum plugins_index plugin)
{
	return (query->filters >> plugin & 1) != 0;
}

static const struct digest_label *label_of(const struct digest_class *class,
                                           struct pl_span key)
{
	for (uint32_t i = 0; i < class->labels; i++)
		if (pl_span_eq(class->label[i].key, key))
			return &class->label[i];
	return NULL;
}

/* Some node may have one of these values; values NULL: any value. */
static bool may_have_label(const struct sched *sched, const struct digest_class *class,
                           uint32_t key, const uint32_t *values, uint32_t count)
{
	const struct digest_label *label = label_of(class, sched_text(sched, key));

	if (label == NULL)
		return class->more;
	if (label->values == 0 || values == NULL)
		return true;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < label->values; n++)
			if (pl_span_eq(sched_text(sched, values[i]), label->value[n]))
				return true;
	return false;
}

static bool row_admits(const struct sched *sched, const struct digest_class *class,
                       const struct selector *selector, const struct selector_row *row)
{
	switch ((enum selector_op)row->op) {
	case SELECTOR_IN:
		return may_have_label(sched, class, row->key,
		                      selector_values(selector, row), row->count);
	case SELECTOR_EXISTS:
	case SELECTOR_GT:
	case SELECTOR_LT:
		return may_have_label(sched, class, row->key, NULL, 0);
	case SELECTOR_NOT_IN:
	case SELECTOR_NOT_EXISTS:
		return true;
	case SELECTOR_BAD:
		break;
	}
	return false;
}

static bool term_admits(const struct sched *sched, const struct digest_class *class,
                        const struct node_term *term)
{
	if (node_term_is_empty(term) || node_term_is_invalid(term))
		return false;
	for (uint32_t i = 0; i < term->labels->count; i++)
		if (!row_admits(sched, class, term->labels, &term->labels->row[i]))
			return false;
	return true;
}

static bool labels_admit(const struct sched *sched, const struct digest_class *class,
                         const struct spec *spec)
{
	const struct labels *wanted = spec->template->node_selector;
	bool any = spec->template->required == NULL;

	for (uint32_t i = 0; i < wanted->count; i++)
		if (!may_have_label(sched, class, wanted->row[i].key,
		                    &wanted->row[i].value, 1))
			return false;
	for (uint64_t i = 0; !any && i < spec->template->required->count; i++)
		any = term_admits(sched, class, &spec->template->required->term[i]);
	return any;
}

static struct pl_span cut_text(struct pl_span *rest, uint8_t stop)
{
	struct pl_span text = *rest;
	const uint8_t *at = rest->len == 0 ? NULL : memchr(rest->at, stop, rest->len);

	if (at == NULL) {
		*rest = (struct pl_span){0};
		return text;
	}
	text.len = (size_t)(at - rest->at);
	*rest = pl_span(at + 1, rest->len - text.len - 1);
	return text;
}

/* text: "key=value:Effect". */
static bool is_tolerated(const struct sched *sched, struct pl_span text,
                         const struct spec *spec)
{
	struct pl_span rest = text, key = cut_text(&rest, '=');
	struct pl_span value = cut_text(&rest, ':');
	struct taint taint = {.key = strings_find(&sched->model.strings, key),
	                      .value = strings_find(&sched->model.strings, value),
	                      .effect = TAINT_NO_SCHEDULE};

	if (pl_span_eq(rest, pl_span_str(taint_effect_word(TAINT_NO_EXECUTE))))
		taint.effect = TAINT_NO_EXECUTE;
	/* No object here has the key or the value: only tolerations of all keys or values
	 * match. */
	if (taint.key == 0)
		taint.key = UINT32_MAX;
	if (taint.value == 0)
		taint.value = UINT32_MAX;
	return tolerations_cover(spec->template->tolerations, &taint);
}

static int64_t room_scalar(const struct digest_capacity *room, struct pl_span name)
{
	for (uint32_t i = 0; i < room->scalars; i++)
		if (pl_span_eq(room->scalar[i].name, name))
			return room->scalar[i].amount;
	return 0;
}

static bool room_admits(const struct digest_query *query,
                        const struct digest_capacity *most)
{
	const struct sched *sched = query->sched;
	const struct resources *asks = query->spec->requests;

	if (!is_filter_on(query, index_of_plugin_fit))
		return true;
	if (asks->cpu_milli > most->cpu_milli || asks->memory > most->memory ||
	    asks->storage > most->storage || most->pods < 1)
		return false;
	for (uint64_t i = 0; i < asks->count; i++)
		if (asks->row[i].amount >
		            room_scalar(most, sched_text(sched, asks->row[i].name)) &&
		    fit_counts(&sched->model, query->profile->args[index_of_plugin_fit],
		               asks->row[i].name))
			return false;
	return true;
}

/* The digest shows a cordoned node as if it were tainted. */
static bool taints_admit(const struct digest_query *query,
                         const struct digest_class *class)
{
	if (class->other || !is_filter_on(query, index_of_plugin_taint_toleration) ||
	    !is_filter_on(query, index_of_plugin_node_unschedulable))
		return true;
	for (uint32_t i = 0; i < class->taints; i++)
		if (!is_tolerated(query->sched, class->taint[i], query->spec))
			return false;
	return true;
}

/* Everything but free room admits the pod. */
static bool kind_admits(const struct digest_query *query,
                        const struct digest_class *class)
{
	return class->nodes > 0 && taints_admit(query, class) &&
	       (!is_filter_on(query, index_of_plugin_node_affinity) ||
	        labels_admit(query->sched, class, query->spec));
}

bool digest_admits(const struct sched *sched, uint32_t partition, const struct spec *spec)
{
	const struct digest_partition *part = sched->partition[partition].digest_entry.is;
	const struct digest_query query = query_of(sched, spec);

	for (uint32_t i = 0; part != NULL && i < part->classes; i++)
		if (room_admits(&query, &part->class[i].most) &&
		    kind_admits(&query, &part->class[i]))
			return true;
	return false;
}

int32_t digest_least_priority(const struct sched *sched, uint32_t partition,
                              const struct spec *spec)
{
	const struct digest_partition *part = sched->partition[partition].digest_entry.is;
	const struct digest_query query = query_of(sched, spec);
	int32_t least = INT32_MAX;

	for (uint32_t i = 0; part != NULL && i < part->classes; i++)
		if (part->class[i].least < least &&
		    part->class[i].least < spec->priority &&
		    kind_admits(&query, &part->class[i]))
			least = part->class[i].least;
	return least;
}
