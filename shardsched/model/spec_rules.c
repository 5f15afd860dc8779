#include "shardsched/model/spec_rules.h"

#include <stdio.h>

static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

struct rule_walk {
	const struct strings *strings;
	spec_rule_fn *fn;
	void *ctx;
};

/* -- rules about nodes ------------------------------------------------------ */

static bool node_term_is_impossible(const struct strings *strings,
                                    const struct node_term *term)
{
	return node_term_is_empty(term) ||
	       selector_is_impossible(strings, term->labels) ||
	       selector_fields_are_impossible(term->fields);
}

/* Required terms are alternatives: the rule is impossible when all of them are. */
static void walk_required_nodes(const struct rule_walk *walk,
                                const struct node_selector *selector)
{
	struct spec_rule rule = {.kind = SPEC_RULE_NODES, .impossible = true};

	for (uint64_t i = 0; i < selector->count; i++)
		rule.impossible =
			rule.impossible &&
			node_term_is_impossible(walk->strings, &selector->term[i]);
	(void)snprintf(rule.path, sizeof rule.path, "spec.affinity.nodeAffinity.%s",
	               required);
	walk->fn(walk->ctx, &rule);
}

static void walk_preferred_nodes(const struct rule_walk *walk,
                                 const struct node_selector *selector)
{
	for (uint64_t i = 0; i < selector->count; i++) {
		struct spec_rule rule = {.kind = SPEC_RULE_NODES};

		rule.impossible =
			node_term_is_impossible(walk->strings, &selector->term[i]);
		(void)snprintf(rule.path, sizeof rule.path,
		               "spec.affinity.nodeAffinity.%s[%u].preference", preferred,
		               (unsigned)i);
		walk->fn(walk->ctx, &rule);
	}
}

/* -- rules about pods ------------------------------------------------------- */

/* A null namespace selector selects nothing, and mostly the term names namespaces. */
static bool term_sees_no_namespace(const struct strings *strings,
                                   const struct pod_term *term)
{
	return term->count == 0 &&
	       selector_is_impossible(strings, term->namespace_selector);
}

static void walk_terms(const struct rule_walk *walk, const char *field, bool soft,
                       const struct spec_term *terms, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct pod_term *term = terms[i].term;
		struct spec_rule rule = {.kind = SPEC_RULE_PODS,
		                         .topology_key = term->topology_key};

		rule.missing = (term->selector->flags & SELECTOR_NOTHING) != 0;
		rule.impossible = selector_is_impossible(walk->strings, term->selector) ||
		                  term_sees_no_namespace(walk->strings, term);
		(void)snprintf(rule.path, sizeof rule.path, "spec.affinity.%s.%s[%u]%s",
		               field, soft ? preferred : required, (unsigned)i,
		               soft ? ".podAffinityTerm" : "");
		walk->fn(walk->ctx, &rule);
	}
}

static void walk_spreads(const struct rule_walk *walk, const struct spec *spec)
{
	const struct spec_spread *spreads = spec_spreads(spec);

	for (uint32_t i = 0; i < spec->template->spreads.count; i++) {
		const struct selector *selector = spreads[i].selector;
		struct spec_rule rule = {.kind = SPEC_RULE_PODS,
		                         .topology_key = spreads[i].topology_key};

		rule.missing = (selector->flags & SELECTOR_NOTHING) != 0;
		rule.impossible = selector_is_impossible(walk->strings, selector);
		(void)snprintf(rule.path, sizeof rule.path,
		               "spec.topologySpreadConstraints[%u]", (unsigned)i);
		walk->fn(walk->ctx, &rule);
	}
}

void spec_rules_each(const struct model *model, const struct spec *spec, spec_rule_fn *fn,
                     void *ctx)
{
	const struct rule_walk walk = {.strings = &model->strings, .fn = fn, .ctx = ctx};
	const struct pod_template *template = spec->template;

	if (template->required != NULL)
		walk_required_nodes(&walk, template->required);
	if (template->preferred != NULL)
		walk_preferred_nodes(&walk, template->preferred);
	walk_terms(&walk, "podAffinity", false, spec_affinity(spec),
	           template->affinity.count);
	walk_terms(&walk, "podAffinity", true, spec_soft_affinity(spec),
	           template->soft_affinity.count);
	walk_terms(&walk, "podAntiAffinity", false, spec_anti_affinity(spec),
	           template->anti_affinity.count);
	walk_terms(&walk, "podAntiAffinity", true, spec_soft_anti_affinity(spec),
	           template->soft_anti_affinity.count);
	walk_spreads(&walk, spec);
}

/* -- as sentences ----------------------------------------------------------- */

void spec_rule_impossible_text(const struct spec_rule *rule,
                               char out[SPEC_RULE_TEXT_SIZE])
{
	PL_ASSERT(rule->impossible);
	if (rule->kind == SPEC_RULE_NODES)
		(void)snprintf(out, SPEC_RULE_TEXT_SIZE, "%s: it can match no node",
		               rule->path);
	else
		(void)snprintf(out, SPEC_RULE_TEXT_SIZE, "%s%s: %s", rule->path,
		               rule->missing ? ".labelSelector" : "",
		               rule->missing ? "it is missing, and so matches no pod"
		                             : "it can match no pod");
}

void spec_rule_topology_text(const char *path, struct pl_span topology_key,
                             char out[SPEC_RULE_TEXT_SIZE])
{
	(void)snprintf(out, SPEC_RULE_TEXT_SIZE,
	               "%s.topologyKey: no node has the label " PL_SPAN_FMT, path,
	               PL_SPAN_ARG(topology_key));
}
