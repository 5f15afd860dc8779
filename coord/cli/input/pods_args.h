/* Pods args: the pods that a command line means, by name or in files. */
#ifndef COORD_CLI_INPUT_PODS_ARGS_H
#define COORD_CLI_INPUT_PODS_ARGS_H

#include "coord/cli/input/manifest.h"
#include "coord/cli/session/options.h"
#include "coord/service/input/pod_input.h"

enum { PODS_ARGS_FILE = 'f', PODS_ARGS_SPACE = 'n' };

#define PODS_ARGS_OPTIONS                                             \
	{"filename", required_argument, NULL, PODS_ARGS_FILE},        \
	{                                                             \
		"namespace", required_argument, NULL, PODS_ARGS_SPACE \
	}

struct pods_args {
	struct files files;
	const char *namespace; /* NULL: not given */
	enum pod_input_fields fields;
	bool once; /* as of pod_input.h */
};

/* Handles one of these options. */
PL_NODISCARD enum pl_code pods_args_set(struct pods_args *given, int opt, const char *arg,
                                        struct pl_err *err);

/* Splits "shop/web-0", or "web-0" in the namespace of the options, or in "default". */
PL_NODISCARD enum pl_code pods_args_name(const struct pods_args *given, const char *arg,
                                         struct pl_span *namespace, struct pl_span *name,
                                         struct pl_err *err);

/* Whether "shop/web-0" is in the namespace of the options; true if none was given. */
bool pods_args_is_of(const struct pods_args *given, struct pl_span key);

/* classes: of the store; may be NULL. Opens a pod input of the files and checks it all, printing what is refused (the
 * first ones), what is passed over, and which fields are not known. PL_INVALID:
 * something is refused and keep_going is not set, or there is no object at all.
 * After PL_OK the input has to be closed. */
PL_NODISCARD enum pl_code pods_args_intake(const struct pods_args *given,
                                           const struct class_table *classes,
                                           uint32_t partitions, bool keep_going,
                                           struct pod_input *out, struct pl_err *err);

#endif
