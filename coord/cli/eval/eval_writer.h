/* Inside eval_verdicts.h: the writer of one decision, member by member. */
#ifndef COORD_CLI_EVAL_EVAL_WRITER_H
#define COORD_CLI_EVAL_EVAL_WRITER_H

#include "coord/cli/eval/eval_verdicts.h"
#include "store/base/json_out.h"

struct verdict_writer {
	struct engine *engine;
	const struct snapshot *snapshot;
	struct cycle *cycle;
	const struct profile *profile;
	const struct engine_decision *decision;
	struct pl_arena *arena;
	struct pl_json_out out;
	uint32_t *slot; /* of nodes, by name */
	int64_t *zeros; /* a column */
	const int64_t *total;
	uint32_t nodes;
	uint8_t plugin[PLUGINS_MAX]; /* by name */
	unsigned plugins;
	enum pl_code code; /* of what is not written */
};

struct pl_span writer_text(const struct verdict_writer *t, uint32_t id);
struct pl_span writer_node(const struct verdict_writer *t, uint32_t slot);
const char *writer_plugin(const struct verdict_writer *t, unsigned plugin);

/* Begins an object as a member; ends the object or array that was begun last. */
void writer_begin(struct verdict_writer *t, const char *name);
void writer_end(struct verdict_writer *t);
void writer_put_text(struct verdict_writer *t, const char *name, const char *value);
void writer_put_reasons(struct verdict_writer *t, const struct verdict *verdict);

/* Sorts by name. PL_NOMEM. */
PL_NODISCARD enum pl_code writer_list_nodes(struct verdict_writer *t);
void writer_list_plugins(struct verdict_writer *t);

/* The result of preemption: "postFilter". */
void writer_put_post_filter(struct verdict_writer *t);

/* A comparison of C strings for qsort. */
int writer_by_text(const void *a, const void *b);

PL_NODISCARD enum pl_code writer_finish(struct verdict_writer *t, struct pl_err *err);

#endif
