/*
 * For tests of the API: an API server over a memory store, on one loop with a client that
 * speaks HTTP to it over loopback. Calls are made one after another; watches run beside
 * them.
 *
 *	struct api_rig rig;
 *
 *	api_rig_open(&rig, 8);
 *	api_rig_put(&rig, "/nodes/...", "{...}");
 *	api_rig_call(&rig, "GET", "/api/v1/nodes", NULL);
 *	T_EQ(rig.status, 200);
 *	T_STR(api_rig_text(&rig, "items.0.metadata.name"), "n-1");
 *	api_rig_close(&rig);
 */
#ifndef TESTS_SUPPORT_COORD_API_API_RIG_H
#define TESTS_SUPPORT_COORD_API_API_RIG_H

#include "coord/api/server/api_server.h"
#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/base/json.h"
#include "store/memkv/memkv.h"
#include "store/net/http.h"
#include "tests/support/store/kv/faulty.h"

enum { API_RIG_CREATED_MS = 1000, API_RIG_HEADERS = 5 };

struct api_rig {
	uv_loop_t loop;
	struct memkv *mem;
	struct memkv_loop *driver;
	struct kv *kv;     /* the server's session, with a rival (rival.h) */
	struct kv *faulty; /* below it; paused at first (faulty.h) */
	struct kv *own;    /* the test's session */
	struct api_server *server;
	struct http *http;
	char base[64]; /* "http://127.0.0.1:4711" */
	bool ready;
	/* Sent with each call. NULL: none. */
	const char *accept;
	const char *content_type;  /* NULL: application/json */
	const char *bearer;        /* the token */
	const char *as, *as_group; /* the user that the sender acts as */
	/* The answer to the last call. */
	int status;
	struct pl_span text;
	struct pl_json body; /* absent: the text is no JSON */
	struct pl_arena arena;
	/* Internal. */
	bool done;
	unsigned closing;
	unsigned sent; /* writes that are sent, and not answered */
	const struct kv_result *result;
	enum pl_code code;
	int64_t revision;
	struct pl_buf value;
};

/* Waits until the server serves. The store has that many partitions. */
void api_rig_open(struct api_rig *rig, uint32_t partitions);
/* The same with options of the server; the rig sets those that it needs. ctx: the options
 * of the store, struct memkv_opts, or NULL. With an identifier the token is
 * "root,system:masters" at first: a user and its groups. */
void api_rig_open_with(struct api_rig *rig, uint32_t partitions,
                       const struct api_server_opts *wanted);
/* The same with faults of the server's session, which begin when rig->faulty is no more
 * paused. */
void api_rig_open_faulty(struct api_rig *rig, uint32_t partitions,
                         const struct api_server_opts *wanted,
                         const struct faulty_rule *rules, size_t count);
/* Runs the loop until it is empty: a handle that was left open fails the test. */
void api_rig_close(struct api_rig *rig);

/* Makes one call and waits for its end. body NULL: none. */
void api_rig_call(struct api_rig *rig, const char *method, const char *path,
                  const char *body);
/* The same, and the status must be that one. */
void api_rig_want(struct api_rig *rig, const char *method, const char *path,
                  const char *body, int status);
/* The text of a scalar in the answer by its path; numbers are indices of lists:
 * "items.0.metadata.name". NULL: there is none. Valid until the next call. */
const char *api_rig_text(struct api_rig *rig, const char *path);
struct pl_json api_rig_at(struct api_rig *rig, const char *path);
/* The number of elements; 0 when there is none. */
size_t api_rig_count(struct api_rig *rig, const char *path);

/* Writes into the store past the server; waits until it is written, and until the server's
 * informers have it. */
void api_rig_put(struct api_rig *rig, const char *key, const char *value);
void api_rig_delete(struct api_rig *rig, const char *key);
/* The same without waiting for anything: the write reaches the store before what is sent
 * later. For api_rig_before. */
void api_rig_send_put(struct api_rig *rig, const char *key, const char *value);
void api_rig_send_delete(struct api_rig *rig, const char *key);
/* Calls fn before the server's next so many transactions that write a key of the prefix. */
void api_rig_before(struct api_rig *rig, const char *prefix, unsigned times,
                    void (*fn)(void *ctx), void *ctx);
/* The value of a key; NULL: there is none. Valid until the next one. lease may be NULL. */
const char *api_rig_get(struct api_rig *rig, const char *key, int64_t *lease);
/* A pod and its state (NULL: none) in the partition where it belongs. */
void api_rig_pod(struct api_rig *rig, const char *namespace, const char *name,
                 const char *spec, const char *state);
/* A node with an empty alloc. */
void api_rig_node(struct api_rig *rig, const char *cluster, const char *name,
                  const char *allocatable);

/* Runs the loop until *flag is set. */
void api_rig_until(struct api_rig *rig, const bool *flag);

/* -- watches --------------------------------------------------------------------------- */

struct api_rig_watch {
	struct api_rig *rig;
	struct http_call *call;
	struct pl_buf buf;
	bool some, ended;
	int status;
	/* The last event. */
	struct pl_span line;
	struct pl_json event;
	struct pl_arena arena;
};

void api_rig_watch_open(struct api_rig *rig, const char *path,
                        struct api_rig_watch *watch);
/* Waits for the next event: "ADDED", "MODIFIED", ... The object is at "object". */
const char *api_rig_watch_next(struct api_rig_watch *watch);
const char *api_rig_watch_text(struct api_rig_watch *watch, const char *path);
void api_rig_watch_close(struct api_rig_watch *watch);

#endif
