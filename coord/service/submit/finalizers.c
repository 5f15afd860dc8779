#include "coord/service/submit/finalizers.h"

#include <string.h>

#include "shardsched/model/object.h"
#include "store/base/json_scan.h"

static bool is_object(struct pl_span json)
{
	while (json.len > 0 && json.at[0] <= ' ')
		json = pl_span(json.at + 1, json.len - 1);
	return json.len > 0 && json.at[0] == '{';
}

bool has_finalizers(struct pl_span json)
{
	static const char name[] = "finalizers";
	struct pl_span meta, list;
	struct pl_err err = {0};

	/* Nearly no pod has the word at all. */
	if (json.len == 0 || memmem(json.at, json.len, name, sizeof name - 1) == NULL ||
	    pl_json_scan(json, &pl_json_limits_default, &err) != PL_OK ||
	    !is_object(json))
		return false;
	meta = object_member(json, "metadata");
	if (!is_object(meta))
		return false;
	list = object_member(meta, name);
	return list.len > 0 && list.at[0] == '[' && object_item(&list).len > 0;
}
