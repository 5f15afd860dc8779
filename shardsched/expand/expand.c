#include "shardsched/expand/expand.h"

#include <inttypes.h>
#include <stdio.h>

#include "shardsched/expand/expand_inner.h"
#include "shardsched/expand/stable_uid.h"
#include "store/base/hash.h"
#include "store/base/num.h"
#include "store/keys/names.h"

enum { CHUNK = 1 << 16, HASH_SIZE = 20, RAW_MAX = READER_BYTES_MAX + (64 << 10) };

void expand_init(struct expand *expand, struct pl_span namespace)
{
	*expand = (struct expand){.namespace = namespace};
	model_init(&expand->model);
	pl_arena_init(&expand->arena, CHUNK, READER_ARENA_MAX);
	priority_classes_init(&expand->classes, &expand->model);
	json_template_init(&expand->json_template, RAW_MAX);
	json_template_init(&expand->candidate, RAW_MAX);
	pl_buf_init(&expand->raw, RAW_MAX);
	pl_buf_init(&expand->json, RAW_MAX);
}

void expand_done(struct expand *expand)
{
	pod_drop(&expand->model, &expand->pod);
	priority_classes_done(&expand->classes);
	model_done(&expand->model);
	json_template_done(&expand->json_template);
	json_template_done(&expand->candidate);
	pl_buf_done(&expand->raw);
	pl_buf_done(&expand->json);
	pl_arena_done(&expand->arena);
}

static const char *const kinds[] = {
#define KIND_WORD(source, kind, group) kind,
	EXPAND_SOURCE_MAP(KIND_WORD)};

static const char *const groups[] = {
#define GROUP_WORD(source, kind, group) group,
	EXPAND_SOURCE_MAP(GROUP_WORD)};

const char *expand_source_word(enum expand_source source)
{
	return source == EXPAND_NOTHING ? "object" : kinds[source];
}

struct pl_span expand_unquoted(struct pl_span text)
{
	return text.len < 2 || text.at[0] != '"' ? (struct pl_span){0}
	                                         : pl_span(text.at + 1, text.len - 2);
}

/* Other API groups have kinds of these names, too: a Job of batch.volcano.sh is not
 * expanded. */
static bool is_of_group(struct pl_span json, const char *group)
{
	struct pl_span version = expand_unquoted(object_member(json, "apiVersion"));
	size_t len = strlen(group);

	if (version.len == 0)
		return true;
	if (len == 0)
		return pl_span_eq(version, PL_SPAN_LIT("v1"));
	return version.len > len && memcmp(version.at, group, len) == 0 &&
	       version.at[len] == '/';
}

enum expand_source expand_source_of(struct pl_span json)
{
	struct pl_span kind = expand_unquoted(object_member(json, "kind"));

	for (unsigned i = 0; i < EXPAND_NOTHING; i++)
		if (pl_span_eq(kind, pl_span_str(kinds[i])) &&
		    is_of_group(json, groups[i]))
			return (enum expand_source)i;
	return EXPAND_NOTHING;
}

enum pl_code expand_class(struct expand *expand, struct pl_span json, struct pl_err *err)
{
	enum pl_code code;

	pl_arena_reset(&expand->arena);
	code = priority_classes_put(&expand->classes, &expand->arena, json, err);
	return code == PL_OK ? code : pl_err_wrap(err, "PriorityClass");
}

enum pl_code expand_quoted(struct expand *expand, struct pl_span text, const char **out)
{
	/* Names were found to be such: nothing in them is escaped. */
	*out = pl_arena_printf(&expand->arena, "\"" PL_SPAN_FMT "\"", PL_SPAN_ARG(text));
	return *out == NULL ? PL_NOMEM : PL_OK;
}

/* -- what all have in common -----------------------------------------------------------
 */

enum pl_code expand_put_priority(struct expand *expand, struct pl_err *err)
{
	struct pl_span text = pl_buf_span(&expand->raw);
	struct pl_span spec = object_member(text, "spec");
	struct object_change changes[3];
	char number[PL_NUM_TEXT_SIZE];
	struct pod_priority rank;
	enum pl_code code;
	unsigned count = 0;
	struct pl_buf out;

	if (spec.len == 0 || spec.at[0] != '{')
		return PL_OK; /* the validation reports the fault */
	code = priority_classes_resolve(&expand->classes, spec, &rank, err);
	if (code != PL_OK || !(rank.set || rank.never))
		return code;
	(void)pl_num_print_i64(number, rank.priority);
	if (rank.set)
		changes[count++] = (struct object_change){{"spec", "priority"}, number};
	if (rank.never)
		changes[count++] =
			(struct object_change){{"spec", "preemptionPolicy"}, "\"Never\""};
	if (rank.named.len > 0) {
		struct object_change named = {{"spec", "priorityClassName"}, NULL};

		if (expand_quoted(expand, rank.named, &named.json) != PL_OK)
			return pl_err_set(err, PL_NOMEM, "expand an object");
		changes[count++] = named;
	}
	pl_buf_init(&out, RAW_MAX);
	code = object_print(text, changes, count, &out, err);
	pl_buf_done(&expand->raw);
	expand->raw = out;
	return code;
}

static bool is_numbered(const struct expand *expand)
{
	return expand->source != EXPAND_POD;
}

static void set_name(struct expand *expand, uint32_t number)
{
	if (is_numbered(expand))
		(void)snprintf(expand->name, sizeof expand->name, PL_SPAN_FMT "-%" PRIu32,
		               PL_SPAN_ARG(expand->base), expand->first + number);
	else
		(void)snprintf(expand->name, sizeof expand->name, PL_SPAN_FMT,
		               PL_SPAN_ARG(expand->base));
}

static enum pl_code print_pod(struct expand *expand, uint32_t number, struct pl_err *err)
{
	struct pl_span parts[3] = {expand->in_namespace};
	char uid[UID_SIZE], index[PL_NUM_TEXT_SIZE];
	struct json_template_fill fill = {0};
	enum pl_code code;

	set_name(expand, number);
	fill.name = pl_span_str(expand->name);
	parts[1] = fill.name;
	parts[2] = expand->hash;
	stable_uid_print(parts, 3, uid);
	fill.uid = pl_span_str(uid);
	fill.index = pl_span(index, pl_num_print_u64(index, expand->first + number));
	pl_buf_clear(&expand->json, SIZE_MAX);
	code = json_template_print(&expand->json_template, &fill, &expand->json);
	if (code == PL_OK && expand->json.len > EXPAND_POD_BYTES_MAX)
		code = PL_LIMIT;
	return code == PL_OK ? code
	                     : pl_err_set(err, code, "want a pod of at most %d bytes",
	                                  EXPAND_POD_BYTES_MAX);
}

/* The last name is the longest. */
static enum pl_code check_names(struct expand *expand, struct pl_err *err)
{
	if (expand->base.len > EXPAND_NAME_SIZE - PL_NUM_TEXT_SIZE)
		return pl_err_set(err, PL_INVALID, "metadata.name: want a shorter one");
	set_name(expand, expand->count == 0 ? 0 : expand->count - 1);
	return names_check(NAMES_POD, pl_span_str(expand->name), err) == PL_OK
	               ? PL_OK
	               : pl_err_wrap(err, "metadata.name");
}

/* Paths in a pod, as they are in its template. */
static enum pl_code in_template(const struct expand *expand, struct pl_err *err)
{
	struct pl_err was = *err;

	if (is_numbered(expand) &&
	    (strncmp(was.msg, "spec.", 5) == 0 || strncmp(was.msg, "metadata.", 9) == 0))
		(void)pl_err_set(err, was.code, "spec.template.%.200s", was.msg);
	return err->code;
}

static enum pl_code check_pod(struct expand *expand, struct pl_err *err)
{
	struct field_errors errors;
	struct parse parse = {
		.model = &expand->model, .arena = &expand->arena, .errors = &errors};
	enum pl_code code =
		pod_parse(&parse, pl_buf_span(&expand->json), &expand->pod, err);

	if (code == PL_OK && expand->pod.node != 0)
		code = pl_err_set(err, PL_INVALID,
		                  "spec.nodeName: want none: the node is decided "
		                  "here");
	return code == PL_OK ? code : in_template(expand, err);
}

enum pl_code expand_keep_hash(struct expand *expand, struct pl_err *err)
{
	char text[HASH_SIZE];

	(void)snprintf(text, sizeof text, "%016" PRIx64,
	               pl_hash(pl_buf_span(&expand->json_template.text)));
	expand->hash = pl_arena_dup(&expand->arena, pl_span_str(text));
	return expand->hash.at == NULL ? pl_err_set(err, PL_NOMEM, "expand an object")
	                               : PL_OK;
}

static enum pl_code finish_object(struct expand *expand, struct pl_err *err)
{
	enum pl_code code = expand_put_priority(expand, err);

	if (code != PL_OK)
		return in_template(expand, err);
	code = json_template_set(&expand->json_template, pl_buf_span(&expand->raw));
	if (code != PL_OK)
		return pl_err_set(err, code, "expand an object");
	code = expand_keep_hash(expand, err);
	if (code == PL_OK)
		code = check_names(expand, err);
	if (code == PL_OK)
		code = print_pod(expand, 0, err);
	return code == PL_OK ? check_pod(expand, err) : code;
}

/* Wraps the failure with "Deployment shop/web", as far as the object has both names. */
static enum pl_code named_failure(struct expand *expand, struct pl_span json,
                                  struct pl_err *err)
{
	struct pl_span meta = object_member(json, "metadata");
	struct pl_span name = {0}, namespace = {0};

	if (meta.len > 0 && meta.at[0] == '{') {
		name = expand_unquoted(object_member(meta, "name"));
		namespace = expand_unquoted(object_member(meta, "namespace"));
	}
	if (namespace.len == 0) {
		namespace = expand->namespace;
	}
	if (name.len == 0 || name.len > 253 || namespace.len > 63)
		return pl_err_wrap(err, "%s", expand_source_word(expand->source));
	return pl_err_wrap(err, "%s " PL_SPAN_FMT "/" PL_SPAN_FMT,
	                   expand_source_word(expand->source), PL_SPAN_ARG(namespace),
	                   PL_SPAN_ARG(name));
}

enum pl_code expand_begin(struct expand *expand, enum expand_source source,
                          struct pl_span json, struct pl_err *err)
{
	struct workload_fields fields;
	enum pl_code code;

	PL_ASSERT(source < EXPAND_CLASS);
	if (source == EXPAND_POD && expand->last != EXPAND_LAST_OTHER &&
	    bare_is_like_last(expand, json)) {
		expand->last = EXPAND_LAST_SAME;
		return PL_OK;
	}
	expand->last = EXPAND_LAST_OTHER;
	pod_drop(&expand->model, &expand->pod);
	pl_arena_reset(&expand->arena);
	pl_buf_clear(&expand->raw, SIZE_MAX);
	expand->source = source;
	expand->first = expand->next = expand->count = 0;
	if (source == EXPAND_POD) {
		code = bare_pod(expand, json, err);
	} else {
		code = workload_read(expand, source, json, &fields, err);
		if (code == PL_OK)
			code = workload_pod(expand, source, &fields, err);
	}
	if (code == PL_OK)
		code = finish_object(expand, err);
	if (code == PL_OK) {
		expand->last = source == EXPAND_POD ? EXPAND_LAST_POD : EXPAND_LAST_OTHER;
		return PL_OK;
	}
	expand->count = 0;
	return named_failure(expand, json, err);
}

/* -- its pods --------------------------------------------------------------------------
 */

static enum pl_code rename_pod(struct expand *expand, struct pl_err *err)
{
	struct maker maker;
	uint32_t name;

	maker_init(&maker, &expand->model, &expand->arena);
	name = maker_text(&maker, pl_span_str(expand->name));
	if (maker.code != PL_OK)
		return pl_err_set(err, maker.code, "keep a pod's name");
	strings_unref(&expand->model.strings, expand->pod.name);
	expand->pod.name = name;
	return PL_OK;
}

enum pl_code expand_next(struct expand *expand, struct expand_pod *out,
                         struct pl_err *err)
{
	enum pl_code code;

	if (expand->next == expand->count)
		return PL_NOTFOUND;
	code = print_pod(expand, expand->next, err);
	if (code == PL_OK)
		code = rename_pod(expand, err);
	if (code != PL_OK)
		return code;
	expand->next++;
	*out = (struct expand_pod){.namespace = expand->in_namespace,
	                           .name = pl_span_str(expand->name),
	                           .json = pl_buf_span(&expand->json),
	                           .pod = &expand->pod};
	return PL_OK;
}
