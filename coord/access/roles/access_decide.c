#include "coord/access/roles/access_decide.h"

/* -- the bindings of an identity ---------------------------------------------------------- */

static bool names_have(const struct access_names *names, struct pl_span name)
{
	uint32_t low = 0, high = names->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = pl_span_cmp(names->at[middle], name);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* The first subject that is not before the one that is looked for. */
static uint32_t first_subject(const struct access_document *document, struct pl_span name,
                              bool is_group)
{
	struct access_subject wanted = {.name = name, .is_group = is_group};
	uint32_t low = 0, high = document->subject_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (access_subject_cmp(&document->subjects[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The bindings of an identity, one after another: by its user, then by each group. */
struct binding_walk {
	const struct access_document *document;
	const struct identity *identity;
	struct pl_span name;
	size_t group; /* the next one */
	uint32_t at;  /* among the subjects */
	bool is_group;
};

static struct binding_walk walk_begin(const struct access_document *document,
                                      const struct identity *identity)
{
	return (struct binding_walk){
		.document = document,
		.identity = identity,
		.name = identity->user,
		.at = first_subject(document, identity->user, false)};
}

static bool is_subject(const struct access_document *document, uint32_t at,
                       struct pl_span name, bool is_group)
{
	return at < document->subject_count &&
	       document->subjects[at].is_group == is_group &&
	       pl_span_eq(document->subjects[at].name, name);
}

static bool walk_next(struct binding_walk *walk, uint32_t *binding)
{
	const struct access_document *document = walk->document;

	for (;;) {
		if (is_subject(document, walk->at, walk->name, walk->is_group)) {
			*binding = document->subjects[walk->at++].binding;
			return true;
		}
		if (walk->group == walk->identity->group_count)
			return false;
		walk->name = walk->identity->groups[walk->group++];
		walk->is_group = true;
		walk->at = first_subject(document, walk->name, true);
	}
}

static bool is_namespace_object(const struct access_attributes *asked)
{
	return asked->group.len == 0 &&
	       pl_span_eq(asked->resource, PL_SPAN_LIT("namespaces"));
}

/* Whether what is asked lies where the binding reaches. */
static bool binding_reaches(const struct access_binding *binding,
                            const struct access_attributes *asked)
{
	if (binding->role == ACCESS_CONNECTOR)
		return asked->is_resource && asked->name.len > 0 &&
		       asked->cluster.len > 0 &&
		       names_have(&binding->clusters, asked->cluster);
	if (binding->namespaces.count == 0)
		return true;
	if (!asked->is_resource || asked->namespace.len == 0 ||
	    !names_have(&binding->namespaces, asked->namespace))
		return false;
	return !is_namespace_object(asked) ||
	       (pl_span_eq(asked->verb, PL_SPAN_LIT("get")) &&
	        asked->subresource.len == 0);
}

bool access_allows(const struct access_document *document,
                   const struct identity *identity, const struct access_attributes *asked,
                   struct access_grant *grant)
{
	struct access_grant nowhere;
	struct binding_walk walk;

	if (grant == NULL)
		grant = &nowhere;
	*grant = (struct access_grant){.kind = ACCESS_BY_NOTHING};
	if (!identity_is_authenticated(identity))
		return false;
	grant->kind = ACCESS_BY_MASTERS;
	if (identity_in_group(identity, IDENTITY_MASTERS))
		return true;
	grant->kind = ACCESS_BY_BASICS;
	if (access_rules_give(access_basic_rules(), asked))
		return true;
	grant->kind = ACCESS_BY_BINDING;
	walk = walk_begin(document, identity);
	while (walk_next(&walk, &grant->binding)) {
		const struct access_binding *binding =
			&document->bindings[grant->binding];

		if (binding_reaches(binding, asked) &&
		    access_role_gives(binding->role, asked))
			return true;
	}
	*grant = (struct access_grant){.kind = ACCESS_BY_NOTHING};
	return false;
}

bool access_is_connector(const struct access_document *document,
                         const struct identity *identity)
{
	struct binding_walk walk = walk_begin(document, identity);
	uint32_t number;

	while (walk_next(&walk, &number))
		if (document->bindings[number].role == ACCESS_CONNECTOR)
			return true;
	return false;
}

static const char *binding_text(const struct access_document *document, uint32_t number,
                                struct pl_arena *arena)
{
	const struct access_binding *binding = &document->bindings[number];
	const struct access_names *names = &binding->namespaces;
	const char *in = "namespace";

	if (binding->role == ACCESS_CONNECTOR) {
		names = &binding->clusters;
		in = "cluster";
	}
	if (names->count == 0)
		return pl_arena_printf(arena, "bindings[%u]: %s", number,
		                       access_role_text(binding->role));
	if (names->count == 1)
		return pl_arena_printf(arena, "bindings[%u]: %s in the %s " PL_SPAN_FMT,
		                       number, access_role_text(binding->role), in,
		                       PL_SPAN_ARG(names->at[0]));
	return pl_arena_printf(arena, "bindings[%u]: %s in %u %ss", number,
	                       access_role_text(binding->role), names->count, in);
}

const char *access_grant_text(const struct access_document *document,
                              const struct access_grant *grant, struct pl_arena *arena)
{
	switch (grant->kind) {
	case ACCESS_BY_NOTHING:
		return "";
	case ACCESS_BY_MASTERS:
		return "the group " IDENTITY_MASTERS " may everything";
	case ACCESS_BY_BASICS:
		return "every authenticated user may";
	case ACCESS_BY_BINDING:
		return binding_text(document, grant->binding, arena);
	}
	PL_UNREACHABLE("kind of a grant");
}

static void tell_rules(const struct access_rule *rules,
                       const struct access_binding *binding, access_rule_fn *each,
                       void *ctx)
{
	/* A binding of some namespaces gives no path. */
	bool paths = binding == NULL || binding->namespaces.count == 0;

	for (; rules->verbs != NULL; rules++)
		if (rules->paths == NULL || paths)
			each(ctx, rules, binding);
}

static void tell_role(enum access_role role, const struct access_binding *binding,
                      access_rule_fn *each, void *ctx)
{
	for (; role != ACCESS_ROLE_COUNT; role = access_role_includes(role))
		tell_rules(access_role_rules(role), binding, each, ctx);
}

void access_rules_of(const struct access_document *document,
                     const struct identity *identity, struct pl_span namespace,
                     access_rule_fn *each, void *ctx)
{
	struct binding_walk walk;
	uint32_t number;

	if (!identity_is_authenticated(identity))
		return;
	if (identity_in_group(identity, IDENTITY_MASTERS))
		tell_role(ACCESS_ADMIN, NULL, each, ctx);
	tell_rules(access_basic_rules(), NULL, each, ctx);
	walk = walk_begin(document, identity);
	while (walk_next(&walk, &number)) {
		const struct access_binding *binding = &document->bindings[number];

		if (binding->namespaces.count == 0 ||
		    names_have(&binding->namespaces, namespace))
			tell_role(binding->role, binding, each, ctx);
	}
}
