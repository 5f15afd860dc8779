/* placet replay: decides again what a decision log has recorded, and compares. */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/eval/eval_lines.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/options.h"
#include "shardsched/decision_log/decision_log.h"

enum { SHOWN_MAX = 3 };

static void print_difference(size_t number, struct pl_span line, struct pl_span again)
{
	(void)printf("line %zu decided otherwise\n  then %.*s\n  now  %.*s\n", number,
	             (int)line.len, (const char *)line.at, (int)again.len,
	             (const char *)again.at);
}

static enum pl_code replay_lines(struct replay *replay, struct eval_lines *lines,
                                 struct pl_err *err)
{
	for (;;) {
		struct replay_figures figures;
		struct pl_span line, again;
		bool more = false;
		enum pl_code code = eval_lines_next(lines, &line, &more, err);

		if (code != PL_OK || !more)
			return code;
		if (line.len == 0)
			continue;
		if (replay_line(replay, line, &again, err) != PL_OK)
			return pl_err_wrap(err, "line %zu", eval_lines_number(lines));
		replay_figures(replay, &figures);
		if (again.len > 0 && figures.differ <= SHOWN_MAX)
			print_difference(eval_lines_number(lines), line, again);
	}
}

static enum pl_code replay_file(const char *path, struct replay_figures *figures,
                                struct pl_err *err)
{
	struct eval_lines *lines = NULL;
	struct replay *replay = NULL;
	enum pl_code code = replay_new(&replay, err);

	if (code == PL_OK)
		code = eval_lines_open(path, DECISION_LOG_LINE_MAX, &lines, err);
	if (code == PL_OK && replay_lines(replay, lines, err) != PL_OK)
		code = pl_err_wrap(err, "%s", path);
	if (code == PL_OK)
		replay_figures(replay, figures);
	eval_lines_close(lines);
	replay_free(replay);
	return code;
}

static enum exit_code replay_run(int argc, char **argv)
{
	static const struct options_spec spec = {
		.words = "replay",
		.usage = "LOG",
		.about =
			"Makes the decisions of a decision log again, with the same objects,\n"
			"configuration and seed, and compares the results byte for byte. Plain or\n"
			"gzip; - is stdin.\n",
		.example = "  placet explain -f pod.yaml --nodes nodes.json --record "
			   "log.jsonl\n"
			   "  placet replay log.jsonl\n",
		.exits = "0 all decisions came out the same, 1 some did not or the log "
			 "is\nbroken, 2 wrong usage",
		.common = OPTIONS_OFFLINE,
		.args_min = 1,
		.args_max = 1,
	};
	struct replay_figures figures = {0};
	struct pl_err err = {0};
	struct options options;
	enum exit_code exit_code;

	if (!options_parse(&spec, argc, argv, NULL, &options, &exit_code))
		return exit_code;
	if (replay_file(options.args[0], &figures, &err) != PL_OK) {
		options_done(&options);
		return print_error("replay", &err);
	}
	(void)printf("%" PRIu64 " decisions, %" PRIu64 " differ\n", figures.decisions,
	             figures.differ);
	options_done(&options);
	return figures.differ == 0 ? EXIT_OK : EXIT_FAILED;
}

const struct command replay_command = {
	.words = "replay",
	.summary = "make the decisions of a decision log again and compare",
	.run = replay_run,
};
