#include "shardsched/model/volume.h"

#define CLASS_ANNOTATION "volume.beta.kubernetes.io/storage-class"
#define BOUND_ANNOTATION "pv.kubernetes.io/bind-completed"
#define NODE_ANNOTATION "volume.kubernetes.io/selected-node"

static const char *const modes[] = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany",
                                    "ReadWriteOncePod", NULL};

static uint16_t modes_of(struct draft_texts texts)
{
	unsigned bits = 0;

	for (uint32_t i = 0; i < texts.count; i++)
		for (unsigned j = 0; modes[j] != NULL; j++)
			if (pl_span_eq(texts.at[i], pl_span_str(modes[j])))
				bits |= 1U << j;
	return (uint16_t)bits;
}

static uint8_t phase_of(struct pl_span word)
{
	static const char *const words[] = {"Pending",  "Available", "Bound",
	                                    "Released", "Failed",    "Lost"};

	for (unsigned i = 0; i < VOLUME_OTHER; i++)
		if (pl_span_eq(word, pl_span_str(words[i])))
			return (uint8_t)i;
	return word.len == 0 ? VOLUME_PENDING : VOLUME_OTHER;
}

static const struct draft_amount *storage_of(struct draft_amounts amounts)
{
	for (uint32_t i = 0; i < amounts.count; i++)
		if (pl_span_eq(amounts.at[i].name, PL_SPAN_LIT("storage")))
			return &amounts.at[i];
	return NULL;
}

/* The fields that volumes and claims share. */
struct volume_shape {
	struct draft_texts modes;
	struct draft_amounts amounts;
	struct pl_span class;
	struct pl_span mode;
	struct pl_span phase;
};

static void check_modes(struct validate *v, const struct volume_shape *shape)
{
	if (shape->modes.count == 0)
		validate_add(v, "accessModes", FIELD_REQUIRED, "want a mode");
	for (uint32_t i = 0; i < shape->modes.count; i++)
		validate_word(v, "accessModes", shape->modes.at[i], modes);
	if ((modes_of(shape->modes) & VOLUME_RWOP) != 0 && shape->modes.count > 1)
		validate_add(v, "accessModes", FIELD_FORBIDDEN,
		             "want no other mode with ReadWriteOncePod");
}

static void check_shape(struct validate *v, const struct volume_shape *shape,
                        const char *amounts)
{
	static const char *const kinds[] = {"Block", "Filesystem", NULL};
	const struct draft_amount *storage = storage_of(shape->amounts);
	size_t mark = validate_into(v, "spec"), before;

	check_modes(v, shape);
	before = validate_into(v, amounts);
	if (storage == NULL)
		validate_add(v, "storage", FIELD_REQUIRED, "want a size");
	else if (storage->quantity.nano <= 0)
		validate_add(v, "storage", FIELD_INVALID, "want more than 0");
	validate_back(v, before);
	if (shape->class.len > 0)
		validate_text(v, "storageClassName", text_subdomain(shape->class));
	if (shape->mode.len > 0)
		validate_word(v, "volumeMode", shape->mode, kinds);
	validate_back(v, mark);
}

static int64_t bytes_of(const struct volume_shape *shape)
{
	const struct draft_amount *storage = storage_of(shape->amounts);
	int64_t bytes = 0;

	if (storage != NULL)
		(void)resource_units(storage->quantity.nano, &bytes);
	return bytes;
}

static struct volume_shape read_shape(struct parse *parse, struct pl_json spec,
                                      struct pl_json amounts, const char *name)
{
	struct pl_json status = reader_object(&parse->reader, parse->root, "status");
	struct volume_shape shape = {
		.modes = reader_texts(&parse->reader, spec, "accessModes"),
		.amounts = reader_amounts(&parse->reader, amounts, name),
		.class = reader_text(&parse->reader, spec, "storageClassName"),
		.mode = reader_text(&parse->reader, spec, "volumeMode"),
		.phase = reader_text(&parse->reader, status, "phase"),
	};
	struct pl_span old =
		draft_get(parse->meta.annotations, PL_SPAN_LIT(CLASS_ANNOTATION));

	if (old.at != NULL)
		shape.class = old; /* the annotation comes first, as in Kubernetes */
	return shape;
}

static const struct {
	const char *name;
	const char *id; /* the member that names it */
	enum volume_source source;
} sources[] = {
	{"csi", "volumeHandle", VOLUME_ON_CSI},
	{"local", NULL, VOLUME_ON_LOCAL},
	{"awsElasticBlockStore", "volumeID", VOLUME_ON_AWS},
	{"gcePersistentDisk", "pdName", VOLUME_ON_GCE},
	{"azureDisk", "diskName", VOLUME_ON_AZURE},
};

static void read_source(struct parse *parse, struct pl_json spec, struct volume *out)
{
	struct reader *reader = &parse->reader;

	for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
		struct pl_json from = reader_object(reader, spec, sources[i].name);
		struct pl_span id = {0};

		if (from.node == NULL || out->source != VOLUME_ON_OTHER)
			continue;
		out->source = (uint8_t)sources[i].source;
		if (sources[i].id != NULL)
			id = reader_text(reader, from, sources[i].id);
		if (reader->code == PL_OK)
			out->handle = maker_name(&parse->maker, id);
	}
}

static void read_volume(struct parse *parse, struct pl_json spec, struct volume *out)
{
	struct reader *reader = &parse->reader;
	struct maker *maker = &parse->maker;
	struct pl_json claim = reader_object(reader, spec, "claimRef");
	struct pl_json csi = reader_object(reader, spec, "csi");
	struct pl_span claim_namespace = reader_text(reader, claim, "namespace");
	struct pl_span claim_name = reader_text(reader, claim, "name");
	struct pl_span claim_uid = reader_text(reader, claim, "uid");
	struct pl_span driver = reader_text(reader, csi, "driver");

	if (reader->code != PL_OK)
		return;
	out->claim_namespace = maker_name(maker, claim_namespace);
	out->claim_name = maker_name(maker, claim_name);
	out->claim_uid = maker_name(maker, claim_uid);
	out->driver = maker_name(maker, driver);
	read_source(parse, spec, out);
}

static void make_volume(struct parse *parse, const struct volume_shape *shape,
                        struct draft_node_terms reachable, struct volume *out)
{
	struct maker *maker = &parse->maker;

	out->name = maker_text(maker, parse->meta.name);
	out->uid = maker_name(maker, parse->meta.uid);
	out->labels = labels_make(maker, parse->meta.labels);
	out->reachable = node_selector_make(maker, reachable);
	out->bytes = bytes_of(shape);
	out->class = maker_text(maker, shape->class);
	out->modes = modes_of(shape->modes);
	out->phase = phase_of(shape->phase);
	out->block = pl_span_eq(shape->mode, PL_SPAN_LIT("Block"));
	out->deleted = parse->meta.deleted_ms != 0;
}

enum pl_code volume_parse(struct parse *parse, struct pl_span json, struct volume *out,
                          struct pl_err *err)
{
	struct volume made = {0};
	struct draft_node_terms reachable;
	struct pl_json spec, affinity;
	struct volume_shape shape;
	enum pl_code code;

	parse_begin(parse, json, err);
	spec = reader_object(&parse->reader, parse->root, "spec");
	affinity = reader_object(&parse->reader, spec, "nodeAffinity");
	reachable = reader_node_selector(&parse->reader, affinity, "required");
	shape = read_shape(parse, spec, spec, "capacity");
	if (parse_checks(parse, VALIDATE_SUBDOMAIN, false)) {
		check_shape(&parse->check, &shape, "capacity");
		if (reachable.set)
			validate_node_selector(&parse->check,
			                       "spec.nodeAffinity.required", &reachable);
	}
	if (parse_makes(parse)) {
		read_volume(parse, spec, &made);
		make_volume(parse, &shape, reachable, &made);
	}
	code = parse_end(parse);
	if (code != PL_OK)
		volume_drop(parse->model, &made);
	else
		*out = made;
	return code;
}

static void drop_texts(struct model *model, const uint32_t *id, size_t count)
{
	for (size_t i = 0; i < count; i++)
		strings_unref(&model->strings, id[i]);
}

void volume_drop(struct model *model, struct volume *volume)
{
	const uint32_t texts[] = {volume->name,       volume->uid,
	                          volume->class,      volume->driver,
	                          volume->handle,     volume->claim_namespace,
	                          volume->claim_name, volume->claim_uid};

	drop_texts(model, texts, sizeof texts / sizeof texts[0]);
	model_unref(model, MODEL_LABELS, volume->labels);
	model_unref(model, MODEL_NODE_SELECTORS, volume->reachable);
	*volume = (struct volume){0};
}

static uint32_t controller_of(struct maker *maker, const struct draft_meta *meta)
{
	for (uint32_t i = 0; i < meta->owner_count; i++)
		if (meta->owners[i].controller)
			return maker_name(maker, meta->owners[i].uid);
	return 0;
}

static void make_claim(struct parse *parse, const struct volume_shape *shape,
                       struct draft_selector selector, struct claim *out)
{
	struct maker *maker = &parse->maker;
	struct draft_pairs annotations = parse->meta.annotations;

	out->namespace = maker_text(maker, parse->meta.namespace);
	out->name = maker_text(maker, parse->meta.name);
	out->uid = maker_name(maker, parse->meta.uid);
	out->class = maker_text(maker, shape->class);
	out->owner_uid = controller_of(maker, &parse->meta);
	if (selector.set)
		out->selector = selector_make(maker, selector);
	out->selected_node =
		maker_name(maker, draft_get(annotations, PL_SPAN_LIT(NODE_ANNOTATION)));
	out->bind_completed =
		draft_get(annotations, PL_SPAN_LIT(BOUND_ANNOTATION)).at != NULL;
	out->bytes = bytes_of(shape);
	out->modes = modes_of(shape->modes);
	out->phase = phase_of(shape->phase);
	out->block = pl_span_eq(shape->mode, PL_SPAN_LIT("Block"));
	out->deleted = parse->meta.deleted_ms != 0;
}

enum pl_code claim_parse(struct parse *parse, struct pl_span json, struct claim *out,
                         struct pl_err *err)
{
	struct claim made = {0};
	struct draft_selector selector;
	struct pl_json spec, resources;
	struct pl_span volume;
	struct volume_shape shape;
	enum pl_code code;

	parse_begin(parse, json, err);
	spec = reader_object(&parse->reader, parse->root, "spec");
	resources = reader_object(&parse->reader, spec, "resources");
	selector = reader_selector(&parse->reader, spec, "selector");
	volume = reader_text(&parse->reader, spec, "volumeName");
	shape = read_shape(parse, spec, resources, "requests");
	if (parse_checks(parse, VALIDATE_SUBDOMAIN, true)) {
		validate_selector(&parse->check, "spec.selector", &selector);
		check_shape(&parse->check, &shape, "resources");
	}
	if (parse_makes(parse)) {
		make_claim(parse, &shape, selector, &made);
		made.volume = maker_name(&parse->maker, volume);
	}
	code = parse_end(parse);
	if (code != PL_OK)
		claim_drop(parse->model, &made);
	else
		*out = made;
	return code;
}

void claim_drop(struct model *model, struct claim *claim)
{
	const uint32_t texts[] = {claim->namespace,    claim->name,   claim->uid,
	                          claim->class,        claim->volume, claim->owner_uid,
	                          claim->selected_node};

	drop_texts(model, texts, sizeof texts / sizeof texts[0]);
	model_unref(model, MODEL_SELECTORS, claim->selector);
	*claim = (struct claim){0};
}
