/*
 * GET of an explanation: made when it is asked for, from the store as it is at one revision.
 *
 *	request --> pod_explain (reads, decides) --> written --> answered
 *	   `-- the client has gone: canceled
 */
#include "coord/api/verbs/explanation.h"

#include <stdio.h>

#include "coord/api/objects/member_name.h"
#include "coord/membership/membership.h"
#include "coord/service/explain/pod_explain.h"
#include "shardsched/explain/reason_text.h"
#include "store/base/json_put.h"
#include "store/base/timestamp.h"

enum { TEXT_MAX = 4096, NEAR_REASONS = 8, MEMBER_ARENA_MAX = 1 << 20 };

struct explanation {
	struct request *request;
	struct pod_explain *op;
	struct pl_json_out out;
	struct pl_buf text; /* of one sentence */
	const struct pod_explanation *pod;
	const struct explain *explain; /* NULL: the pod has run */
};

/* -- members -------------------------------------------------------------------------- */

static void put_time(struct pl_json_out *out, const char *name, int64_t ms)
{
	char text[PL_TIMESTAMP_SIZE];

	(void)pl_timestamp_print(ms, text);
	text[19] = 'Z';
	pl_json_put_text(out, name, pl_span(text, 20));
}

static void put_model(struct explanation *made, const char *name, uint32_t id)
{
	pl_json_put_text(&made->out, name, model_text(made->explain->model, id));
}

static const char *plugin_name(const struct explanation *made, unsigned plugin)
{
	const struct plugin_table *table = made->explain->profile->table;

	return plugin < table->count ? table->row[plugin]->name : "";
}

/* kube-scheduler's sentence, in made->text. */
static struct pl_span reason_sentence(struct explanation *made,
                                      const struct reason *reason)
{
	made->text.len = 0;
	if (reason_print(&made->explain->model->strings, reason, &made->text) != PL_OK)
		return (struct pl_span){0};
	return pl_buf_span(&made->text);
}

static void put_reason(struct explanation *made, const struct explain_reason *row,
                       uint32_t nodes)
{
	struct pl_json_out *out = &made->out;

	pl_json_out_object(out);
	pl_json_put_text(out, "plugin", pl_span_str(plugin_name(made, row->plugin)));
	pl_json_put_text(out, "code",
	                 pl_span_str(reason_word((enum reason_code)row->reason.code)));
	pl_json_put_text(out, "message", reason_sentence(made, &row->reason));
	pl_json_put_int(out, "nodes", nodes);
	if (nodes == row->nodes)
		pl_json_put_int(out, "only", row->only);
	pl_json_out_end(out);
}

static void put_filters(struct explanation *made)
{
	struct pl_json_out *out = &made->out;

	pl_json_out_name(out, "filters");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < made->explain->filters; i++) {
		const struct explain_filter *filter = &made->explain->filter[i];

		pl_json_out_object(out);
		pl_json_put_text(out, "plugin",
		                 pl_span_str(plugin_name(made, filter->plugin)));
		if (filter->skipped) {
			pl_json_out_name(out, "skipped");
			pl_json_out_bool(out, true);
		} else {
			pl_json_put_int(out, "first", filter->first);
			pl_json_put_int(out, "alone", filter->alone);
		}
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void put_reasons(struct explanation *made)
{
	pl_json_out_name(&made->out, "reasons");
	pl_json_out_array(&made->out);
	for (uint32_t i = 0; i < made->explain->reasons; i++)
		put_reason(made, &made->explain->reason[i],
		           made->explain->reason[i].nodes);
	pl_json_out_end(&made->out);
}

static void put_clusters(struct explanation *made)
{
	struct pl_json_out *out = &made->out;
	const struct explain *explain = made->explain;

	pl_json_out_name(out, "clusters");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < explain->clusters; i++) {
		const struct explain_cluster *cluster = &explain->cluster[i];

		pl_json_out_object(out);
		if (!cluster->others)
			put_model(made, "cluster", cluster->cluster);
		pl_json_put_int(out, "nodes", cluster->nodes);
		pl_json_put_int(out, "feasible", cluster->feasible);
		pl_json_out_name(out, "reasons");
		pl_json_out_array(out);
		for (uint32_t n = 0; n < explain->reasons; n++) {
			const struct explain_reason *row = &explain->reason[n];

			if (cluster->reasons[row->row] > 0)
				put_reason(made, row, cluster->reasons[row->row]);
		}
		pl_json_out_end(out);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

/* Adds the words of a reason to a list: "lacks 2 cpu". */
static void put_words(struct explanation *made, const struct reason *reason,
                      const char *before, uint32_t nodes)
{
	struct pl_buf *text = &made->text;
	enum pl_code code;

	text->len = 0;
	code = before == NULL ? PL_OK
	                      : pl_buf_printf(text, "%u node%s %s", nodes,
	                                      nodes == 1 ? "" : "s", before);
	if (code == PL_OK)
		code = reason_text(made->explain->model, reason,
		                   before != NULL && nodes != 1, text);
	pl_json_out_string(&made->out,
	                   code == PL_OK ? pl_buf_span(text) : PL_SPAN_LIT(""));
}

static void put_nearest(struct explanation *made)
{
	struct pl_json_out *out = &made->out;

	pl_json_out_name(out, "nearest");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < made->explain->nears; i++) {
		const struct explain_near *near = &made->explain->near[i];
		const struct node_row *row = &made->explain->snapshot->row[near->slot];

		pl_json_out_object(out);
		put_model(made, "cluster", row->cluster);
		put_model(made, "node", row->node.name);
		pl_json_out_name(out, "reasons");
		pl_json_out_array(out);
		for (uint32_t n = 0; n < near->count && n < NEAR_REASONS; n++)
			put_words(made, &near->reason[n].reason, NULL, 1);
		pl_json_out_end(out);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

/* Reasons that alone keep nodes away: without one of them, that many nodes would do. */
static void put_help(struct explanation *made)
{
	const struct engine_decision *decision = made->explain->decision;

	pl_json_out_name(&made->out, "help");
	pl_json_out_array(&made->out);
	for (uint32_t i = 0; i < made->explain->reasons; i++) {
		const struct explain_reason *row = &made->explain->reason[i];

		if (row->only > 0)
			put_words(made, &row->reason, "would do, but ", row->only);
	}
	for (uint32_t i = 0; decision->gated && i < decision->gate.count; i++)
		pl_json_out_string(&made->out,
		                   reason_sentence(made, &decision->gate.reason[i]));
	pl_json_out_end(&made->out);
}

/* -- when ---------------------------------------------------------------------------------- */

/* The rate at which the pod's shard has placed pods lately; negative: not known. */
static double placed_per_s(struct request *request, struct pl_span shard)
{
	const struct schema_resource *shards = schema_resource_find(
		PL_SPAN_LIT("placet.io"), PL_SPAN_LIT("v1"), PL_SPAN_LIT("shards"));
	struct membership member;
	struct object object;
	struct pl_arena arena;
	double rate = -1;

	if (shard.len == 0 || !source_get(request->api->sources, shards,
	                                  (struct pl_span){0}, shard, &object))
		return rate;
	pl_arena_init(&arena, 8 << 10, MEMBER_ARENA_MAX);
	if (membership_parse(shard, object.part[OBJECT_MAIN]->value, &arena, &member,
	                     NULL) == PL_OK &&
	    member.work.known)
		rate = member.work.placed_per_s;
	pl_arena_done(&arena);
	return rate;
}

/* A pod that would get a node of its shard now waits for its turn only; of others nothing
 * says when they will fit. */
static void put_estimate(struct explanation *made)
{
	struct request *request = made->request;
	const struct pod_explanation *pod = made->pod;
	struct place_estimates *estimates = &request->api->estimates;
	uint64_t ahead = pod->queue.before + pod->queue.older;
	double rate = placed_per_s(request, pod->owner), seconds, coverage;
	struct pl_json_out *out = &made->out;
	int64_t at_ms;

	place_estimates_settle(estimates, request->api->sources, pod->now_ms);
	if (!pod->queue.known || pod->nowhere || pod->own_feasible == 0 ||
	    !place_estimate_seconds(rate, ahead, &seconds))
		return;
	at_ms = pod->now_ms + (int64_t)(seconds * 1000);
	place_estimates_add(estimates, pod->namespace, pod->name, at_ms);
	made->text.len = 0;
	if (pl_buf_printf(&made->text,
	                  "%llu pods go before; shard " PL_SPAN_FMT
	                  " has placed %.3g pods a second lately",
	                  (unsigned long long)ahead, PL_SPAN_ARG(pod->owner),
	                  rate) != PL_OK)
		return;
	pl_json_out_name(out, "estimate");
	pl_json_out_object(out);
	put_time(out, "time", at_ms);
	if (place_estimates_coverage(estimates, &coverage)) {
		pl_json_out_name(out, "coverage");
		pl_json_out_double(out, coverage);
	}
	pl_json_put_text(out, "message", pl_buf_span(&made->text));
	pl_json_out_end(out);
}

static void put_queue(struct explanation *made)
{
	const struct queue_position *queue = &made->pod->queue;
	struct pl_json_out *out = &made->out;

	if (!queue->known)
		return;
	pl_json_out_name(out, "queue");
	pl_json_out_object(out);
	pl_json_put_text(out, "sort",
	                 pl_span_str(queue->sort == QUEUE_BY_SLA ? "sla" : "priority"));
	pl_json_put_int(out, "before", (int64_t)queue->before);
	pl_json_put_int(out, "alike", (int64_t)queue->alike);
	pl_json_put_int(out, "older", (int64_t)queue->older);
	pl_json_out_end(out);
}

/* -- the object ----------------------------------------------------------------------------- */

static void put_state(struct explanation *made)
{
	const struct pod_explanation *pod = made->pod;
	const struct pod_state *state = &pod->state;
	struct pl_json_out *out = &made->out;

	pl_json_put_text(out, "phase",
	                 pl_span_str(pod->has_state ? state_phase_word(state->phase)
	                                            : state_phase_word(STATE_PENDING)));
	pl_json_put_text(out, "shard", pod->owner);
	pl_json_put_int(out, "partition", pod->partition);
	pl_json_out_name(out, "revision");
	pl_json_out_int_string(out, pod->revision);
	pl_json_put_text(out, "gang", pod->gang);
	if (!pod->has_state)
		return;
	pl_json_put_text(out, "cluster", state->cluster);
	pl_json_put_text(out, "node", state->node);
	pl_json_put_text(out, "reason", state->reason);
	put_time(out, "since", state->since_ms);
	pl_json_put_int(out, "attempts", state->attempts);
}

static void put_message(struct explanation *made)
{
	const struct pod_state *state = &made->pod->state;

	if (!made->pod->has_state || state->message.len == 0)
		return;
	made->text.len = 0;
	if (pod_event_sentence(state->message, &made->text) == PL_OK)
		pl_json_put_text(&made->out, "message", pl_buf_span(&made->text));
}

bool request_has_its_share(struct request *request,
                           void (*abandon)(struct request *request), unsigned taken,
                           unsigned max)
{
	unsigned own = 0;

	if (taken + 1 < max || identity_in_group(request->identity, IDENTITY_MASTERS))
		return false;
	PL_LIST_EACH (link, &request->api->requests) {
		const struct request *other = PL_LIST_ITEM(link, struct request, link);

		own += other->abandon == abandon &&
		       pl_span_eq(other->user_name, request->user_name);
	}
	return own + 1 >= max;
}

bool request_may_read(struct request *request, const char *verb, const char *resource,
                      struct pl_span namespace, struct pl_span name)
{
	struct access_attributes asked = {.is_resource = true,
	                                  .verb = pl_span_str(verb),
	                                  .resource = pl_span_str(resource),
	                                  .namespace = namespace,
	                                  .name = name};

	/* A client that has gone is not answered. */
	return request->identity == NULL ||
	       access_allows(request->api->access, request->identity, &asked, NULL);
}

/* A preemption would have victims in other namespaces. */
static bool sees_pods(void *ctx, struct pl_span namespace)
{
	struct request *request = ctx;

	return pl_span_eq(namespace, request->path.namespace) ||
	       request_may_read(request, "list", "pods", namespace, (struct pl_span){0});
}

static void put_decision(struct explanation *made)
{
	struct pl_json_out *out = &made->out;
	const struct explain_reader reader = {sees_pods, made->request};

	pl_json_put_int(out, "nodes", made->explain->nodes);
	pl_json_put_int(out, "feasible", made->explain->feasible);
	put_filters(made);
	put_reasons(made);
	put_clusters(made);
	put_nearest(made);
	put_help(made);
	put_queue(made);
	put_estimate(made);
	pl_json_out_name(out, "decision");
	explain_json_for(made->explain, &reader, out);
}

static void put_explanation(struct explanation *made)
{
	struct pl_json_out *out = &made->out;
	char version[24];

	(void)snprintf(version, sizeof version, "%lld", (long long)made->pod->revision);
	pl_json_out_object(out);
	pl_json_put_text(out, "kind", PL_SPAN_LIT("Explanation"));
	pl_json_put_text(out, "apiVersion", PL_SPAN_LIT("placet.io/v1"));
	pl_json_out_name(out, "metadata");
	pl_json_out_object(out);
	pl_json_put_text(out, "name", made->pod->name);
	pl_json_put_text(out, "namespace", made->pod->namespace);
	pl_json_put_text(out, "resourceVersion", pl_span_str(version));
	put_time(out, "creationTimestamp", made->pod->now_ms);
	pl_json_out_end(out);
	pl_json_out_name(out, "status");
	pl_json_out_object(out);
	put_state(made);
	put_message(made);
	if (made->explain != NULL)
		put_decision(made);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

static void answer_explanation(struct explanation *made)
{
	struct pl_buf buf;

	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	pl_json_out_init(&made->out, &buf);
	put_explanation(made);
	if (pl_json_out_done(&made->out) == PL_OK)
		answer_made(made->request, 200, pl_buf_span(&buf));
	else
		answer_no_memory(made->request);
	pl_buf_done(&buf);
}

static void answer_failed(struct request *request, const struct pl_err *err)
{
	struct status_about about = {
		.group = "", .resource = "pods", .name = request->path.name};
	struct api_status status;

	if (err->code == PL_NOTFOUND)
		status = status_not_found(&request->arena, about);
	else if (err->code == PL_INVALID)
		status = status_conflict(&request->arena, about, pl_span_str(err->msg));
	else
		status = status_of_store(&request->arena, request_about(request), "get",
		                         err->code, err);
	answer_status(request, &status);
}

static void on_explained(void *ctx, const struct pod_explanation *pod,
                         const struct explain *explain, const struct pl_err *err)
{
	struct explanation *made = ctx;
	struct request *request = made->request;

	request->abandon = NULL;
	request->api->explaining--;
	made->pod = pod;
	made->explain = explain;
	pl_buf_init(&made->text, TEXT_MAX);
	if (err != NULL)
		answer_failed(request, err);
	else
		answer_explanation(made);
	pl_buf_done(&made->text);
	request_unbusy(request);
}

/* -- the request ------------------------------------------------------------------------ */

static void abandon(struct request *request)
{
	struct explanation *made = request->work;

	pod_explain_cancel(made->op);
}

void request_explain(struct request *request)
{
	struct api *api = request->api;
	struct explanation *made = pl_arena_zalloc(&request->arena, 1, sizeof *made);
	const struct pod_explain_opts opts = {
		.pod = {.namespace = request->path.namespace, .name = request->path.name},
		.wall_ms = api->wall_ms(api->clock_ctx),
		.done = on_explained,
		.ctx = made};
	struct api_status status;
	struct pl_err err = {0};

	if (made == NULL) {
		answer_no_memory(request);
		return;
	}
	if (request->path.name.len == 0 || request->verb != REQUEST_GET) {
		status = status_no_such_method();
		answer_status(request, &status);
		return;
	}
	if (api->explaining >= EXPLANATIONS_MAX ||
	    request_has_its_share(request, abandon, api->explaining, EXPLANATIONS_MAX)) {
		status = status_too_many_requests(
			PL_SPAN_LIT("too many explanations are being made"), 1);
		answer_status(request, &status);
		return;
	}
	made->request = request;
	if (pod_explain_start(&api->service, &opts, &made->op, &err) != PL_OK) {
		answer_failed(request, &err);
		return;
	}
	api->explaining++;
	request->busy++;
	request_may_be_abandoned(request, abandon, made);
}
