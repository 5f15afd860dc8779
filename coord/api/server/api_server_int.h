/* The API server's parts, shared by api_server.c (life) and route.c (paths). */
#ifndef COORD_API_SERVER_API_SERVER_INT_H
#define COORD_API_SERVER_API_SERVER_INT_H

#include "coord/api/reply/status.h"
#include "coord/api/server/api_call.h"
#include "coord/api/server/api_server.h"
#include "coord/api/server/openapi_cache.h"
#include "coord/api/verbs/first_objects.h"
#include "coord/api/verbs/namespace.h"

enum api_server_state {
	API_SERVER_META,    /* waits for /placet/meta */
	API_SERVER_SYNCING, /* the informers list */
	API_SERVER_SERVING,
	API_SERVER_STOPPING, /* lets exchanges end */
	API_SERVER_CUTTING,  /* cuts them */
};

struct api_server {
	uv_loop_t *loop;
	struct api_server_opts opts;
	enum api_server_state state;
	struct http_server *http;
	struct api api;
	struct sources sources;
	struct watch_hub hub;
	bool has_hub;
	struct followed_access access;
	struct flow flow;
	struct pl_list calls; /* of struct api_call, all that are open */
	struct pl_list held;  /* of those, by the time when they get a 429 */
	uint32_t held_count;
	struct pl_timer
		turns;     /* calls whose time to wait is over; watches are looked at */
	uint64_t look_ms;  /* when watches are looked at next */
	bool events_close; /* the store of events closes */
	struct namespace_emptier *emptier; /* NULL: not yet, or no more */
	char address[80];
	struct openapi_cache openapi;
	struct metric_set *metrics; /* requests are counted in it; NULL: no memory */
	struct pl_timer timer;
	struct kv_call *call;
	uint64_t strangers_ms; /* when the lines below were counted last */
	uint32_t
		strangers; /* lines that refusals of strangers may have in the audit now */
	bool access_log;   /* each request is logged */
	uint64_t store_ms;               /* when the store has answered last; 0: never */
	char store_why[HEALTH_WHY_SIZE]; /* the last failure since then */
	uv_idle_t idle; /* runs while calls have their turn; closed as the last thing of a
	                 * stop */
	uint64_t stop_at_ms;
	void (*closed)(void *ctx);
	void *closed_ctx;
};

/* introspection.c: health, /configz, /statusz and /debug. */
enum { API_SERVER_CHECKS = 4 };
/* The checks that the server makes itself. */
void api_server_checks(struct api_server *server,
                       struct health_check out[API_SERVER_CHECKS]);
void route_health(struct api_server *server, struct http_exchange *exchange,
                  const struct http_request *request);
/* False: the path is none of these. */
bool route_introspection(struct api_server *server, struct http_exchange *exchange,
                         const struct http_request *request);

/* Calls have their turn when the loop comes round. */
void api_server_wake(struct api_server *server);

/* route.c */
/* Answers what is no object. False: it is one, or nothing that is served. */
bool api_server_route(struct api_server *server, struct http_exchange *exchange,
                      const struct http_request *request);
void route_answer_status(struct http_exchange *exchange, const struct api_status *status);

#endif
