/*
 * The names that may stand in keys, with Kubernetes' rules (RFC 1123).
 *
 * label:     a-z, 0-9 and -, begins and ends with a letter or digit, at most 63
 * subdomain: labels with dots between them, at most 253 in all (63 for a cluster
 *            and for a configuration, so that "connector.<cluster>" is a role)
 */
#ifndef STORE_KEYS_NAMES_H
#define STORE_KEYS_NAMES_H

#include "store/base/err.h"
#include "store/base/span.h"

enum names_kind {
	NAMES_CLUSTER,
	NAMES_NODE,
	NAMES_NAMESPACE, /* a label; all others are subdomains */
	NAMES_POD,
	NAMES_TERM, /* not "registry" */
	NAMES_SHARD,
	NAMES_CONFIG,
	NAMES_ROLE,
	NAMES_PIN,
	NAMES_GANG,
	NAMES_BUDGET,
	NAMES_CONTROLLER,
	NAMES_GROUP,    /* of an API; at most 32, as */
	NAMES_RESOURCE, /* this, a label */
	NAMES_OBJECT,
	NAMES_TOKEN, /* a label */
	NAMES_KIND_COUNT,
};

/* PL_INVALID with a message such as "namespace 'a.b': want only a-z, 0-9 and -". */
PL_NODISCARD enum pl_code names_check(enum names_kind kind, struct pl_span name,
                                      struct pl_err *err);

const char *names_kind_name(enum names_kind kind);

#endif
