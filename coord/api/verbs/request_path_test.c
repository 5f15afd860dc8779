#include <stdio.h>
#include <string.h>

#include "coord/api/verbs/continue_token.h"
#include "coord/api/verbs/request_path.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

static struct pl_arena arena;

static bool parse(const char *path, struct request_path *out)
{
	struct api_status status = {0};
	bool ok;

	pl_arena_reset(&arena);
	ok = request_path_parse(&arena, pl_span_str(path), out, &status);
	if (!ok)
		T_EQ(status.code, 404);
	return ok;
}

static void is(const char *path, const char *plural, const char *namespace,
               const char *name, const char *subresource)
{
	struct request_path out;

	T_TRUE(parse(path, &out));
	T_STR(out.resource->plural, plural);
	T_SPAN(out.namespace, pl_span_str(namespace));
	T_SPAN(out.name, pl_span_str(name));
	T_SPAN(out.subresource, pl_span_str(subresource));
}

static void is_nothing(const char *path)
{
	struct request_path out;

	T_STR(parse(path, &out) ? path : "", "");
}

T_CASE(paths_name_collections_objects_and_subresources)
{
	pl_arena_init(&arena, 0, 0);
	is("/api/v1/nodes", "nodes", "", "", "");
	is("/api/v1/nodes/", "nodes", "", "", "");
	is("/api/v1/nodes/n-1", "nodes", "", "n-1", "");
	is("/api/v1/nodes/east%3An-1/status", "nodes", "", "east:n-1", "status");
	is("/api/v1/pods", "pods", "", "", "");
	is("/api/v1/namespaces/shop/pods", "pods", "shop", "", "");
	is("/api/v1/namespaces/shop/pods/web-0/eviction", "pods", "shop", "web-0",
	   "eviction");
	is("/api/v1/namespaces", "namespaces", "", "", "");
	is("/api/v1/namespaces/shop", "namespaces", "", "shop", "");
	is("/api/v1/namespaces/shop/status", "namespaces", "", "shop", "status");
	is("/api/v1/namespaces/shop/finalize", "namespaces", "", "shop", "finalize");
	is("/apis/apps/v1/namespaces/shop/deployments/web/scale", "deployments", "shop",
	   "web", "scale");
	is("/apis/placet.io/v1/shards/s-0", "shards", "", "s-0", "");
	pl_arena_done(&arena);
}

T_CASE(other_paths_name_nothing)
{
	static const char *const paths[] = {
		"",
		"api/v1/nodes",
		"/api/v1",
		"/api/v1//nodes",
		"/api/v1/nodes/.",
		"/api/v1/nodes/..",
		"/api/v1/nodes/%2e%2e",
		"/api/v1/nodes/a%2fb",
		"/api/v1/nodes/a%00b",
		"/api/v1/nodes/a%",
		"/api/v1/nodes/a%4",
		"/api/v1/nodes/a%zz",
		"/api/v1/nodes/a/status/b",
		"/api/v1/pods/web-0", /* an object is in a namespace */
		"/api/v1/namespaces/shop/nodes",
		"/api/v1/namespaces/shop/nodes/n-1",
		"/api/v2/nodes",
		"/api/v1/secrets",
		"/apis/apps/v1beta1/deployments",
		"/apis/none/v1/things",
		"/apis/apps/v1",
		"/api/v1/a/b/c/d/e/f/g/h/i/j/k",
	};
	static char large[REQUEST_PATH_MAX + 32];
	char longest[64 + REQUEST_SEGMENT_MAX];

	pl_arena_init(&arena, 0, 0);
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
		is_nothing(paths[i]);
	(void)snprintf(longest, sizeof longest, "/api/v1/nodes/%0*d", REQUEST_SEGMENT_MAX,
	               7);
	is(longest, "nodes", "", strrchr(longest, '/') + 1, "");
	(void)snprintf(longest, sizeof longest, "/api/v1/nodes/%0*d",
	               REQUEST_SEGMENT_MAX + 1, 7);
	is_nothing(longest);
	(void)snprintf(large, sizeof large, "/api/v1/nodes/%0*d", REQUEST_PATH_MAX, 7);
	is_nothing(large);
	pl_arena_done(&arena);
}

static void query(const char *text, struct request_query *out, bool want)
{
	struct api_status status = {0};

	pl_arena_reset(&arena);
	T_EQ(request_query_parse(&arena, pl_span_str(text), out, &status), want);
	if (!want)
		T_TRUE(status.code == 400 || status.code == 413);
}

T_CASE(options_of_a_query_are_decoded)
{
	struct request_query out;

	pl_arena_init(&arena, 0, 0);
	query("labelSelector=app%3Dweb%2Ctier+in+%28a%29&limit=500&continue=x&watch=1&unknown=2",
	      &out, true);
	T_SPAN(out.labelSelector, PL_SPAN_LIT("app=web,tier in (a)"));
	T_SPAN(out.limit, PL_SPAN_LIT("500"));
	T_SPAN(out.continue_, PL_SPAN_LIT("x"));
	T_TRUE(request_is_true(out.watch));
	T_TRUE(!out.has_resource_version);
	query("resourceVersion=&limit=1&limit=2&&pretty", &out, true);
	T_TRUE(out.has_resource_version && out.has_pretty);
	T_EQ(out.resourceVersion.len, 0);
	T_SPAN(out.limit, PL_SPAN_LIT("1"));
	query("limit=%", &out, false);
	query("li%zzmit=1", &out, false);
	query("limit=%00", &out, false);
	query("", &out, true);
	pl_arena_done(&arena);
}

/* watch=<text> is a watch. */
static bool is_watch(const char *text)
{
	struct request_query out;

	query(text, &out, true);
	return request_is_true(out.watch);
}

T_CASE(a_flag_is_true_unless_it_says_otherwise)
{
	static const char *const yes[] = {
		"watch=true", "watch=1", "watch=True", "watch=t",
		"watch",      "watch=",  "watch=yes"};
	static const char *const no[] = {
		"", "other=true", "watch=false", "watch=False", "watch=FALSE", "watch=0"};

	pl_arena_init(&arena, 0, 0);
	for (unsigned i = 0; i < sizeof yes / sizeof yes[0]; i++)
		T_TRUE(is_watch(yes[i]));
	for (unsigned i = 0; i < sizeof no / sizeof no[0]; i++)
		T_TRUE(!is_watch(no[i]));
	pl_arena_done(&arena);
}

T_CASE(numbers_are_plain)
{
	int64_t out = 0;

	T_TRUE(request_number(PL_SPAN_LIT("123"), &out));
	T_EQ(out, 123);
	T_TRUE(!request_number(PL_SPAN_LIT(""), &out));
	T_TRUE(!request_number(PL_SPAN_LIT("-1"), &out));
	T_TRUE(!request_number(PL_SPAN_LIT("1 "), &out));
	T_TRUE(!request_number(PL_SPAN_LIT("0x1"), &out));
	T_TRUE(!request_number(PL_SPAN_LIT("12345678901234567890"), &out));
}

T_CASE(a_continue_token_reads_back_and_others_do_not)
{
	struct pl_rng rng;
	struct pl_span order, token;
	int64_t revision;

	pl_arena_init(&arena, 0, 0);
	pl_rng_init(&rng, t_seed());
	token = continue_token_print(&arena, 4711, PL_SPAN_LIT("shop/web-0/"));
	T_TRUE(continue_token_parse(&arena, token, &revision, &order));
	T_EQ(revision, 4711);
	T_SPAN(order, PL_SPAN_LIT("shop/web-0/"));
	T_TRUE(!continue_token_parse(&arena, PL_SPAN_LIT(""), &revision, &order));
	T_TRUE(!continue_token_parse(&arena, PL_SPAN_LIT("!!!"), &revision, &order));
	T_TRUE(!continue_token_parse(&arena, PL_SPAN_LIT("djEgMCBhLw"), &revision,
	                             &order)); /* revision 0 */
	/* A changed token is none, or names another place: never memory that is not its
	 * own. */
	for (int i = 0; i < 2000; i++) {
		uint8_t changed[64];

		PL_ASSERT(token.len < sizeof changed);
		memcpy(changed, token.at, token.len);
		changed[pl_rng_below(&rng, token.len)] = (uint8_t)pl_rng_next(&rng);
		(void)continue_token_parse(&arena, pl_span(changed, token.len), &revision,
		                           &order);
	}
	pl_arena_done(&arena);
}
