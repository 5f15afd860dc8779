/*
 * Judges anti-affinity, affinity and host ports at the end.
 *
 * Two pods that must not be together break the rule if they were together already when
 * the later one was bound, that is if everything that the rule reads is older than
 * that. For each domain four pods are kept, two of each of two kinds. This makes the
 * answer for a pod beside any others exact without comparing all pairs.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "coord/service/fsck/fsck_int.h"

static struct pl_span state_key(const struct fsck_core *core, uint32_t number,
                                struct keys_text *out)
{
	const struct fsck_bound *bound = &core->rules.bound[number];

	return fsck_key(out, KEYS_STATE, bound->partition,
	                name_table_get(&core->pods, bound->entry));
}

/* The newest revision among the inputs of the pod's rules, without its own placement. */
static int64_t inputs_rev(const struct fsck_core *core, uint32_t number)
{
	const struct fsck_bound *bound = &core->rules.bound[number];
	int64_t node_rev = core->node[bound->node].node_rev;

	return node_rev > bound->spec_rev ? node_rev : bound->spec_rev;
}

static bool is_settled(const struct fsck_core *core, uint32_t number)
{
	return inputs_rev(core, number) < core->rules.bound[number].lo;
}

/* -- domains ----------------------------------------------------------------------- */

static void keep_last(const struct fsck_core *core, struct fsck_domain *domain,
                      uint32_t number)
{
	const struct fsck_bound *bound = core->rules.bound;
	uint32_t *last = domain->last;

	if (last[0] == FSCK_NONE || bound[number].lo > bound[last[0]].lo) {
		last[1] = last[0];
		last[0] = number;
	} else if (last[1] == FSCK_NONE || bound[number].lo > bound[last[1]].lo) {
		last[1] = number;
	}
}

static void keep_least(const struct fsck_core *core, struct fsck_domain *domain,
                       uint32_t number)
{
	int64_t rev = inputs_rev(core, number);
	uint32_t *least = domain->least;

	if (least[0] == FSCK_NONE || rev < inputs_rev(core, least[0])) {
		least[1] = least[0];
		least[0] = number;
	} else if (least[1] == FSCK_NONE || rev < inputs_rev(core, least[1])) {
		least[1] = number;
	}
}

static void add_pod(struct fsck_core *core, uint32_t number, uint32_t key)
{
	uint32_t at = fsck_domain_of(core, core->rules.bound[number].node, key);
	struct fsck_domain *domain;

	if (at == 0)
		return;
	domain = fsck_domain(core, at);
	if (domain->number == 0)
		*domain = (struct fsck_domain){.number = at,
		                               .last = {FSCK_NONE, FSCK_NONE},
		                               .least = {FSCK_NONE, FSCK_NONE}};
	domain->pods++;
	if (is_settled(core, number))
		keep_last(core, domain, number);
	keep_least(core, domain, number);
}

/* Sorts the pods that were found into the domains of a topology key. */
static bool make_domains(struct fsck_core *core, uint32_t key)
{
	const struct fsck_rules *rules = &core->rules;

	if (!fsck_domains_clear(core, fsck_found_pods(core)))
		return false;
	for (uint32_t i = 0; i < rules->finder.founds; i++) {
		const struct fsck_labelset *labelset =
			&rules->labelset[rules->finder.found[i]];

		for (uint32_t n = 0; n < labelset->pods; n++)
			add_pod(core, rules->by_labelset[labelset->first + n], key);
	}
	return true;
}

/* -- anti-affinity ----------------------------------------------------------------- */

static uint32_t other_than(const uint32_t two[2], uint32_t number)
{
	return two[0] == number ? two[1] : two[0];
}

/* A pod that this pod clashed with when the later of the two was bound; FSCK_NONE:
 * none. */
static uint32_t find_clash(const struct fsck_core *core, const struct fsck_domain *domain,
                           uint32_t number)
{
	const struct fsck_bound *bound = core->rules.bound;
	uint32_t other = other_than(domain->last, number);

	if (other != FSCK_NONE && inputs_rev(core, number) < bound[other].lo)
		return other;
	other = other_than(domain->least, number);
	if (other != FSCK_NONE && is_settled(core, number) &&
	    inputs_rev(core, other) < bound[number].lo)
		return other;
	return FSCK_NONE;
}

/* The labels of some namespace were changed after both were bound: they may have been far
 * from each other then. */
static bool is_older(const struct fsck_core *core, const struct pod_term *term,
                     uint32_t number, uint32_t other)
{
	const struct fsck_bound *bound = core->rules.bound;

	return term->namespace_selector->flags == 0 &&
	       !selector_is_everything(term->namespace_selector) &&
	       bound[number].lo < core->labels_rev && bound[other].lo < core->labels_rev;
}

static void judge_anti_affinity_pod(struct fsck_core *core, const struct pod_term *term,
                                    uint32_t number, uint32_t stamp)
{
	const struct fsck_bound *bound = &core->rules.bound[number];
	uint32_t at = fsck_domain_of(core, bound->node, term->topology_key), other;
	struct pl_span key = model_text(&core->model, term->topology_key);
	struct pl_span value = fsck_domain_text(core, bound->node, term->topology_key);
	const struct fsck_domain *domain;
	struct keys_text text, with;
	bool itself = core->rules.labelset[bound->labelset].stamp == stamp;

	if (at == 0)
		return;
	domain = fsck_domain(core, at);
	if (domain->pods <= itself)
		return;
	other = find_clash(core, domain, number);
	if (other != FSCK_NONE && !is_older(core, term, number, other))
		fsck_report(core, FSCK_RULES_APART, state_key(core, number, &text),
		            state_key(core, other, &with),
		            "both are in " PL_SPAN_FMT " " PL_SPAN_FMT
		            ", and it keeps the other away",
		            PL_SPAN_ARG(key), PL_SPAN_ARG(value));
	else
		fsck_report(core, FSCK_RULES_APART_SINCE, state_key(core, number, &text),
		            state_key(core, other_than(domain->least, number), &with),
		            "both are in " PL_SPAN_FMT " " PL_SPAN_FMT
		            " since a Node, a pod or a namespace was changed",
		            PL_SPAN_ARG(key), PL_SPAN_ARG(value));
}

static void judge_anti_affinity(struct fsck_core *core, uint32_t number)
{
	const struct fsck_rule *rule = &core->rules.rule[number];
	const struct spec_term *row = &spec_anti_affinity(rule->spec)[rule->at];

	fsck_find_terms(core, row, 1, number + 1);
	if (!make_domains(core, row->term->topology_key))
		return;
	for (uint32_t i = 0; i < rule->pods; i++)
		judge_anti_affinity_pod(core, row->term,
		                        core->rules.by_rule[rule->first + i], number + 1);
}

/* -- affinity ---------------------------------------------------------------------- */

static void judge_affinity_pod(struct fsck_core *core, const struct pod_term *term,
                               uint32_t number)
{
	const struct fsck_bound *bound = &core->rules.bound[number];
	uint32_t at = fsck_domain_of(core, bound->node, term->topology_key);
	struct keys_text text, node;

	if (bound->leaving || (at != 0 && fsck_domain(core, at)->pods > 0))
		return;
	fsck_report(core, FSCK_RULES_AFFINITY, state_key(core, number, &text),
	            fsck_key(&node, KEYS_NODE, core->node[bound->node].partition,
	                     name_table_get(&core->nodes, bound->node)),
	            "no pod that it wants to be near is in its " PL_SPAN_FMT " now",
	            PL_SPAN_ARG(model_text(&core->model, term->topology_key)));
}

/* A pod that is wanted matches all of the terms, each over the key of its own. */
static void judge_affinity(struct fsck_core *core, uint32_t number)
{
	const struct fsck_rule *rule = &core->rules.rule[number];
	const struct spec_term *row = spec_affinity(rule->spec);
	uint32_t count = rule->spec->template->affinity.count;

	fsck_find_terms(core, row, count, number + 1);
	for (uint32_t n = 0; n < count; n++) {
		if (!make_domains(core, row[n].term->topology_key))
			return;
		for (uint32_t i = 0; i < rule->pods; i++)
			judge_affinity_pod(core, row[n].term,
			                   core->rules.by_rule[rule->first + i]);
	}
}

void fsck_judge_rule(struct fsck_core *core, uint32_t number)
{
	switch (core->rules.rule[number].kind) {
	case RULE_ANTI_AFFINITY:
		judge_anti_affinity(core, number);
		return;
	case RULE_AFFINITY:
		judge_affinity(core, number);
		return;
	case RULE_SPREAD:
		fsck_judge_spread(core, number);
		return;
	}
	PL_UNREACHABLE("kind of rule");
}

/* -- host ports -------------------------------------------------------------------- */

static int port_cmp(const void *a, const void *b)
{
	const struct fsck_host_port *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	if (x->protocol != y->protocol)
		return x->protocol < y->protocol ? -1 : 1;
	return x->bound < y->bound ? -1 : x->bound > y->bound;
}

static bool is_same_port(const struct fsck_host_port *a, const struct fsck_host_port *b)
{
	return a->node == b->node && a->port == b->port && a->protocol == b->protocol;
}

static bool ports_clash(const struct fsck_host_port *a, const struct fsck_host_port *b,
                        uint32_t everywhere)
{
	return a->bound != b->bound &&
	       (a->ip == b->ip || a->ip == everywhere || b->ip == everywhere);
}

static void judge_port(struct fsck_core *core, const struct fsck_host_port *first,
                       const struct fsck_host_port *port, uint32_t everywhere)
{
	struct keys_text text, other;

	while (first < port && !ports_clash(first, port, everywhere))
		first++;
	if (first == port)
		return;
	fsck_report(core, FSCK_RULES_PORTS, state_key(core, port->bound, &text),
	            state_key(core, first->bound, &other), "both have host port %u",
	            (unsigned)port->port);
}

void fsck_judge_ports(struct fsck_core *core)
{
	struct fsck_rules *rules = &core->rules;
	uint32_t first = 0;
	uint32_t everywhere = strings_find(&core->model.strings, PL_SPAN_LIT("0.0.0.0"));

	if (rules->ports > 1)
		qsort(rules->port, rules->ports, sizeof *rules->port, port_cmp);
	for (uint32_t i = 1; i < rules->ports; i++) {
		if (!is_same_port(&rules->port[first], &rules->port[i]))
			first = i;
		else
			judge_port(core, &rules->port[first], &rules->port[i],
			           everywhere);
	}
}
