/* Text from outside, made fit to stand in a message. */
#ifndef STORE_BASE_QUOTE_H
#define STORE_BASE_QUOTE_H

#include <stddef.h>

#include "store/base/span.h"

enum { PL_QUOTE_SIZE = 72 };

/* In single quotes: control characters, quotes, backslashes and what is not
 * UTF-8 as \xNN; longer text is cut and ends with "...'". Gives out, so that it
 * can stand among the arguments of a format. */
const char *pl_quote(struct pl_span text, char out[PL_QUOTE_SIZE]);

#endif
