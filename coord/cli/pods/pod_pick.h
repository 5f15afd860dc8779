/* Which pods a command line asks for: by name, namespace, node, phase, labels. */
#ifndef COORD_CLI_PODS_POD_PICK_H
#define COORD_CLI_PODS_POD_PICK_H

#include "coord/cli/input/pods_args.h"
#include "coord/service/pods/pod_filter.h"

enum {
	POD_PICK_SELECTOR = 'l',
	POD_PICK_ALL = 'A',
	POD_PICK_NODE = OPTIONS_OWN_FIRST,
	POD_PICK_PHASE,
};

enum { POD_PICK_NAMES_MAX = 1000 };

/* May not be moved once it was checked: the filter points into it. */
struct pod_pick {
	struct pods_args given; /* the namespace */
	bool all;               /* --all-namespaces */
	struct label_query query;
	struct pod_name name[POD_PICK_NAMES_MAX];
	struct pod_filter filter; /* all of that */
};

PL_NODISCARD enum pl_code pod_pick_take(struct pod_pick *pick, int opt, const char *arg,
                                        struct pl_err *err);
/* Reads the names among the arguments, and refuses options that do not go together. */
PL_NODISCARD enum pl_code pod_pick_check(struct pod_pick *pick,
                                         const struct options *options,
                                         struct pl_err *err);

#endif
