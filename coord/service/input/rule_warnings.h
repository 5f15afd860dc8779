/*
 * Rule warnings: rules of submitted pods that are valid and yet mean nothing, each named
 * once with the object in which it was first found.
 *
 *	rule_warnings_add       for each object: impossible rules are known at once,
 *	                        topology keys are kept until nodes were looked at
 *	rule_warnings_wants_nodes, rule_warnings_node
 *	                        for one node after another, until no key is left to find
 *	rule_warnings_each      what was not found is a warning
 *
 * Bounded: RULE_WARNINGS_MAX of each kind are kept, more are counted. Keys are looked for
 * on RULE_WARNINGS_NODES_MAX nodes: where there are more, and a key is on none of these,
 * it is not known whether any node carries it, and nothing is said.
 */
#ifndef COORD_SERVICE_INPUT_RULE_WARNINGS_H
#define COORD_SERVICE_INPUT_RULE_WARNINGS_H

#include "coord/service/input/object_source.h"
#include "shardsched/model/spec_rules.h"

enum {
	RULE_WARNINGS_MAX = 20,
	RULE_WARNINGS_NODES_MAX = 50000,
	RULE_WARNINGS_KEY_SIZE = 320, /* a domain, a slash, a name; with a NUL */
	RULE_WARNING_TEXT_SIZE = SPEC_RULE_TEXT_SIZE + 16,
};

struct rule_warning {
	char text[RULE_WARNING_TEXT_SIZE];
	const char *file;     /* where it was found first, */
	unsigned long number; /* in which object */
	uint64_t count;       /* of objects that have it */
};

/* A topology key whose label was found on no node yet. */
struct rule_topology_key {
	struct rule_warning warning; /* if it is found on none */
	char key[RULE_WARNINGS_KEY_SIZE];
	bool found;
};

struct rule_warnings {
	struct rule_warning impossible[RULE_WARNINGS_MAX];
	struct rule_topology_key topology[RULE_WARNINGS_MAX];
	unsigned impossibles, topologies;
	uint64_t more;  /* impossible rules that are not kept */
	uint64_t nodes; /* looked at */
};

void rule_warnings_clear(struct rule_warnings *warnings);
/* The rules of the object's pods, which share the spec. in_template: the object has their
 * spec in spec.template. */
void rule_warnings_add(struct rule_warnings *warnings, const struct model *model,
                       const struct spec *spec, const struct input_object *object,
                       bool in_template);

/* Some key is left to find, and more nodes may be looked at. */
bool rule_warnings_wants_nodes(const struct rule_warnings *warnings);
/* json: a Node; what is no JSON carries no label. */
void rule_warnings_node(struct rule_warnings *warnings, struct pl_span json);

/* Calls fn for each warning. all: every node was looked at; else topology keys that were
 * not found are no warnings, nor are they where there is no node. */
typedef void rule_warning_fn(void *ctx, const struct rule_warning *warning);
void rule_warnings_each(const struct rule_warnings *warnings, bool all,
                        rule_warning_fn *fn, void *ctx);

#endif
