/* The rules of a user, as Kubernetes lists them. */
#include <stdio.h>

#include "coord/api/verbs/review.h"

struct rules_writer {
	struct pl_json_out *out;
	struct pl_span namespace;
	bool paths;     /* of both kinds of rules, those that are written now */
	bool connector; /* there are rules that depend on an object's cluster */
};

static void put_word(struct pl_json_out *out, const char *name, struct pl_span word)
{
	pl_json_out_name(out, name);
	pl_json_out_array(out);
	pl_json_out_string(out, word);
	pl_json_out_end(out);
}

static void put_words(struct pl_json_out *out, const char *name, const char *words)
{
	struct pl_span word;

	if (words == NULL)
		return;
	pl_json_out_name(out, name);
	pl_json_out_array(out);
	while ((word = access_word_next(&words)).len > 0)
		pl_json_out_string(out, pl_span_eq(word, PL_SPAN_LIT("core"))
		                                ? pl_span("", 0)
		                                : word);
	pl_json_out_end(out);
}

/* -- a rule with stars, resource by resource ------------------------------------------------- */

static const struct {
	uint16_t bit;
	const char *name;
} subresources[] = {
	{0, ""},
	{SCHEMA_SUB_STATUS, "status"},
	{SCHEMA_SUB_SCALE, "scale"},
	{SCHEMA_SUB_BINDING, "binding"},
	{SCHEMA_SUB_EVICTION, "eviction"},
	{SCHEMA_SUB_LOG, "log"},
	{SCHEMA_SUB_FINALIZE, "finalize"},
};

enum { SUBRESOURCES = sizeof subresources / sizeof *subresources };

static bool gives(const struct access_rule *rule, const struct schema_resource *resource,
                  unsigned sub, bool namespaced)
{
	const char *verbs = rule->verbs;
	const struct access_attributes asked = {
		.is_resource = true,
		.verb = access_word_next(&verbs),
		.group = pl_span_str(resource->group),
		.resource = pl_span_str(resource->plural),
		.subresource = pl_span_str(subresources[sub].name)};

	return (resource->namespaced || !namespaced) &&
	       (sub == 0 || (resource->subresources & subresources[sub].bit) != 0) &&
	       access_rule_gives(rule, &asked);
}

/* The resources of one group; false: there are none. */
static bool put_group(struct rules_writer *writer, const struct access_rule *rule,
                      bool namespaced, const char *group)
{
	size_t count;
	const struct schema_resource *all = schema_resources(&count);
	struct pl_json_out *out = writer->out;
	char name[128];
	bool some = false;

	for (size_t i = 0; i < count * SUBRESOURCES; i++) {
		const struct schema_resource *resource = &all[i / SUBRESOURCES];
		unsigned sub = (unsigned)(i % SUBRESOURCES);

		if (strcmp(resource->group, group) != 0 ||
		    !gives(rule, resource, sub, namespaced))
			continue;
		if (!some) {
			pl_json_out_object(out);
			put_words(out, "verbs", rule->verbs);
			put_word(out, "apiGroups", pl_span_str(group));
			pl_json_out_name(out, "resources");
			pl_json_out_array(out);
		}
		some = true;
		(void)snprintf(name, sizeof name, "%s%s%s", resource->plural,
		               sub == 0 ? "" : "/", subresources[sub].name);
		pl_json_out_str(out, name);
	}
	if (!some)
		return false;
	pl_json_out_end(out);
	pl_json_out_end(out);
	return true;
}

static void put_groups(struct rules_writer *writer, const struct access_rule *rule,
                       bool namespaced)
{
	size_t count;
	const struct schema_resource *all = schema_resources(&count);

	/* Resources of a group stand together. */
	for (size_t i = 0; i < count; i++)
		if (i == 0 || strcmp(all[i - 1].group, all[i].group) != 0)
			(void)put_group(writer, rule, namespaced, all[i].group);
}

/* A binding of a namespace lets its Namespace be read. */
static void put_own_namespace(struct rules_writer *writer, const struct access_rule *rule)
{
	const struct access_attributes asked = {.is_resource = true,
	                                        .verb = PL_SPAN_LIT("get"),
	                                        .resource = PL_SPAN_LIT("namespaces"),
	                                        .name = writer->namespace};
	struct pl_json_out *out = writer->out;

	if (!access_rule_gives(rule, &asked))
		return;
	pl_json_out_object(out);
	put_words(out, "verbs", "get");
	put_word(out, "apiGroups", pl_span("", 0));
	put_words(out, "resources", "namespaces");
	put_word(out, "resourceNames", writer->namespace);
	pl_json_out_end(out);
}

/* -- all rules --------------------------------------------------------------------------------- */

static void put_rule(void *ctx, const struct access_rule *rule,
                     const struct access_binding *binding)
{
	struct rules_writer *writer = ctx;
	struct pl_json_out *out = writer->out;
	bool namespaced = binding != NULL && binding->namespaces.count > 0;

	if ((rule->paths != NULL) != writer->paths)
		return;
	if (binding != NULL && binding->role == ACCESS_CONNECTOR)
		writer->connector = true;
	if (rule->paths == NULL && (namespaced || rule->except != NULL)) {
		put_groups(writer, rule, namespaced);
		if (namespaced)
			put_own_namespace(writer, rule);
		return;
	}
	pl_json_out_object(out);
	put_words(out, "verbs", rule->verbs);
	put_words(out, "apiGroups", rule->groups);
	put_words(out, "resources", rule->resources);
	put_words(out, "resourceNames", rule->only);
	put_words(out, "nonResourceURLs", rule->paths);
	pl_json_out_end(out);
}

void review_write_rules(struct request *request, struct pl_span namespace,
                        struct pl_json_out *out)
{
	struct rules_writer writer = {.out = out, .namespace = namespace};
	const struct access_document *access = request->api->access;

	pl_json_out_object(out);
	pl_json_out_name(out, "resourceRules");
	pl_json_out_array(out);
	access_rules_of(access, request->identity, namespace, put_rule, &writer);
	pl_json_out_end(out);
	writer.paths = true;
	pl_json_out_name(out, "nonResourceRules");
	pl_json_out_array(out);
	access_rules_of(access, request->identity, namespace, put_rule, &writer);
	pl_json_out_end(out);
	pl_json_out_name(out, "incomplete");
	pl_json_out_bool(out, writer.connector);
	if (writer.connector) {
		pl_json_out_name(out, "evaluationError");
		pl_json_out_str(out, "a connector's rules hold for objects of its "
		                     "clusters only");
	}
	pl_json_out_end(out);
}
