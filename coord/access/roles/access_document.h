/*
 * The configuration "access": which users and groups have which role, where; and the
 * limits within which users take turns at the API.
 *
 *	{"bindings":[{"role":"editor","users":["ann"],"groups":["team-a"],
 *	              "namespaces":["a"]},
 *	             {"role":"connector","users":["east"],"clusters":["east"]}],
 *	 "limits":{"inflight_per_user":32}}
 *
 * A plain value that borrows from the arena it was parsed into; immutable. Without a document
 * only the group system:masters may anything: it is admin whatever a document says, so that
 * no document can lock every user out.
 *
 * Invariants:
 *  - A binding with namespaces gives objects in these, and the Namespace object itself to be
 *    read; no object of the cluster's scope, no list over all namespaces, no path.
 *  - A connector's binding gives objects of its clusters, each by its name.
 *  - Users without a credential, and their group, are in no binding.
 *  - A subject is found by binary search: the cost of a decision does not grow with bindings
 *    that are about others.
 */
#ifndef COORD_ACCESS_ROLES_ACCESS_DOCUMENT_H
#define COORD_ACCESS_ROLES_ACCESS_DOCUMENT_H

#include "coord/access/roles/access_rules.h"
#include "store/base/arena.h"
#include "store/base/err.h"
#include "store/base/json.h"
#include "store/base/json_out.h"

enum {
	ACCESS_BINDINGS_MAX = 10000,
	ACCESS_LIST_MAX = 1000, /* users, groups, namespaces or clusters of a binding */
};

struct access_names {
	const struct pl_span *at; /* ascending */
	uint32_t count;
};

struct access_binding {
	enum access_role role;
	struct access_names users, groups;
	struct access_names namespaces; /* count 0: federation-wide */
	struct access_names clusters;   /* of a connector */
};

/* A user or group of a binding. */
struct access_subject {
	struct pl_span name;
	bool is_group;
	uint32_t binding;
};

/* X(field, least, most, default, what it is) */
#define ACCESS_LIMIT_MAP(X)                                                         \
	X(inflight, 1, 100000, 256, "requests that are answered at once")           \
	X(inflight_per_user, 1, 100000, 16, "of these, of one user")                \
	X(queue, 0, 100000, 1024, "requests that wait for their turn")              \
	X(queue_per_user, 0, 100000, 16, "of these, of one user")                   \
	X(queue_ms, 1, 60000, 5000, "a request that has waited so long gets a 429") \
	X(watches, 1, 1000000, 100000, "watches that are open")                     \
	X(watches_per_user, 1, 1000000, 10000, "of these, of one user")

struct access_limits {
#define ACCESS_LIMIT_FIELD(field, least, most, normal, what) uint32_t field;
	ACCESS_LIMIT_MAP(ACCESS_LIMIT_FIELD)
#undef ACCESS_LIMIT_FIELD
};

/* For qsort: users first, then by name, then by binding. */
int access_subject_cmp(const void *a, const void *b);

struct access_document {
	const struct access_binding *bindings; /* in the order of the document */
	uint32_t binding_count;
	const struct access_subject *subjects; /* by kind and name */
	uint32_t subject_count;
	struct access_limits limits;
};

/* No bindings, and the default limits. */
void access_document_default(struct access_document *out);
/* Validates whole: unknown fields are refused, absent ones get their defaults. PL_INVALID
 * or PL_LIMIT names the field's path. */
PL_NODISCARD enum pl_code access_document_parse(struct pl_json json,
                                                struct pl_arena *arena,
                                                struct access_document *out,
                                                struct pl_err *err);
/* Writes the whole document; parsing that gives the same. */
void access_document_print(const struct access_document *document,
                           struct pl_json_out *out);

#endif
