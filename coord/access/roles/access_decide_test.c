#include <stdio.h>

#include "coord/access/roles/access_decide.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

static struct pl_arena arena;
static struct pl_err err;
static struct access_document document;

static enum pl_code parse(const char *text)
{
	struct pl_json json = {0};

	pl_arena_done(&arena);
	pl_arena_init(&arena, 0, 0);
	T_OK(pl_json_parse(&arena, pl_span_str(text), NULL, &json, &err), &err);
	return access_document_parse(json, &arena, &document, &err);
}

static void accept(const char *text)
{
	T_OK(parse(text), &err);
}

/* user, and groups up to a NULL. */
static struct identity who(const char *user, const char *group)
{
	static struct pl_span groups[2];

	groups[0] = PL_SPAN_LIT(IDENTITY_AUTHENTICATED);
	groups[1] = pl_span_str(group);
	return (struct identity){.user = pl_span_str(user),
	                         .groups = groups,
	                         .group_count = group == NULL ? 1 : 2,
	                         .via = IDENTITY_TOKEN_FILE};
}

static struct access_attributes on(const char *verb, const char *resource,
                                   const char *namespace, const char *name)
{
	return (struct access_attributes){.is_resource = true,
	                                  .verb = pl_span_str(verb),
	                                  .resource = pl_span_str(resource),
	                                  .namespace = pl_span_str(namespace),
	                                  .name = pl_span_str(name)};
}

static bool may(struct identity identity, struct access_attributes asked)
{
	return access_allows(&document, &identity, &asked, NULL);
}

T_CASE(without_bindings_only_masters_may)
{
	accept("{}");
	T_TRUE(may(who("root", "system:masters"), on("delete", "nodes", NULL, "x")));
	T_TRUE(!may(who("ann", NULL), on("list", "pods", "a", NULL)));
	T_TRUE(!may(identity_anonymous(), on("list", "pods", "a", NULL)));
	T_TRUE(may(identity_local(), on("list", "pods", "a", NULL)));
}

T_CASE(no_document_takes_the_masters_rights)
{
	accept("{\"bindings\":[{\"role\":\"viewer\",\"groups\":[\"system:masters\"]}]}");
	T_TRUE(may(who("root", "system:masters"), on("delete", "nodes", NULL, "x")));
}

T_CASE(a_namespaced_binding_reaches_its_namespaces_only)
{
	accept("{\"bindings\":[{\"role\":\"editor\",\"users\":[\"ann\"],"
	       "\"namespaces\":[\"a\",\"b\"]}]}");
	T_TRUE(may(who("ann", NULL), on("create", "pods", "a", NULL)));
	T_TRUE(may(who("ann", NULL), on("list", "pods", "b", NULL)));
	T_TRUE(!may(who("ann", NULL), on("list", "pods", "c", NULL)));
	T_TRUE(!may(who("ann", NULL), on("list", "pods", NULL, NULL)));
	T_TRUE(!may(who("ann", NULL), on("get", "nodes", NULL, "n")));
	T_TRUE(!may(who("bob", NULL), on("list", "pods", "a", NULL)));
	/* The Namespace itself may be read, as an object, and nothing else. */
	T_TRUE(may(who("ann", NULL), on("get", "namespaces", "a", "a")));
	T_TRUE(!may(who("ann", NULL), on("get", "namespaces", "c", "c")));
	T_TRUE(!may(who("ann", NULL), on("watch", "namespaces", "a", "a")));
	T_TRUE(!may(who("ann", NULL), on("list", "namespaces", NULL, NULL)));
	T_TRUE(!may(who("ann", NULL), on("delete", "namespaces", "a", "a")));
}

T_CASE(a_namespaced_admin_is_none_elsewhere)
{
	struct access_attributes metrics = {.verb = PL_SPAN_LIT("get"),
	                                    .path = PL_SPAN_LIT("/metrics")};
	struct access_attributes access = on("update", "configs", NULL, "access");

	access.group = PL_SPAN_LIT("placet.io");
	accept("{\"bindings\":[{\"role\":\"admin\",\"groups\":[\"team\"],"
	       "\"namespaces\":[\"a\"]}]}");
	T_TRUE(may(who("ann", "team"), on("create", "bindings", "a", NULL)));
	T_TRUE(!may(who("ann", "team"), on("impersonate", "users", NULL, "root")));
	T_TRUE(!may(who("ann", "team"), on("delete", "namespaces", "a", "a")));
	T_TRUE(!may(who("ann", "team"), access));
	T_TRUE(!may(who("ann", "team"), metrics));
}

T_CASE(a_user_is_no_group)
{
	accept("{\"bindings\":[{\"role\":\"viewer\",\"users\":[\"team\"]},"
	       "{\"role\":\"viewer\",\"groups\":[\"ann\"]}]}");
	T_TRUE(!may(who("ann", "team"), on("list", "pods", "a", NULL)));
	T_TRUE(may(who("team", NULL), on("list", "pods", "a", NULL)));
	T_TRUE(may(who("bob", "ann"), on("list", "pods", "a", NULL)));
}

T_CASE(a_connector_has_its_clusters)
{
	struct access_attributes node = on("patch", "nodes", NULL, "east:n1");
	struct access_attributes pod = on("create", "pods", "a", "p");

	accept("{\"bindings\":[{\"role\":\"connector\",\"users\":[\"east\"],"
	       "\"clusters\":[\"east\",\"far\"]}]}");
	node.subresource = PL_SPAN_LIT("status");
	T_TRUE(!may(who("east", NULL), node));
	node.cluster = PL_SPAN_LIT("east");
	T_TRUE(may(who("east", NULL), node));
	node.cluster = PL_SPAN_LIT("west");
	T_TRUE(!may(who("east", NULL), node));
	node.cluster = PL_SPAN_LIT("east");
	node.subresource = (struct pl_span){0};
	T_TRUE(!may(who("east", NULL), node));
	pod.subresource = PL_SPAN_LIT("binding");
	T_TRUE(!may(who("east", NULL), pod));
	pod.cluster = PL_SPAN_LIT("far");
	T_TRUE(may(who("east", NULL), pod));
	T_TRUE(!may(who("east", NULL), on("list", "pods", NULL, NULL)));
}

T_CASE(a_grant_says_why)
{
	struct access_attributes asked = on("list", "pods", "shop", NULL);
	struct identity ann = who("ann", NULL), root;
	struct access_grant grant;

	accept("{\"bindings\":[{\"role\":\"viewer\",\"users\":[\"bob\"]},"
	       "{\"role\":\"editor\",\"users\":[\"ann\"],\"namespaces\":[\"shop\"]}]}");
	T_TRUE(access_allows(&document, &ann, &asked, &grant));
	T_STR(access_grant_text(&document, &grant, &arena),
	      "bindings[1]: editor in the namespace shop");
	asked.namespace = PL_SPAN_LIT("x");
	T_TRUE(!access_allows(&document, &ann, &asked, &grant));
	T_STR(access_grant_text(&document, &grant, &arena), "");
	root = who("root", "system:masters");
	T_TRUE(access_allows(&document, &root, &asked, &grant));
	T_EQ(grant.kind, ACCESS_BY_MASTERS);
}

static void count_rule(void *ctx, const struct access_rule *rule,
                       const struct access_binding *binding)
{
	unsigned *counts = ctx;

	(void)binding;
	counts[rule->paths == NULL ? 0 : 1]++;
}

T_CASE(rules_of_a_user_are_told)
{
	struct identity ann = who("ann", NULL);
	unsigned here[2] = {0}, there[2] = {0};

	accept("{\"bindings\":[{\"role\":\"viewer\",\"users\":[\"ann\"],"
	       "\"namespaces\":[\"shop\"]}]}");
	access_rules_of(&document, &ann, PL_SPAN_LIT("shop"), count_rule, here);
	access_rules_of(&document, &ann, PL_SPAN_LIT("x"), count_rule, there);
	T_EQ(here[0], there[0] + 1);
	T_EQ(here[1], 1);
}

/* -- random documents against a plain reading of the rules ------------------------------- */

static const char *const names[] = {"a", "b", "c", "d"};
static const char *const role_words[] = {"viewer", "editor", "operator", "admin",
                                         "connector"};

struct random_binding {
	unsigned role, users, groups, namespaces, clusters; /* bits of names */
};

static size_t add_list(char *text, size_t len, size_t size, const char *field,
                       unsigned bits)
{
	const char *comma = "";

	if (bits == 0)
		return len;
	len += (size_t)snprintf(text + len, size - len, ",\"%s\":[", field);
	for (unsigned i = 0; i < 4; i++) {
		if ((bits >> i & 1) == 0)
			continue;
		len += (size_t)snprintf(text + len, size - len, "%s\"%s\"", comma,
		                        names[i]);
		comma = ",";
	}
	return len + (size_t)snprintf(text + len, size - len, "]");
}

static void random_document(struct pl_rng *rng, struct random_binding *bindings,
                            unsigned count)
{
	static char text[1 << 16];
	size_t len = (size_t)snprintf(text, sizeof text, "{\"bindings\":[");

	for (unsigned i = 0; i < count; i++) {
		struct random_binding *b = &bindings[i];

		b->role = (unsigned)pl_rng_below(rng, ACCESS_ROLE_COUNT);
		b->users = (unsigned)pl_rng_below(rng, 16);
		b->groups = (unsigned)pl_rng_below(rng, 16);
		if (b->users + b->groups == 0)
			b->users = 1;
		b->namespaces = b->clusters = 0;
		if (b->role == ACCESS_CONNECTOR)
			b->clusters = (unsigned)pl_rng_between(rng, 1, 15);
		else if (pl_rng_chance(rng, 1, 2))
			b->namespaces = (unsigned)pl_rng_between(rng, 1, 15);
		len += (size_t)snprintf(text + len, sizeof text - len,
		                        "%s{\"role\":\"%s\"", i == 0 ? "" : ",",
		                        role_words[b->role]);
		len = add_list(text, len, sizeof text, "users", b->users);
		len = add_list(text, len, sizeof text, "groups", b->groups);
		len = add_list(text, len, sizeof text, "namespaces", b->namespaces);
		len = add_list(text, len, sizeof text, "clusters", b->clusters);
		len += (size_t)snprintf(text + len, sizeof text - len, "}");
	}
	(void)snprintf(text + len, sizeof text - len, "]}");
	accept(text);
}

static bool plainly(const struct random_binding *bindings, unsigned count, unsigned user,
                    unsigned group, int namespace, int cluster,
                    const struct access_attributes *asked)
{
	for (unsigned i = 0; i < count; i++) {
		const struct random_binding *b = &bindings[i];
		bool connector = b->role == ACCESS_CONNECTOR;

		if ((b->users >> user & 1) == 0 && (b->groups >> group & 1) == 0)
			continue;
		if (b->namespaces != 0 &&
		    (namespace < 0 || (b->namespaces >> namespace & 1) == 0))
			continue;
		if (connector && (cluster < 0 || asked->name.len == 0 ||
		                  (b->clusters >> cluster & 1) == 0))
			continue;
		if (access_role_gives((enum access_role)b->role, asked))
			return true;
	}
	return false;
}

T_CASE(random_documents_decide_as_they_read)
{
	static const char *const verbs[] = {"get",    "list",   "watch",
	                                    "create", "update", "impersonate"};
	static const char *const resources[] = {"pods", "nodes", "bindings", "users"};
	static const char *const subs[] = {"", "", "status", "binding", "exec"};
	struct random_binding bindings[12];
	unsigned allowed = 0, denied = 0;
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (unsigned round = 0; round < 300; round++) {
		unsigned count = (unsigned)pl_rng_between(&rng, 1, 12);

		random_document(&rng, bindings, count);
		for (unsigned i = 0; i < 40; i++) {
			unsigned user = (unsigned)pl_rng_below(&rng, 4);
			unsigned group = (unsigned)pl_rng_below(&rng, 4);
			int namespace = (int)pl_rng_below(&rng, 5) - 1;
			int cluster = (int)pl_rng_below(&rng, 5) - 1;
			struct access_attributes asked =
				on(verbs[pl_rng_below(&rng, 6)],
			           resources[pl_rng_below(&rng, 4)],
			           namespace < 0 ? NULL : names[namespace],
			           pl_rng_chance(&rng, 1, 2) ? "x" : NULL);
			struct identity identity = who(names[user], names[group]);
			bool want;

			asked.subresource = pl_span_str(subs[pl_rng_below(&rng, 5)]);
			asked.cluster = pl_span_str(cluster < 0 ? NULL : names[cluster]);
			want = plainly(bindings, count, user, group, namespace, cluster,
			               &asked);
			T_EQ(access_allows(&document, &identity, &asked, NULL), want);
			allowed += want;
			denied += !want;
		}
	}
	T_REACHED(allowed > 1000);
	T_REACHED(denied > 1000);
}
