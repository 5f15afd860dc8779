#include "shardsched/gang/gang_int.h"

enum { DOMAIN_MILLION = 1000000 };

static struct gang_domain *domain_array(const struct gang *gang)
{
	return gang->domains.at;
}

/* Domains are judged by the groups that take most room. */
static void choose_groups(struct gang *gang)
{
	gang_measure(gang);
	for (uint32_t n = 0; n < GANG_SURVEYED; n++) {
		struct gang_group *most = NULL;

		for (uint32_t i = 0; i < gang->group_count; i++) {
			struct gang_group *group = &gang_groups(gang)[i];

			if (group->surveyed)
				continue;
			if (most == NULL ||
			    group->count * group->size > most->count * most->size)
				most = group;
		}
		if (most == NULL)
			return;
		most->surveyed = true;
	}
}

/* Counts how many members of a group fit on each node, by domain. */
static void count_room(struct gang *gang, const struct gang_group *group,
                       struct pl_bitset feasible)
{
	static const struct request_sum nothing_reclaimed;
	const struct snapshot *snapshot = gang->snapshot;
	int fit = resource_request_plugin(group->class->profile);
	struct resource_request request;

	resource_request_init(&request, snapshot, group->class, fit);
	PL_BITSET_EACH (slot, fw_class_nodes(group->class, snapshot)) {
		struct gang_domain *domain =
			&domain_array(gang)[gang->column->value[slot]];
		struct free_amounts free;
		uint64_t times = group->count;

		if (fit >= 0) {
			resource_request_available(&request, snapshot, (uint32_t)slot,
			                           &nothing_reclaimed, &free);
			times = request.impossible
			                ? 0
			                : (uint64_t)resource_request_copies(
						  &request, &free, group->count);
		}
		domain->fit_any += times;
		if (slot < feasible.bits && pl_bitset_has(feasible, slot))
			domain->fit_feasible += times;
	}
}

static bool survey_group(struct gang *gang, struct gang_group *group)
{
	struct pl_bitset feasible = cycle_feasible(gang->cycle);

	if (group->surveyed)
		count_room(gang, group,
		           group->feasible > 0
		                   ? feasible
		                   : fw_class_nodes(group->class, gang->snapshot));
	for (uint32_t i = 1; i < gang->column->domains_end; i++) {
		struct gang_domain *domain = &domain_array(gang)[i];

		if (!group->surveyed) {
			domain->most += group->count;
			continue;
		}
		domain->most +=
			domain->fit_any < group->count ? domain->fit_any : group->count;
		domain->load += domain->fit_feasible == 0
		                        ? DOMAIN_MILLION * (uint64_t)group->count
		                        : DOMAIN_MILLION * (uint64_t)group->count /
		                                  domain->fit_feasible;
		domain->fit_any = 0;
		domain->fit_feasible = 0;
	}
	return true;
}

static bool survey_all(struct gang *gang)
{
	size_t count = gang->column->domains_end;

	if (!scratch_grow(&gang->domains, count + 1, sizeof(struct gang_domain)))
		return gang_fail(gang, PL_NOMEM, "domains of a gang: out of memory");
	memset(gang->domains.at, 0, (count + 1) * sizeof(struct gang_domain));
	choose_groups(gang);
	return gang_run_groups(gang, survey_group);
}

static uint32_t domain_text(const struct gang *gang, uint32_t domain)
{
	return gang->column->domain[domain].text;
}

/* tight: of the domains that hold all, the one with the least room left is better; else
 * the one with most room. */
static bool is_better(const struct gang *gang, bool tight, uint32_t a, uint32_t b)
{
	const struct gang_domain *one = &domain_array(gang)[a],
				 *two = &domain_array(gang)[b];
	const struct model *model = gang->snapshot->model;
	bool one_can = one->most >= gang->need, two_can = two->most >= gang->need;
	bool one_all = one->load <= DOMAIN_MILLION, two_all = two->load <= DOMAIN_MILLION;

	if (one_can != two_can)
		return one_can;
	if (tight && one_all && two_all && one->load != two->load)
		return one->load > two->load;
	if (one->load != two->load)
		return one->load < two->load;
	return pl_span_cmp(model_text(model, domain_text(gang, a)),
	                   model_text(model, domain_text(gang, b))) < 0;
}

/* 0: all domains have been tried. */
static uint32_t next_domain(struct gang *gang, bool tight)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < gang->column->domains_end; i++) {
		if (gang->column->domain[i].nodes == 0 || domain_array(gang)[i].tried)
			continue;
		if (best == 0 || is_better(gang, tight, i, best))
			best = i;
	}
	if (best != 0)
		domain_array(gang)[best].tried = true;
	return best;
}

static bool try_domain(struct gang *gang, uint32_t domain, bool (*holds)(struct gang *))
{
	const struct snapshot *snapshot = gang->snapshot;
	uint32_t capacity = snapshot->capacity;
	struct pl_bitset only;
	bool held;

	if (!scratch_grow(&gang->words, pl_bitset_words(capacity), sizeof(uint64_t)))
		return gang_fail(gang, PL_NOMEM, "nodes of a domain: out of memory");
	only = pl_bitset_init(gang->words.at, capacity);
	for (uint32_t i = 0; i < snapshot->slots; i++)
		if (gang->column->value[i] == domain)
			pl_bitset_add(only, i);
	gang->out->domain = domain_text(gang, domain);
	cycle_restrict_nodes(gang->cycle, only);
	held = holds(gang);
	cycle_restrict_nodes(gang->cycle, (struct pl_bitset){0});
	return held;
}

static bool try_best(struct gang *gang, bool (*holds)(struct gang *))
{
	uint32_t most = gang->opts->domains_max, domain;

	most = most == 0 ? GANG_DOMAINS : most;
	most = most > GANG_DOMAINS_MOST ? GANG_DOMAINS_MOST : most;
	if (!survey_all(gang))
		return false;
	for (uint32_t i = 0; i < most && !gang_has_stopped(gang); i++) {
		domain = next_domain(gang, i % 2 == 0);
		/* One domain is tried in any case, to find out what is missing. */
		if (domain == 0 ||
		    (i > 0 && domain_array(gang)[domain].most < gang->need))
			return false;
		if (try_domain(gang, domain, holds))
			return true;
	}
	return false;
}

bool gang_try_domains(struct gang *gang, bool (*holds)(struct gang *gang))
{
	enum pl_code code = label_column_open_domains(gang->snapshot, gang->topology_key,
	                                              &gang->column, gang->err);
	uint32_t fixed;
	bool held = false;

	if (code != PL_OK)
		return gang_fail(gang, code, NULL);
	gang->out->domains = gang->column->domains;
	fixed = gang->opts->present_node == 0
	                ? 0
	                : gang->column->value[gang->opts->present_node - 1];
	if (fixed != 0)
		held = try_domain(gang, fixed, holds);
	else if (gang->opts->present_node == 0)
		held = try_best(gang, holds);
	label_column_close(gang->snapshot, gang->column);
	return held;
}
