/*
 * A request of the API: from the head and body that the server hands over to its answer.
 *
 *	on_request -> READING (waits for the informer) -> answered
 *	           -> WRITING (waits for the store)     -> answered
 *	           -> STREAMING (a list in pieces, a watch)
 *
 * Invariants:
 *  - A request is answered exactly once, or its client has gone (exchange NULL).
 *  - It lives until its client has gone and nothing that was begun for it is under way.
 *  - What it changes is committed with compares on what it has read.
 */
#ifndef COORD_API_VERBS_REQUEST_H
#define COORD_API_VERBS_REQUEST_H

#include "coord/access/roles/access_decide.h"
#include "coord/api/objects/object_shape.h"
#include "coord/api/verbs/place_estimates.h"
#include "coord/api/verbs/request_turns.h"
#include "coord/api/verbs/request_verb.h"
#include "coord/api/watch/watch_hub.h"
#include "coord/service/base/service.h"
#include "coord/service/writes/write_queue.h"
#include "store/base/json_edit.h"
#include "store/base/rng.h"
#include "store/net/http_server.h"

enum {
	REQUEST_ARENA_MAX = 64 << 20,
	REQUEST_FRESH_MS = 10000, /* for the informer to become as new as the store */
	REQUEST_TRIES_MAX = 10,   /* of a change whose object changes meanwhile */
};

struct pod_change_queue;

/* Finds out who a client is, as coord/access/authn does. PL_NOTFOUND: it has shown no
 * credential; PL_DENIED: none that is good, and err says why for the audit only. */
struct request_identifier {
	enum pl_code (*of_request)(void *ctx, const struct http_request *http,
	                           struct pl_arena *arena, int64_t now_s,
	                           struct identity *out, struct pl_err *err);
	enum pl_code (*of_token)(void *ctx, struct pl_span token, struct pl_arena *arena,
	                         int64_t now_s, struct identity *out, struct pl_err *err);
	void *ctx;
};

/* The parts that all requests share; of one thread. */
struct api {
	struct kv *kv;
	struct service service;
	struct sources *sources;
	struct watch_hub *hub;
	struct write_queue *writes;
	struct pod_change_queue *pods;
	struct event_store *events;
	struct request_identifier identifier;
	const struct access_document *access;
	int64_t (*wall_ms)(void *ctx);
	uint64_t (*now_ms)(void *ctx);
	void *clock_ctx;
	struct pl_rng rng;    /* of names */
	uint8_t random[1024]; /* of uids; the last random_left are not used yet */
	size_t random_left;
	unsigned explaining, planning; /* explanations and plans that are made now */
	struct place_estimates estimates;
	struct request_turns turns;
	struct pl_list requests;
	uint64_t open; /* requests that live */
	bool stopping;
	void (*idle)(void *ctx); /* stopping, and no request lives any more */
	void *idle_ctx;
};

/* The sender of a request, who may do what it asks for. */
struct request_client {
	const struct identity *identity; /* lives as long as the exchange */
	/* The identity may do it to objects of some clusters only, and which one it is the
	 * body says. */
	bool by_cluster;
};

/* The beginning of each object that works on an exchange. */
struct exchange_user {
	void (*room)(struct exchange_user *user); /* NULL: it sends one answer */
	void (*gone)(struct exchange_user *user);
};

struct request {
	struct exchange_user user;
	struct pl_list link;
	struct pl_list turn; /* in api->turns, while it waits for its turn */
	struct api *api;
	struct http_exchange *exchange;  /* NULL: the client has gone */
	const struct http_request *http; /* borrowed from the exchange; NULL with it */
	const struct identity *identity; /* with it, too */
	struct pl_span user_name;        /* of the identity; in the arena */
	bool by_cluster;                 /* see request_client */
	struct pl_arena arena;
	enum request_verb verb;
	bool answered;
	unsigned busy; /* operations under way that call back */
	struct request_path path;
	struct request_query query;
	struct accept accept;
	struct object_shape shape;
	bool pretty;
	struct pl_buf warnings; /* one to a line */

	struct cache_wait wait;
	void (*fresh)(struct request *request); /* after wait */
	int64_t fresh_revision;
	struct cache *also; /* to be waited for next; NULL: none */
	struct watcher *watcher;
	struct list_stream *list;
	struct change *change;              /* of a write; in the arena */
	const struct object_filter *filter; /* of a deletion; in the arena */
	struct write write;
	struct bulk_item *bulk; /* of an item of a List, until it is answered */
	/* Ends what is under way for a client that has gone; NULL: it ends by itself. */
	void (*abandon)(struct request *request);
	void *work; /* of abandon, or of a GET; in the arena */
};

/* Opens what requests share besides what the caller sets. PL_NOMEM. */
PL_NODISCARD enum pl_code api_open(struct api *api, struct pl_err *err);
void api_close(struct api *api);

/* Begins the request, which works on the exchange from now on; it answers, now or later.
 * NULL: no memory, and the exchange is cut. */
struct request *request_start(struct api *api, struct http_exchange *exchange,
                              const struct request_client *client);

/* -- for the verbs ------------------------------------------------------------------- */

/* The request's operation has ended; it may be freed by that. */
void request_unbusy(struct request *request);

/* A request for an item of a List: it has no client of its own. NULL: no memory. */
struct request *request_child(struct request *parent);
/* The item's creation was begun; the child may be freed by that. */
void request_child_begun(struct request *child);
/* bulk.c: takes the answer of an item. */
void bulk_answered(struct request *child, int status, struct pl_span body);

/* Calls abandon when the client goes away before the answer. */
void request_may_be_abandoned(struct request *request,
                              void (*abandon)(struct request *request), void *work);

void answer_status(struct request *request, const struct api_status *status);
/* The object in the shape that the client wants. */
void answer_object(struct request *request, int http_status, const struct object *object);
/* JSON that is ready; as YAML if the client wants that. */
void answer_json(struct request *request, int http_status, struct pl_span json);
void answer_no_memory(struct request *request);
void answer_store_error(struct request *request, const struct pl_err *err);

static inline struct status_about request_about(const struct request *request)
{
	return (struct status_about){.group = request->path.resource->group,
	                             .resource = request->path.resource->plural,
	                             .name = request->path.name};
}

/* Calls fresh when the informer of the request's resource is as new as the request wants:
 * now, or as new as a revision, or as it is. */
void request_when_fresh(struct request *request, void (*fresh)(struct request *request));
/* Calls fresh when the informer is as new as the revision. */
void request_wait(struct request *request, struct cache *cache, int64_t revision,
                  void (*fresh)(struct request *request));
/* The same for a revision at which the store has changed a key of the informer's. */
void request_wait_change(struct request *request, struct cache *cache, int64_t revision,
                         void (*fresh)(struct request *request));
bool request_object(struct request *request, struct object *out);
/* The selectors of the query. False: it has been answered. */
bool request_filter(struct request *request, struct object_filter *filter);

/* get.c, read.c */
void request_get(struct request *request);
void request_list(struct request *request);
void request_watch(struct request *request);
void list_stream_room(struct request *request);
void list_stream_free(struct request *request);

/* create.c, update.c, delete.c */
void request_create(struct request *request);
void request_update(struct request *request);
void request_delete(struct request *request);
void request_delete_collection(struct request *request);

#endif
