/* All commands of placet, in the order in which the help lists them. */
#ifndef COORD_CLI_COMMANDS_H
#define COORD_CLI_COMMANDS_H

#include "coord/cli/output/command.h"

extern const struct command *const commands[];
extern const unsigned commands_count;

#endif
