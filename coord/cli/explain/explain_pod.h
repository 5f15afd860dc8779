/* What placet explain pod knows of its pod, and how that is printed. */
#ifndef COORD_CLI_EXPLAIN_EXPLAIN_POD_H
#define COORD_CLI_EXPLAIN_EXPLAIN_POD_H

#include "coord/cli/explain/explain_job.h"
#include "coord/cli/explain/explain_queue.h"
#include "coord/cli/explain/store_snapshot.h"
#include "shardsched/explain/explain.h"
#include "shardsched/records/pod_state.h"

struct explain_pod {
	enum explain_format format;
	int64_t seed;
	const char *namespace_option; /* -n */

	struct pl_arena arena; /* of everything that is read once */
	struct pl_span namespace, name;
	uint32_t named, partition; /* where its name falls, and where it stands */
	uint32_t partitions;
	int64_t revision, now_ms;
	struct pl_span spec; /* its value */
	struct pod_state state;
	bool has_state;
	struct pl_err malformed; /* why its state can not be read; PL_OK: it can */

	struct pl_span owner; /* of the partition; empty: nobody */
	bool *own;            /* partitions of that shard */
	uint64_t config;      /* version of scheduler that is explained by */
	uint64_t config_current;
	struct pl_span profiles;
	enum queue_sort sort;
	struct pl_err config_err; /* why it is the default instead */

	struct store_snapshot cluster;
	struct explain_queue queue; /* if it waits */
	uint32_t own_nodes, own_feasible;
	struct pl_span gang;       /* empty: it is of none */
	struct pl_span gang_phase; /* of its record; empty: there is none */
};

/* With the explanation, unless it is NULL: the pod has run, nothing is to be decided. */
PL_NODISCARD enum pl_code explain_pod_text(const struct explain_pod *pod,
                                           const struct explain *explain,
                                           struct pl_buf *out);
PL_NODISCARD enum pl_code explain_pod_json(const struct explain_pod *pod,
                                           const struct explain *explain,
                                           struct pl_buf *out, struct pl_err *err);

#endif
