/* Messages of a command to a person, on stderr: one line, escaped, with advice.
 * Results go to stdout. */
#ifndef COORD_CLI_OUTPUT_MESSAGE_H
#define COORD_CLI_OUTPUT_MESSAGE_H

#include "coord/cli/output/command.h"
#include "store/base/buf.h"
#include "store/base/err.h"

/* "placet shards: MESSAGE; ADVICE". EXIT_FAILED, so that a command ends in it. */
enum exit_code print_error(const char *words, const struct pl_err *err);

/* Adds where the options are described, and returns EXIT_USAGE. */
enum exit_code print_usage_error(const char *words, const struct pl_err *err);

/* A line as it is. */
PL_PRINTF(1, 2) void print_message(const char *fmt, ...);

/* Writes the buffer to stdout, at once. PL_IO: it could not be written. */
PL_NODISCARD enum pl_code print_result(struct pl_buf *buf, struct pl_err *err);

#endif
