#include "coord/api/server/api_call.h"

#include <stdlib.h>

#include "coord/api/objects/member_name.h"
#include "coord/api/server/api_metrics.h"
#include "coord/api/server/api_server_int.h"
#include "coord/api/server/impersonation.h"
#include "coord/api/verbs/change.h"
#include "shardsched/model/object.h"
#include "store/base/alloc.h"
#include "store/base/log.h"

enum { ARENA_BYTES_MAX = 4 << 20, TURNS = 16 };

static uint64_t now_ms(const struct api_server *server)
{
	return kv_now_ms(server->opts.kv);
}

static int64_t wall_ms(const struct api_call *call)
{
	const struct api *api = &call->server->api;

	return api->wall_ms(api->clock_ctx);
}

/* -- refusals ------------------------------------------------------------------------------- */

static void refuse(struct api_call *call, const struct api_status *status)
{
	call->refused = true;
	if (call->reason == NULL)
		call->reason = pl_arena_printf(&call->arena, PL_SPAN_FMT,
		                               PL_SPAN_ARG(status->message));
	route_answer_status(call->exchange, status);
}

/* The client hears the same words whatever is wrong with its credential. */
static void refuse_credential(struct api_call *call, enum pl_code code,
                              const struct pl_err *err)
{
	struct api_status status = status_unauthorized();

	call->reason = pl_arena_printf(&call->arena, "%s", err->msg);
	if (code == PL_NOMEM)
		status = status_internal(&call->arena, PL_SPAN_LIT("out of memory"));
	if (code == PL_UNAVAIL) {
		status = status_unavailable(
			PL_SPAN_LIT("the server can not check credentials yet"));
		status.retry_after_s = 1;
	}
	refuse(call, &status);
}

static void refuse_many(struct api_call *call)
{
	struct api_status status = status_too_many_requests(
		PL_SPAN_LIT("Too many requests, please try again later."), 1);

	refuse(call, &status);
}

static void hold_drop(struct api_call *call)
{
	if (pl_list_empty(&call->held))
		return;
	pl_list_del(&call->held);
	call->server->held_count--;
}

/* The 429 comes a moment later, so that a client that does not heed Retry-After can not keep
 * the loop busy with refusals. */
static void refuse_later(struct api_call *call)
{
	struct api_server *server = call->server;

	if (server->held_count >= API_CALL_HELD_MAX) {
		refuse_many(call);
		return;
	}
	call->held_ms = now_ms(server) + API_CALL_HOLD_MS;
	pl_list_add_tail(&server->held, &call->held);
	server->held_count++;
	api_server_wake(server);
}

/* When the next is due. UINT64_MAX: there is none. */
static uint64_t refuse_held(struct api_server *server, uint64_t now)
{
	while (!pl_list_empty(&server->held)) {
		struct api_call *call =
			PL_LIST_ITEM(server->held.next, struct api_call, held);

		if (call->held_ms > now)
			return call->held_ms;
		hold_drop(call);
		refuse_many(call);
	}
	return UINT64_MAX;
}

/* -- who ------------------------------------------------------------------------------------ */

bool api_client_is_known(struct api_server *server, const struct http_request *http)
{
	const struct api *api = &server->api;
	struct identity identity;
	struct pl_arena arena;
	bool known;

	pl_arena_init(&arena, 2048, ARENA_BYTES_MAX);
	known = api->identifier.of_request(api->identifier.ctx, http, &arena,
	                                   api->wall_ms(api->clock_ctx) / 1000, &identity,
	                                   NULL) == PL_OK;
	pl_arena_done(&arena);
	return known;
}

/* False: it has been refused. */
static bool identify(struct api_call *call)
{
	const struct request_identifier *identifier = &call->server->api.identifier;
	struct pl_err err = {0};
	enum pl_code code =
		identifier->of_request(identifier->ctx, call->http, &call->arena,
	                               wall_ms(call) / 1000, &call->sender, &err);

	if (code == PL_NOTFOUND) {
		call->sender = identity_anonymous();
		code = pl_err_set(&err, PL_DENIED, "no credential");
	}
	if (code == PL_OK && call->http->body_unread)
		code = pl_err_set(&err, PL_UNAVAIL,
		                  "the credential was not good when the body came");
	if (code != PL_OK) {
		refuse_credential(call, code, &err);
		return false;
	}
	call->identity = call->sender;
	call->identified = true;
	return true;
}

static bool act_as(struct api_call *call)
{
	struct api_status status;

	switch (impersonate(call->http, &call->server->access.document, &call->sender,
	                    &call->arena, &call->identity, &status)) {
	case IMPERSONATION_NONE:
		return true;
	case IMPERSONATION_DONE:
		call->impersonates = true;
		return true;
	case IMPERSONATION_REFUSED:
		call->identity = call->sender;
		refuse(call, &status);
		return false;
	}
	PL_UNREACHABLE("impersonation");
}

/* -- whether it may ----------------------------------------------------------------------- */

static bool is_pods(const struct access_attributes *asked)
{
	return asked->is_resource && asked->group.len == 0 && asked->name.len > 0 &&
	       pl_span_eq(asked->resource, PL_SPAN_LIT("pods"));
}

/* The cluster of a pod's node, by its state. Empty: the pod is bound to none. */
static struct pl_span pod_cluster(struct api_call *call)
{
	const struct schema_resource *pods = schema_resource_find(
		(struct pl_span){0}, PL_SPAN_LIT("v1"), PL_SPAN_LIT("pods"));
	const struct access_attributes *asked = &call->asked;
	struct pl_json state;
	const char *cluster = "";
	struct object pod;

	if (!source_get(&call->server->sources, pods, asked->namespace, asked->name,
	                &pod) ||
	    pod.part[OBJECT_STATE] == NULL ||
	    pl_json_parse(&call->arena, pod.part[OBJECT_STATE]->value, NULL, &state,
	                  NULL) != PL_OK)
		return (struct pl_span){0};
	if (pl_json_as_string(pl_json_member(state, "cluster"), &cluster, NULL) != PL_OK)
		return (struct pl_span){0};
	return pl_span_str(cluster);
}

static bool allows(const struct api_call *call, struct access_grant *grant)
{
	return access_allows(&call->server->access.document, &call->identity,
	                     &call->asked, grant);
}

/* A connector may what the pod's cluster lets it; which one a binding is for, its body says. */
static bool allows_by_cluster(struct api_call *call)
{
	struct access_attributes *asked = &call->asked;

	if (!is_pods(asked) ||
	    !access_is_connector(&call->server->access.document, &call->identity))
		return false;
	if (pl_span_eq(asked->subresource, PL_SPAN_LIT("binding")) &&
	    pl_span_eq(asked->verb, PL_SPAN_LIT("create"))) {
		call->by_cluster = true;
		return true;
	}
	asked->cluster = pod_cluster(call);
	return allows(call, NULL);
}

/* False: it has been refused. */
static bool authorise(struct api_call *call)
{
	struct api_status status;

	if (allows(call, NULL) || allows_by_cluster(call))
		return true;
	status = access_forbidden(&call->arena, &call->asked, call->identity.user);
	refuse(call, &status);
	return false;
}

/* -- its turn ------------------------------------------------------------------------------- */

static bool verb_is(const struct api_call *call, const char *verb)
{
	return pl_span_eq(call->asked.verb, pl_span_str(verb));
}

static enum flow_kind kind_of(const struct api_call *call)
{
	if (!call->asked.is_resource)
		return FLOW_GET;
	return verb_is(call, "watch")              ? FLOW_WATCH
	       : verb_is(call, "list")             ? FLOW_LIST
	       : verb_is(call, "get")              ? FLOW_GET
	       : verb_is(call, "deletecollection") ? FLOW_LIST
	                                           : FLOW_CHANGE;
}

static void route(struct api_call *call)
{
	const struct request_client client = {.identity = &call->identity,
	                                      .by_cluster = call->by_cluster};

	/* The object that works on the exchange says so; the call stands before it. */
	http_exchange_set_user(call->exchange, NULL);
	if (!api_server_route(call->server, call->exchange, call->http))
		call->request =
			request_start(&call->server->api, call->exchange, &client);
	call->works = http_exchange_user(call->exchange);
	http_exchange_set_user(call->exchange, call);
}

static void take_turn(struct api_call *call)
{
	struct api_server *server = call->server;

	/* Operators must come through whatever happens. */
	if (identity_in_group(&call->sender, IDENTITY_MASTERS)) {
		route(call);
		return;
	}
	switch (flow_enter(&server->flow, &call->flow, call->identity.user, kind_of(call),
	                   now_ms(server))) {
	case FLOW_RUN:
		route(call);
		return;
	case FLOW_WAIT:
		api_server_wake(server);
		return;
	case FLOW_REFUSE:
		refuse_later(call);
		return;
	}
}

uint64_t api_calls_turn(struct api_server *server, uint64_t now)
{
	uint64_t due = refuse_held(server, now), deadline;
	struct flow_item *item;

	while ((item = flow_expire(&server->flow, now)) != NULL)
		refuse_many(PL_CONTAINER_OF(item, struct api_call, flow));
	for (unsigned i = 0; i < TURNS; i++) {
		item = flow_next(&server->flow);
		if (item == NULL)
			break;
		route(PL_CONTAINER_OF(item, struct api_call, flow));
	}
	if (flow_ready(&server->flow))
		return 0;
	deadline = flow_deadline_ms(&server->flow);
	return due < deadline ? due : deadline;
}

/* -- the audit ------------------------------------------------------------------------------ */

/* Reads, and questions that are asked by a POST. */
static bool is_read(const struct api_call *call)
{
	static const char *const reviews[] = {"selfsubjectaccessreviews",
	                                      "selfsubjectrulesreviews",
	                                      "localsubjectaccessreviews",
	                                      "subjectaccessreviews",
	                                      "selfsubjectreviews",
	                                      "tokenreviews",
	                                      "plans"};

	for (size_t i = 0; i < sizeof reviews / sizeof *reviews; i++)
		if (pl_span_eq(call->asked.resource, pl_span_str(reviews[i])))
			return true;
	return verb_is(call, "get") || verb_is(call, "list") || verb_is(call, "watch") ||
	       verb_is(call, "head");
}

/* The name of an object that was created is in its body, or was made. */
static struct pl_span name_of(const struct api_call *call)
{
	const struct request *request = call->request;
	struct pl_span name = {0};

	if (call->asked.name.len > 0 || request == NULL || request->change == NULL ||
	    request->change->wanted.root == NULL)
		return call->asked.name;
	if (json_get(request->change->wanted.root, "metadata") != NULL)
		name = meta_text(json_get(request->change->wanted.root, "metadata"),
		                 "name");
	return name;
}

static bool stranger_has_line(struct api_server *server)
{
	uint64_t now = now_ms(server);
	uint64_t earned = (now - server->strangers_ms) * API_CALL_STRANGERS_PER_S / 1000;

	if (earned > 0) {
		server->strangers_ms = now;
		server->strangers = earned > API_CALL_STRANGERS_MAX - server->strangers
		                            ? API_CALL_STRANGERS_MAX
		                            : server->strangers + (uint32_t)earned;
	}
	if (server->strangers == 0)
		return false;
	server->strangers--;
	return true;
}

static void audit(struct api_call *call)
{
	struct access_attributes asked = call->asked;
	struct audit_event event = {
		.at_ms = wall_ms(call),
		.id = pl_span_str(call->id),
		.user = &call->identity,
		.impersonator = call->impersonates ? &call->sender : NULL,
		.asked = &asked,
		.source = pl_span_str(call->http->peer),
		.agent = http_request_field(call->http, "user-agent"),
		.code = http_exchange_status(call->exchange),
		.reason = pl_span_str(call->reason),
		.duration_us = (uv_hrtime() - call->began_ns) / 1000,
	};

	if (call->server->opts.audit == NULL ||
	    (!call->refused && is_read(call) && !call->server->opts.audit_reads))
		return;
	if (!call->identified && !stranger_has_line(call->server)) {
		audit_log_skip(call->server->opts.audit);
		return;
	}
	asked.name = name_of(call);
	audit_log_add(call->server->opts.audit, &event);
}

/* One line of the access log; its id is the audit's. */
static void log_access(const struct api_call *call)
{
	const struct pl_log_field fields[] = {
		pl_log_str("id", call->id),
		pl_log_span("user", call->identity.user),
		pl_log_str("source", call->http->peer),
		pl_log_span("method", call->http->method),
		pl_log_span("path", call->http->path),
		pl_log_span("query", call->http->query),
		pl_log_int("code", http_exchange_status(call->exchange)),
		pl_log_uint("took_us", (uv_hrtime() - call->began_ns) / 1000)};

	pl_log_always("api.request", fields, sizeof fields / sizeof fields[0]);
}

/* -- life ------------------------------------------------------------------------------------- */

static struct api_call *call_new(struct api_server *server,
                                 struct http_exchange *exchange,
                                 const struct http_request *http)
{
	struct api_call *call = pl_calloc(1, sizeof *call);

	if (call == NULL)
		return NULL;
	call->server = server;
	call->exchange = exchange;
	call->http = http;
	call->began_ns = uv_hrtime();
	call->sender = call->identity = identity_anonymous();
	pl_arena_init(&call->arena, 2048, ARENA_BYTES_MAX);
	pl_list_init(&call->link);
	pl_list_init(&call->held);
	pl_list_add_tail(&server->calls, &call->link);
	object_new_uid(&server->api, call->id);
	http_exchange_set_user(exchange, call);
	http_exchange_set_field(exchange, (struct http_field){PL_SPAN_LIT("audit-id"),
	                                                      pl_span_str(call->id)});
	return call;
}

static bool is_serving(struct api_call *call)
{
	struct api_status status =
		status_unavailable(PL_SPAN_LIT("the server is starting or stopping"));

	if (call->server->state == API_SERVER_SERVING ||
	    identity_in_group(&call->sender, IDENTITY_MASTERS))
		return true;
	status.retry_after_s = 1;
	route_answer_status(call->exchange, &status);
	return false;
}

void api_call_begin(struct api_server *server, struct http_exchange *exchange,
                    const struct http_request *http)
{
	struct api_call *call;

	http_exchange_set_user(exchange, NULL);
	if (health_is_path(http->path)) {
		route_health(server, exchange, http);
		return;
	}
	call = call_new(server, exchange, http);
	if (call == NULL) {
		http_exchange_cut(exchange);
		return;
	}
	if (request_attributes(&call->arena, http, &call->asked) != PL_OK) {
		http_exchange_cut(exchange);
		return;
	}
	/* Until the informers are synced, only masters are known to have rights. */
	if (identify(call) && is_serving(call) && act_as(call) && authorise(call))
		take_turn(call);
}

void api_call_room(struct api_call *call)
{
	if (call->works != NULL && call->works->room != NULL)
		call->works->room(call->works);
}

void api_call_gone(struct api_call *call)
{
	struct api_server *server = call->server;

	audit(call);
	if (server->access_log)
		log_access(call);
	api_metrics_gone(call);
	if (call->works != NULL)
		call->works->gone(call->works);
	else if (server->opts.metrics.gone != NULL)
		server->opts.metrics.gone(server->opts.metrics.ctx, call->exchange);
	hold_drop(call);
	flow_leave(&server->flow, &call->flow);
	if (flow_ready(&server->flow))
		api_server_wake(server);
	pl_list_del(&call->link);
	pl_arena_done(&call->arena);
	free(call);
}

/* -- watches of those who may no longer --------------------------------------------------------- */

static bool is_same(const struct identity *a, const struct identity *b)
{
	if (!pl_span_eq(a->user, b->user) || a->group_count != b->group_count)
		return false;
	for (size_t i = 0; i < a->group_count; i++)
		if (!pl_span_eq(a->groups[i], b->groups[i]))
			return false;
	return true;
}

/* Whether the credential still says who the client is. What can not be told now, for want of
 * memory or of the tokens' list, is told later. */
static bool is_still_known(struct api_call *call)
{
	const struct request_identifier *identifier = &call->server->api.identifier;
	struct identity now = {0};
	struct pl_arena arena;
	enum pl_code code;
	bool known;

	pl_arena_init(&arena, 2048, ARENA_BYTES_MAX);
	http_exchange_verify(call->exchange);
	code = identifier->of_request(identifier->ctx, call->http, &arena,
	                              wall_ms(call) / 1000, &now, NULL);
	known = code == PL_OK ? is_same(&now, &call->sender)
	                      : code == PL_UNAVAIL || code == PL_NOMEM;
	pl_arena_done(&arena);
	return known;
}

static bool may_still(struct api_call *call, bool again)
{
	const struct access_attributes user = {.is_resource = true,
	                                       .verb = PL_SPAN_LIT("impersonate"),
	                                       .resource = PL_SPAN_LIT("users"),
	                                       .name = call->identity.user};

	if (!allows(call, NULL) && !allows_by_cluster(call))
		return false;
	if (call->impersonates &&
	    !access_allows(&call->server->access.document, &call->sender, &user, NULL))
		return false;
	return !again || is_still_known(call);
}

static bool is_watch(const struct api_call *call)
{
	return call->request != NULL && call->request->watcher != NULL;
}

void api_calls_look(struct api_server *server, bool again)
{
	unsigned looks = 0;
	struct pl_list seen;

	pl_list_init(&seen);
	PL_LIST_EACH (link, &server->calls) {
		struct api_call *call = PL_LIST_ITEM(link, struct api_call, link);

		if (!is_watch(call))
			continue;
		if (again && looks++ == API_CALL_LOOKS)
			break;
		if (!may_still(call, again)) {
			call->refused = true;
			call->reason = "the right to watch has ended";
			watcher_stop(call->request->watcher);
		}
		/* Watches that were not looked at come first next time. */
		if (again) {
			pl_list_del(&call->link);
			pl_list_add_tail(&seen, &call->link);
		}
	}
	pl_list_move(&server->calls, &seen);
}
