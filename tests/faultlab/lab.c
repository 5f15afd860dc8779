/* tests/faults: rounds of work under faults, judged, until the time is over. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/clock.h"
#include "store/base/rng.h"
#include "tests/faultlab/round.h"

enum { SECOND_MS = 1000, ROUND_S = 60, SHORT_S = 45 };

struct options {
	uint64_t seconds; /* seconds of faults, over all rounds */
	uint64_t round_s;
	uint64_t seed; /* 0: a fresh one for each round */
	bool loopback;
	bool keep;
	bool strict;
	enum nemesis_what only;
};

static void print_usage(FILE *out)
{
	(void)fprintf(
		out,
		"usage: tests/faults [--minutes N | --seconds N] [--seed S] "
		"[--round SECONDS] [--only ACTION] [--loopback] [--strict] [--keep]\n\n"
		"Clients work on an etcd of three members while things go wrong; then\n"
		"the history is judged. Ends with \"N passed, N failed\", a round each.\n"
		"Time counts while things go wrong; settling comes on top. actions:\n");
#define NEMESIS_HELP(name, text, wire, what) \
	(void)fprintf(out, "  %-18s %s%s\n", text, what, (wire) ? "" : " *");
	NEMESIS_MAP(NEMESIS_HELP)
	(void)fprintf(out, "  (*: also without network namespaces)\n");
}

static bool parse_number(const char *text, uint64_t *out)
{
	char *end;
	unsigned long long number;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return false;
	number = strtoull(text, &end, 10);
	*out = number;
	return *end == 0;
}

static bool parse_one(struct options *opts, const char *name, const char *value)
{
	if (strcmp(name, "--minutes") == 0 && parse_number(value, &opts->seconds) &&
	    opts->seconds < 100000) {
		opts->seconds *= 60;
		return opts->seconds > 0;
	}
	if (strcmp(name, "--seconds") == 0)
		return parse_number(value, &opts->seconds) && opts->seconds > 0;
	if (strcmp(name, "--seed") == 0)
		return parse_number(value, &opts->seed) && opts->seed > 0;
	if (strcmp(name, "--round") == 0)
		return parse_number(value, &opts->round_s) && opts->round_s > 0;
	if (strcmp(name, "--only") == 0 && value != NULL) {
		opts->only = nemesis_by_name(value);
		return opts->only != NEMESIS_COUNT;
	}
	return false;
}

static bool parse_options(int argc, char **argv, struct options *opts)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--loopback") == 0) {
			opts->loopback = true;
			continue;
		}
		if (strcmp(argv[i], "--strict") == 0) {
			opts->strict = true;
			continue;
		}
		if (strcmp(argv[i], "--keep") == 0) {
			opts->keep = true;
			continue;
		}
		if (!parse_one(opts, argv[i], i + 1 < argc ? argv[i + 1] : NULL)) {
			(void)fprintf(stderr, "tests/faults: %s %s: not understood\n\n",
			              argv[i], i + 1 < argc ? argv[i + 1] : "");
			return false;
		}
		i++;
	}
	return true;
}

/* NULL, and why: the wire is not to be had here. */
static struct wire *open_wire(const struct options *opts)
{
	struct wire_opts wire_opts = {.hosts = CLUSTER_MEMBERS + 1,
	                              .ghosts = 1,
	                              .seed = opts->seed == 0 ? 1 : opts->seed};
	struct pl_err err = {0};
	struct wire *wire = NULL;

	if (opts->loopback)
		(void)printf("members on loopback ports, as asked for\n");
	else if (wire_open(&wire_opts, &wire, &err) != PL_OK)
		(void)printf("members on loopback ports, there is no wire: %s\n",
		             err.msg);
	else
		(void)printf("members in network namespaces 10.77.0.1 to 10.77.0.%d\n",
		             CLUSTER_MEMBERS);
	return wire;
}

static void print_totals(const struct round_totals *totals, struct wire *wire)
{
	(void)printf("actions:");
	for (unsigned i = 0; i < NEMESIS_COUNT; i++)
		(void)printf(" %s %u%s", nemesis_name((enum nemesis_what)i),
		             totals->action[i], i + 1 < NEMESIS_COUNT ? "," : "\n");
	(void)printf("calls: %" PRIu64 " ok, %" PRIu64 " refused, %" PRIu64
	             " failed, %" PRIu64 " unknown; %" PRIu64 " events watched\n",
	             totals->ok, totals->refused, totals->failed, totals->unknown,
	             totals->events);
	if (wire == NULL) {
		(void)printf(
			"left out for want of a wire: %u actions (packets cut, lost, "
			"delayed; members isolated; sleeping watchers)\n",
			totals->left_out);
	} else {
		struct wire_count count = wire_total(wire);

		(void)printf("packets: %" PRIu64 " passed, %" PRIu64 " cut, %" PRIu64
		             " lost, %" PRIu64 " doubled, %" PRIu64 " delayed, %" PRIu64
		             " overtaken, %" PRIu64 " overflowed\n",
		             count.passed, count.cut, count.dropped, count.doubled,
		             count.delayed, count.held, count.overflowed);
	}
}

/* Every other round is secure; whether the first one is, is chance. */
static uint64_t fresh_seed(uint64_t last)
{
	uint64_t seed = pl_rng_seed_random() >> 32 | 1;

	return last == 0 ? seed : (seed & ~(uint64_t)2) | (~last & 2);
}

int main(int argc, char **argv)
{
	struct options opts = {
		.seconds = SHORT_S, .round_s = ROUND_S, .only = NEMESIS_COUNT};
	struct round_totals totals = {0};
	unsigned passed = 0, failed = 0;
	uint64_t left_ms, last = 0;
	struct wire *wire;

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		print_usage(stdout);
		return 0;
	}
	if (!parse_options(argc, argv, &opts)) {
		print_usage(stderr);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	wire = open_wire(&opts);
	for (left_ms = opts.seconds * SECOND_MS; left_ms > 0;) {
		struct round_opts round = {.seed = opts.seed == 0
		                                           ? fresh_seed(last)
		                                           : opts.seed + passed + failed,
		                           .faults_ms = opts.round_s * SECOND_MS,
		                           .wire = wire,
		                           .only = opts.only,
		                           .strict = opts.strict,
		                           .keep = opts.keep};

		last = round.seed;
		round.secure = ROUND_IS_SECURE(round.seed);
		if (round.faults_ms > left_ms)
			round.faults_ms = left_ms;
		left_ms -= round.faults_ms;
		(void)printf("round %u: seed %" PRIu64 ", %" PRIu64 " s of faults%s\n",
		             passed + failed + 1, round.seed, round.faults_ms / SECOND_MS,
		             round.secure ? ", TLS and users" : "");
		if (round_run(&round, &totals))
			passed++;
		else
			failed++;
	}
	print_totals(&totals, wire);
	wire_close(wire);
	(void)printf("%u passed, %u failed\n", passed, failed);
	return failed > 0;
}
