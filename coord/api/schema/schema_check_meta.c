/* Checks of metadata, with Kubernetes' sentences. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "coord/api/schema/schema_check_int.h"

enum { ANNOTATIONS_MAX = 256 * 1024 };

#define SUBDOMAIN "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
#define SUBDOMAIN_WORDS                                                                  \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "        \
	"characters, '-' or '.', and must start and end with an alphanumeric character " \
	"(e.g. 'example.com', regex used for validation is '" SUBDOMAIN "')"

/* The bits of text.h, with the sentences of the API server. */
static const char *const sentences[TEXT_FAULT_COUNT] = {
	[TEXT_LABEL_CHARS] =
		"a lowercase RFC 1123 label must consist of lower case alphanumeric "
		"characters or '-', and must start and end with an alphanumeric character "
		"(e.g. 'my-name',  or '123-abc', regex used for validation is "
		"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
	[TEXT_LABEL_DOTS] = "must not contain dots",
	[TEXT_LABEL_LONG] = "must be no more than 63 characters",
	[TEXT_SUBDOMAIN_CHARS] = SUBDOMAIN_WORDS,
	[TEXT_SUBDOMAIN_LONG] = "must be no more than 253 characters",
	[TEXT_KEY_PARTS] =
		"a qualified name must consist of alphanumeric characters, '-', '_' or '.', "
		"and must start and end with an alphanumeric character (e.g. 'MyName',  or "
		"'my.name',  or '123-abc', regex used for validation is "
		"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain "
		"prefix and '/' (e.g. 'example.com/MyName')",
	[TEXT_KEY_PREFIX_EMPTY] = "prefix part must be non-empty",
	[TEXT_KEY_PREFIX_CHARS] = "prefix part " SUBDOMAIN_WORDS,
	[TEXT_KEY_PREFIX_LONG] = "prefix part must be no more than 253 characters",
	[TEXT_KEY_EMPTY] = "name part must be non-empty",
	[TEXT_KEY_LONG] = "name part must be no more than 63 characters",
	[TEXT_KEY_CHARS] =
		"name part must consist of alphanumeric characters, '-', '_' or '.', and must "
		"start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  "
		"or '123-abc', regex used for validation is "
		"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
	[TEXT_VALUE_LONG] = "must be no more than 63 characters",
	[TEXT_VALUE_CHARS] =
		"a valid label must be an empty string or consist of alphanumeric characters, "
		"'-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
		"'MyValue',  or 'my_value',  or '12345', regex used for validation is "
		"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
	[TEXT_PORT_LONG] = "must be no more than 15 characters",
	[TEXT_PORT_CHARS] =
		"must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
	[TEXT_PORT_LETTER] = "must contain at least one letter (a-z)",
	[TEXT_PORT_HYPHENS] = "must not contain consecutive hyphens",
	[TEXT_PORT_ENDS] = "must not begin or end with a hyphen",
};

const char *schema_text_sentence(enum text_fault fault)
{
	PL_ASSERT((unsigned)fault < TEXT_FAULT_COUNT);
	return sentences[fault];
}

#define LABEL_1035                                                                     \
	"a DNS-1035 label must consist of lower case alphanumeric characters or '-', " \
	"start with an alphabetic character, and end with an alphanumeric character "  \
	"(e.g. 'my-name',  or 'abc-123', regex used for validation is "                \
	"'[a-z]([-a-z0-9]*[a-z0-9])?')"

static void add_text_faults(struct schema_report *report,
                            const struct schema_place *place, struct pl_span text,
                            uint32_t faults)
{
	for (unsigned i = 0; i < TEXT_FAULT_COUNT; i++)
		if ((faults & (UINT32_C(1) << i)) != 0)
			schema_report_text(report, place, SCHEMA_INVALID_FAULT, text,
			                   sentences[i]);
}

static struct pl_span text_at(struct pl_json object, const char *name)
{
	const char *text = "";

	if (pl_json_as_string(pl_json_member(object, name), &text, NULL) != PL_OK)
		text = "";
	return pl_span_str(text);
}

static void check_1035(struct schema_report *report, const struct schema_place *place,
                       struct pl_span name, struct pl_span shown)
{
	if (name.len > 63)
		schema_report_text(report, place, SCHEMA_INVALID_FAULT, shown,
		                   sentences[TEXT_LABEL_LONG]);
	if (text_label(name) != 0 || (name.len > 0 && !islower(name.at[0])))
		schema_report_text(report, place, SCHEMA_INVALID_FAULT, shown,
		                   LABEL_1035);
}

/* "CLUSTER:NODE", or a node of the home cluster (ADR 28). */
static uint32_t node_name_faults(struct pl_span name)
{
	const uint8_t *colon = memchr(name.at, ':', name.len);
	size_t len = colon == NULL ? 0 : (size_t)(colon - name.at);

	if (colon == NULL)
		return text_subdomain(name);
	return text_label(pl_span(name.at, len)) |
	       text_subdomain(pl_span(colon + 1, name.len - len - 1));
}

/* A name, or the beginning of one, which may end with a hyphen. */
static void check_name(const struct schema_object *object, struct schema_report *report,
                       const struct schema_place *place, struct pl_span name, bool prefix)
{
	const char *plural = object->resource->plural;
	struct pl_span shown = name;

	if (prefix)
		while (name.len > 1 && name.at[name.len - 1] == '-')
			name.len--;
	if (strcmp(plural, "services") == 0)
		check_1035(report, place, name, shown);
	else if (strcmp(plural, "namespaces") == 0 || strcmp(plural, "statefulsets") == 0)
		add_text_faults(report, place, shown, text_label(name));
	else if (strcmp(plural, "nodes") == 0)
		add_text_faults(report, place, shown, node_name_faults(name));
	else
		add_text_faults(report, place, shown, text_subdomain(name));
}

static void check_namespace(const struct schema_object *object,
                            const struct schema_place *meta, struct pl_json value,
                            struct schema_report *report)
{
	struct schema_place place = {.up = meta, .name = "namespace"};
	struct pl_span name = text_at(value, "namespace");

	if (!object->resource->namespaced && name.len > 0)
		schema_report_text(report, &place, SCHEMA_FORBIDDEN_FAULT, name,
		                   "not allowed on this type");
	if (!object->resource->namespaced)
		return;
	if (name.len == 0)
		schema_report_text(report, &place, SCHEMA_REQUIRED_FAULT, name, NULL);
	else
		add_text_faults(report, &place, name, text_label(name));
}

static void check_labels(struct pl_json labels, const struct schema_place *meta,
                         struct schema_report *report)
{
	struct schema_place place = {.up = meta, .name = "labels"};

	PL_JSON_EACH (item, labels) {
		struct pl_span key = pl_span_str(pl_json_key(item));
		const char *value;

		add_text_faults(report, &place, key, text_key(key));
		if (pl_json_as_string(item, &value, NULL) == PL_OK)
			add_text_faults(report, &place, pl_span_str(value),
			                text_value(pl_span_str(value)));
	}
}

/* Keys of annotations may have capital letters in the domain. */
static uint32_t annotation_faults(struct pl_span key)
{
	char lower[512];

	if (key.len > sizeof lower)
		return UINT32_C(1) << TEXT_KEY_LONG;
	for (size_t i = 0; i < key.len; i++)
		lower[i] = (char)tolower(key.at[i]);
	return text_key(pl_span(lower, key.len));
}

static void check_annotations(struct pl_json annotations, const struct schema_place *meta,
                              struct schema_report *report)
{
	struct schema_place place = {.up = meta, .name = "annotations"};
	struct pl_span nothing = {NULL, 0};
	size_t bytes = 0;

	PL_JSON_EACH (item, annotations) {
		struct pl_span key = pl_span_str(pl_json_key(item));
		const char *value = "";

		add_text_faults(report, &place, key, annotation_faults(key));
		if (pl_json_as_string(item, &value, NULL) == PL_OK)
			bytes += key.len + strlen(value);
	}
	if (bytes > ANNOTATIONS_MAX)
		schema_report_text(report, &place, SCHEMA_TOO_LONG_FAULT, nothing,
		                   "may not be more than 262144 bytes");
}

static void check_owner(struct pl_json owner, const struct schema_place *owners,
                        struct schema_report *report)
{
	static const struct {
		const char *name, *detail;
	} parts[] = {{"apiVersion", "version must not be empty"},
	             {"kind", "kind must not be empty"},
	             {"name", "name must not be empty"},
	             {"uid", "uid must not be empty"}};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		struct schema_place place = {.up = owners, .name = parts[i].name};
		struct pl_span text = text_at(owner, parts[i].name);

		if (text.len == 0)
			schema_report_text(report, &place, SCHEMA_INVALID_FAULT, text,
			                   parts[i].detail);
	}
}

static void check_owners(struct pl_json owners, const struct schema_place *meta,
                         struct schema_report *report)
{
	struct schema_place place = {.up = meta, .name = "ownerReferences"};
	struct pl_json first = {NULL, NULL};

	PL_JSON_EACH (owner, owners) {
		bool controls = false;
		const char *detail;

		check_owner(owner, &place, report);
		if (pl_json_bool(owner, "controller", PL_JSON_OPTIONAL, &controls,
		                 NULL) != PL_OK ||
		    !controls)
			continue;
		if (first.node == NULL) {
			first = owner;
			continue;
		}
		detail = pl_arena_printf(
			report->arena,
			"Only one reference can have Controller set to true. Found \"true\" in "
			"references for " PL_SPAN_FMT "/" PL_SPAN_FMT " and " PL_SPAN_FMT
			"/" PL_SPAN_FMT,
			PL_SPAN_ARG(text_at(first, "kind")),
			PL_SPAN_ARG(text_at(first, "name")),
			PL_SPAN_ARG(text_at(owner, "kind")),
			PL_SPAN_ARG(text_at(owner, "name")));
		schema_report_add(report, &place, SCHEMA_INVALID_FAULT, owners, detail);
	}
}

static void check_finalizers(struct pl_json finalizers, const struct schema_place *meta,
                             struct schema_report *report)
{
	struct schema_place place = {.up = meta, .name = "finalizers"};

	PL_JSON_EACH (item, finalizers) {
		const char *text = "";

		if (pl_json_as_string(item, &text, NULL) == PL_OK)
			add_text_faults(report, &place, pl_span_str(text),
			                text_key(pl_span_str(text)));
	}
}

static void check_names(const struct schema_object *object,
                        const struct schema_place *meta, struct pl_json value,
                        struct schema_report *report)
{
	struct schema_place name_place = {.up = meta, .name = "name"};
	struct schema_place prefix_place = {.up = meta, .name = "generateName"};
	struct pl_span name = text_at(value, "name"),
		       prefix = text_at(value, "generateName");

	if (prefix.len > 0)
		check_name(object, report, &prefix_place, prefix, true);
	/* The names of jobs are longer by 11, and are labels. */
	if (name.len > 52 && strcmp(object->resource->plural, "cronjobs") == 0)
		schema_report_text(report, &name_place, SCHEMA_INVALID_FAULT, name,
		                   "must be no more than 52 characters");
	if (name.len > 0)
		check_name(object, report, &name_place, name, false);
	else
		schema_report_text(report, &name_place, SCHEMA_REQUIRED_FAULT, name,
		                   "name or generateName is required");
}

void schema_check_meta(const struct schema_object *object, struct schema_report *report)
{
	struct schema_place root = {.up = NULL};
	struct schema_place meta = {.up = &root, .name = "metadata"};
	struct pl_json value = pl_json_member(object->value, "metadata");

	check_names(object, &meta, value, report);
	check_namespace(object, &meta, value, report);
	check_labels(pl_json_member(value, "labels"), &meta, report);
	check_annotations(pl_json_member(value, "annotations"), &meta, report);
	check_owners(pl_json_member(value, "ownerReferences"), &meta, report);
	check_finalizers(pl_json_member(value, "finalizers"), &meta, report);
}

/* -- updates -------------------------------------------------------------------------- */

static bool has_text(struct pl_json list, const char *text)
{
	const char *at;

	PL_JSON_EACH (item, list)
		if (pl_json_as_string(item, &at, NULL) == PL_OK && strcmp(at, text) == 0)
			return true;
	return false;
}

static void check_new_finalizers(struct pl_json before, struct pl_json after,
                                 const struct schema_place *meta,
                                 struct schema_report *report)
{
	struct schema_place place = {.up = meta, .name = "finalizers"};
	struct pl_span nothing = {NULL, 0};

	PL_JSON_EACH (item, pl_json_member(after, "finalizers")) {
		const char *text = "";

		if (pl_json_as_string(item, &text, NULL) != PL_OK ||
		    has_text(pl_json_member(before, "finalizers"), text))
			continue;
		schema_report_text(
			report, &place, SCHEMA_FORBIDDEN_FAULT, nothing,
			pl_arena_printf(
				report->arena,
				"no new finalizers can be added if the object is being "
				"deleted, found new finalizers []string{\"%s\"}",
				text));
		return;
	}
}

void schema_check_meta_update(const struct schema_object *object, struct pl_json old,
                              struct schema_report *report)
{
	static const char *const fixed[] = {"name",
	                                    "namespace",
	                                    "uid",
	                                    "creationTimestamp",
	                                    "deletionTimestamp",
	                                    "deletionGracePeriodSeconds"};
	struct schema_place root = {.up = NULL};
	struct schema_place meta = {.up = &root, .name = "metadata"};
	struct pl_json after = pl_json_member(object->value, "metadata");
	struct pl_json before = pl_json_member(old, "metadata");

	if (pl_json_member(before, "deletionTimestamp").node != NULL)
		check_new_finalizers(before, after, &meta, report);
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
		struct schema_place place = {.up = &meta, .name = fixed[i]};
		struct pl_json value = pl_json_member(after, fixed[i]);

		if (!json_equal(value, pl_json_member(before, fixed[i])))
			schema_report_add(report, &place, SCHEMA_INVALID_FAULT, value,
			                  "field is immutable");
	}
}
