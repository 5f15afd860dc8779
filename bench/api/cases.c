#include "bench/api/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/api/api_load.h"
#include "bench/api/watchers.h"

enum {
	WATCHERS_FEW = 100,
	WATCHERS_MANY = 1000,
	RATE_FEW = 1000, /* events a second for the few */
	RATE_MANY = 100,
	GET_RATE = 200,
	GET_CONNS = 16,
	BULK_EACH = 500,
	BULK_CONNS = 4,
	LIST_TIMES = 10,
	PAGE = 500,
	NAME_SIZE = 32,
};

const char *const api_case_names[] = {
	"all",        "create",      "create-watched", "bulk", "lists", "get",
	"fanout-few", "fanout-many", "memory",         "bind", NULL};

enum {
	ONLY_ALL,
	ONLY_CREATE,
	ONLY_CREATE_WATCHED,
	ONLY_BULK,
	ONLY_LISTS,
	ONLY_GET,
	ONLY_FANOUT_FEW,
	ONLY_FANOUT_MANY,
	ONLY_MEMORY,
	ONLY_BIND,
};

static bool runs(const struct api_bench *bench, unsigned which)
{
	return bench->only == ONLY_ALL || bench->only == which;
}

static uint32_t share(const struct api_bench *bench, uint32_t usual)
{
	uint32_t scaled = usual * bench->percent / 100;

	return scaled == 0 ? 1 : scaled;
}

/* -- one server ----------------------------------------------------------------------- */

static void load_begin(const struct target *target, enum api_load_what what,
                       struct api_load_opts *out)
{
	*out = (struct api_load_opts){.what = what,
	                              .port = target->port,
	                              .ca_file = target->ca_file,
	                              .token = target->token,
	                              .conns = 1,
	                              .count = 1,
	                              .of = 1};
}

static void make_namespace(struct target *target, const char *name)
{
	struct api_load_opts opts;
	struct api_load_result result;

	load_begin(target, API_LOAD_CREATE_NAMESPACE, &opts);
	opts.name = name;
	(void)snprintf(opts.path, sizeof opts.path, "/api/v1/namespaces");
	api_load_run(&target->live.loop, &opts, &result);
}

static void fill_nodes(struct api_bench *bench, struct target *target)
{
	struct api_load_opts opts;
	struct api_load_result result;

	load_begin(target, API_LOAD_CREATE_NODES, &opts);
	opts.conns = bench->conns;
	opts.count = bench->nodes;
	(void)snprintf(opts.path, sizeof opts.path, "/api/v1/nodes");
	api_load_run(&target->live.loop, &opts, &result);
	bench_say("%s: %llu nodes in %.1f s", target->name,
	          (unsigned long long)result.done, result.wall_s);
}

/* The revision of the pods now. */
static void pods_revision(struct target *target, char out[API_LOAD_TEXT_SIZE])
{
	struct api_load_opts opts;
	struct api_load_result result;

	load_begin(target, API_LOAD_FETCH, &opts);
	opts.keeps = true;
	(void)snprintf(opts.path, sizeof opts.path, "/api/v1/pods?limit=1");
	api_load_run(&target->live.loop, &opts, &result);
	memcpy(out, result.text, API_LOAD_TEXT_SIZE);
}

/* -- creations ------------------------------------------------------------------------- */

struct creation {
	const char *op;
	uint32_t pods, watchers;
	double rate; /* 0: as fast as possible */
	bool gets;   /* GETs of nodes at a constant rate meanwhile */
};

struct creation_run {
	struct child load, watchers, gets;
	struct api_load_opts load_opts, get_opts;
	struct watchers_opts watch_opts;
	char revision[API_LOAD_TEXT_SIZE];
	struct api_load_result loaded, got;
	struct watchers_result watched;
	double server_cpu_s, etcd_cpu_s;
};

static void creation_begin(struct api_bench *bench, struct target *target,
                           const struct creation *what, const char *space,
                           struct creation_run *run)
{
	if (what->watchers > 0) {
		pods_revision(target, run->revision);
		run->watch_opts = (struct watchers_opts){.port = target->port,
		                                         .ca_file = target->ca_file,
		                                         .token = target->token,
		                                         .watchers = what->watchers,
		                                         .first = bench->next_number,
		                                         .count = what->pods,
		                                         .revision = run->revision};
		watchers_start(&run->watchers, &target->live.loop, &run->watch_opts);
	}
	run->server_cpu_s = target_cpu_s(target);
	run->etcd_cpu_s = target_etcd_cpu_s(target);
	if (what->gets) {
		load_begin(target, API_LOAD_FETCH, &run->get_opts);
		run->get_opts.conns = GET_CONNS;
		run->get_opts.count = 0;
		run->get_opts.of = bench->nodes;
		run->get_opts.rate = GET_RATE;
		(void)snprintf(run->get_opts.path, sizeof run->get_opts.path,
		               "/api/v1/nodes/node-%%u");
		api_load_start(&run->gets, &target->live.loop, &run->get_opts);
	}
	load_begin(target, API_LOAD_CREATE_PODS, &run->load_opts);
	run->load_opts.conns = bench->conns;
	run->load_opts.count = what->pods;
	run->load_opts.first = bench->next_number;
	run->load_opts.rate = what->rate;
	(void)snprintf(run->load_opts.path, sizeof run->load_opts.path,
	               "/api/v1/namespaces/%s/pods", space);
	api_load_start(&run->load, &target->live.loop, &run->load_opts);
}

static void creation_end(struct target *target, const struct creation *what,
                         struct creation_run *run)
{
	api_load_wait(&run->load, target->kind != TARGET_KUBE, &run->loaded);
	if (what->gets) {
		api_load_stop(&run->gets);
		api_load_wait(&run->gets, true, &run->got);
	}
	if (what->watchers > 0)
		watchers_wait(&run->watchers, run->loaded.done, &run->watched);
	run->server_cpu_s = target_cpu_s(target) - run->server_cpu_s;
	run->etcd_cpu_s = target_etcd_cpu_s(target) - run->etcd_cpu_s;
}

static void creation_figures(struct figures *figures, unsigned t,
                             const struct creation *what, const struct creation_run *run)
{
	const struct api_load_result *loaded = &run->loaded;
	const struct watchers_result *watched = &run->watched;

	figures_add(figures, t, "creates_per_s", (double)loaded->done / loaded->wall_s,
	            "1/s", what->rate > 0 ? FIGURE_PLAIN : FIGURE_HIGHER);
	figures_add(figures, t, "create_p50_ms", loaded->p50_ms, "ms", FIGURE_LOWER);
	figures_add(figures, t, "create_p99_ms", loaded->p99_ms, "ms", FIGURE_LOWER);
	if (what->rate > 0)
		figures_add(figures, t, "late_p99_ms", loaded->late_p99_ms, "ms",
		            FIGURE_PLAIN);
	figures_add(figures, t, "failed", (double)loaded->failed, "", FIGURE_PLAIN);
	figures_add(figures, t, "server_cpu_us_per_create",
	            1e6 * run->server_cpu_s / (double)loaded->done, "us", FIGURE_LOWER);
	figures_add(figures, t, "etcd_cpu_us_per_create",
	            1e6 * run->etcd_cpu_s / (double)loaded->done, "us", FIGURE_PLAIN);
	figures_add(figures, t, "load_cpu_share", loaded->cpu_s / loaded->wall_s, "",
	            FIGURE_PLAIN);
	if (what->gets) {
		figures_add(figures, t, "get_p50_ms", run->got.p50_ms, "ms",
		            FIGURE_LOWER);
		figures_add(figures, t, "get_p99_ms", run->got.p99_ms, "ms",
		            FIGURE_LOWER);
		figures_add(figures, t, "get_late_p99_ms", run->got.late_p99_ms, "ms",
		            FIGURE_PLAIN);
	}
	if (what->watchers == 0)
		return;
	figures_add(figures, t, "watch_p50_ms", watched->p50_ms, "ms", FIGURE_LOWER);
	figures_add(figures, t, "watch_p99_ms", watched->p99_ms, "ms", FIGURE_LOWER);
	figures_add(figures, t, "watch_max_ms", watched->max_ms, "ms", FIGURE_LOWER);
	figures_add(figures, t, "deliveries_per_s",
	            (double)watched->deliveries / loaded->wall_s, "1/s", FIGURE_PLAIN);
	figures_add(figures, t, "lost_events", (double)watched->lost, "", FIGURE_PLAIN);
	figures_add(figures, t, "ended_watches", watched->ended, "", FIGURE_PLAIN);
	figures_add(figures, t, "watchers_cpu_share", watched->cpu_s / loaded->wall_s, "",
	            FIGURE_PLAIN);
}

static void create_once(struct api_bench *bench, unsigned t, const struct creation *what,
                        const char *space, struct figures *figures)
{
	struct target *target = &bench->target[t];
	struct creation_run *run = bench_alloc(1, sizeof *run);

	make_namespace(target, space);
	creation_begin(bench, target, what, space, run);
	creation_end(target, what, run);
	creation_figures(figures, t, what, run);
	bench_say("%s: %s: %.0f creations/s, server %.0f us each, %llu lost",
	          target->name, what->op, (double)run->loaded.done / run->loaded.wall_s,
	          1e6 * run->server_cpu_s / (double)run->loaded.done,
	          (unsigned long long)run->watched.lost);
	if (t == 0)
		bench->lost_events += run->watched.lost + run->watched.twice;
	free(run);
}

/* Deletes what is in a namespace, and says how many pods a second went. */
static void empty_once(struct api_bench *bench, unsigned t, const char *space,
                       uint32_t pods, struct figures *figures)
{
	struct target *target = &bench->target[t];
	struct api_load_opts opts;
	struct api_load_result result;
	double cpu_s = target_cpu_s(target), etcd_cpu_s = target_etcd_cpu_s(target);

	load_begin(target, API_LOAD_DELETE, &opts);
	(void)snprintf(opts.path, sizeof opts.path,
	               "/api/v1/namespaces/%s/pods?gracePeriodSeconds=0", space);
	api_load_run(&target->live.loop, &opts, &result);
	bench_say("%s: %u pods deleted in %.2f s", target->name, pods, result.wall_s);
	if (figures == NULL)
		return;
	figures_add(figures, t, "deletes_per_s", pods / result.wall_s, "1/s",
	            FIGURE_HIGHER);
	figures_add(figures, t, "server_cpu_us_per_delete",
	            1e6 * (target_cpu_s(target) - cpu_s) / pods, "us", FIGURE_LOWER);
	figures_add(figures, t, "etcd_cpu_us_per_delete",
	            1e6 * (target_etcd_cpu_s(target) - etcd_cpu_s) / pods, "us",
	            FIGURE_PLAIN);
}

static void case_begin(const struct api_bench *bench, struct figures *figures,
                       const char *op)
{
	figures->count = 0;
	memset(figures, 0, sizeof *figures);
	bench_field(&figures->fields,
	            "\"op\":\"%s\",\"nodes\":%u,\"pods\":%u,"
	            "\"connections\":%u",
	            op, bench->nodes, bench->pods, bench->conns);
}

/* Runs a case of creations, and deletes its pods unless they are to stay. */
static void run_creation(struct api_bench *bench, const struct creation *what, bool stays)
{
	struct figures *figures = bench_alloc(1, sizeof *figures);
	char space[NAME_SIZE];

	case_begin(bench, figures, what->op);
	if (what->watchers > 0)
		bench_field(&figures->fields, "\"watchers\":%u", what->watchers);
	if (what->rate > 0)
		bench_field(&figures->fields, "\"rate\":%g", what->rate);
	for (unsigned round = 0; round < bench->rounds; round++) {
		(void)snprintf(space, sizeof space, "bench-%u", bench->spaces++);
		for (unsigned t = 0; t < bench->targets; t++) {
			create_once(bench, t, what, space, figures);
			if (!stays)
				empty_once(bench, t, space, what->pods, figures);
		}
		bench->next_number += what->pods;
	}
	figures_emit(figures, bench);
	free(figures);
}

/* -- many at once ---------------------------------------------------------------------- */

static void bulk_once(struct api_bench *bench, unsigned t, const char *space,
                      uint32_t pods, struct figures *figures)
{
	struct target *target = &bench->target[t];
	struct api_load_opts opts;
	struct api_load_result result;
	double cpu_s = target_cpu_s(target), etcd_cpu_s = target_etcd_cpu_s(target);

	make_namespace(target, space);
	load_begin(target, API_LOAD_BULK_PODS, &opts);
	opts.conns = BULK_CONNS;
	opts.count = pods;
	opts.first = bench->next_number;
	opts.each = BULK_EACH;
	/* Kubernetes has no such request: its clients send the pods one by one. */
	if (target->kind == TARGET_KUBE) {
		opts.what = API_LOAD_CREATE_PODS;
		opts.conns = bench->conns;
	}
	(void)snprintf(opts.path, sizeof opts.path, "/api/v1/namespaces/%s/pods", space);
	api_load_run(&target->live.loop, &opts, &result);
	cpu_s = target_cpu_s(target) - cpu_s;
	etcd_cpu_s = target_etcd_cpu_s(target) - etcd_cpu_s;
	figures_add(figures, t, "bulk_creates_per_s", (double)result.done / result.wall_s,
	            "1/s", FIGURE_HIGHER);
	figures_add(figures, t, "server_cpu_us_per_create", 1e6 * cpu_s / pods, "us",
	            FIGURE_LOWER);
	figures_add(figures, t, "etcd_cpu_us_per_create", 1e6 * etcd_cpu_s / pods, "us",
	            FIGURE_PLAIN);
	figures_add(figures, t, "load_cpu_share", result.cpu_s / result.wall_s, "",
	            FIGURE_PLAIN);
	bench_say("%s: bulk: %.0f creations/s", target->name,
	          (double)result.done / result.wall_s);
}

static void run_bulk(struct api_bench *bench)
{
	struct figures *figures = bench_alloc(1, sizeof *figures);
	uint32_t pods = bench->pods / 2;
	char space[NAME_SIZE];

	case_begin(bench, figures, "bulk");
	bench_field(&figures->fields, "\"each\":%d", BULK_EACH);
	for (unsigned round = 0; round < bench->rounds; round++) {
		(void)snprintf(space, sizeof space, "bench-%u", bench->spaces++);
		for (unsigned t = 0; t < bench->targets; t++) {
			bulk_once(bench, t, space, pods, figures);
			empty_once(bench, t, space, pods, figures);
		}
		bench->next_number += pods;
	}
	figures_emit(figures, bench);
	free(figures);
}

/* -- bindings ---------------------------------------------------------------------------- */

static void bind_once(struct api_bench *bench, unsigned t, const char *space,
                      uint32_t pods, struct figures *figures)
{
	struct target *target = &bench->target[t];
	struct api_load_opts opts;
	struct api_load_result result;
	double cpu_s, etcd_cpu_s;

	make_namespace(target, space);
	load_begin(target, API_LOAD_CREATE_PODS, &opts);
	opts.conns = bench->conns;
	opts.count = pods;
	opts.first = bench->next_number;
	opts.timeless = true;
	opts.of = bench->nodes;
	(void)snprintf(opts.path, sizeof opts.path, "/api/v1/namespaces/%s/pods", space);
	api_load_run(&target->live.loop, &opts, &result);
	opts.what = API_LOAD_BIND;
	cpu_s = target_cpu_s(target);
	etcd_cpu_s = target_etcd_cpu_s(target);
	api_load_run(&target->live.loop, &opts, &result);
	cpu_s = target_cpu_s(target) - cpu_s;
	etcd_cpu_s = target_etcd_cpu_s(target) - etcd_cpu_s;
	figures_add(figures, t, "binds_per_s", (double)result.done / result.wall_s, "1/s",
	            FIGURE_HIGHER);
	figures_add(figures, t, "bind_p99_ms", result.p99_ms, "ms", FIGURE_LOWER);
	figures_add(figures, t, "server_cpu_us_per_bind", 1e6 * cpu_s / pods, "us",
	            FIGURE_LOWER);
	figures_add(figures, t, "etcd_cpu_us_per_bind", 1e6 * etcd_cpu_s / pods, "us",
	            FIGURE_PLAIN);
	bench_say("%s: %.0f bindings/s", target->name,
	          (double)result.done / result.wall_s);
}

static void run_bind(struct api_bench *bench)
{
	struct figures *figures = bench_alloc(1, sizeof *figures);
	uint32_t pods = bench->pods / 5;
	char space[NAME_SIZE];

	case_begin(bench, figures, "bind");
	for (unsigned round = 0; round < bench->rounds; round++) {
		(void)snprintf(space, sizeof space, "bench-%u", bench->spaces++);
		for (unsigned t = 0; t < bench->targets; t++)
			bind_once(bench, t, space, pods, figures);
		bench->next_number += pods;
	}
	figures_emit(figures, bench);
	free(figures);
}

/* -- lists ------------------------------------------------------------------------------ */

struct listing {
	const char *metric, *path;
	bool pages;
	uint32_t items;
};

static void list_once(struct api_bench *bench, unsigned t, const struct listing *what,
                      struct figures *figures)
{
	struct target *target = &bench->target[t];
	struct api_load_opts opts;
	struct api_load_result result;

	load_begin(target, what->pages ? API_LOAD_PAGES : API_LOAD_FETCH, &opts);
	opts.count = LIST_TIMES;
	opts.keeps = true;
	opts.items = what->items;
	(void)snprintf(opts.path, sizeof opts.path, "%s", what->path);
	api_load_run(&target->live.loop, &opts, &result);
	figures_add(figures, t, what->metric, result.p50_ms, "ms", FIGURE_LOWER);
	figures_add(figures, t, "bytes", (double)result.bytes / LIST_TIMES, "B",
	            FIGURE_PLAIN);
}

static void run_list(struct api_bench *bench, const char *op, const struct listing *what)
{
	struct figures *figures = bench_alloc(1, sizeof *figures);

	case_begin(bench, figures, op);
	for (unsigned round = 0; round < bench->rounds; round++)
		for (unsigned t = 0; t < bench->targets; t++)
			list_once(bench, t, what, figures);
	figures_emit(figures, bench);
	free(figures);
}

static void run_lists(struct api_bench *bench)
{
	char pages[64];
	const struct listing cached = {.metric = "list_nodes_ms",
	                               .path = "/api/v1/nodes?resourceVersion=0",
	                               .items = bench->nodes},
			     fresh = {.metric = "list_nodes_ms",
	                              .path = "/api/v1/nodes",
	                              .items = bench->nodes},
			     paged = {.metric = "list_pods_ms",
	                              .path = pages,
	                              .pages = true,
	                              .items = bench->pods};

	(void)snprintf(pages, sizeof pages, "/api/v1/pods?limit=%d", PAGE);
	run_list(bench, "list-cached", &cached);
	run_list(bench, "list-consistent", &fresh);
	run_list(bench, "list-pages", &paged);
}

/* -- memory ----------------------------------------------------------------------------- */

/* The resident memory of servers that have just read the store. */
static void measure_rss(struct api_bench *bench, double out[API_TARGETS_MAX])
{
	for (unsigned t = 0; t < bench->targets; t++) {
		target_restart(&bench->target[t]);
		out[t] = target_rss(&bench->target[t]);
	}
}

static void run_memory(struct api_bench *bench)
{
	struct figures *figures = bench_alloc(1, sizeof *figures);
	double rss[API_TARGETS_MAX];

	case_begin(bench, figures, "memory");
	for (unsigned t = 0; t < bench->targets; t++)
		figures_add(figures, t, "rss_after_load", target_rss(&bench->target[t]),
		            "B", FIGURE_LOWER);
	measure_rss(bench, rss);
	for (unsigned t = 0; t < bench->targets; t++) {
		figures_add(figures, t, "rss", rss[t], "B", FIGURE_LOWER);
		figures_add(figures, t, "bytes_per_pod",
		            (rss[t] - bench->rss_nodes[t]) / bench->pods, "B",
		            FIGURE_LOWER);
	}
	figures_emit(figures, bench);
	free(figures);
}

/* -- all --------------------------------------------------------------------------------- */

/* The pods that all later cases find: created one by one, in as many parts as there are
 * rounds. */
static void fill_pods(struct api_bench *bench)
{
	const struct creation what = {.op = "create",
	                              .pods = bench->pods / bench->rounds};

	bench->pods = what.pods * bench->rounds;
	run_creation(bench, &what, true);
}

void api_bench_run(struct api_bench *bench)
{
	uint32_t few = share(bench, WATCHERS_FEW), many = share(bench, WATCHERS_MANY);
	uint32_t rate_few = share(bench, RATE_FEW), rate_many = share(bench, RATE_MANY);
	const struct creation watched = {.op = "create-watched",
	                                 .pods = bench->pods / 5,
	                                 .watchers = few},
			      gets = {.op = "get", .pods = bench->pods / 5, .gets = true},
			      fanout_few = {.op = "fanout",
	                                    .pods = rate_few * bench->seconds,
	                                    .watchers = few,
	                                    .rate = rate_few},
			      fanout_many = {.op = "fanout",
	                                     .pods = rate_many * bench->seconds,
	                                     .watchers = many,
	                                     .rate = rate_many};

	for (unsigned t = 0; t < bench->targets; t++)
		fill_nodes(bench, &bench->target[t]);
	if (runs(bench, ONLY_MEMORY))
		measure_rss(bench, bench->rss_nodes);
	fill_pods(bench);
	if (runs(bench, ONLY_MEMORY))
		run_memory(bench);
	if (runs(bench, ONLY_LISTS))
		run_lists(bench);
	if (runs(bench, ONLY_GET))
		run_creation(bench, &gets, false);
	if (runs(bench, ONLY_CREATE_WATCHED))
		run_creation(bench, &watched, false);
	if (runs(bench, ONLY_FANOUT_FEW))
		run_creation(bench, &fanout_few, false);
	if (runs(bench, ONLY_FANOUT_MANY))
		run_creation(bench, &fanout_many, false);
	if (runs(bench, ONLY_BULK))
		run_bulk(bench);
	if (runs(bench, ONLY_BIND))
		run_bind(bench);
}
