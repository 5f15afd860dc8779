/* A media type as Accept and Content-Type spell it: "application/json;as=Table;v=v1". */
#ifndef COORD_API_REPLY_MEDIA_TYPE_H
#define COORD_API_REPLY_MEDIA_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/span.h"

enum { MEDIA_PARAMS_MAX = 16 };

struct media_param {
	struct pl_span name, value; /* a value without its quotes */
};

/* Borrows the text. */
struct media_type {
	struct pl_span type, subtype; /* "*" may stand for any */
	struct media_param params[MEDIA_PARAMS_MAX];
	size_t param_count;
};

/* False: the text is no media type, or has too many parameters. */
bool media_type_parse(struct pl_span text, struct media_type *out);

/* Letters of both cases are equal. */
bool media_name_is(struct pl_span name, const char *want);
/* want: "application/json". */
bool media_type_is(const struct media_type *type, const char *want);

/* The text before the next separator that stands in no quotes; *rest begins behind it. */
struct pl_span media_split(struct pl_span *rest, char separator);

#endif
