/* placet nodes cordon, uncordon and delete: of nodes that are named. */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/ask.h"
#include "coord/cli/nodes_run.h"
#include "coord/cli/say.h"
#include "store/keys/names.h"

enum { NODES_MAX = 4096, QUESTION_SIZE = 160 };

struct set {
	const char *words;
	char **args;
	unsigned count, at;
	struct nodes_run run;
};

static enum pl_code split(const char *arg, struct nodes_item *out, struct pl_err *err)
{
	const char *slash = strchr(arg, '/');
	enum pl_code code;

	if (slash == NULL)
		return pl_err_set(err, PL_INVALID, "'%s': want CLUSTER/NODE", arg);
	out->cluster = pl_span(arg, (size_t)(slash - arg));
	out->name = pl_span_str(slash + 1);
	code = names_check(NAMES_CLUSTER, out->cluster, err);
	if (code == PL_OK)
		code = names_check(NAMES_NODE, out->name, err);
	return code;
}

/* Twice the same is one wish. */
static bool came_before(const struct set *set, unsigned at)
{
	for (unsigned i = 0; i < at; i++)
		if (strcmp(set->args[i], set->args[at]) == 0)
			return true;
	return false;
}

static enum pl_code check(void *ctx, const struct options *options, struct pl_err *err)
{
	struct set *set = ctx;
	struct nodes_item item;

	set->args = options->args;
	set->count = options->arg_count;
	for (unsigned i = 0; i < set->count; i++) {
		enum pl_code code = split(set->args[i], &item, err);

		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static enum pl_code on_next(void *ctx, struct nodes_item *out, bool *more,
                            struct pl_err *err)
{
	struct set *set = ctx;

	while (set->at < set->count && came_before(set, set->at))
		set->at++;
	*more = set->at < set->count;
	return *more ? split(set->args[set->at++], out, err) : PL_OK;
}

static void on_told(void *ctx, const struct nodes_item *item, enum nodes_outcome outcome,
                    const struct pl_err *err)
{
	struct set *set = ctx;

	if (outcome == NODES_REFUSED)
		say("placet %s: " PL_SPAN_FMT "/" PL_SPAN_FMT ": %s", set->words,
		    PL_SPAN_ARG(item->cluster), PL_SPAN_ARG(item->name), err->msg);
	else
		(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " %s\n",
		             PL_SPAN_ARG(item->cluster), PL_SPAN_ARG(item->name),
		             nodes_run_word(&set->run, outcome));
}

static enum pl_code set_run(void *ctx, const struct reach *reach, struct pl_err *err)
{
	struct set *set = ctx;
	char question[QUESTION_SIZE];
	enum pl_code code = PL_OK;

	if (set->count == 1)
		(void)snprintf(question, sizeof question, "Delete node %.100s?",
		               set->args[0]);
	else
		(void)snprintf(question, sizeof question, "Delete %u nodes?", set->count);
	if (set->run.verb == NODES_DELETE && !reach->options->dry_run)
		code = ask(reach->options, question, err);
	if (code == PL_OK)
		code = nodes_run(&set->run, reach, err);
	return code == PL_OK ? nodes_run_verdict(&set->run, err) : code;
}

static enum exit_code run_verb(const struct options_spec *spec, enum nodes_verb verb,
                               int argc, char **argv)
{
	struct set set = {.words = spec->words,
	                  .run = {.verb = verb, .next = on_next, .told = on_told}};

	set.run.ctx = &set;
	return reach_run(spec, argc, argv, set_run, &set);
}

static const struct options_spec cordon_spec = {
	.words = "nodes cordon",
	.usage = "CLUSTER/NODE... [options]",
	.about =
		"Lets no new pods onto nodes (spec.unschedulable). What is on them stays.\n",
	.example = "  placet nodes cordon east/n-7 east/n-8\n",
	.common = OPTIONS_DRY_RUN,
	.args_min = 1,
	.args_max = NODES_MAX,
	.check = check,
};

static enum exit_code cordon(int argc, char **argv)
{
	return run_verb(&cordon_spec, NODES_CORDON, argc, argv);
}

const struct command nodes_cordon_command = {
	.words = "nodes cordon", .summary = "let no new pods onto nodes", .run = cordon};

static const struct options_spec uncordon_spec = {
	.words = "nodes uncordon",
	.usage = "CLUSTER/NODE... [options]",
	.about = "Lets pods onto nodes again.\n",
	.example = "  placet nodes uncordon east/n-7\n",
	.common = OPTIONS_DRY_RUN,
	.args_min = 1,
	.args_max = NODES_MAX,
	.check = check,
};

static enum exit_code uncordon(int argc, char **argv)
{
	return run_verb(&uncordon_spec, NODES_UNCORDON, argc, argv);
}

const struct command nodes_uncordon_command = {.words = "nodes uncordon",
                                               .summary = "let pods onto nodes again",
                                               .run = uncordon};

static const struct options_spec delete_spec = {
	.words = "nodes delete",
	.usage = "CLUSTER/NODE... [options]",
	.about =
		"Takes nodes out of the store. One that has pods, or room that is held for\n"
		"pods, is refused: no pod is lost. Asks first.\n",
	.example = "  placet nodes delete east/n-7 --yes\n",
	.common = OPTIONS_DRY_RUN | OPTIONS_YES,
	.args_min = 1,
	.args_max = NODES_MAX,
	.check = check,
};

static enum exit_code delete_nodes(int argc, char **argv)
{
	return run_verb(&delete_spec, NODES_DELETE, argc, argv);
}

const struct command nodes_delete_command = {
	.words = "nodes delete", .summary = "take nodes away", .run = delete_nodes};
