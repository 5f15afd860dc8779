#include "coord/api/verbs/request_options.h"

#include <stdio.h>

#include "coord/api/base/go_quote.h"

enum { CAUSES_MAX = 8, MANAGER_MAX = 128 };

struct option_check {
	struct pl_arena *arena;
	struct status_cause *cause; /* NULL: no memory */
	uint32_t count;
};

static void add(struct option_check *check, const char *type, const char *field,
                const char *message)
{
	if (check->cause == NULL)
		check->cause =
			pl_arena_zalloc(check->arena, CAUSES_MAX, sizeof *check->cause);
	if (check->cause != NULL && message != NULL && check->count < CAUSES_MAX)
		check->cause[check->count] = (struct status_cause){
			type, pl_span_str(field), pl_span_str(message)};
	/* A fault counts, even where no memory is left to tell of it. */
	check->count += check->count < CAUSES_MAX;
}

static void forbid(struct option_check *check, const char *field, const char *why)
{
	add(check, "FieldValueForbidden", field,
	    pl_arena_printf(check->arena, "Forbidden: %s", why));
}

static void not_supported(struct option_check *check, const char *field,
                          struct pl_span value, bool list, const char *choices)
{
	const char *word = go_quote(check->arena, value);

	add(check, "FieldValueNotSupported", field,
	    word == NULL
	            ? NULL
	            : pl_arena_printf(check->arena,
	                              "Unsupported value: %s%s%s: supported values: %s",
	                              list ? "[]string{" : "", word, list ? "}" : "",
	                              choices));
}

static bool is(struct pl_span text, const char *word)
{
	return pl_span_eq(text, pl_span_str(word));
}

static bool finish(struct option_check *check, const char *kind, struct api_status *out)
{
	struct status_about about = {.group = "meta.k8s.io", .resource = kind};

	if (check->count == 0)
		return true;
	if (check->cause == NULL)
		*out = status_internal(check->arena, PL_SPAN_LIT("out of memory"));
	else
		*out = status_invalid(check->arena, about, check->cause, check->count);
	return false;
}

/* -- lists and watches ----------------------------------------------------------------- */

static void check_list(struct option_check *check, const struct request_query *query)
{
	static const char field[] = "resourceVersionMatch";
	struct pl_span match = query->resourceVersionMatch;
	bool exact = is(match, "Exact");

	if (query->sendInitialEvents.at != NULL)
		forbid(check, "sendInitialEvents",
		       "sendInitialEvents is forbidden for list");
	if (match.len == 0)
		return;
	if (query->resourceVersion.len == 0)
		forbid(check, field,
		       "resourceVersionMatch is forbidden unless resourceVersion is provided");
	if (query->continue_.len > 0)
		forbid(check, field,
		       "resourceVersionMatch is forbidden when continue is provided");
	if (!exact && !is(match, "NotOlderThan"))
		not_supported(check, field, match, false,
		              "\"Exact\", \"NotOlderThan\", \"\"");
	if (exact && is(query->resourceVersion, "0"))
		forbid(check, field,
		       "resourceVersionMatch \"exact\" is forbidden for resourceVersion "
		       "\"0\"");
}

static void check_watch(struct option_check *check, const struct request_query *query)
{
	static const char field[] = "resourceVersionMatch";
	struct pl_span match = query->resourceVersionMatch;
	bool initial = query->sendInitialEvents.at != NULL;
	bool fits = is(match, "NotOlderThan");

	if (initial && !fits)
		forbid(check, field,
		       "sendInitialEvents requires setting resourceVersionMatch to "
		       "NotOlderThan");
	if (match.len == 0)
		return;
	if (!initial)
		forbid(check, field,
		       "resourceVersionMatch is forbidden for watch unless sendInitialEvents "
		       "is provided");
	if (!fits)
		not_supported(check, field, match, false, "\"NotOlderThan\"");
	if (query->continue_.len > 0)
		forbid(check, field,
		       "resourceVersionMatch is forbidden when continue is provided");
}

/* Numbers that Kubernetes cannot read are bad requests, not invalid options. */
static bool check_numbers(struct pl_arena *arena, const struct request_query *query,
                          struct api_status *out)
{
	int64_t number;
	struct pl_span bad = {0};

	if (query->timeoutSeconds.len > 0 &&
	    !request_number(query->timeoutSeconds, &number))
		bad = query->timeoutSeconds;
	if (query->limit.len > 0 && !request_number(query->limit, &number))
		bad = query->limit;
	if (bad.len > 0) {
		const char *word = go_quote(arena, bad);

		*out = status_bad_request(pl_span_str(
			word == NULL ? "out of memory"
				     : pl_arena_printf(arena,
		                                       "strconv.ParseInt: parsing %s: "
		                                       "invalid syntax",
		                                       word)));
		return false;
	}
	if (query->continue_.len == 0 || query->resourceVersion.len == 0 ||
	    is(query->resourceVersion, "0"))
		return true;
	*out = status_bad_request(PL_SPAN_LIT(
		"specifying resource version is not allowed when using continue"));
	return false;
}

/* -- writes ---------------------------------------------------------------------------- */

static void check_dry_run(struct option_check *check, struct pl_span word)
{
	if (word.len > 0 && !is(word, "All"))
		not_supported(check, "dryRun", word, true, "\"All\"");
}

static void check_manager(struct option_check *check, struct pl_span manager)
{
	if (manager.len > MANAGER_MAX)
		add(check, "FieldValueTooLong", "fieldManager",
		    "Too long: may not be more than 128 bytes");
	for (size_t i = 0; i < manager.len; i++) {
		const char *word;

		if (manager.at[i] >= ' ' && manager.at[i] != 0x7f)
			continue;
		word = go_quote(check->arena, manager);
		add(check, "FieldValueInvalid", "fieldManager",
		    word == NULL ? NULL
		                 : pl_arena_printf(
					   check->arena,
					   "Invalid value: %s: invalid character U+%04X "
					   "(at position %zu)",
					   word, manager.at[i], i));
		return;
	}
}

static void check_write(struct option_check *check, const struct request_query *query)
{
	enum schema_strictness strictness;

	check_manager(check, query->fieldManager);
	check_dry_run(check, query->dryRun);
	if (!schema_strictness_of(query->fieldValidation, &strictness))
		not_supported(check, "fieldValidation", query->fieldValidation, false,
		              "\"\", \"Ignore\", \"Strict\", \"Warn\"");
}

static void check_patch(struct option_check *check, const struct request_query *query,
                        bool applies)
{
	if (applies && query->fieldManager.len == 0)
		add(check, "FieldValueRequired", "fieldManager",
		    "Required value: is required for apply patch");
	if (!applies && query->force.at != NULL)
		forbid(check, "force", "may not be specified for non-apply patch");
	check_write(check, query);
}

static void check_delete(struct option_check *check,
                         const struct options_of_delete *options)
{
	struct pl_span policy = options->propagation;

	if (policy.len > 0 && options->has_orphans)
		add(check, "FieldValueInvalid", "propagationPolicy",
		    pl_arena_printf(
			    check->arena,
			    "Invalid value: \"" PL_SPAN_FMT
			    "\": orphanDependents and deletionPropagation cannot be "
			    "both set",
			    PL_SPAN_ARG(policy)));
	if (policy.len > 0 && !is(policy, "Foreground") && !is(policy, "Background") &&
	    !is(policy, "Orphan"))
		not_supported(check, "propagationPolicy", policy, false,
		              "\"Foreground\", \"Background\", \"Orphan\", \"nil\"");
	check_dry_run(check, options->dry_run);
}

bool options_check_delete(struct pl_arena *arena, const struct options_of_delete *options,
                          struct api_status *out)
{
	struct option_check check = {.arena = arena};

	check_delete(&check, options);
	return finish(&check, "DeleteOptions", out);
}

bool options_check(struct pl_arena *arena, enum request_verb verb,
                   const struct request_query *query, bool applies,
                   struct api_status *out)
{
	static const char *const kinds[] = {
		[REQUEST_GET] = "GetOptions",
		[REQUEST_LIST] = "ListOptions",
		[REQUEST_WATCH] = "ListOptions",
		[REQUEST_CREATE] = "CreateOptions",
		[REQUEST_UPDATE] = "UpdateOptions",
		[REQUEST_PATCH] = "PatchOptions",
		[REQUEST_DELETE] = "DeleteOptions",
		[REQUEST_DELETE_COLLECTION] = "DeleteOptions"};
	struct option_check check = {.arena = arena};
	struct options_of_delete deletion = {.dry_run = query->dryRun,
	                                     .propagation = query->propagationPolicy,
	                                     .has_orphans =
	                                             query->orphanDependents.at != NULL};

	switch (verb) {
	case REQUEST_GET:
		break;
	case REQUEST_LIST:
		check_list(&check, query);
		break;
	case REQUEST_WATCH:
		check_watch(&check, query);
		break;
	case REQUEST_CREATE:
	case REQUEST_UPDATE:
		check_write(&check, query);
		break;
	case REQUEST_PATCH:
		check_patch(&check, query, applies);
		break;
	case REQUEST_DELETE:
	case REQUEST_DELETE_COLLECTION:
		check_delete(&check, &deletion);
		break;
	}
	if (!finish(&check, kinds[verb], out))
		return false;
	return (verb != REQUEST_LIST && verb != REQUEST_WATCH &&
	        verb != REQUEST_DELETE_COLLECTION) ||
	       check_numbers(arena, query, out);
}
