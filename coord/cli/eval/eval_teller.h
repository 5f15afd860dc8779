/* Inside eval_verdicts.h: what tells about one decision, member by member. */
#ifndef COORD_CLI_EVAL_TELLER_H
#define COORD_CLI_EVAL_TELLER_H

#include "coord/cli/eval/eval_verdicts.h"
#include "store/base/json_out.h"

struct teller {
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

struct pl_span teller_text(const struct teller *t, uint32_t id);
struct pl_span teller_node(const struct teller *t, uint32_t slot);
const char *teller_plugin(const struct teller *t, unsigned plugin);

/* An object as a member; the end of whatever was begun. */
void teller_begin(struct teller *t, const char *name);
void teller_end(struct teller *t);
void teller_put_text(struct teller *t, const char *name, const char *value);
void teller_put_reasons(struct teller *t, const struct verdict *say);

/* By name. PL_NOMEM. */
PL_NODISCARD enum pl_code teller_list_nodes(struct teller *t);
void teller_list_plugins(struct teller *t);

/* What preemption found: "postFilter". */
void teller_put_post_filter(struct teller *t);

/* For qsort: of C strings. */
int teller_by_text(const void *a, const void *b);

PL_NODISCARD enum pl_code teller_finish(struct teller *t, struct pl_err *err);

#endif
