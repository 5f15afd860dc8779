#include "store/net/http_status.h"

#include "store/base/json_out.h"

/* text: of the status line; reason: of a Status object, NULL where Kubernetes has none. */
static const struct {
	int status;
	const char *text, *reason;
} known_statuses[] = {
	{100, "Continue", NULL},
	{200, "OK", NULL},
	{201, "Created", NULL},
	{202, "Accepted", NULL},
	{204, "No Content", NULL},
	{206, "Partial Content", NULL},
	{301, "Moved Permanently", NULL},
	{302, "Found", NULL},
	{304, "Not Modified", NULL},
	{307, "Temporary Redirect", NULL},
	{400, "Bad Request", "BadRequest"},
	{401, "Unauthorized", "Unauthorized"},
	{403, "Forbidden", "Forbidden"},
	{404, "Not Found", "NotFound"},
	{405, "Method Not Allowed", "MethodNotAllowed"},
	{406, "Not Acceptable", "NotAcceptable"},
	{408, "Request Timeout", "Timeout"},
	{409, "Conflict", "Conflict"},
	{410, "Gone", "Gone"},
	{412, "Precondition Failed", NULL},
	{413, "Request Entity Too Large", "RequestEntityTooLarge"},
	{414, "URI Too Long", NULL},
	{415, "Unsupported Media Type", "UnsupportedMediaType"},
	{417, "Expectation Failed", NULL},
	{422, "Unprocessable Entity", "Invalid"},
	{429, "Too Many Requests", "TooManyRequests"},
	{431, "Request Header Fields Too Large", NULL},
	{500, "Internal Server Error", "InternalError"},
	{501, "Not Implemented", NULL},
	{502, "Bad Gateway", NULL},
	{503, "Service Unavailable", "ServiceUnavailable"},
	{504, "Gateway Timeout", "Timeout"},
	{505, "HTTP Version Not Supported", NULL},
};

enum { STATUSES = sizeof known_statuses / sizeof known_statuses[0] };

const char *http_status_text(int status)
{
	for (size_t i = 0; i < STATUSES; i++) {
		if (known_statuses[i].status == status)
			return known_statuses[i].text;
	}
	return "Status";
}

bool http_status_has_body(int status)
{
	return status >= 200 && status != 204 && status != 304;
}

static const char *reason_of(int status)
{
	for (size_t i = 0; i < STATUSES; i++) {
		if (known_statuses[i].status == status &&
		    known_statuses[i].reason != NULL)
			return known_statuses[i].reason;
	}
	return status >= 500 ? "InternalError" : "BadRequest";
}

enum pl_code http_status_object(struct pl_buf *out, int status, const char *text)
{
	struct pl_json_out json;

	pl_json_out_init(&json, out);
	pl_json_out_object(&json);
	pl_json_out_name(&json, "kind");
	pl_json_out_str(&json, "Status");
	pl_json_out_name(&json, "apiVersion");
	pl_json_out_str(&json, "v1");
	pl_json_out_name(&json, "metadata");
	pl_json_out_object(&json);
	pl_json_out_end(&json);
	pl_json_out_name(&json, "status");
	pl_json_out_str(&json, "Failure");
	pl_json_out_name(&json, "message");
	pl_json_out_str(&json, text);
	pl_json_out_name(&json, "reason");
	pl_json_out_str(&json, reason_of(status));
	pl_json_out_name(&json, "code");
	pl_json_out_int(&json, status);
	pl_json_out_end(&json);
	return pl_json_out_done(&json);
}
