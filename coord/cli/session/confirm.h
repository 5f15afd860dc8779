/* A confirmation of something that can not be undone. */
#ifndef COORD_CLI_SESSION_CONFIRM_H
#define COORD_CLI_SESSION_CONFIRM_H

#include "coord/cli/session/options.h"

/* PL_OK: --yes was given, or yes was typed at a terminal. PL_CANCELED: neither;
 * without a terminal, err asks for --yes. */
PL_NODISCARD enum pl_code ask(const struct options *options, const char *question,
                              struct pl_err *err);

#endif
