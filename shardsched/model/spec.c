#include "shardsched/model/spec.h"

#include "shardsched/model/claim_pattern.h"
#include "shardsched/model/spec_requests.h"

intern_release_fn spec_release;

/* A spec that is being made, with the number of texts that are written. */
struct spec_half {
	struct spec *spec;
	uint32_t texts;
};

static size_t spec_size(uint32_t volumes, uint32_t texts)
{
	return sizeof(struct spec) + volumes * sizeof(struct spec_volume) +
	       texts * sizeof(uint32_t);
}

static uint32_t texts_of(const struct draft_volume *volume)
{
	return volume->source == DRAFT_RBD ? 1 + volume->monitors.count : 0;
}

static void put_text(struct maker *maker, struct spec_half *half, struct pl_span text)
{
	uint32_t *first = (uint32_t *)(void *)((char *)half->spec +
	                                       spec_size(half->spec->volumes, 0));

	PL_ASSERT(half->texts < half->spec->texts);
	first[half->texts++] = maker_text(maker, text);
}

/* An ephemeral volume's claim is "<pod>-<volume>". */
static struct pl_span pattern_of(struct maker *maker, const struct pod_draft *draft,
                                 const struct draft_volume *volume)
{
	size_t len = volume->name.len + 2;
	uint8_t *text;

	if (volume->source == DRAFT_EPHEMERAL) {
		text = maker_alloc(maker, len);
		if (text == NULL)
			return (struct pl_span){0};
		text[0] = '*';
		text[1] = '-';
		if (volume->name.len > 0)
			memcpy(text + 2, volume->name.at, volume->name.len);
		return pl_span(text, len);
	}
	if (volume->source != DRAFT_CLAIM || volume->id.len == 0)
		return (struct pl_span){0};
	text = maker_alloc(maker, volume->id.len);
	if (text == NULL)
		return (struct pl_span){0};
	return pl_span(text, claim_pattern_make(volume->id, draft->meta.name, text));
}

static void put_volume(struct maker *maker, const struct pod_draft *draft,
                       const struct draft_volume *from, struct spec_half *half,
                       struct spec_volume *to)
{
	struct pl_span pattern = pattern_of(maker, draft, from);

	*to = (struct spec_volume){
		.kind = (uint8_t)from->source,
		.name = maker_text(maker, from->name),
		.id = maker_name(maker, pattern.len > 0 ? pattern : from->id),
		.read_only = from->read_only,
		.own = pattern.len > 0,
		.first = (uint16_t)half->texts,
	};
	if (pattern.len > 0)
		half->spec->flags |= SPEC_BY_NAME;
	if (from->source != DRAFT_RBD)
		return;
	to->monitors = (uint16_t)from->monitors.count;
	put_text(maker, half, from->pool);
	for (uint32_t i = 0; i < from->monitors.count; i++)
		put_text(maker, half, from->monitors.at[i]);
}

static void put_all_volumes(struct maker *maker, const struct pod_draft *draft,
                            struct spec_half *half)
{
	struct spec_volume *next = (struct spec_volume *)(void *)(half->spec + 1);

	for (uint32_t i = 0; i < draft->volume_count; i++)
		if (draft->volumes[i].source != DRAFT_OTHER)
			put_volume(maker, draft, &draft->volumes[i], half, next++);
}

static uint8_t sla_of(struct pl_span word)
{
	if (pl_span_eq(word, PL_SPAN_LIT("gold")))
		return SPEC_SLA_GOLD;
	if (pl_span_eq(word, PL_SPAN_LIT("silver")))
		return SPEC_SLA_SILVER;
	return pl_span_eq(word, PL_SPAN_LIT("bronze")) ? SPEC_SLA_BRONZE : SPEC_SLA_NONE;
}

static void put_owner(struct maker *maker, const struct pod_draft *draft,
                      struct spec_half *half)
{
	const struct draft_owner *owner = draft_controller(&draft->meta);

	if (owner == NULL)
		return;
	put_text(maker, half, owner->name);
	put_text(maker, half, owner->uid);
}

static void put_fields(struct maker *maker, const struct pod_draft *draft,
                       struct spec *spec)
{
	spec->namespace = maker_text(maker, draft->meta.namespace);
	spec->priority = draft->priority;
	spec->sla = sla_of(draft_get(draft->meta.labels, PL_SPAN_LIT("sla")));
	if (pl_span_eq(draft->preemption, PL_SPAN_LIT("Never")))
		spec->flags |= SPEC_NEVER_PREEMPTS;
	if (draft->host_network)
		spec->flags |= SPEC_HOST_NETWORK;
}

/* To be called after the pod's own selectors were made, since they may ask for the
 * labels. */
static void put_labels(struct maker *maker, const struct pod_draft *draft,
                       struct spec *spec, struct identity_labels *identity)
{
	struct draft_pairs labels =
		identity_split(maker->model, maker->arena, &draft->meta, identity);

	spec->labels = labels_make(maker, labels);
}

static void set_counts(const struct pod_draft *draft, struct spec *spec)
{
	uint32_t volumes = 0, texts = 0;

	for (uint32_t i = 0; i < draft->volume_count; i++) {
		volumes += draft->volumes[i].source != DRAFT_OTHER;
		texts += texts_of(&draft->volumes[i]);
	}
	spec->by_rbd = (uint16_t)texts;
	texts += draft_controller(&draft->meta) == NULL ? 0 : 2;
	/* The reader bounds the lists far below. */
	PL_ASSERT(volumes <= UINT16_MAX && texts <= UINT16_MAX);
	spec->volumes = (uint16_t)volumes;
	spec->texts = (uint16_t)texts;
}

/* Whether LeastAllocated counts the requests as they are. asked may be NULL. */
static bool is_nonzero(const struct resources *asked, const struct spec_requests *is)
{
	return asked != NULL && asked->cpu_milli == is->nonzero_cpu_milli &&
	       asked->memory == is->nonzero_memory;
}

static const struct spec *make_spec(struct maker *maker, const struct pod_draft *draft,
                                    const struct spec_requests *requests,
                                    struct identity_labels *identity)
{
	struct spec counts = {0}, *made;
	struct spec_half half = {0};
	bool as_asked;
	size_t size;

	set_counts(draft, &counts);
	size = spec_size(counts.volumes, counts.texts);
	half.spec = made = maker_alloc(maker, size);
	if (made == NULL)
		return NULL;
	set_counts(draft, made);
	made->requests = resources_make(maker, &requests->sums, false);
	as_asked = is_nonzero(made->requests, requests);
	if (as_asked)
		made->flags |= SPEC_NONZERO;
	made->template = pod_template_make(maker, draft, as_asked ? NULL : requests);
	put_fields(maker, draft, made);
	put_all_volumes(maker, draft, &half);
	put_owner(maker, draft, &half);
	put_labels(maker, draft, made, identity);
	return maker_intern(maker, MODEL_SPECS, made, size);
}

enum pl_code spec_make(struct model *model, struct pl_arena *arena,
                       const struct pod_draft *draft, const struct spec **out,
                       struct identity_labels *identity, struct pl_err *err)
{
	struct spec_requests requests;
	struct identity_labels made_beside = {0};
	struct maker maker;
	const struct spec *made;
	enum pl_code code = spec_requests_make(arena, draft, &requests, err);

	if (code != PL_OK)
		return code;
	maker_init(&maker, model, arena);
	made = make_spec(&maker, draft, &requests, &made_beside);
	if (maker.code != PL_OK)
		return pl_err_set(err, maker.code, "keep a pod");
	*out = made;
	*identity = made_beside;
	return PL_OK;
}

/* -- what it refers to ------------------------------------------------------ */

/* Adds a reference to each part, or gives one back. */
struct spec_refs {
	struct model *model;
	bool more;
};

static void of_value(struct spec_refs refs, enum model_kind kind, const void *value)
{
	if (refs.more)
		(void)model_ref(refs.model, kind, value);
	else
		model_unref(refs.model, kind, value);
}

static void of_texts(struct spec_refs refs, const uint32_t *id, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (refs.more)
			(void)strings_ref(&refs.model->strings, id[i]);
		else
			strings_unref(&refs.model->strings, id[i]);
	}
}

/* Everything except the labels. */
static void of_rest(struct spec_refs refs, const struct spec *spec)
{
	of_value(refs, MODEL_POD_TEMPLATES, spec->template);
	of_value(refs, MODEL_RESOURCES, spec->requests);
	of_texts(refs, &spec->namespace, 1);
	for (uint32_t i = 0; i < spec->volumes; i++)
		of_texts(refs,
		         (const uint32_t[]){spec_volumes(spec)[i].name,
		                            spec_volumes(spec)[i].id},
		         2);
	of_texts(refs, spec_texts(spec), spec->texts);
}

void spec_release(struct model *model, const struct intern_item *value)
{
	const struct spec *spec = PL_CONTAINER_OF_CONST(value, struct spec, item);
	struct spec_refs refs = {.model = model, .more = false};

	of_value(refs, MODEL_LABELS, spec->labels);
	of_rest(refs, spec);
}

/* -- labels that are asked for by now --------------------------------------- */

static const struct labels *promoted_labels(struct maker *maker, const struct spec *spec,
                                            uint32_t name,
                                            const struct identity_labels *identity,
                                            uint32_t due)
{
	uint32_t count = spec->labels->count;
	struct draft_pair *pair =
		maker_alloc(maker, (count + IDENTITY_KEYS) * sizeof *pair);

	if (pair == NULL)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		pair[i] = (struct draft_pair){
			model_text(maker->model, spec->labels->row[i].key),
			model_text(maker->model, spec->labels->row[i].value)};
	for (unsigned i = 0; i < IDENTITY_KEYS; i++) {
		enum identity_key key = (enum identity_key)i;
		char *room;

		if ((due & 1U << i) == 0)
			continue;
		room = maker_alloc(maker, PL_NUM_TEXT_SIZE);
		if (room == NULL)
			return NULL;
		pair[count++] = (struct draft_pair){
			identity_key_text(key),
			identity_value(maker->model, key, name, identity, room)};
	}
	return labels_make(maker, (struct draft_pairs){pair, count});
}

enum pl_code spec_promote_labels(struct model *model, struct pl_arena *arena,
                                 const struct spec *spec, uint32_t name,
                                 const struct identity_labels *identity, uint32_t due,
                                 const struct spec **out, struct pl_err *err)
{
	struct maker maker;
	struct spec *draft;
	const struct spec *made;

	maker_init(&maker, model, arena);
	draft = maker_alloc(&maker, spec->item.size);
	if (draft != NULL) {
		memcpy(draft, spec, spec->item.size);
		draft->item = (struct intern_item){.size = 0};
		of_rest((struct spec_refs){.model = model, .more = true}, draft);
		draft->labels = promoted_labels(&maker, spec, name, identity, due);
	}
	made = maker_intern(&maker, MODEL_SPECS, draft, spec->item.size);
	if (made == NULL)
		return pl_err_set(err, maker.code, "keep a pod's class");
	*out = made;
	return PL_OK;
}
