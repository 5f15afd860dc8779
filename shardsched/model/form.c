#include "shardsched/model/form.h"

#include <stdlib.h>

#include "shardsched/model/spec_requests.h"
#include "store/base/num.h"

intern_release_fn form_release;

/* How many rows of each kind there will be. */
struct sizes {
#define SIZES_FIELD(name, type) uint32_t name;
	FORM_ROWS_MAP(SIZES_FIELD)
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

	for (uint32_t i = 0; i < draft->containers.count; i++)
		for (uint32_t j = 0; j < draft->containers.at[i].port_count; j++)
			sizes.ports += draft->containers.at[i].ports[j].host_port > 0;
	return sizes;
}

/* A form that is being made. Its counts are what they will be: rows that are not written
 * yet are zero. */
struct half {
	struct form *form;
	struct sizes done;
};

static void set_counts(struct sizes sizes, struct form *form)
{
	/* The reader bounds each list far below. */
#define SET_COUNT(name, type)                \
	PL_ASSERT(sizes.name <= UINT16_MAX); \
	form->name.count = (uint16_t)sizes.name;
	FORM_ROWS_MAP(SET_COUNT)
}

/* The next row, to be written. */
#define FORM_ROWS_PUT(name, type)                                                        \
	static type *put_##name(struct half *half)                                       \
	{                                                                                \
		char *first =                                                            \
			(char *)half->form + form_rows_at(half->form, FORM_ROWS_##name); \
		PL_ASSERT(half->done.name < half->form->name.count);                     \
		return (type *)(void *)first + half->done.name++;                        \
	}
FORM_ROWS_MAP(FORM_ROWS_PUT)

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
		qsort(first, half->form->images.count, sizeof *first, by_number);
	for (uint32_t i = 0; i < draft->gates.count; i++)
		*put_gates(half) = maker_text(maker, draft->gates.at[i]);
}

/* A minimum that cannot be read is 1; validation refuses it. */
static void put_gang(struct maker *maker, const struct pod_draft *draft,
                     struct form *form)
{
	struct pl_span min =
		draft_get(draft->meta.annotations, PL_SPAN_LIT(SPEC_GANG_MIN_ANNOTATION));
	int64_t count = 1;

	form->gang = maker_name(maker, draft_get(draft->meta.annotations,
	                                         PL_SPAN_LIT(SPEC_GANG_ANNOTATION)));
	if (pl_num_i64_in(min, 1, SPEC_GANG_MOST, &count, NULL) != PL_OK)
		count = 1;
	if (form->gang == 0)
		return;
	form->gang_min = (int32_t)count;
	form->gang_domain =
		maker_name(maker, draft_get(draft->meta.annotations,
	                                    PL_SPAN_LIT(SPEC_GANG_DOMAIN_ANNOTATION)));
}

static void put_owner(struct maker *maker, const struct pod_draft *draft,
                      struct form *form)
{
	const struct draft_owner *owner = draft_controller(&draft->meta);

	if (owner == NULL)
		return;
	form->owner_kind = maker_text(maker, owner->kind);
	form->owner_api = maker_text(maker, owner->api_version);
}

static void put_fields(struct maker *maker, const struct pod_draft *draft,
                       const struct spec_requests *nonzero, struct form *form)
{
	form->scheduler = maker_text(maker, draft->scheduler_name);
	form->node_selector = labels_make(maker, draft->node_selector);
	form->required = node_selector_make(maker, draft->required);
	form->preferred = node_selector_make(maker, draft->preferred);
	form->tolerations = tolerations_make(maker, draft->tolerations);
	if (nonzero == NULL)
		return;
	form->nonzero_cpu_milli = nonzero->nonzero_cpu_milli;
	form->nonzero_memory = nonzero->nonzero_memory;
}

const struct form *form_make(struct maker *maker, const struct pod_draft *draft,
                             const struct spec_requests *nonzero)
{
	struct form counts = {0}, *made;
	struct half half = {0};
	size_t size;

	set_counts(sizes_of(draft), &counts);
	size = form_rows_at(&counts, FORM_ROWS_END);
	half.form = made = maker_room(maker, size);
	if (made == NULL)
		return NULL;
	set_counts(sizes_of(draft), made);
	put_fields(maker, draft, nonzero, made);
	put_owner(maker, draft, made);
	put_gang(maker, draft, made);
	put_terms(maker, draft, &half);
	put_all_spreads(maker, draft, &half);
	put_containers(maker, draft, &half);
	return maker_take(maker, MODEL_FORMS, made, size);
}

/* -- what it refers to ------------------------------------------------------ */

static void drop_texts(struct model *model, const uint32_t *id, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		strings_unref(&model->strings, id[i]);
}

static void drop_terms(struct model *model, const struct spec_term *term, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		model_unref(model, MODEL_POD_TERMS, term[i].term);
}

static void drop_rows(struct model *model, const struct form *form)
{
	drop_terms(model, form_affinity(form), form->affinity.count);
	drop_terms(model, form_anti_affinity(form), form->anti_affinity.count);
	drop_terms(model, form_soft_affinity(form), form->soft_affinity.count);
	drop_terms(model, form_soft_anti_affinity(form), form->soft_anti_affinity.count);
	for (uint32_t i = 0; i < form->spreads.count; i++) {
		const struct spec_spread *spread = &form_spreads(form)[i];

		model_unref(model, MODEL_SELECTORS, spread->selector);
		drop_texts(model, &spread->topology_key, 1);
	}
	for (uint32_t i = 0; i < form->ports.count; i++)
		drop_texts(model, &form_ports(form)[i].ip, 1);
	drop_texts(model, form_images(form), form->images.count);
	drop_texts(model, form_gates(form), form->gates.count);
}

void form_release(struct model *model, const struct intern_item *value)
{
	const struct form *form = PL_CONTAINER_OF_CONST(value, struct form, item);

	model_unref(model, MODEL_LABELS, form->node_selector);
	model_unref(model, MODEL_NODE_SELECTORS, form->required);
	model_unref(model, MODEL_NODE_SELECTORS, form->preferred);
	model_unref(model, MODEL_TOLERATIONS, form->tolerations);
	drop_texts(model,
	           (const uint32_t[]){form->scheduler, form->owner_kind, form->owner_api,
	                              form->gang, form->gang_domain},
	           5);
	drop_rows(model, form);
}
