#include "shardsched/model/storage.h"

#include <stdlib.h>

#include "store/base/alloc.h"

static struct draft_requirements topology_rows(struct reader *reader, struct pl_json term)
{
	struct draft_requirements out = {0};
	struct pl_json list =
		reader_list(reader, term, "matchLabelExpressions", &out.count);
	uint32_t i = 0;

	out.at = reader_alloc(reader, out.count, sizeof *out.at);
	if (out.at == NULL)
		return (struct draft_requirements){0};
	PL_JSON_EACH (item, list) {
		out.at[i++] = (struct draft_requirement){
			.key = reader_text(reader, item, "key"),
			.op = PL_SPAN_LIT("In"),
			.values = reader_texts(reader, item, "values"),
		};
	}
	return out;
}

/* A list of alternatives, each with keys and values, read as the terms of a node
 * selector. */
static struct draft_node_terms read_topologies(struct parse *parse)
{
	struct draft_node_terms out = {0};
	struct pl_json list =
		reader_list(&parse->reader, parse->root, "allowedTopologies", &out.count);
	uint32_t i = 0;

	out.at = reader_alloc(&parse->reader, out.count, sizeof *out.at);
	if (out.at == NULL)
		return (struct draft_node_terms){0};
	out.set = true;
	PL_JSON_EACH (item, list)
		out.at[i++].expressions = topology_rows(&parse->reader, item);
	return out;
}

static void check_topologies(struct validate *v, const struct draft_node_terms *terms)
{
	for (uint32_t i = 0; i < terms->count; i++) {
		const struct draft_requirements *rows = &terms->at[i].expressions;
		size_t mark = validate_index(v, "allowedTopologies", i);

		for (uint32_t j = 0; j < rows->count; j++) {
			size_t before = validate_index(v, "matchLabelExpressions", j);

			if (rows->at[j].values.count == 0)
				validate_add(v, "values", FIELD_REQUIRED, "want a value");
			validate_text(v, "key", text_key(rows->at[j].key));
			validate_back(v, before);
		}
		validate_back(v, mark);
	}
}

static void check_class(struct validate *v, struct pl_span provisioner,
                        struct pl_span mode)
{
	static const char *const words[] = {"Immediate", "WaitForFirstConsumer", NULL};

	if (provisioner.len == 0)
		validate_add(v, "provisioner", FIELD_REQUIRED, "want a provisioner");
	if (mode.len > 0)
		validate_word(v, "volumeBindingMode", mode, words);
}

enum pl_code storage_class_parse(struct parse *parse, struct pl_span json,
                                 struct storage_class *out, struct pl_err *err)
{
	struct storage_class made = {0};
	struct draft_node_terms topologies;
	struct pl_span provisioner, mode;
	enum pl_code code;

	parse_begin(parse, json, err);
	provisioner = reader_text(&parse->reader, parse->root, "provisioner");
	mode = reader_text(&parse->reader, parse->root, "volumeBindingMode");
	topologies = read_topologies(parse);
	if (parse_checks(parse, VALIDATE_SUBDOMAIN, false)) {
		check_class(&parse->check, provisioner, mode);
		check_topologies(&parse->check, &topologies);
	}
	if (parse_makes(parse)) {
		made.name = maker_text(&parse->maker, parse->meta.name);
		made.provisioner = maker_text(&parse->maker, provisioner);
		made.topologies = node_selector_make(&parse->maker, topologies);
		made.waits = pl_span_eq(mode, PL_SPAN_LIT("WaitForFirstConsumer"));
	}
	code = parse_end(parse);
	if (code != PL_OK)
		storage_class_drop(parse->model, &made);
	else
		*out = made;
	return code;
}

void storage_class_drop(struct model *model, struct storage_class *storage_class)
{
	strings_unref(&model->strings, storage_class->name);
	strings_unref(&model->strings, storage_class->provisioner);
	model_unref(model, MODEL_NODE_SELECTORS, storage_class->topologies);
	*storage_class = (struct storage_class){0};
}

struct csi_draft_limit {
	struct pl_span driver;
	int32_t volumes;
};

static struct csi_draft_limit *read_limits(struct parse *parse, uint32_t *count)
{
	struct reader *reader = &parse->reader;
	struct pl_json spec = reader_object(reader, parse->root, "spec");
	struct pl_json list = reader_list(reader, spec, "drivers", count);
	struct csi_draft_limit *out = reader_alloc(reader, *count, sizeof *out);
	uint32_t i = 0;

	if (out == NULL) {
		*count = 0;
		return NULL;
	}
	PL_JSON_EACH (item, list) {
		struct pl_json may = reader_object(reader, item, "allocatable");

		out[i].driver = reader_text(reader, item, "name");
		out[i].volumes = reader_has(may, "count")
		                         ? reader_int32(reader, may, "count")
		                         : -1;
		i++;
	}
	return out;
}

static void check_limits(struct validate *v, const struct csi_draft_limit *limits,
                         uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t mark = validate_index(v, "spec.drivers", i);

		if (limits[i].driver.len == 0)
			validate_add(v, "name", FIELD_REQUIRED, "want a name");
		if (limits[i].volumes < -1)
			validate_add(v, "allocatable.count", FIELD_INVALID,
			             "want 0 or more");
		for (uint32_t j = 0; j < i; j++)
			if (pl_span_eq(limits[j].driver, limits[i].driver)) {
				validate_add(v, "name", FIELD_DUPLICATE, "comes twice");
				break;
			}
		validate_back(v, mark);
	}
}

static void make_limits(struct maker *maker, const struct csi_draft_limit *limits,
                        uint32_t count, struct csi_node *out)
{
	if (count == 0 || maker->code != PL_OK)
		return;
	out->limits = pl_calloc(count, sizeof *out->limits);
	if (out->limits == NULL) {
		maker->code = PL_NOMEM;
		return;
	}
	out->count = count;
	for (uint32_t i = 0; i < count; i++)
		out->limits[i] = (struct csi_limit){maker_text(maker, limits[i].driver),
		                                    limits[i].volumes};
}

enum pl_code csi_node_parse(struct parse *parse, struct pl_span json,
                            struct csi_node *out, struct pl_err *err)
{
	struct csi_node made = {0};
	struct csi_draft_limit *limits;
	uint32_t count = 0;
	enum pl_code code;

	parse_begin(parse, json, err);
	limits = read_limits(parse, &count);
	if (parse_checks(parse, VALIDATE_SUBDOMAIN, false))
		check_limits(&parse->check, limits, count);
	if (parse_makes(parse)) {
		made.node = maker_text(&parse->maker, parse->meta.name);
		make_limits(&parse->maker, limits, count, &made);
	}
	code = parse_end(parse);
	if (code != PL_OK)
		csi_node_drop(parse->model, &made);
	else
		*out = made;
	return code;
}

void csi_node_drop(struct model *model, struct csi_node *node)
{
	for (uint32_t i = 0; i < node->count; i++)
		strings_unref(&model->strings, node->limits[i].driver);
	strings_unref(&model->strings, node->node);
	free(node->limits);
	*node = (struct csi_node){0};
}

enum pl_code csi_driver_parse(struct parse *parse, struct pl_span json,
                              struct csi_driver *out, struct pl_err *err)
{
	struct csi_driver made = {.attaches = true};
	struct pl_json spec;
	enum pl_code code;

	parse_begin(parse, json, err);
	spec = reader_object(&parse->reader, parse->root, "spec");
	if (reader_has(spec, "attachRequired"))
		made.attaches = reader_bool(&parse->reader, spec, "attachRequired");
	made.has_capacity = reader_bool(&parse->reader, spec, "storageCapacity");
	(void)parse_checks(parse, VALIDATE_SUBDOMAIN, false);
	if (parse_makes(parse))
		made.name = maker_text(&parse->maker, parse->meta.name);
	code = parse_end(parse);
	if (code == PL_OK)
		*out = made;
	return code;
}

void csi_driver_drop(struct model *model, struct csi_driver *driver)
{
	strings_unref(&model->strings, driver->name);
	*driver = (struct csi_driver){0};
}

static int64_t read_bytes(struct parse *parse, const char *name, struct pl_quantity *out)
{
	int64_t bytes = 0;

	if (!reader_amount(&parse->reader, parse->root, name, out))
		return -1;
	(void)resource_units(out->nano, &bytes);
	return bytes;
}

enum pl_code csi_capacity_parse(struct parse *parse, struct pl_span json,
                                struct csi_capacity *out, struct pl_err *err)
{
	struct csi_capacity made = {0};
	struct pl_quantity bytes = {0}, bytes_max = {0};
	struct draft_selector nodes;
	struct pl_span class;
	enum pl_code code;

	parse_begin(parse, json, err);
	class = reader_text(&parse->reader, parse->root, "storageClassName");
	nodes = reader_selector(&parse->reader, parse->root, "nodeTopology");
	made.bytes = read_bytes(parse, "capacity", &bytes);
	made.bytes_max = read_bytes(parse, "maximumVolumeSize", &bytes_max);
	if (parse_checks(parse, VALIDATE_SUBDOMAIN, true)) {
		validate_text(&parse->check, "storageClassName", text_subdomain(class));
		validate_selector(&parse->check, "nodeTopology", &nodes);
		validate_not_negative(&parse->check, "capacity", bytes);
		validate_not_negative(&parse->check, "maximumVolumeSize", bytes_max);
	}
	if (parse_makes(parse)) {
		made.namespace = maker_text(&parse->maker, parse->meta.namespace);
		made.name = maker_text(&parse->maker, parse->meta.name);
		made.class = maker_text(&parse->maker, class);
		made.nodes = selector_make(&parse->maker, nodes);
	}
	code = parse_end(parse);
	if (code != PL_OK)
		csi_capacity_drop(parse->model, &made);
	else
		*out = made;
	return code;
}

void csi_capacity_drop(struct model *model, struct csi_capacity *capacity)
{
	strings_unref(&model->strings, capacity->namespace);
	strings_unref(&model->strings, capacity->name);
	strings_unref(&model->strings, capacity->class);
	model_unref(model, MODEL_SELECTORS, capacity->nodes);
	*capacity = (struct csi_capacity){0};
}
