#include "shardsched/model/validate.h"

#include <stdio.h>

#include "shardsched/model/resources.h"

enum { ANNOTATIONS_BYTES_MAX = 256 << 10 };

void validate_init(struct validate *v, enum validate_scope scope,
                   struct field_errors *errors)
{
	v->errors = errors;
	v->scope = scope;
	v->len = 0;
	v->path[0] = 0;
}

/* A path that is too long is cut, and stays cut until validate_back. */
static void append_path(struct validate *v, struct pl_span text)
{
	size_t room = sizeof v->path - 1 - v->len;
	size_t len = text.len < room ? text.len : room;

	if (len > 0)
		memcpy(v->path + v->len, text.at, len);
	v->len += len;
	v->path[v->len] = 0;
}

size_t validate_into_span(struct validate *v, struct pl_span name)
{
	size_t mark = v->len;

	if (mark > 0)
		append_path(v, PL_SPAN_LIT("."));
	append_path(v, name);
	return mark;
}

size_t validate_into(struct validate *v, const char *name)
{
	return validate_into_span(v, pl_span_str(name));
}

size_t validate_index(struct validate *v, const char *name, size_t index)
{
	size_t mark = name == NULL ? v->len : validate_into(v, name);
	char text[32];

	(void)snprintf(text, sizeof text, "[%zu]", index);
	append_path(v, pl_span_str(text));
	return mark;
}

size_t validate_key(struct validate *v, struct pl_span key)
{
	size_t mark = v->len;

	append_path(v, PL_SPAN_LIT("["));
	append_path(v, key);
	append_path(v, PL_SPAN_LIT("]"));
	return mark;
}

void validate_back(struct validate *v, size_t mark)
{
	PL_ASSERT(mark <= v->len);
	v->len = mark;
	v->path[mark] = 0;
}

void validate_add(struct validate *v, const char *name, enum field_fault fault,
                  const char *detail)
{
	size_t mark = name == NULL ? v->len : validate_into(v, name);

	field_errors_add(v->errors, fault, v->path, detail);
	validate_back(v, mark);
}

void validate_text(struct validate *v, const char *name, uint32_t faults)
{
	for (unsigned i = 0; i < TEXT_FAULT_COUNT; i++)
		if ((faults >> i & 1) != 0)
			validate_add(v, name, FIELD_INVALID,
			             text_fault_sentence((enum text_fault)i));
}

void validate_text_once(struct validate *v, const char *name, uint32_t faults)
{
	if (faults != 0)
		validate_text(v, name, faults & -faults);
}

void validate_word(struct validate *v, const char *name, struct pl_span word,
                   const char *const *words)
{
	char detail[160] = "want ";
	size_t len = strlen(detail);

	for (size_t i = 0; words[i] != NULL; i++) {
		if (pl_span_eq(word, pl_span_str(words[i])))
			return;
		len += (size_t)snprintf(detail + len, sizeof detail - len, "%s%s",
		                        i == 0 ? "" : " or ", words[i]);
		PL_ASSERT(len < sizeof detail);
	}
	validate_add(v, name, FIELD_NOT_SUPPORTED, detail);
}

void validate_labels(struct validate *v, const char *name, struct draft_pairs labels)
{
	for (uint32_t i = 0; i < labels.count; i++) {
		validate_text(v, name, text_key(labels.at[i].key));
		validate_text(v, name, text_value(labels.at[i].value));
	}
}

/* Keys of annotations may have capitals in their domain. */
static uint32_t annotation_key(struct pl_span key)
{
	uint8_t lower[512];

	if (key.len > sizeof lower)
		return text_key(key);
	for (size_t i = 0; i < key.len; i++) {
		bool capital = key.at[i] >= 'A' && key.at[i] <= 'Z';

		lower[i] = (uint8_t)(key.at[i] + (capital ? 'a' - 'A' : 0));
	}
	return text_key(pl_span(lower, key.len));
}

static void check_annotations(struct validate *v, struct draft_pairs annotations)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < annotations.count; i++) {
		validate_text(v, "annotations", annotation_key(annotations.at[i].key));
		bytes += annotations.at[i].key.len + annotations.at[i].value.len;
	}
	if (bytes > ANNOTATIONS_BYTES_MAX)
		validate_add(v, "annotations", FIELD_TOO_LONG,
		             "want at most 262144 bytes in all");
}

static void check_owners(struct validate *v, const struct draft_meta *meta)
{
	uint32_t controllers = 0;

	for (uint32_t i = 0; i < meta->owner_count; i++) {
		const struct draft_owner *owner = &meta->owners[i];
		size_t mark = validate_index(v, "ownerReferences", i);

		controllers += owner->controller;
		if (owner->api_version.len == 0)
			validate_add(v, "apiVersion", FIELD_INVALID, "want a version");
		if (owner->kind.len == 0)
			validate_add(v, "kind", FIELD_INVALID, "want a kind");
		if (owner->name.len == 0)
			validate_add(v, "name", FIELD_INVALID, "want a name");
		if (owner->uid.len == 0)
			validate_add(v, "uid", FIELD_INVALID, "want a uid");
		validate_back(v, mark);
	}
	if (controllers > 1)
		validate_add(v, "ownerReferences", FIELD_INVALID,
		             "want at most one controller");
}

static void check_generated(struct validate *v, const struct draft_meta *meta,
                            enum validate_name name)
{
	struct pl_span base = meta->generate_name;

	/* A hyphen may end the prefix, since the generated part follows. */
	if (base.len > 1 && base.at[base.len - 1] == '-')
		base.len--;
	if (base.len > 0)
		validate_text(v, "generateName",
		              name == VALIDATE_LABEL ? text_label(base)
		                                     : text_subdomain(base));
}

void validate_meta(struct validate *v, const struct draft_meta *meta,
                   enum validate_name name, bool namespaced)
{
	size_t mark = validate_into(v, "metadata");

	if (v->scope == VALIDATE_STORED) {
		validate_labels(v, "labels", meta->labels);
		validate_back(v, mark);
		return;
	}
	check_generated(v, meta, name);
	if (meta->name.len == 0)
		validate_add(v, "name", FIELD_REQUIRED, "want a name");
	else
		validate_text(v, "name",
		              name == VALIDATE_LABEL ? text_label(meta->name)
		                                     : text_subdomain(meta->name));
	if (namespaced && meta->namespace.len == 0)
		validate_add(v, "namespace", FIELD_REQUIRED, "want a namespace");
	else if (namespaced)
		validate_text(v, "namespace", text_label(meta->namespace));
	else if (meta->namespace.len > 0)
		validate_add(v, "namespace", FIELD_FORBIDDEN, "want none");
	validate_labels(v, "labels", meta->labels);
	check_annotations(v, meta->annotations);
	check_owners(v, meta);
	validate_back(v, mark);
}

void validate_taint_effect(struct validate *v, const char *name, struct pl_span effect,
                           bool any)
{
	static const char *const words[] = {"NoSchedule", "PreferNoSchedule", "NoExecute",
	                                    NULL};

	if (effect.len == 0 && any)
		return;
	if (effect.len == 0)
		validate_add(v, name, FIELD_REQUIRED, "want an effect");
	else
		validate_word(v, name, effect, words);
}

void validate_not_negative(struct validate *v, const char *name,
                           struct pl_quantity quantity)
{
	if (quantity.nano < 0)
		validate_add(v, name, FIELD_INVALID, "want 0 or more");
}

void validate_amount(struct validate *v, const struct draft_amount *amount)
{
	validate_not_negative(v, NULL, amount->quantity);
	if (resource_is_whole(amount->name) && amount->quantity.nano % 1000000000 != 0)
		validate_add(v, NULL, FIELD_INVALID, "want a whole number");
}
