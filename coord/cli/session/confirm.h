/* A question before something that can not be taken back. */
#ifndef COORD_CLI_SESSION_CONFIRM_H
#define COORD_CLI_SESSION_CONFIRM_H

#include "coord/cli/session/options.h"

/* PL_OK: --yes, or a person at a terminal typed it. PL_CANCELED: not; and where
 * there is no terminal, that --yes is wanted. */
PL_NODISCARD enum pl_code ask(const struct options *options, const char *question,
                              struct pl_err *err);

#endif
