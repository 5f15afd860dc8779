/* placet nodes cordon, uncordon, drain and delete, for nodes that are named. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/nodes/cordon_api.h"
#include "coord/cli/nodes/drain.h"
#include "coord/cli/nodes/drain_api.h"
#include "coord/cli/nodes/nodes_run.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/confirm.h"
#include "store/base/alloc.h"
#include "store/base/duration.h"
#include "store/keys/names.h"

enum {
	OPT_FORCE = OPTIONS_OWN_FIRST,
	OPT_TIMEOUT,
	OPT_PAST,
	NODES_MAX = 4096,
	QUESTION_SIZE = 160,
	TIMEOUT_MAX_MS = 86400000,
	FORCED_MS = 60000, /* to take pods off nodes that are deleted */
};

struct nodes_set {
	const char *words;
	char **args;
	unsigned count, at;
	bool drain, force, past_budgets;
	uint64_t timeout_ms; /* of the drain */
	bool *refused;       /* by argument: it was refused; NULL: not needed */
	struct nodes_run run;
};

static enum pl_code split_name(const char *arg, struct nodes_item *out,
                               struct pl_err *err)
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

/* A name that is given twice counts once. */
static bool is_duplicate(const struct nodes_set *set, unsigned at)
{
	for (unsigned i = 0; i < at; i++)
		if (strcmp(set->args[i], set->args[at]) == 0)
			return true;
	return false;
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct nodes_set *set = ctx;
	struct nodes_item item;

	set->args = options->args;
	set->count = options->arg_count;
	for (unsigned i = 0; i < set->count; i++) {
		enum pl_code code = split_name(set->args[i], &item, err);

		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

/* Options that the API has no word for are refused. */
static enum pl_code check_drain(void *ctx, const struct options *options,
                                struct pl_err *err)
{
	const struct nodes_set *set = ctx;

	if (options->via_api && (set->force || set->past_budgets))
		return pl_err_set(err, PL_INVALID,
		                  "%s: needs the store (--endpoints): the API evicts by "
		                  "the budgets, and waits for the members",
		                  set->force ? "--force" : "--ignore-budgets");
	return check_args(ctx, options, err);
}

static enum pl_code on_next(void *ctx, struct nodes_item *out, bool *more,
                            struct pl_err *err)
{
	struct nodes_set *set = ctx;

	while (set->at < set->count && is_duplicate(set, set->at))
		set->at++;
	*more = set->at < set->count;
	return *more ? split_name(set->args[set->at++], out, err) : PL_OK;
}

static void mark_refused(struct nodes_set *set, const struct nodes_item *item)
{
	for (unsigned i = 0; i < set->count && set->refused != NULL; i++) {
		struct nodes_item one = {0};

		if (split_name(set->args[i], &one, NULL) == PL_OK &&
		    pl_span_eq(one.cluster, item->cluster) &&
		    pl_span_eq(one.name, item->name))
			set->refused[i] = true;
	}
}

static void on_outcome(void *ctx, const struct nodes_item *item,
                       enum nodes_outcome outcome, const struct pl_err *err)
{
	struct nodes_set *set = ctx;

	if (outcome == NODES_REFUSED)
		mark_refused(set, item);
	if (outcome == NODES_REFUSED)
		print_message("placet %s: " PL_SPAN_FMT "/" PL_SPAN_FMT ": %s",
		              set->words, PL_SPAN_ARG(item->cluster),
		              PL_SPAN_ARG(item->name), err->msg);
	else
		(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " %s\n",
		             PL_SPAN_ARG(item->cluster), PL_SPAN_ARG(item->name),
		             nodes_run_word(&set->run, outcome));
}

/* -- off them --------------------------------------------------------------------------
 */

static enum pl_code drain_nodes(struct nodes_set *set, const struct cli_session *cli,
                                struct pl_err *err)
{
	struct node_name *names = pl_calloc(set->count, sizeof *names);
	struct drain_args args = {.nodes = names,
	                          .force = set->force,
	                          .past_budgets = set->past_budgets || !set->drain,
	                          .timeout_ms = set->timeout_ms};
	enum pl_code code = PL_OK;

	if (names == NULL)
		return pl_err_set(err, PL_NOMEM, "drain");
	for (unsigned i = 0; i < set->count && code == PL_OK; i++) {
		struct nodes_item item = {0};

		if (is_duplicate(set, i) || (set->refused != NULL && set->refused[i]))
			continue;
		code = split_name(set->args[i], &item, err);
		names[args.node_count++] = (struct node_name){item.cluster, item.name};
	}
	if (code == PL_OK && args.node_count > 0)
		code = drain_run(cli, &args, err);
	free(names);
	return code;
}

/* Cordons the nodes, so that no new pods come, and drains them. */
static enum pl_code empty_nodes(struct nodes_set *set, const struct cli_session *cli,
                                struct pl_err *err)
{
	enum pl_code code;

	set->run.verb = NODES_CORDON;
	code = nodes_run(&set->run, cli, err);
	if (code == PL_OK)
		code = nodes_run_verdict(&set->run, err);
	if (code == PL_OK && !cli->options->dry_run)
		code = drain_nodes(set, cli, err);
	return code;
}

/* Nodes that can not be cordoned do not keep the others from being drained. */
static enum pl_code drain_cordoned(struct nodes_set *set, const struct cli_session *cli,
                                   struct pl_err *err)
{
	enum pl_code code;

	set->refused = pl_calloc(set->count, sizeof *set->refused);
	if (set->refused == NULL)
		return pl_err_set(err, PL_NOMEM, "drain");
	set->run.verb = NODES_CORDON;
	code = nodes_run(&set->run, cli, err);
	if (code == PL_OK && set->run.count[NODES_REFUSED] < set->run.outcome_count)
		code = drain_nodes(set, cli, err);
	free(set->refused);
	set->refused = NULL;
	return code == PL_OK ? nodes_run_verdict(&set->run, err) : code;
}

static enum pl_code confirm_delete(const struct nodes_set *set,
                                   const struct cli_session *cli, struct pl_err *err)
{
	const char *pods = set->force ? " and move their pods" : "";
	char question[QUESTION_SIZE];

	if (set->count == 1)
		(void)snprintf(question, sizeof question, "Delete node %.80s%s?",
		               set->args[0], pods);
	else
		(void)snprintf(question, sizeof question, "Delete %u nodes%s?",
		               set->count, pods);
	return ask(cli->options, question, err);
}

static enum pl_code set_run(void *ctx, const struct cli_session *cli, struct pl_err *err)
{
	struct nodes_set *set = ctx;
	bool deletes = set->run.verb == NODES_DELETE;
	enum pl_code code = PL_OK;

	if (deletes && !cli->options->dry_run)
		code = confirm_delete(set, cli, err);
	if (code == PL_OK && set->drain)
		return drain_cordoned(set, cli, err);
	if (code == PL_OK && deletes && set->force && !cli->options->dry_run) {
		code = empty_nodes(set, cli, err);
		set->at = 0;
		set->run = (struct nodes_run){.verb = NODES_DELETE,
		                              .next = set->run.next,
		                              .report = set->run.report,
		                              .ctx = set};
	}
	if (code == PL_OK)
		code = nodes_run(&set->run, cli, err);
	return code == PL_OK ? nodes_run_verdict(&set->run, err) : code;
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct nodes_set *set = ctx;

	if (opt == OPT_FORCE || opt == OPT_PAST) {
		set->force = set->force || opt == OPT_FORCE;
		set->past_budgets = set->past_budgets || opt == OPT_PAST;
		return PL_OK;
	}
	if (pl_duration_ms(pl_span_str(arg), 0, TIMEOUT_MAX_MS, &set->timeout_ms, err) ==
	    PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "--timeout");
}

static const struct option own[] = {{"force", no_argument, NULL, OPT_FORCE},
                                    {"timeout", required_argument, NULL, OPT_TIMEOUT},
                                    {0}};

static const struct option drain_own[] = {
	{"force", no_argument, NULL, OPT_FORCE},
	{"ignore-budgets", no_argument, NULL, OPT_PAST},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{0}};

static enum pl_code ask_cordon(void *ctx, struct api_session *api, struct pl_err *err)
{
	const struct nodes_set *set = ctx;

	return cordon_api(api, set->run.verb == NODES_CORDON, err);
}

static enum pl_code ask_drain(void *ctx, struct api_session *api, struct pl_err *err)
{
	return drain_api(api, ((const struct nodes_set *)ctx)->timeout_ms, err);
}

static enum exit_code run_verb(const struct options_spec *spec, enum nodes_verb verb,
                               int argc, char **argv)
{
	struct nodes_set set = {
		.words = spec->words,
		.run = {.verb = verb, .next = on_next, .report = on_outcome}};

	set.run.ctx = &set;
	return cli_session_run_either(spec, argc, argv, set_run, ask_cordon, &set);
}

static const struct options_spec cordon_spec = {
	.words = "nodes cordon",
	.usage = "CLUSTER/NODE... [options]",
	.about =
		"Marks nodes unschedulable (spec.unschedulable). Pods that are on them stay.\n",
	.example = "  placet nodes cordon east/n-7 east/n-8\n",
	.common = OPTIONS_DRY_RUN | OPTIONS_API,
	.args_min = 1,
	.args_max = NODES_MAX,
	.check = check_args,
};

static enum exit_code run_cordon(int argc, char **argv)
{
	return run_verb(&cordon_spec, NODES_CORDON, argc, argv);
}

const struct command nodes_cordon_command = {.words = "nodes cordon",
                                             .summary = "mark nodes unschedulable",
                                             .run = run_cordon,
                                             .spec = &cordon_spec};

static const struct options_spec uncordon_spec = {
	.words = "nodes uncordon",
	.usage = "CLUSTER/NODE... [options]",
	.about = "Makes nodes schedulable again.\n",
	.example = "  placet nodes uncordon east/n-7\n",
	.common = OPTIONS_DRY_RUN | OPTIONS_API,
	.args_min = 1,
	.args_max = NODES_MAX,
	.check = check_args,
};

static enum exit_code run_uncordon(int argc, char **argv)
{
	return run_verb(&uncordon_spec, NODES_UNCORDON, argc, argv);
}

const struct command nodes_uncordon_command = {.words = "nodes uncordon",
                                               .summary = "mark nodes schedulable again",
                                               .run = run_uncordon,
                                               .spec = &uncordon_spec};

static const struct options_spec delete_spec = {
	.words = "nodes delete",
	.of_store = "kubectl delete node does it there",
	.usage = "CLUSTER/NODE... [options]",
	.about =
		"Removes nodes from the store. A node with pods, or with a reservation, is\n"
		"refused, so that no pod is lost. With --force its pods are evicted first\n"
		"without waiting for the node's member. Asks for confirmation.\n",
	.help = "  --force                also nodes with pods: their machines are gone\n"
		"  --timeout DURATION     how long to wait for the pods to end (default 1m)\n",
	.example = "  placet nodes delete east/n-7 --yes\n"
		   "  placet nodes delete east/n-7 --force --yes\n",
	.common = OPTIONS_DRY_RUN | OPTIONS_YES,
	.own = own,
	.take = set_option,
	.args_min = 1,
	.args_max = NODES_MAX,
	.check = check_args,
};

static enum exit_code run_delete(int argc, char **argv)
{
	struct nodes_set set = {
		.words = delete_spec.words,
		.timeout_ms = FORCED_MS,
		.run = {.verb = NODES_DELETE, .next = on_next, .report = on_outcome}};

	set.run.ctx = &set;
	return cli_session_run(&delete_spec, argc, argv, set_run, &set);
}

static const struct options_spec drain_spec = {
	.words = "nodes drain",
	.usage = "CLUSTER/NODE... [options]",
	.about =
		"Moves all pods off nodes: cordons the nodes, evicts their pods, which are\n"
		"placed elsewhere, and waits until the pods have ended. An interrupted drain\n"
		"may be run again. A pod that a PodDisruptionBudget protects is evicted when\n"
		"the budget allows it. Through the API evicted pods are deleted, as by kubectl\n"
		"drain: the command asks for confirmation first.\n",
	.help = "  --force                do not wait for the members to report that pods\n"
		"                         have ended\n"
		"  --ignore-budgets       evict even what budgets protect\n"
		"  --timeout DURATION     how long to wait (default 0: without limit)\n",
	.example = "  placet nodes drain east/n-7 --timeout=10m\n",
	.exits = "0 all are drained, 1 some are not, 2 wrong usage",
	.common = OPTIONS_DRY_RUN | OPTIONS_YES | OPTIONS_API,
	.args_min = 1,
	.args_max = NODES_MAX,
	.own = drain_own,
	.take = set_option,
	.check = check_drain,
};

static enum exit_code run_drain(int argc, char **argv)
{
	struct nodes_set set = {
		.words = drain_spec.words,
		.drain = true,
		.run = {.verb = NODES_CORDON, .next = on_next, .report = on_outcome}};

	set.run.ctx = &set;
	return cli_session_run_either(&drain_spec, argc, argv, set_run, ask_drain, &set);
}

const struct command nodes_drain_command = {.words = "nodes drain",
                                            .summary = "move all pods off nodes",
                                            .run = run_drain,
                                            .spec = &drain_spec};

const struct command nodes_delete_command = {.words = "nodes delete",
                                             .summary = "remove nodes",
                                             .run = run_delete,
                                             .spec = &delete_spec};
