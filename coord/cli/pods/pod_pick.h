/* Which pods a command line asks for: by name, namespace, node, phase, labels. */
#ifndef COORD_CLI_PODS_POD_PICK_H
#define COORD_CLI_PODS_POD_PICK_H

#include "coord/service/input/label_query.h"
#include "coord/cli/pods/pods_args.h"

enum {
	POD_PICK_SELECTOR = 'l',
	POD_PICK_ALL = 'A',
	POD_PICK_NODE = OPTIONS_OWN_FIRST,
	POD_PICK_PHASE,
};

struct pod_pick {
	struct pods_args given; /* the namespace */
	char **args;            /* names; none: all */
	unsigned arg_count;
	struct pl_span cluster, node; /* empty: wherever they are */
	const char *phase;            /* NULL: any */
	struct label_query query;     /* asked by whoever has the spec */
	bool all;                     /* said: of all namespaces */
};

PL_NODISCARD enum pl_code pod_pick_take(struct pod_pick *pick, int opt, const char *arg,
                                        struct pl_err *err);
/* With what stands behind the options, and whether it goes together. */
PL_NODISCARD enum pl_code pod_pick_check(struct pod_pick *pick,
                                         const struct options *options,
                                         struct pl_err *err);

/* By name and namespace. */
bool pod_pick_wants(const struct pod_pick *pick, struct pl_span namespace,
                    struct pl_span name);

/* Whether it depends on what the pods' states say. */
bool pod_pick_by_state(const struct pod_pick *pick);
/* Of a row of pod_schema: by that. */
bool pod_pick_fits(const struct pod_pick *pick, const struct output_row *row);

#endif
