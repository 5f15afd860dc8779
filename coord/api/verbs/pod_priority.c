#include "coord/api/verbs/pod_priority.h"

#include <stdlib.h>

#include "shardsched/model/object.h"

struct class_value {
	struct pl_span name; /* empty: no class */
	int64_t value;
	struct pl_span policy; /* quoted; empty: absent */
};

static const struct schema_resource *classes(void)
{
	return schema_resource_find(PL_SPAN_LIT("scheduling.k8s.io"), PL_SPAN_LIT("v1"),
	                            PL_SPAN_LIT("priorityclasses"));
}

static void class_of(const struct object *object, struct class_value *out)
{
	struct pl_span value = object->part[OBJECT_MAIN]->value;
	struct pl_span number = object_member(value, "value");

	out->name = object->name;
	out->value = number.len == 0 ? 0 : strtoll((const char *)number.at, NULL, 10);
	out->policy = object_member(value, "preemptionPolicy");
}

/* The class with globalDefault; of several the lowest. */
static bool default_class(struct request *request, struct class_value *out)
{
	char prefix[SOURCE_ORDER_MAX];
	size_t len = source_prefix(classes(), (struct pl_span){0}, (struct pl_span){0},
	                           prefix);
	struct source_walk walk;
	struct object object;
	bool found = false;

	if (source_walk_begin(request->api->sources, classes(), pl_span(prefix, len),
	                      (struct pl_span){0}, 0, &walk) != PL_OK)
		return false;
	while (source_walk_next(&walk, &object)) {
		struct class_value value;

		if (!pl_span_eq(object_member(object.part[OBJECT_MAIN]->value,
		                              "globalDefault"),
		                PL_SPAN_LIT("true")))
			continue;
		class_of(&object, &value);
		if (!found || value.value < out->value)
			*out = value;
		found = true;
	}
	return found;
}

static bool named_class(struct request *request, struct pl_span name,
                        struct class_value *out)
{
	struct object object;

	if (pl_span_eq(name, PL_SPAN_LIT("system-node-critical"))) {
		*out = (struct class_value){.name = name, .value = 2000001000};
		return true;
	}
	if (pl_span_eq(name, PL_SPAN_LIT("system-cluster-critical"))) {
		*out = (struct class_value){.name = name, .value = 2000000000};
		return true;
	}
	if (!source_get(request->api->sources, classes(), (struct pl_span){0}, name,
	                &object))
		return false;
	class_of(&object, out);
	return true;
}

static bool forbid(struct request *request, const char *why)
{
	struct api_status status = status_forbidden(
		&request->arena, request_about(request), pl_span_str(why));

	answer_status(request, &status);
	return false;
}

bool pod_admit_priority(struct change *change, struct cJSON *spec)
{
	struct request *request = change->request;
	struct pl_arena *arena = &request->arena;
	struct pl_span name = meta_text(spec, "priorityClassName");
	struct cJSON *own = json_get(spec, "priority");
	struct class_value value = {0};
	double given = 0;
	bool ok = true;

	if (name.len > 0 && !named_class(request, name, &value))
		return !admission_wait(change) &&
		       forbid(request,
		              pl_arena_printf(arena,
		                              "no PriorityClass with name " PL_SPAN_FMT
		                              " was found",
		                              PL_SPAN_ARG(name)));
	if (name.len == 0 && default_class(request, &value))
		ok = meta_set(change, spec, "priorityClassName", value.name);
	if (own != NULL &&
	    pl_json_as_double(json_tree_value(&change->wanted, own), &given, NULL) ==
	            PL_OK &&
	    (int64_t)given != value.value)
		return forbid(
			request,
			pl_arena_printf(
				arena,
				"the integer value of priority (%lld) must not be "
				"provided in pod spec; priority admission controller "
				"computed %lld from the given PriorityClass name",
				(long long)given, (long long)value.value));
	ok = ok && json_set(arena, spec, "priority",
	                    json_new_number(arena, (double)value.value));
	if (value.policy.len > 2 && json_get(spec, "preemptionPolicy") == NULL)
		ok = ok && meta_set(change, spec, "preemptionPolicy",
		                    pl_span(value.policy.at + 1, value.policy.len - 2));
	if (!ok)
		answer_no_memory(request);
	return ok;
}
