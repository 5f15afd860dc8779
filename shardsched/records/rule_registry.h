/*
 * A rule registry: the rule terms (rule_term.h) that are known in a namespace. It is the
 * value of /groups/<namespace>/registry; terms that look beyond the namespace of their
 * carriers are in /groups/registry.
 *
 *	{"v":1,"terms":{"spread-0f3a...":{"kind":"spread","pod":{"metadata":{"namespace":
 *	 "web"},"spec":{"topologySpreadConstraints":[...]}}}}}
 *
 * Invariant: a term is registered before the first pod that carries it is placed, so a
 * writer that compares the registry can not have missed one. Terms are ordered by id,
 * without duplicates.
 *
 * A plain value; spans are borrowed.
 */
#ifndef SHARDSCHED_RECORDS_RULE_REGISTRY_H
#define SHARDSCHED_RECORDS_RULE_REGISTRY_H

#include "shardsched/records/rule_term.h"

enum { RULE_REGISTRY_TERMS_MAX = 8192, RULE_REGISTRY_BYTES_MAX = 1 << 20 };

struct rule_registry_term {
	struct pl_span id;
	enum rule_kind kind;
	struct pl_span pod; /* JSON */
};

struct rule_registry {
	const struct rule_registry_term *term;
	uint32_t terms;
};

/* Adds the value, or nothing. Asserts the order. PL_INVALID: an id that no term can have;
 * PL_LIMIT: beyond a bound above, or the buffer's; PL_NOMEM. */
PL_NODISCARD enum pl_code rule_registry_print(const struct rule_registry *registry,
                                              struct pl_buf *out, struct pl_err *err);
/* PL_INVALID, PL_LIMIT with the path and the reason; PL_NOMEM. A term's pod is checked to
 * be an object, and not read. */
PL_NODISCARD enum pl_code rule_registry_parse(struct pl_span value,
                                              struct pl_arena *arena,
                                              struct rule_registry *out,
                                              struct pl_err *err);

#endif
