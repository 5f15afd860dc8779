/* Quoting: text from outside made fit for a message. */
#ifndef STORE_BASE_QUOTE_H
#define STORE_BASE_QUOTE_H

#include <stddef.h>

#include "store/base/span.h"

enum { PL_QUOTE_SIZE = 72 };

/* Puts the text in single quotes. Control characters, quotes, backslashes and bytes that
 * are not UTF-8 become \xNN. Longer text is cut and ends with "...'". Returns out, so
 * that the call can stand among the arguments of a format. */
const char *pl_quote(struct pl_span text, char out[PL_QUOTE_SIZE]);

#endif
