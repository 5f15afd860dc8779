/* The parts that several kinds of objects have in common. */
#include "shardsched/model/reader.h"

struct draft_requirements reader_requirements(struct reader *reader,
                                              struct pl_json object, const char *name)
{
	struct draft_requirements out = {0};
	struct pl_json list = reader_list(reader, object, name, &out.count);
	uint32_t i = 0;

	out.at = reader_alloc(reader, out.count, sizeof *out.at);
	if (out.at == NULL)
		return (struct draft_requirements){0};
	PL_JSON_EACH (item, list) {
		out.at[i++] = (struct draft_requirement){
			.key = reader_text(reader, item, "key"),
			.op = reader_text(reader, item, "operator"),
			.values = reader_texts(reader, item, "values"),
		};
	}
	return out;
}

struct draft_selector reader_selector(struct reader *reader, struct pl_json object,
                                      const char *name)
{
	struct pl_json selector = reader_object(reader, object, name);

	return (struct draft_selector){
		.set = selector.node != NULL,
		.labels = reader_pairs(reader, selector, "matchLabels"),
		.expressions = reader_requirements(reader, selector, "matchExpressions"),
	};
}

struct draft_node_term reader_node_term(struct reader *reader, struct pl_json object)
{
	return (struct draft_node_term){
		.expressions = reader_requirements(reader, object, "matchExpressions"),
		.fields = reader_requirements(reader, object, "matchFields"),
	};
}

struct draft_node_terms reader_node_selector(struct reader *reader, struct pl_json object,
                                             const char *name)
{
	struct pl_json selector = reader_object(reader, object, name);
	struct draft_node_terms out = {.set = selector.node != NULL};
	struct pl_json list =
		reader_list(reader, selector, "nodeSelectorTerms", &out.count);
	uint32_t i = 0;

	out.at = reader_alloc(reader, out.count, sizeof *out.at);
	if (out.at == NULL)
		return (struct draft_node_terms){.set = out.set};
	PL_JSON_EACH (item, list)
		out.at[i++] = reader_node_term(reader, item);
	return out;
}

static void read_owners(struct reader *reader, struct pl_json meta,
                        struct draft_meta *out)
{
	uint32_t count = 0, i = 0;
	struct pl_json list = reader_list(reader, meta, "ownerReferences", &count);

	out->owners = reader_alloc(reader, count, sizeof *out->owners);
	if (out->owners == NULL)
		return;
	out->owner_count = count;
	PL_JSON_EACH (item, list) {
		out->owners[i++] = (struct draft_owner){
			.api_version = reader_text(reader, item, "apiVersion"),
			.kind = reader_text(reader, item, "kind"),
			.name = reader_text(reader, item, "name"),
			.uid = reader_text(reader, item, "uid"),
			.controller = reader_bool(reader, item, "controller"),
		};
	}
}

struct draft_meta reader_meta(struct reader *reader, struct pl_json root)
{
	struct pl_json meta = reader_object(reader, root, "metadata");
	struct draft_meta out = {
		.name = reader_text(reader, meta, "name"),
		.generate_name = reader_text(reader, meta, "generateName"),
		.namespace = reader_text(reader, meta, "namespace"),
		.uid = reader_text(reader, meta, "uid"),
		.labels = reader_pairs(reader, meta, "labels"),
		.annotations = reader_pairs(reader, meta, "annotations"),
		.created_ms = reader_time(reader, meta, "creationTimestamp"),
		.deleted_ms = reader_time(reader, meta, "deletionTimestamp"),
	};

	read_owners(reader, meta, &out);
	return out;
}

const struct draft_owner *draft_controller(const struct draft_meta *meta)
{
	for (uint32_t i = 0; i < meta->owner_count; i++)
		if (meta->owners[i].controller)
			return &meta->owners[i];
	return NULL;
}

struct pl_span draft_get(struct draft_pairs pairs, struct pl_span key)
{
	for (uint32_t i = 0; i < pairs.count; i++)
		if (pl_span_eq(pairs.at[i].key, key))
			return pairs.at[i].value;
	return (struct pl_span){0};
}
