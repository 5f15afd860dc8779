#include "coord/api/verbs/request_verb.h"
#include "tests/harness/t.h"

static struct pl_arena arena;

/* "list core pods ns/name/sub" as Kubernetes' authorization would see it; a dash is empty. */
static const char *asked(const char *method, const char *path, const char *query)
{
	const struct http_request http = {.method = pl_span_str(method),
	                                  .path = pl_span_str(path),
	                                  .query = pl_span_str(query)};
	struct access_attributes out;

	pl_arena_done(&arena);
	pl_arena_init(&arena, 0, 0);
	T_EQ(request_attributes(&arena, &http, &out), PL_OK);
	if (!out.is_resource)
		return pl_arena_printf(&arena, PL_SPAN_FMT " " PL_SPAN_FMT,
		                       PL_SPAN_ARG(out.verb), PL_SPAN_ARG(out.path));
	return pl_arena_printf(
		&arena,
		PL_SPAN_FMT " " PL_SPAN_FMT "/" PL_SPAN_FMT "/" PL_SPAN_FMT
			    " in " PL_SPAN_FMT " of " PL_SPAN_FMT " at " PL_SPAN_FMT,
		PL_SPAN_ARG(out.verb), PL_SPAN_ARG(out.group), PL_SPAN_ARG(out.resource),
		PL_SPAN_ARG(out.subresource), PL_SPAN_ARG(out.namespace),
		PL_SPAN_ARG(out.name), PL_SPAN_ARG(out.cluster));
}

T_CASE(verbs_by_method_and_path)
{
	T_STR(asked("GET", "/api/v1/namespaces/a/pods", NULL),
	      "list /pods/ in a of  at ");
	T_STR(asked("GET", "/api/v1/namespaces/a/pods/p", NULL),
	      "get /pods/ in a of p at ");
	T_STR(asked("HEAD", "/api/v1/pods", NULL), "list /pods/ in  of  at ");
	T_STR(asked("GET", "/api/v1/pods", "watch=true"), "watch /pods/ in  of  at ");
	T_STR(asked("GET", "/api/v1/pods", "w%61tch=1"), "watch /pods/ in  of  at ");
	T_STR(asked("GET", "/api/v1/pods", "watch=0"), "list /pods/ in  of  at ");
	T_STR(asked("POST", "/apis/apps/v1/namespaces/a/deployments", NULL),
	      "create apps/deployments/ in a of  at ");
	T_STR(asked("PUT", "/apis/apps/v1/namespaces/a/deployments/d/scale", NULL),
	      "update apps/deployments/scale in a of d at ");
	T_STR(asked("PATCH", "/api/v1/nodes/east:n/status", NULL),
	      "patch /nodes/status in  of east:n at east");
	T_STR(asked("PATCH", "/api/v1/nodes/n", NULL),
	      "patch /nodes/ in  of n at default");
	T_STR(asked("DELETE", "/api/v1/namespaces/a/pods", NULL),
	      "deletecollection /pods/ in a of  at ");
	T_STR(asked("DELETE", "/api/v1/namespaces/a/pods/p", NULL),
	      "delete /pods/ in a of p at ");
	T_STR(asked("POST", "/api/v1/namespaces/a/pods/p/binding", NULL),
	      "create /pods/binding in a of p at ");
}

T_CASE(a_namespace_stands_in_itself)
{
	T_STR(asked("GET", "/api/v1/namespaces/a", NULL),
	      "get /namespaces/ in a of a at ");
	T_STR(asked("GET", "/api/v1/namespaces", NULL), "list /namespaces/ in  of  at ");
	T_STR(asked("PUT", "/api/v1/namespaces/a/finalize", NULL),
	      "update /namespaces/finalize in a of a at ");
	T_STR(asked("PATCH", "/api/v1/namespaces/a/status", NULL),
	      "patch /namespaces/status in a of a at ");
}

T_CASE(other_spellings_are_the_same)
{
	T_STR(asked("GET", "/api/v1/namespaces/%61/pods", NULL),
	      "list /pods/ in a of  at ");
	T_STR(asked("GET", "/api/v1/namespaces/a/%70ods/", NULL),
	      "list /pods/ in a of  at ");
}

T_CASE(paths_are_no_resources)
{
	T_STR(asked("GET", "/metrics", NULL), "get /metrics");
	T_STR(asked("GET", "/", NULL), "get /");
	T_STR(asked("GET", "/api/v1", NULL), "get /api/v1");
	T_STR(asked("GET", "/apis/apps/v1", NULL), "get /apis/apps/v1");
	T_STR(asked("POST", "/version", NULL), "post /version");
	T_STR(asked("TRACE", "/metrics", NULL), "trace /metrics");
}

T_CASE(paths_that_are_not_served_are_read_loosely)
{
	T_STR(asked("GET", "/api/v1/secrets", NULL), "list /secrets/ in  of  at ");
	T_STR(asked("GET", "/api/v1/namespaces/a/secrets/s", NULL),
	      "get /secrets/ in a of s at ");
	T_STR(asked("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", NULL),
	      "create rbac.authorization.k8s.io/clusterroles/ in  of  at ");
	T_STR(asked("GET", "/api/v1/namespaces/a/pods/p/exec/more", NULL),
	      "get /pods/exec in a of p at ");
	T_STR(asked("GET", "/api//v1/namespaces/a/pods", NULL),
	      "list /pods/ in a of  at ");
	T_STR(asked("GET", "/API/v1/pods", NULL), "get /API/v1/pods");
}

T_CASE(a_method_without_a_verb_keeps_its_name)
{
	T_STR(asked("BREW", "/api/v1/pods", NULL), "brew /pods/ in  of  at ");
	T_STR(asked("PUT", "/api/v1/pods", NULL), "put /pods/ in  of  at ");
}
