/* Status objects have the texts, reasons and codes of Kubernetes. */
#include "coord/api/base/go_quote.h"
#include "coord/api/reply/status.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct status_about about(const char *group, const char *resource,
                                 const char *name)
{
	return (struct status_about){group, resource, pl_span_str(name)};
}

static struct status_about pod(void)
{
	return about("", "pods", "x");
}

struct story {
	struct pl_arena arena;
	struct pl_buf text;
};

static void story_open(struct story *story)
{
	pl_arena_init(&story->arena, 0, 0);
	pl_buf_init(&story->text, 1 << 20);
}

static void story_close(struct story *story)
{
	pl_arena_done(&story->arena);
	pl_buf_done(&story->text);
}

static void tell(struct story *story, struct api_status status)
{
	struct pl_json_out out;

	pl_json_out_init(&out, &story->text);
	status_write(&out, &status);
	T_OK(pl_json_out_done(&out), NULL);
	T_OK(pl_buf_add_str(&story->text, "\n"), NULL);
}

static struct pl_span span(const char *text)
{
	return pl_span_str(text);
}

static void tell_objects(struct story *s, struct pl_arena *a)
{
	tell(s, status_deleted(pod(), span("0a1b")));
	tell(s, status_not_found(a, pod()));
	tell(s, status_not_found(a, about("apps", "deployments", "web")));
	tell(s, status_exists(a, about("apps", "deployments", "web")));
	tell(s, status_no_free_name(a, pod()));
	tell(s, status_modified(a, pod()));
	tell(s, status_modified(a, about("apps", "deployments", "web")));
	tell(s, status_conflict(a, pod(),
	                        span("Precondition failed: UID in precondition: "
	                             "a, UID in object meta: b")));
	tell(s,
	     status_forbidden(a, pod(),
	                      span("User \"u\" cannot get resource \"pods\" in API group "
	                           "\"\" in the namespace \"default\"")));
	tell(s, status_forbidden(a, about("", "pods", ""), span("no")));
	tell(s, status_forbidden(a, about("", NULL, ""),
	                         span("User \"u\" cannot get path \"/x\"")));
	tell(s, status_method_not_supported(a, about("apps", "deployments", "web"),
	                                    "patch"));
	tell(s, status_server_timeout(a, about("", "pods", ""), "create", 2));
}

static void tell_requests(struct story *s, struct pl_arena *a)
{
	struct api_status again =
		status_expired(span(status_continue_inconsistent_message));

	again.continue_token = span("eyJ2IjoxfQ");
	tell(s,
	     status_bad_request(span("strict decoding error: unknown field \"spec.x\"")));
	tell(s, status_unauthorized());
	tell(s, status_no_such_path());
	tell(s, status_no_such_method());
	tell(s, status_not_acceptable(a, "application/json, application/yaml"));
	tell(s, status_unsupported_media_type(a, "application/json, application/yaml"));
	tell(s, status_expired(span("too old resource version: 5 (9)")));
	tell(s, again);
	tell(s, status_gone(span("gone")));
	tell(s, status_too_many_requests(
			span("Cannot evict pod as it would violate the pod's "
	                     "disruption budget."),
			10));
	tell(s, status_timeout(a, span("request did not complete"), 0));
	tell(s, status_revision_too_large(a, 90, 40, 1));
	tell(s, status_unavailable(span("shutting down")));
	tell(s, status_too_large(a, span("limit is 3145728")));
	tell(s, status_internal(a, span("boom")));
}

static void tell_invalid(struct story *s, struct pl_arena *a)
{
	struct status_about kind = about("", "Pod", "x");
	struct status_about other = about("apps", "Deployment", "");
	const struct status_cause causes[] = {
		{"FieldValueRequired", span("spec.containers[0].name"),
	         span("Required value")},
		{"FieldValueInvalid", span("spec.a"),
	         span("Invalid value: -1: must be greater than or equal to 0")},
		{"FieldValueInvalid", span("spec.a"),
	         span("Invalid value: -1: must be greater than or equal to 0")},
	};
	const struct status_cause met = {"FieldManagerConflict", span(".spec.replicas"),
	                                 span("conflict with \"hpa\"")};
	tell(s, status_invalid(a, kind, causes, 1));
	tell(s, status_invalid(a, other, causes, 2));
	tell(s, status_invalid(a, kind, causes, 3));
	tell(s, status_invalid(a, kind, causes + 1, 2));
	tell(s, status_invalid(a, kind, NULL, 0));
	tell(s, status_apply_conflict(a, &met, 1,
	                              span("Apply failed with 1 conflict: conflict with "
	                                   "\"hpa\": .spec.replicas")));
}

T_CASE(statuses_are_worded_as_kubernetes_words_them)
{
	struct story s;

	story_open(&s);
	tell_objects(&s, &s.arena);
	tell_requests(&s, &s.arena);
	tell_invalid(&s, &s.arena);
	T_OK(pl_buf_add(&s.text, PL_SPAN_LIT("\0")), NULL);
	t_golden("api/status.txt", (const char *)s.text.at);
	story_close(&s);
}

T_CASE(every_failure_of_the_store_has_a_status)
{
	struct story s;
	struct pl_err err = {0};

	story_open(&s);
	for (int code = PL_OK + 1; code < PL_CODE_COUNT; code++) {
		(void)pl_err_set(&err, (enum pl_code)code, "user root: %s",
		                 pl_code_name((enum pl_code)code));
		T_OK(pl_buf_printf(&s.text, "%s: ", pl_code_name((enum pl_code)code)),
		     NULL);
		tell(&s, status_of_store(&s.arena, pod(), "update", (enum pl_code)code,
		                         &err));
	}
	T_OK(pl_buf_add(&s.text, PL_SPAN_LIT("\0")), NULL);
	t_golden("api/status_of_store.txt", (const char *)s.text.at);
	story_close(&s);
}

/* A message of the store can name its user, which is no client's business. */
T_CASE(refusals_of_the_store_do_not_show_its_users)
{
	struct pl_err err = {0};
	struct pl_arena arena;
	struct api_status status;

	pl_arena_init(&arena, 0, 0);
	(void)pl_err_set(&err, PL_AUTH, "password of user root is wrong");
	status = status_of_store(&arena, pod(), "get", PL_AUTH, &err);
	T_EQ(status.code, 500);
	T_TRUE(memmem(status.message.at, status.message.len, "root", 4) == NULL);
	pl_arena_done(&arena);
}

T_CASE(names_are_quoted_as_go_does)
{
	struct pl_arena arena;

	pl_arena_init(&arena, 0, 0);
	T_STR(go_quote(&arena, PL_SPAN_LIT("a\"b\\c")), "\"a\\\"b\\\\c\"");
	T_STR(go_quote(&arena, PL_SPAN_LIT("\n\t\x01\x7f\0z")),
	      "\"\\n\\t\\x01\\x7f\\x00z\"");
	T_STR(go_quote(&arena, PL_SPAN_LIT("\xff\xc3\xa9\xc2\x85")),
	      "\"\\xff\xc3\xa9\\u0085\"");
	T_STR(go_quote(&arena, PL_SPAN_LIT("")), "\"\"");
	pl_arena_done(&arena);
}

/* A Status is given even without memory. */
T_CASE(a_full_arena_gives_an_internal_error)
{
	struct story s;
	struct api_status status;

	story_open(&s);
	pl_arena_done(&s.arena);
	pl_arena_init(&s.arena, 16, 8);
	status = status_not_found(&s.arena, pod());
	T_EQ(status.code, 500);
	tell(&s, status);
	tell(&s, status_of_store(&s.arena, pod(), "get", PL_INVALID, NULL));
	tell(&s, status_invalid(&s.arena, pod(), NULL, 0));
	tell(&s, status_internal(&s.arena, span("it is over")));
	T_OK(pl_buf_add(&s.text, PL_SPAN_LIT("\0")), NULL);
	T_TRUE(strstr((const char *)s.text.at, "NotFound") == NULL);
	story_close(&s);
}
