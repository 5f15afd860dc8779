/* Values that depend on their type, or on each other, and that the table has no words
 * for: the same for a new object and for one that is changed. */
#include <limits.h>
#include <string.h>

#include "coord/api/schema/schema_check_int.h"

enum { DATA_MAX = 1 << 20, DATA_KEY_MAX = 253, PRIORITY_MAX = 1000000000 };

struct value_rule {
	struct schema_report *report;
	struct pl_json root, spec;
};

static const struct schema_place root_place = {.up = NULL};
static const struct schema_place spec_place = {.up = &root_place, .name = "spec"};

static bool number_of(struct pl_json value, double *out)
{
	return pl_json_type(value) == PL_JSON_NUMBER &&
	       pl_json_as_double(value, out, NULL) == PL_OK;
}

static struct pl_span text_of(struct pl_json value)
{
	const char *text = "";

	if (pl_json_as_string(value, &text, NULL) != PL_OK)
		text = "";
	return pl_span_str(text);
}

/* -- workloads ------------------------------------------------------------------------- */

static void check_replicas(const struct value_rule *rule)
{
	struct schema_place place = {.up = &spec_place, .name = "replicas"};
	struct pl_json value = pl_json_member(rule->spec, "replicas");
	double number;

	if (number_of(value, &number) && number < 0)
		schema_report_add(rule->report, &place, SCHEMA_INVALID_FAULT, value,
		                  "must be greater than or equal to 0");
}

static bool has_labels(struct pl_json labels, struct pl_json wanted)
{
	PL_JSON_EACH (item, wanted)
		if (!json_equal(item, pl_json_member(labels, pl_json_key(item))))
			return false;
	return true;
}

/* Expressions are left to the controllers, which match them. */
static void check_template(const struct value_rule *rule)
{
	struct schema_place template = {.up = &spec_place, .name = "template"};
	struct schema_place meta = {.up = &template, .name = "metadata"};
	struct schema_place place = {.up = &meta, .name = "labels"};
	struct pl_json selector = pl_json_member(rule->spec, "selector");
	struct pl_json labels = pl_json_member(
		pl_json_member(pl_json_member(rule->spec, "template"), "metadata"),
		"labels");

	if (!has_labels(labels, pl_json_member(selector, "matchLabels")))
		schema_report_add(rule->report, &place, SCHEMA_INVALID_FAULT, labels,
		                  "`selector` does not match template `labels`");
}

static void check_workload(const struct value_rule *rule)
{
	check_replicas(rule);
	check_template(rule);
}

/* -- pods and what stands beside them -------------------------------------------------- */

static void check_pod(const struct value_rule *rule)
{
	struct schema_place place = {.up = &spec_place, .name = "activeDeadlineSeconds"};
	struct pl_json value = pl_json_member(rule->spec, place.name);
	double number;

	if (number_of(value, &number) && (number < 1 || number > INT_MAX))
		schema_report_add(rule->report, &place, SCHEMA_INVALID_FAULT, value,
		                  "must be between 1 and 2147483647, inclusive");
}

static void check_budget_bound(const struct value_rule *rule, const char *name)
{
	struct schema_place place = {.up = &spec_place, .name = name};
	struct pl_json value = pl_json_member(rule->spec, name);
	struct pl_span text = text_of(value);
	double number;
	unsigned percent = 0;

	if (number_of(value, &number) && number < 0)
		schema_report_add(rule->report, &place, SCHEMA_INVALID_FAULT, value,
		                  "must be greater than or equal to 0");
	if (text.len < 2 || text.at[text.len - 1] != '%')
		return;
	for (size_t i = 0; i + 1 < text.len && percent <= 100; i++)
		percent = text.at[i] >= '0' && text.at[i] <= '9'
		                  ? percent * 10 + (unsigned)(text.at[i] - '0')
		                  : 0;
	if (percent > 100)
		schema_report_add(rule->report, &place, SCHEMA_INVALID_FAULT, value,
		                  "must not be greater than 100%");
}

static void check_budget(const struct value_rule *rule)
{
	check_budget_bound(rule, "minAvailable");
	check_budget_bound(rule, "maxUnavailable");
	if (pl_json_member(rule->spec, "minAvailable").node != NULL &&
	    pl_json_member(rule->spec, "maxUnavailable").node != NULL)
		schema_report_text(rule->report, &spec_place, SCHEMA_INVALID_FAULT,
		                   pl_span("", 0),
		                   "minAvailable and maxUnavailable cannot be both set");
}

static void check_service(const struct value_rule *rule)
{
	struct schema_place ports = {.up = &spec_place, .name = "ports"};
	struct schema_place place = {.up = &ports, .name = "port"};

	PL_JSON_EACH (item, pl_json_member(rule->spec, "ports")) {
		struct schema_place element = {.up = &ports, .index = ports.index};
		struct pl_json value = pl_json_member(item, "port");
		double number = 0;

		place.up = &element;
		if (!number_of(value, &number) || number < 1 || number > 65535)
			schema_report_add(rule->report, &place, SCHEMA_INVALID_FAULT,
			                  value,
			                  "must be between 1 and 65535, inclusive");
		ports.index++;
	}
}

static void check_claim(const struct value_rule *rule)
{
	struct schema_place resources = {.up = &spec_place, .name = "resources"};
	struct schema_place place = {.up = &resources, .name = "storage", .in_map = true};
	struct pl_json requests =
		pl_json_member(pl_json_member(rule->spec, "resources"), "requests");
	struct pl_json value = pl_json_member(requests, "storage");

	if (value.node == NULL)
		schema_report_add(rule->report, &place, SCHEMA_REQUIRED_FAULT, value,
		                  NULL);
}

/* -- configmaps ------------------------------------------------------------------------ */

static const char *key_fault(struct pl_span key)
{
	if (key.len > DATA_KEY_MAX)
		return "must be no more than 253 characters";
	if (pl_span_eq(key, PL_SPAN_LIT(".")))
		return "must not be '.'";
	if (pl_span_eq(key, PL_SPAN_LIT("..")))
		return "must not be '..'";
	if (pl_span_starts(key, PL_SPAN_LIT("..")))
		return "must not start with '..'";
	for (size_t i = 0; i < key.len; i++)
		if (strchr("-._0123456789abcdefghijklmnopqrstuvwxyz"
		           "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		           key.at[i]) == NULL ||
		    key.at[i] == 0)
			break;
		else if (i + 1 == key.len)
			return NULL;
	return "a valid config key must consist of alphanumeric characters, '-', '_' or "
	       "'.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for "
	       "validation is '[-._a-zA-Z0-9]+')";
}

static size_t check_data(const struct value_rule *rule, const char *name,
                         struct pl_json other)
{
	struct schema_place data = {.up = &root_place, .name = name};
	size_t bytes = 0;

	PL_JSON_EACH (item, pl_json_member(rule->root, name)) {
		struct pl_span key = pl_span_str(pl_json_key(item));
		struct schema_place place = {
			.up = &data, .name = pl_json_key(item), .in_map = true};
		const char *fault = key_fault(key);

		bytes += key.len + text_of(item).len;
		if (fault != NULL)
			schema_report_text(rule->report, &place, SCHEMA_INVALID_FAULT,
			                   key, fault);
		if (pl_json_member(other, pl_json_key(item)).node != NULL)
			schema_report_text(rule->report, &place, SCHEMA_INVALID_FAULT,
			                   key, "duplicate of key present in binaryData");
	}
	return bytes;
}

static void check_configmap(const struct value_rule *rule)
{
	size_t bytes =
		check_data(rule, "data", pl_json_member(rule->root, "binaryData")) +
		check_data(rule, "binaryData", (struct pl_json){0}) / 4 * 3;

	if (bytes > DATA_MAX)
		schema_report_text(rule->report, &root_place, SCHEMA_TOO_LONG_FAULT,
		                   pl_span("", 0), "may not be more than 1048576 bytes");
}

/* -- priority classes ------------------------------------------------------------------ */

static void check_class(const struct value_rule *rule)
{
	struct schema_place meta = {.up = &root_place, .name = "metadata"};
	struct schema_place name_place = {.up = &meta, .name = "name"};
	struct schema_place place = {.up = &root_place, .name = "value"};
	struct pl_span name =
		text_of(pl_json_member(pl_json_member(rule->root, "metadata"), "name"));
	struct pl_json value = pl_json_member(rule->root, "value");
	double number;

	if (pl_span_eq(name, PL_SPAN_LIT("system-node-critical")) ||
	    pl_span_eq(name, PL_SPAN_LIT("system-cluster-critical")))
		return;
	if (pl_span_starts(name, PL_SPAN_LIT("system-")))
		schema_report_text(rule->report, &name_place, SCHEMA_FORBIDDEN_FAULT,
		                   name,
		                   "priority class names with 'system-' prefix are "
		                   "reserved for system use only");
	if (number_of(value, &number) && number > PRIORITY_MAX)
		schema_report_add(rule->report, &place, SCHEMA_FORBIDDEN_FAULT, value,
		                  "maximum allowed value of a user defined priority is "
		                  "1000000000");
}

void schema_check_values(const struct schema_object *object, struct schema_report *report)
{
	static const struct {
		const char *plural;
		void (*check)(const struct value_rule *rule);
	} rules[] = {
		{"deployments", check_workload},
		{"replicasets", check_workload},
		{"statefulsets", check_workload},
		{"daemonsets", check_template},
		{"replicationcontrollers", check_replicas},
		{"pods", check_pod},
		{"poddisruptionbudgets", check_budget},
		{"services", check_service},
		{"persistentvolumeclaims", check_claim},
		{"configmaps", check_configmap},
		{"priorityclasses", check_class},
	};
	struct value_rule rule = {.report = report,
	                          .root = object->value,
	                          .spec = pl_json_member(object->value, "spec")};

	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if (strcmp(object->resource->plural, rules[i].plural) == 0)
			rules[i].check(&rule);
}
