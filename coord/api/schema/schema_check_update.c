/* Fields and parts of them that an update may not change. */
#include <string.h>

#include "coord/api/schema/schema_check_int.h"
#include "coord/api/schema/schema_types.h"

enum { PAIRS_MAX = 1 << 18 };

/* Fields whose refusal has words of its own. */
static const struct {
	const struct schema_type *type;
	const char *name, *words;
} refusals[] = {
	{&schema_storage_storage_class, "parameters",
         "updates to parameters are forbidden."},
	{&schema_storage_storage_class, "provisioner",
         "updates to provisioner are forbidden."},
	{&schema_storage_storage_class, "reclaimPolicy",
         "updates to reclaimPolicy are forbidden."},
	{&schema_scheduling_priority_class, "value", "may not be changed in an update."},
};

bool schema_check_too_many(struct schema_report *report, const struct schema_place *place,
                           struct pl_json after, struct pl_json before)
{
	size_t count = pl_json_count(after);

	if (count == 0 || pl_json_count(before) <= PAIRS_MAX / count)
		return false;
	if (!json_equal(after, before))
		schema_report_text(report, place, SCHEMA_FORBIDDEN_FAULT, PL_SPAN_LIT(""),
		                   "there are too many to be changed");
	return true;
}

static const char *refusal_of(const struct schema_type *type, const char *name)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		if (refusals[i].type == type && strcmp(refusals[i].name, name) == 0)
			return refusals[i].words;
	return NULL;
}

/* The template of a job and elements of lists have no identity that could be kept: only
 * the object's own members are compared. Metadata has its own check. */
static bool has_fixed_members(const struct schema_field *field)
{
	return field->kind == SCHEMA_OBJECT && field->shape == SCHEMA_ONE &&
	       (field->flags & SCHEMA_STATUS) == 0 &&
	       field->type != &schema_meta_object_meta &&
	       field->type != &schema_batch_job_template_spec;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void check_fixed(const struct schema_type *type, struct pl_json value,
                        struct pl_json old, const struct schema_place *up,
                        struct schema_report *report)
{
	for (const struct schema_field *field = type->fields; field->name != NULL;
	     field++) {
		struct schema_place place = {.up = up, .name = field->name};
		bool fixed = (field->flags & SCHEMA_IMMUTABLE) != 0;
		struct pl_json after, before;
		const char *words;

		if (!fixed && !has_fixed_members(field))
			continue;
		after = pl_json_member(value, field->name);
		before = pl_json_member(old, field->name);
		words = fixed ? refusal_of(type, field->name) : NULL;
		if (!fixed)
			check_fixed(field->type, after, before, &place, report);
		else if (!json_equal(after, before))
			schema_report_add(report, &place,
			                  words == NULL ? SCHEMA_INVALID_FAULT
			                                : SCHEMA_FORBIDDEN_FAULT,
			                  after,
			                  words == NULL ? "field is immutable" : words);
	}
}

void schema_check_update(const struct schema_object *object, struct pl_json old,
                         struct schema_report *report)
{
	struct schema_place place = {.up = NULL};

	schema_check_meta_update(object, old, report);
	check_fixed(object->resource->type, object->value, old, &place, report);
	schema_check_rules_update(object, old, report);
}
