#include "bench/live/fleet.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/options.h"
#include "bench/common/report.h"

enum { ARGS_MAX = 20, LINE_MAX_BYTES = 8192, FIGURES_SIZE = 1024, NUMBER_SIZE = 16 };

void fleet_check(const struct fleet_opts *opts)
{
	if (opts->processes == 0 || opts->processes > FLEET_PROCESSES_MAX ||
	    opts->shards < opts->processes || opts->shards > FLEET_SHARDS_MAX)
		bench_refuse(
			"want 1 to %d processes, and 1 to %d shards, one each at least",
			FLEET_PROCESSES_MAX, FLEET_SHARDS_MAX);
	if (getenv("PLACETD") == NULL)
		bench_refuse("PLACETD does not name the program; bench/run does that");
	if (opts->shards > opts->partitions)
		bench_refuse("want a partition for each shard at least");
}

static uint32_t shards_of(const struct fleet_opts *opts, unsigned which)
{
	return opts->shards / opts->processes + (which < opts->shards % opts->processes);
}

static void start_one(struct fleet *fleet, const struct live *live, unsigned which)
{
	const struct fleet_opts *opts = &fleet->opts;
	char log[DAEMON_FIXTURE_PATH_SIZE], name[NUMBER_SIZE], shards[NUMBER_SIZE];
	char partitions[NUMBER_SIZE], ttl[NUMBER_SIZE], listen[2 * NUMBER_SIZE];
	const char *args[ARGS_MAX] = {"--etcd",
	                              etcd_launch_endpoints(live->launch),
	                              "--name",
	                              name,
	                              "--shards",
	                              shards,
	                              "--partitions",
	                              partitions,
	                              "--log-format",
	                              "json",
	                              NULL};
	unsigned count = 0;
	struct pl_err err = {0};

	while (args[count] != NULL)
		count++;
	if (opts->ttl_s > 0) {
		args[count++] = "--ttl";
		args[count++] = ttl;
	}
	if (opts->api_port > 0 && which == 0) {
		args[count++] = "--api-listen";
		args[count++] = listen;
	}
	(void)snprintf(listen, sizeof listen, "127.0.0.1:%u", (unsigned)opts->api_port);

	(void)snprintf(name, sizeof name, "%s%u",
	               opts->prefix == NULL ? "p" : opts->prefix, which);
	(void)snprintf(shards, sizeof shards, "%u", shards_of(opts, which));
	(void)snprintf(partitions, sizeof partitions, "%u", opts->partitions);
	(void)snprintf(ttl, sizeof ttl, "%us", opts->ttl_s);
	(void)snprintf(log, sizeof log, "%s/placetd-%s.log",
	               etcd_launch_dir(live->launch), name);
	bench_check(daemon_fixture_start(&fleet->process[which], log, args, &err), &err,
	            "start placetd");
}

void fleet_start(struct fleet *fleet, const struct live *live,
                 const struct fleet_opts *opts)
{
	*fleet = (struct fleet){.opts = *opts};
	for (unsigned i = 0; i < opts->processes; i++)
		start_one(fleet, live, i);
}

double fleet_look(struct fleet *fleet)
{
	double sum = 0;

	for (unsigned i = 0; i < fleet->opts.processes; i++) {
		pid_t pid = fleet->process[i].pid;

		if (pid != 0) {
			fleet->cpu_s[i] = bench_cpu_s(pid);
			fleet->rss_max[i] = bench_rss_max(pid);
		}
		sum += fleet->cpu_s[i];
	}
	return sum;
}

void fleet_emit(const struct fleet *fleet, const char *fields)
{
	for (unsigned i = 0; i < fleet->opts.processes; i++) {
		struct bench_fields one = {.len = 0};

		bench_field(&one, "%s", fields);
		bench_field(&one, "\"process\":\"placetd-%u\"", i);
		bench_emit(one.at, "process_cpu_s", fleet->cpu_s[i], "s");
		bench_emit(one.at, "process_rss_max", fleet->rss_max[i], "B");
	}
}

/* -- the end ------------------------------------------------------------------------ */

static double field_of(const char *line, const char *name)
{
	char quoted[64];
	const char *at;

	(void)snprintf(quoted, sizeof quoted, "\"%s\":", name);
	at = strstr(line, quoted);
	if (at == NULL)
		return 0;
	at += strlen(quoted);
	return strtod(at + (*at == '"'), NULL);
}

static void add_line(const char *line, struct fleet_work *sum)
{
	sum->decided += field_of(line, "decided");
	sum->placed += field_of(line, "placed");
	sum->txns += field_of(line, "txns");
	sum->txns_failed += field_of(line, "txns_failed");
	sum->txns_unknown += field_of(line, "txns_unknown");
	sum->txns_fenced += field_of(line, "txns_fenced");
	sum->conflicts += field_of(line, "conflicts");
	sum->taken_back += field_of(line, "taken_back");
	sum->malformed += field_of(line, "malformed");
}

/* "shard":"p0-12": the number behind the last dash of it. */
static unsigned shard_of(const char *line)
{
	static const char start[] = "\"shard\":\"";
	const char *at = strstr(line, start), *dash = NULL;

	if (at == NULL)
		return FLEET_SHARDS_MAX;
	for (at += sizeof start - 1; *at != 0 && *at != '"'; at++)
		if (*at == '-')
			dash = at;
	return dash == NULL ? FLEET_SHARDS_MAX : (unsigned)strtoul(dash + 1, NULL, 10);
}

/* The last figures of each shard, written when it closes. */
static void read_log(const struct daemon_fixture_process *process, struct fleet_work *sum)
{
	char(*last)[FIGURES_SIZE] = bench_alloc(FLEET_SHARDS_MAX, FIGURES_SIZE);
	char *line = bench_alloc(1, LINE_MAX_BYTES);
	FILE *file = fopen(process->log, "re");

	while (file != NULL && fgets(line, LINE_MAX_BYTES, file) != NULL) {
		unsigned number = shard_of(line);

		if (strstr(line, "work.figures") != NULL && number < FLEET_SHARDS_MAX)
			(void)snprintf(last[number], FIGURES_SIZE, "%.*s",
			               FIGURES_SIZE - 1, line);
	}
	if (file != NULL)
		(void)fclose(file);
	for (unsigned i = 0; i < FLEET_SHARDS_MAX; i++)
		add_line(last[i], sum);
	free(line);
	free(last);
}

/* Before it goes with its directory. */
static void show_end(const struct daemon_fixture_process *process)
{
	char *text = bench_alloc(1, LINE_MAX_BYTES);
	FILE *file = fopen(process->log, "re");
	size_t len = 0;

	if (file != NULL) {
		if (fseek(file, -(LINE_MAX_BYTES - 1), SEEK_END) != 0)
			rewind(file);
		len = fread(text, 1, LINE_MAX_BYTES - 1, file);
		(void)fclose(file);
	}
	(void)fprintf(stderr, "%.*s\n", (int)len, text);
	free(text);
}

void fleet_stop(struct fleet *fleet, struct fleet_work *sum)
{
	struct fleet_work none;

	if (sum == NULL)
		sum = &none;
	*sum = (struct fleet_work){0};
	for (unsigned i = 0; i < fleet->opts.processes; i++)
		if (fleet->process[i].pid != 0)
			daemon_fixture_signal(&fleet->process[i], SIGTERM);
	for (unsigned i = 0; i < fleet->opts.processes; i++) {
		int status;

		if (fleet->process[i].pid == 0)
			continue;
		status = daemon_fixture_wait(&fleet->process[i]);
		if (status != 0) {
			show_end(&fleet->process[i]);
			bench_fail("placetd ended with %d, not gracefully", status);
		}
		read_log(&fleet->process[i], sum);
	}
}

void fleet_kill(struct fleet *fleet)
{
	for (unsigned i = 0; i < fleet->opts.processes; i++)
		if (fleet->process[i].pid != 0)
			daemon_fixture_signal(&fleet->process[i], SIGKILL);
	for (unsigned i = 0; i < fleet->opts.processes; i++)
		if (fleet->process[i].pid != 0)
			(void)daemon_fixture_wait(&fleet->process[i]);
}
