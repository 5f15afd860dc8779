/*
 * conformance_random [--seed N] [--ops N] [--shrink-seconds N]
 *
 * memkv and a real etcd (CONFORMANCE_ETCD; see with_etcd) through the same random
 * histories; TAP on stdout. The seed is T_SEED where none is given, and always
 * the same without either.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/clock.h"
#include "tests/conformance/random.h"

enum { REPORT_MAX = 16 << 20, USAGE_STATUS = 2, SHRINK_SECONDS = 60 };

static int print_usage(const char *program)
{
	(void)fprintf(stderr, "usage: %s [--seed N] [--ops N] [--shrink-seconds N]\n",
	              program);
	return USAGE_STATUS;
}

static bool parse_options(int argc, char **argv, struct random_opts *opts)
{
	for (int i = 1; i < argc; i += 2) {
		char *end = NULL;
		uint64_t value;

		if (i + 1 == argc || argv[i + 1][0] < '0' || argv[i + 1][0] > '9')
			return false;
		value = strtoull(argv[i + 1], &end, 10);
		if (*end != 0)
			return false;
		if (strcmp(argv[i], "--seed") == 0)
			opts->seed = value;
		else if (strcmp(argv[i], "--ops") == 0)
			opts->steps = value;
		else if (strcmp(argv[i], "--shrink-seconds") == 0)
			opts->shrink_ms_max = value * 1000;
		else
			return false;
	}
	return true;
}

/* As comments, a line each. */
static void print_report(const struct pl_buf *report)
{
	const char *at = (const char *)report->at, *end = at + report->len;

	while (at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));

		if (eol == NULL)
			eol = end;
		(void)printf("# %.*s\n", (int)(eol - at), at);
		at = eol + 1;
	}
}

static bool compare_stores(const struct random_opts *opts,
                           const struct subject_opts *etcd)
{
	struct subject_opts memkv = {0};
	struct pair pair = {.subject = {subject_new(&memkv), subject_new(etcd)},
	                    .name = {"memkv", "etcd"}};
	struct random_found *found = calloc(1, sizeof *found);
	uint64_t begin_ms = pl_clock_ms();
	struct pl_buf report;
	bool differ;

	PL_ASSERT(found != NULL);
	pl_buf_init(&report, REPORT_MAX);
	differ = random_differ(&pair, opts, found, &report);
	(void)printf("# seed %" PRIu64 ": %" PRIu64 " steps, %" PRIu64
	             " refused alike, %" PRIu64 " revisions, %" PRIu64 " events, %" PRIu64
	             " ms\n",
	             opts->seed, pair.steps, pair.errors, pair.revisions, pair.events,
	             pl_clock_ms() - begin_ms);
	if (differ) {
		print_report(&report);
		(void)printf("# again: conformance_random --seed %" PRIu64 " --ops %zu\n",
		             found->seed, found->steps_before);
	}
	pl_buf_done(&report);
	free(found);
	for (unsigned k = 0; k < 2; k++)
		subject_free(pair.subject[k]);
	return differ;
}

int main(int argc, char **argv)
{
	struct subject_opts etcd = subject_opts_env();
	const char *seed = getenv("T_SEED");
	struct random_opts opts = {.seed = seed == NULL ? 1 : strtoull(seed, NULL, 10),
	                           .steps = RANDOM_HISTORY_STEPS,
	                           .shrink_ms_max = (uint64_t)SHRINK_SECONDS * 1000};
	bool differ;

	if (!parse_options(argc, argv, &opts))
		return print_usage(argv[0]);
	if (etcd.endpoints == NULL) {
		(void)fprintf(stderr, "CONFORMANCE_ETCD names no etcd; see with_etcd\n");
		return USAGE_STATUS;
	}
	(void)printf("1..1\n");
	differ = compare_stores(&opts, &etcd);
	(void)printf("%sok 1 - random_histories_are_alike\n", differ ? "not " : "");
	return differ;
}
