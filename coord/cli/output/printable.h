/* Printable text is safe for a terminal: characters that move a cursor, break a
 * line, hide or reorder text are written as \xNN. */
#ifndef COORD_CLI_OUTPUT_PRINTABLE_H
#define COORD_CLI_OUTPUT_PRINTABLE_H

#include "store/base/buf.h"

/* Adds the text; *width, if wanted, grows by the code points added. */
PL_NODISCARD enum pl_code printable_add(struct pl_buf *out, struct pl_span text,
                                        size_t *width);

/* The code points that printable_add would add. */
size_t printable_width(struct pl_span text);

/* Escapes JSON, which stays the same JSON: such characters become \uNNNN. */
PL_NODISCARD enum pl_code printable_add_json(struct pl_buf *out, struct pl_span json);

#endif
