/*
 * placet get nodes: what each node has, and what of it is taken, printed in parts; with
 * --watch every change as well.
 */
#include <stdlib.h>

#include "coord/cli/nodes/get_nodes_api.h"
#include "coord/cli/nodes/node_row.h"
#include "coord/cli/nodes/watch_nodes.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/service/nodes/node_list.h"
#include "store/base/alloc.h"

enum { CHUNK = 8192, ARENA_CHUNK = 1 << 20, PRINT_MAX = 256 << 20 };

struct get_nodes {
	struct node_pick pick;
	const struct cli_session *cli;
	const struct node_list *list;
};

static enum pl_code print_chunks(const struct get_nodes *get, struct output_row *rows,
                                 struct pl_err *err)
{
	size_t count, at = 0;
	const struct node_info *nodes = node_list_nodes(get->list, &count);
	enum pl_code code = PL_OK;
	struct output output;
	struct pl_arena arena;
	struct pl_buf out;

	output_init(&output, &node_schema, get->cli->options->format, false);
	pl_arena_init(&arena, ARENA_CHUNK, 0);
	pl_buf_init(&out, PRINT_MAX);
	do {
		size_t left = count - at, now = left < CHUNK ? left : CHUNK;

		pl_arena_reset(&arena);
		for (size_t i = 0; i < now && code == PL_OK; i++)
			code = node_row(&nodes[at + i], &arena, &rows[i]);
		if (code != PL_OK)
			(void)pl_err_set(err, code, "print the nodes");
		else if (count <= CHUNK)
			code = output_list(&output, rows, now, &out, err);
		else
			code = output_part(&output, rows, now, now == left, &out, err);
		at += now;
		if (code == PL_OK)
			code = print_result(&out, err);
	} while (at < count && code == PL_OK);
	pl_buf_done(&out);
	pl_arena_done(&arena);
	return code;
}

/* PL_NOTFOUND: some named nodes do not exist. */
static enum pl_code print_missing(const struct get_nodes *get, struct pl_err *err)
{
	const struct node_filter *filter = &get->pick.filter;
	unsigned absent = 0;

	for (size_t i = 0; i < filter->name_count; i++) {
		const struct node_name *name = &filter->names[i];

		if (node_filter_is_repeated(filter, i) ||
		    node_list_find(get->list, name) != NULL)
			continue;
		absent++;
		print_message(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such node",
		              PL_SPAN_ARG(name->cluster), PL_SPAN_ARG(name->name));
	}
	return absent == 0 ? PL_OK : pl_err_set(err, PL_NOTFOUND, "%u not found", absent);
}

static enum pl_code print_found(const struct get_nodes *get, struct pl_err *err)
{
	bool named = get->pick.filter.name_count > 0;
	struct output_row *rows = pl_calloc(CHUNK, sizeof *rows);
	enum pl_code code = PL_OK;
	size_t count;

	if (rows == NULL)
		return pl_err_set(err, PL_NOMEM, "print the nodes");
	(void)node_list_nodes(get->list, &count);
	if (count == 0 && !named)
		print_message("no nodes");
	if (count > 0 || !named)
		code = print_chunks(get, rows, err);
	free(rows);
	return code == PL_OK ? print_missing(get, err) : code;
}

static enum pl_code get_nodes_run(void *ctx, const struct cli_session *cli,
                                  struct pl_err *err)
{
	struct get_nodes *get = ctx;
	struct cli_wait wait = {0};
	const struct node_list_opts opts = {
		.filter = get->pick.filter, .done = cli_wait_end, .ctx = &wait};
	struct node_list *list;
	enum pl_code code;

	if (cli->options->watch)
		return watch_nodes(cli, &get->pick.filter, err);
	code = node_list_start(&cli->service, &opts, &list, err);
	if (code != PL_OK)
		return code;
	code = cli_wait_for(cli->session, &wait, err);
	get->cli = cli;
	get->list = list;
	if (code == PL_OK)
		code = print_found(get, err);
	node_list_free(list);
	return code;
}

static enum pl_code get_nodes_ask(void *ctx, struct api_session *api, struct pl_err *err)
{
	return get_nodes_api(&((struct get_nodes *)ctx)->pick, api, err);
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	return node_pick_set(&((struct get_nodes *)ctx)->pick, opt, arg, err);
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	return node_pick_check(&((struct get_nodes *)ctx)->pick, options, err);
}

static const struct option own[] = {
	{"cluster", required_argument, NULL, NODE_PICK_CLUSTER},
	{"selector", required_argument, NULL, NODE_PICK_SELECTOR},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "get nodes",
	.usage = "[CLUSTER/NODE...] [options]",
	.about =
		"Shows nodes by cluster and name, with the capacity of each that is in use:\n"
		"pods, cpu, memory. A malformed node is shown with the reason. The API does not\n"
		"tell what is in use.\n",
	.help = "  -c, --cluster NAME     only nodes of this cluster; also of names without one\n"
		"  -l, --selector LABELS  only nodes with these labels, as zone=a,disk!=hdd,\n"
		"                         'gpu in (a100,h100)', spot or '!spot'\n",
	.example = "  placet get nodes -o wide\n"
		   "  placet get nodes -c east -o json\n"
		   "  placet get nodes east/n-1 east/n-2\n"
		   "  placet get nodes -l disk=hdd -o name | xargs placet nodes cordon\n",
	.exits = "0 done, 1 a named node does not exist or the command failed, 2 wrong "
		 "usage",
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_WATCH | OPTIONS_API,
	.args_max = NODE_PICK_NAMES_MAX,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct get_nodes get = {.list = NULL};

	return cli_session_run_either(&spec, argc, argv, get_nodes_run, get_nodes_ask,
	                              &get);
}

const struct command get_nodes_command = {
	.words = "get nodes",
	.summary = "show the nodes and the capacity in use",
	.run = run_command,
	.spec = &spec};
