#include "shardsched/model/spec.h"

#include <stdlib.h>

#include "shardsched/model/own_name.h"
#include "shardsched/model/spec_requests.h"
#include "store/base/num.h"

intern_release_fn spec_release;

/* How many rows of each kind there will be. */
struct sizes {
#define SIZES_FIELD(name, type) uint32_t name;
	SPEC_ROWS_MAP(SIZES_FIELD)
};

static struct sizes sizes_of(const struct pod_draft *draft)
{
	struct sizes sizes = {
		.affinity = draft->affinity.count,
		.anti_affinity = draft->anti_affinity.count,
		.soft_affinity = draft->soft_affinity.count,
		.soft_anti_affinity = draft->soft_anti_affinity.count,
		.spreads = draft->spread_count,
		.images = draft->containers.count,
		.gates = draft->gates.count,
	};

	for (uint32_t i = 0; i < draft->volume_count; i++) {
		sizes.volumes += draft->volumes[i].source != DRAFT_OTHER;
		if (draft->volumes[i].source == DRAFT_RBD)
			sizes.monitors += draft->volumes[i].monitors.count;
	}
	for (uint32_t i = 0; i < draft->containers.count; i++)
		for (uint32_t j = 0; j < draft->containers.at[i].port_count; j++)
			sizes.ports += draft->containers.at[i].ports[j].host_port > 0;
	return sizes;
}

/* A spec that is being made. Its counts are what they will be: rows that are not written
 * yet are zero. */
struct half {
	struct spec *spec;
	struct sizes done;
};

static void set_counts(struct sizes sizes, struct spec *spec)
{
	/* The reader bounds each list far below. */
#define SET_COUNT(name, type)                \
	PL_ASSERT(sizes.name <= UINT16_MAX); \
	spec->name.count = (uint16_t)sizes.name;
	SPEC_ROWS_MAP(SET_COUNT)
}

/* The next row, to be written. */
#define SPEC_ROWS_PUT(name, type)                                                        \
	static type *put_##name(struct half *half)                                       \
	{                                                                                \
		char *first =                                                            \
			(char *)half->spec + spec_rows_at(half->spec, SPEC_ROWS_##name); \
		PL_ASSERT(half->done.name < half->spec->name.count);                     \
		return (type *)(void *)first + half->done.name++;                        \
	}
SPEC_ROWS_MAP(SPEC_ROWS_PUT)

static struct spec_term term_of(struct maker *maker, const struct draft_pod_term *term,
                                struct pl_span namespace)
{
	return (struct spec_term){pod_term_make(maker, term, namespace), term->weight};
}

static void put_terms(struct maker *maker, const struct pod_draft *draft,
                      struct half *half)
{
	struct pl_span own = draft->meta.namespace;

	for (uint32_t i = 0; i < draft->affinity.count; i++)
		*put_affinity(half) = term_of(maker, &draft->affinity.at[i], own);
	for (uint32_t i = 0; i < draft->anti_affinity.count; i++)
		*put_anti_affinity(half) =
			term_of(maker, &draft->anti_affinity.at[i], own);
	for (uint32_t i = 0; i < draft->soft_affinity.count; i++)
		*put_soft_affinity(half) =
			term_of(maker, &draft->soft_affinity.at[i], own);
	for (uint32_t i = 0; i < draft->soft_anti_affinity.count; i++)
		*put_soft_anti_affinity(half) =
			term_of(maker, &draft->soft_anti_affinity.at[i], own);
}

/* The selector, and for each of matchLabelKeys that the pod has: the pod's value. */
static const struct selector *own_selector(struct maker *maker,
                                           const struct pod_draft *draft,
                                           const struct draft_spread *spread)
{
	struct draft_selector selector = spread->selector;
	uint32_t count = selector.labels.count;
	struct draft_pair *pair;

	if (spread->match_keys.count == 0)
		return selector_make(maker, selector);
	pair = maker_room(maker, (count + spread->match_keys.count) * sizeof *pair);
	if (pair == NULL)
		return NULL;
	if (count > 0)
		memcpy(pair, selector.labels.at, count * sizeof *pair);
	for (uint32_t i = 0; i < spread->match_keys.count; i++) {
		struct pl_span key = spread->match_keys.at[i];
		struct pl_span value = draft_get(draft->meta.labels, key);

		if (value.at != NULL)
			pair[count++] = (struct draft_pair){key, value};
	}
	selector.labels = (struct draft_pairs){pair, count};
	return selector_make(maker, selector);
}

static void put_all_spreads(struct maker *maker, const struct pod_draft *draft,
                            struct half *half)
{
	for (uint32_t i = 0; i < draft->spread_count; i++) {
		const struct draft_spread *from = &draft->spreads[i];

		*put_spreads(half) = (struct spec_spread){
			.selector = own_selector(maker, draft, from),
			.topology_key = maker_text(maker, from->topology_key),
			.max_skew = from->max_skew,
			.min_domains = from->has_min_domains ? from->min_domains : 0,
			.hard = pl_span_eq(from->when, PL_SPAN_LIT("DoNotSchedule")),
			.affinity =
				!pl_span_eq(from->affinity_policy, PL_SPAN_LIT("Ignore")),
			.taints = pl_span_eq(from->taints_policy, PL_SPAN_LIT("Honor")),
		};
	}
}

/* An ephemeral volume's claim is "<pod>-<volume>". */
static struct pl_span pattern_of(struct maker *maker, const struct pod_draft *draft,
                                 const struct draft_volume *volume)
{
	size_t len = volume->name.len + 2;
	uint8_t *text;

	if (volume->source == DRAFT_EPHEMERAL) {
		text = maker_room(maker, len);
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
	text = maker_room(maker, volume->id.len);
	if (text == NULL)
		return (struct pl_span){0};
	return pl_span(text, own_name_pattern(volume->id, draft->meta.name, text));
}

static void put_all_volumes(struct maker *maker, const struct pod_draft *draft,
                            struct half *half)
{
	for (uint32_t i = 0; i < draft->volume_count; i++) {
		const struct draft_volume *from = &draft->volumes[i];
		struct spec_volume *volume;
		struct pl_span pattern;

		if (from->source == DRAFT_OTHER)
			continue;
		volume = put_volumes(half);
		pattern = pattern_of(maker, draft, from);
		*volume = (struct spec_volume){
			.kind = (uint32_t)from->source,
			.name = maker_text(maker, from->name),
			.id = maker_name(maker, pattern.len > 0 ? pattern : from->id),
			.read_only = from->read_only,
			.first = half->done.monitors,
			.own = pattern.len > 0,
		};
		if (pattern.len > 0)
			half->spec->flags |= SPEC_BY_NAME;
		if (from->source != DRAFT_RBD)
			continue;
		volume->pool = maker_text(maker, from->pool);
		volume->monitors = from->monitors.count;
		for (uint32_t j = 0; j < from->monitors.count; j++)
			*put_monitors(half) = maker_text(maker, from->monitors.at[j]);
	}
}

static uint8_t protocol_of(struct pl_span word)
{
	if (pl_span_eq(word, PL_SPAN_LIT("TCP")))
		return SPEC_TCP;
	if (pl_span_eq(word, PL_SPAN_LIT("UDP")))
		return SPEC_UDP;
	return pl_span_eq(word, PL_SPAN_LIT("SCTP")) ? SPEC_SCTP : SPEC_PROTOCOL_OTHER;
}

static void put_all_ports(struct maker *maker, const struct draft_container *container,
                          struct half *half)
{
	for (uint32_t i = 0; i < container->port_count; i++) {
		const struct draft_port *from = &container->ports[i];
		struct pl_span ip = from->host_ip;

		if (from->host_port <= 0)
			continue;
		if (ip.len == 0)
			ip = PL_SPAN_LIT("0.0.0.0");
		*put_ports(half) =
			(struct spec_port){.ip = maker_text(maker, ip),
		                           .port = (uint16_t)from->host_port,
		                           .protocol = protocol_of(from->protocol)};
	}
}

static size_t last(struct pl_span text, uint8_t byte)
{
	size_t at = text.len;

	while (at > 0 && text.at[at - 1] != byte)
		at--;
	return at; /* 0: nowhere */
}

/* An image without a tag means the latest one. */
static uint32_t image_of(struct maker *maker, struct pl_span image)
{
	struct pl_span latest = PL_SPAN_LIT(":latest");
	uint8_t *full;

	if (last(image, ':') > last(image, '/'))
		return maker_text(maker, image);
	full = maker_room(maker, image.len + latest.len);
	if (full == NULL)
		return 0;
	if (image.len > 0)
		memcpy(full, image.at, image.len);
	memcpy(full + image.len, latest.at, latest.len);
	return maker_text(maker, pl_span(full, image.len + latest.len));
}

static int by_number(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;

	return one < two ? -1 : one > two;
}

static void put_containers(struct maker *maker, const struct pod_draft *draft,
                           struct half *half)
{
	uint32_t *first = NULL;

	for (uint32_t i = 0; i < draft->containers.count; i++) {
		uint32_t *at = put_images(half);

		first = i == 0 ? at : first;
		*at = image_of(maker, draft->containers.at[i].image);
		put_all_ports(maker, &draft->containers.at[i], half);
	}
	if (first != NULL)
		qsort(first, half->spec->images.count, sizeof *first, by_number);
	for (uint32_t i = 0; i < draft->gates.count; i++)
		*put_gates(half) = maker_text(maker, draft->gates.at[i]);
}

static uint16_t sla_of(struct pl_span word)
{
	if (pl_span_eq(word, PL_SPAN_LIT("gold")))
		return SPEC_SLA_GOLD;
	if (pl_span_eq(word, PL_SPAN_LIT("silver")))
		return SPEC_SLA_SILVER;
	return pl_span_eq(word, PL_SPAN_LIT("bronze")) ? SPEC_SLA_BRONZE : SPEC_SLA_NONE;
}

static void put_owner(struct maker *maker, const struct pod_draft *draft,
                      struct spec *spec)
{
	for (uint32_t i = 0; i < draft->meta.owner_count; i++) {
		const struct draft_owner *owner = &draft->meta.owners[i];

		if (!owner->controller)
			continue;
		spec->owner_kind = maker_text(maker, owner->kind);
		spec->owner_api = maker_text(maker, owner->api_version);
		spec->owner_name = maker_text(maker, owner->name);
		spec->owner_uid = maker_text(maker, owner->uid);
		return;
	}
}

/* A minimum that cannot be read is 1; validation refuses it. */
static void put_gang(struct maker *maker, const struct pod_draft *draft,
                     struct spec *spec)
{
	struct pl_span min =
		draft_get(draft->meta.annotations, PL_SPAN_LIT(SPEC_GANG_MIN_ANNOTATION));
	int64_t count = 1;

	spec->gang = maker_name(maker, draft_get(draft->meta.annotations,
	                                         PL_SPAN_LIT(SPEC_GANG_ANNOTATION)));
	if (pl_num_i64_in(min, 1, SPEC_GANG_MOST, &count, NULL) != PL_OK)
		count = 1;
	if (spec->gang == 0)
		return;
	spec->gang_min = (int32_t)count;
	spec->gang_domain =
		maker_name(maker, draft_get(draft->meta.annotations,
	                                    PL_SPAN_LIT(SPEC_GANG_DOMAIN_ANNOTATION)));
}

static void put_fields(struct maker *maker, const struct pod_draft *draft,
                       struct spec *spec)
{
	spec->node_selector = labels_make(maker, draft->node_selector);
	spec->required = node_selector_make(maker, draft->required);
	spec->preferred = node_selector_make(maker, draft->preferred);
	spec->tolerations = tolerations_make(maker, draft->tolerations);
	spec->namespace = maker_text(maker, draft->meta.namespace);
	spec->scheduler = maker_text(maker, draft->scheduler_name);
	spec->priority = draft->priority;
	spec->sla = sla_of(draft_get(draft->meta.labels, PL_SPAN_LIT("sla")));
	if (pl_span_eq(draft->preemption, PL_SPAN_LIT("Never")))
		spec->flags |= SPEC_NEVER_PREEMPTS;
	if (draft->host_network)
		spec->flags |= SPEC_HOST_NETWORK;
}

/* When the pod's own selectors are made, which may ask for them. */
static void put_labels(struct maker *maker, const struct pod_draft *draft,
                       struct spec *spec, struct identity *beside)
{
	struct draft_pairs labels =
		identity_split(maker->model, maker->arena, &draft->meta, beside);

	spec->labels = labels_make(maker, labels);
}

static const struct spec *make(struct maker *maker, const struct pod_draft *draft,
                               const struct spec_requests *requests,
                               struct identity *beside)
{
	struct spec counts = {0}, *made;
	struct half half = {0};
	size_t size;

	set_counts(sizes_of(draft), &counts);
	size = spec_rows_at(&counts, SPEC_ROWS_END);
	half.spec = made = maker_room(maker, size);
	if (made == NULL)
		return NULL;
	set_counts(sizes_of(draft), made);
	made->requests = resources_make(maker, &requests->sums, false);
	made->nonzero_cpu_milli = requests->nonzero_cpu_milli;
	made->nonzero_memory = requests->nonzero_memory;
	put_fields(maker, draft, made);
	put_owner(maker, draft, made);
	put_gang(maker, draft, made);
	put_terms(maker, draft, &half);
	put_all_spreads(maker, draft, &half);
	put_all_volumes(maker, draft, &half);
	put_containers(maker, draft, &half);
	put_labels(maker, draft, made, beside);
	return maker_take(maker, MODEL_SPECS, made, size);
}

enum pl_code spec_make(struct model *model, struct pl_arena *arena,
                       const struct pod_draft *draft, const struct spec **out,
                       struct identity *beside, struct pl_err *err)
{
	struct spec_requests requests;
	struct identity made_beside = {0};
	struct maker maker;
	const struct spec *made;
	enum pl_code code = spec_requests_make(arena, draft, &requests, err);

	if (code != PL_OK)
		return code;
	maker_init(&maker, model, arena);
	made = make(&maker, draft, &requests, &made_beside);
	if (maker.code != PL_OK)
		return pl_err_set(err, maker.code, "keep a pod");
	*out = made;
	*beside = made_beside;
	return PL_OK;
}

/* -- what it refers to ------------------------------------------------------ */

/* A reference more to all of it, or one less. */
struct refs {
	struct model *model;
	bool more;
};

static void of_value(struct refs refs, enum model_kind kind, const void *value)
{
	if (refs.more)
		(void)model_ref(refs.model, kind, value);
	else
		model_unref(refs.model, kind, value);
}

static void of_texts(struct refs refs, const uint32_t *id, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (refs.more)
			(void)strings_ref(&refs.model->strings, id[i]);
		else
			strings_unref(&refs.model->strings, id[i]);
	}
}

static void of_terms(struct refs refs, const struct spec_term *term, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		of_value(refs, MODEL_POD_TERMS, term[i].term);
}

static void of_rows(struct refs refs, const struct spec *spec)
{
	of_terms(refs, spec_affinity(spec), spec->affinity.count);
	of_terms(refs, spec_anti_affinity(spec), spec->anti_affinity.count);
	of_terms(refs, spec_soft_affinity(spec), spec->soft_affinity.count);
	of_terms(refs, spec_soft_anti_affinity(spec), spec->soft_anti_affinity.count);
	for (uint32_t i = 0; i < spec->spreads.count; i++) {
		const struct spec_spread *spread = &spec_spreads(spec)[i];

		of_value(refs, MODEL_SELECTORS, spread->selector);
		of_texts(refs, &spread->topology_key, 1);
	}
	for (uint32_t i = 0; i < spec->volumes.count; i++) {
		const struct spec_volume *volume = &spec_volumes(spec)[i];

		of_texts(refs, (const uint32_t[]){volume->name, volume->id, volume->pool},
		         3);
	}
	for (uint32_t i = 0; i < spec->ports.count; i++)
		of_texts(refs, &spec_ports(spec)[i].ip, 1);
	of_texts(refs, spec_images(spec), spec->images.count);
	of_texts(refs, spec_gates(spec), spec->gates.count);
	of_texts(refs, spec_monitors(spec), spec->monitors.count);
}

/* All but the labels. */
static void of_rest(struct refs refs, const struct spec *spec)
{
	of_value(refs, MODEL_LABELS, spec->node_selector);
	of_value(refs, MODEL_NODE_SELECTORS, spec->required);
	of_value(refs, MODEL_NODE_SELECTORS, spec->preferred);
	of_value(refs, MODEL_TOLERATIONS, spec->tolerations);
	of_value(refs, MODEL_RESOURCES, spec->requests);
	of_texts(refs,
	         (const uint32_t[]){spec->namespace, spec->scheduler, spec->owner_kind,
	                            spec->owner_name, spec->owner_uid, spec->owner_api,
	                            spec->gang, spec->gang_domain},
	         8);
	of_rows(refs, spec);
}

void spec_release(struct model *model, const struct intern_item *value)
{
	const struct spec *spec = PL_CONTAINER_OF_CONST(value, struct spec, item);
	struct refs refs = {.model = model, .more = false};

	of_value(refs, MODEL_LABELS, spec->labels);
	of_rest(refs, spec);
}

/* -- labels that are asked for by now --------------------------------------- */

static const struct labels *joined(struct maker *maker, const struct spec *spec,
                                   uint32_t name, const struct identity *beside,
                                   uint32_t due)
{
	uint32_t count = spec->labels->count;
	struct draft_pair *pair =
		maker_room(maker, (count + IDENTITY_KEYS) * sizeof *pair);

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
		room = maker_room(maker, PL_NUM_TEXT_SIZE);
		if (room == NULL)
			return NULL;
		pair[count++] = (struct draft_pair){
			identity_key_text(key),
			identity_value(maker->model, key, name, beside, room)};
	}
	return labels_make(maker, (struct draft_pairs){pair, count});
}

enum pl_code spec_join(struct model *model, struct pl_arena *arena,
                       const struct spec *spec, uint32_t name,
                       const struct identity *beside, uint32_t due,
                       const struct spec **out, struct pl_err *err)
{
	struct maker maker;
	struct spec *draft;
	const struct spec *made;

	maker_init(&maker, model, arena);
	draft = maker_room(&maker, spec->item.size);
	if (draft != NULL) {
		memcpy(draft, spec, spec->item.size);
		draft->item = (struct intern_item){.size = 0};
		of_rest((struct refs){.model = model, .more = true}, draft);
		draft->labels = joined(&maker, spec, name, beside, due);
	}
	made = maker_take(&maker, MODEL_SPECS, draft, spec->item.size);
	if (made == NULL)
		return pl_err_set(err, maker.code, "keep a pod's class");
	*out = made;
	return PL_OK;
}
