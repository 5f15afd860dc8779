/*
 * Objects that were applied by kubectl on the client before: the annotation with the last
 * configuration says what kubectl owns, so kubectl takes that over without a conflict.
 */
#include <cjson/cJSON.h>
#include <string.h>

#include "coord/api/patch/apply_int.h"
#include "store/base/json_out.h"

static const char *annotation_of(struct pl_json object)
{
	struct pl_json annotations =
		pl_json_member(pl_json_member(object, "metadata"), "annotations");
	const char *text = "";

	if (pl_json_as_string(pl_json_member(annotations, APPLY_ANNOTATION), &text,
	                      NULL) != PL_OK)
		return NULL;
	return text[0] == 0 ? NULL : text;
}

static bool is_kubectl(const struct apply_run *run)
{
	return strcmp(run->options->by.manager, "kubectl") == 0;
}

struct owned_fields apply_last_applied(struct apply_run *run)
{
	const char *text = annotation_of(run->live), *version = "";
	struct pl_json last = {0};
	struct typed_changes changes;
	struct owned_fields fields = {0}, changed;

	if (!is_kubectl(run) || text == NULL)
		return fields;
	if (pl_json_parse(run->maker.arena, pl_span_str(text), NULL, &last, NULL) !=
	            PL_OK ||
	    pl_json_type(last) != PL_JSON_OBJECT ||
	    pl_json_as_string(pl_json_member(last, "apiVersion"), &version, NULL) !=
	            PL_OK ||
	    strcmp(version, run->options->by.api_version) != 0)
		return fields;
	/* A field that has another value in the object is not kubectl's any more. */
	fields = typed_fields(&run->maker, run->root, last);
	changes = typed_compare(&run->maker, run->root, last, run->live);
	changed = field_set_union(&run->maker, changes.modified, changes.added);
	changed = field_set_union(&run->maker, changed, changes.removed);
	return field_set_minus(&run->maker, fields, changed);
}

/* The configuration as text, without the annotation itself. */
static struct cJSON *config_text(struct apply_run *run)
{
	struct pl_arena *arena = run->maker.arena;
	struct json_tree config = {0};
	struct cJSON *text = NULL, *annotations;
	struct pl_json_out out;
	struct pl_buf buf;

	if (json_tree_copy(arena, run->config, &config) != PL_OK)
		return NULL;
	annotations = json_get(json_get(config.root, "metadata"), "annotations");
	if (annotations != NULL && json_remove(annotations, APPLY_ANNOTATION) &&
	    annotations->child == NULL)
		(void)json_remove(json_get(config.root, "metadata"), "annotations");
	pl_buf_init(&buf, 4 << 20);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, json_tree_root(&config));
	if (pl_json_out_done(&out) == PL_OK && pl_buf_add_str(&buf, "\n") == PL_OK)
		text = json_new_string(arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	return text;
}

bool apply_update_annotation(struct apply_run *run)
{
	struct cJSON *annotations;

	if (!is_kubectl(run) || annotation_of(json_tree_root(&run->object)) == NULL)
		return true;
	annotations = json_get(json_get(run->object.root, "metadata"), "annotations");
	return json_set(run->maker.arena, annotations, APPLY_ANNOTATION,
	                config_text(run));
}
