/*
 * placet store check: does this etcd keep the promises that Placet rests on?
 *
 * Every endpoint is reached on its own, then each promise is tried through all
 * of them together, under a prefix of random name that is removed at the end.
 */
#include "coord/service/store/store_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "coord/cli/output/command.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/session/options.h"
#include "store/base/clock.h"
#include "store/base/json_put.h"
#include "store/base/rng.h"
#include "store/etcd/launch.h"

enum {
	ENDPOINT_TEXT_MAX = 300,
	JSON_LINE_MAX = 1 << 16,
	PREFIX_MAX = STORE_CHECK_PREFIX_MAX - 16, /* a random name follows */
};

struct store_check_cmd {
	struct store_opts store;
	const char *prefix;
	bool launch;
	bool json;
	bool colour;
	unsigned passed, failed;
	uint64_t step_ns; /* when the step began */
	struct cli_wait wait;
};

static void print_help(void)
{
	(void)printf(
		"usage: placet store check [options]\n\n"
		"Tries what Placet needs of etcd: reach every member, put, compare and\n"
		"set, watch, lease, a watch on which nothing happens (that may take 7 s).\n"
		"Touches only keys under a prefix of its own, and removes them.\n\n%s"
		"  --prefix PREFIX        before the keys that are touched\n"
		"                         (default /placet-check/)\n"
		"  --launch               start an etcd of our own, check it, stop it\n"
		"  -o, --output FORMAT    text or json, one object a line\n"
		"  -h, --help\n\n"
		"Exit status: 0 everything held, 1 something did not, 2 wrong usage.\n",
		store_opts_help);
}

static void report_json(const char *name, const struct pl_err *err, const char *note,
                        double ms)
{
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, JSON_LINE_MAX);
	pl_json_out_init(&out, &buf);
	pl_json_out_object(&out);
	pl_json_put_str(&out, "step", name);
	pl_json_out_name(&out, "ok");
	pl_json_out_bool(&out, err == NULL);
	pl_json_put_str(&out, err == NULL ? "note" : "error",
	                err == NULL ? note : err->msg);
	if (err != NULL) {
		pl_json_put_str(&out, "code", pl_code_name(err->code));
		pl_json_put_str(&out, "advice", pl_code_advice(err->cause));
	}
	pl_json_out_name(&out, "ms");
	pl_json_out_double(&out, ms);
	pl_json_out_end(&out);
	if (pl_json_out_done(&out) == PL_OK)
		(void)printf("%.*s\n", (int)buf.len, (const char *)buf.at);
	pl_buf_done(&buf);
}

static void report(struct store_check_cmd *check, const char *name,
                   const struct pl_err *err, const char *note, uint64_t start_ns)
{
	double ms = (double)(pl_clock_ns() - start_ns) / 1e6;
	const char *on = !check->colour ? "" : err == NULL ? "\033[32m" : "\033[31m";
	const char *off = check->colour ? "\033[0m" : "";

	if (err == NULL)
		check->passed++;
	else
		check->failed++;
	if (check->json)
		report_json(name, err, note, ms);
	else if (err == NULL)
		(void)printf("  %-10s %sok%s   %8.1f ms  %s\n", name, on, off, ms, note);
	else
		(void)printf("  %-10s %sFAIL%s %8.1f ms  %s\n", name, on, off, ms,
		             err->msg);
	/* Some errors from etcd carry the advice already. */
	if (!check->json && err != NULL &&
	    strstr(err->msg, pl_code_advice(err->cause)) == NULL)
		(void)printf("%29sto do: %s\n", "", pl_code_advice(err->cause));
	(void)fflush(stdout);
}

/* Checks each member alone, to name the one of several that is not well. */
static void check_endpoint(struct store_check_cmd *check, const char *endpoint)
{
	struct etcd_opts opts = store_opts_etcd(&check->store);
	struct kv_req req = {.op = KV_STATUS};
	struct store_session session;
	struct kv_result result;
	struct pl_err err = {0};
	uint64_t start = pl_clock_ns();
	char note[STORE_CHECK_NOTE_SIZE + ENDPOINT_TEXT_MAX] = "";

	opts.endpoints = endpoint;
	if (store_session_open(&session, &opts, check->store.timeout_ms, &err) == PL_OK) {
		if (store_session_call(&session, &req, &result, &err) == PL_OK)
			(void)snprintf(note, sizeof note,
			               "%s  etcd %s, member %" PRIx64 "%s", endpoint,
			               result.status.version, result.header.member_id,
			               result.status.leader == result.header.member_id
			                       ? ", leads"
			                       : "");
		store_session_close(&session);
	}
	if (err.code != PL_OK)
		pl_err_wrap(&err, "%s", endpoint);
	report(check, "member", err.code == PL_OK ? NULL : &err, note, start);
}

static void check_endpoints(struct store_check_cmd *check)
{
	const char *text = check->store.endpoints;

	if (strchr(text, ',') == NULL)
		return; /* the first step reports everything */
	while (*text != 0) {
		size_t len = strcspn(text, ",");
		char endpoint[ENDPOINT_TEXT_MAX];

		(void)snprintf(endpoint, sizeof endpoint, "%.*s", (int)len, text);
		check_endpoint(check, endpoint);
		text += len + (text[len] == ',');
	}
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct store_check_cmd *check = ctx;

	cli_wait_end(&check->wait, err);
}

static void on_step(void *ctx, const char *name, const char *note,
                    const struct pl_err *err)
{
	struct store_check_cmd *check = ctx;

	report(check, name, err, note, check->step_ns);
	check->step_ns = pl_clock_ns();
}

static void check_store(struct store_check_cmd *check)
{
	struct etcd_opts etcd = store_opts_etcd(&check->store);
	char prefix[STORE_CHECK_PREFIX_MAX + 1];
	struct store_check_opts opts = {
		.prefix = prefix, .step = on_step, .done = on_done, .ctx = check};
	struct store_session session;
	struct service service;
	struct store_check *running;
	struct pl_err err = {0};

	(void)snprintf(prefix, sizeof prefix, "%s%08" PRIx32 "/", check->prefix,
	               (uint32_t)pl_rng_seed_random());
	check->step_ns = pl_clock_ns();
	if (store_session_open(&session, &etcd, check->store.timeout_ms, &err) != PL_OK) {
		report(check, "open", &err, "", check->step_ns);
		return;
	}
	service = (struct service){.kv = session.kv, .timeout_ms = session.timeout_ms};
	if (store_check_start(&service, &opts, &running, &err) != PL_OK ||
	    cli_wait_for(&session, &check->wait, &err) != PL_OK)
		report(check, "open", &err, "", check->step_ns);
	store_session_close(&session);
}

static enum exit_code check_run(struct store_check_cmd *check)
{
	uint64_t start = pl_clock_ns();

	if (!check->json)
		(void)printf("checking %s\n", check->store.endpoints);
	check_endpoints(check);
	check_store(check);
	if (!check->json)
		(void)printf("%u passed, %u failed, in %.0f ms\n", check->passed,
		             check->failed, (double)(pl_clock_ns() - start) / 1e6);
	return check->failed == 0 ? EXIT_OK : EXIT_FAILED;
}

/* The launch has a loop of its own, which must not be starved for its child to
 * be watched: only start and stop matter here, and both run it. */
static enum exit_code check_launched(struct store_check_cmd *check)
{
	/* Progress of a quiet watch is not waited for without end. */
	const char *const args[] = {"--experimental-watch-progress-notify-interval=500ms",
	                            NULL};
	struct etcd_launch_opts opts = {.members = 1, .extra_args = args};
	struct etcd_launch *launch = NULL;
	struct pl_err err = {0};
	enum exit_code exit_code = EXIT_FAILED;
	uint64_t start = pl_clock_ns();
	uv_loop_t loop;

	if (uv_loop_init(&loop) != 0)
		return EXIT_FAILED;
	if (!check->json)
		(void)printf("starting an etcd of our own ...\n");
	if (etcd_launch_start_wait(&loop, &opts, &launch, &err) == PL_OK) {
		report(check, "launch", NULL, etcd_launch_dir(launch), start);
		check->store.endpoints = etcd_launch_endpoints(launch);
		exit_code = check_run(check);
		etcd_launch_stop_wait(launch);
	} else {
		report(check, "launch", &err, "", start);
	}
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&loop);
	return exit_code;
}

enum { OPT_PREFIX = 1, OPT_LAUNCH };

static const struct option long_options[] = {
	STORE_OPTS_LONG,
	{"prefix", required_argument, NULL, OPT_PREFIX},
	{"launch", no_argument, NULL, OPT_LAUNCH},
	{"output", required_argument, NULL, 'o'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static enum pl_code set_option(struct store_check_cmd *check, int opt, struct pl_err *err)
{
	switch (opt) {
	case OPT_PREFIX:
		if (strlen(optarg) > PREFIX_MAX || *optarg == 0)
			return pl_err_set(err, PL_INVALID, "--prefix: want 1 to %d bytes",
			                  PREFIX_MAX);
		check->prefix = optarg;
		return PL_OK;
	case OPT_LAUNCH:
		check->launch = true;
		return PL_OK;
	case 'o':
		check->json = strcmp(optarg, "json") == 0;
		if (!check->json && strcmp(optarg, "text") != 0)
			return pl_err_set(err, PL_INVALID,
			                  "--output %s: want text or json", optarg);
		return PL_OK;
	default:
		return store_opts_set(&check->store, opt, optarg, err);
	}
}

static enum exit_code usage_error(const char *why)
{
	(void)fprintf(stderr, "placet store check: %s\n(--help shows the options)\n",
	              why);
	return EXIT_USAGE;
}

static enum exit_code store_check(int argc, char **argv)
{
	struct store_check_cmd check = {.prefix = "/placet-check/",
	                                .colour = isatty(STDOUT_FILENO) == 1};
	struct pl_err err = {0};
	enum exit_code exit_code;
	int opt;

	if (store_opts_init(&check.store, &err) != PL_OK)
		return usage_error(err.msg);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":o:h", long_options, NULL)) != -1) {
		if (opt == 'h') {
			print_help();
			return EXIT_OK;
		}
		if (opt == '?' || opt == ':')
			pl_err_set(&err, PL_INVALID, "%s '%s'",
			           opt == ':' ? "a value is missing after" : "no option",
			           argv[optind - 1]);
		options_pass_equals(argv[optind - 1]);
		if (err.code != PL_OK || set_option(&check, opt, &err) != PL_OK)
			return usage_error(err.msg);
	}
	if (optind < argc)
		return usage_error("it takes options only");
	exit_code = check.launch ? check_launched(&check) : check_run(&check);
	store_opts_done(&check.store);
	return exit_code;
}

const struct command store_check_command = {
	.words = "store check",
	.summary = "check that an etcd does what Placet needs",
	.run = store_check,
};
