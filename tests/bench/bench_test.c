/*
 * Each bench at its smallest: it runs to its end, what it prints is one JSON object a
 * line as docs/testing.md has it, and the figures are there by their names. Nothing
 * here looks at how large a figure is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/live/load.h"
#include "store/base/arena.h"
#include "store/base/json.h"
#include "store/net/unconst.h"
#include "tests/harness/t.h"

enum {
	LINES_MAX = 512,
	LINE_SIZE = 2048,
	NAME_SIZE = 64,
	ARGS_MAX = 24,
	BENCH_SECONDS = 120, /* with sanitizers, on a busy machine */
};

#define NAME_OF(profile, name, about) [LOAD_##profile] = (name),
static const char *const profiles[] = {LOAD_PROFILE_MAP(NAME_OF)};

struct figure {
	char metric[NAME_SIZE], fields[LINE_SIZE];
	double value;
};

static struct figure figure[LINES_MAX];
static unsigned figures;
static int status;

static const char *text_of(struct pl_json json, const char *name)
{
	const char *text = NULL;
	struct pl_err err = {0};

	T_OK(pl_json_string(json, name, PL_JSON_REQUIRED, &text, &err), &err);
	return text;
}

static void take_line(const char *line, const char *bench)
{
	struct figure *f = &figure[figures++];
	const char *fields = strstr(line, "\"case\":");
	struct pl_arena arena;
	struct pl_json json;
	struct pl_err err = {0};

	T_TRUE(figures <= LINES_MAX);
	pl_arena_init(&arena, 1 << 14, 0);
	T_OK(pl_json_parse(&arena, pl_span_str(line), NULL, &json, &err), &err);
	T_STR(text_of(json, "bench"), bench);
	T_EQ(pl_json_type(pl_json_member(json, "case")), PL_JSON_OBJECT);
	(void)snprintf(f->metric, sizeof f->metric, "%s", text_of(json, "metric"));
	(void)text_of(json, "unit");
	T_OK(pl_json_double(json, "value", PL_JSON_REQUIRED, &f->value, &err), &err);
	T_EQ(pl_json_count(json), 5);
	T_TRUE(fields != NULL);
	(void)snprintf(f->fields, sizeof f->fields, "%s", fields);
	pl_arena_done(&arena);
}

static _Noreturn void run_child(const char *bench, const char *const args[], int out)
{
	const char *argv[ARGS_MAX];
	char path[512];
	unsigned count = 0;

	(void)snprintf(path, sizeof path, "%s/bench-%s", getenv("BENCH_PROGRAMS"), bench);
	argv[count++] = path;
	argv[count++] = "--json";
	for (unsigned i = 0; args[i] != NULL && count < ARGS_MAX - 1; i++)
		argv[count++] = args[i];
	argv[count] = NULL;
	(void)dup2(out, STDOUT_FILENO);
	(void)execv(path, unconst(argv));
	_exit(127);
}

/* The bench's stderr is shown when the case fails. */
static void run_bench(const char *bench, const char *const args[])
{
	char line[LINE_SIZE];
	int ends[2];
	FILE *out;
	pid_t pid;

	figures = 0;
	T_EQ(pipe(ends), 0);
	pid = fork();
	T_TRUE(pid >= 0);
	if (pid == 0)
		run_child(bench, args, ends[1]);
	(void)close(ends[1]);
	out = fdopen(ends[0], "r");
	while (fgets(line, sizeof line, out) != NULL)
		take_line(line, bench);
	(void)fclose(out);
	while (waitpid(pid, &status, 0) < 0)
		T_EQ(errno, EINTR);
	T_TRUE(WIFEXITED(status));
	status = WEXITSTATUS(status);
	T_TRUE(figures > 0);
	T_STR(figure[0].metric, "environment");
}

#define RUN(bench, ...) run_bench(bench, (const char *const[]){__VA_ARGS__, NULL})

/* fields: a part of the case; "": any. NULL: there is none. */
static const struct figure *find(const char *metric, const char *fields)
{
	for (unsigned i = 0; i < figures; i++)
		if (strcmp(figure[i].metric, metric) == 0 &&
		    strstr(figure[i].fields, fields) != NULL)
			return &figure[i];
	return NULL;
}

static void expect_metrics(const char *const metrics[], const char *fields)
{
	for (unsigned i = 0; metrics[i] != NULL; i++)
		if (find(metrics[i], fields) == NULL)
			t_fail(__FILE__, __LINE__, "no %s of %s", metrics[i], fields);
}

#define HAS(fields, ...) expect_metrics((const char *const[]){__VA_ARGS__, NULL}, fields)

static double value_of(const char *metric, const char *fields)
{
	const struct figure *f = find(metric, fields);

	T_TRUE(f != NULL);
	return f->value;
}

T_CASE_SECONDS(e2e, BENCH_SECONDS)
{
	RUN("e2e", "--nodes", "50", "--pods", "300", "--shards", "2", "--partitions",
	    "8");
	T_EQ(status, 0);
	HAS("\"profile\":\"basic\",\"op\":\"waiting\"", "placements_per_s", "place_s",
	    "ceiling_per_s", "ceiling_ratio", "placetd_cpu_s", "etcd_cpu_s",
	    "submitter_cpu_s", "cpu_us_per_placement", "txns", "conflict_ratio",
	    "conflicts_per_txn", "bytes_written", "placements_per_txn", "regret_mean",
	    "regret_samples", "fsck_violations", "db_bytes", "etcd_rss_max");
	HAS("\"process\":\"placetd-0\"", "process_cpu_s", "process_rss_max");
	T_EQ(value_of("placed", ""), 300);
	T_EQ(value_of("regret_samples", ""), 300);
	T_EQ(value_of("fsck_violations", ""), 0);
	/* The history has as many placements as there are pods. */
	T_NEAR(value_of("placements_per_txn", "") * value_of("commits", ""), 300, 0.01);
}

T_CASE_SECONDS(e2e_while_pods_are_submitted, BENCH_SECONDS)
{
	RUN("e2e", "--nodes", "30", "--pods", "100", "--shards", "1", "--partitions", "4",
	    "--submitting", "--no-ceiling", "--profile", "full95");
	T_EQ(status, 0);
	HAS("\"profile\":\"full95\",\"op\":\"submitting\"", "placements_per_s");
	T_EQ(value_of("placed", ""), 100);
	T_TRUE(find("ceiling_ratio", "") == NULL);
}

T_CASE_SECONDS(e2e_while_clients_watch, BENCH_SECONDS)
{
	RUN("e2e", "--nodes", "30", "--pods", "100", "--shards", "1", "--partitions", "4",
	    "--watchers", "3", "--rounds", "1", "--regret-samples", "0");
	T_EQ(status, 0);
	HAS("\"watchers\":0,\"round\":0", "placements_per_s");
	HAS("\"watchers\":3,\"round\":0", "placements_per_s", "watch_bytes",
	    "watchers_cpu_s");
	/* Each pod is added and bound, and seen so by each client. */
	T_TRUE(value_of("watch_events", "") >= 2 * 3 * 100);
	T_EQ(value_of("ended_watches", ""), 0);
	HAS("\"watchers\":3,\"rounds\":1", "watched_ratio");
}

/* There is cpu for more, but a node takes 110 pods: told, not waited for. */
T_CASE_SECONDS(e2e_reports_pods_that_are_not_placed, BENCH_SECONDS)
{
	double unplaced = 0;

	RUN("e2e", "--nodes", "16", "--pods", "1700", "--shards", "1", "--partitions",
	    "4", "--profile", "full95", "--idle", "2", "--no-ceiling", "--regret-samples",
	    "0");
	T_EQ(status, 3);
	T_TRUE(find("unplaced", "\"reason\":\"") != NULL);
	for (unsigned i = 0; i < figures; i++)
		if (strcmp(figure[i].metric, "unplaced") == 0)
			unplaced += figure[i].value;
	T_EQ(value_of("placed", "") + unplaced, 1700);
	T_EQ(value_of("fsck_violations", ""), 0);
	T_TRUE(find("regret_mean", "") == NULL);
}

/* So many that the bound on gangs, colours, zones and nodes of others matters, and all
 * of them fit. Of two shards each has nodes that the other's pods need. */
static void place_all(const char *profile, const char *pods)
{
	char fields[NAME_SIZE];

	RUN("e2e", "--nodes", "20", "--pods", pods, "--shards", "2", "--partitions", "4",
	    "--profile", profile, "--timeout", "60", "--idle", "30", "--no-ceiling",
	    "--regret-samples", "0");
	(void)snprintf(fields, sizeof fields, "\"profile\":\"%s\"", profile);
	if (status != 0)
		t_fail(__FILE__, __LINE__, "%s ended with status %d", profile, status);
	HAS(fields, "placements_per_s", "conflict_ratio", "txns", "commits");
	T_EQ(value_of("placed", fields), strtol(pods, NULL, 10));
	T_EQ(value_of("fsck_violations", fields), 0);
}

/* Every profile, the next one, too: they end when all is bound. */
T_CASE_SECONDS(e2e_places_all_of_each_profile, BENCH_SECONDS)
{
	for (unsigned i = 0; i < sizeof profiles / sizeof profiles[0]; i++)
		if (i == LOAD_LARGEGANG)
			place_all(profiles[i], "800");
		else if (i == LOAD_PREEMPTION) /* one a node */
			place_all(profiles[i], "20");
		else if (i != LOAD_BASIC && i != LOAD_FULL95) /* above */
			place_all(profiles[i], "64");
}

T_CASE_SECONDS(latency, BENCH_SECONDS)
{
	RUN("latency", "--rate", "100", "--seconds", "1", "--warmup", "1", "--nodes",
	    "50", "--shards", "2", "--partitions", "8");
	T_EQ(status, 0);
	HAS("\"rate\":100,\"nodes\":50,\"pods\":200,\"shards\":2", "p50_ms", "p99_ms",
	    "p999_ms", "max_ms", "submitted_p50_ms", "late_p99_ms", "fsck_violations");
	T_EQ(value_of("placed", ""), 200);
	T_TRUE(value_of("p50_ms", "") >= value_of("late_p50_ms", ""));
}

T_CASE_SECONDS(scaling, BENCH_SECONDS)
{
	RUN("scaling", "--nodes", "30", "--pods", "100", "--shards", "2", "--partitions",
	    "4");
	T_EQ(status, 0);
	HAS("\"shards\":1,", "cpu_us_per_placement", "etcd_cpu_us_per_placement");
	HAS("\"shards\":2,", "cpu_us_per_placement", "etcd_cpu_us_per_placement",
	    "cpu_ratio");
}

T_CASE_SECONDS(million, BENCH_SECONDS)
{
	RUN("million", "--nodes", "200", "--pods", "300", "--shards", "2", "--partitions",
	    "8");
	T_EQ(status, 0);
	HAS("\"nodes\":200,\"pods\":300,", "total_s", "submit_s", "place_s", "nodes_s",
	    "placetd_rss_max", "etcd_rss_max", "db_bytes", "fsck_violations");
	T_EQ(value_of("placed", ""), 300);
	T_NEAR(value_of("total_s", ""),
	       value_of("submit_s", "") + value_of("place_s", ""), 1e-6);
}

T_CASE_SECONDS(restart, BENCH_SECONDS)
{
	RUN("restart", "--nodes", "100", "--pods", "2000", "--shards", "2",
	    "--partitions", "8", "--percent", "5");
	T_EQ(status, 0);
	HAS("\"nodes\":100,\"pods\":2000,", "etcd_up_s", "first_placement_s",
	    "bound_before", "bound_early", "bound_after", "fsck_violations");
	T_EQ(value_of("placed", ""), 2000);
	T_TRUE(value_of("first_placement_s", "") > 0);
	T_EQ(value_of("bound_early", ""), 0);
	T_EQ(value_of("fsck_violations", ""), 0);
}

T_CASE_SECONDS(metrics, BENCH_SECONDS)
{
	RUN("metrics", "--nodes", "100", "--pods", "400", "--shards", "4", "--partitions",
	    "8", "--scrapes", "20");
	T_EQ(status, 0);
	HAS("\"nodes\":100,\"pods\":400,\"shards\":4,", "scrape_p99_ms", "scrape_cpu_us",
	    "fsck_violations");
	T_EQ(value_of("placed", ""), 400);
	T_EQ(value_of("threads_missing", ""), 0);
	T_TRUE(value_of("scrape_p50_ms", "") > 0);
	T_TRUE(value_of("scrape_bytes", "") > 10000);
}

T_CASE_SECONDS(takeover, BENCH_SECONDS)
{
	RUN("takeover", "--ttl", "2", "--partitions", "128", "--rounds", "1", "--rest",
	    "200", "--nodes", "100", "--pods", "400");
	T_EQ(status, 0);
	HAS("\"op\":\"kill\"", "takeover_s", "partitions_lost");
	HAS("\"op\":\"flow\"", "flow_s", "flow_all_s", "fsck_violations");
	HAS("\"op\":\"drain\"", "drain_gap_ms");
	HAS("\"op\":\"join\"", "join_moves");
}

T_CASE_SECONDS(submit, BENCH_SECONDS)
{
	RUN("submit", "--pods", "1000");
	T_EQ(status, 0);
	HAS("\"source\":\"ndjson\"", "check_s", "pods_per_s", "ceiling_ratio",
	    "again_pods_per_s", "client_cpu_s", "server_cpu_s");
	HAS("\"source\":\"deployment\"", "pods_per_s");
}

static void run_api(const char *only, const char *kube)
{
	const char *args[] = {"--nodes",
	                      "10",
	                      "--pods",
	                      "100",
	                      "--rounds",
	                      "1",
	                      "--seconds",
	                      "1",
	                      "--percent",
	                      "3",
	                      "--only",
	                      only,
	                      kube == NULL ? NULL : "--kube-apiserver",
	                      kube,
	                      NULL};

	run_bench("api", args);
	T_EQ(status, 0);
}

T_CASE_SECONDS(api, BENCH_SECONDS)
{
	run_api("all", NULL);
	HAS("\"op\":\"create\"", "creates_per_s", "create_p99_ms", "load_cpu_share",
	    "server_cpu_us_per_create");
	HAS("\"op\":\"create-watched\"", "creates_per_s", "lost_events", "deletes_per_s");
	HAS("\"op\":\"bulk\"", "bulk_creates_per_s", "deletes_per_s");
	HAS("\"op\":\"list-cached\"", "list_nodes_ms", "bytes");
	HAS("\"op\":\"list-consistent\"", "list_nodes_ms");
	HAS("\"op\":\"list-pages\"", "list_pods_ms");
	HAS("\"op\":\"get\"", "get_p99_ms", "get_late_p99_ms");
	HAS("\"watchers\":3,\"rate\":30", "watch_p50_ms", "watch_p99_ms", "lost_events");
	HAS("\"watchers\":30,\"rate\":3", "watch_p99_ms", "ended_watches");
	HAS("\"op\":\"bind\"", "binds_per_s", "bind_p99_ms");
	HAS("\"op\":\"memory\"", "bytes_per_pod", "rss");
	HAS("\"server\":\"placet\"", "creates_per_s");
	T_EQ(value_of("lost_events", "\"op\":\"create-watched\""), 0);
	T_EQ(value_of("ended_watches", "\"watchers\":30"), 0);
	T_TRUE(find("ratio", "") == NULL);
}

/* Each request goes to both, in turn; the second is of our own here. */
T_CASE_SECONDS(api_beside_another_server, BENCH_SECONDS)
{
	char other[NAME_SIZE * 4];

	(void)snprintf(other, sizeof other, "%s/tests/bench/like_kube_apiserver",
	               getenv("T_ROOT"));
	run_api("lists", other);
	HAS("\"server\":\"kube-apiserver\"", "creates_per_s", "list_nodes_ms",
	    "list_pods_ms");
	HAS("\"server\":\"placet\"", "creates_per_s", "list_nodes_ms");
	HAS("\"op\":\"list-pages\",\"nodes\":10,\"pods\":100", "ratio");
	T_TRUE(value_of("ratio", "\"of\":\"list_nodes_ms\"") > 0);
	T_TRUE(value_of("ratio", "\"of\":\"creates_per_s\"") > 0);
}

T_CASE_SECONDS(store, BENCH_SECONDS)
{
	RUN("store", "--only", "put", "--seconds", "0.1");
	T_EQ(status, 0);
	HAS("\"op\":\"put\",\"inflight\":256", "puts_per_s", "p50_ms", "client_cpu_s",
	    "server_cpu_s");
}

T_CASE_SECONDS(engine, BENCH_SECONDS)
{
	RUN("engine", "--only", "decide", "--nodes", "1000", "--profile", "basic");
	T_EQ(status, 0);
	HAS("\"nodes\":1000", "us_per_pod", "bytes_per_node");
}

/* -- options ----------------------------------------------------------------------- */

static int exit_of_refused(const char *bench, const char *const args[])
{
	int got = 0;
	pid_t pid = fork();

	T_TRUE(pid >= 0);
	if (pid == 0)
		run_child(bench, args, STDERR_FILENO);
	T_EQ(waitpid(pid, &got, 0), pid);
	T_TRUE(WIFEXITED(got));
	return WEXITSTATUS(got);
}

#define REFUSED(bench, ...) \
	exit_of_refused(bench, (const char *const[]){__VA_ARGS__, NULL})

T_CASE(options_are_checked_before_anything_is_started)
{
	T_EQ(REFUSED("e2e", "--help"), 0);
	T_EQ(REFUSED("e2e", "--profile", "none"), 2);
	T_EQ(REFUSED("e2e", "--nodes", "15"), 2);
	T_EQ(REFUSED("e2e", "--nodes", "1e3"), 2);
	T_EQ(REFUSED("e2e", "--nodes", "100", "--pods", "5000"), 2);
	T_EQ(REFUSED("e2e", "--shards", "2", "--processes", "3"), 2);
	T_EQ(REFUSED("e2e", "--shards", "8", "--partitions", "4"), 2);
	T_EQ(REFUSED("e2e", "more"), 2);
	T_EQ(REFUSED("latency", "--rate", "0"), 2);
	T_EQ(REFUSED("latency", "--seconds", "3000"), 2);
	T_EQ(REFUSED("million", "--no-such-thing"), 2);
	T_EQ(REFUSED("store", "--seconds", "0.01"), 2);
	T_EQ(REFUSED("restart", "--percent", "100"), 2);
}
