#include "coord/api/schema/openapi.h"

#include <stdlib.h>

#include "coord/api/schema/openapi_v2.h"
#include "coord/api/schema/openapi_v3.h"
#include "store/base/alloc.h"

enum { DOCUMENT_MAX = 4 << 20 };

struct openapi {
	struct pl_buf v2, v2_protobuf, v3, document[OPENAPI_GROUPS_MAX];
	struct openapi_group group[OPENAPI_GROUPS_MAX];
	size_t groups;
};

static enum pl_code make_v3(struct openapi *openapi, const char *version)
{
	enum pl_code code = PL_OK;

	openapi->groups = openapi_v3_groups(openapi->group);
	for (size_t i = 0; code == PL_OK && i < openapi->groups; i++) {
		code = openapi_v3_json(&openapi->group[i], version,
		                       &openapi->document[i]);
		openapi_v3_hash(&openapi->group[i], pl_buf_span(&openapi->document[i]));
	}
	if (code == PL_OK)
		code = openapi_v3_index(openapi->group, openapi->groups, &openapi->v3);
	return code;
}

enum pl_code openapi_new(const char *version, struct openapi **out, struct pl_err *err)
{
	struct openapi *openapi = pl_calloc(1, sizeof *openapi);
	enum pl_code code;

	if (openapi == NULL)
		return pl_err_set(err, PL_NOMEM, "make the OpenAPI documents");
	pl_buf_init(&openapi->v2, DOCUMENT_MAX);
	pl_buf_init(&openapi->v2_protobuf, DOCUMENT_MAX);
	pl_buf_init(&openapi->v3, DOCUMENT_MAX);
	for (size_t i = 0; i < OPENAPI_GROUPS_MAX; i++)
		pl_buf_init(&openapi->document[i], DOCUMENT_MAX);
	code = openapi_v2_json(version, &openapi->v2);
	if (code == PL_OK)
		code = openapi_v2_protobuf(pl_buf_span(&openapi->v2),
		                           &openapi->v2_protobuf, err);
	if (code == PL_OK)
		code = make_v3(openapi, version);
	if (code != PL_OK) {
		openapi_free(openapi);
		return pl_err_set(err, code, "make the OpenAPI documents");
	}
	*out = openapi;
	return PL_OK;
}

void openapi_free(struct openapi *openapi)
{
	if (openapi == NULL)
		return;
	pl_buf_done(&openapi->v2);
	pl_buf_done(&openapi->v2_protobuf);
	pl_buf_done(&openapi->v3);
	for (size_t i = 0; i < OPENAPI_GROUPS_MAX; i++)
		pl_buf_done(&openapi->document[i]);
	free(openapi);
}

struct pl_span openapi_v2(const struct openapi *openapi)
{
	return pl_buf_span(&openapi->v2);
}

struct pl_span openapi_v2_as_protobuf(const struct openapi *openapi)
{
	return pl_buf_span(&openapi->v2_protobuf);
}

struct pl_span openapi_v3(const struct openapi *openapi)
{
	return pl_buf_span(&openapi->v3);
}

bool openapi_v3_find(const struct openapi *openapi, struct pl_span path,
                     struct pl_span *document, struct pl_span *hash)
{
	for (size_t i = 0; i < openapi->groups; i++)
		if (pl_span_eq(path, pl_span_str(openapi->group[i].path))) {
			*document = pl_buf_span(&openapi->document[i]);
			*hash = pl_span_str(openapi->group[i].hash);
			return true;
		}
	return false;
}
