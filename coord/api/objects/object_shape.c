#include "coord/api/objects/object_shape.h"

#include "shardsched/model/object.h"

static enum pl_code write_metadata(struct object_shape shape, struct pl_span json,
                                   struct pl_buf *out)
{
	struct pl_span metadata = object_member(json, "metadata");
	enum pl_code code = pl_buf_add_str(
		out, shape.beta ? "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
				  "\"meta.k8s.io/v1beta1\",\"metadata\":"
				: "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
				  "\"meta.k8s.io/v1\",\"metadata\":");

	if (code == PL_OK)
		code = pl_buf_add(out, metadata);
	return code == PL_OK ? pl_buf_add_str(out, "}") : code;
}

static enum pl_code write_row(struct object_shape shape,
                              const struct schema_resource *resource, struct pl_span json,
                              bool headers, int64_t now_ms, struct pl_arena *scratch,
                              struct pl_buf *out)
{
	struct pl_json_out json_out;
	struct table_writer writer = {
		.out = &json_out,
		.arena = scratch,
		.kind = table_kind_find(resource->group, resource->plural),
		.now_ms = now_ms,
		.include = shape.include,
		.beta = shape.beta,
	};
	struct pl_json value;
	struct pl_err err = {0};
	enum pl_code code = pl_json_parse(scratch, json, NULL, &value, &err);

	if (code != PL_OK)
		return code == PL_NOMEM ? PL_NOMEM : PL_LIMIT;
	pl_json_out_init(&json_out, out);
	table_writer_init(&writer);
	table_of_one(&writer, value, headers);
	table_writer_done(&writer);
	return pl_json_out_done(&json_out);
}

enum pl_code object_shape_write(struct object_shape shape, const struct object *object,
                                bool headers, int64_t now_ms, struct pl_arena *scratch,
                                struct pl_buf *out)
{
	struct pl_buf whole;
	enum pl_code code;

	if (shape.as == ACCEPT_AS_IS)
		return object_write(object, out);
	pl_arena_reset(scratch);
	pl_buf_init(&whole, out->max);
	code = object_write(object, &whole);
	if (code == PL_OK && shape.as == ACCEPT_AS_TABLE)
		code = write_row(shape, object->resource, pl_buf_span(&whole), headers,
		                 now_ms, scratch, out);
	else if (code == PL_OK)
		code = write_metadata(shape, pl_buf_span(&whole), out);
	pl_buf_done(&whole);
	return code;
}

enum pl_code object_shape_text(struct object_shape shape,
                               const struct schema_resource *resource,
                               struct pl_span json, int64_t now_ms,
                               struct pl_arena *scratch, struct pl_buf *out)
{
	if (shape.as == ACCEPT_AS_IS)
		return pl_buf_add(out, json);
	pl_arena_reset(scratch);
	if (shape.as == ACCEPT_AS_TABLE)
		return write_row(shape, resource, json, true, now_ms, scratch, out);
	return write_metadata(shape, json, out);
}
