#include "shardsched/model/node.h"

#include "shardsched/model/model.h"
#include "shardsched/model/reader.h"
#include "shardsched/model/validate.h"

static void read_taints(struct reader *reader, struct pl_json spec,
                        struct node_draft *out)
{
	uint32_t i = 0;
	struct pl_json list = reader_list(reader, spec, "taints", &out->taints.count);

	out->taints.at = reader_alloc(reader, out->taints.count, sizeof *out->taints.at);
	if (out->taints.at == NULL)
		return;
	PL_JSON_EACH (item, list) {
		out->taints.at[i++] = (struct draft_taint){
			.key = reader_text(reader, item, "key"),
			.value = reader_text(reader, item, "value"),
			.effect = reader_text(reader, item, "effect"),
			.added_ms = reader_time(reader, item, "timeAdded"),
		};
	}
}

static void read_images(struct reader *reader, struct pl_json status,
                        struct node_draft *out)
{
	uint32_t i = 0;
	struct pl_json list = reader_list(reader, status, "images", &out->images.count);

	out->images.at = reader_alloc(reader, out->images.count, sizeof *out->images.at);
	if (out->images.at == NULL)
		return;
	PL_JSON_EACH (item, list) {
		out->images.at[i++] = (struct draft_image){
			.names = reader_texts(reader, item, "names"),
			.bytes = reader_int64(reader, item, "sizeBytes"),
		};
	}
}

enum pl_code node_draft_read(struct pl_arena *arena, struct pl_span json,
                             struct node_draft *out, struct pl_err *err)
{
	struct reader reader;
	struct pl_json root = reader_init(&reader, arena, json, err), spec, status;

	*out = (struct node_draft){0};
	out->meta = reader_meta(&reader, root);
	spec = reader_object(&reader, root, "spec");
	out->unschedulable = reader_bool(&reader, spec, "unschedulable");
	read_taints(&reader, spec, out);
	status = reader_object(&reader, root, "status");
	out->capacity = reader_amounts(&reader, status, "capacity");
	out->allocatable = reader_amounts(&reader, status, "allocatable");
	if (!out->allocatable.set)
		out->allocatable = out->capacity;
	read_images(&reader, status, out);
	return reader.code;
}

static void check_taints(struct validate *v, struct draft_taints taints)
{
	for (uint32_t i = 0; i < taints.count; i++) {
		const struct draft_taint *taint = &taints.at[i];
		size_t mark = validate_index(v, "taints", i);

		validate_text(v, "key", text_key(taint->key));
		validate_text(v, "value", text_value(taint->value));
		validate_taint_effect(v, "effect", taint->effect, false);
		for (uint32_t j = 0; j < i; j++)
			if (pl_span_eq(taints.at[j].key, taint->key) &&
			    pl_span_eq(taints.at[j].effect, taint->effect)) {
				validate_add(
					v, NULL, FIELD_DUPLICATE,
					"a taint with this key and effect comes before");
				break;
			}
		validate_back(v, mark);
	}
}

static void check_amounts(struct validate *v, const char *name,
                          struct draft_amounts amounts)
{
	size_t mark = validate_into(v, name);

	for (uint32_t i = 0; i < amounts.count; i++) {
		size_t before = validate_into_span(v, amounts.at[i].name);

		validate_amount(v, &amounts.at[i]);
		validate_back(v, before);
	}
	validate_back(v, mark);
}

void node_validate(const struct node_draft *draft, enum validate_scope scope,
                   struct field_errors *out)
{
	struct validate v;
	size_t mark;

	validate_init(&v, scope, out);
	validate_meta(&v, &draft->meta, VALIDATE_SUBDOMAIN, false);
	mark = validate_into(&v, "spec");
	check_taints(&v, draft->taints);
	validate_back(&v, mark);
	mark = validate_into(&v, "status");
	check_amounts(&v, "capacity", draft->capacity);
	if (draft->allocatable.at != draft->capacity.at)
		check_amounts(&v, "allocatable", draft->allocatable);
	validate_back(&v, mark);
}

static enum pl_code sums_of(struct draft_amounts amounts, struct resource_sums *out,
                            struct pl_err *err)
{
	int64_t ignored;

	for (uint32_t i = 0; i < amounts.count; i++) {
		const struct draft_amount *amount = &amounts.at[i];

		if (!resource_sums_add(out, amount->name, amount->quantity.nano))
			return pl_err_set(err, PL_LIMIT,
			                  "status.allocatable: want at most %d resources",
			                  RESOURCE_NAMES_MAX);
		if (pl_span_eq(amount->name, PL_SPAN_LIT("cpu")) &&
		    !resource_milli(amount->quantity.nano, &ignored))
			return pl_err_set(err, PL_LIMIT,
			                  "status.allocatable.cpu: too large in "
			                  "thousandths");
	}
	return PL_OK;
}

enum pl_code node_make(struct model *model, struct pl_arena *arena,
                       const struct node_draft *draft, struct node *out,
                       struct pl_err *err)
{
	struct resource_sums sums = {0};
	struct node made = {.unschedulable = draft->unschedulable};
	struct maker maker;
	enum pl_code code;

	sums.at = pl_arena_zalloc(arena, RESOURCE_NAMES_MAX, sizeof *sums.at);
	if (sums.at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a node");
	code = sums_of(draft->allocatable, &sums, err);
	if (code != PL_OK)
		return code;
	maker_init(&maker, model, arena);
	made.name = maker_text(&maker, draft->meta.name);
	made.uid = maker_name(&maker, draft->meta.uid);
	made.labels = labels_make(&maker, draft->meta.labels);
	made.taints = taints_make(&maker, draft->taints);
	made.tainted = taint_times_make(&maker, draft->taints);
	made.allocatable = resources_make(&maker, &sums, true);
	made.images = images_make(&maker, draft->images);
	if (maker.code != PL_OK) {
		node_drop(model, &made);
		return pl_err_set(err, maker.code, "keep a node");
	}
	*out = made;
	return PL_OK;
}

void node_drop(struct model *model, struct node *node)
{
	strings_unref(&model->strings, node->name);
	strings_unref(&model->strings, node->uid);
	model_unref(model, MODEL_LABELS, node->labels);
	model_unref(model, MODEL_TAINTS, node->taints);
	model_unref(model, MODEL_TAINT_TIMES, node->tainted);
	model_unref(model, MODEL_RESOURCES, node->allocatable);
	model_unref(model, MODEL_IMAGES, node->images);
	*node = (struct node){0};
}

bool node_is_domain(const struct model *model, uint32_t key)
{
	return pl_span_eq(model_text(model, key), PL_SPAN_LIT("kubernetes.io/hostname"));
}
