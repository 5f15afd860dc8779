/*
 * A JSON template: the JSON of a pod with placeholders for what differs from replica to
 * replica. It is made once for a template, and printed once for each pod.
 *
 * A placeholder is a byte that JSON can not have there: "name":"\001" is printed as
 * "name":"web-0". The text is kept without white space between its tokens; strings are
 * unchanged.
 */
#ifndef SHARDSCHED_EXPAND_JSON_TEMPLATE_H
#define SHARDSCHED_EXPAND_JSON_TEMPLATE_H

#include <stdbool.h>

#include "store/base/buf.h"

#define TEMPLATE_NAME "\001"
#define TEMPLATE_UID "\002"
#define TEMPLATE_INDEX "\003"

enum { TEMPLATE_NAME_AT = 1, TEMPLATE_UID_AT, TEMPLATE_INDEX_AT, TEMPLATE_OPEN_MAX = 16 };

struct json_template {
	struct pl_buf text; /* without the placeholders */
	struct {
		size_t at;
		uint8_t what;
	} open[TEMPLATE_OPEN_MAX];
	unsigned count;
};

/* The values for the placeholders: JSON strings without their quotes. */
struct json_template_fill {
	struct pl_span name, uid, index;
};

void json_template_init(struct json_template *json_template, size_t bytes_max);
void json_template_done(struct json_template *json_template);

/* json is one value that was scanned, except for its placeholders. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code json_template_set(struct json_template *json_template,
                                            struct pl_span json);
/* Compares texts and placeholders. */
bool json_template_eq(const struct json_template *a, const struct json_template *b);

/* Adds to out. PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code json_template_print(const struct json_template *json_template,
                                              const struct json_template_fill *fill,
                                              struct pl_buf *out);

#endif
