/* Options of requests: what is let pass, and what is refused with which words. */
#include <stdio.h>

#include "coord/api/verbs/request_options.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static char said[65536];

static void fresh(void)
{
	pl_arena_done(&arena);
	pl_arena_init(&arena, 0, 0);
}

/* "422 PatchOptions", and a line for each cause: "force: FieldValueForbidden: ...". A bad
 * request: "400 ...". */
static const char *print(const struct api_status *status)
{
	size_t len;

	if (!status->has_details) {
		(void)snprintf(said, sizeof said, "%d " PL_SPAN_FMT, status->code,
		               PL_SPAN_ARG(status->message));
		return said;
	}
	T_STR(status->about.group, "meta.k8s.io");
	len = (size_t)snprintf(said, sizeof said, "%d %s", status->code,
	                       status->about.resource);
	for (uint32_t i = 0; i < status->cause_count; i++)
		len += (size_t)snprintf(said + len, sizeof said - len,
		                        "\n" PL_SPAN_FMT ": %s: " PL_SPAN_FMT,
		                        PL_SPAN_ARG(status->causes[i].field),
		                        status->causes[i].type,
		                        PL_SPAN_ARG(status->causes[i].message));
	return said;
}

static const char *judged(enum request_verb verb, const char *text, bool applies)
{
	struct request_query query;
	struct api_status status = {0};

	fresh();
	T_TRUE(request_query_parse(&arena, pl_span_str(text), &query, &status));
	return options_check(&arena, verb, &query, applies, &status) ? ""
	                                                             : print(&status);
}

static void passes(enum request_verb verb, const char *query)
{
	T_STR(judged(verb, query, false), "");
}

static void refused(enum request_verb verb, const char *query, const char *want)
{
	T_STR(judged(verb, query, false), want);
}

#define FORBIDDEN ": FieldValueForbidden: Forbidden: "
#define UNSUPPORTED ": FieldValueNotSupported: Unsupported value: "

T_CASE(lists)
{
#define MATCH "422 ListOptions\nresourceVersionMatch"
	passes(REQUEST_LIST, "");
	passes(REQUEST_LIST, "limit=500&timeoutSeconds=10&resourceVersion=7");
	passes(REQUEST_LIST, "resourceVersion=7&resourceVersionMatch=Exact");
	passes(REQUEST_LIST, "resourceVersion=0&resourceVersionMatch=NotOlderThan");
	refused(REQUEST_LIST, "resourceVersionMatch=Exact",
	        MATCH FORBIDDEN
	        "resourceVersionMatch is forbidden unless resourceVersion is provided");
	refused(REQUEST_LIST, "resourceVersion=0&resourceVersionMatch=Exact",
	        MATCH FORBIDDEN
	        "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
	refused(REQUEST_LIST, "resourceVersion=7&resourceVersionMatch=exact",
	        MATCH UNSUPPORTED
	        "\"exact\": supported values: \"Exact\", \"NotOlderThan\", \"\"");
	refused(REQUEST_LIST, "resourceVersion=7&resourceVersionMatch=Exact&continue=x",
	        MATCH FORBIDDEN
	        "resourceVersionMatch is forbidden when continue is provided");
	refused(REQUEST_LIST, "sendInitialEvents=false",
	        "422 ListOptions\nsendInitialEvents" FORBIDDEN
	        "sendInitialEvents is forbidden for list");
	/* all faults are told */
	refused(REQUEST_LIST, "sendInitialEvents&resourceVersionMatch=a%22b&continue=x",
	        "422 ListOptions\nsendInitialEvents" FORBIDDEN
	        "sendInitialEvents is forbidden for list\nresourceVersionMatch" FORBIDDEN
	        "resourceVersionMatch is forbidden unless resourceVersion is provided\n"
	        "resourceVersionMatch" FORBIDDEN
	        "resourceVersionMatch is forbidden when continue is provided\n"
	        "resourceVersionMatch" UNSUPPORTED
	        "\"a\\\"b\": supported values: \"Exact\", \"NotOlderThan\", \"\"");
}

T_CASE(watches)
{
	passes(REQUEST_WATCH, "resourceVersion=7&timeoutSeconds=0");
	passes(REQUEST_WATCH, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
	passes(REQUEST_WATCH,
	       "sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
	refused(REQUEST_WATCH, "sendInitialEvents=true",
	        MATCH FORBIDDEN
	        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
	refused(REQUEST_WATCH, "resourceVersion=7&resourceVersionMatch=NotOlderThan",
	        MATCH FORBIDDEN
	        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
	        "provided");
	refused(REQUEST_WATCH, "sendInitialEvents=true&resourceVersionMatch=Exact",
	        MATCH FORBIDDEN
	        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan\n"
	        "resourceVersionMatch" UNSUPPORTED
	        "\"Exact\": supported values: \"NotOlderThan\"");
	refused(REQUEST_WATCH,
	        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x",
	        MATCH FORBIDDEN
	        "resourceVersionMatch is forbidden when continue is provided");
#undef MATCH
}

T_CASE(numbers_are_read_within_their_bounds)
{
	static const enum request_verb verbs[] = {REQUEST_LIST, REQUEST_WATCH,
	                                          REQUEST_DELETE_COLLECTION};

	for (unsigned i = 0; i < 3; i++) {
		passes(verbs[i], "limit=0&timeoutSeconds=9223372036854775807");
		passes(verbs[i], "limit=&timeoutSeconds=");
		refused(verbs[i], "limit=9223372036854775808",
		        "400 strconv.ParseInt: parsing \"9223372036854775808\": invalid "
		        "syntax");
		refused(verbs[i], "limit=-1",
		        "400 strconv.ParseInt: parsing \"-1\": invalid syntax");
		refused(verbs[i], "timeoutSeconds=1s",
		        "400 strconv.ParseInt: parsing \"1s\": invalid syntax");
		refused(verbs[i], "limit=%0a",
		        "400 strconv.ParseInt: parsing \"\\n\": invalid syntax");
	}
	passes(REQUEST_GET, "limit=x"); /* is not looked at */
	passes(REQUEST_LIST, "continue=x");
	passes(REQUEST_LIST, "continue=x&resourceVersion=0");
	refused(REQUEST_LIST, "continue=x&resourceVersion=7",
	        "400 specifying resource version is not allowed when using continue");
}

/* 128 bytes, and one more. */
#define TEN "manager---"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define LONGEST HUNDRED TEN TEN "12345678"

T_CASE(writes)
{
	static const struct {
		enum request_verb verb;
		const char *options;
	} verbs[] = {{REQUEST_CREATE, "422 CreateOptions\n"},
	             {REQUEST_UPDATE, "422 UpdateOptions\n"},
	             {REQUEST_PATCH, "422 PatchOptions\n"}};
	static const char *const words[][2] = {
		{"fieldManager=" LONGEST "9",
	         "fieldManager: FieldValueTooLong: Too long: may not be more than 128 bytes"},
		{"fieldManager=a%09b",
	         "fieldManager: FieldValueInvalid: Invalid value: \"a\\tb\": invalid character "
	         "U+0009 (at position 1)"},
		{"fieldManager=%7f",
	         "fieldManager: FieldValueInvalid: Invalid value: \"\\x7f\": invalid character "
	         "U+007F (at position 0)"},
		{"dryRun=all",
	         "dryRun" UNSUPPORTED "[]string{\"all\"}: supported values: \"All\""},
		{"fieldValidation=strict",
	         "fieldValidation" UNSUPPORTED
	         "\"strict\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""},
	};

	for (unsigned i = 0; i < 3; i++) {
		passes(verbs[i].verb, "fieldManager=" LONGEST "&dryRun=All");
		passes(verbs[i].verb, "fieldManager=f%C3%BC&fieldValidation=Strict");
		passes(verbs[i].verb, "fieldManager=&dryRun=&fieldValidation=Ignore");
		for (unsigned j = 0; j < sizeof words / sizeof *words; j++) {
			char want[512];

			(void)snprintf(want, sizeof want, "%s%s", verbs[i].options,
			               words[j][1]);
			refused(verbs[i].verb, words[j][0], want);
		}
	}
	refused(REQUEST_CREATE, "dryRun=x&fieldValidation=y",
	        "422 CreateOptions\ndryRun" UNSUPPORTED
	        "[]string{\"x\"}: supported values: \"All\"\nfieldValidation" UNSUPPORTED
	        "\"y\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
}

T_CASE(patches)
{
	T_STR(judged(REQUEST_PATCH, "fieldManager=me&force=true", true), "");
	T_STR(judged(REQUEST_PATCH, "fieldManager=me", true), "");
	T_STR(judged(REQUEST_PATCH, "force=true", true),
	      "422 PatchOptions\nfieldManager: FieldValueRequired: Required value: is "
	      "required for apply patch");
	passes(REQUEST_PATCH, "");
	refused(REQUEST_PATCH, "force=false",
	        "422 PatchOptions\nforce" FORBIDDEN
	        "may not be specified for non-apply patch");
}

static const char *deletes(const char *propagation, const char *dry_run, bool has_orphans)
{
	struct options_of_delete options = {.propagation = pl_span_str(propagation),
	                                    .dry_run = pl_span_str(dry_run),
	                                    .has_orphans = has_orphans};
	struct api_status status = {0};

	fresh();
	return options_check_delete(&arena, &options, &status) ? "" : print(&status);
}

T_CASE(deletions)
{
#define POLICY "422 DeleteOptions\npropagationPolicy"
#define BOTH                                          \
	": orphanDependents and deletionPropagation " \
	"cannot be both set"
	static const char choices[] =
		POLICY UNSUPPORTED "\"orphan\": supported values: \"Foreground\", "
				   "\"Background\", \"Orphan\", \"nil\"";

	passes(REQUEST_DELETE, "propagationPolicy=Foreground&dryRun=All");
	passes(REQUEST_DELETE, "orphanDependents=true");
	passes(REQUEST_DELETE_COLLECTION, "propagationPolicy=Orphan");
	refused(REQUEST_DELETE, "propagationPolicy=orphan", choices);
	refused(REQUEST_DELETE_COLLECTION, "propagationPolicy=orphan", choices);
	refused(REQUEST_DELETE, "propagationPolicy=Orphan&orphanDependents=false",
	        POLICY ": FieldValueInvalid: Invalid value: \"Orphan\"" BOTH);
	T_STR(deletes("Background", "", false), "");
	T_STR(deletes("", "All", true), "");
	T_STR(deletes("orphan", "", false), choices);
	T_STR(deletes("Orphan", "no", true), POLICY
	      ": FieldValueInvalid: Invalid value: \"Orphan\"" BOTH "\ndryRun" UNSUPPORTED
	      "[]string{\"no\"}: supported values: \"All\"");
}

/* A word of the query is as long as the query may be, and is quoted whole. */
T_CASE(long_words_are_refused)
{
	static char text[REQUEST_QUERY_MAX + 16];
	struct request_query query;
	struct api_status status = {0};
	size_t len = (size_t)sprintf(text, "dryRun=");

	fresh();
	memset(text + len, 'x', REQUEST_QUERY_MAX - len);
	T_TRUE(request_query_parse(&arena, pl_span(text, REQUEST_QUERY_MAX), &query,
	                           &status));
	T_TRUE(!options_check(&arena, REQUEST_CREATE, &query, false, &status));
	T_EQ(status.code, 422);
	T_EQ(status.cause_count, 1);
	T_TRUE(!request_query_parse(&arena, pl_span(text, REQUEST_QUERY_MAX + 1), &query,
	                            &status));
	T_EQ(status.code, 413);
}

/* Without memory a request is refused, too, and never let pass. */
static enum pl_code check_all(void)
{
	struct pl_arena own;
	struct request_query query = {.dryRun = PL_SPAN_LIT("x"),
	                              .fieldManager = PL_SPAN_LIT("a\tb"),
	                              .fieldValidation = PL_SPAN_LIT("y")};
	struct api_status status = {0};
	enum pl_code code = PL_OK;

	pl_arena_init(&own, 0, 0);
	T_TRUE(!options_check(&own, REQUEST_PATCH, &query, true, &status));
	if (status.code == 500)
		code = PL_NOMEM;
	else
		T_EQ(status.code, 422);
	pl_arena_done(&own);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(check_all, true);
}
