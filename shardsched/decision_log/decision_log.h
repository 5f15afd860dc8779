/*
 * The decision log: decisions that can be replayed. It has what an engine was given, in
 * order, and what it decided, one JSON object a line.
 *
 *	{"kind":"Record","v":1,"seed":"7","config":{...}}
 *	{"kind":"Put","revision":"12","object":"Node","cluster":"","value":{...}}
 *	{"kind":"Drop","revision":"13","object":"Node","space":"","name":"node-7"}
 *	{"kind":"Decision","revision":"14","pod":{...},"draw":"...","assumed":true,
 *	 "verdict":"placed","node":"node-3","total":512,"feasible":40,"best":2,
 *	 "runnersUp":[{"node":"node-5","total":512},...],"refused":{"NodeResourcesFit":9}}
 *
 * A revision is that of the store at which the object was known; replay keeps it and does
 * not use it. Numbers that may pass 2^53 are strings.
 *
 * Invariant: a decision is written by one function, when it is made and when it is
 * replayed, so two decisions are equal exactly if their lines are equal byte for byte.
 */
#ifndef SHARDSCHED_DECISION_LOG_DECISION_LOG_H
#define SHARDSCHED_DECISION_LOG_DECISION_LOG_H

#include "shardsched/engine/engine.h"

enum { DECISION_LOG_RUNNERS = 3, DECISION_LOG_LINE_MAX = 8 << 20 };

/* Each function adds one whole line, or nothing on failure. config: empty for the
 * default. */
PL_NODISCARD enum pl_code decision_log_begin(struct pl_buf *out, uint64_t seed,
                                             struct pl_span config);
/* json is on one line. */
PL_NODISCARD enum pl_code decision_log_put(struct pl_buf *out, uint64_t revision,
                                           enum engine_kind kind, struct pl_span cluster,
                                           struct pl_span json);
PL_NODISCARD enum pl_code decision_log_drop(struct pl_buf *out, uint64_t revision,
                                            enum engine_kind kind,
                                            struct pl_span namespace,
                                            struct pl_span name);

struct logged_decision {
	uint64_t revision;
	struct pl_span json; /* of the pod */
	const struct engine_decision *decision;
	bool assumed; /* the pod counts on that node from here on */
};

/* To be called before the pod is assumed: the engine's cycle must still be that
 * decision's. */
PL_NODISCARD enum pl_code decision_log_decided(struct pl_buf *out, struct engine *engine,
                                               const struct logged_decision *decided);

/* -- and again --------------------------------------------------------------------- */

struct replay;

struct replay_figures {
	uint64_t lines, decisions, differ;
};

PL_NODISCARD enum pl_code replay_new(struct replay **out, struct pl_err *err);
void replay_free(struct replay *replay);

/* Replays the next line, given without its end. PL_INVALID, PL_LIMIT: it is no such line;
 * err has the field's path. *again: empty; or, when a replayed decision differs, its line
 * as it is now, valid until the next call. */
PL_NODISCARD enum pl_code replay_line(struct replay *replay, struct pl_span line,
                                      struct pl_span *again, struct pl_err *err);
void replay_figures(const struct replay *replay, struct replay_figures *out);

#endif
