/* The two halves of output.c: tables, and JSON with YAML. */
#ifndef COORD_CLI_OUTPUT_OUTPUT_INT_H
#define COORD_CLI_OUTPUT_OUTPUT_INT_H

#include "coord/cli/output/output.h"

/* Prints the titles first, once. */
PL_NODISCARD enum pl_code output_table_rows(struct output *output,
                                            const struct output_row *rows, size_t count,
                                            struct pl_buf *to);

/* A line each. */
PL_NODISCARD enum pl_code output_names(const struct output *output,
                                       const struct output_row *rows, size_t count,
                                       struct pl_buf *to);

PL_NODISCARD enum pl_code output_json_list(const struct output *output,
                                           const struct output_row *rows, size_t count,
                                           struct pl_buf *to);
PL_NODISCARD enum pl_code output_json_part(struct output *output,
                                           const struct output_row *rows, size_t count,
                                           bool last, struct pl_buf *to);
PL_NODISCARD enum pl_code output_json_one(const struct output *output,
                                          const struct output_row *row,
                                          struct pl_buf *to);
PL_NODISCARD enum pl_code output_json_change(struct output *output,
                                             const struct output_row *row,
                                             enum output_change change,
                                             struct pl_buf *to);

/* Adds bytes that differ when the row looks different: in a table the columns that
 * are shown, else the fields. A column without a field, such as an age, is left out:
 * it changes with time alone. */
PL_NODISCARD enum pl_code output_table_look(const struct output *output,
                                            const struct output_row *row,
                                            struct pl_buf *to);
PL_NODISCARD enum pl_code output_json_look(const struct output_schema *schema,
                                           const struct output_row *row,
                                           struct pl_buf *to);

#endif
