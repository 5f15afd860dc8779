/* A pod as a row: its name, and its state. */
#ifndef COORD_CLI_PODS_POD_ROW_H
#define COORD_CLI_PODS_POD_ROW_H

#include "coord/cli/output/output.h"
#include "coord/service/pods/pod_info.h"

enum { POD_ROW_PHASE = 2 }; /* column of the phase, which is "gone" for a row that goes */

extern const struct output_schema pod_schema;

/* now_ms: of the wall's clock. The row borrows from the arena and from the info.
 * PL_NOMEM. */
PL_NODISCARD enum pl_code pod_row(const struct pod_info *info, int64_t now_ms,
                                  struct pl_arena *arena, struct output_row *out);

/* A pod of which not everything is known. Borrowed. */
struct pod_decided {
	struct pl_span namespace, name;
	const struct pod_state *state;
	bool gated;     /* the spec has scheduling gates */
	bool has_since; /* state->since_ms is known */
	int64_t now_ms;
};

/* The row, without what the store alone knows. PL_NOMEM. */
PL_NODISCARD enum pl_code pod_row_decided(const struct pod_decided *pod,
                                          struct pl_arena *arena, struct output_row *out);

/* The word in the column of the phase. */
struct pl_span pod_row_phase(const struct output_row *row);

#endif
