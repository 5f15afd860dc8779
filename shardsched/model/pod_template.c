#include "shardsched/model/pod_template.h"

#include <stdlib.h>

#include "shardsched/model/spec_requests.h"
#include "store/base/num.h"

intern_release_fn pod_template_release;

/* The number of rows of each kind in the template. */
struct template_sizes {
#define SIZES_FIELD(name, type) uint32_t name;
	TEMPLATE_ROWS_MAP(SIZES_FIELD)
};

static struct template_sizes template_sizes(const struct pod_draft *draft)
{
	struct template_sizes sizes = {
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

/* A template that is being made. Its counts are final; rows that are not written yet are
 * zero. */
struct template_half {
	struct pod_template *template;
	struct template_sizes done;
};

static void set_counts(struct template_sizes sizes, struct pod_template *template)
{
	/* The reader's bounds are far below. */
#define SET_COUNT(name, type)                \
	PL_ASSERT(sizes.name <= UINT16_MAX); \
	template->name.count = (uint16_t)sizes.name;
	TEMPLATE_ROWS_MAP(SET_COUNT)
}

/* The next row to be written. */
#define TEMPLATE_ROWS_PUT(name, type)                                                 \
	static type *put_##name(struct template_half *half)                           \
	{                                                                             \
		char *first = (char *)half->template +                                \
		              template_rows_at(half->template, TEMPLATE_ROWS_##name); \
		PL_ASSERT(half->done.name < half->template->name.count);              \
		return (type *)(void *)first + half->done.name++;                     \
	}
TEMPLATE_ROWS_MAP(TEMPLATE_ROWS_PUT)

static struct spec_term term_of(struct maker *maker, const struct draft_pod_term *term,
                                struct pl_span namespace)
{
	return (struct spec_term){pod_term_make(maker, term, namespace), term->weight};
}

static void put_terms(struct maker *maker, const struct pod_draft *draft,
                      struct template_half *half)
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

/* The selector, with a requirement for each of matchLabelKeys that the pod has: its own
 * value. */
static const struct selector *spread_selector(struct maker *maker,
                                              const struct pod_draft *draft,
                                              const struct draft_spread *spread)
{
	struct draft_selector selector = spread->selector;
	uint32_t count = selector.labels.count;
	struct draft_pair *pair;

	if (spread->match_keys.count == 0)
		return selector_make(maker, selector);
	pair = maker_alloc(maker, (count + spread->match_keys.count) * sizeof *pair);
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
                            struct template_half *half)
{
	for (uint32_t i = 0; i < draft->spread_count; i++) {
		const struct draft_spread *from = &draft->spreads[i];

		*put_spreads(half) = (struct spec_spread){
			.selector = spread_selector(maker, draft, from),
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
                          struct template_half *half)
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

static size_t last_index(struct pl_span text, uint8_t byte)
{
	size_t at = text.len;

	while (at > 0 && text.at[at - 1] != byte)
		at--;
	return at; /* 0: not found */
}

/* An image without a tag has the tag latest. */
static uint32_t image_of(struct maker *maker, struct pl_span image)
{
	struct pl_span latest = PL_SPAN_LIT(":latest");
	uint8_t *full;

	if (last_index(image, ':') > last_index(image, '/'))
		return maker_text(maker, image);
	full = maker_alloc(maker, image.len + latest.len);
	if (full == NULL)
		return 0;
	if (image.len > 0)
		memcpy(full, image.at, image.len);
	memcpy(full + image.len, latest.at, latest.len);
	return maker_text(maker, pl_span(full, image.len + latest.len));
}

static int cmp_number(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;

	return one < two ? -1 : one > two;
}

static void put_containers(struct maker *maker, const struct pod_draft *draft,
                           struct template_half *half)
{
	uint32_t *first = NULL;

	for (uint32_t i = 0; i < draft->containers.count; i++) {
		uint32_t *at = put_images(half);

		first = i == 0 ? at : first;
		*at = image_of(maker, draft->containers.at[i].image);
		put_all_ports(maker, &draft->containers.at[i], half);
	}
	if (first != NULL)
		qsort(first, half->template->images.count, sizeof *first, cmp_number);
	for (uint32_t i = 0; i < draft->gates.count; i++)
		*put_gates(half) = maker_text(maker, draft->gates.at[i]);
}

/* An invalid minimum counts as 1; validation refuses it. */
static void put_gang(struct maker *maker, const struct pod_draft *draft,
                     struct pod_template *template)
{
	struct pl_span min =
		draft_get(draft->meta.annotations, PL_SPAN_LIT(SPEC_GANG_MIN_ANNOTATION));
	int64_t count = 1;

	template->gang = maker_name(maker, draft_get(draft->meta.annotations,
	                                             PL_SPAN_LIT(SPEC_GANG_ANNOTATION)));
	if (pl_num_i64_in(min, 1, SPEC_GANG_MOST, &count, NULL) != PL_OK)
		count = 1;
	if (template->gang == 0)
		return;
	template->gang_min = (int32_t)count;
	template->gang_domain =
		maker_name(maker, draft_get(draft->meta.annotations,
	                                    PL_SPAN_LIT(SPEC_GANG_DOMAIN_ANNOTATION)));
}

static void put_owner(struct maker *maker, const struct pod_draft *draft,
                      struct pod_template *template)
{
	const struct draft_owner *owner = draft_controller(&draft->meta);

	if (owner == NULL)
		return;
	template->owner_kind = maker_text(maker, owner->kind);
	template->owner_api = maker_text(maker, owner->api_version);
}

static void put_fields(struct maker *maker, const struct pod_draft *draft,
                       const struct spec_requests *nonzero, struct pod_template *template)
{
	template->scheduler = maker_text(maker, draft->scheduler_name);
	template->node_selector = labels_make(maker, draft->node_selector);
	template->required = node_selector_make(maker, draft->required);
	template->preferred = node_selector_make(maker, draft->preferred);
	template->tolerations = tolerations_make(maker, draft->tolerations);
	if (nonzero == NULL)
		return;
	template->nonzero_cpu_milli = nonzero->nonzero_cpu_milli;
	template->nonzero_memory = nonzero->nonzero_memory;
}

const struct pod_template *pod_template_make(struct maker *maker,
                                             const struct pod_draft *draft,
                                             const struct spec_requests *nonzero)
{
	struct pod_template counts = {0}, *made;
	struct template_half half = {0};
	size_t size;

	set_counts(template_sizes(draft), &counts);
	size = template_rows_at(&counts, TEMPLATE_ROWS_END);
	half.template = made = maker_alloc(maker, size);
	if (made == NULL)
		return NULL;
	set_counts(template_sizes(draft), made);
	put_fields(maker, draft, nonzero, made);
	put_owner(maker, draft, made);
	put_gang(maker, draft, made);
	put_terms(maker, draft, &half);
	put_all_spreads(maker, draft, &half);
	put_containers(maker, draft, &half);
	return maker_intern(maker, MODEL_POD_TEMPLATES, made, size);
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

static void drop_rows(struct model *model, const struct pod_template *template)
{
	drop_terms(model, template_affinity(template), template->affinity.count);
	drop_terms(model, template_anti_affinity(template),
	           template->anti_affinity.count);
	drop_terms(model, template_soft_affinity(template),
	           template->soft_affinity.count);
	drop_terms(model, template_soft_anti_affinity(template),
	           template->soft_anti_affinity.count);
	for (uint32_t i = 0; i < template->spreads.count; i++) {
		const struct spec_spread *spread = &template_spreads(template)[i];

		model_unref(model, MODEL_SELECTORS, spread->selector);
		drop_texts(model, &spread->topology_key, 1);
	}
	for (uint32_t i = 0; i < template->ports.count; i++)
		drop_texts(model, &template_ports(template)[i].ip, 1);
	drop_texts(model, template_images(template), template->images.count);
	drop_texts(model, template_gates(template), template->gates.count);
}

void pod_template_release(struct model *model, const struct intern_item *value)
{
	const struct pod_template *template =
		PL_CONTAINER_OF_CONST(value, struct pod_template, item);

	model_unref(model, MODEL_LABELS, template->node_selector);
	model_unref(model, MODEL_NODE_SELECTORS, template->required);
	model_unref(model, MODEL_NODE_SELECTORS, template->preferred);
	model_unref(model, MODEL_TOLERATIONS, template->tolerations);
	drop_texts(model,
	           (const uint32_t[]){template->scheduler, template->owner_kind,
	                              template->owner_api, template->gang,
	                              template->gang_domain},
	           5);
	drop_rows(model, template);
}
