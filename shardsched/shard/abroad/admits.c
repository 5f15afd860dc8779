/*
 * May a pod find a node in a partition of somebody else, as far as its digest tells? It
 * says no only when none can be there: what it can not tell counts as yes.
 */
#include "shardsched/shard/inner.h"

static const struct digest_label *label_of(const struct digest_class *class,
                                           struct pl_span key)
{
	for (uint32_t i = 0; i < class->labels; i++)
		if (pl_span_eq(class->label[i].key, key))
			return &class->label[i];
	return NULL;
}

/* Some node may have one of these values; values NULL: any. */
static bool may_have(const struct sched *sched, const struct digest_class *class,
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
		return may_have(sched, class, row->key, selector_values(selector, row),
		                row->count);
	case SELECTOR_EXISTS:
	case SELECTOR_GT:
	case SELECTOR_LT:
		return may_have(sched, class, row->key, NULL, 0);
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
	const struct labels *wanted = spec->form->node_selector;
	bool any = spec->form->required == NULL;

	for (uint32_t i = 0; i < wanted->count; i++)
		if (!may_have(sched, class, wanted->row[i].key, &wanted->row[i].value, 1))
			return false;
	for (uint64_t i = 0; !any && i < spec->form->required->count; i++)
		any = term_admits(sched, class, &spec->form->required->term[i]);
	return any;
}

static struct pl_span text_till(struct pl_span *rest, uint8_t stop)
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

/* "key=value:Effect" */
static bool is_tolerated(const struct sched *sched, struct pl_span text,
                         const struct spec *spec)
{
	struct pl_span rest = text, key = text_till(&rest, '=');
	struct pl_span value = text_till(&rest, ':');
	struct taint taint = {.key = strings_find(&sched->model.strings, key),
	                      .value = strings_find(&sched->model.strings, value),
	                      .effect = TAINT_NO_SCHEDULE};

	if (pl_span_eq(rest, pl_span_str(taint_effect_word(TAINT_NO_EXECUTE))))
		taint.effect = TAINT_NO_EXECUTE;
	/* Nobody here has heard of them: only who tolerates all keys or values. */
	if (taint.key == 0)
		taint.key = UINT32_MAX;
	if (taint.value == 0)
		taint.value = UINT32_MAX;
	return tolerations_cover(spec->form->tolerations, &taint);
}

static int64_t scalar_in(const struct digest_room *room, struct pl_span name)
{
	for (uint32_t i = 0; i < room->scalars; i++)
		if (pl_span_eq(room->scalar[i].name, name))
			return room->scalar[i].amount;
	return 0;
}

static bool room_admits(const struct sched *sched, const struct digest_room *most,
                        const struct resources *asks)
{
	if (asks->cpu_milli > most->cpu_milli || asks->memory > most->memory ||
	    asks->storage > most->storage || most->pods < 1)
		return false;
	for (uint64_t i = 0; i < asks->count; i++)
		if (asks->row[i].amount >
		    scalar_in(most, sched_text(sched, asks->row[i].name)))
			return false;
	return true;
}

/* If only there were room. */
static bool kind_admits(const struct sched *sched, const struct digest_class *class,
                        const struct spec *spec)
{
	if (class->nodes == 0)
		return false;
	for (uint32_t i = 0; !class->other && i < class->taints; i++)
		if (!is_tolerated(sched, class->taint[i], spec))
			return false;
	return labels_admit(sched, class, spec);
}

static bool class_admits(const struct sched *sched, const struct digest_class *class,
                         const struct spec *spec)
{
	return room_admits(sched, &class->most, spec->requests) &&
	       kind_admits(sched, class, spec);
}

bool offer_admits(const struct sched *sched, uint32_t partition, const struct spec *spec)
{
	const struct digest_part *part = sched->partition[partition].offer.is;

	for (uint32_t i = 0; part != NULL && i < part->classes; i++)
		if (class_admits(sched, &part->class[i], spec))
			return true;
	return false;
}

int32_t offer_least(const struct sched *sched, uint32_t partition,
                    const struct spec *spec)
{
	const struct digest_part *part = sched->partition[partition].offer.is;
	int32_t least = INT32_MAX;

	for (uint32_t i = 0; part != NULL && i < part->classes; i++)
		if (part->class[i].least < least &&
		    part->class[i].least < spec->priority &&
		    kind_admits(sched, &part->class[i], spec))
			least = part->class[i].least;
	return least;
}
