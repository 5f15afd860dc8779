/* A pod as a row: who it is, and what its state says. */
#ifndef COORD_CLI_PODS_POD_ROW_H
#define COORD_CLI_PODS_POD_ROW_H

#include "coord/cli/output/output.h"
#include "shardsched/records/pod_state.h"
#include "store/keys/keys.h"

enum { POD_ROW_PHASE = 2 }; /* the column that says "gone" */

/* The phase of what makes no sense. */
#define POD_ROW_MALFORMED "malformed"

extern const struct output_schema pod_schema;

struct pod_row_about {
	struct pl_span namespace, name;
	uint32_t partition;
	bool has_spec, has_state, gated;
	struct pl_span state; /* its value */
	int64_t now_ms;       /* of the wall's clock */
};

/* The row borrows from the arena and from about. PL_NOMEM. */
PL_NODISCARD enum pl_code pod_row(const struct pod_row_about *about,
                                  struct pl_arena *arena, struct output_row *out);

/* The word in its column. */
struct pl_span pod_row_phase(const struct output_row *row);
bool pod_row_is_on(const struct output_row *row, struct pl_span cluster,
                   struct pl_span node);

#endif
