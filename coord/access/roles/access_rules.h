/*
 * The five roles, as a table of rules that says everything a role may. Pure.
 *
 *	viewer     reads everything but tokens
 *	editor     viewer, and writes what workloads consist of
 *	operator   editor, and runs the federation: nodes, shards, storage, configurations
 *	           but the one of access, /metrics, /debug
 *	admin      everything: tokens, the configuration of access, impersonation
 *	connector  status of nodes and pods, and bindings, of its clusters
 *
 * Words of a rule are separated by blanks. "*" among verbs, groups or resources is every one;
 * a resource is "pods", "pods/eviction", or star-slash-status for that subresource of every
 * resource; "*" has no subresources.
 *
 * Invariants: only admin's rules write tokens or the configuration of access, or impersonate,
 * so no other role can be used to get more than it gives; a binding gives one of these roles
 * and nothing else, so there is no rule to be written by anybody.
 */
#ifndef COORD_ACCESS_ROLES_ACCESS_RULES_H
#define COORD_ACCESS_ROLES_ACCESS_RULES_H

#include "coord/access/base/attributes.h"

enum access_role {
	ACCESS_VIEWER,
	ACCESS_EDITOR,
	ACCESS_OPERATOR,
	ACCESS_ADMIN,
	ACCESS_CONNECTOR,
	ACCESS_ROLE_COUNT
};

struct access_rule {
	const char *verbs;
	const char *groups; /* "core" is the group without a name */
	const char *resources;
	/* Not of these, "resource.group" each; only where resources has a "*". NULL: none */
	const char *except;
	/* Only of objects of these names; a request that names none (a list, a
	 * deletecollection) is not given. NULL: any */
	const char *only;
	/* Instead of all of these but verbs; a star at a path's end is whatever follows. */
	const char *paths;
};

const char *access_role_text(enum access_role role);
/* False: there is no such role. */
bool access_role_parse(struct pl_span text, enum access_role *out);

/* The rules of a role itself, without those of the roles that it includes; the last
 * row has no verbs (NULL) and ends the table. */
const struct access_rule *access_role_rules(enum access_role role);
/* The role that the role includes, ACCESS_ROLE_COUNT: none. */
enum access_role access_role_includes(enum access_role role);
/* The rights of every authenticated user: discovery, and questions about itself. */
const struct access_rule *access_basic_rules(void);

/* Whether the rule gives what is asked, whatever the namespace or cluster. */
bool access_rule_gives(const struct access_rule *rule,
                       const struct access_attributes *asked);
/* Whether a rule of the list gives what is asked, whatever the namespace or cluster. */
bool access_rules_give(const struct access_rule *rules,
                       const struct access_attributes *asked);
/* The same with the rules of included roles. */
bool access_role_gives(enum access_role role, const struct access_attributes *asked);

/* Takes the first word from *words; empty: there is none left. */
struct pl_span access_word_next(const char **words);

#endif
