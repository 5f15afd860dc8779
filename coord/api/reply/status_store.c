/* Failures of the store as clients of the API see them. */
#include "coord/api/reply/status.h"

enum { RETRY_SOON_S = 1, RETRY_LATER_S = 2 };

static struct pl_span message_of(enum pl_code code, const struct pl_err *err)
{
	if (err != NULL && err->msg[0] != 0)
		return pl_span_str(err->msg);
	return pl_span_str(pl_code_name(code));
}

/* The reason is copied because err may go before the answer is written. */
static struct api_status refused(struct pl_arena *arena, struct pl_span why)
{
	struct pl_span kept = pl_arena_dup(arena, why);

	if (kept.at == NULL)
		return status_internal(arena, why);
	return status_bad_request(kept);
}

static struct api_status unknown_outcome(struct pl_arena *arena)
{
	return status_timeout(
		arena,
		PL_SPAN_LIT("request did not complete within requested timeout - context "
	                    "deadline exceeded"),
		0);
}

struct api_status status_of_store(struct pl_arena *arena, struct status_about about,
                                  const char *verb, enum pl_code code,
                                  const struct pl_err *err)
{
	switch (code) {
	case PL_NOTFOUND:
		return status_not_found(arena, about);
	case PL_EXISTS:
		return status_exists(arena, about);
	case PL_CONFLICT:
		return status_modified(arena, about);
	case PL_INVALID:
		return refused(arena, message_of(code, err));
	case PL_LIMIT:
		return status_too_large(arena, message_of(code, err));
	case PL_COMPACTED:
		return status_expired(pl_span_str(status_list_expired_message));
	case PL_REWOUND:
		return status_expired(
			PL_SPAN_LIT("The store was restored or replaced: list again."));
	case PL_TIMEOUT:
	case PL_UNKNOWN:
		return unknown_outcome(arena);
	case PL_FUTURE:
		return status_timeout(arena, PL_SPAN_LIT("Too large resource version"),
		                      RETRY_SOON_S);
	case PL_BUSY:
	case PL_THROTTLED:
		return status_too_many_requests(
			PL_SPAN_LIT("Too many requests, please try again later."),
			RETRY_SOON_S);
	case PL_UNAVAIL:
	case PL_NOLEADER:
	case PL_FENCED:
	case PL_NOLEASE:
		return status_server_timeout(arena, about, verb, RETRY_LATER_S);
	case PL_CANCELED:
		return status_unavailable(PL_SPAN_LIT("the server is shutting down"));
	case PL_NOSPACE:
		return status_unavailable(PL_SPAN_LIT("the store is out of space"));
	case PL_AUTH:
	case PL_DENIED:
	case PL_TLS:
		return status_internal(arena,
		                       PL_SPAN_LIT("the store refuses this server"));
	case PL_NOMEM:
	case PL_PROTO:
	case PL_CORRUPT:
	case PL_UNSUPPORTED:
	case PL_IO:
		return status_internal(arena, pl_span_str(pl_code_name(code)));
	case PL_OK:
	case PL_CODE_COUNT:
		break;
	}
	PL_UNREACHABLE("a failure of the store");
}
