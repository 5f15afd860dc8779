#include "coord/api/server/openapi_cache.h"

enum { DOCUMENT_MAX = 64 << 20 };

static enum pl_code keep(struct pl_buf *buf, enum pl_code code, struct http_blob **out)
{
	if (code == PL_OK) {
		*out = http_blob_new(buf->len);
		if (*out == NULL)
			code = PL_NOMEM;
		else
			memcpy((*out)->at, buf->at, buf->len);
	}
	pl_buf_done(buf);
	return code;
}

static enum pl_code make_v2(struct openapi_cache *cache, const char *version)
{
	struct pl_buf buf;

	if (cache->v2_json != NULL)
		return PL_OK;
	pl_buf_init(&buf, DOCUMENT_MAX);
	return keep(&buf, openapi_v2_json(version, &buf), &cache->v2_json);
}

static enum pl_code make_v2_protobuf(struct openapi_cache *cache, const char *version,
                                     struct pl_err *err)
{
	enum pl_code code = make_v2(cache, version);
	struct pl_buf buf;

	if (code != PL_OK || cache->v2_protobuf != NULL)
		return code;
	pl_buf_init(&buf, DOCUMENT_MAX);
	code = openapi_v2_protobuf(pl_span(cache->v2_json->at, cache->v2_json->len), &buf,
	                           err);
	return keep(&buf, code, &cache->v2_protobuf);
}

static enum pl_code make_v3(struct openapi_cache *cache, const char *version)
{
	enum pl_code code = PL_OK;
	struct pl_buf buf;

	if (cache->index != NULL)
		return PL_OK;
	cache->groups = openapi_v3_groups(cache->group);
	for (size_t i = 0; i < cache->groups && code == PL_OK; i++) {
		struct http_blob **blob = &cache->document[i];

		if (*blob != NULL)
			continue;
		pl_buf_init(&buf, DOCUMENT_MAX);
		code = keep(&buf, openapi_v3_json(&cache->group[i], version, &buf), blob);
		if (code == PL_OK)
			openapi_v3_hash(&cache->group[i],
			                pl_span((*blob)->at, (*blob)->len));
	}
	if (code != PL_OK)
		return code;
	pl_buf_init(&buf, DOCUMENT_MAX);
	return keep(&buf, openapi_v3_index(cache->group, cache->groups, &buf),
	            &cache->index);
}

static enum pl_code find_group(struct openapi_cache *cache, struct pl_span path,
                               struct http_blob **out)
{
	for (size_t i = 0; i < cache->groups; i++) {
		if (pl_span_eq(path, pl_span_str(cache->group[i].path))) {
			*out = cache->document[i];
			return PL_OK;
		}
	}
	return PL_NOTFOUND;
}

enum pl_code openapi_cache_get(struct openapi_cache *cache, const char *version,
                               struct pl_span path, bool protobuf, struct http_blob **out,
                               const char **type, struct pl_err *err)
{
	static const char v2_type[] =
		"application/com.github.proto-openapi.spec.v2.v1.0+protobuf"; /* with @ the type would not be well-formed */
	const struct pl_span v3 = PL_SPAN_LIT("/openapi/v3");
	enum pl_code code;

	*type = "application/json";
	if (pl_span_eq(path, PL_SPAN_LIT("/openapi/v2"))) {
		code = protobuf ? make_v2_protobuf(cache, version, err)
		                : make_v2(cache, version);
		if (protobuf)
			*type = v2_type;
		*out = protobuf ? cache->v2_protobuf : cache->v2_json;
		return code;
	}
	if (!pl_span_starts(path, v3))
		return PL_NOTFOUND;
	code = make_v3(cache, version);
	*out = cache->index;
	path = pl_span(path.at + v3.len, path.len - v3.len);
	if (code != PL_OK || path.len == 0)
		return code;
	return path.at[0] == '/'
	               ? find_group(cache, pl_span(path.at + 1, path.len - 1), out)
	               : PL_NOTFOUND;
}

void openapi_cache_free(struct openapi_cache *cache)
{
	http_blob_unref(cache->v2_json);
	http_blob_unref(cache->v2_protobuf);
	http_blob_unref(cache->index);
	for (size_t i = 0; i < OPENAPI_GROUPS_MAX; i++)
		http_blob_unref(cache->document[i]);
	*cache = (struct openapi_cache){0};
}
