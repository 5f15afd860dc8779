/*
 * Which terms (group.h) are known: the value of /groups/<namespace>/registry, and of
 * /groups/registry for those that look beyond the namespace of their carriers.
 *
 *	{"v":1,"terms":{"spread-0f3a...":{"kind":"spread","pod":{"metadata":{"namespace":
 *	 "web"},"spec":{"topologySpreadConstraints":[...]}}}}}
 *
 * A term is in it before the first pod that carries it is placed, so whoever compares
 * the registry can not have missed one. Terms come in order, each once.
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

/* Adds the value, or nothing. Asserts the order. PL_INVALID: no name of a term; PL_LIMIT:
 * over a bound above, or of the buffer; PL_NOMEM. */
PL_NODISCARD enum pl_code rule_registry_print(const struct rule_registry *registry,
                                              struct pl_buf *out, struct pl_err *err);
/* PL_INVALID, PL_LIMIT with the path and the reason; PL_NOMEM. What a term's pod says is
 * not looked at, but that it is an object. */
PL_NODISCARD enum pl_code rule_registry_parse(struct pl_span value,
                                              struct pl_arena *arena,
                                              struct rule_registry *out,
                                              struct pl_err *err);

#endif
