/* Refusals of a Kubernetes API: a Status, or no more than a number. */
#include "coord/kubeconfig/kube_client.h"
#include "store/base/json.h"

static enum pl_code code_of(int status)
{
	switch (status) {
	case 401:
		return PL_AUTH;
	case 403:
		return PL_DENIED;
	case 404:
		return PL_NOTFOUND;
	case 405:
	case 406:
	case 415:
	case 501:
		return PL_UNSUPPORTED;
	case 408:
	case 504:
		return PL_TIMEOUT;
	case 409:
	case 412:
		return PL_CONFLICT;
	case 410:
		return PL_COMPACTED;
	case 413:
		return PL_LIMIT;
	case 429:
		return PL_THROTTLED;
	default:
		if (status >= 500)
			return PL_UNAVAIL;
		return status >= 400 ? PL_INVALID : PL_PROTO;
	}
}

/* "" if the body is no Status. */
static const char *sentence_of(struct pl_arena *arena, struct pl_span body,
                               const char **reason)
{
	const char *kind = "", *message = "";
	struct pl_json status;

	if (pl_json_parse(arena, body, NULL, &status, NULL) != PL_OK ||
	    pl_json_type(status) != PL_JSON_OBJECT ||
	    pl_json_string(status, "kind", PL_JSON_REQUIRED, &kind, NULL) != PL_OK ||
	    strcmp(kind, "Status") != 0 ||
	    pl_json_string(status, "message", PL_JSON_OPTIONAL, &message, NULL) !=
	            PL_OK ||
	    pl_json_string(status, "reason", PL_JSON_OPTIONAL, reason, NULL) != PL_OK)
		return "";
	return message;
}

enum pl_code kube_status_error(int status, struct pl_span body, struct pl_err *err)
{
	enum pl_code code = code_of(status);
	struct pl_arena arena;
	const char *reason = "", *message;

	pl_arena_init(&arena, 0, 0);
	message = sentence_of(&arena, body, &reason);
	/* Both are 409; only one of them goes away by trying again. */
	if (status == 409 && strcmp(reason, "AlreadyExists") == 0)
		code = PL_EXISTS;
	if (*message != 0)
		(void)pl_err_set(err, code, "%s", message);
	else
		(void)pl_err_set(err, code, "the server answered %d", status);
	pl_arena_done(&arena);
	return code;
}
