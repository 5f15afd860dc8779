#include "coord/cli/session/api_object.h"

#include <string.h>

#include "coord/api/objects/member_name.h"
#include "store/base/timestamp.h"

enum { SECONDS_LEN = 19 }; /* "2026-11-21T05:00:00" */

struct pl_span api_text(struct pl_json object, const char *path)
{
	const char *text = field_text(object, path);

	return text == NULL ? (struct pl_span){0} : pl_span_str(text);
}

/* Kubernetes writes times with whole seconds, or with six digits behind them. */
bool api_time(struct pl_json object, const char *path, int64_t *out)
{
	struct pl_span text = api_text(object, path);
	char whole[PL_TIMESTAMP_SIZE] = "";

	if (text.len <= SECONDS_LEN || text.at[text.len - 1] != 'Z')
		return false;
	memcpy(whole, text.at, SECONDS_LEN);
	memcpy(whole + SECONDS_LEN, ".000Z", sizeof ".000Z");
	for (size_t i = 0; text.at[SECONDS_LEN] == '.' && i < 3; i++) {
		size_t at = SECONDS_LEN + 1 + i;

		if (at + 1 < text.len)
			whole[at] = (char)text.at[at];
	}
	return pl_timestamp_parse(pl_span_str(whole), out, NULL) == PL_OK;
}

struct pl_json api_condition(struct pl_json object, const char *type)
{
	PL_JSON_EACH (condition, field_at(object, "status.conditions"))
		if (strcmp(field_text_or(condition, "type", ""), type) == 0)
			return condition;
	return (struct pl_json){0};
}

void api_node_name(struct pl_span text, struct pl_span *cluster, struct pl_span *node)
{
	*cluster = (struct pl_span){0};
	*node = (struct pl_span){0};
	if (text.len > 0)
		member_name_split(text, cluster, node);
}
