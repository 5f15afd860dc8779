/* For tests: trees from text, and back. */
#ifndef COORD_API_SCHEMA_SCHEMA_KIT_H
#define COORD_API_SCHEMA_SCHEMA_KIT_H

#include <stdio.h>

#include "coord/api/schema/schema_check.h"
#include "coord/api/schema/schema_types.h"
#include "store/base/json_out.h"
#include "tests/harness/t.h"

static struct pl_arena kit_arena;
static struct schema_report kit_report;

/* Text in single quotes, to be read as JSON. */
static inline struct json_tree kit_tree(const char *text)
{
	struct json_tree tree;
	struct pl_err err;
	char *json = pl_arena_printf(&kit_arena, "%s", text);

	for (char *at = json; *at != '\0'; at++)
		if (*at == '\'')
			*at = '"';
	T_OK(json_tree_parse(&kit_arena, pl_span_str(json), NULL, &tree, &err), &err);
	return tree;
}

static inline const char *kit_text(struct pl_json value)
{
	static char text[65536];
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, sizeof text - 1);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, value);
	T_OK(pl_json_out_done(&out), NULL);
	memcpy(text, buf.at, buf.len);
	text[buf.len] = '\0';
	for (char *at = text; *at != '\0'; at++)
		if (*at == '"')
			*at = '\'';
	pl_buf_done(&buf);
	return text;
}

/* One cause a line: "spec.x: FieldValueRequired: Required value". */
static inline const char *kit_causes(void)
{
	static char text[65536];
	size_t len = 0;

	text[0] = '\0';
	T_EQ(kit_report.code, PL_OK);
	for (uint32_t i = 0; i < kit_report.cause_count; i++) {
		const struct schema_cause *cause = &kit_report.cause[i];

		len += (size_t)snprintf(text + len, sizeof text - len,
		                        "%s" PL_SPAN_FMT ": %s: " PL_SPAN_FMT,
		                        i == 0 ? "" : "\n", PL_SPAN_ARG(cause->field),
		                        cause->type, PL_SPAN_ARG(cause->message));
	}
	return text;
}

static inline void kit_reset(void)
{
	pl_arena_done(&kit_arena);
	pl_arena_init(&kit_arena, 0, 0);
	schema_report_init(&kit_report, &kit_arena);
}

#endif
