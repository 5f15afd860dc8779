/*
 * placet eval: decides cases in the form of tests/conformance, and prints the verdicts
 * in that form, or compares them with what the cases expect.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "coord/cli/eval/eval_case.h"
#include "coord/cli/eval/eval_lines.h"
#include "coord/cli/eval/eval_report.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/options.h"
#include "store/base/clock.h"
#include "store/base/json_out.h"
#include "store/base/num.h"

enum {
	OPT_CHECK = OPTIONS_OWN_FIRST,
	OPT_DIFFERENCES,
	FILES_MAX = 100000,
	WHERE_SIZE = 512,
	ARENA_CHUNK = 1 << 20,
	FLUSH_BYTES = 1 << 20,
	PRINT_MAX = 3 * EVAL_OUT_MAX,
	PROGRESS_FIRST_MS = 1000,
	PROGRESS_EVERY_MS = 200,
};

struct eval {
	bool check;
	int64_t differences;
	bool stopped; /* the file can not be read any further */
	struct eval_report *report;
	struct pl_arena arena; /* of one case */
	struct pl_buf ours;
	struct pl_buf out;
	uint64_t lines;
	uint64_t unread;
	bool shows_progress;
	uint64_t progress_ms; /* when the next line of progress is due */
	bool progress_shown;
};

static void wipe_progress(struct eval *eval)
{
	if (eval->progress_shown)
		(void)fprintf(stderr, "\r\033[K");
	eval->progress_shown = false;
}

static void print_progress(struct eval *eval, const char *where)
{
	if (!eval->shows_progress || pl_clock_ms() < eval->progress_ms)
		return;
	wipe_progress(eval);
	(void)fprintf(stderr, "%" PRIu64 " cases, at ", eval->lines);
	for (const char *at = where; *at != 0; at++)
		(void)fputc(*at > 0x1f && *at < 0x7f ? *at : '?', stderr);
	(void)fflush(stderr);
	eval->progress_shown = true;
	eval->progress_ms = pl_clock_ms() + PROGRESS_EVERY_MS;
}

static void unread(struct eval *eval, const char *where, const struct pl_err *err)
{
	wipe_progress(eval);
	print_message("placet eval: %s: %s", where, err->msg);
	eval->unread++;
	if (eval->report != NULL)
		eval_report_unread(eval->report);
}

static enum pl_code flush_output(struct eval *eval, struct pl_err *err)
{
	wipe_progress(eval);
	return print_result(&eval->out, err);
}

/* {"id":...,"expect":{...}} */
static enum pl_code print_case(struct eval *eval, const struct eval_case *it,
                               struct pl_err *err)
{
	struct pl_json_out out;
	enum pl_code code;

	pl_json_out_init(&out, &eval->out);
	pl_json_out_object(&out);
	pl_json_out_name(&out, "id");
	pl_json_out_str(&out, it->id);
	pl_json_out_name(&out, "expect");
	pl_json_out_raw(&out, pl_buf_span(&eval->ours));
	pl_json_out_end(&out);
	code = pl_json_out_done(&out);
	if (code == PL_OK)
		code = pl_buf_add_str(&eval->out, "\n");
	if (code != PL_OK)
		return pl_err_set(err, code, "print verdicts");
	return eval->out.len < FLUSH_BYTES ? PL_OK : flush_output(eval, err);
}

static enum pl_code run_case(struct eval *eval, const struct eval_case *it,
                             const char *where, struct pl_err *err)
{
	enum pl_code code;

	pl_buf_clear(&eval->ours, SIZE_MAX);
	code = eval_case_run(&eval->arena, it, &eval->ours, err);
	if (code != PL_OK)
		return code;
	if (eval->report != NULL)
		return eval_report_add(eval->report, &eval->arena, it,
		                       pl_buf_span(&eval->ours), where, err);
	code = print_case(eval, it, err);
	eval->stopped = code != PL_OK;
	return code;
}

static void run_line(struct eval *eval, struct pl_span line, const char *where)
{
	struct pl_err err = {0};
	struct eval_case it;
	enum pl_code code;

	if (line.len == 0)
		return;
	eval->lines++;
	print_progress(eval, where);
	pl_arena_reset(&eval->arena);
	code = eval_case_read(&eval->arena, line, &it, &err);
	if (code == PL_OK)
		code = run_case(eval, &it, where, &err);
	if (code != PL_OK)
		unread(eval, where, &err);
}

static void run_file(struct eval *eval, const char *path)
{
	struct eval_lines *lines = NULL;
	struct pl_err err = {0};
	bool more = true;

	if (eval_lines_open(path, EVAL_LINE_MAX, &lines, &err) != PL_OK) {
		unread(eval, path, &err);
		return;
	}
	while (more && !eval->stopped) {
		struct pl_span line = {0};
		enum pl_code code = eval_lines_next(lines, &line, &more, &err);
		char where[WHERE_SIZE];

		(void)snprintf(where, sizeof where, "%s:%zu",
		               strcmp(path, "-") == 0 ? "stdin" : path,
		               eval_lines_number(lines));
		if (code != PL_OK)
			unread(eval, where, &err);
		else if (more)
			run_line(eval, line, where);
		more = more && (code == PL_OK || code == PL_LIMIT);
	}
	eval_lines_close(lines);
}

static enum exit_code print_report(struct eval *eval, bool json)
{
	struct pl_err err = {0};
	enum pl_code code = PL_OK;

	if (eval->report != NULL)
		code = eval_report_print(eval->report, json, &eval->out, &err);
	if (code == PL_OK && !eval->stopped)
		code = flush_output(eval, &err);
	if (code != PL_OK)
		return print_error("eval", &err);
	if (eval->unread > 0)
		return EXIT_USAGE;
	return eval->report == NULL || eval_report_agrees(eval->report) ? EXIT_OK
	                                                                : EXIT_FAILED;
}

static enum exit_code run_files(struct eval *eval, const struct options *options)
{
	struct pl_err err = {0};
	enum exit_code exit_code;

	if (eval->check &&
	    eval_report_new((uint64_t)eval->differences, &eval->report, &err) != PL_OK)
		return print_error("eval", &err);
	pl_arena_init(&eval->arena, ARENA_CHUNK, EVAL_ARENA_MAX);
	pl_buf_init(&eval->ours, EVAL_OUT_MAX);
	pl_buf_init(&eval->out, PRINT_MAX);
	eval->shows_progress = isatty(STDERR_FILENO) == 1;
	eval->progress_ms = pl_clock_ms() + PROGRESS_FIRST_MS;
	for (unsigned i = 0; i < options->arg_count && !eval->stopped; i++)
		run_file(eval, options->args[i]);
	exit_code = print_report(eval, options->format == OUTPUT_JSON);
	eval_report_free(eval->report);
	pl_buf_done(&eval->out);
	pl_buf_done(&eval->ours);
	pl_arena_done(&eval->arena);
	return exit_code;
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct eval *eval = ctx;

	if (opt == OPT_CHECK) {
		eval->check = true;
		return PL_OK;
	}
	if (pl_num_i64_in(pl_span_str(arg), 0, EVAL_DIFFERENCES_MAX, &eval->differences,
	                  NULL) != PL_OK)
		return pl_err_set(err, PL_INVALID, "--differences: want 0 to %d",
		                  EVAL_DIFFERENCES_MAX);
	return PL_OK;
}

static enum exit_code eval(int argc, char **argv)
{
	static const struct option own[] = {
		{"check", no_argument, NULL, OPT_CHECK},
		{"differences", required_argument, NULL, OPT_DIFFERENCES},
		{NULL, 0, NULL, 0},
	};
	static const struct options_spec spec = {
		.words = "eval",
		.usage = "[--check] [options] FILE...",
		.about =
			"Decides test cases. Each case is a JSON object on a line of its own: a\n"
			"cluster, a pod to place and the expected result; gzip or plain; - is stdin.\n"
			"Prints a line a case, {\"id\":...,\"expect\":{...}}, with Placet's verdicts in\n"
			"the form of the cases. docs/cli.md describes the form.\n",
		.help = "  --check                compare with what is expected, and print "
			"how many\n"
			"                         agree in each category\n"
			"  --differences N        the first N in full (default 10)\n",
		.example = "  placet eval --check tests/conformance/*.jsonl.gz\n",
		.exits = "0 all agree (without --check: all were read), 1 some "
			 "differ,\n2 wrong usage, or something could not be read",
		.common = OPTIONS_OFFLINE | OPTIONS_FORMAT,
		.args_min = 1,
		.args_max = FILES_MAX,
		.own = own,
		.take = set_option,
	};
	struct eval it = {.differences = EVAL_DIFFERENCES_DEFAULT};
	struct options options;
	enum exit_code exit_code;

	if (!options_parse(&spec, argc, argv, &it, &options, &exit_code))
		return exit_code;
	exit_code = run_files(&it, &options);
	options_done(&options);
	return exit_code;
}

const struct command eval_command = {
	.words = "eval",
	.summary = "decide test cases and compare with what they expect",
	.run = eval,
};
