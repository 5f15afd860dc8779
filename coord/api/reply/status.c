#include "coord/api/reply/status.h"

#include <inttypes.h>

#include "coord/api/base/go_quote.h"

const char status_modified_message[] =
	"the object has been modified; please apply your changes to the latest version and "
	"try again";
const char status_watch_expired_message[] =
	"The resourceVersion for the provided watch is too old.";
const char status_list_expired_message[] =
	"The resourceVersion for the provided list is too old.";
const char status_continue_expired_message[] =
	"The provided continue parameter is too old to display a consistent list result. You "
	"can start a new list without the continue parameter.";
const char status_continue_inconsistent_message[] =
	"The provided continue parameter is too old to display a consistent list result. You "
	"can start a new list without the continue parameter, or use the continue token in "
	"this response to retrieve the remainder of the results. Continuing with the provided "
	"token results in an inconsistent list - objects that were created, modified, or "
	"deleted between the time the first chunk was returned and now may show up in the "
	"list.";

/* -- building blocks ---------------------------------------------------------------- */

static struct api_status out_of_memory(void)
{
	return (struct api_status){
		.code = 500,
		.reason = "InternalError",
		.message = PL_SPAN_LIT("Internal error occurred: out of memory"),
		.has_details = true};
}

/* message NULL: the arena was used up. */
static struct api_status fail(uint16_t code, const char *reason, const char *message)
{
	if (message == NULL)
		return out_of_memory();
	return (struct api_status){
		.code = code, .reason = reason, .message = pl_span_str(message)};
}

static struct api_status fail_about(uint16_t code, const char *reason,
                                    struct status_about about, const char *message)
{
	struct api_status status = fail(code, reason, message);

	if (message != NULL) {
		status.has_details = true;
		status.about = about;
	}
	return status;
}

/* "pods", "deployments.apps". NULL: no memory. */
static const char *qualified(struct pl_arena *arena, struct status_about about)
{
	if (about.group[0] == 0)
		return about.resource;
	return pl_arena_printf(arena, "%s.%s", about.resource, about.group);
}

/* <before><pods "x"><after>. NULL: no memory. */
static const char *sentence(struct pl_arena *arena, const char *before,
                            struct status_about about, const char *after)
{
	const char *resource = qualified(arena, about);
	const char *name = go_quote(arena, about.name);

	if (resource == NULL || name == NULL)
		return NULL;
	return pl_arena_printf(arena, "%s%s %s%s", before, resource, name, after);
}

/* "<before><text>". NULL: no memory. */
static const char *prefixed(struct pl_arena *arena, const char *before,
                            struct pl_span text)
{
	return pl_arena_printf(arena, "%s" PL_SPAN_FMT, before, PL_SPAN_ARG(text));
}

/* -- success ---------------------------------------------------------------------- */

struct api_status status_deleted(struct status_about about, struct pl_span uid)
{
	return (struct api_status){.has_details = true, .about = about, .uid = uid};
}

/* -- failures about an object or a collection ------------------------------------- */

struct api_status status_not_found(struct pl_arena *arena, struct status_about about)
{
	return fail_about(404, "NotFound", about,
	                  sentence(arena, "", about, " not found"));
}

struct api_status status_exists(struct pl_arena *arena, struct status_about about)
{
	return fail_about(409, "AlreadyExists", about,
	                  sentence(arena, "", about, " already exists"));
}

struct api_status status_no_free_name(struct pl_arena *arena, struct status_about about)
{
	struct api_status status =
		fail_about(409, "AlreadyExists", about,
	                   sentence(arena, "", about,
	                            " already exists, the server was not able to "
	                            "generate a unique name for the object"));

	status.retry_after_s = 1;
	return status;
}

struct api_status status_conflict(struct pl_arena *arena, struct status_about about,
                                  struct pl_span why)
{
	const char *after = prefixed(arena, ": ", why);
	const char *message = NULL;

	if (after != NULL)
		message = sentence(arena, "Operation cannot be fulfilled on ", about,
		                   after);
	return fail_about(409, "Conflict", about, message);
}

struct api_status status_modified(struct pl_arena *arena, struct status_about about)
{
	return status_conflict(arena, about, pl_span_str(status_modified_message));
}

struct api_status status_apply_conflict(struct pl_arena *arena,
                                        const struct status_cause *causes, uint32_t count,
                                        struct pl_span message)
{
	struct api_status status = fail(409, "Conflict", prefixed(arena, "", message));

	status.has_details = true;
	status.causes = causes;
	status.cause_count = count;
	return status;
}

struct api_status status_forbidden(struct pl_arena *arena, struct status_about about,
                                   struct pl_span why)
{
	const char *after, *message = NULL;

	if (about.resource == NULL)
		return fail_about(403, "Forbidden", about,
		                  prefixed(arena, "forbidden: ", why));
	after = prefixed(arena, " is forbidden: ", why);
	if (after != NULL && about.name.len > 0) {
		message = sentence(arena, "", about, after);
	} else if (after != NULL) {
		const char *resource = qualified(arena, about);

		if (resource != NULL)
			message = pl_arena_printf(arena, "%s%s", resource, after);
	}
	return fail_about(403, "Forbidden", about, message);
}

struct api_status status_method_not_supported(struct pl_arena *arena,
                                              struct status_about about,
                                              const char *action)
{
	const char *resource = qualified(arena, about), *message = NULL;

	if (resource != NULL)
		message = pl_arena_printf(
			arena, "%s is not supported on resources of kind \"%s\"", action,
			resource);
	about.name = pl_span_str("");
	return fail_about(405, "MethodNotAllowed", about, message);
}

struct api_status status_server_timeout(struct pl_arena *arena, struct status_about about,
                                        const char *operation, uint32_t retry_after_s)
{
	const char *resource = qualified(arena, about), *message = NULL;
	struct api_status status;

	if (resource != NULL)
		message = pl_arena_printf(arena,
		                          "The %s operation against %s could not be "
		                          "completed at this time, please try again.",
		                          operation, resource);
	about.name = pl_span_str(operation);
	status = fail_about(500, "ServerTimeout", about, message);
	status.retry_after_s = retry_after_s;
	return status;
}

/* -- failures of a request ---------------------------------------------------------- */

static struct api_status fail_with(uint16_t code, const char *reason,
                                   struct pl_span message)
{
	return (struct api_status){.code = code, .reason = reason, .message = message};
}

struct api_status status_bad_request(struct pl_span message)
{
	return fail_with(400, "BadRequest", message);
}

struct api_status status_unauthorized(void)
{
	return fail(401, "Unauthorized", "Unauthorized");
}

struct api_status status_no_such_path(void)
{
	struct api_status status =
		fail(404, "NotFound", "the server could not find the requested resource");

	status.has_details = true;
	return status;
}

struct api_status status_no_such_method(void)
{
	struct api_status status =
		fail(405, "MethodNotAllowed",
	             "the server does not allow this method on the requested resource");

	status.has_details = true;
	return status;
}

struct api_status status_not_acceptable(struct pl_arena *arena, const char *accepted)
{
	return fail(406, "NotAcceptable",
	            pl_arena_printf(arena,
	                            "only the following media types are accepted: %s",
	                            accepted));
}

struct api_status status_unsupported_media_type(struct pl_arena *arena,
                                                const char *accepted)
{
	return fail(415, "UnsupportedMediaType",
	            pl_arena_printf(arena,
	                            "the body of the request was in an unknown format - "
	                            "accepted media types include: %s",
	                            accepted));
}

struct api_status status_expired(struct pl_span message)
{
	return fail_with(410, "Expired", message);
}

struct api_status status_gone(struct pl_span message)
{
	return fail_with(410, "Gone", message);
}

struct api_status status_too_many_requests(struct pl_span message, uint32_t retry_after_s)
{
	struct api_status status = fail_with(429, "TooManyRequests", message);

	status.has_details = true;
	status.retry_after_s = retry_after_s;
	return status;
}

struct api_status status_timeout(struct pl_arena *arena, struct pl_span why,
                                 uint32_t retry_after_s)
{
	struct api_status status =
		fail(504, "Timeout", prefixed(arena, "Timeout: ", why));

	status.has_details = true;
	status.retry_after_s = retry_after_s;
	return status;
}

struct api_status status_revision_too_large(struct pl_arena *arena, int64_t wanted,
                                            int64_t current, uint32_t retry_after_s)
{
	const char *why = pl_arena_printf(
		arena, "Too large resource version: %" PRId64 ", current: %" PRId64,
		wanted, current);
	struct status_cause *cause = pl_arena_zalloc(arena, 1, sizeof *cause);
	struct api_status status;

	if (why == NULL || cause == NULL)
		return out_of_memory();
	*cause = (struct status_cause){.type = "ResourceVersionTooLarge",
	                               .message =
	                                       PL_SPAN_LIT("Too large resource version")};
	status = status_timeout(arena, pl_span_str(why), retry_after_s);
	status.causes = cause;
	status.cause_count = 1;
	return status;
}

struct api_status status_unavailable(struct pl_span message)
{
	return fail_with(503, "ServiceUnavailable", message);
}

struct api_status status_too_large(struct pl_arena *arena, struct pl_span why)
{
	return fail(413, "RequestEntityTooLarge",
	            prefixed(arena, "Request entity too large: ", why));
}

struct api_status status_internal(struct pl_arena *arena, struct pl_span why)
{
	struct status_cause *cause = pl_arena_zalloc(arena, 1, sizeof *cause);
	struct api_status status = fail(
		500, "InternalError", prefixed(arena, "Internal error occurred: ", why));

	status.has_details = true;
	if (cause == NULL)
		return status;
	cause->message = pl_arena_dup(arena, why);
	if (why.len > 0 && cause->message.at == NULL)
		return status;
	status.causes = cause;
	status.cause_count = 1;
	return status;
}
