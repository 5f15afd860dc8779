#include "coord/access/roles/access_document.h"

#include <stdlib.h>

#include "coord/access/base/identity.h"
#include "store/base/quote.h"
#include "store/keys/names.h"

static int name_cmp(const void *a, const void *b)
{
	const struct pl_span *left = a, *right = b;

	return pl_span_cmp(*left, *right);
}

int access_subject_cmp(const void *a, const void *b)
{
	const struct access_subject *left = a, *right = b;
	int order;

	if (left->is_group != right->is_group)
		return left->is_group ? 1 : -1;
	order = pl_span_cmp(left->name, right->name);
	if (order != 0)
		return order;
	return left->binding < right->binding ? -1 : left->binding > right->binding;
}

/* -- reading ----------------------------------------------------------------------------- */

static enum pl_code no_room(struct pl_json value, struct pl_err *err)
{
	return pl_json_fail(value, PL_NOMEM, err, "no room");
}

static enum pl_code check_subject(struct pl_json item, struct pl_span name,
                                  struct pl_err *err)
{
	if (!identity_name_ok(name))
		return pl_json_fail(item, PL_INVALID, err,
		                    "want 1 to %d bytes without control characters",
		                    IDENTITY_NAME_MAX);
	if (pl_span_eq(name, PL_SPAN_LIT(IDENTITY_ANONYMOUS_USER)) ||
	    pl_span_eq(name, PL_SPAN_LIT(IDENTITY_UNAUTHENTICATED)))
		return pl_json_fail(item, PL_INVALID, err,
		                    "clients without a credential can have no role");
	return PL_OK;
}

static enum pl_code check_key_name(struct pl_json item, enum names_kind kind,
                                   struct pl_span name, struct pl_err *err)
{
	struct pl_err why = {0};

	if (names_check(kind, name, &why) == PL_OK)
		return PL_OK;
	return pl_json_fail(item, PL_INVALID, err, "%s", why.msg);
}

static enum pl_code read_name(struct pl_json item, enum names_kind kind,
                              struct pl_arena *arena, struct pl_span *out,
                              struct pl_err *err)
{
	const char *text;
	enum pl_code code = pl_json_as_string(item, &text, err);

	if (code != PL_OK)
		return code;
	/* Users and groups stand in no key, so NAMES_KIND_COUNT means them. */
	code = kind == NAMES_KIND_COUNT
	               ? check_subject(item, pl_span_str(text), err)
	               : check_key_name(item, kind, pl_span_str(text), err);
	if (code != PL_OK)
		return code;
	*out = pl_arena_dup(arena, pl_span_str(text));
	return out->at == NULL ? no_room(item, err) : PL_OK;
}

/* A list of names, sorted; each once. */
static enum pl_code read_names(struct pl_json binding, const char *field,
                               enum names_kind kind, struct pl_arena *arena,
                               struct access_names *out, struct pl_err *err)
{
	struct pl_json list = {0};
	enum pl_code code = pl_json_array(binding, field, PL_JSON_OPTIONAL, &list, err);
	size_t count = code == PL_OK ? pl_json_count(list) : 0;
	struct pl_span *names;
	char quoted[PL_QUOTE_SIZE];
	size_t i = 0;

	if (code != PL_OK || list.node == NULL)
		return code;
	if (count == 0)
		return pl_json_fail(list, PL_INVALID, err, "want one at least");
	if (count > ACCESS_LIST_MAX)
		return pl_json_fail(list, PL_LIMIT, err, "more than %d", ACCESS_LIST_MAX);
	names = pl_arena_zalloc(arena, count, sizeof *names);
	if (names == NULL)
		return no_room(list, err);
	PL_JSON_EACH (item, list) {
		code = read_name(item, kind, arena, &names[i++], err);
		if (code != PL_OK)
			return code;
	}
	qsort(names, count, sizeof *names, name_cmp);
	for (i = 1; i < count; i++)
		if (pl_span_eq(names[i - 1], names[i]))
			return pl_json_fail(list, PL_INVALID, err, "%s stands twice",
			                    pl_quote(names[i], quoted));
	*out = (struct access_names){names, (uint32_t)count};
	return PL_OK;
}

static enum pl_code read_role(struct pl_json binding, enum access_role *out,
                              struct pl_err *err)
{
	const char *text = NULL;
	enum pl_code code = pl_json_string(binding, "role", PL_JSON_REQUIRED, &text, err);

	if (code != PL_OK)
		return code;
	if (access_role_parse(pl_span_str(text), out))
		return PL_OK;
	return pl_json_fail(pl_json_member(binding, "role"), PL_INVALID, err,
	                    "want viewer, editor, operator, admin or connector");
}

/* The parts fit each other. */
static enum pl_code check_binding(struct pl_json json,
                                  const struct access_binding *binding,
                                  struct pl_err *err)
{
	bool connector = binding->role == ACCESS_CONNECTOR;

	if (binding->users.count == 0 && binding->groups.count == 0)
		return pl_json_fail(json, PL_INVALID, err, "want users or groups");
	if (connector && binding->clusters.count == 0)
		return pl_json_fail(json, PL_INVALID, err,
		                    "want clusters: a connector is one of some clusters");
	if (connector && binding->namespaces.count > 0)
		return pl_json_fail(pl_json_member(json, "namespaces"), PL_INVALID, err,
		                    "not of a connector");
	if (!connector && binding->clusters.count > 0)
		return pl_json_fail(pl_json_member(json, "clusters"), PL_INVALID, err,
		                    "only of a connector");
	return PL_OK;
}

static enum pl_code read_binding(struct pl_json json, struct pl_arena *arena,
                                 struct access_binding *out, struct pl_err *err)
{
	static const char *const known[] = {"role",       "users",    "groups",
	                                    "namespaces", "clusters", NULL};
	enum pl_code code;

	if (pl_json_type(json) != PL_JSON_OBJECT)
		return pl_json_fail(json, PL_INVALID, err, "want an object, got %s",
		                    pl_json_type_name(pl_json_type(json)));
	code = pl_json_only(json, known, err);
	if (code == PL_OK)
		code = read_role(json, &out->role, err);
	if (code == PL_OK)
		code = read_names(json, "users", NAMES_KIND_COUNT, arena, &out->users,
		                  err);
	if (code == PL_OK)
		code = read_names(json, "groups", NAMES_KIND_COUNT, arena, &out->groups,
		                  err);
	if (code == PL_OK)
		code = read_names(json, "namespaces", NAMES_NAMESPACE, arena,
		                  &out->namespaces, err);
	if (code == PL_OK)
		code = read_names(json, "clusters", NAMES_CLUSTER, arena, &out->clusters,
		                  err);
	return code == PL_OK ? check_binding(json, out, err) : code;
}

static uint32_t add_subjects(const struct access_names *names, bool is_group,
                             uint32_t binding, struct access_subject *out)
{
	for (uint32_t i = 0; i < names->count; i++)
		out[i] = (struct access_subject){
			.name = names->at[i], .is_group = is_group, .binding = binding};
	return names->count;
}

static enum pl_code index_subjects(struct pl_json list, struct pl_arena *arena,
                                   struct access_document *out, struct pl_err *err)
{
	struct access_subject *subjects;
	uint32_t count = 0;

	for (uint32_t i = 0; i < out->binding_count; i++)
		count += out->bindings[i].users.count + out->bindings[i].groups.count;
	if (count == 0)
		return PL_OK;
	subjects = pl_arena_zalloc(arena, count, sizeof *subjects);
	if (subjects == NULL)
		return no_room(list, err);
	out->subjects = subjects;
	out->subject_count = count;
	for (uint32_t i = 0; i < out->binding_count; i++) {
		const struct access_binding *binding = &out->bindings[i];

		subjects += add_subjects(&binding->users, false, i, subjects);
		subjects += add_subjects(&binding->groups, true, i, subjects);
	}
	subjects -= count;
	qsort(subjects, count, sizeof *subjects, access_subject_cmp);
	return PL_OK;
}

static enum pl_code read_bindings(struct pl_json json, struct pl_arena *arena,
                                  struct access_document *out, struct pl_err *err)
{
	struct pl_json list = {0};
	enum pl_code code = pl_json_array(json, "bindings", PL_JSON_OPTIONAL, &list, err);
	size_t count = code == PL_OK ? pl_json_count(list) : 0;
	struct access_binding *bindings;
	size_t i = 0;

	if (code != PL_OK || count == 0)
		return code;
	if (count > ACCESS_BINDINGS_MAX)
		return pl_json_fail(list, PL_LIMIT, err, "more than %d",
		                    ACCESS_BINDINGS_MAX);
	bindings = pl_arena_zalloc(arena, count, sizeof *bindings);
	if (bindings == NULL)
		return no_room(list, err);
	PL_JSON_EACH (item, list) {
		code = read_binding(item, arena, &bindings[i++], err);
		if (code != PL_OK)
			return code;
	}
	out->bindings = bindings;
	out->binding_count = (uint32_t)count;
	return index_subjects(list, arena, out, err);
}

static enum pl_code read_limit(struct pl_json limits, const char *field,
                               struct pl_json_range range, uint32_t *out,
                               struct pl_err *err)
{
	int64_t number = *out;
	enum pl_code code =
		pl_json_int_in(limits, field, PL_JSON_OPTIONAL, range, &number, err);

	if (code == PL_OK)
		*out = (uint32_t)number;
	return code;
}

static enum pl_code read_limits(struct pl_json json, struct access_limits *out,
                                struct pl_err *err)
{
#define ACCESS_LIMIT_NAME(field, least, most, normal, what) #field,
	static const char *const known[] = {ACCESS_LIMIT_MAP(ACCESS_LIMIT_NAME) NULL};
#undef ACCESS_LIMIT_NAME
	struct pl_json limits = {0};
	enum pl_code code =
		pl_json_object(json, "limits", PL_JSON_OPTIONAL, &limits, err);

	if (code != PL_OK || limits.node == NULL)
		return code;
	code = pl_json_only(limits, known, err);
#define ACCESS_LIMIT_READ(field, least, most, normal, what)                            \
	if (code == PL_OK)                                                             \
		code = read_limit(limits, #field, (struct pl_json_range){least, most}, \
		                  &out->field, err);
	ACCESS_LIMIT_MAP(ACCESS_LIMIT_READ)
#undef ACCESS_LIMIT_READ
	return code;
}

void access_document_default(struct access_document *out)
{
	*out = (struct access_document){
#define ACCESS_LIMIT_DEFAULT(field, least, most, normal, what) .limits.field = (normal),
		ACCESS_LIMIT_MAP(ACCESS_LIMIT_DEFAULT)
#undef ACCESS_LIMIT_DEFAULT
	};
}

enum pl_code access_document_parse(struct pl_json json, struct pl_arena *arena,
                                   struct access_document *out, struct pl_err *err)
{
	static const char *const known[] = {"bindings", "limits", NULL};
	struct access_document document;
	enum pl_code code;

	if (pl_json_type(json) != PL_JSON_OBJECT)
		return pl_json_fail(json, PL_INVALID, err, "want an object, got %s",
		                    pl_json_type_name(pl_json_type(json)));
	access_document_default(&document);
	code = pl_json_only(json, known, err);
	if (code == PL_OK)
		code = read_bindings(json, arena, &document, err);
	if (code == PL_OK)
		code = read_limits(json, &document.limits, err);
	if (code == PL_OK)
		*out = document;
	return code;
}

/* -- writing ----------------------------------------------------------------------------- */

static void print_names(struct pl_json_out *out, const char *field,
                        const struct access_names *names)
{
	if (names->count == 0)
		return;
	pl_json_out_name(out, field);
	pl_json_out_array(out);
	for (uint32_t i = 0; i < names->count; i++)
		pl_json_out_string(out, names->at[i]);
	pl_json_out_end(out);
}

void access_document_print(const struct access_document *document,
                           struct pl_json_out *out)
{
	pl_json_out_object(out);
	pl_json_out_name(out, "bindings");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < document->binding_count; i++) {
		const struct access_binding *binding = &document->bindings[i];

		pl_json_out_object(out);
		pl_json_out_name(out, "role");
		pl_json_out_str(out, access_role_text(binding->role));
		print_names(out, "users", &binding->users);
		print_names(out, "groups", &binding->groups);
		print_names(out, "namespaces", &binding->namespaces);
		print_names(out, "clusters", &binding->clusters);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
	pl_json_out_name(out, "limits");
	pl_json_out_object(out);
#define ACCESS_LIMIT_PRINT(field, least, most, normal, what) \
	pl_json_out_name(out, #field);                       \
	pl_json_out_int(out, document->limits.field);
	ACCESS_LIMIT_MAP(ACCESS_LIMIT_PRINT)
#undef ACCESS_LIMIT_PRINT
	pl_json_out_end(out);
	pl_json_out_end(out);
}
