/*
 * Requests about pods that exist (coord/service/submit/pod_request.h): users delete or evict
 * pods; the members that run pods stop the terminating ones and report that, and now and
 * then a pod ends by itself.
 */
#include "tests/sim/client_int.h"

static enum pl_code on_next(void *ctx, struct pod_request *out, struct pl_err *err)
{
	struct client_requests *requests = ctx;
	const struct client_request *request;

	if (requests->next == requests->count)
		return pl_err_set(err, PL_NOTFOUND, "that was all");
	request = &requests->request[requests->next++];
	scenario_pod_namespace(request->pod, requests->namespace);
	scenario_pod_name(request->pod, requests->name);
	*out = (struct pod_request){.verb = request->verb,
	                            .namespace = pl_span_str(requests->namespace),
	                            .name = pl_span_str(requests->name),
	                            .at = POD_REQUEST_BY_NAME,
	                            .ended = request->ended};
	if (request->node == MIRROR_NONE)
		return PL_OK;
	scenario_node_cluster(&requests->client->world->plan.scenario, request->node,
	                      requests->cluster);
	scenario_node_name(request->node, requests->node);
	out->cluster = pl_span_str(requests->cluster);
	out->node = pl_span_str(requests->node);
	out->reason = PL_SPAN_LIT("drained");
	return PL_OK;
}

static void on_request_result(void *ctx, const struct pod_request *request,
                              enum pod_request_outcome outcome, const char *why)
{
	struct client_requests *requests = ctx;
	struct world *world = requests->client->world;

	(void)why;
	if (outcome == POD_REQUEST_WITHHELD)
		world_hit(world, COVER_BUDGET_WITHHELD);
	if (outcome == POD_REQUEST_GONE)
		world_hit(world, COVER_REMOVED);
	if (outcome != POD_REQUEST_ACCEPTED)
		return;
	if (request->verb == POD_REQUEST_DELETE)
		world_hit(world, COVER_TERMINATING);
	else
		world_hit(world, request->verb == POD_REQUEST_EVICT ? COVER_ASKED_EVICT
		                                                    : COVER_SAID_ENDED);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct client_requests *requests = ctx;

	(void)err;
	requests->active = NULL;
}

void client_requests_add(struct client_requests *requests, uint32_t pod,
                         enum pod_request_verb verb, enum state_ended ended)
{
	struct client_pod *of = &requests->client->pod[pod];

	if (requests->count == CLIENT_REQUESTS)
		return;
	requests->request[requests->count++] =
		(struct client_request){pod, verb, ended, MIRROR_NONE};
	if (verb == POD_REQUEST_DELETE)
		of->removed_ms = requests->client->world->agenda.now_ms;
	if (ended == STATE_ENDED_FAILED || ended == STATE_ENDED_SUCCEEDED)
		of->ended_ms = requests->client->world->agenda.now_ms;
}

void client_requests_start(struct client_requests *requests)
{
	struct client *client = requests->client;
	struct pod_request_opts opts = {.partitions = client->world->plan.partitions,
	                                .slots = 1 +
	                                         (unsigned)world_below(client->world, 4),
	                                .timeout_ms = CLIENT_CALL_MS,
	                                .patience_ms = CLIENT_PATIENCE_MS,
	                                .past_budgets = client->phase != CLIENT_RUNNING,
	                                .who = "the client",
	                                .next = on_next,
	                                .report = on_request_result,
	                                .done = on_done,
	                                .ctx = requests};

	requests->next = 0;
	if (requests->count > 0 &&
	    pod_requests_open(client->kv, &opts, &requests->active, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

static void note_ran(struct client *client, uint32_t i)
{
	uint32_t incarnation = client->world->mirror->pod[i].incarnation;

	if (incarnation < SCENARIO_INCARNATIONS)
		client->pod[i].ran |= UINT64_C(1) << incarnation;
}

void client_note_ended(struct client *client, uint32_t pod)
{
	uint64_t ended_ms = client->pod[pod].ended_ms;

	if (ended_ms != 0 && client->world->agenda.now_ms - ended_ms < CLIENT_ECHO_MS)
		note_ran(client, pod);
}

/* Reports that terminating pods have ended. */
static void confirm_ended(struct client *client, struct client_requests *requests)
{
	const struct mirror *mirror = client->world->mirror;
	uint32_t from = (uint32_t)world_below(client->world, mirror->pods);
	bool failed;

	for (uint32_t k = 0; k < mirror->pods; k++) {
		uint32_t i = (from + k) % mirror->pods;
		const struct mirror_pod *pod = &mirror->pod[i];

		if (pod->phase != MIRROR_TERMINATING || pod->ended ||
		    (client->phase == CLIENT_RUNNING &&
		     world_chance(client->world, 3, 4)))
			continue;
		failed = world_chance(client->world, 1, 4);
		if (failed)
			note_ran(client, i);
		client_requests_add(requests, i, POD_REQUEST_ENDED,
		                    failed ? STATE_ENDED_FAILED : STATE_ENDED_GONE);
	}
}

/* A running pod ends by itself, or is asked to move. */
static void disturb_pod(struct client *client, struct client_requests *requests)
{
	static const enum state_ended ends[] = {STATE_ENDED_SUCCEEDED, STATE_ENDED_FAILED,
	                                        STATE_ENDED_GONE};
	uint32_t i = (uint32_t)world_below(client->world, client->pods);
	const struct mirror_pod *pod = &client->world->mirror->pod[i];
	enum state_ended ended = ends[world_below(client->world, 3)];

	if (pod->phase != MIRROR_BOUND || pod->corrupted)
		return;
	if (world_chance(client->world, 1, 2)) {
		client_requests_add(requests, i, POD_REQUEST_EVICT, STATE_ENDED_NOT);
		return;
	}
	if (ended != STATE_ENDED_GONE)
		note_ran(client, i);
	client_requests_add(requests, i, POD_REQUEST_ENDED, ended);
}

void client_member_requests(struct client *client)
{
	struct client_requests *requests = &client->members;

	if (requests->active != NULL)
		return;
	requests->count = 0;
	confirm_ended(client, requests);
	if (client->phase == CLIENT_RUNNING && world_chance(client->world, 1, 4))
		disturb_pod(client, requests);
	client_requests_start(requests);
}
