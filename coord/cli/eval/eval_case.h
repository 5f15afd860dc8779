/*
 * An eval case has the form of tests/conformance/<category>.jsonl.gz: a cluster, a pod
 * that arrives, and what Kubernetes' scheduler decided about it ("expect").
 *
 * Nothing is written anywhere but into the buffers handed in.
 */
#ifndef COORD_CLI_EVAL_EVAL_CASE_H
#define COORD_CLI_EVAL_EVAL_CASE_H

#include "shardsched/engine/engine.h"
#include "store/base/json.h"

enum { EVAL_LINE_MAX = 16 << 20, EVAL_ARENA_MAX = 512 << 20, EVAL_OUT_MAX = 64 << 20 };

/* The strings and JSON live in the arena of eval_case_read. */
struct eval_case {
	const char *id;       /* "" */
	const char *category; /* "" */
	struct pl_json root;
	struct pl_json pod;
	struct pl_json expect; /* absent: there is none */
};

/* PL_INVALID, PL_LIMIT: with the path of the field. */
PL_NODISCARD enum pl_code eval_case_read(struct pl_arena *arena, struct pl_span line,
                                         struct eval_case *out, struct pl_err *err);

/* Decides, and adds our "expect" to out. PL_INVALID, PL_LIMIT, PL_EXISTS: an object of
 * the cluster, or the pod, is refused, with the path of the field. */
PL_NODISCARD enum pl_code eval_case_run(struct pl_arena *arena,
                                        const struct eval_case *it, struct pl_buf *out,
                                        struct pl_err *err);

/* The engine's options for cases: kube-scheduler's defaults, but preemption tries
 * every node, and every score is kept. */
struct engine_opts eval_engine_opts(void);

/* The category "invalid" asks whether the pod would be accepted at all. */
bool eval_case_is_validity(const struct eval_case *it);
/* The scheduler itself failed on the case: it is run, but never compared. */
bool eval_case_is_an_error(const struct eval_case *it);

#endif
