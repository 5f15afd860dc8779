/*
 * The cost of a scrape: a placetd with many shards that have placed pods is asked for its
 * metrics again and again.
 *
 *	scrape_p50_ms, scrape_p99_ms   from the connection to the last byte
 *	scrape_bytes                   of the largest answer
 *	scrape_cpu_us                  of the placetd, for each scrape
 *	threads_missing                in any scrape
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "bench/common/samples.h"
#include "bench/live/fill.h"
#include "bench/live/fleet.h"
#include "bench/live/observer.h"
#include "bench/live/verify.h"
#include "store/net/prom.h"

enum { TEXT_MAX = 64 << 20, LOG_LINE_MAX = 8192, PORT_POLLS = 500, POLL_US = 20000 };

struct scrapes {
	struct load load;
	struct fleet_opts fleet_opts;
	uint32_t count, idle_s;
	const char *dir;
	struct bench_fields fields;
	struct live live;
	struct fleet fleet;
	struct observer observer;
	uint16_t port;
	char *text;
	size_t len; /* of the last answer */
};

static void fill_store(struct scrapes *s, enum fill_what what)
{
	const struct fill_opts opts = {.load = s->load, .what = what};
	struct child child;

	fill_run(&s->live, &opts, &child);
	child_done(&child);
}

/* 0: the log does not name it yet. */
static uint16_t logged_port(const char *path)
{
	char line[LOG_LINE_MAX];
	const char *at;
	uint16_t port = 0;
	FILE *log = fopen(path, "re");

	while (log != NULL && port == 0 && fgets(line, sizeof line, log) != NULL)
		if (strstr(line, "\"metrics.listening\"") != NULL &&
		    (at = strstr(line, "\"port\":")) != NULL)
			port = (uint16_t)strtoul(at + strlen("\"port\":"), NULL, 10);
	if (log != NULL)
		(void)fclose(log);
	return port;
}

static void find_port(struct scrapes *s)
{
	for (unsigned i = 0; i < PORT_POLLS && s->port == 0; i++) {
		s->port = logged_port(s->fleet.process[0].log);
		if (s->port == 0)
			(void)usleep(POLL_US);
	}
	if (s->port == 0)
		bench_fail("placetd does not say where it shows its metrics");
}

static void until_bound(struct scrapes *s)
{
	while (s->observer.bound < s->load.pods) {
		(void)uv_run(&s->live.loop, UV_RUN_ONCE);
		if (bench_now_s() - s->observer.moved_s > s->idle_s)
			bench_fail("%u of %u pods are bound, and no more come",
			           s->observer.bound, s->load.pods);
	}
}

/* Reads one answer whole. */
static void scrape(struct scrapes *s)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: bench\r\n"
				      "Connection: close\r\n\r\n";
	struct sockaddr_in at = {.sin_family = AF_INET,
	                         .sin_port = htons(s->port),
	                         .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t got;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at) != 0 ||
	    write(fd, request, sizeof request - 1) != (ssize_t)sizeof request - 1)
		bench_fail("ask placetd for its metrics");
	s->len = 0;
	while ((got = read(fd, s->text + s->len, TEXT_MAX - s->len)) > 0)
		s->len += (size_t)got;
	(void)close(fd);
	if (got < 0 || s->text == NULL || s->len < 12 ||
	    memcmp(s->text, "HTTP/1.1 200", 12) != 0)
		bench_fail("placetd does not show its metrics");
}

/* The value of a sample without labels. */
static double value_of(const struct scrapes *s, const char *name)
{
	const char *body =
		s->text == NULL ? NULL : memmem(s->text, s->len, "\r\n\r\n", 4);
	struct prom_sample sample;
	struct prom_reader reader;

	if (body == NULL)
		bench_fail("an answer without a body");
	prom_init(&reader, pl_span(body + 4, s->len - (size_t)(body + 4 - s->text)));
	while (prom_next(&reader, &sample, NULL) == PL_OK)
		if (pl_span_eq(sample.name, pl_span_str(name)))
			return sample.value;
	bench_fail("the metrics do not have %s", name);
}

static void measure(struct scrapes *s)
{
	double cpu_s = fleet_look(&s->fleet), missing = 0, bytes = 0;
	struct samples samples;

	samples_init(&samples, s->count);
	for (uint32_t i = 0; i < s->count; i++) {
		double since_s = bench_now_s();

		scrape(s);
		samples_add(&samples, (uint64_t)((bench_now_s() - since_s) * 1e9));
		missing += value_of(s, "placet_scrape_threads_missing");
		bytes = (double)s->len > bytes ? (double)s->len : bytes;
	}
	cpu_s = fleet_look(&s->fleet) - cpu_s;
	bench_emit(s->fields.at, "scrape_p50_ms", samples_ms(&samples, 0.5), "ms");
	bench_emit(s->fields.at, "scrape_p99_ms", samples_ms(&samples, 0.99), "ms");
	bench_emit(s->fields.at, "scrape_bytes", bytes, "B");
	bench_emit(s->fields.at, "scrape_cpu_us", cpu_s * 1e6 / s->count, "us");
	bench_emit(s->fields.at, "threads_missing", missing, "threads");
	samples_done(&samples);
}

static int run_scrapes(struct scrapes *s)
{
	uint64_t violations;

	(void)setenv("PLACET_METRICS_LISTEN", "127.0.0.1:0", 1);
	s->text = bench_alloc(TEXT_MAX, 1);
	live_open(&s->live, &(struct live_opts){.dir = s->dir});
	live_environment(&s->live, NULL);
	fill_store(s, FILL_NODES);
	fill_store(s, FILL_PODS);
	observer_open(&s->observer, &s->live, s->load.pods, 0);
	fleet_start(&s->fleet, &s->live, &s->fleet_opts);
	until_bound(s);
	find_port(s);
	scrape(s); /* the first one makes what the others find */
	measure(s);
	bench_emit(s->fields.at, "placed", value_of(s, "placet_pods_bound_total"),
	           "pods");
	fleet_stop(&s->fleet, NULL);
	violations = verify_fsck(&s->live, s->load.partitions, s->fields.at);
	observer_close(&s->observer);
	live_close(&s->live);
	free(s->text);
	return violations > 0 ? BENCH_FAILED : BENCH_OK;
}

int main(int argc, char **argv)
{
	static struct scrapes s = {
		.load = {.partitions = 64, .nodes = 5000, .pods = 20000},
		.fleet_opts = {.shards = 16, .processes = 1},
		.count = 500,
		.idle_s = 60,
	};
	const struct bench_option options[] = {
		{"nodes", BENCH_COUNT, &s.load.nodes, NULL, "nodes", .low = 16,
	         .high = 1000000},
		{"pods", BENCH_COUNT, &s.load.pods, NULL, "pods", .low = 2},
		{"shards", BENCH_COUNT, &s.fleet_opts.shards, NULL,
	         "shards of the one placetd", .low = 1, .high = FLEET_SHARDS_MAX},
		{"partitions", BENCH_COUNT, &s.load.partitions, NULL, "partitions",
	         .low = 1, .high = KEYS_PARTITIONS_MAX},
		{"scrapes", BENCH_COUNT, &s.count, NULL, "how often it is asked",
	         .low = 1, .high = 1000000},
		{"idle", BENCH_COUNT, &s.idle_s, "S",
	         "end after so long without a newly bound pod", .low = 1},
		{"dir", BENCH_TEXT, &s.dir, "DIR",
	         "parent directory of etcd's data (default TMPDIR or /tmp)", .low = 0},
	};
	const struct bench_usage usage = {
		.name = "metrics",
		.about = "How long a placetd with many shards takes for a scrape of its "
			 "metrics, how\nlarge it is, and what it costs.\n",
		.options = options,
		.count = sizeof options / sizeof options[0],
	};

	bench_options(&usage, argc, argv);
	s.fleet_opts.partitions = s.load.partitions;
	fleet_check(&s.fleet_opts);
	if (s.load.pods > load_pods_most(&s.load))
		bench_refuse("%u pods do not fit on %u nodes (at most %u)", s.load.pods,
		             s.load.nodes, load_pods_most(&s.load));
	bench_field(&s.fields, "\"nodes\":%u,\"pods\":%u,\"shards\":%u,\"partitions\":%u",
	            s.load.nodes, s.load.pods, s.fleet_opts.shards, s.load.partitions);
	return run_scrapes(&s);
}
