/*
 * Nodes and allocs are two lists with a watch each; a node is shown by what stands of
 * both. The first picture is printed when both are whole, sorted; a row that a change
 * makes no different is not printed again (live.h).
 */
#include "coord/cli/nodes/watch_nodes.h"

#include <stdlib.h>

#include "coord/cli/nodes/node_row.h"
#include "coord/cli/output/message.h"
#include "coord/cli/output/row_watch.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"
#include "store/kv/relist.h"

enum { NODES_MAX = 4000000, ROWS_MAX = 60000 };

enum half { NODE, ALLOC, HALVES };

struct watched_node {
	struct pl_map_node node; /* "east/n-1" */
	struct node_info found;
	uint64_t round[HALVES]; /* of the list that has shown it */
	uint32_t partition[HALVES];
	char *note[HALVES]; /* NULL: none */
	uint8_t key[];
};

struct nodes_list {
	struct nodes_watch *follow;
	struct relist *relist; /* NULL: it has stopped */
	enum half half;
	uint64_t round;
	bool whole;
	uint32_t piece; /* the partition that is listed, of a cluster's nodes */
	struct keys_text prefix;
};

struct nodes_watch {
	const struct cli_session *cli;
	const struct node_filter *filter;
	struct node_reader reader;
	struct pl_map nodes;
	struct row_watch row_watch;
	struct nodes_list list[HALVES];
};

static struct watched_node *seen_of(struct pl_map_node *node)
{
	return PL_CONTAINER_OF(node, struct watched_node, node);
}

/* -- nodes ---------------------------------------------------------------- */

static void seen_free(struct nodes_watch *follow, struct watched_node *seen)
{
	pl_map_del(&follow->nodes, &seen->node);
	for (unsigned i = 0; i < HALVES; i++)
		free(seen->note[i]);
	free(seen);
}

static struct watched_node *seen_add(struct nodes_watch *follow, struct pl_span key,
                                     const struct keys_id *id)
{
	struct watched_node *seen;

	if (follow->nodes.count == NODES_MAX) {
		row_watch_fail(&follow->row_watch, PL_LIMIT, "more than 4000000 nodes");
		return NULL;
	}
	seen = pl_calloc(1, sizeof *seen + key.len);
	if (seen == NULL) {
		row_watch_fail(&follow->row_watch, PL_NOMEM, "keep the nodes");
		return NULL;
	}
	memcpy(seen->key, key.at, key.len);
	seen->found.cluster = pl_span(seen->key, id->scope.len);
	seen->found.name = pl_span(seen->key + id->scope.len + 1, id->name.len);
	(void)!pl_map_add(&follow->nodes, &seen->node, pl_span(seen->key, key.len));
	return seen;
}

/* add: there may be none yet. */
static struct watched_node *seen_find(struct nodes_watch *follow,
                                      const struct keys_id *id, bool add)
{
	char text[KEYS_SIZE_MAX];
	struct pl_map_node *node;
	struct pl_span key;

	memcpy(text, id->scope.at, id->scope.len);
	text[id->scope.len] = '/';
	memcpy(text + id->scope.len + 1, id->name.at, id->name.len);
	key = pl_span(text, id->scope.len + 1 + id->name.len);
	node = pl_map_get(&follow->nodes, key);
	if (node != NULL)
		return seen_of(node);
	return add ? seen_add(follow, key, id) : NULL;
}

/* Without a Node there are no labels. */
static bool is_shown(const struct nodes_watch *follow, const struct watched_node *seen)
{
	return !node_filter_has_labels(follow->filter) ||
	       (seen->found.has_node && seen->found.selected);
}

static void put_row(struct nodes_watch *follow, struct watched_node *seen)
{
	struct output_row row;

	if (!is_shown(follow, seen))
		row_watch_gone(&follow->row_watch, seen->node.key);
	else if (node_row(&seen->found, &follow->row_watch.arena, &row) == PL_OK)
		row_watch_put(&follow->row_watch, seen->node.key, &row);
	else
		row_watch_fail(&follow->row_watch, PL_NOMEM, "a node's row");
}

static void show_node(struct nodes_watch *follow, struct watched_node *seen)
{
	bool gone = !seen->found.has_node && !seen->found.has_alloc;

	if (follow->row_watch.whole && gone)
		row_watch_gone(&follow->row_watch, seen->node.key);
	else if (follow->row_watch.whole)
		put_row(follow, seen);
	if (gone)
		seen_free(follow, seen);
}

/* What makes no sense is shown with the reason. */
static void note(struct nodes_list *list, struct watched_node *seen,
                 const struct pl_err *why)
{
	struct pl_span *out =
		list->half == NODE ? &seen->found.node_note : &seen->found.alloc_note;
	size_t len = why == NULL ? 0 : strlen(why->msg);
	char *text = NULL;

	if (len > 0)
		text = pl_calloc(1, len + 1);
	if (len > 0 && text == NULL) {
		row_watch_fail(&list->follow->row_watch, PL_NOMEM, "keep the nodes");
		len = 0;
	}
	if (text != NULL)
		memcpy(text, why->msg, len);
	free(seen->note[list->half]);
	seen->note[list->half] = text;
	*out = pl_span(text, len);
}

static void apply_record(struct nodes_list *list, const struct kv_record *record)
{
	struct nodes_watch *follow = list->follow;
	struct pl_err why = {0};
	struct watched_node *seen;
	enum pl_code code;
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK ||
	    !node_filter_names(follow->filter, id.scope, id.name))
		return;
	seen = seen_find(follow, &id, true);
	if (seen == NULL)
		return;
	seen->found.partition = seen->partition[list->half] = id.partition;
	seen->round[list->half] = list->round;
	code = list->half == NODE ? node_reader_node(&follow->reader, record->value,
	                                             &seen->found, &why)
	                          : node_reader_alloc(&follow->reader, record->value,
	                                              &seen->found, &why);
	if (code == PL_NOMEM)
		row_watch_fail(&follow->row_watch, PL_NOMEM, "read the nodes");
	note(list, seen, code == PL_OK ? NULL : &why);
	show_node(follow, seen);
}

static void apply_delete(struct nodes_list *list, struct watched_node *seen)
{
	note(list, seen, NULL);
	if (list->half == NODE)
		node_info_clear_node(&seen->found);
	else
		node_info_clear_alloc(&seen->found);
	show_node(list->follow, seen);
}

static void apply_event(struct nodes_list *list, const struct kv_event *event)
{
	struct keys_id id;
	struct watched_node *seen;

	if (!event->is_delete) {
		apply_record(list, &event->record);
		return;
	}
	if (keys_parse(event->record.key, &id, NULL) != PL_OK)
		return;
	seen = seen_find(list->follow, &id, false);
	if (seen != NULL && seen->partition[list->half] == id.partition)
		apply_delete(list, seen);
}

/* What a new list does not mention any more. */
static void sweep_list(struct nodes_list *list)
{
	PL_MAP_EACH (node, &list->follow->nodes) {
		struct watched_node *seen = seen_of(node);
		bool there =
			list->half == NODE ? seen->found.has_node : seen->found.has_alloc;

		if (there && seen->round[list->half] != list->round)
			apply_delete(list, seen);
	}
}

static int compare_keys(const void *a, const void *b)
{
	const struct watched_node *const *x = a, *const *y = b;

	return pl_span_cmp((*x)->node.key, (*y)->node.key);
}

static void show_first(struct nodes_watch *follow)
{
	struct watched_node **all =
		pl_calloc(follow->nodes.count + 1, sizeof(struct watched_node *));
	size_t count = 0;

	if (all == NULL) {
		row_watch_fail(&follow->row_watch, PL_NOMEM, "print the nodes");
		return;
	}
	PL_MAP_EACH (node, &follow->nodes) {
		if (is_shown(follow, seen_of(node)))
			all[count++] = seen_of(node);
	}
	if (count > ROWS_MAX)
		row_watch_fail(
			&follow->row_watch, PL_LIMIT,
			"more than 60000 nodes at once; ask for less with --cluster or "
			"--selector");
	qsort(all, count, sizeof(struct watched_node *), compare_keys);
	for (size_t i = 0; i < count; i++)
		put_row(follow, all[i]);
	free(all);
	row_watch_end(&follow->row_watch);
}

/* -- lists ---------------------------------------------------------------- */

static void on_end(struct nodes_list *list)
{
	struct nodes_watch *follow = list->follow;

	sweep_list(list);
	list->whole = true;
	if (!follow->row_watch.whole && follow->list[NODE].whole &&
	    follow->list[ALLOC].whole)
		show_first(follow);
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct nodes_list *list = ctx;

	switch (note->what) {
	case RELIST_BEGIN:
		list->round++;
		break;
	case RELIST_PAGE:
		for (size_t i = 0; i < note->count; i++)
			apply_record(list, &note->records[i]);
		break;
	case RELIST_END:
		on_end(list);
		break;
	case RELIST_EVENTS:
		for (size_t i = 0; i < note->count; i++)
			apply_event(list, &note->events[i]);
		break;
	case RELIST_PROGRESS:
		break;
	case RELIST_LOST:
	case RELIST_TROUBLE:
		print_message("placet get nodes: %s; going on", note->err->msg);
		break;
	case RELIST_STOPPED:
		list->relist = NULL;
		break;
	}
}

/* Of one cluster there is a prefix in each partition. */
static bool next_prefix(void *ctx, bool first, struct pl_span *prefix)
{
	struct nodes_list *list = ctx;
	const struct nodes_watch *follow = list->follow;
	struct keys_id id = {.kind = list->half == NODE ? KEYS_NODE : KEYS_ALLOC,
	                     .scope = follow->filter->cluster};

	list->piece = first ? 0 : list->piece + 1;
	id.partition = list->piece;
	if (list->piece >= follow->cli->meta.partitions)
		return false;
	if (keys_prefix(&id, 3, &list->prefix, NULL) != PL_OK)
		PL_UNREACHABLE("a cluster that was checked");
	*prefix = keys_span(&list->prefix);
	return true;
}

static enum pl_code open_lists(struct nodes_watch *follow, struct pl_err *err)
{
	const struct node_filter *filter = follow->filter;
	enum pl_code code = PL_OK;

	for (unsigned i = 0; i < HALVES && code == PL_OK; i++) {
		struct nodes_list *list = &follow->list[i];
		struct keys_id id = {.kind = i == NODE ? KEYS_NODE : KEYS_ALLOC};
		struct relist_opts opts = {.prefix_ctx = list};
		struct keys_text prefix;

		list->follow = follow;
		list->half = (enum half)i;
		code = keys_prefix(&id, 1, &prefix, err);
		opts.keys = kv_prefix(keys_span(&prefix));
		if (filter->cluster.len > 0 && filter->name_count == 0)
			opts.next_prefix = next_prefix;
		if (code == PL_OK)
			code = relist_open(follow->cli->session->kv, &opts, on_note, list,
			                   &list->relist, err);
	}
	return code;
}

static void close_lists(struct nodes_watch *follow)
{
	for (unsigned i = 0; i < HALVES; i++)
		if (follow->list[i].relist != NULL)
			relist_stop(follow->list[i].relist);
	while (follow->list[NODE].relist != NULL || follow->list[ALLOC].relist != NULL)
		(void)uv_run(&follow->cli->session->loop, UV_RUN_ONCE);
}

enum pl_code watch_nodes(const struct cli_session *cli, const struct node_filter *filter,
                         struct pl_err *err)
{
	struct nodes_watch follow = {.cli = cli, .filter = filter};
	enum pl_code code;

	node_reader_init(&follow.reader, filter->query);
	pl_map_init(&follow.nodes);
	row_watch_init(&follow.row_watch, &node_schema, cli->options->format, true);
	follow.row_watch.state_column = NODE_ROW_STATE;
	row_watch_begin(&follow.row_watch);
	code = open_lists(&follow, err);
	while (code == PL_OK && follow.row_watch.err.code == PL_OK)
		(void)uv_run(&cli->session->loop, UV_RUN_ONCE);
	if (code == PL_OK) {
		*err = follow.row_watch.err;
		code = err->code;
	}
	close_lists(&follow);
	PL_MAP_EACH (node, &follow.nodes)
		seen_free(&follow, seen_of(node));
	pl_map_done(&follow.nodes);
	row_watch_done(&follow.row_watch);
	node_reader_done(&follow.reader);
	return code;
}
