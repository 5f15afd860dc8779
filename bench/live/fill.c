#include "bench/live/fill.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/common/report.h"
#include "bench/live/fill_int.h"
#include "coord/service/nodes/nodes.h"
#include "coord/service/submit/submit.h"
#include "shardsched/model/parse.h"
#include "shardsched/records/pod_location.h"
#include "store/keys/partition.h"

enum { SLOTS = 8, SAY_EVERY_S = 2 };

void filler_say(struct filler *f, const char *what, uint64_t count, uint64_t of)
{
	double now_s = bench_now_s();

	if (now_s < f->say_s)
		return;
	f->say_s = now_s + SAY_EVERY_S;
	bench_say("%llu of %llu %s", (unsigned long long)count, (unsigned long long)of,
	          what);
}

void filler_run(struct filler *f)
{
	while (!f->over)
		(void)uv_run(&f->loop, UV_RUN_ONCE);
}

void filler_on_done(void *ctx, const struct pl_err *err)
{
	struct filler *f = ctx;

	bench_check(err == NULL ? PL_OK : err->code, err, "fill the store");
	f->over = true;
}

/* -- nodes ------------------------------------------------------------------------- */

static enum pl_code next_node(void *ctx, struct nodes_item *out, bool *more,
                              struct pl_err *err)
{
	struct filler *f = ctx;

	(void)err;
	*more = f->next < f->end;
	if (!*more)
		return PL_OK;
	load_node(&f->opts->load, f->next++, &f->object);
	*out = (struct nodes_item){.cluster = pl_span_str(f->object.scope),
	                           .name = pl_span_str(f->object.name),
	                           .json = load_json(&f->object)};
	return PL_OK;
}

static void on_node_outcome(void *ctx, const struct nodes_item *item,
                            enum nodes_outcome outcome, const struct pl_err *err)
{
	struct filler *f = ctx;

	(void)item;
	bench_check(outcome == NODES_CREATED ? PL_OK : PL_EXISTS, err, "a new node");
	filler_say(f, "nodes applied", ++f->told, f->end);
}

static void fill_nodes(struct filler *f)
{
	struct nodes_opts opts = {.verb = NODES_APPLY,
	                          .partitions = f->opts->load.partitions,
	                          .next = next_node,
	                          .report = on_node_outcome,
	                          .done = filler_on_done,
	                          .ctx = f};
	struct nodes *nodes;
	struct pl_err err = {0};

	f->end = f->opts->load.nodes;
	if (load_before_each(&f->opts->load) > 0) {
		fill_before(f);
		return;
	}
	bench_check(nodes_open(f->kv, &opts, &nodes, &err), &err, "apply nodes");
	filler_run(f);
}

/* -- pods -------------------------------------------------------------------------- */

void filler_location(struct filler *f, struct pod_location *out)
{
	struct parse parse = {.model = &f->model, .arena = &f->arena};
	struct pl_err err = {0};
	struct pod pod = {0};

	if (!load_has_groups(&f->opts->load)) {
		bench_check(partition_of_pod(pl_span_str(f->object.scope),
		                             pl_span_str(f->object.name),
		                             f->opts->load.partitions, &out->named, &err),
		            &err, "a pod's partition");
		out->partition = out->named;
		return;
	}
	pl_arena_reset(&f->arena);
	bench_check(pod_parse(&parse, load_json(&f->object), &pod, &err), &err, "a pod");
	bench_check(pod_location_of(&f->model, &pod, f->opts->load.partitions, out, &err),
	            &err, "a pod's partition");
	pod_drop(&f->model, &pod);
}

static enum pl_code next_pod(void *ctx, struct submit_pod *out, struct pl_err *err)
{
	struct filler *f = ctx;

	(void)err;
	if (f->next == f->end)
		return PL_NOTFOUND;
	load_pod(&f->opts->load, f->next++, &f->object);
	*out = (struct submit_pod){.namespace = pl_span_str(f->object.scope),
	                           .name = pl_span_str(f->object.name),
	                           .spec = load_json(&f->object)};
	filler_location(f, &out->location);
	filler_say(f, "pods submitted", f->next - f->opts->first,
	           f->end - f->opts->first);
	return PL_OK;
}

static void pods_done(void *ctx, const struct submit_counts *counts,
                      const struct pl_err *err)
{
	struct filler *f = ctx;

	if (err == NULL && counts->submitted != f->end - f->opts->first)
		bench_fail("a pod was there before");
	f->result->txns = counts->transactions;
	filler_on_done(f, err);
}

static void fill_pods(struct filler *f)
{
	struct submit_opts opts = {
		.slots = SLOTS, .next = next_pod, .done = pods_done, .ctx = f};
	struct submit *submit;
	struct pl_err err = {0};

	f->next = f->opts->first;
	f->end = f->opts->count == 0 ? f->opts->load.pods
	                             : f->opts->first + f->opts->count;
	bench_check(submit_open(f->kv, &opts, &submit, &err), &err, "submit");
	filler_run(f);
}

/* -- the process ------------------------------------------------------------------- */

struct fill_start_args {
	struct live *live;
	const struct fill_opts *opts;
};

static void run_fill(void *ctx, void *result)
{
	const struct fill_start_args *start = ctx;
	struct filler *f = bench_alloc(1, sizeof *f);
	double since;

	f->opts = start->opts;
	f->result = result;
	(void)uv_loop_init(&f->loop);
	pl_arena_init(&f->arena, 1 << 16, 0);
	model_init(&f->model);
	f->kv = live_client(start->live, &f->loop);
	f->say_s = bench_now_s() + SAY_EVERY_S;
	since = bench_now_s();
	if (f->opts->what == FILL_NODES)
		fill_nodes(f);
	else
		fill_pods(f);
	f->result->wall_s = bench_now_s() - since;
	live_client_close(&f->loop, f->kv);
}

void fill_start(struct child *child, struct live *live, const struct fill_opts *opts)
{
	struct fill_start_args start = {live, opts};

	child_start(child, &live->loop, run_fill, &start);
}

void fill_run(struct live *live, const struct fill_opts *opts, struct child *ended)
{
	fill_start(ended, live, opts);
	child_wait(ended);
}
