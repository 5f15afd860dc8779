/* Eval lines are the lines of a file of cases, plain or gzip, or of stdin; their
 * length is bounded. */
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

/* The next line without its line end, valid until the next call; *more false: the
 * file has ended. PL_LIMIT: the line is too long, and the next call reads the line
 * after it. PL_IO: the file is damaged, and no line follows. */
PL_NODISCARD enum pl_code eval_lines_next(struct eval_lines *lines, struct pl_span *line,
                                          bool *more, struct pl_err *err);

/* The number of the last line, from 1. */
size_t eval_lines_number(const struct eval_lines *lines);

#endif
