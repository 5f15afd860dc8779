/* The intake of files, by the PriorityClasses that the store has. */
#ifndef COORD_CLI_INPUT_STORED_INTAKE_H
#define COORD_CLI_INPUT_STORED_INTAKE_H

#include "coord/cli/input/pods_args.h"
#include "coord/cli/session/cli_session.h"

/* As pods_args_intake; a class of the input counts before one of the store. */
PL_NODISCARD enum pl_code stored_intake(const struct cli_session *cli,
                                        const struct pods_args *given, bool keep_going,
                                        struct pod_input *out, struct pl_err *err);

#endif
