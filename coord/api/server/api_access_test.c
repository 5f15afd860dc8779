/* Rights, over the API: tokens are a user's name and its groups, "ann,team". */
#include <stdio.h>
#include <stdlib.h>

#include "tests/harness/t.h"
#include "tests/support/coord/api/api_rig.h"

#define IN_A "/api/v1/namespaces/a/"
#define IN_B "/api/v1/namespaces/b/"
#define PLACET "/apis/placet.io/v1"
#define CONFIGMAP(name) "{\"metadata\":{\"name\":\"" name "\"}}"

static struct api_rig rig;
static const char *revoked; /* a user whose tokens are not good any more */

static enum pl_code of_token(void *ctx, struct pl_span token, struct pl_arena *arena,
                             int64_t now_s, struct identity *out, struct pl_err *err)
{
	struct pl_span *names = pl_arena_zalloc(arena, 16, sizeof *names);
	struct identity from = {.via = IDENTITY_TOKEN_FILE};
	size_t count = 0;

	(void)ctx;
	(void)now_s;
	T_TRUE(names != NULL);
	while (token.len > 0 && count < 16) {
		const uint8_t *comma = memchr(token.at, ',', token.len);
		size_t len = comma == NULL ? token.len : (size_t)(comma - token.at);

		names[count++] = pl_span(token.at, len);
		len += comma != NULL;
		token = pl_span(token.at + len, token.len - len);
	}
	if (count == 0 || (revoked != NULL && pl_span_eq(names[0], pl_span_str(revoked))))
		return pl_err_set(err, PL_DENIED, "the token is unknown");
	from.user = names[0];
	from.groups = names + 1;
	from.group_count = count - 1;
	return identity_make(arena, &from, out, err);
}

static enum pl_code of_request(void *ctx, const struct http_request *http,
                               struct pl_arena *arena, int64_t now_s,
                               struct identity *out, struct pl_err *err)
{
	struct pl_span header = http_request_field(http, "authorization");

	if (header.len < 7)
		return pl_err_set(err, PL_NOTFOUND, "no credential");
	return of_token(ctx, pl_span(header.at + 7, header.len - 7), arena, now_s, out,
	                err);
}

static void as_root(void)
{
	rig.bearer = "root,system:masters";
}

/* The configuration "access", by the admin; then the user's. */
static void bind_roles(const char *bindings, const char *user)
{
	char body[2000];

	as_root();
	rig.content_type = "application/merge-patch+json";
	(void)snprintf(body, sizeof body, "{\"spec\":{\"bindings\":%s}}", bindings);
	api_rig_want(&rig, "PATCH", PLACET "/configs/access", body, 200);
	rig.content_type = NULL;
	rig.bearer = user;
}

static void open_with(const struct api_server_opts *more)
{
	struct api_server_opts opts = *more;

	opts.identifier = (struct request_identifier){of_request, of_token, NULL};
	api_rig_open_with(&rig, 4, &opts);
	api_rig_want(&rig, "POST", "/api/v1/namespaces", CONFIGMAP("a"), 201);
	api_rig_want(&rig, "POST", "/api/v1/namespaces", CONFIGMAP("b"), 201);
}

static void open_rig(void)
{
	const struct api_server_opts opts = {0};

	open_with(&opts);
}

static void forbidden(const char *method, const char *path, const char *body,
                      const char *message)
{
	api_rig_want(&rig, method, path, body, 403);
	T_STR(api_rig_text(&rig, "message"), message);
	T_STR(api_rig_text(&rig, "reason"), "Forbidden");
}

T_CASE(without_a_credential_there_is_health_only)
{
	static const char *const paths[] = {"/",
	                                    "/api",
	                                    "/version",
	                                    "/metrics",
	                                    "/openapi/v2",
	                                    "/statusz",
	                                    "/api/v1/namespaces/a/pods"};

	open_rig();
	rig.bearer = NULL;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		api_rig_want(&rig, "GET", paths[i], NULL, 401);
		T_STR(api_rig_text(&rig, "message"), "Unauthorized");
		T_STR(api_rig_text(&rig, "reason"), "Unauthorized");
	}
	api_rig_want(&rig, "GET", "/healthz", NULL, 200);
	api_rig_want(&rig, "GET", "/livez", NULL, 200);
	api_rig_want(&rig, "GET", "/readyz", NULL, 200);
	revoked = "ann";
	rig.bearer = "ann";
	api_rig_want(&rig, "GET", "/api", NULL, 401);
	T_STR(api_rig_text(&rig, "message"), "Unauthorized");
	api_rig_close(&rig);
}

T_CASE(bodies_of_strangers_take_no_room)
{
	const struct api_server_opts opts = {
		.identifier = {of_request, of_token, NULL},
		.limits = {.bodies_bytes = 100},
	};
	char body[400] = CONFIGMAP("c");

	memset(body + strlen(body), ' ', sizeof body - 1 - strlen(body));
	api_rig_open_with(&rig, 4, &opts);
	api_rig_want(&rig, "POST", IN_A "configmaps", body, 503);
	rig.bearer = NULL;
	api_rig_want(&rig, "POST", IN_A "configmaps", body, 401);
	rig.bearer = "ann";
	api_rig_want(&rig, "POST", IN_A "configmaps", body, 503);
	revoked = "ann";
	api_rig_want(&rig, "POST", IN_A "configmaps", body, 401);
	revoked = NULL;
	api_rig_close(&rig);
}

T_CASE(a_user_without_a_role_sees_what_there_is_only)
{
	open_rig();
	rig.bearer = "ann";
	api_rig_want(&rig, "GET", "/api/v1", NULL, 200);
	api_rig_want(&rig, "GET", "/apis", NULL, 200);
	api_rig_want(&rig, "GET", "/openapi/v3", NULL, 200);
	forbidden("GET", IN_A "pods", NULL,
	          "pods is forbidden: User \"ann\" cannot list resource \"pods\" in API "
	          "group \"\" in the namespace \"a\"");
	forbidden("GET", "/apis/apps/v1/deployments?watch=1", NULL,
	          "deployments.apps is forbidden: User \"ann\" cannot watch resource "
	          "\"deployments\" in API group \"apps\" at the cluster scope");
	forbidden(
		"DELETE", "/api/v1/nodes/n", NULL,
		"nodes \"n\" is forbidden: User \"ann\" cannot delete resource \"nodes\" "
		"in API group \"\" at the cluster scope");
	forbidden("POST", IN_A "pods/p/binding", "{}",
	          "pods \"p\" is forbidden: User \"ann\" cannot create resource "
	          "\"pods/binding\" in API group \"\" in the namespace \"a\"");
	forbidden("GET", "/metrics", NULL,
	          "forbidden: User \"ann\" cannot get path \"/metrics\"");
	/* Whether it is served, or there, is not told either. */
	forbidden("GET", IN_A "secrets/s", NULL,
	          "secrets \"s\" is forbidden: User \"ann\" cannot get resource "
	          "\"secrets\" in API group \"\" in the namespace \"a\"");
	api_rig_close(&rig);
}

T_CASE(an_editor_of_a_namespace)
{
	open_rig();
	bind_roles("[{\"role\":\"editor\",\"groups\":[\"team\"],\"namespaces\":[\"a\"]}]",
	           "ann,team");
	api_rig_want(&rig, "POST", IN_A "configmaps", CONFIGMAP("c"), 201);
	api_rig_want(&rig, "GET", IN_A "configmaps", NULL, 200);
	api_rig_want(&rig, "GET", "/api/v1/namespaces/a", NULL, 200);
	forbidden("POST", IN_B "configmaps", CONFIGMAP("c"),
	          "configmaps is forbidden: User \"ann\" cannot create resource "
	          "\"configmaps\" in API group \"\" in the namespace \"b\"");
	api_rig_want(&rig, "GET", "/api/v1/configmaps", NULL, 403);
	api_rig_want(&rig, "GET", "/api/v1/namespaces/b", NULL, 403);
	api_rig_want(&rig, "GET", "/api/v1/namespaces", NULL, 403);
	api_rig_want(&rig, "GET", PLACET "/configs/access", NULL, 403);
	api_rig_want(&rig, "PUT", PLACET "/configs/access", "{}", 403);
	/* Another spelling is the same request. */
	api_rig_want(&rig, "GET", "/api/v1/namespaces/%62/configmaps", NULL, 403);
	api_rig_want(&rig, "GET", "/api/v1/namespaces/%61/configmaps", NULL, 200);
	api_rig_want(&rig, "GET", "/api/v1/namespaces/a/../b/configmaps", NULL, 403);
	/* The body's namespace is not another one. */
	api_rig_want(&rig, "POST", IN_A "configmaps",
	             "{\"metadata\":{\"name\":\"d\",\"namespace\":\"b\"}}", 400);
	rig.bearer = "ann";
	api_rig_want(&rig, "GET", IN_A "configmaps", NULL, 403);
	api_rig_close(&rig);
}

T_CASE(an_operator_gives_no_rights)
{
	open_rig();
	bind_roles("[{\"role\":\"operator\",\"users\":[\"op\"]}]", "op");
	rig.content_type = "application/merge-patch+json";
	api_rig_want(&rig, "PATCH", PLACET "/configs/coord",
	             "{\"spec\":{\"handover_ms\":700}}", 200);
	T_STR(api_rig_text(&rig, "status.by"), "op");
	forbidden("PATCH", PLACET "/configs/access",
	          "{\"spec\":{\"bindings\":[{\"role\":\"admin\",\"users\":[\"op\"]}]}}",
	          "configs.placet.io \"access\" is forbidden: User \"op\" cannot patch "
	          "resource \"configs\" in API group \"placet.io\" at the cluster scope");
	rig.content_type = NULL;
	rig.as = "root";
	forbidden("GET", IN_A "pods", NULL,
	          "users \"root\" is forbidden: User \"op\" cannot impersonate resource "
	          "\"users\" in API group \"\" at the cluster scope");
	rig.as_group = "system:masters";
	api_rig_want(&rig, "GET", IN_A "pods", NULL, 403);
	rig.as = rig.as_group = NULL;
	api_rig_close(&rig);
}

T_CASE(an_admin_acts_as_another)
{
	open_rig();
	bind_roles("[{\"role\":\"editor\",\"groups\":[\"team\"],\"namespaces\":[\"a\"]}]",
	           "root,system:masters");
	rig.as = "ann";
	api_rig_want(&rig, "GET", IN_A "pods", NULL, 403);
	rig.as_group = "team";
	api_rig_want(&rig, "GET", IN_A "pods", NULL, 200);
	forbidden("GET", IN_B "pods", NULL,
	          "pods is forbidden: User \"ann\" cannot list resource \"pods\" in API "
	          "group \"\" in the namespace \"b\"");
	rig.as = NULL;
	api_rig_want(&rig, "GET", IN_A "pods", NULL, 400);
	rig.as = "system:anonymous";
	rig.as_group = NULL;
	api_rig_want(&rig, "GET", "/api", NULL, 403);
	rig.as = NULL;
	api_rig_close(&rig);
}

T_CASE(a_document_that_is_wrong_is_not_applied)
{
	open_rig();
	bind_roles("[{\"role\":\"viewer\",\"users\":[\"ann\"]}]", "ann");
	api_rig_want(&rig, "GET", IN_A "pods", NULL, 200);
	/* Written past the check. */
	api_rig_put(
		&rig, "/config/access/0000000002",
		"{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":\"x\",\"why\":\"\","
		"\"nonce\":\"0123456789abcdef\",\"config\":{\"bindings\":[{}]}}");
	api_rig_put(&rig, "/config/access/current", "{\"v\":1,\"version\":2}");
	api_rig_want(&rig, "GET", IN_A "pods", NULL, 200);
	api_rig_close(&rig);
}

T_CASE(a_right_that_ends_ends_its_watches)
{
	struct api_rig_watch mine, other;

	open_rig();
	bind_roles("[{\"role\":\"viewer\",\"users\":[\"ann\",\"bob\"]}]", "ann");
	api_rig_watch_open(&rig, IN_A "configmaps?watch=1", &mine);
	rig.bearer = "bob";
	api_rig_watch_open(&rig, IN_A "configmaps?watch=1", &other);
	bind_roles("[{\"role\":\"viewer\",\"users\":[\"bob\"]}]", "root,system:masters");
	api_rig_until(&rig, &mine.ended);
	T_TRUE(!other.ended);
	api_rig_want(&rig, "POST", IN_A "configmaps", CONFIGMAP("c"), 201);
	do {
		T_STR(api_rig_watch_next(&other), "ADDED");
	} while (strcmp(api_rig_watch_text(&other, "object.metadata.name"), "c") != 0);
	T_EQ(mine.buf.len == 0 || memmem(mine.buf.at, mine.buf.len, "\"c\"", 3) == NULL,
	     true);
	api_rig_watch_close(&mine);
	api_rig_watch_close(&other);
	api_rig_close(&rig);
}

T_CASE(a_credential_that_is_revoked_ends_its_watches)
{
	struct api_rig_watch mine, other;

	open_rig();
	bind_roles("[{\"role\":\"viewer\",\"users\":[\"ann\",\"bob\"]}]", "ann");
	api_rig_watch_open(&rig, IN_A "configmaps?watch=1", &mine);
	rig.bearer = "bob";
	api_rig_watch_open(&rig, IN_A "configmaps?watch=1", &other);
	revoked = "ann";
	api_rig_until(&rig, &mine.ended);
	T_TRUE(!other.ended);
	api_rig_watch_close(&mine);
	api_rig_watch_close(&other);
	api_rig_close(&rig);
}

T_CASE(a_connector_has_its_cluster)
{
	open_rig();
	api_rig_node(&rig, "east", "n", "{\"cpu\":\"8\",\"pods\":\"10\"}");
	api_rig_node(&rig, "west", "n", "{\"cpu\":\"8\",\"pods\":\"10\"}");
	bind_roles("[{\"role\":\"connector\",\"users\":[\"c\"],\"clusters\":[\"east\"]}]",
	           "root,system:masters");
	api_rig_want(
		&rig, "POST", IN_A "pods",
		"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"schedulerName\":\"none\","
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
		201);
	rig.bearer = "c";
	api_rig_want(&rig, "GET", "/api/v1/nodes/east:n", NULL, 200);
	api_rig_want(&rig, "GET", "/api/v1/nodes/west:n", NULL, 403);
	api_rig_want(&rig, "GET", "/api/v1/nodes", NULL, 403);
	api_rig_want(&rig, "GET", IN_A "pods/p", NULL, 403);
	api_rig_want(&rig, "DELETE", IN_A "pods/p", NULL, 403);
	forbidden("POST", IN_A "pods/p/binding", "{\"target\":{\"name\":\"west:n\"}}",
	          "pods \"p\" is forbidden: the node is of another cluster");
	api_rig_want(&rig, "POST", IN_A "pods/p/binding",
	             "{\"target\":{\"name\":\"east:n\"}}", 201);
	api_rig_want(&rig, "GET", IN_A "pods/p", NULL, 200);
	rig.bearer = "d";
	api_rig_want(&rig, "GET", IN_A "pods/p", NULL, 403);
	api_rig_want(&rig, "POST", IN_A "pods/p/binding",
	             "{\"target\":{\"name\":\"east:n\"}}", 403);
	api_rig_close(&rig);
}

/* -- reviews ----------------------------------------------------------------------------- */

#define AUTHN "/apis/authentication.k8s.io/v1"
#define AUTHZ "/apis/authorization.k8s.io/v1"

static bool can_i(const char *attributes)
{
	char body[1000];
	const char *text;

	(void)snprintf(body, sizeof body, "{\"spec\":{\"resourceAttributes\":{%s}}}",
	               attributes);
	api_rig_want(&rig, "POST", AUTHZ "/selfsubjectaccessreviews", body, 201);
	text = api_rig_text(&rig, "status.allowed");
	T_TRUE(text != NULL);
	return strcmp(text, "true") == 0;
}

/* -- what is told of other namespaces ------------------------------------------------------ */

#define POD(name, more)                                                  \
	"{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" more          \
	"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":" \
	"{\"requests\":{\"cpu\":\"3\"}}}]}}"
#define VICTIMS "status.decision.preemption.victims."

T_CASE(an_explanation_names_no_pods_of_other_namespaces)
{
	static const char path[] = PLACET "/namespaces/a/explanations/high";

	open_rig();
	api_rig_node(&rig, "east", "n-1",
	             "{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"}");
	api_rig_want(&rig, "POST", IN_B "pods", POD("low", ""), 201);
	api_rig_want(&rig, "POST", IN_B "pods/low/binding",
	             "{\"target\":{\"name\":\"east:n-1\"}}", 201);
	api_rig_want(&rig, "POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
	             "{\"metadata\":{\"name\":\"big\"},\"value\":1000}", 201);
	api_rig_want(&rig, "POST", IN_A "pods",
	             POD("high", "\"priorityClassName\":\"big\","), 201);
	bind_roles("[{\"role\":\"viewer\",\"users\":[\"ann\"],\"namespaces\":[\"a\"]},"
	           "{\"role\":\"viewer\",\"users\":[\"vera\"]}]",
	           "ann");
	api_rig_want(&rig, "GET", path, NULL, 200);
	T_STR(api_rig_text(&rig, VICTIMS "0.hidden"), "true");
	T_TRUE(memmem(rig.text.at, rig.text.len, "\"low\"", 5) == NULL);
	rig.bearer = "vera";
	api_rig_want(&rig, "GET", path, NULL, 200);
	T_STR(api_rig_text(&rig, VICTIMS "0.namespace"), "b");
	T_STR(api_rig_text(&rig, VICTIMS "0.name"), "low");
	api_rig_close(&rig);
}

/* -- places that are few ---------------------------------------------------------------- */

#define MANY                                                                           \
	"{\"spec\":{\"objects\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"," \
	"\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":5000,\"selector\":{"     \
	"\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{"      \
	"\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}]}}"

static void on_plan_end(void *ctx, const struct http_end *end)
{
	*(int *)ctx = end->answer.status;
	uv_stop(&rig.loop);
}

static void start_plan(const char *bearer, int *status)
{
	const struct http_header headers[] = {{"content-type", "application/json"},
	                                      {"authorization", bearer}};
	char url[200];
	struct http_call_opts opts = {.method = "POST",
	                              .url = url,
	                              .headers = headers,
	                              .header_count = 2,
	                              .body = PL_SPAN_LIT(MANY),
	                              .timeout_ms = 60000,
	                              .on_end = on_plan_end,
	                              .ctx = status};
	struct http_call *call;
	struct pl_err err = {0};

	*status = 0;
	(void)snprintf(url, sizeof url, "%s" PLACET "/namespaces/a/plans", rig.base);
	T_OK(http_call_start(rig.http, &opts, &call, &err), &err);
}

T_CASE(one_user_leaves_a_place_for_the_plans_of_others)
{
	int status[3];

	open_rig();
	bind_roles("[{\"role\":\"editor\",\"users\":[\"ann\",\"bob\"]}]", "ann");
	start_plan("Bearer ann", &status[0]);
	start_plan("Bearer ann", &status[1]);
	start_plan("Bearer bob", &status[2]);
	while (status[0] == 0 || status[1] == 0 || status[2] == 0)
		(void)uv_run(&rig.loop, UV_RUN_DEFAULT);
	T_EQ(status[0] + status[1], 201 + 429);
	T_EQ(status[2], 201);
	api_rig_close(&rig);
}

T_CASE(users_are_told_who_they_are)
{
	open_rig();
	rig.bearer = "ann,team";
	api_rig_want(&rig, "POST", AUTHN "/selfsubjectreviews",
	             "{\"apiVersion\":\"authentication.k8s.io/v1\","
	             "\"kind\":\"SelfSubjectReview\"}",
	             201);
	T_STR(api_rig_text(&rig, "kind"), "SelfSubjectReview");
	T_STR(api_rig_text(&rig, "status.userInfo.username"), "ann");
	T_STR(api_rig_text(&rig, "status.userInfo.groups.0"), "team");
	T_STR(api_rig_text(&rig, "status.userInfo.groups.1"), "system:authenticated");
	api_rig_want(&rig, "POST", AUTHN "/tokenreviews",
	             "{\"spec\":{\"token\":\"bob\"}}", 403);
	as_root();
	api_rig_want(&rig, "POST", AUTHN "/tokenreviews",
	             "{\"spec\":{\"token\":\"bob,ops\"}}", 201);
	T_STR(api_rig_text(&rig, "status.authenticated"), "true");
	T_STR(api_rig_text(&rig, "status.user.username"), "bob");
	T_STR(api_rig_text(&rig, "spec.token"), NULL);
	revoked = "bob";
	api_rig_want(&rig, "POST", AUTHN "/tokenreviews",
	             "{\"spec\":{\"token\":\"bob,ops\"}}", 201);
	T_STR(api_rig_text(&rig, "status.authenticated"), NULL);
	T_STR(api_rig_text(&rig, "status.error"), "invalid bearer token");
	api_rig_want(&rig, "GET", AUTHN "/tokenreviews", NULL, 405);
	api_rig_close(&rig);
}

T_CASE(users_are_told_what_they_may)
{
	open_rig();
	bind_roles("[{\"role\":\"editor\",\"users\":[\"ann\"],\"namespaces\":[\"a\"]}]",
	           "ann");
	T_TRUE(can_i("\"verb\":\"create\",\"resource\":\"pods\",\"namespace\":\"a\""));
	T_STR(api_rig_text(&rig, "status.reason"),
	      "bindings[0]: editor in the namespace a");
	T_STR(api_rig_text(&rig, "spec.resourceAttributes.verb"), "create");
	T_TRUE(!can_i("\"verb\":\"create\",\"resource\":\"pods\",\"namespace\":\"b\""));
	T_TRUE(!can_i("\"verb\":\"list\",\"resource\":\"pods\""));
	/* kubectl gives its namespace for everything. */
	T_TRUE(!can_i("\"verb\":\"list\",\"resource\":\"nodes\",\"namespace\":\"a\""));
	T_TRUE(!can_i(
		"\"verb\":\"list\",\"resource\":\"namespaces\",\"namespace\":\"a\""));
	T_TRUE(can_i("\"verb\":\"get\",\"resource\":\"namespaces\",\"name\":\"a\""));
	T_TRUE(!can_i("\"verb\":\"*\",\"resource\":\"*\",\"group\":\"*\""));
	api_rig_want(&rig, "POST", AUTHZ "/selfsubjectaccessreviews",
	             "{\"spec\":{\"nonResourceAttributes\":{\"verb\":\"get\","
	             "\"path\":\"/metrics\"}}}",
	             201);
	T_STR(api_rig_text(&rig, "status.allowed"), "false");
	api_rig_want(&rig, "POST", AUTHZ "/selfsubjectaccessreviews", "{\"spec\":{}}",
	             422);
	api_rig_want(&rig, "POST", AUTHZ "/subjectaccessreviews", "{\"spec\":{}}", 403);
	as_root();
	T_TRUE(can_i("\"verb\":\"*\",\"resource\":\"*\",\"group\":\"*\""));
	rig.as = "ann";
	T_TRUE(!can_i("\"verb\":\"*\",\"resource\":\"*\",\"group\":\"*\""));
	rig.as = NULL;
	api_rig_want(
		&rig, "POST", AUTHZ "/subjectaccessreviews",
		"{\"spec\":{\"user\":\"ann\",\"resourceAttributes\":{\"verb\":\"get\","
		"\"resource\":\"pods\",\"namespace\":\"a\"}}}",
		201);
	T_STR(api_rig_text(&rig, "status.allowed"), "true");
	api_rig_want(&rig, "POST", AUTHZ "/subjectaccessreviews",
	             "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\"}}}", 422);
	api_rig_want(
		&rig, "POST", AUTHZ "/namespaces/b/localsubjectaccessreviews",
		"{\"spec\":{\"user\":\"ann\",\"resourceAttributes\":{\"verb\":\"get\","
		"\"resource\":\"pods\",\"namespace\":\"a\"}}}",
		422);
	api_rig_close(&rig);
}

/* The rows of the rules that have the resource; their verbs' first letters. */
static const char *listed(const char *resource)
{
	static char text[64];
	size_t len = 0;

	text[0] = 0;
	PL_JSON_EACH (rule, api_rig_at(&rig, "status.resourceRules")) {
		const char *word = "", *verb = "";

		PL_JSON_EACH (item, pl_json_member(rule, "resources")) {
			T_EQ(pl_json_as_string(item, &word, NULL), PL_OK);
			if (strcmp(word, resource) != 0)
				continue;
			T_EQ(pl_json_as_string(
				     pl_json_first(pl_json_member(rule, "verbs")), &verb,
				     NULL),
			     PL_OK);
			len += (size_t)snprintf(text + len, sizeof text - len, "%s%s",
			                        len == 0 ? "" : " ", verb);
		}
	}
	return text;
}

T_CASE(rights_are_listed)
{
	open_rig();
	bind_roles("[{\"role\":\"editor\",\"users\":[\"ann\"],\"namespaces\":[\"a\"]},"
	           "{\"role\":\"viewer\",\"users\":[\"bob\"]}]",
	           "ann");
	api_rig_want(&rig, "POST", AUTHZ "/selfsubjectrulesreviews",
	             "{\"spec\":{\"namespace\":\"a\"}}", 201);
	T_STR(listed("pods"), "create get");
	T_STR(listed("namespaces"), "get");
	T_STR(listed("nodes"), "");
	T_STR(listed("selfsubjectreviews"), "create");
	T_STR(api_rig_text(&rig, "status.incomplete"), "false");
	api_rig_want(&rig, "POST", AUTHZ "/selfsubjectrulesreviews",
	             "{\"spec\":{\"namespace\":\"b\"}}", 201);
	T_STR(listed("pods"), "");
	rig.bearer = "bob";
	api_rig_want(&rig, "POST", AUTHZ "/selfsubjectrulesreviews",
	             "{\"spec\":{\"namespace\":\"b\"}}", 201);
	T_STR(listed("nodes"), "get");
	T_STR(listed("tokens"), "");
	T_STR(listed("pods/status"), "get");
	api_rig_close(&rig);
}

T_CASE(watches_of_a_user_are_counted)
{
	struct api_rig_watch watch;

	open_rig();
	rig.content_type = "application/merge-patch+json";
	api_rig_want(&rig, "PATCH", PLACET "/configs/access",
	             "{\"spec\":{\"bindings\":[{\"role\":\"viewer\",\"users\":[\"ann\","
	             "\"bob\"]}],\"limits\":{\"watches_per_user\":1}}}",
	             200);
	rig.content_type = NULL;
	rig.bearer = "ann";
	api_rig_watch_open(&rig, IN_A "configmaps?watch=1", &watch);
	api_rig_want(&rig, "GET", IN_A "pods?watch=1", NULL, 429);
	T_STR(api_rig_text(&rig, "message"),
	      "Too many requests, please try again later.");
	T_STR(api_rig_text(&rig, "reason"), "TooManyRequests");
	T_STR(api_rig_text(&rig, "details.retryAfterSeconds"), "1");
	api_rig_want(&rig, "GET", IN_A "pods", NULL, 200);
	rig.bearer = "bob";
	api_rig_watch_close(&watch);
	api_rig_close(&rig);
}

/* -- the audit -------------------------------------------------------------------------- */

static char path[64];

static struct audit_log *open_audit(void)
{
	struct audit_log_opts opts = {.path = path};
	struct audit_log *log = NULL;
	struct pl_err err = {0};
	char folder[] = "/tmp/audit-XXXXXX";

	T_TRUE(mkdtemp(folder) != NULL);
	(void)snprintf(path, sizeof path, "%s/log", folder);
	T_OK(audit_log_open(&opts, &log, &err), &err);
	return log;
}

/* The n-th line of the log, without its changing parts. */
static const char *audit_row(unsigned number)
{
	static char line[4096], row[512];
	struct pl_arena arena;
	struct pl_json json = {0};
	const char *user = "", *verb = "", *resource = "-", *name = "-", *why = "-";
	int64_t code = 0;
	FILE *file = fopen(path, "re");

	T_TRUE(file != NULL);
	for (unsigned i = 0; i <= number; i++)
		if (fgets(line, sizeof line, file) == NULL)
			line[0] = 0;
	(void)fclose(file);
	if (line[0] == 0)
		return "";
	pl_arena_init(&arena, 0, 0);
	T_EQ(pl_json_parse(&arena, pl_span_str(line), NULL, &json, NULL), PL_OK);
	T_EQ(pl_json_string(json, "user", PL_JSON_REQUIRED, &user, NULL), PL_OK);
	T_EQ(pl_json_string(json, "verb", PL_JSON_REQUIRED, &verb, NULL), PL_OK);
	T_EQ(pl_json_string(json, "resource", PL_JSON_OPTIONAL, &resource, NULL), PL_OK);
	T_EQ(pl_json_string(json, "name", PL_JSON_OPTIONAL, &name, NULL), PL_OK);
	T_EQ(pl_json_string(json, "reason", PL_JSON_OPTIONAL, &why, NULL), PL_OK);
	T_EQ(pl_json_int(json, "code", PL_JSON_REQUIRED, &code, NULL), PL_OK);
	(void)snprintf(row, sizeof row, "%s %s %s %s %d %.20s", user, verb, resource,
	               name, (int)code, why);
	pl_arena_done(&arena);
	return row;
}

T_CASE(changes_and_refusals_are_told)
{
	struct api_server_opts opts = {.audit = open_audit()};

	open_with(&opts);
	bind_roles("[{\"role\":\"editor\",\"users\":[\"ann\"],\"namespaces\":[\"a\"]}]",
	           "ann");
	api_rig_want(&rig, "GET", IN_A "configmaps", NULL, 200);
	api_rig_want(&rig, "POST", IN_A "configmaps", CONFIGMAP("c"), 201);
	api_rig_want(&rig, "POST", IN_A "configmaps", CONFIGMAP("c"), 409);
	api_rig_want(&rig, "GET", IN_B "configmaps", NULL, 403);
	rig.bearer = NULL;
	api_rig_want(&rig, "GET", "/metrics", NULL, 401);
	as_root();
	rig.as = "ann";
	api_rig_want(&rig, "DELETE", IN_A "configmaps/c", NULL, 200);
	rig.as = NULL;
	api_rig_close(&rig);
	audit_log_close(opts.audit);
	T_STR(audit_row(0), "root create namespaces a 201 -");
	T_STR(audit_row(1), "root create namespaces b 201 -");
	T_STR(audit_row(2), "root patch configs access 200 -");
	T_STR(audit_row(3), "ann create configmaps c 201 -");
	T_STR(audit_row(4), "ann create configmaps c 409 -");
	T_STR(audit_row(5), "ann list configmaps - 403 configmaps is forbid");
	T_STR(audit_row(6), "system:anonymous get - - 401 no credential");
	T_STR(audit_row(7), "ann delete configmaps c 200 -");
	T_STR(audit_row(8), "");
}

T_CASE(strangers_can_not_fill_the_audit)
{
	struct api_server_opts opts = {.audit = open_audit()};
	struct audit_log_counts counts;

	open_with(&opts);
	rig.bearer = NULL;
	for (unsigned i = 0; i < 400; i++)
		api_rig_want(&rig, "GET", "/metrics", NULL, 401);
	api_rig_close(&rig);
	audit_log_counts(opts.audit, &counts);
	T_TRUE(counts.dropped > 0 && counts.lines >= 2);
	T_EQ(counts.lines + counts.dropped, 402);
	audit_log_close(opts.audit);
}
