/* Objects with a template, and a pod of theirs. */
#include <stdio.h>

#include "shardsched/expand/expand_inner.h"
#include "shardsched/expand/stable_uid.h"
#include "shardsched/model/selector.h"
#include "store/base/hash.h"
#include "store/base/json_out.h"

enum { OWNER_MAX = 8192, CHANGES = 24 };

/* -- what it says --------------------------------------------------------- */

/* A number that is absent is the given default. */
static uint32_t read_number(struct parse *parse, struct pl_json spec, const char *name,
                            uint32_t other)
{
	int32_t value = reader_int32(&parse->reader, spec, name);

	if (!reader_has(spec, name))
		return other;
	if (parse->reader.code == PL_OK && (value < 0 || value > EXPAND_PODS_MAX))
		parse->reader.code = pl_err_set(parse->reader.err, PL_INVALID,
		                                "spec.%s: want 0 to %d, got %d", name,
		                                EXPAND_PODS_MAX, value);
	return (uint32_t)value;
}

static void read_job(struct parse *parse, struct pl_json spec,
                     struct workload_fields *out)
{
	uint32_t beside = read_number(parse, spec, "parallelism", 1);

	out->count = read_number(parse, spec, "completions", beside);
	if (reader_bool(&parse->reader, spec, "suspend"))
		out->count = 0;
	out->indexed = pl_span_eq(reader_text(&parse->reader, spec, "completionMode"),
	                          PL_SPAN_LIT("Indexed"));
}

/* Claims are not made here, and a pod that waits for a missing claim would wait for
 * ever. */
static void refuse_claims(struct parse *parse, struct pl_json spec)
{
	uint32_t count = 0;

	(void)reader_list(&parse->reader, spec, "volumeClaimTemplates", &count);
	if (parse->reader.code == PL_OK && count > 0)
		parse->reader.code =
			pl_err_set(parse->reader.err, PL_INVALID,
		                   "spec.volumeClaimTemplates: want none: no claims are "
		                   "made here");
}

static void read_counts(struct parse *parse, enum expand_source source,
                        struct pl_json spec, struct workload_fields *out)
{
	struct pl_json ordinals;

	if (source == EXPAND_JOB) {
		read_job(parse, spec, out);
		return;
	}
	out->count = read_number(parse, spec, "replicas", 1);
	if (source != EXPAND_STATEFUL_SET)
		return;
	ordinals = reader_object(&parse->reader, spec, "ordinals");
	if (ordinals.node != NULL)
		out->first = read_number(parse, ordinals, "start", 0);
	refuse_claims(parse, spec);
}

static bool selects_labels(struct parse *parse, struct draft_selector selector,
                           struct draft_pairs pairs)
{
	const struct labels *labels = labels_make(&parse->maker, pairs);
	const struct selector *made = selector_make(&parse->maker, selector);
	bool matches = made != NULL && labels != NULL &&
	               selector_matches(&parse->model->strings, made, labels);

	model_unref(parse->model, MODEL_LABELS, labels);
	model_unref(parse->model, MODEL_SELECTORS, made);
	return matches;
}

/* A controller that would not know its own pods. */
static void check_selector(struct parse *parse, struct pl_json spec,
                           struct pl_json template)
{
	struct draft_selector selector =
		reader_selector(&parse->reader, spec, "selector");
	struct draft_meta meta = reader_meta(&parse->reader, template);

	if (parse->reader.code != PL_OK)
		return;
	if (!selector.set ||
	    (selector.labels.count == 0 && selector.expressions.count == 0))
		validate_add(&parse->check, "selector", FIELD_REQUIRED, "want one");
	else if (!selects_labels(parse, selector, meta.labels) &&
	         parse->maker.code == PL_OK)
		validate_add(&parse->check, "selector", FIELD_INVALID,
		             "want it to match the labels of the template");
}

static struct pl_span text_of(struct pl_span json, const char *name)
{
	struct pl_span text = {0};

	if (json.len > 0 && json.at[0] == '{')
		text = object_member(json, name);
	return text.len > 0 && text.at[0] == '{' ? text : PL_SPAN_LIT("{}");
}

enum pl_code workload_read(struct expand *expand, enum expand_source source,
                           struct pl_span json, struct workload_fields *out,
                           struct pl_err *err)
{
	struct field_errors errors;
	struct parse parse = {
		.model = &expand->model, .arena = &expand->arena, .errors = &errors};
	struct workload_fields fields = {.count = 0};
	struct pl_json spec, template;

	parse_begin(&parse, json, err);
	if (parse.meta.namespace.len == 0)
		parse.meta.namespace = expand->namespace;
	spec = reader_object(&parse.reader, parse.root, "spec");
	template = reader_object(&parse.reader, spec, "template");
	read_counts(&parse, source, spec, &fields);
	if (parse_checks(&parse, VALIDATE_SUBDOMAIN, true)) {
		/* The uid is written into labels and owner references unchanged. */
		validate_text(&parse.check, "metadata.uid", text_value(parse.meta.uid));
		(void)validate_into(&parse.check, "spec");
		if (source != EXPAND_JOB) /* a Job's selector is made by the server */
			check_selector(&parse, spec, template);
		if (template.node == NULL)
			validate_add(&parse.check, "template", FIELD_REQUIRED,
			             "want one");
	}
	(void)parse_makes(&parse);
	fields.meta = parse.meta;
	if (parse_end(&parse) != PL_OK)
		return parse.reader.code;
	fields.text = text_of(text_of(json, "spec"), "template");
	*out = fields;
	return PL_OK;
}

/* -- a pod of it ---------------------------------------------------------- */

/* The owner of the object's pods: the object itself, or the ReplicaSet that a Deployment
 * makes. */
struct workload_owner {
	const char *version, *kind;
	struct pl_span name;
	char uid_text[UID_SIZE];
	struct pl_span uid;
};

static void find_owner(const struct expand *expand, enum expand_source source,
                       const struct workload_fields *fields, struct workload_owner *out)
{
	*out = (struct workload_owner){
		.version = source == EXPAND_JOB ? "batch/v1" : "apps/v1",
		.kind = source == EXPAND_DEPLOYMENT ? "ReplicaSet"
	                                            : expand_source_word(source),
		.name = expand->base,
		.uid = fields->meta.uid,
	};
	if (source == EXPAND_DEPLOYMENT || fields->meta.uid.len == 0) {
		struct pl_span parts[] = {fields->meta.namespace, pl_span_str(out->kind),
		                          out->name};

		stable_uid_print(parts, 3, out->uid_text);
		out->uid = pl_span_str(out->uid_text);
	}
}

static enum pl_code print_owner(const struct workload_owner *owner, struct pl_buf *to)
{
	struct pl_json_out out;

	pl_json_out_init(&out, to);
	pl_json_out_array(&out);
	pl_json_out_object(&out);
	pl_json_out_name(&out, "apiVersion");
	pl_json_out_str(&out, owner->version);
	pl_json_out_name(&out, "kind");
	pl_json_out_str(&out, owner->kind);
	pl_json_out_name(&out, "name");
	pl_json_out_string(&out, owner->name);
	pl_json_out_name(&out, "uid");
	pl_json_out_string(&out, owner->uid);
	pl_json_out_name(&out, "controller");
	pl_json_out_bool(&out, true);
	pl_json_out_name(&out, "blockOwnerDeletion");
	pl_json_out_bool(&out, true);
	pl_json_out_end(&out);
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}

struct template_changes {
	struct expand *expand;
	struct object_change at[CHANGES];
	unsigned count;
	enum pl_code code;
};

static void add_change(struct template_changes *c, const char *part, const char *name,
                       const char *json)
{
	PL_ASSERT(c->count < CHANGES);
	c->at[c->count++] = (struct object_change){{"metadata", part, name}, json};
}

/* text: a name, in which nothing is to be escaped. */
static void change_text(struct template_changes *c, const char *part, const char *name,
                        struct pl_span text)
{
	const char *json = pl_arena_printf(&c->expand->arena, "\"" PL_SPAN_FMT "\"",
	                                   PL_SPAN_ARG(text));

	if (json == NULL)
		c->code = PL_NOMEM;
	else
		add_change(c, part, name, json);
}

/* The hash of the template, behind the Deployment's name. */
static void name_deployment(struct template_changes *c,
                            const struct workload_fields *fields)
{
	struct expand *expand = c->expand;
	char word[STABLE_UID_WORD_SIZE];
	char *name;

	stable_uid_word(pl_hash(pl_buf_span(&expand->json_template.text)), word);
	name = pl_arena_printf(&expand->arena, PL_SPAN_FMT "-%s",
	                       PL_SPAN_ARG(fields->meta.name), word);
	if (name == NULL) {
		c->code = PL_NOMEM;
		return;
	}
	expand->base = pl_span_str(name);
	change_text(c, "labels", "pod-template-hash", pl_span_str(word));
}

static void label_job(struct template_changes *c, const struct workload_fields *fields,
                      const struct workload_owner *owner)
{
	static const char index[] = "batch.kubernetes.io/job-completion-index";

	change_text(c, "labels", "batch.kubernetes.io/job-name", fields->meta.name);
	change_text(c, "labels", "job-name", fields->meta.name);
	change_text(c, "labels", "batch.kubernetes.io/controller-uid", owner->uid);
	change_text(c, "labels", "controller-uid", owner->uid);
	if (!fields->indexed)
		return;
	add_change(c, "labels", index, "\"" TEMPLATE_INDEX "\"");
	add_change(c, "annotations", index, "\"" TEMPLATE_INDEX "\"");
}

/* Removes fields that a server or a controller sets; a template has none of them. */
static void change_all(struct template_changes *c, const struct workload_fields *fields)
{
	static const char *const dropped[] = {"generateName",      "creationTimestamp",
	                                      "resourceVersion",   "managedFields",
	                                      "deletionTimestamp", "selfLink"};

	for (unsigned i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
		add_change(c, dropped[i], NULL, NULL);
	add_change(c, "name", NULL, "\"" TEMPLATE_NAME "\"");
	change_text(c, "namespace", NULL, fields->meta.namespace);
	add_change(c, "uid", NULL, "\"" TEMPLATE_UID "\"");
}

static void change_own(struct template_changes *c, enum expand_source source,
                       const struct workload_fields *fields, struct pl_buf *owners)
{
	struct workload_owner owner;

	if (source == EXPAND_DEPLOYMENT)
		name_deployment(c, fields);
	find_owner(c->expand, source, fields, &owner);
	if (source == EXPAND_STATEFUL_SET) {
		add_change(c, "labels", "statefulset.kubernetes.io/pod-name",
		           "\"" TEMPLATE_NAME "\"");
		add_change(c, "labels", "apps.kubernetes.io/pod-index",
		           "\"" TEMPLATE_INDEX "\"");
	}
	if (source == EXPAND_JOB)
		label_job(c, fields, &owner);
	if (c->code == PL_OK)
		c->code = print_owner(&owner, owners);
	if (c->code == PL_OK)
		c->code = pl_buf_add(owners, pl_span("", 1));
	if (c->code == PL_OK)
		add_change(c, "ownerReferences", NULL, (const char *)owners->at);
}

static enum pl_code print_template(const struct workload_fields *fields,
                                   struct pl_buf *to)
{
	enum pl_code code = pl_buf_add_str(to, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
	                                       "\"metadata\":");

	if (code == PL_OK)
		code = pl_buf_add(to, text_of(fields->text, "metadata"));
	if (code == PL_OK)
		code = pl_buf_add_str(to, ",\"spec\":");
	if (code == PL_OK)
		code = pl_buf_add(to, text_of(fields->text, "spec"));
	return code == PL_OK ? pl_buf_add_str(to, "}") : code;
}

enum pl_code workload_pod(struct expand *expand, enum expand_source source,
                          const struct workload_fields *fields, struct pl_err *err)
{
	struct template_changes c = {.expand = expand, .code = PL_OK};
	struct pl_buf plain, owners;

	expand->in_namespace = fields->meta.namespace;
	expand->base = fields->meta.name;
	expand->count = fields->count;
	expand->first = fields->first;
	pl_buf_init(&plain, expand->raw.max);
	pl_buf_init(&owners, OWNER_MAX);
	c.code = print_template(fields, &plain);
	if (c.code == PL_OK) /* for the hash, in which white space does not count */
		c.code = json_template_set(&expand->json_template, pl_buf_span(&plain));
	if (c.code == PL_OK)
		change_all(&c, fields);
	if (c.code == PL_OK)
		change_own(&c, source, fields, &owners);
	if (c.code == PL_OK)
		c.code = object_print(pl_buf_span(&plain), c.at, c.count, &expand->raw,
		                      err);
	else
		(void)pl_err_set(err, c.code, "expand an object");
	pl_buf_done(&plain);
	pl_buf_done(&owners);
	return c.code;
}
