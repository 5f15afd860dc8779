/*
 * Status objects: how the API says that a request failed, or that a delete succeeded.
 * Wording, reasons and codes are those of Kubernetes, because clients compare them.
 *
 *	{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
 *	 "message":"pods \"x\" not found","reason":"NotFound",
 *	 "details":{"name":"x","kind":"pods"},"code":404}
 *
 * A Status is a plain value. Its texts are constants, lie in the arena that was handed
 * in, or are borrowed from the caller (the about, causes). A constructor never fails:
 * when the arena is used up, the Status says so instead (500 InternalError).
 */
#ifndef COORD_API_REPLY_STATUS_H
#define COORD_API_REPLY_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/arena.h"
#include "store/base/err.h"
#include "store/base/json_out.h"
#include "store/base/span.h"

/* The object or collection that a request was about. */
struct status_about {
	const char *group;    /* "": core */
	const char *resource; /* plural, "pods"; in an Invalid the kind, "Pod" */
	struct pl_span name;  /* may be empty */
};

/* One fault of a field. */
struct status_cause {
	const char *type;       /* "FieldValueRequired" */
	struct pl_span field;   /* "spec.containers[0].name" */
	struct pl_span message; /* "Required value: ..." */
};

struct api_status {
	uint16_t code;      /* of HTTP; 0: not written, the answer is a 200 */
	const char *reason; /* NULL: success */
	struct pl_span message;
	bool has_details;
	struct status_about about; /* resource NULL: none */
	struct pl_span uid;
	const struct status_cause *causes; /* borrowed or in the arena */
	uint32_t cause_count;
	uint32_t retry_after_s;        /* 0: none; also sent as Retry-After */
	struct pl_span continue_token; /* of an expired list */
};

/* -- success ---------------------------------------------------------------------- */

/* The object was removed. */
struct api_status status_deleted(struct status_about about, struct pl_span uid);

/* -- failures about an object or a collection ------------------------------------- */

struct api_status status_not_found(struct pl_arena *arena, struct status_about about);
struct api_status status_exists(struct pl_arena *arena, struct status_about about);
/* No free name was found behind generateName. */
struct api_status status_no_free_name(struct pl_arena *arena, struct status_about about);
/* "Operation cannot be fulfilled on pods "x": <why>". */
struct api_status status_conflict(struct pl_arena *arena, struct status_about about,
                                  struct pl_span why);
/* The object's resourceVersion is not the one that the client has read. */
struct api_status status_modified(struct pl_arena *arena, struct status_about about);
/* Server-side apply met fields of other managers, one cause each. */
struct api_status status_apply_conflict(struct pl_arena *arena,
                                        const struct status_cause *causes, uint32_t count,
                                        struct pl_span message);
/* about.resource is the kind. causes are borrowed. */
struct api_status status_invalid(struct pl_arena *arena, struct status_about about,
                                 const struct status_cause *causes, uint32_t count);
/* about.resource NULL: "forbidden: <why>". */
struct api_status status_forbidden(struct pl_arena *arena, struct status_about about,
                                   struct pl_span why);
/* action: "patch", "watch", "delete". */
struct api_status status_method_not_supported(struct pl_arena *arena,
                                              struct status_about about,
                                              const char *action);
/* Nothing was done; the client may try again. operation: "create". */
struct api_status status_server_timeout(struct pl_arena *arena, struct status_about about,
                                        const char *operation, uint32_t retry_after_s);

/* -- failures of a request ---------------------------------------------------------- */

/* message is borrowed. */
struct api_status status_bad_request(struct pl_span message);
struct api_status status_unauthorized(void);
/* The path names nothing that is served. */
struct api_status status_no_such_path(void);
/* The path is served, but not by this method. */
struct api_status status_no_such_method(void);
struct api_status status_not_acceptable(struct pl_arena *arena, const char *accepted);
/* accepted is listed as it is: "application/json, application/yaml". */
struct api_status status_unsupported_media_type(struct pl_arena *arena,
                                                const char *accepted);
/* The revision of a list or watch, or a continue token, is too old; message is borrowed.
 */
struct api_status status_expired(struct pl_span message);
struct api_status status_gone(struct pl_span message);
struct api_status status_too_many_requests(struct pl_span message,
                                           uint32_t retry_after_s);
/* The outcome is not known: "Timeout: <why>". */
struct api_status status_timeout(struct pl_arena *arena, struct pl_span why,
                                 uint32_t retry_after_s);
/* A revision that the server has not seen yet. */
struct api_status status_revision_too_large(struct pl_arena *arena, int64_t wanted,
                                            int64_t current, uint32_t retry_after_s);
struct api_status status_unavailable(struct pl_span message);
struct api_status status_too_large(struct pl_arena *arena, struct pl_span why);
struct api_status status_internal(struct pl_arena *arena, struct pl_span why);

extern const char status_modified_message[];
extern const char status_watch_expired_message[];
extern const char status_list_expired_message[];
extern const char status_continue_expired_message[];
/* Goes with a fresh continue_token. */
extern const char status_continue_inconsistent_message[];

/* -- from the store ------------------------------------------------------------------- */

/* The answer to a failure of the store. verb: "get", "create", ... err may be
 * NULL; its message is shown where it is about the request, and never where it could
 * tell about the store's credentials. code must not be PL_OK. */
struct api_status status_of_store(struct pl_arena *arena, struct status_about about,
                                  const char *verb, enum pl_code code,
                                  const struct pl_err *err);

/* -- output ----------------------------------------------------------------------------- */

static inline uint16_t status_http_code(const struct api_status *status)
{
	return status->code == 0 ? 200 : status->code;
}

void status_write(struct pl_json_out *out, const struct api_status *status);

#endif
