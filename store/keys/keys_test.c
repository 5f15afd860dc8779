#include <stdio.h>

#include "store/base/rng.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"
#include "tests/harness/t.h"

static void builds(struct keys_id id, const char *want)
{
	struct pl_err err = {0};
	struct keys_text text;
	struct keys_id back = {.kind = KEYS_KIND_COUNT};

	T_OK(keys_build(&id, &text, &err), &err);
	T_STR(text.at, want);
	T_EQ(text.len, strlen(want));
	T_OK(keys_parse(keys_span(&text), &back, &err), &err);
	T_EQ(back.kind, id.kind);
	T_EQ(back.partition, id.partition);
	T_TRUE(back.version == id.version);
	T_SPAN(back.scope, id.scope);
	T_SPAN(back.name, id.name);
	T_SPAN(back.group, id.group);
	T_SPAN(back.resource, id.resource);
}

#define L(text) PL_SPAN_LIT(text)

T_CASE(each_kind_of_key_builds_and_parses)
{
	builds((struct keys_id){.kind = KEYS_META}, "/placet/meta");
	builds((struct keys_id){.kind = KEYS_CLUSTER, .name = L("east")},
	       "/clusters/east");
	builds((struct keys_id){.kind = KEYS_NODE,
	                        .partition = 7,
	                        .scope = L("east"),
	                        .name = L("n-1.x")},
	       "/nodes/0007/east/n-1.x");
	builds((struct keys_id){.kind = KEYS_ALLOC,
	                        .partition = 4095,
	                        .scope = L("east"),
	                        .name = L("n1")},
	       "/alloc/4095/east/n1");
	builds((struct keys_id){.kind = KEYS_SPEC,
	                        .partition = 0,
	                        .scope = L("default"),
	                        .name = L("web-0")},
	       "/schedules/0000/default/web-0/spec");
	builds((struct keys_id){.kind = KEYS_STATE,
	                        .partition = 63,
	                        .scope = L("default"),
	                        .name = L("web-0")},
	       "/schedules/0063/default/web-0/state");
	builds((struct keys_id){.kind = KEYS_REGISTRY_GLOBAL}, "/groups/registry");
	builds((struct keys_id){.kind = KEYS_REGISTRY, .scope = L("default")},
	       "/groups/default/registry");
	builds((struct keys_id){.kind = KEYS_REGISTRY, .scope = L("registry")},
	       "/groups/registry/registry");
	builds((struct keys_id){.kind = KEYS_GROUP,
	                        .scope = L("default"),
	                        .name = L("t1")},
	       "/groups/default/t1");
	builds((struct keys_id){.kind = KEYS_GROUP,
	                        .scope = L("nodes"),
	                        .name = L("nodes")},
	       "/groups/nodes/nodes");
	builds((struct keys_id){.kind = KEYS_TOPOLOGY}, "/groups/nodes");
	builds((struct keys_id){.kind = KEYS_GANG,
	                        .scope = L("ml"),
	                        .name = L("train.1")},
	       "/gangs/ml/train.1");
	builds((struct keys_id){.kind = KEYS_BUDGETS_LOCK}, "/budgets/lock");
	builds((struct keys_id){.kind = KEYS_BUDGET,
	                        .scope = L("lock"),
	                        .name = L("lock")},
	       "/budgets/lock/lock");
	builds((struct keys_id){.kind = KEYS_BUDGET, .scope = L("web"), .name = L("app")},
	       "/budgets/web/app");
}

T_CASE(keys_of_shards_and_settings_build_and_parse)
{
	builds((struct keys_id){.kind = KEYS_SHARD, .name = L("host-0")},
	       "/shards/host-0");
	builds((struct keys_id){.kind = KEYS_OWNER, .partition = 12},
	       "/partitions/0012/owner");
	builds((struct keys_id){.kind = KEYS_DIGEST, .name = L("host-0")},
	       "/digests/host-0");
	builds((struct keys_id){.kind = KEYS_CONFIG, .name = L("main"), .version = 12},
	       "/config/main/0000000012");
	builds((struct keys_id){.kind = KEYS_CONFIG,
	                        .name = L("current"),
	                        .version = KEYS_VERSION_MAX},
	       "/config/current/9999999999");
	builds((struct keys_id){.kind = KEYS_CONFIG_CURRENT, .name = L("main")},
	       "/config/main/current");
	builds((struct keys_id){.kind = KEYS_LEADER, .name = L("connector.east")},
	       "/leader/connector.east");
	builds((struct keys_id){.kind = KEYS_PIN, .name = L("fsck.1")}, "/pins/fsck.1");
	builds((struct keys_id){.kind = KEYS_NAMESPACES}, "/objects/core/namespaces");
	builds((struct keys_id){.kind = KEYS_OBJECT,
	                        .group = L("scheduling.k8s.io"),
	                        .resource = L("priorityclasses"),
	                        .name = L("high")},
	       "/objects/scheduling.k8s.io/priorityclasses/high");
	builds((struct keys_id){.kind = KEYS_OBJECT_IN,
	                        .group = L("core"),
	                        .resource = L("services"),
	                        .scope = L("shop"),
	                        .name = L("web")},
	       "/objects/core/services/shop/web");
	builds((struct keys_id){.kind = KEYS_TOKEN, .name = L("ci")},
	       "/access/tokens/ci");
	builds((struct keys_id){.kind = KEYS_NODES_TICK}, "/nodes/tick");
	builds((struct keys_id){.kind = KEYS_SCHEDULES_TICK}, "/schedules/tick");
	builds((struct keys_id){.kind = KEYS_BUDGETS_TICK}, "/budgets/tick");
	builds((struct keys_id){.kind = KEYS_BUDGET,
	                        .scope = L("tick"),
	                        .name = L("tick")},
	       "/budgets/tick/tick");
	builds((struct keys_id){.kind = KEYS_OBJECTS_TICK}, "/objects/tick");
}

T_CASE(prefixes_cover_their_keys)
{
	struct keys_id id = {.kind = KEYS_SPEC,
	                     .partition = 7,
	                     .scope = L("default"),
	                     .name = L("web-0")};
	struct keys_text text;

	T_OK(keys_prefix(&id, 1, &text, NULL), NULL);
	T_STR(text.at, "/schedules/");
	T_OK(keys_prefix(&id, 2, &text, NULL), NULL);
	T_STR(text.at, "/schedules/0007/");
	T_OK(keys_prefix(&id, 4, &text, NULL), NULL);
	T_STR(text.at, "/schedules/0007/default/web-0/");
	id.name = L("-");
	T_OK(keys_prefix(&id, 3, &text, NULL), NULL);
	T_STR(text.at, "/schedules/0007/default/");
	T_CODE(keys_prefix(&id, 4, &text, NULL), PL_INVALID, NULL);
}

static void refuses(struct pl_span key, const char *why)
{
	struct keys_id id = {.kind = KEYS_KIND_COUNT};
	struct pl_err err = {0};

	T_CODE(keys_parse(key, &id, &err), PL_INVALID, &err);
	T_EQ(err.code, PL_INVALID);
	T_STR(err.msg, why);
	T_EQ(id.kind, KEYS_KIND_COUNT);
}

T_CASE(text_that_is_no_key_is_refused)
{
	refuses(L(""), "key '': not one of Placet's");
	refuses(L("/"), "key '/': not one of Placet's");
	refuses(L("placet/meta"), "key 'placet/meta': not one of Placet's");
	refuses(L("/placet/meta/"), "key '/placet/meta/': not one of Placet's");
	refuses(L("/placet//meta"), "key '/placet//meta': not one of Placet's");
	refuses(L("/nodes/0007/east"), "key '/nodes/0007/east': not one of Placet's");
	refuses(L("/nodes/0007/east/a/b/c/d"),
	        "key '/nodes/0007/east/a/b/c/d': not one of Placet's");
	refuses(L("/alloc/tick"), "key '/alloc/tick': not one of Placet's");
	refuses(L("/nodes/tick/"), "key '/nodes/tick/': not one of Placet's");
	refuses(L("/nodes/7/east/a"),
	        "key '/nodes/7/east/a': partition '7': want four digits");
	refuses(L("/nodes/00a7/east/a"),
	        "key '/nodes/00a7/east/a': partition '00a7': want four digits");
	refuses(L("/nodes/4096/east/a"),
	        "key '/nodes/4096/east/a': partition 4096: want at most 4095");
	refuses(L("/nodes/0007//a"), "key '/nodes/0007//a': cluster '': want a name");
	refuses(L("/nodes/0007/east/A"),
	        "key '/nodes/0007/east/A': node 'A': want only a-z, 0-9, - and .");
	refuses(L("/nodes/0007/east/a\0"),
	        "key '/nodes/0007/east/a\\x00': node 'a\\x00': want only a-z, 0-9, - and .");
	refuses(L("/groups/a.b/t"),
	        "key '/groups/a.b/t': namespace 'a.b': want only a-z, 0-9 and -");
	refuses(L("/schedules/0001/default/web/status"),
	        "key '/schedules/0001/default/web/status': not one of Placet's");
	refuses(L("/config/main/12"),
	        "key '/config/main/12': version '12': want ten digits");
	refuses(L("/config/main/00000000012"),
	        "key '/config/main/00000000012': version '00000000012': want ten digits");
}

T_CASE(invalid_ids_are_not_built)
{
	struct keys_id id = {
		.kind = KEYS_NODE, .partition = 4096, .scope = L("east"), .name = L("n")};
	struct keys_text text;
	struct pl_err err = {0};

	T_CODE(keys_build(&id, &text, &err), PL_INVALID, &err);
	T_STR(err.msg, "partition 4096: want at most 4095");
	id.partition = 1;
	id.scope = L("east/x");
	T_CODE(keys_build(&id, &text, &err), PL_INVALID, &err);
	T_STR(err.msg, "cluster 'east/x': want only a-z, 0-9, - and .");
	id = (struct keys_id){.kind = KEYS_GROUP, .scope = L("a"), .name = L("registry")};
	T_CODE(keys_build(&id, &text, &err), PL_INVALID, &err);
	T_STR(err.msg, "term 'registry': the name is reserved");
	id = (struct keys_id){
		.kind = KEYS_CONFIG, .name = L("a"), .version = KEYS_VERSION_MAX + 1};
	T_CODE(keys_build(&id, &text, &err), PL_INVALID, &err);
}

static enum pl_code check(enum names_kind kind, const char *name)
{
	return names_check(kind, pl_span_str(name), NULL);
}

T_CASE(names_follow_kubernetes)
{
	static const char *const good[] = {"a",   "0",   "a-b",    "a--b",
	                                   "a.b", "0.0", "a-1.b-2"};
	static const char *const bad[] = {"",    "-",    "-a",   "a-",       ".a",
	                                  "a.",  "a..b", "a.-b", "a-.b",     "A",
	                                  "a_b", "a/b",  "a b",  "\xc3\xa9", "a\n"};
	char name[256];

	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		T_OK(check(NAMES_POD, good[i]), NULL);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		T_CODE(check(NAMES_POD, bad[i]), PL_INVALID, NULL);
		T_CODE(check(NAMES_NAMESPACE, bad[i]), PL_INVALID, NULL);
	}
	T_CODE(check(NAMES_NAMESPACE, "a.b"), PL_INVALID, NULL);
	memset(name, 'a', sizeof name);
	for (int kind = 0; kind < NAMES_KIND_COUNT; kind++) {
		bool short_one = kind == NAMES_CLUSTER || kind == NAMES_NAMESPACE ||
		                 kind == NAMES_CONFIG || kind == NAMES_TOKEN;
		bool of_api = kind == NAMES_GROUP || kind == NAMES_RESOURCE;
		size_t most = of_api ? 32 : short_one ? 63 : 253;

		T_OK(names_check((enum names_kind)kind, pl_span(name, most), NULL), NULL);
		T_CODE(names_check((enum names_kind)kind, pl_span(name, most + 1), NULL),
		       PL_INVALID, NULL);
		T_TRUE(strlen(names_kind_name((enum names_kind)kind)) > 0);
	}
}

T_CASE(the_longest_names_fit)
{
	char scope[63], name[253];
	struct keys_text text;
	struct keys_id back;

	memset(scope, 's', sizeof scope);
	memset(name, 'n', sizeof name);
	for (int kind = 0; kind < KEYS_KIND_COUNT; kind++) {
		struct keys_id id = {.kind = (enum keys_kind)kind,
		                     .scope = pl_span(scope, sizeof scope),
		                     .name = pl_span(name, sizeof name),
		                     .group = pl_span(name, 32),
		                     .resource = pl_span(name, 32)};

		if (kind == KEYS_CLUSTER || kind == KEYS_CONFIG ||
		    kind == KEYS_CONFIG_CURRENT || kind == KEYS_TOKEN)
			id.name.len = 63;
		T_OK(keys_build(&id, &text, NULL), NULL);
		T_OK(keys_parse(keys_span(&text), &back, NULL), NULL);
		T_EQ(back.kind, kind);
		T_TRUE(strlen(keys_kind_name((enum keys_kind)kind)) > 0);
	}
}

static struct pl_span any_name(struct pl_rng *rng, char *at, size_t most, bool dots)
{
	static const char set[] = "abcxyz0189-.";
	size_t len = (size_t)pl_rng_between(rng, 1, most);

	for (size_t i = 0; i < len; i++)
		at[i] = set[pl_rng_below(rng, dots ? 12 : 11)];
	return pl_span(at, len);
}

/* Every key that can be built reads back the same, and different things have different
 * keys. */
T_CASE(random_keys_read_back)
{
	struct pl_rng rng;
	unsigned built = 0;

	pl_rng_init(&rng, t_seed());
	for (int i = 0; i < 50000; i++) {
		char scope[64], name[254], group[33], resource[33];
		struct keys_id id = {
			.kind = (enum keys_kind)pl_rng_below(&rng, KEYS_KIND_COUNT)};
		struct keys_id back = {0};
		struct keys_text text, again;

		id.partition = (uint32_t)pl_rng_below(&rng, KEYS_PARTITIONS_MAX + 2);
		id.version = pl_rng_next(&rng) >> pl_rng_between(&rng, 28, 63);
		id.scope =
			any_name(&rng, scope, pl_rng_chance(&rng, 1, 50) ? 64 : 5, false);
		id.name =
			any_name(&rng, name, pl_rng_chance(&rng, 1, 50) ? 254 : 5, true);
		id.group =
			any_name(&rng, group, pl_rng_chance(&rng, 1, 50) ? 33 : 5, true);
		id.resource = any_name(&rng, resource,
		                       pl_rng_chance(&rng, 1, 50) ? 33 : 5, false);
		if (keys_build(&id, &text, NULL) != PL_OK)
			continue;
		built++;
		T_OK(keys_parse(keys_span(&text), &back, NULL), NULL);
		T_EQ(back.kind, id.kind);
		T_TRUE(back.scope.len == 0 || pl_span_eq(back.scope, id.scope));
		T_TRUE(back.name.len == 0 || pl_span_eq(back.name, id.name));
		T_TRUE(back.group.len == 0 || pl_span_eq(back.group, id.group));
		T_TRUE(back.resource.len == 0 || pl_span_eq(back.resource, id.resource));
		T_TRUE(back.partition == 0 || back.partition == id.partition);
		T_TRUE(back.version == 0 || back.version == id.version);
		T_OK(keys_build(&back, &again, NULL), NULL);
		T_SPAN(keys_span(&again), keys_span(&text));
	}
	T_REACHED(built > 10000);
}
