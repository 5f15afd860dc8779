/* Affinity and spread. */
#include "shardsched/model/pod_validate.h"

static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

static void check_weight(struct validate *v, int32_t weight)
{
	if (weight < 1 || weight > 100)
		validate_add(v, "weight", FIELD_INVALID, "want 1 to 100");
}

static void check_pod_term(struct validate *v, const struct draft_pod_term *term)
{
	validate_selector(v, "labelSelector", &term->selector);
	validate_selector(v, "namespaceSelector", &term->namespace_selector);
	for (uint32_t i = 0; i < term->namespaces.count; i++)
		validate_text(v, "namespace", text_label(term->namespaces.at[i]));
	if (term->topology_key.len == 0)
		validate_add(v, "topologyKey", FIELD_REQUIRED, "want a key");
	validate_text(v, "topologyKey", text_key(term->topology_key));
}

static void check_pod_terms(struct validate *v, const char *name,
                            const struct draft_pod_terms *terms)
{
	for (uint32_t i = 0; i < terms->count; i++) {
		size_t mark = validate_index(v, name, i), before;

		if (name == preferred) {
			check_weight(v, terms->at[i].weight);
			before = validate_into(v, "podAffinityTerm");
			check_pod_term(v, &terms->at[i]);
			validate_back(v, before);
		} else {
			check_pod_term(v, &terms->at[i]);
		}
		validate_back(v, mark);
	}
}

static void check_node_affinity(struct validate *v, const struct pod_draft *draft)
{
	size_t mark = validate_into(v, "nodeAffinity");

	if (draft->required.set)
		validate_node_selector(v, required, &draft->required);
	for (uint32_t i = 0; i < draft->preferred.count; i++) {
		size_t before = validate_index(v, preferred, i), within;

		check_weight(v, draft->preferred.at[i].weight);
		within = validate_into(v, "preference");
		validate_node_term(v, &draft->preferred.at[i]);
		validate_back(v, within);
		validate_back(v, before);
	}
	validate_back(v, mark);
}

void pod_validate_affinity(struct validate *v, const struct pod_draft *draft)
{
	size_t mark = validate_into(v, "affinity"), before;

	check_node_affinity(v, draft);
	before = validate_into(v, "podAffinity");
	check_pod_terms(v, required, &draft->affinity);
	check_pod_terms(v, preferred, &draft->soft_affinity);
	validate_back(v, before);
	before = validate_into(v, "podAntiAffinity");
	check_pod_terms(v, required, &draft->anti_affinity);
	check_pod_terms(v, preferred, &draft->soft_anti_affinity);
	validate_back(v, before);
	validate_back(v, mark);
}

static void check_min_domains(struct validate *v, const struct draft_spread *spread)
{
	if (!spread->has_min_domains)
		return;
	if (spread->min_domains <= 0)
		validate_add(v, "minDomains", FIELD_INVALID, "want more than 0");
	if (!pl_span_eq(spread->when, PL_SPAN_LIT("DoNotSchedule")))
		validate_add(v, "minDomains", FIELD_INVALID,
		             "want whenUnsatisfiable: DoNotSchedule with it");
}

static bool selects_by(const struct draft_selector *selector, struct pl_span key)
{
	for (uint32_t i = 0; i < selector->labels.count; i++)
		if (pl_span_eq(selector->labels.at[i].key, key))
			return true;
	for (uint32_t i = 0; i < selector->expressions.count; i++)
		if (pl_span_eq(selector->expressions.at[i].key, key))
			return true;
	return false;
}

static void check_match_keys(struct validate *v, const struct draft_spread *spread)
{
	if (spread->match_keys.count > 0 && !spread->selector.set)
		validate_add(v, "matchLabelKeys", FIELD_FORBIDDEN,
		             "want a labelSelector with it");
	for (uint32_t i = 0; i < spread->match_keys.count; i++) {
		struct pl_span key = spread->match_keys.at[i];
		size_t mark = validate_index(v, "matchLabelKeys", i);

		validate_text(v, NULL, text_key(key));
		if (selects_by(&spread->selector, key))
			validate_add(v, NULL, FIELD_INVALID,
			             "want no key that labelSelector has");
		validate_back(v, mark);
	}
}

static void check_policy(struct validate *v, const char *name, struct pl_span policy)
{
	static const char *const words[] = {"Honor", "Ignore", NULL};

	if (policy.len > 0)
		validate_word(v, name, policy, words);
}

static bool is_duplicate_spread(const struct pod_draft *draft, uint32_t at)
{
	const struct draft_spread *one = &draft->spreads[at];

	for (uint32_t i = at + 1; i < draft->spread_count; i++)
		if (pl_span_eq(draft->spreads[i].topology_key, one->topology_key) &&
		    pl_span_eq(draft->spreads[i].when, one->when))
			return true;
	return false;
}

static void check_spread(struct validate *v, const struct pod_draft *draft, uint32_t at)
{
	static const char *const words[] = {"DoNotSchedule", "ScheduleAnyway", NULL};
	const struct draft_spread *spread = &draft->spreads[at];

	if (spread->max_skew <= 0)
		validate_add(v, "maxSkew", FIELD_INVALID, "want more than 0");
	if (spread->topology_key.len == 0)
		validate_add(v, "topologyKey", FIELD_REQUIRED, "want a key");
	validate_word(v, "whenUnsatisfiable", spread->when, words);
	if (is_duplicate_spread(draft, at))
		validate_add(v, "{topologyKey, whenUnsatisfiable}", FIELD_DUPLICATE,
		             "comes twice");
	check_min_domains(v, spread);
	check_policy(v, "nodeAffinityPolicy", spread->affinity_policy);
	check_policy(v, "nodeTaintsPolicy", spread->taints_policy);
	check_match_keys(v, spread);
	validate_selector(v, "labelSelector", &spread->selector);
}

void pod_validate_spreads(struct validate *v, const struct pod_draft *draft)
{
	for (uint32_t i = 0; i < draft->spread_count; i++) {
		size_t mark = validate_index(v, "topologySpreadConstraints", i);

		check_spread(v, draft, i);
		validate_back(v, mark);
	}
}
