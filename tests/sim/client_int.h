/* Shared by the parts of client.c; no other file includes it. */
#ifndef TESTS_SIM_CLIENT_INT_H
#define TESTS_SIM_CLIENT_INT_H

#include "coord/service/base/sequence.h"
#include "coord/service/fsck/fsck.h"
#include "coord/service/fsck/repair.h"
#include "coord/service/nodes/nodes.h"
#include "coord/service/pods/pod_changes.h"
#include "coord/service/submit/pod_request.h"
#include "coord/service/submit/submit.h"
#include "tests/sim/client.h"

enum {
	CLIENT_PATIENCE_MS = 8000,
	CLIENT_CALL_MS = 1500,
	CLIENT_WHY_SIZE = 160,
	CLIENT_REQUESTS = 64,
	CLIENT_ROLLOUTS = 4,
	CLIENT_ECHO_MS = 60000, /* a report may take effect so late, or again */
};

struct client_pod {
	struct scenario_pod what; /* pod as it was submitted last */
	bool wanted, removed;
	uint64_t removed_ms, ended_ms; /* last time at which a request named the pod */
	uint64_t ran; /* a bit for each incarnation that has run and ended by itself: a
		       * restored store may show any of them again */
};

/* A request about a pod: by its member that it has ended, or by a user that it is to
 * go. */
struct client_request {
	uint32_t pod;
	enum pod_request_verb verb;
	enum state_ended ended;
	uint32_t node; /* only while the pod is on that node; MIRROR_NONE: any */
};

/* A batch of requests. */
struct client_requests {
	struct client *client;
	struct pod_requests *active; /* NULL: the batch is not running */
	struct client_request request[CLIENT_REQUESTS];
	uint32_t count, next;
	char namespace[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	char cluster[SCENARIO_NAME_SIZE], node[SCENARIO_NAME_SIZE];
};

/* A node that is drained, as placet nodes drain does it. */
struct client_drain {
	uint32_t node; /* MIRROR_NONE: no drain is under way */
	bool cordoned;
	uint64_t until_ms; /* time at which the drain is given up */
};

/* Six pods that are deleted and submitted again as soon as they are gone, some of them
 * repeatedly, as when their controller rolls out another revision. */
struct client_rollout {
	uint32_t first;    /* MIRROR_NONE: no rollout is under way */
	uint64_t until_ms; /* time at which the rollout is given up */
};

/* An edit of a pod, by what the client reads of it first. */
struct client_edit {
	struct sequence read;
	struct pod_changes *active; /* NULL: it is not being written */
	bool busy;
	uint32_t pod;
	struct scenario_pod what;
	enum cover_what hit;
	struct service service;
	struct pod_change change;
	struct pl_arena arena;
	char namespace[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	char json[SCENARIO_JSON_SIZE];
};

struct client_node {
	struct scenario_node what;
	bool wanted;
};

/* Numbers of the pods or nodes of an operation. */
struct client_list {
	uint32_t *at;
	uint32_t count, next;
};

enum client_phase { CLIENT_RUNNING, CLIENT_FSCK, CLIENT_NODES, CLIENT_PODS, CLIENT_REST };

struct client {
	struct world *world;
	struct simkv *sim;
	struct kv *kv;
	struct agenda_item next;
	struct client_pod *pod;
	struct client_node *node;
	uint32_t nodes, pods;
	uint32_t first_new; /* pods from this number on were never submitted */
	struct client_rollout rollout[CLIENT_ROLLOUTS];

	struct submit *submit; /* running operations; NULL: none */
	struct nodes *change;
	enum nodes_verb verb;
	bool nodes_applied; /* the initial nodes were applied */
	struct client_list submits, changes;
	char json[SCENARIO_JSON_SIZE], node_json[SCENARIO_JSON_SIZE];
	char cluster[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	char namespace[SCENARIO_NAME_SIZE], pod_name[SCENARIO_NAME_SIZE];
	struct model model;
	struct pl_arena arena;
	struct client_edit edit;

	bool budgeting; /* a budget is being written: which one, and the count that its
			 * success adds to */
	uint32_t budget;
	enum cover_what budget_hit;

	struct client_requests removal, members, moves;
	struct client_drain drain;
	int64_t wall_ms; /* by how much its wall clock is ahead */
	bool dead; /* the client has crashed, and restarts when all its operations have
		    * ended */
	uint64_t restart_ms; /* no restart before that time */

	enum client_phase phase;
	bool satisfied;
	uint64_t rest_ms; /* end of the pause in CLIENT_REST */
	char why[CLIENT_WHY_SIZE];
	struct fsck *fsck;
	struct repair *repair;
	unsigned findings;
	bool leaving, closing, closed;
};

/* Notes why the client is not satisfied. */
PL_PRINTF(2, 3) void client_note(struct client *client, const char *fmt, ...);

/* client_edit.c: an edit of some pod; none is running */
void client_edit_some(struct client *client);
void client_edit_init(struct client *client);
void client_edit_done(struct client *client);
void client_edit_cancel(struct client *client);

/* client_budget.c: makes, changes or deletes a budget */
void client_budget(struct client *client);

/* client_drain.c: the next step of a drain; the begin of one */
void client_drain_step(struct client *client);
void client_drain_begin(struct client *client);

/* client_rollout.c: submits the pods that are gone; begins a rollout */
void client_rollout_step(struct client *client);
void client_rollout(struct client *client);

/* client_ops.c: each of these may be called only while none of its kind is running */
void client_submit(struct client *client);
void client_change(struct client *client, enum nodes_verb verb);
/* Takes effect with the next apply. */
void client_close_node(struct client *client, uint32_t node);
/* The pod was removed and is gone: its name is free. */
bool client_is_free(const struct client *client, uint32_t pod);
/* Adds the pod to the next submit; a removed pod becomes another incarnation. */
void client_add_pod(struct client *client, uint32_t pod);
/* Starts the next operation, drawn from the seed. */
void client_start_op(struct client *client);

/* client_requests.c */
void client_member_requests(struct client *client);
/* Requests beyond the capacity of the batch are dropped. */
void client_requests_add(struct client_requests *requests, uint32_t pod,
                         enum pod_request_verb verb, enum state_ended ended);
void client_requests_start(struct client_requests *requests);

/* client_recovery.c: the next step; called when the last one has ended */
void client_recovery_step(struct client *client);
/* Checks the store, and repairs what can be derived. */
void client_fsck(struct client *client);

#endif
