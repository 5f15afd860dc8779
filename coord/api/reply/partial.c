#include "coord/api/reply/partial.h"

#include "coord/api/reply/field_get.h"

static void begin(struct pl_json_out *out, const char *kind, bool beta)
{
	pl_json_out_object(out);
	pl_json_out_name(out, "kind");
	pl_json_out_str(out, kind);
	pl_json_out_name(out, "apiVersion");
	pl_json_out_str(out, beta ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1");
	pl_json_out_name(out, "metadata");
}

void partial_write(struct pl_json_out *out, struct pl_json object, bool beta)
{
	struct pl_json metadata = field_at(object, "metadata");

	begin(out, "PartialObjectMetadata", beta);
	if (pl_json_type(metadata) == PL_JSON_OBJECT) {
		pl_json_out_value(out, metadata);
	} else {
		pl_json_out_object(out);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

void partial_list_begin(struct pl_json_out *out, const struct list_meta *meta, bool beta)
{
	begin(out, "PartialObjectMetadataList", beta);
	list_meta_write(out, meta);
	pl_json_out_name(out, "items");
	pl_json_out_array(out);
}

void partial_list_add(struct pl_json_out *out, struct pl_json object, bool beta)
{
	partial_write(out, object, beta);
}

void partial_list_end(struct pl_json_out *out)
{
	pl_json_out_end(out);
	pl_json_out_end(out);
}
