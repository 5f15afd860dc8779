/* The lines of a file of cases: plain, gzip, or what comes on stdin; bounded. */
#ifndef COORD_CLI_EVAL_EVAL_LINES_H
#define COORD_CLI_EVAL_EVAL_LINES_H

#include <stdbool.h>

#include "store/base/buf.h"

struct eval_lines;

/* path "-": stdin. PL_IO: it cannot be read; PL_NOMEM. */
PL_NODISCARD enum pl_code eval_lines_open(const char *path, size_t line_max,
                                          struct eval_lines **out, struct pl_err *err);
/* NULL does nothing. */
void eval_lines_close(struct eval_lines *lines);

/* The next line without its end, valid until the one behind is asked for; *more false:
 * there was none. PL_LIMIT: it is too long, and the next call goes on behind it. PL_IO:
 * the file is broken, and there will be no more. */
PL_NODISCARD enum pl_code eval_lines_next(struct eval_lines *lines, struct pl_span *line,
                                          bool *more, struct pl_err *err);

/* Of the line that was read last, from 1. */
size_t eval_lines_number(const struct eval_lines *lines);

#endif
