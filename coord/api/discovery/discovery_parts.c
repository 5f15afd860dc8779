#include <stdio.h>

#include "coord/api/discovery/discovery_int.h"
#include "store/base/hash.h"

/* -- subresources ------------------------------------------------------------------------- */

static const struct discovery_subresource subresources[] = {
	{SCHEMA_SUB_BINDING, "binding", "", "v1", "Binding", {"create", NULL}},
	{SCHEMA_SUB_EVICTION, "eviction", "policy", "v1", "Eviction", {"create", NULL}},
	{SCHEMA_SUB_EXEC, "exec", "", "v1", "PodExecOptions", {"create", "get", NULL}},
	{SCHEMA_SUB_FINALIZE, "finalize", "", "v1", NULL, {"update", NULL}},
	{SCHEMA_SUB_LOG, "log", "", "v1", NULL, {"get", NULL}},
	{SCHEMA_SUB_SCALE,
         "scale",
         "autoscaling",
         "v1",
         "Scale",
         {"get", "patch", "update", NULL}},
	{SCHEMA_SUB_STATUS, "status", "", "v1", NULL, {"get", "patch", "update", NULL}},
};

const struct discovery_subresource *discovery_subresources(size_t *count)
{
	*count = sizeof subresources / sizeof subresources[0];
	return subresources;
}

/* -- writing ------------------------------------------------------------------------------ */

void discovery_write_str(struct pl_json_out *out, const char *name, const char *value)
{
	pl_json_out_name(out, name);
	pl_json_out_str(out, value);
}

void discovery_write_list(struct pl_json_out *out, const char *name,
                          const char *const *texts)
{
	if (texts == NULL || *texts == NULL)
		return;
	pl_json_out_name(out, name);
	pl_json_out_array(out);
	for (; *texts != NULL; texts++)
		pl_json_out_str(out, *texts);
	pl_json_out_end(out);
}

void discovery_write_verbs(struct pl_json_out *out, uint16_t verbs)
{
	static const struct {
		uint16_t flag;
		const char *name;
	} all[] = {
		{SCHEMA_CREATE, "create"},
		{SCHEMA_DELETE, "delete"},
		{SCHEMA_DELETE_COLLECTION, "deletecollection"},
		{SCHEMA_GET, "get"},
		{SCHEMA_LIST_VERB, "list"},
		{SCHEMA_PATCH, "patch"},
		{SCHEMA_UPDATE, "update"},
		{SCHEMA_WATCH, "watch"},
	};

	pl_json_out_name(out, "verbs");
	pl_json_out_array(out);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if ((verbs & all[i].flag) != 0)
			pl_json_out_str(out, all[i].name);
	pl_json_out_end(out);
}

/* -- the table ---------------------------------------------------------------------------- */

size_t discovery_next_group(const struct discovery *discovery, size_t at)
{
	const char *group = discovery->resources[at].group;

	while (at < discovery->count &&
	       strcmp(discovery->resources[at].group, group) == 0)
		at++;
	return at;
}

size_t discovery_next_version(const struct discovery *discovery, size_t at)
{
	const struct schema_resource *first = &discovery->resources[at];

	while (at < discovery->count &&
	       strcmp(discovery->resources[at].group, first->group) == 0 &&
	       strcmp(discovery->resources[at].version, first->version) == 0)
		at++;
	return at;
}

/* -- ETags -------------------------------------------------------------------------------- */

const char *discovery_etag(struct pl_span body, char out[DISCOVERY_ETAG_SIZE])
{
	(void)snprintf(out, DISCOVERY_ETAG_SIZE, "\"%016llX\"",
	               (unsigned long long)pl_hash(body));
	return out;
}

bool discovery_etag_matches(struct pl_span if_none_match, const char *etag)
{
	struct pl_span want = pl_span_str(etag);

	return pl_span_eq(if_none_match, PL_SPAN_LIT("*")) ||
	       (if_none_match.len >= want.len &&
	        memmem(if_none_match.at, if_none_match.len, want.at, want.len) != NULL);
}
