/* An API session is the API of a Placet for a command that does one thing after another: a
 * loop of its own, and calls that run it until their answer is there. */
#ifndef COORD_CLI_SESSION_API_SESSION_H
#define COORD_CLI_SESSION_API_SESSION_H

#include "coord/cli/session/options.h"
#include "coord/kubeconfig/kube_client.h"
#include "coord/service/input/label_query.h"

enum { API_PATH_MAX = 4096, API_VERSION_SIZE = 64 };

struct api_session {
	uv_loop_t loop;
	struct kubeconfig config;
	struct kubeconfig_target target;
	struct kube_client *client;
	const struct options *options; /* of the command; NULL: of none */
	uint64_t timeout_ms;           /* of each request */
};

/* The work of a command on the API. */
typedef enum pl_code api_session_fn(void *ctx, struct api_session *api,
                                    struct pl_err *err);

PL_NODISCARD enum pl_code api_session_open(struct api_session *api,
                                           const struct options *options,
                                           struct pl_err *err);
/* The server wants no token. */
PL_NODISCARD enum pl_code api_session_open_url(struct api_session *api, const char *url,
                                               uint64_t timeout_ms, struct pl_err *err);
void api_session_close(struct api_session *api);

/* The answer, in the arena. The path has its query: "/api/v1/nodes?limit=1". */
PL_NODISCARD enum pl_code api_session_get(struct api_session *api, const char *path,
                                          struct pl_arena *arena, struct pl_json *out,
                                          struct pl_err *err);

struct api_request {
	const char *method, *path;
	const char *content_type; /* NULL: application/json */
	struct pl_span body;
};

/* out may be NULL. */
PL_NODISCARD enum pl_code api_session_send(struct api_session *api,
                                           const struct api_request *request,
                                           struct pl_arena *arena, struct pl_json *out,
                                           struct pl_err *err);

/* Runs the loop for so long: connections go on meanwhile. */
void api_session_pause(struct api_session *api, uint64_t ms);

/* Borrows the object for the call. */
typedef enum pl_code api_item_fn(void *ctx, struct pl_json item, struct pl_err *err);

/* All objects of a resource, page by page, at one revision. path has no query; query may be
 * empty, or "labelSelector=...". An error of fn ends the list. */
PL_NODISCARD enum pl_code api_session_list(struct api_session *api, const char *path,
                                           struct pl_span query, api_item_fn *fn,
                                           void *ctx, struct pl_err *err);

/* The same; version becomes the list's, from which a watch goes on. */
PL_NODISCARD enum pl_code api_session_list_at(struct api_session *api, const char *path,
                                              struct pl_span query, api_item_fn *fn,
                                              void *ctx, char version[API_VERSION_SIZE],
                                              struct pl_err *err);

/* Adds "labelSelector=..." to a query, escaped; nothing without requirements. */
PL_NODISCARD enum pl_code api_query_labels(struct pl_buf *query,
                                           const struct label_query *labels);
/* Adds "fieldSelector=field=text", escaped. */
PL_NODISCARD enum pl_code api_query_field(struct pl_buf *query, const char *field,
                                          struct pl_span text);

/* "/api/v1/namespaces/shop/pods/web-0": root is what stands in front of the namespaces; an
 * empty namespace or name is left out. PL_LIMIT. */
PL_NODISCARD enum pl_code api_path(char out[API_PATH_MAX], const char *root,
                                   struct pl_span namespace, const char *resource,
                                   struct pl_span name, struct pl_err *err);

#endif
