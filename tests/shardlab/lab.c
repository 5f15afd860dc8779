/* tests/faults --shards: rounds with processes that place pods, until the time is
 * over. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/base/rng.h"
#include "tests/shardlab/round.h"

enum {
	SECOND_MS = 1000,
	ROUND_S = 60,
	SHORT_S = 20,
	LONG_S = 240, /* a run of this length must have seen everything */
	NODES = 160,
	PODS = 900,
	NODES_MIN = 100,
	PODS_MIN = 400,
};

struct lab_options {
	uint64_t seconds, round_s, seed, nodes, pods;
	enum act_what only;
	bool keep;
};

static void usage(FILE *out)
{
	(void)fprintf(
		out,
		"usage: tests/faults --shards [--minutes N | --seconds N] [--seed S]\n"
		"       [--round SECONDS] [--only FAULT] [--nodes N] [--pods N] [--keep]\n\n"
		"Processes of placetd place pods of every kind, over an etcd of their own,\n"
		"while faults hit them and the store, and users change pods and nodes. Every\n"
		"revision is judged. Every other pair of rounds runs with TLS, users and\n"
		"passwords. After the last fault everything has to be as it should be\n"
		"within a bound. Ends with \"N passed, N failed\", a round each.\n"
		"The time is that of the faults alone. Faults and commands:\n");
	for (unsigned i = 0; i < ACT_COUNT; i++)
		(void)fprintf(out, "  %-14s %s\n", act_name((enum act_what)i),
		              act_about((enum act_what)i));
}

static bool parse_number(const char *text, uint64_t *out)
{
	char *end;

	if (text == NULL || text[0] < '1' || text[0] > '9')
		return false;
	*out = strtoull(text, &end, 10);
	return *end == 0;
}

static bool parse_one(struct lab_options *opts, const char *name, const char *value)
{
	if (strcmp(name, "--minutes") == 0 && parse_number(value, &opts->seconds) &&
	    opts->seconds < 100000) {
		opts->seconds *= 60;
		return true;
	}
	if (strcmp(name, "--seconds") == 0)
		return parse_number(value, &opts->seconds);
	if (strcmp(name, "--seed") == 0)
		return parse_number(value, &opts->seed);
	if (strcmp(name, "--round") == 0)
		return parse_number(value, &opts->round_s);
	if (strcmp(name, "--nodes") == 0)
		return parse_number(value, &opts->nodes) && opts->nodes >= NODES_MIN &&
		       opts->nodes <= 4000;
	if (strcmp(name, "--pods") == 0)
		return parse_number(value, &opts->pods) && opts->pods >= PODS_MIN &&
		       opts->pods <= 20000;
	if (strcmp(name, "--only") == 0 && value != NULL) {
		opts->only = act_by_name(value);
		return opts->only < ACT_COUNT && act_group(opts->only) != ACT_OF_USERS;
	}
	return false;
}

static bool parse_options(int argc, char **argv, struct lab_options *opts)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--keep") == 0) {
			opts->keep = true;
			continue;
		}
		if (!parse_one(opts, argv[i], i + 1 < argc ? argv[i + 1] : NULL)) {
			(void)fprintf(stderr,
			              "tests/faults --shards: %s %s: not understood\n\n",
			              argv[i], i + 1 < argc ? argv[i + 1] : "");
			return false;
		}
		i++;
	}
	return true;
}

/* True: the round found nothing wrong. */
static bool run_one(const struct round_opts *round, struct round_totals *totals)
{
	int status = 0;
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		round_run(round, totals);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		continue;
	if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
		(void)printf("  the round ended without a result: status %d\n", status);
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Prints the counts of budget decisions that never came up, except those that need
 * not. */
static unsigned print_budgets(const struct round_totals *totals)
{
	unsigned missing = 0;

	(void)printf("budgets:");
	for (unsigned i = 0; i < PDB_TALLIES; i++) {
		(void)printf(" %s %" PRIu64 ",", pdb_tally_text[i], totals->budgets[i]);
		missing +=
			i != PDB_MIXED && i != PDB_OVERDRAWN && totals->budgets[i] == 0;
	}
	(void)printf(" counters elected %" PRIu64 " times\n", totals->counters);
	(void)printf("gangs: %" PRIu64 " in one transaction, %" PRIu64 " larger, %" PRIu64
	             " aborted\n",
	             totals->gangs[OBSERVER_SMALL], totals->gangs[OBSERVER_LARGE],
	             totals->gangs[OBSERVER_ABORTED]);
	return missing + (totals->gangs[OBSERVER_SMALL] == 0) +
	       (totals->gangs[OBSERVER_LARGE] == 0);
}

static unsigned print_totals(const struct round_totals *totals)
{
	unsigned missing = 0;

	(void)printf("acts:");
	for (unsigned i = 0; i < ACT_COUNT; i++) {
		(void)printf(" %s %u%s", act_name((enum act_what)i), totals->act[i],
		             i + 1 < ACT_COUNT ? "," : "\n");
		missing += totals->act[i] == 0;
	}
	(void)printf("pods bound:");
	for (unsigned i = 0; i < SCENARIO_KINDS; i++) {
		bool wanted = i != SCENARIO_NEVER;

		if (wanted)
			(void)printf(" %s %" PRIu64 ";", scenario_kind_text[i],
			             totals->kind[i]);
		missing += wanted && totals->kind[i] == 0;
	}
	missing += totals->preempted == 0;
	(void)printf(" preempted %" PRIu64 "\n", totals->preempted);
	missing += print_budgets(totals);
	(void)printf("judged: %" PRIu64 " of %" PRIu64 " revisions, %" PRIu64
	             " bindings; %" PRIu64 " times a partition lost its owner; listed "
	             "again %" PRIu64 " times; recovered at most %.1f s after the last "
	             "fault\n",
	             totals->judged, totals->revisions, totals->bound,
	             totals->owners_lost, totals->unjudged,
	             (double)totals->place_ms_max / 1000);
	return missing;
}

static const char *env_program(const char *name, bool must)
{
	const char *path = getenv(name);

	if (path == NULL && must) {
		(void)fprintf(stderr, "%s has to name a program\n", name);
		exit(2);
	}
	return path;
}

int main(int argc, char **argv)
{
	struct lab_options opts = {.seconds = SHORT_S,
	                           .round_s = ROUND_S,
	                           .nodes = NODES,
	                           .pods = PODS,
	                           .only = ACT_COUNT};
	struct round_totals *totals;
	unsigned passed = 0, failed = 0, missing;

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		usage(stdout);
		return 0;
	}
	if (!parse_options(argc, argv, &opts)) {
		usage(stderr);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	totals = mmap(NULL, sizeof *totals, PROT_READ | PROT_WRITE,
	              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (totals == MAP_FAILED)
		return 2;
	if (opts.seed == 0) /* in the first round, most gangs are large (round.c) */
		opts.seed = pl_rng_seed_random() >> 40 | 1;
	for (uint64_t left_s = opts.seconds; left_s > 0;) {
		uint64_t round_s = opts.round_s < left_s ? opts.round_s : left_s;
		struct round_opts round = {
			.seed = opts.seed + passed + failed,
			.faults_ms = round_s * SECOND_MS,
			.nodes = (unsigned)opts.nodes,
			.pods = (unsigned)opts.pods,
			.only = opts.only,
			.keep = opts.keep,
			.secure = ROUND_IS_SECURE(opts.seed + passed + failed),
			.placet = env_program("PLACET", true),
			.placetd = env_program("PLACETD", true),
			.skew = env_program("SKEW", false)};

		left_s -= round_s;
		(void)printf("round %u of shards: seed %" PRIu64 ", %" PRIu64
		             " s of faults, %u nodes, %u pods%s\n",
		             passed + failed + 1, round.seed, round_s, round.nodes,
		             round.pods, round.secure ? ", TLS and users" : "");
		if (run_one(&round, totals))
			passed++;
		else
			failed++;
	}
	missing = print_totals(totals);
	if (missing > 0 && opts.seconds >= LONG_S && opts.only == ACT_COUNT) {
		(void)printf("%u of these never came up\n", missing);
		failed++;
	}
	(void)printf("%u passed, %u failed\n", passed, failed);
	return failed == 0 ? 0 : 1;
}
