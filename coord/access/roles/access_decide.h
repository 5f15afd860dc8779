/*
 * The decision: whether an identity may do what it asks for, by the bindings of a document.
 * Pure.
 *
 *	not authenticated --> no
 *	in system:masters --> yes
 *	what every user may (discovery, reviews of the sender) --> yes
 *	a binding of its user or of one of its groups that reaches there, and whose role gives
 *	what is asked --> yes
 *	else no
 *
 * There are no refusals to be written, so the order of bindings means nothing.
 */
#ifndef COORD_ACCESS_ROLES_ACCESS_DECIDE_H
#define COORD_ACCESS_ROLES_ACCESS_DECIDE_H

#include "coord/access/base/identity.h"
#include "coord/access/roles/access_document.h"

enum access_grant_kind {
	ACCESS_BY_NOTHING,
	ACCESS_BY_MASTERS,
	ACCESS_BY_BASICS,
	ACCESS_BY_BINDING
};

/* Why something is allowed. */
struct access_grant {
	enum access_grant_kind kind;
	uint32_t binding; /* BY_BINDING */
};

/* grant may be NULL. */
bool access_allows(const struct access_document *document,
                   const struct identity *identity, const struct access_attributes *asked,
                   struct access_grant *grant);
/* Whether a binding makes the identity a connector of some clusters. */
bool access_is_connector(const struct access_document *document,
                         const struct identity *identity);
/* A sentence: "binding 3: editor in namespace shop". NULL: no memory. */
const char *access_grant_text(const struct access_document *document,
                              const struct access_grant *grant, struct pl_arena *arena);

/* Calls each with all rules that the identity has in the namespace (empty: everywhere), with
 * the rules of included roles. binding NULL: not by a binding. */
typedef void access_rule_fn(void *ctx, const struct access_rule *rule,
                            const struct access_binding *binding);
void access_rules_of(const struct access_document *document,
                     const struct identity *identity, struct pl_span namespace,
                     access_rule_fn *each, void *ctx);

#endif
