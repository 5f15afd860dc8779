#include "shardsched/model/taints.h"

intern_release_fn taints_release, taint_times_release, tolerations_release;

#define EFFECT_WORD(name, word) [TAINT_##name] = (word),
static const char *const words[] = {[TAINT_ANY] = "",
                                    TAINT_EFFECT_MAP(EFFECT_WORD)[TAINT_OTHER] = "?"};

const char *taint_effect_word(enum taint_effect effect)
{
	PL_ASSERT((unsigned)effect <= TAINT_OTHER);
	return words[effect];
}

static enum taint_effect effect_of(struct pl_span word)
{
	for (unsigned i = TAINT_ANY; i < TAINT_OTHER; i++)
		if (pl_span_eq(word, pl_span_str(words[i])))
			return (enum taint_effect)i;
	return TAINT_OTHER;
}

static enum toleration_op op_of(struct pl_span word)
{
	if (word.len == 0 || pl_span_eq(word, PL_SPAN_LIT("Equal")))
		return TOLERATION_EQUAL;
	return pl_span_eq(word, PL_SPAN_LIT("Exists")) ? TOLERATION_EXISTS
	                                               : TOLERATION_BAD;
}

const struct taints *taints_make(struct maker *maker, struct draft_taints draft)
{
	struct taints *made;
	size_t size = sizeof *made + draft.count * sizeof made->row[0];

	made = maker_alloc(maker, size);
	for (uint32_t i = 0; made != NULL && i < draft.count; i++) {
		enum taint_effect effect = effect_of(draft.at[i].effect);

		made->row[made->count++] =
			(struct taint){.key = maker_text(maker, draft.at[i].key),
		                       .value = maker_text(maker, draft.at[i].value),
		                       .effect = effect};
		made->effects |= TAINT_BIT(effect);
	}
	return maker_intern(maker, MODEL_TAINTS, made, size);
}

void taints_release(struct model *model, const struct intern_item *value)
{
	const struct taints *taints = PL_CONTAINER_OF_CONST(value, struct taints, item);

	for (uint32_t i = 0; i < taints->count; i++) {
		strings_unref(&model->strings, taints->row[i].key);
		strings_unref(&model->strings, taints->row[i].value);
	}
}

static bool says_when(const struct draft_taint *taint)
{
	return taint->added_ms > 0 && effect_of(taint->effect) == TAINT_NO_EXECUTE;
}

const struct taint_times *taint_times_make(struct maker *maker, struct draft_taints draft)
{
	struct taint_times *made;
	size_t size = sizeof *made + draft.count * sizeof made->added_ms[0];
	uint32_t said = 0;

	for (uint32_t i = 0; i < draft.count; i++)
		said += says_when(&draft.at[i]);
	if (said == 0)
		return NULL;
	made = maker_alloc(maker, size);
	for (uint32_t i = 0; made != NULL && i < draft.count; i++, made->count++)
		if (says_when(&draft.at[i]))
			made->added_ms[i] = draft.at[i].added_ms;
	return maker_intern(maker, MODEL_TAINT_TIMES, made, size);
}

void taint_times_release(struct model *model, const struct intern_item *value)
{
	(void)model, (void)value; /* nothing but numbers */
}

static int32_t seconds_of(const struct draft_toleration *from)
{
	if (!from->has_seconds)
		return TOLERATION_EVER;
	if (from->seconds < 0)
		return 0;
	return from->seconds > INT32_MAX ? INT32_MAX : (int32_t)from->seconds;
}

const struct tolerations *tolerations_make(struct maker *maker,
                                           struct draft_tolerations draft)
{
	struct tolerations *made;
	size_t size = sizeof *made + draft.count * sizeof made->row[0];

	made = maker_alloc(maker, size);
	for (uint32_t i = 0; made != NULL && i < draft.count; i++) {
		const struct draft_toleration *from = &draft.at[i];

		made->row[made->count++] =
			(struct toleration){.seconds = seconds_of(from),
		                            .key = maker_name(maker, from->key),
		                            .value = maker_text(maker, from->value),
		                            .op = (uint16_t)op_of(from->op),
		                            .effect = (uint16_t)effect_of(from->effect)};
	}
	return maker_intern(maker, MODEL_TOLERATIONS, made, size);
}

void tolerations_release(struct model *model, const struct intern_item *value)
{
	const struct tolerations *tolerations =
		PL_CONTAINER_OF_CONST(value, struct tolerations, item);

	for (uint32_t i = 0; i < tolerations->count; i++) {
		strings_unref(&model->strings, tolerations->row[i].key);
		strings_unref(&model->strings, tolerations->row[i].value);
	}
}

bool toleration_covers(const struct toleration *toleration, const struct taint *taint)
{
	if (toleration->effect != TAINT_ANY &&
	    (toleration->effect != taint->effect || taint->effect == TAINT_OTHER))
		return false;
	if (toleration->key != 0 && toleration->key != taint->key)
		return false;
	return toleration->op == TOLERATION_EXISTS ||
	       (toleration->op == TOLERATION_EQUAL && toleration->value == taint->value);
}

bool tolerations_cover(const struct tolerations *tolerations, const struct taint *taint)
{
	for (uint32_t i = 0; i < tolerations->count; i++)
		if (toleration_covers(&tolerations->row[i], taint))
			return true;
	return false;
}

const struct taint *taints_first_untolerated(const struct taints *taints,
                                             const struct tolerations *tolerations,
                                             uint32_t effects)
{
	if ((taints->effects & effects) == 0)
		return NULL;
	for (uint32_t i = 0; i < taints->count; i++)
		if ((TAINT_BIT(taints->row[i].effect) & effects) != 0 &&
		    !tolerations_cover(tolerations, &taints->row[i]))
			return &taints->row[i];
	return NULL;
}

int32_t tolerations_bear_s(const struct tolerations *tolerations,
                           const struct taint *taint)
{
	if (taint->effect != TAINT_NO_EXECUTE)
		return TOLERATION_EVER;
	for (uint32_t i = 0; i < tolerations->count; i++)
		if (toleration_covers(&tolerations->row[i], taint))
			return tolerations->row[i].seconds;
	return 0;
}
