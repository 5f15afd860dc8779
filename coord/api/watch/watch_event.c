#include "coord/api/watch/watch_event.h"

#include <inttypes.h>

#include "coord/api/reply/status.h"

static struct http_blob *blob_of(struct pl_buf *buf, enum pl_code code)
{
	struct http_blob *blob = code == PL_OK ? http_blob_new(buf->len) : NULL;

	if (blob != NULL)
		memcpy(blob->at, buf->at, buf->len);
	pl_buf_done(buf);
	return blob;
}

struct http_blob *watch_event_blob(enum watch_event_type type, struct object_shape shape,
                                   const struct object *object, bool headers,
                                   int64_t now_ms, struct pl_arena *scratch)
{
	static const char *const heads[WATCH_EVENT_TYPES] = {
		[WATCH_ADDED] = "{\"type\":\"ADDED\",\"object\":",
		[WATCH_MODIFIED] = "{\"type\":\"MODIFIED\",\"object\":",
		[WATCH_DELETED] = "{\"type\":\"DELETED\",\"object\":",
	};
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	code = pl_buf_add_str(&buf, heads[type]);
	if (code == PL_OK)
		code = object_shape_write(shape, object, headers, now_ms, scratch, &buf);
	if (code == PL_OK)
		code = pl_buf_add_str(&buf, "}\n");
	return blob_of(&buf, code);
}

struct http_blob *watch_bookmark_blob(const struct schema_resource *resource,
                                      struct object_shape shape, int64_t revision,
                                      bool last)
{
	const char *end =
		last ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "";
	char version[128];
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, 4096);
	if (shape.as == ACCEPT_AS_TABLE)
		code = pl_buf_printf(
			&buf,
			"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Table\","
			"\"apiVersion\":\"meta.k8s.io/v1%s\",\"metadata\":{"
			"\"resourceVersion\":\"%" PRId64 "\"%s},"
			"\"columnDefinitions\":null,\"rows\":[{\"cells\":[],"
			"\"object\":{\"kind\":\"PartialObjectMetadata\","
			"\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
			"\"resourceVersion\":\"%" PRId64 "\"%s}}}]}}\n",
			shape.beta ? "beta1" : "", revision, end, revision, end);
	else
		code = pl_buf_printf(
			&buf,
			"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\","
			"\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%" PRId64
			"\"%s}}}\n",
			shape.as == ACCEPT_AS_METADATA ? "PartialObjectMetadata"
						       : resource->kind,
			shape.as == ACCEPT_AS_METADATA
				? "meta.k8s.io/v1"
				: schema_api_version(resource, version),
			revision, end);
	return blob_of(&buf, code);
}

struct http_blob *watch_expired_blob(void)
{
	struct api_status status =
		status_expired(pl_span_str(status_watch_expired_message));
	struct pl_json_out out;
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, 4096);
	code = pl_buf_add_str(&buf, "{\"type\":\"ERROR\",\"object\":");
	if (code == PL_OK) {
		pl_json_out_init(&out, &buf);
		status_write(&out, &status);
		code = pl_json_out_done(&out);
	}
	if (code == PL_OK)
		code = pl_buf_add_str(&buf, "}\n");
	return blob_of(&buf, code);
}
