/*
 * The watch's notes become rows by name: the first picture is printed whole, sorted;
 * after that a row is printed when it looks different (row_watch.h).
 */
#include "coord/cli/nodes/watch_nodes.h"

#include <stdio.h>

#include "coord/cli/nodes/node_row.h"
#include "coord/cli/output/message.h"
#include "coord/cli/output/row_watch.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/service/nodes/node_watch.h"

enum { ROWS_MAX = 60000 };

struct nodes_watch {
	const struct node_filter *filter;
	struct node_watch *watch;
	struct row_watch row_watch;
	struct cli_wait wait;
	size_t first; /* rows of the first picture */
};

/* A node without a Node has no labels. */
static bool is_shown(const struct nodes_watch *nodes_watch, const struct node_info *info)
{
	return !node_filter_has_labels(nodes_watch->filter) ||
	       (info->has_node && info->selected);
}

static struct pl_span key_of(const struct node_info *info, char out[KEYS_SIZE_MAX])
{
	(void)snprintf(out, KEYS_SIZE_MAX, PL_SPAN_FMT "/" PL_SPAN_FMT,
	               PL_SPAN_ARG(info->cluster), PL_SPAN_ARG(info->name));
	return pl_span_str(out);
}

/* The rows of the first picture stay until all are there, and the info does not. */
static void put_row(struct nodes_watch *nodes_watch, const struct node_info *info)
{
	struct row_watch *rows = &nodes_watch->row_watch;
	struct node_info kept = *info;
	char key[KEYS_SIZE_MAX];
	struct output_row row;

	kept.cluster = pl_arena_dup(&rows->arena, info->cluster);
	kept.name = pl_arena_dup(&rows->arena, info->name);
	if (kept.cluster.at == NULL || kept.name.at == NULL ||
	    node_row(&kept, &rows->arena, &row) != PL_OK)
		row_watch_fail(rows, PL_NOMEM, "a node's row");
	else
		row_watch_put(rows, key_of(info, key), &row);
}

static bool on_first(void *ctx, const struct node_info *info)
{
	struct nodes_watch *nodes_watch = ctx;

	if (!is_shown(nodes_watch, info))
		return true;
	if (nodes_watch->first++ == ROWS_MAX) {
		row_watch_fail(
			&nodes_watch->row_watch, PL_LIMIT,
			"more than 60000 nodes at once; ask for less with --cluster or "
			"--selector");
		return false;
	}
	put_row(nodes_watch, info);
	return true;
}

static void on_note(void *ctx, const struct node_watch_note *note)
{
	struct nodes_watch *nodes_watch = ctx;
	char key[KEYS_SIZE_MAX];

	switch (note->what) {
	case NODE_WATCH_NODE:
		if (is_shown(nodes_watch, note->info))
			put_row(nodes_watch, note->info);
		else
			row_watch_gone(&nodes_watch->row_watch, key_of(note->info, key));
		break;
	case NODE_WATCH_GONE:
		row_watch_gone(&nodes_watch->row_watch, key_of(note->info, key));
		break;
	case NODE_WATCH_WHOLE:
		node_watch_each(nodes_watch->watch, on_first, nodes_watch);
		row_watch_end(&nodes_watch->row_watch);
		break;
	case NODE_WATCH_TROUBLE:
		print_message("placet get nodes: %s; going on", note->err->msg);
		break;
	case NODE_WATCH_STOPPED:
		cli_wait_end(&nodes_watch->wait, NULL);
		break;
	}
}

enum pl_code watch_nodes(const struct cli_session *cli, const struct node_filter *filter,
                         struct pl_err *err)
{
	struct nodes_watch nodes_watch = {.filter = filter};
	enum pl_code code;

	row_watch_init(&nodes_watch.row_watch, &node_schema, cli->options->format, true);
	nodes_watch.row_watch.state_column = NODE_ROW_STATE;
	row_watch_begin(&nodes_watch.row_watch);
	code = node_watch_open(&cli->service, filter, on_note, &nodes_watch,
	                       &nodes_watch.watch, err);
	if (code == PL_OK) {
		while (nodes_watch.row_watch.err.code == PL_OK)
			(void)uv_run(&cli->session->loop, UV_RUN_ONCE);
		node_watch_stop(nodes_watch.watch);
		code = cli_wait_for(cli->session, &nodes_watch.wait, err);
	}
	if (code == PL_OK && nodes_watch.row_watch.err.code != PL_OK) {
		*err = nodes_watch.row_watch.err;
		code = err->code;
	}
	row_watch_done(&nodes_watch.row_watch);
	return code;
}
