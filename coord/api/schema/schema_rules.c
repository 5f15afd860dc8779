/* Rules of single types about updates: they look at more than one field. */
#include <string.h>

#include "coord/api/schema/schema_check_int.h"
#include "coord/api/schema/schema_types.h"

struct rule {
	struct schema_report *report;
	struct pl_json after, before; /* objects */
};

static const struct schema_place root = {.up = NULL};
static const struct schema_place spec_place = {.up = &root, .name = "spec"};

static bool is_among(const char *name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

/* The first member that differs and is not among names. Absent: none. */
static const char *changed_member(struct pl_json after, struct pl_json before,
                                  const char *const *names)
{
	PL_JSON_EACH (item, after)
		if (!is_among(pl_json_key(item), names) &&
		    !json_equal(item, pl_json_member(before, pl_json_key(item))))
			return pl_json_key(item);
	PL_JSON_EACH (item, before)
		if (!is_among(pl_json_key(item), names) &&
		    pl_json_member(after, pl_json_key(item)).node == NULL)
			return pl_json_key(item);
	return NULL;
}

static void forbid(const struct rule *rule, const struct schema_place *place,
                   const char *words)
{
	if (words == NULL)
		rule->report->code = PL_NOMEM;
	else
		schema_report_add(rule->report, place, SCHEMA_FORBIDDEN_FAULT,
		                  rule->after, words);
}

static struct pl_json spec_of(struct pl_json object)
{
	return pl_json_member(object, "spec");
}

/* -- pods ------------------------------------------------------------------------------ */

#define POD_FIELDS                                                                        \
	"pod updates may not change fields other than `spec.containers[*].image`,"        \
	"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` " \
	"(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "  \
	"(allow it to be set to 1 if it was previously negative)"

static bool is_gated(struct pl_json pod)
{
	return pl_json_first(pl_json_member(spec_of(pod), "schedulingGates")).node !=
	       NULL;
}

/* False: there are more or fewer than before, and nothing else is checked. */
static bool check_containers(const struct rule *rule, const char *name)
{
	static const char *const image[] = {"image", NULL};
	struct schema_place place = {.up = &spec_place, .name = name};
	struct pl_json after = pl_json_member(spec_of(rule->after), name);
	struct pl_json before = pl_json_member(spec_of(rule->before), name);
	struct pl_json old = pl_json_first(before);

	if (pl_json_count(after) != pl_json_count(before)) {
		forbid(rule, &place, "pod updates may not add or remove containers");
		return false;
	}
	PL_JSON_EACH (item, after) {
		const char *member = changed_member(item, old, image);

		if (member != NULL)
			forbid(rule, &spec_place,
			       pl_arena_printf(rule->report->arena,
			                       "%s\nchanged: spec.%s: %s", POD_FIELDS,
			                       name, member));
		old = pl_json_next(old);
	}
	return true;
}

static void check_deadline(const struct rule *rule)
{
	struct schema_place place = {.up = &spec_place, .name = "activeDeadlineSeconds"};
	struct pl_json after = pl_json_member(spec_of(rule->after), place.name);
	struct pl_json before = pl_json_member(spec_of(rule->before), place.name);
	const char *words = NULL;
	double now = 0, was = 0;

	if (after.node == NULL && before.node != NULL)
		words = "must not update from a positive integer to nil value";
	else if (after.node != NULL && (pl_json_as_double(after, &now, NULL) != PL_OK ||
	                                now < 0 || now > INT32_MAX))
		words = "must be between 0 and 2147483647, inclusive";
	else if (before.node != NULL && pl_json_as_double(before, &was, NULL) == PL_OK &&
	         was < now)
		words = "must be less than or equal to previous value";
	if (words != NULL)
		schema_report_add(rule->report, &place, SCHEMA_INVALID_FAULT, after,
		                  words);
}

static bool is_kept(struct pl_json toleration, struct pl_json list)
{
	static const char *const seconds[] = {"tolerationSeconds", NULL};

	PL_JSON_EACH (item, list)
		if (changed_member(item, toleration, seconds) == NULL)
			return true;
	return false;
}

static void check_tolerations(const struct rule *rule)
{
	struct schema_place place = {.up = &spec_place, .name = "tolerations"};
	struct pl_json after = pl_json_member(spec_of(rule->after), place.name);
	struct pl_json before = pl_json_member(spec_of(rule->before), place.name);

	if (schema_check_too_many(rule->report, &place, after, before))
		return;
	PL_JSON_EACH (item, before)
		if (!is_kept(item, after)) {
			forbid(rule, &place,
			       "existing toleration can not be modified except its tolerationSeconds");
			return;
		}
}

static void check_gate(const struct rule *rule, const struct schema_place *place,
                       struct pl_json gate, struct pl_json before)
{
	const char *name = "";

	PL_JSON_EACH (item, before)
		if (json_equal(item, gate))
			return;
	if (pl_json_string(gate, "name", PL_JSON_OPTIONAL, &name, NULL) != PL_OK)
		name = "";
	forbid(rule, place,
	       pl_arena_printf(
		       rule->report->arena,
		       "only deletion is allowed, but found new scheduling gate '%s'",
		       name));
}

static void check_gates(const struct rule *rule)
{
	struct schema_place gates = {.up = &spec_place, .name = "schedulingGates"};
	struct schema_place gate = {.up = &gates};
	struct schema_place place = {.up = &gate, .name = "name"};
	struct pl_json after = pl_json_member(spec_of(rule->after), gates.name);
	struct pl_json before = pl_json_member(spec_of(rule->before), gates.name);

	if (schema_check_too_many(rule->report, &gates, after, before))
		return;
	PL_JSON_EACH (item, after) {
		check_gate(rule, &place, item, before);
		gate.index++;
	}
}

/* As long as a pod is gated, its node selector may get narrower. */
static void check_gated_selector(const struct rule *rule)
{
	struct schema_place place = {.up = &spec_place, .name = "nodeSelector"};
	struct pl_json after = pl_json_member(spec_of(rule->after), place.name);
	struct pl_json before = pl_json_member(spec_of(rule->before), place.name);

	if (schema_check_too_many(rule->report, &place, after, before))
		return;
	PL_JSON_EACH (item, before)
		if (!json_equal(item, pl_json_member(after, pl_json_key(item)))) {
			schema_report_add(
				rule->report, &place, SCHEMA_INVALID_FAULT, after,
				"only additions to spec.nodeSelector are allowed (no "
				"mutations or deletions)");
			return;
		}
}

static bool grace_ends(const struct rule *rule)
{
	const char *name = "terminationGracePeriodSeconds";
	double after = 0, before = 0;

	return pl_json_double(spec_of(rule->after), name, PL_JSON_OPTIONAL, &after,
	                      NULL) == PL_OK &&
	       pl_json_double(spec_of(rule->before), name, PL_JSON_OPTIONAL, &before,
	                      NULL) == PL_OK &&
	       before < 0 && after == 1;
}

static void check_pod(const struct rule *rule)
{
	static const char *const free_names[] = {"containers",
	                                         "initContainers",
	                                         "tolerations",
	                                         "activeDeadlineSeconds",
	                                         "schedulingGates",
	                                         NULL,
	                                         NULL,
	                                         NULL};
	const char *names[sizeof free_names / sizeof *free_names];
	const char *member;
	size_t count = 5;

	if (!check_containers(rule, "containers") ||
	    !check_containers(rule, "initContainers"))
		return;
	check_deadline(rule);
	check_tolerations(rule);
	check_gates(rule);
	memcpy(names, free_names, sizeof names);
	if (is_gated(rule->before)) {
		check_gated_selector(rule);
		names[count++] = "nodeSelector";
	}
	if (grace_ends(rule))
		names[count++] = "terminationGracePeriodSeconds";
	member = changed_member(spec_of(rule->after), spec_of(rule->before), names);
	if (member != NULL)
		forbid(rule, &spec_place,
		       pl_arena_printf(rule->report->arena, "%s\nchanged: spec.%s",
		                       POD_FIELDS, member));
}

/* -- others ---------------------------------------------------------------------------- */

static void check_stateful_set(const struct rule *rule)
{
	static const char *const names[] = {"replicas",
	                                    "ordinals",
	                                    "template",
	                                    "updateStrategy",
	                                    "persistentVolumeClaimRetentionPolicy",
	                                    "minReadySeconds",
	                                    NULL};

	if (changed_member(spec_of(rule->after), spec_of(rule->before), names) != NULL)
		forbid(rule, &spec_place,
		       "updates to statefulset spec for fields other than 'replicas', "
		       "'ordinals', 'template', 'updateStrategy', "
		       "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
		       "forbidden");
}

static void check_config_map(const struct rule *rule)
{
	static const char *const names[] = {"immutable", "data", "binaryData"};
	bool fixed = false;

	if (pl_json_bool(rule->before, "immutable", PL_JSON_OPTIONAL, &fixed, NULL) !=
	            PL_OK ||
	    !fixed)
		return;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct schema_place place = {.up = &root, .name = names[i]};

		if (!json_equal(pl_json_member(rule->after, names[i]),
		                pl_json_member(rule->before, names[i])))
			forbid(rule, &place,
			       "field is immutable when `immutable` is set");
	}
}

static void check_claim(const struct rule *rule)
{
	static const char *const bound[] = {"resources", "volumeAttributesClassName",
	                                    NULL};
	static const char *const unbound[] = {"resources", "volumeAttributesClassName",
	                                      "volumeName", NULL};
	struct pl_json before = spec_of(rule->before);
	bool is_bound = pl_json_member(before, "volumeName").node != NULL;
	const char *member =
		changed_member(spec_of(rule->after), before, is_bound ? bound : unbound);

	if (member != NULL)
		forbid(rule, &spec_place,
		       pl_arena_printf(
			       rule->report->arena,
			       "spec is immutable after creation except "
			       "resources.requests and volumeAttributesClassName for "
			       "bound claims\nchanged: spec.%s",
			       member));
}

/* The fields of a volume that are no source. */
static void check_volume(const struct rule *rule)
{
	static const char *const names[] = {"capacity",
	                                    "accessModes",
	                                    "claimRef",
	                                    "persistentVolumeReclaimPolicy",
	                                    "storageClassName",
	                                    "mountOptions",
	                                    "nodeAffinity",
	                                    "volumeMode",
	                                    "volumeAttributesClassName",
	                                    NULL};
	struct schema_place place = {.up = &spec_place, .name = "persistentvolumesource"};
	const char *member =
		changed_member(spec_of(rule->after), spec_of(rule->before), names);

	if (member != NULL)
		forbid(rule, &place,
		       pl_arena_printf(rule->report->arena,
		                       "spec.persistentvolumesource is immutable after "
		                       "creation\nchanged: spec.%s",
		                       member));
}

static void check_once_set(const struct rule *rule, const char *name, const char *path,
                           const char *words)
{
	struct schema_place place = {.up = &spec_place, .name = path};
	struct pl_json before = pl_json_member(spec_of(rule->before), name);

	if (before.node != NULL &&
	    !json_equal(before, pl_json_member(spec_of(rule->after), name)))
		forbid(rule, &place, words);
}

static void check_node(const struct rule *rule)
{
	check_once_set(rule, "podCIDRs", "podCIDRs",
	               "node updates may not change podCIDR except from \"\" to valid");
	check_once_set(
		rule, "providerID", "providerID",
		"node updates may not change providerID except from \"\" to valid");
}

static bool is_true(struct pl_json object, const char *name)
{
	bool value = false;

	return pl_json_bool(object, name, PL_JSON_OPTIONAL, &value, NULL) == PL_OK &&
	       value;
}

static void fix_member(const struct rule *rule, const char *name)
{
	struct schema_place place = {.up = &spec_place, .name = name};
	struct pl_json after = pl_json_member(spec_of(rule->after), name);

	if (!json_equal(after, pl_json_member(spec_of(rule->before), name)))
		schema_report_add(rule->report, &place, SCHEMA_INVALID_FAULT, after,
		                  "field is immutable");
}

/* A suspended job that never started may change where its pods go. */
static void check_job(const struct rule *rule)
{
	const char *mode = "";

	if (!is_true(spec_of(rule->before), "suspend") ||
	    pl_json_member(pl_json_member(rule->before, "status"), "startTime").node !=
	            NULL)
		fix_member(rule, "template");
	if (pl_json_string(spec_of(rule->after), "completionMode", PL_JSON_OPTIONAL,
	                   &mode, NULL) == PL_OK &&
	    strcmp(mode, "Indexed") != 0)
		fix_member(rule, "completions");
}

static const struct {
	const struct schema_type *type;
	void (*check)(const struct rule *rule);
} rules[] = {
	{&schema_core_pod, check_pod},
	{&schema_core_node, check_node},
	{&schema_core_config_map, check_config_map},
	{&schema_core_persistent_volume, check_volume},
	{&schema_core_persistent_volume_claim, check_claim},
	{&schema_apps_stateful_set, check_stateful_set},
	{&schema_batch_job, check_job},
};

void schema_check_rules_update(const struct schema_object *object, struct pl_json old,
                               struct schema_report *report)
{
	struct rule rule = {report, object->value, old};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].type == object->resource->type)
			rules[i].check(&rule);
}
