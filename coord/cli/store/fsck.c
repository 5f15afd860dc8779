/*
 * placet fsck: proves what must hold between nodes, allocs, pods, gangs and rules on a
 * live store, at one revision, and mends what can be derived.
 */
#include "coord/fsck/fsck.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "coord/cli/out/say.h"
#include "coord/cli/reach/ask.h"
#include "coord/cli/reach/reach.h"
#include "coord/fsck/mend.h"
#include "store/base/clock.h"
#include "store/base/rng.h"

enum {
	OPT_REPAIR = OPTIONS_OWN_FIRST,
	SHOWN_MAX = 100000,
	OUT_MAX = 512 << 20,
	PROGRESS_EVERY_MS = 200,
	QUESTION_SIZE = 80,
};

enum column { CODE, KIND, KEY, OTHER, WHAT, COLUMNS };

static const struct output_column columns[COLUMNS] = {
	[CODE] = {"CODE", "code", OUTPUT_ALWAYS},
	[KIND] = {"KIND", "kind", OUTPUT_ALWAYS},
	[KEY] = {"KEY", "key", OUTPUT_ALWAYS},
	[OTHER] = {"OTHER KEY", "otherKey", OUTPUT_ON_WIDE},
	[WHAT] = {"WHAT", "what", OUTPUT_ALWAYS},
};
static const struct output_schema schema = {
	.kind = "Finding", .columns = columns, .count = COLUMNS};

struct checking {
	const struct reach *reach;
	bool repair;
	struct fsck *fsck;
	struct output_row *row; /* the first so many, in the arena */
	size_t shown;
	struct pl_arena arena;
	int64_t revision;
	uint64_t progress_ms;
	bool told_progress, over, no_memory;
	uint64_t mended, refused; /* or would be mended */
	struct pl_err err;
};

static enum pl_code take(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct checking *c = ctx;

	(void)arg;
	(void)err;
	PL_ASSERT(opt == OPT_REPAIR);
	c->repair = true;
	return PL_OK;
}

static enum pl_code check(void *ctx, const struct options *options, struct pl_err *err)
{
	const struct checking *c = ctx;

	if (!c->repair && (options->dry_run || options->yes))
		return pl_err_set(err, PL_INVALID, "%s goes with --repair",
		                  options->dry_run ? "--dry-run" : "--yes");
	return PL_OK;
}

/* -- the check --------------------------------------------------------------------- */

static void progress_wipe(struct checking *c)
{
	if (c->told_progress)
		(void)fprintf(stderr, "\r\033[K");
	c->told_progress = false;
}

static void on_progress(void *ctx, const struct fsck_counts *counts)
{
	struct checking *c = ctx;
	uint64_t now_ms = pl_clock_ms();

	if (now_ms < c->progress_ms || isatty(STDERR_FILENO) != 1)
		return;
	progress_wipe(c);
	(void)fprintf(stderr, "%" PRIu64 " keys, %" PRIu64 " violations", counts->records,
	              counts->violations);
	(void)fflush(stderr);
	c->told_progress = true;
	c->progress_ms = now_ms + PROGRESS_EVERY_MS;
}

static struct pl_span keep(struct checking *c, struct pl_span text)
{
	struct pl_span kept = pl_arena_dup(&c->arena, text);

	if (kept.at == NULL)
		c->no_memory = true;
	return kept;
}

static void on_found(void *ctx, const struct fsck_finding *finding)
{
	struct checking *c = ctx;
	struct output_row *row;

	if (c->shown == SHOWN_MAX || c->no_memory)
		return;
	row = &c->row[c->shown];
	*row = (struct output_row){0};
	output_text(row, CODE, pl_span_str(fsck_code_word(finding->code)));
	output_text(row, KIND,
	            fsck_is_condition(finding->code) ? PL_SPAN_LIT("condition")
	                                             : PL_SPAN_LIT("violation"));
	output_text(row, KEY, keep(c, finding->key));
	if (finding->other.len > 0)
		output_text(row, OTHER, keep(c, finding->other));
	output_text(row, WHAT, keep(c, pl_span_str(finding->what)));
	c->shown++;
}

static void on_done(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct checking *c = ctx;

	c->over = true;
	c->revision = revision;
	if (err != NULL)
		c->err = *err;
}

static enum pl_code run_loop(struct checking *c, struct pl_err *err)
{
	while (!c->over)
		(void)uv_run(&c->reach->session->loop, UV_RUN_ONCE);
	progress_wipe(c);
	if (c->err.code != PL_OK)
		*err = c->err;
	else if (c->no_memory)
		return pl_err_set(err, PL_NOMEM, "keep what was found");
	return c->err.code;
}

static enum pl_code look(struct checking *c, struct pl_err *err)
{
	char who[REACH_WHO_SIZE];
	struct fsck_opts opts = {.partitions = c->reach->meta.partitions,
	                         .by = pl_span_str(reach_who(who)),
	                         .wall_ms = pl_clock_wall_ms(),
	                         .seed = pl_rng_seed_random(),
	                         .timeout_ms = c->reach->session->timeout_ms,
	                         .found = on_found,
	                         .progress = on_progress,
	                         .done = on_done,
	                         .ctx = c};
	enum pl_code code;

	fsck_free(c->fsck);
	c->fsck = NULL;
	c->over = false;
	c->shown = 0;
	pl_arena_reset(&c->arena);
	c->row = pl_arena_alloc(&c->arena, SHOWN_MAX * sizeof *c->row);
	if (c->row == NULL)
		return pl_err_set(err, PL_NOMEM, "keep what is found");
	code = fsck_open(c->reach->session->kv, &opts, &c->fsck, err);
	return code == PL_OK ? run_loop(c, err) : code;
}

static const struct fsck_counts *counts_of(const struct checking *c)
{
	return fsck_core_counts(fsck_core(c->fsck));
}

static void say_summary(const struct checking *c)
{
	const struct fsck_counts *n = counts_of(c);

	say("at revision %" PRId64 ": %" PRIu64 " nodes, %" PRIu64 " pods, %" PRIu64
	    " of them on a node; %" PRIu64 " violation%s, %" PRIu64 " condition%s",
	    c->revision, n->nodes, n->pods, n->bound, n->violations,
	    n->violations == 1 ? "" : "s", n->conditions, n->conditions == 1 ? "" : "s");
	if (n->violations + n->conditions > c->shown)
		say("only the first %d are shown", SHOWN_MAX);
}

static enum pl_code print(struct checking *c, struct pl_err *err)
{
	struct output output;
	struct pl_buf out;
	enum pl_code code = PL_OK;

	pl_buf_init(&out, OUT_MAX);
	output_init(&output, &schema, c->reach->options->format, false);
	/* A table of nothing is nothing. */
	if (c->shown > 0 || c->reach->options->format >= OUTPUT_JSON)
		code = output_list(&output, c->row, c->shown, &out, err);
	if (code == PL_OK)
		code = say_result(&out, err);
	pl_buf_done(&out);
	return code;
}

/* -- the repair -------------------------------------------------------------------- */

static void on_mended(void *ctx, const struct mend_told *told)
{
	struct checking *c = ctx;

	switch (told->outcome) {
	case MEND_DONE:
	case MEND_WOULD:
		c->mended++;
		if (told->value.len == 0)
			say("%s " PL_SPAN_FMT,
			    told->outcome == MEND_DONE ? "deleted" : "would delete",
			    PL_SPAN_ARG(told->key));
		else
			say("%s " PL_SPAN_FMT " " PL_SPAN_FMT,
			    told->outcome == MEND_DONE ? "mended" : "would write",
			    PL_SPAN_ARG(told->key), PL_SPAN_ARG(told->value));
		return;
	case MEND_RIGHT:
		say("right by now " PL_SPAN_FMT, PL_SPAN_ARG(told->key));
		return;
	case MEND_REFUSED:
		c->refused++;
		say("not mended " PL_SPAN_FMT ": %s", PL_SPAN_ARG(told->key), told->why);
		return;
	}
	PL_UNREACHABLE("outcome of a repair");
}

static void on_mend_done(void *ctx, const struct pl_err *err)
{
	struct checking *c = ctx;

	c->over = true;
	if (err != NULL)
		c->err = *err;
}

static enum pl_code mend(struct checking *c, struct pl_err *err)
{
	struct mend_opts opts = {.core = fsck_core(c->fsck),
	                         .partitions = c->reach->meta.partitions,
	                         .revision = c->revision,
	                         .dry_run = c->reach->options->dry_run,
	                         .timeout_ms = c->reach->session->timeout_ms,
	                         .told = on_mended,
	                         .done = on_mend_done,
	                         .ctx = c};
	struct mend *mending;
	enum pl_code code;

	c->over = false;
	code = mend_open(c->reach->session->kv, &opts, &mending, err);
	return code == PL_OK ? run_loop(c, err) : code;
}

static uint64_t count_mends(const struct checking *c)
{
	struct fsck_mend what;
	uint64_t cursor = 0, count = 0;

	while (fsck_core_mend(fsck_core(c->fsck), &cursor, &what))
		count++;
	return count;
}

static enum pl_code repair(struct checking *c, struct pl_err *err)
{
	uint64_t count = count_mends(c);
	char question[QUESTION_SIZE];
	enum pl_code code = PL_OK;

	if (count == 0) {
		say("nothing can be mended");
		return PL_OK;
	}
	(void)snprintf(question, sizeof question, "Mend %" PRIu64 " key%s?", count,
	               count == 1 ? "" : "s");
	if (!c->reach->options->dry_run)
		code = ask(c->reach->options, question, err);
	if (code == PL_OK)
		code = mend(c, err);
	if (code != PL_OK || c->reach->options->dry_run)
		return code;
	say("%" PRIu64 " mended, %" PRIu64 " not; once more:", c->mended, c->refused);
	code = look(c, err);
	if (code == PL_OK)
		say_summary(c);
	return code;
}

/* -- the command ------------------------------------------------------------------- */

static enum pl_code check_run(void *ctx, const struct reach *reach, struct pl_err *err)
{
	struct checking *c = ctx;
	enum pl_code code;

	c->reach = reach;
	c->progress_ms = pl_clock_ms() + PROGRESS_EVERY_MS;
	code = look(c, err);
	if (code == PL_OK)
		code = print(c, err);
	if (code == PL_OK) {
		say_summary(c);
		if (c->repair)
			code = repair(c, err);
	}
	return code;
}

static const struct option own[] = {{"repair", no_argument, NULL, OPT_REPAIR}, {0}};

static const struct options_spec spec = {
	.words = "fsck",
	.usage = "[--repair] [options]",
	.about =
		"Reads all nodes, allocs, pods, gangs and registered rules at one revision and\n"
		"proves what must hold between them. Each violation has a code that stays the\n"
		"same, its keys and a sentence. With --repair it mends what can be derived: an\n"
		"alloc from the pods that are bound to its node, a lost state from the alloc\n"
		"that lists its pod, a lost pointer from its pod, a registry from what pods\n"
		"carry; with compares, so that shards may go on meanwhile. What can not be\n"
		"derived is only told.\n",
	.help = "  --repair               mend it; with --dry-run only say how\n",
	.example = "  placet fsck\n"
		   "  placet fsck --repair --dry-run\n"
		   "  placet fsck -o json | jq '.items[].code' | sort | uniq -c\n",
	.exits = "0 no violation (any more), 1 violations or it could not be read, "
		 "2 wrong usage",
	.common = OPTIONS_OUTPUT | OPTIONS_DRY_RUN | OPTIONS_YES,
	.own = own,
	.take = take,
	.check = check,
};

static enum exit_code run(int argc, char **argv)
{
	struct checking c = {0};
	enum exit_code exit_code;

	pl_arena_init(&c.arena, 0, 0);
	exit_code = reach_run(&spec, argc, argv, check_run, &c);
	if (exit_code == EXIT_OK && c.fsck != NULL && counts_of(&c)->violations > 0)
		exit_code = EXIT_FAILED;
	fsck_free(c.fsck);
	pl_arena_done(&c.arena);
	return exit_code;
}

const struct command fsck_command = {
	.words = "fsck", .summary = "prove what must hold; mend what can be", .run = run};
