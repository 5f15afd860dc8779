/*
 * placet fsck: checks the invariants between nodes, allocs, pods, gangs and rules on a
 * live store, at one revision, and repairs what can be derived.
 */
#include "coord/service/fsck/fsck.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/session/confirm.h"
#include "coord/service/fsck/repair.h"
#include "store/base/clock.h"
#include "store/base/rng.h"

enum {
	OPT_REPAIR = OPTIONS_OWN_FIRST,
	SHOWN_MAX = 100000,
	OUT_MAX = 512 << 20,
	PROGRESS_EVERY_MS = 200,
	QUESTION_SIZE = 80,
};

enum problem_column { CODE, KIND, KEY, OTHER, WHAT, COLUMNS };

static const struct output_column columns[COLUMNS] = {
	[CODE] = {"CODE", "code", OUTPUT_ALWAYS},
	[KIND] = {"KIND", "kind", OUTPUT_ALWAYS},
	[KEY] = {"KEY", "key", OUTPUT_ALWAYS},
	[OTHER] = {"OTHER KEY", "otherKey", OUTPUT_ON_WIDE},
	[WHAT] = {"WHAT", "what", OUTPUT_ALWAYS},
};
static const struct output_schema schema = {
	.kind = "Finding", .columns = columns, .count = COLUMNS};

struct fsck_cmd {
	const struct cli_session *cli;
	bool repair;
	struct fsck *fsck;
	struct output_row *row; /* the first so many, in the arena */
	size_t shown;
	struct pl_arena arena;
	int64_t revision;
	uint64_t progress_ms;
	bool told_progress, no_memory;
	struct cli_wait wait;
	uint64_t mended, refused; /* or would be mended */
};

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct fsck_cmd *c = ctx;

	(void)arg;
	(void)err;
	PL_ASSERT(opt == OPT_REPAIR);
	c->repair = true;
	return PL_OK;
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	const struct fsck_cmd *c = ctx;

	if (!c->repair && (options->dry_run || options->yes))
		return pl_err_set(err, PL_INVALID, "%s goes with --repair",
		                  options->dry_run ? "--dry-run" : "--yes");
	return PL_OK;
}

/* -- the check --------------------------------------------------------------------- */

static void wipe_progress(struct fsck_cmd *c)
{
	if (c->told_progress)
		(void)fprintf(stderr, "\r\033[K");
	c->told_progress = false;
}

static void on_progress(void *ctx, const struct fsck_counts *counts)
{
	struct fsck_cmd *c = ctx;
	uint64_t now_ms = pl_clock_ms();

	if (now_ms < c->progress_ms || isatty(STDERR_FILENO) != 1)
		return;
	wipe_progress(c);
	(void)fprintf(stderr, "%" PRIu64 " keys, %" PRIu64 " violations", counts->records,
	              counts->violations);
	(void)fflush(stderr);
	c->told_progress = true;
	c->progress_ms = now_ms + PROGRESS_EVERY_MS;
}

static struct pl_span keep_text(struct fsck_cmd *c, struct pl_span text)
{
	struct pl_span kept = pl_arena_dup(&c->arena, text);

	if (kept.at == NULL)
		c->no_memory = true;
	return kept;
}

static void on_found(void *ctx, const struct fsck_finding *finding)
{
	struct fsck_cmd *c = ctx;
	struct output_row *row;

	if (c->shown == SHOWN_MAX || c->no_memory)
		return;
	row = &c->row[c->shown];
	*row = (struct output_row){0};
	output_text(row, CODE, pl_span_str(fsck_code_word(finding->code)));
	output_text(row, KIND,
	            fsck_is_condition(finding->code) ? PL_SPAN_LIT("condition")
	                                             : PL_SPAN_LIT("violation"));
	output_text(row, KEY, keep_text(c, finding->key));
	if (finding->other.len > 0)
		output_text(row, OTHER, keep_text(c, finding->other));
	output_text(row, WHAT, keep_text(c, pl_span_str(finding->what)));
	c->shown++;
}

static void on_done(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct fsck_cmd *c = ctx;

	c->revision = revision;
	cli_wait_end(&c->wait, err);
}

static enum pl_code run_loop(struct fsck_cmd *c, struct pl_err *err)
{
	enum pl_code code = cli_wait_for(c->cli->session, &c->wait, err);

	wipe_progress(c);
	if (code == PL_OK && c->no_memory)
		return pl_err_set(err, PL_NOMEM, "keep what was found");
	return code;
}

static enum pl_code find_problems(struct fsck_cmd *c, struct pl_err *err)
{
	struct fsck_opts opts = {.partitions = c->cli->meta.partitions,
	                         .by = pl_span_str(c->cli->session->user),
	                         .wall_ms = pl_clock_wall_ms(),
	                         .seed = pl_rng_seed_random(),
	                         .timeout_ms = c->cli->session->timeout_ms,
	                         .found = on_found,
	                         .progress = on_progress,
	                         .done = on_done,
	                         .ctx = c};
	enum pl_code code;

	fsck_free(c->fsck);
	c->fsck = NULL;
	c->wait = (struct cli_wait){0};
	c->shown = 0;
	pl_arena_reset(&c->arena);
	c->row = pl_arena_alloc(&c->arena, SHOWN_MAX * sizeof *c->row);
	if (c->row == NULL)
		return pl_err_set(err, PL_NOMEM, "keep what is found");
	code = fsck_open(c->cli->session->kv, &opts, &c->fsck, err);
	return code == PL_OK ? run_loop(c, err) : code;
}

static const struct fsck_counts *counts_of(const struct fsck_cmd *c)
{
	return fsck_core_counts(fsck_core(c->fsck));
}

static void print_summary(const struct fsck_cmd *c)
{
	const struct fsck_counts *n = counts_of(c);

	print_message("at revision %" PRId64 ": %" PRIu64 " nodes, %" PRIu64
	              " pods, %" PRIu64 " of them on a node; %" PRIu64
	              " violation%s, %" PRIu64 " condition%s",
	              c->revision, n->nodes, n->pods, n->bound, n->violations,
	              n->violations == 1 ? "" : "s", n->conditions,
	              n->conditions == 1 ? "" : "s");
	if (n->violations + n->conditions > c->shown)
		print_message("only the first %d are shown", SHOWN_MAX);
}

static enum pl_code print_problems(struct fsck_cmd *c, struct pl_err *err)
{
	struct output output;
	struct pl_buf out;
	enum pl_code code = PL_OK;

	pl_buf_init(&out, OUT_MAX);
	output_init(&output, &schema, c->cli->options->format, false);
	/* An empty table is not printed. */
	if (c->shown > 0 || c->cli->options->format >= OUTPUT_JSON)
		code = output_list(&output, c->row, c->shown, &out, err);
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}

/* -- the repair -------------------------------------------------------------------- */

static void on_repaired(void *ctx, const struct repair_result *result)
{
	struct fsck_cmd *c = ctx;

	switch (result->outcome) {
	case REPAIR_DONE:
	case REPAIR_WOULD:
		c->mended++;
		if (result->value.len == 0)
			print_message("%s " PL_SPAN_FMT,
			              result->outcome == REPAIR_DONE ? "deleted"
			                                             : "would delete",
			              PL_SPAN_ARG(result->key));
		else
			print_message("%s " PL_SPAN_FMT " " PL_SPAN_FMT,
			              result->outcome == REPAIR_DONE ? "repaired"
			                                             : "would write",
			              PL_SPAN_ARG(result->key),
			              PL_SPAN_ARG(result->value));
		return;
	case REPAIR_RIGHT:
		print_message("already right " PL_SPAN_FMT, PL_SPAN_ARG(result->key));
		return;
	case REPAIR_REFUSED:
		c->refused++;
		print_message("not repaired " PL_SPAN_FMT ": %s",
		              PL_SPAN_ARG(result->key), result->why);
		return;
	}
	PL_UNREACHABLE("outcome of a repair");
}

static void on_repair_done(void *ctx, const struct pl_err *err)
{
	struct fsck_cmd *c = ctx;

	cli_wait_end(&c->wait, err);
}

static enum pl_code repair_all(struct fsck_cmd *c, struct pl_err *err)
{
	struct repair_opts opts = {.core = fsck_core(c->fsck),
	                           .partitions = c->cli->meta.partitions,
	                           .revision = c->revision,
	                           .dry_run = c->cli->options->dry_run,
	                           .timeout_ms = c->cli->session->timeout_ms,
	                           .report = on_repaired,
	                           .done = on_repair_done,
	                           .ctx = c};
	struct repair *mending;
	enum pl_code code;

	c->wait = (struct cli_wait){0};
	code = repair_open(c->cli->session->kv, &opts, &mending, err);
	return code == PL_OK ? run_loop(c, err) : code;
}

static uint64_t count_repairs(const struct fsck_cmd *c)
{
	struct fsck_repair what;
	uint64_t cursor = 0, count = 0;

	while (fsck_core_repair(fsck_core(c->fsck), &cursor, &what))
		count++;
	return count;
}

static enum pl_code repair(struct fsck_cmd *c, struct pl_err *err)
{
	uint64_t count = count_repairs(c);
	char question[QUESTION_SIZE];
	enum pl_code code = PL_OK;

	if (count == 0) {
		print_message("nothing can be repaired");
		return PL_OK;
	}
	(void)snprintf(question, sizeof question, "Repair %" PRIu64 " key%s?", count,
	               count == 1 ? "" : "s");
	if (!c->cli->options->dry_run)
		code = ask(c->cli->options, question, err);
	if (code == PL_OK)
		code = repair_all(c, err);
	if (code != PL_OK || c->cli->options->dry_run)
		return code;
	print_message("%" PRIu64 " repaired, %" PRIu64 " not; once more:", c->mended,
	              c->refused);
	code = find_problems(c, err);
	if (code == PL_OK)
		print_summary(c);
	return code;
}

/* -- the command ------------------------------------------------------------------- */

static enum pl_code check_run(void *ctx, const struct cli_session *cli,
                              struct pl_err *err)
{
	struct fsck_cmd *c = ctx;
	enum pl_code code;

	c->cli = cli;
	c->progress_ms = pl_clock_ms() + PROGRESS_EVERY_MS;
	code = find_problems(c, err);
	if (code == PL_OK)
		code = print_problems(c, err);
	if (code == PL_OK) {
		print_summary(c);
		if (c->repair)
			code = repair(c, err);
	}
	return code;
}

static const struct option own[] = {{"repair", no_argument, NULL, OPT_REPAIR}, {0}};

static const struct options_spec spec = {
	.words = "fsck",
	.of_store = "it checks the records themselves",
	.usage = "[--repair] [options]",
	.about =
		"Reads all nodes, allocs, pods, gangs and registered rules at one revision and\n"
		"checks the invariants between them. Each violation has a stable code, its\n"
		"keys and a sentence. With --repair it repairs what can be derived: an alloc\n"
		"from the pods that are bound to its node, a lost state from the alloc that\n"
		"lists its pod, a lost pointer from its pod, a registry from what pods carry.\n"
		"Repairs compare what they were derived from, so shards may keep working. What\n"
		"cannot be derived is only reported.\n",
	.help = "  --repair               repair violations; with --dry-run only print how\n",
	.example = "  placet fsck\n"
		   "  placet fsck --repair --dry-run\n"
		   "  placet fsck -o json | jq '.items[].code' | sort | uniq -c\n",
	.exits =
		"0 no violation is left, 1 violations are left or the store could not be "
		"read,\n2 wrong usage",
	.common = OPTIONS_OUTPUT | OPTIONS_DRY_RUN | OPTIONS_YES,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct fsck_cmd c = {0};
	enum exit_code exit_code;

	pl_arena_init(&c.arena, 0, 0);
	exit_code = cli_session_run(&spec, argc, argv, check_run, &c);
	if (exit_code == EXIT_OK && c.fsck != NULL && counts_of(&c)->violations > 0)
		exit_code = EXIT_FAILED;
	fsck_free(c.fsck);
	pl_arena_done(&c.arena);
	return exit_code;
}

const struct command fsck_command = {
	.words = "fsck",
	.summary = "check the invariants of the store; repair it",
	.run = run_command,
	.spec = &spec};
