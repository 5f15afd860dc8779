/* Cluster objects: each that does not parse is reported, and the labels of namespaces are
 * kept, since rules select by them. */
#include <stdlib.h>

#include "coord/service/fsck/fsck_int.h"
#include "shardsched/records/cluster_object.h"
#include "store/base/alloc.h"

static struct fsck_labels *labels_at(struct pl_map_node *at)
{
	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct fsck_labels, by_name);
}

static void keep_namespace(struct fsck_core *core, const struct namespace *it)
{
	struct fsck_labels *kept = pl_calloc(1, sizeof *kept);

	if (kept == NULL) {
		fsck_no_memory(core);
		return;
	}
	kept->name = strings_ref(&core->model.strings, it->name);
	kept->labels = model_ref(&core->model, MODEL_LABELS, it->labels);
	if (pl_map_add(&core->labels, &kept->by_name,
	               pl_span(&kept->name, sizeof kept->name)) == NULL)
		return;
	strings_unref(&core->model.strings, kept->name);
	model_unref(&core->model, MODEL_LABELS, kept->labels);
	free(kept);
}

void fsck_feed_object(struct fsck_core *core, const struct kv_record *record,
                      const struct keys_id *id)
{
	struct parse parse = {.model = &core->model, .arena = &core->scratch};
	enum cluster_object_kind kind = cluster_object_kind_of(id);
	struct cluster_object object;
	struct pl_err err = {0};
	enum pl_code code;

	if (kind == CLUSTER_OBJECT_KINDS)
		return;
	if (kind == CLUSTER_NAMESPACE && record->mod_revision > core->labels_rev)
		core->labels_rev = record->mod_revision;
	code = cluster_object_read(id, &parse, record->value, &object, &err);
	if (code == PL_OK) {
		if (kind == CLUSTER_NAMESPACE)
			keep_namespace(core, &object.as.namespace);
		cluster_object_drop(&core->model, &object);
	} else if (code == PL_NOMEM) {
		fsck_no_memory(core);
	} else {
		fsck_report(core, FSCK_OBJECT_MALFORMED, record->key, (struct pl_span){0},
		            "it is malformed: %s", err.msg);
	}
}

const struct labels *fsck_namespace_labels(struct fsck_core *core, uint32_t name)
{
	const struct fsck_labels *kept =
		labels_at(pl_map_get(&core->labels, pl_span(&name, sizeof name)));
	struct parse parse = {.model = &core->model, .arena = &core->scratch};
	const struct labels *labels;
	struct namespace made;

	if (kept != NULL)
		return model_ref(&core->model, MODEL_LABELS, kept->labels);
	if (cluster_namespace_default(&parse, name, &made) != PL_OK) {
		fsck_no_memory(core);
		return NULL;
	}
	labels = model_ref(&core->model, MODEL_LABELS, made.labels);
	namespace_drop(&core->model, &made);
	return labels;
}

void fsck_objects_done(struct fsck_core *core)
{
	PL_MAP_EACH (at, &core->labels) {
		struct fsck_labels *kept = labels_at(at);

		pl_map_del(&core->labels, at);
		strings_unref(&core->model.strings, kept->name);
		model_unref(&core->model, MODEL_LABELS, kept->labels);
		free(kept);
	}
	pl_map_done(&core->labels);
}
