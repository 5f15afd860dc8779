/*
 * placet nodes apply: puts Nodes from files into the store. All Nodes are read and
 * checked before the first is written; then each is created, changed, or left as it is.
 */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/input/files.h"
#include "coord/cli/input/objects.h"
#include "coord/cli/nodes/nodes_run.h"
#include "coord/cli/output/message.h"
#include "coord/service/nodes/nodes_input.h"
#include "store/keys/names.h"

enum { OPT_CLUSTER = OPTIONS_OWN_FIRST, OUT_MAX = 512 << 20 };

struct nodes_apply {
	struct files files;
	struct pl_span cluster;
	struct nodes_input input;
	struct pl_map_node *next; /* nodes that were refused and are printed */
	struct nodes_run run;
};

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct nodes_apply *apply = ctx;

	if (opt == OPT_CLUSTER) {
		apply->cluster = pl_span_str(arg);
		return PL_OK;
	}
	PL_ASSERT(opt == 'f');
	return files_add(&apply->files, arg, err);
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct nodes_apply *apply = ctx;
	enum pl_code code;

	(void)options;
	if (apply->files.count == 0)
		return pl_err_set(err, PL_INVALID, "--filename: want a file");
	if (apply->cluster.len == 0)
		return pl_err_set(err, PL_INVALID, "--cluster: want a name");
	code = names_check(NAMES_CLUSTER, apply->cluster, err);
	return code == PL_OK ? PL_OK : pl_err_wrap(err, "--cluster");
}

static enum pl_code on_object(void *ctx, struct pl_span kind, struct pl_span json,
                              struct pl_err *err)
{
	return nodes_input_add(ctx, kind, json, err);
}

static enum pl_code read_files(struct nodes_apply *apply, struct pl_err *err)
{
	for (unsigned i = 0; i < apply->files.count; i++) {
		enum pl_code code =
			objects_read(apply->files.path[i], on_object, &apply->input, err);

		if (code != PL_OK)
			return code;
	}
	if (apply->input.names.count == 0)
		return pl_err_set(err, PL_INVALID, "there is no Node in it");
	return PL_OK;
}

static enum pl_code on_next(void *ctx, struct nodes_item *out, bool *more,
                            struct pl_err *err)
{
	struct nodes_apply *apply = ctx;
	struct nodes_input_node *node;

	(void)err;
	*more = apply->next != NULL;
	if (!*more)
		return PL_OK;
	node = nodes_input_of(apply->next);
	*out = (struct nodes_item){.cluster = apply->cluster,
	                           .name = node->link.key,
	                           .json = node->json,
	                           .tag = (uintptr_t)node};
	apply->next = pl_map_next(&apply->input.names, apply->next);
	return PL_OK;
}

/* The outcomes are kept, and printed in the order of the files. */
static void on_outcome(void *ctx, const struct nodes_item *item,
                       enum nodes_outcome outcome, const struct pl_err *err)
{
	struct nodes_apply *apply = ctx;
	struct pl_map_node *link = pl_map_get(&apply->input.names, item->name);

	nodes_input_of(link)->tag = 1 + (unsigned)outcome;
	if (err != NULL)
		print_message("placet nodes apply: " PL_SPAN_FMT "/" PL_SPAN_FMT ": %s",
		              PL_SPAN_ARG(item->cluster), PL_SPAN_ARG(item->name),
		              err->msg);
}

static enum pl_code print_counts(const struct nodes_apply *apply, struct pl_err *err)
{
	enum pl_code code = PL_OK;
	struct pl_buf out;

	pl_buf_init(&out, OUT_MAX);
	PL_MAP_EACH (link, &apply->input.names) {
		unsigned tag = nodes_input_of(link)->tag;

		if (tag == 0 || code != PL_OK)
			continue; /* the outcome is unknown */
		code = pl_buf_printf(
			&out, PL_SPAN_FMT "/" PL_SPAN_FMT " %s\n",
			PL_SPAN_ARG(apply->cluster), PL_SPAN_ARG(link->key),
			nodes_run_word(&apply->run, (enum nodes_outcome)(tag - 1)));
	}
	if (code == PL_OK)
		code = print_result(&out, err);
	else
		(void)pl_err_set(err, code, "print");
	pl_buf_done(&out);
	return code;
}

static enum pl_code apply_run(void *ctx, const struct cli_session *cli,
                              struct pl_err *err)
{
	struct nodes_apply *apply = ctx;
	struct pl_err print_err = {0};
	enum pl_code code = read_files(apply, err);

	if (code != PL_OK)
		return code;
	apply->next = pl_map_first(&apply->input.names);
	apply->run.total = apply->input.names.count;
	code = nodes_run(&apply->run, cli, err);
	if (print_counts(apply, &print_err) != PL_OK && code == PL_OK) {
		*err = print_err;
		return err->code;
	}
	return code == PL_OK ? nodes_run_verdict(&apply->run, err) : code;
}

static const struct option own[] = {{"filename", required_argument, NULL, 'f'},
                                    {"cluster", required_argument, NULL, OPT_CLUSTER},
                                    {0}};

static const struct options_spec spec = {
	.words = "nodes apply",
	.of_store = "kubectl apply does it there",
	.usage = "-f FILE --cluster NAME [options]",
	.about =
		"Registers the Nodes of some files as nodes of a cluster, or changes existing\n"
		"nodes to what the files say. All files are checked first: when a Node is not\n"
		"valid, nothing is written. A Node without spec.unschedulable keeps the cordon\n"
		"that it has in the store.\n",
	.help = "  -f, --filename FILE    JSON or YAML, one or many, a List, an object a line; or a\n"
		"                         directory of such; plain or gzip; - is standard input; may\n"
		"                         be repeated\n"
		"  --cluster NAME         the cluster of the nodes\n",
	.example =
		"  kubectl get nodes -o json | placet nodes apply --cluster east -f -\n"
		"  placet nodes apply --cluster east -f nodes.yaml --dry-run\n",
	.common = OPTIONS_DRY_RUN,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct nodes_apply apply = {
		.run = {.verb = NODES_APPLY, .next = on_next, .report = on_outcome}};
	enum exit_code exit_code;

	apply.run.ctx = &apply;
	nodes_input_init(&apply.input);
	exit_code = cli_session_run(&spec, argc, argv, apply_run, &apply);
	nodes_input_done(&apply.input);
	files_done(&apply.files);
	return exit_code;
}

const struct command nodes_apply_command = {.words = "nodes apply",
                                            .summary =
                                                    "register machines, or change them",
                                            .run = run_command,
                                            .spec = &spec};
