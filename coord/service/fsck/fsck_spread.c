/*
 * Judges spreading at the end: whether pods are spread now as they want it. Pods that
 * ended since the commit, or nodes that came, may have made it so, and what held at
 * the commit can not be seen any more. So each rule gives at most one condition, for
 * its worst domain.
 */
#include <inttypes.h>

#include "coord/service/fsck/fsck_int.h"

struct spread_tally {
	struct fsck_core *core;
	const struct fsck_rule *rule;
	const struct spec_spread *row;
	uint32_t most; /* most pods in a domain that has a carrier */
	uint32_t pod;  /* a carrier in that domain */
};

static bool is_counted(const struct spread_tally *tally, uint32_t node)
{
	const struct fsck_rules *rules = &tally->core->rules;

	return node < rules->valued &&
	       (rules->counted[node] >> tally->rule->scope & 1) != 0;
}

static void add_pod(struct spread_tally *tally, const struct fsck_bound *bound)
{
	struct fsck_domain *domain;
	uint32_t at;

	if (bound->leaving || !is_counted(tally, bound->node))
		return;
	at = fsck_domain_of(tally->core, bound->node, tally->row->topology_key);
	domain = fsck_domain(tally->core, at);
	domain->number = at;
	domain->pods++;
}

static void add_pods(struct spread_tally *tally)
{
	const struct fsck_rules *rules = &tally->core->rules;

	for (uint32_t i = 0; i < rules->finder.founds; i++) {
		const struct fsck_labelset *labelset =
			&rules->labelset[rules->finder.found[i]];

		for (uint32_t n = 0; n < labelset->pods; n++)
			add_pod(tally,
			        &rules->bound[rules->by_labelset[labelset->first + n]]);
	}
}

static void find_worst(struct spread_tally *tally)
{
	struct fsck_core *core = tally->core;
	const struct fsck_rules *rules = &core->rules;

	for (uint32_t i = 0; i < tally->rule->pods; i++) {
		uint32_t number = rules->by_rule[tally->rule->first + i];
		const struct fsck_bound *bound = &rules->bound[number];
		uint32_t at, pods;

		if (bound->leaving || !is_counted(tally, bound->node))
			continue;
		at = fsck_domain_of(core, bound->node, tally->row->topology_key);
		pods = fsck_domain(core, at)->pods;
		if (pods <= tally->most)
			continue;
		tally->most = pods;
		tally->pod = number;
	}
}

/* The number of domains, with or without pods. */
static uint32_t domains_of(struct fsck_core *core, uint32_t scope, uint32_t key)
{
	struct fsck_rules *rules = &core->rules;
	uint32_t *known = &rules->domains[scope][fsck_key_number(rules, key)], count = 0;

	if (*known > 0)
		return *known - 1;
	if (!fsck_domains_clear(core, rules->valued))
		return 0;
	for (uint32_t node = 0; node < rules->valued; node++) {
		struct fsck_domain *domain;

		if ((rules->counted[node] >> scope & 1) == 0)
			continue;
		domain = fsck_domain(core, fsck_domain_of(core, node, key));
		count += domain->number == 0;
		domain->number = fsck_domain_of(core, node, key);
	}
	*known = count + 1;
	return count;
}

static uint32_t least_of(const struct fsck_finder *finder, uint32_t domains)
{
	uint32_t least = UINT32_MAX, seen = 0;

	for (uint32_t i = 0; i < finder->domains; i++) {
		if (finder->domain[i].pods == 0)
			continue;
		seen++;
		if (finder->domain[i].pods < least)
			least = finder->domain[i].pods;
	}
	return seen < domains ? 0 : least;
}

static void report_skew(const struct spread_tally *tally, uint32_t least)
{
	const struct fsck_core *core = tally->core;
	const struct fsck_bound *bound = &core->rules.bound[tally->pod];
	struct keys_text text;

	fsck_report(tally->core, FSCK_RULES_SPREAD,
	            fsck_key(&text, KEYS_STATE, bound->partition,
	                     name_table_get(&core->pods, bound->entry)),
	            (struct pl_span){0},
	            "%" PRIu32 " in its " PL_SPAN_FMT " " PL_SPAN_FMT ", %" PRIu32
	            " where they are fewest: more than %" PRId32 " apart now",
	            tally->most,
	            PL_SPAN_ARG(model_text(&core->model, tally->row->topology_key)),
	            PL_SPAN_ARG(fsck_domain_text(core, bound->node,
	                                         tally->row->topology_key)),
	            least, tally->row->max_skew);
}

void fsck_judge_spread(struct fsck_core *core, uint32_t number)
{
	const struct fsck_rule *rule = &core->rules.rule[number];
	struct spread_tally tally = {
		.core = core, .rule = rule, .row = &spec_spreads(rule->spec)[rule->at]};
	uint32_t domains = domains_of(core, rule->scope, tally.row->topology_key), least;

	if (core->code != PL_OK)
		return;
	fsck_find_spread(core, rule->spec->namespace, tally.row->selector, number + 1);
	if (!fsck_domains_clear(core, fsck_found_pods(core)))
		return;
	add_pods(&tally);
	find_worst(&tally);
	least = least_of(&core->rules.finder, domains);
	/* With fewer domains than minDomains the least count is taken as 0. */
	if (tally.row->min_domains > 0 && domains < (uint32_t)tally.row->min_domains)
		least = 0;
	if (tally.most > 0 && (int64_t)tally.most - least > (int64_t)tally.row->max_skew)
		report_skew(&tally, least);
}
