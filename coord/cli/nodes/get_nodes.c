/*
 * placet get nodes: what each node has, and what of it is taken. Nodes and allocs are
 * read at one revision; both come by partition, cluster and name, so they are put
 * together as they come. Those that are named are read where their names fall.
 */
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/nodes/node_row.h"
#include "coord/cli/nodes/watch_nodes.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/listing.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"
#include "store/keys/partition.h"

enum {
	PART = 8192,
	ARENA_CHUNK = 1 << 20,
	PRINT_MAX = 256 << 20,
	NODES_MAX = 4000000,
	ARGS_MAX = 1000,
};

struct get_nodes {
	struct node_pick pick;
	const struct cli_session *cli;
	struct node_reader reader;
	struct pl_arena arena; /* of what was found */
	struct node_found *found;
	size_t count, cap;
	size_t at; /* the walk along them that allocs go with */
};

/* -- what stands there ---------------------------------------------------- */

static struct node_found *add_node(struct get_nodes *get, const struct keys_id *id,
                                   struct pl_err *err)
{
	struct node_found *found;

	if (get->count == get->cap) {
		size_t cap = get->cap == 0 ? 1024 : get->cap * 2;

		found = cap > NODES_MAX ? NULL
		                        : pl_realloc(get->found, cap * sizeof *found);
		if (found == NULL) {
			(void)pl_err_set(err, PL_NOMEM, "keep the nodes");
			return NULL;
		}
		get->found = found;
		get->cap = cap;
	}
	found = &get->found[get->count];
	*found = (struct node_found){.cluster = pl_arena_dup(&get->arena, id->scope),
	                             .name = pl_arena_dup(&get->arena, id->name),
	                             .partition = id->partition};
	if (found->cluster.at == NULL || found->name.at == NULL) {
		(void)pl_err_set(err, PL_NOMEM, "keep the nodes");
		return NULL;
	}
	get->count++;
	return found;
}

/* Why it makes no sense, to be shown. */
static enum pl_code keep_note(struct get_nodes *get, enum pl_code code,
                              const struct pl_err *why, struct pl_span *out,
                              struct pl_err *err)
{
	if (code == PL_OK)
		return PL_OK;
	if (code != PL_NOMEM)
		*out = pl_arena_dup(&get->arena, pl_span_str(why->msg));
	return out->at == NULL ? pl_err_set(err, PL_NOMEM, "read the nodes") : PL_OK;
}

static enum pl_code on_node(void *ctx, const struct kv_record *record, struct pl_err *err)
{
	struct get_nodes *get = ctx;
	struct node_found *found;
	struct pl_err why = {0};
	struct keys_id id;
	enum pl_code code;

	if (keys_parse(record->key, &id, NULL) != PL_OK ||
	    !node_pick_wants(&get->pick, &id))
		return PL_OK;
	found = add_node(get, &id, err);
	if (found == NULL)
		return err->code;
	code = node_reader_node(&get->reader, record->value, found, &why);
	return keep_note(get, code, &why, &found->node_note, err);
}

/* As their keys are: a slash stands behind the cluster. */
static int sort_nodes(const struct node_found *found, const struct keys_id *id)
{
	char a[KEYS_SIZE_MAX], b[KEYS_SIZE_MAX];

	if (found->partition != id->partition)
		return found->partition < id->partition ? -1 : 1;
	(void)snprintf(a, sizeof a, PL_SPAN_FMT "/" PL_SPAN_FMT,
	               PL_SPAN_ARG(found->cluster), PL_SPAN_ARG(found->name));
	(void)snprintf(b, sizeof b, PL_SPAN_FMT "/" PL_SPAN_FMT, PL_SPAN_ARG(id->scope),
	               PL_SPAN_ARG(id->name));
	return strcmp(a, b);
}

static struct node_found *find_node(struct get_nodes *get, const struct keys_id *id,
                                    size_t nodes)
{
	while (get->at < nodes && sort_nodes(&get->found[get->at], id) < 0)
		get->at++;
	return get->at < nodes && sort_nodes(&get->found[get->at], id) == 0
	               ? &get->found[get->at]
	               : NULL;
}

struct allocs_walk {
	struct get_nodes *get;
	size_t nodes; /* what was found before the first alloc */
};

static enum pl_code on_alloc(void *ctx, const struct kv_record *record,
                             struct pl_err *err)
{
	struct allocs_walk *allocs = ctx;
	struct get_nodes *get = allocs->get;
	struct node_found *found;
	struct pl_err why = {0};
	struct keys_id id;
	enum pl_code code;

	if (keys_parse(record->key, &id, NULL) != PL_OK ||
	    !node_pick_wants(&get->pick, &id))
		return PL_OK;
	found = find_node(get, &id, allocs->nodes);
	if (found == NULL)
		found = add_node(get, &id, err);
	if (found == NULL)
		return err->code;
	code = node_reader_alloc(&get->reader, record->value, found, &why);
	return keep_note(get, code, &why, &found->alloc_note, err);
}

/* Without labels there is nothing that could be those asked for. */
static void keep_selected(struct get_nodes *get)
{
	size_t count = 0;

	for (size_t i = 0; i < get->count; i++)
		if (get->found[i].has_node && get->found[i].selected)
			get->found[count++] = get->found[i];
	get->count = count;
}

/* -- shown ---------------------------------------------------------------- */

static int compare_nodes(const void *a, const void *b)
{
	const struct node_found *x = a, *y = b;
	int by = pl_span_cmp(x->cluster, y->cluster);

	return by != 0 ? by : pl_span_cmp(x->name, y->name);
}

static enum pl_code print_chunk(struct get_nodes *get, struct output *output, size_t at,
                                struct output_row *rows, struct pl_buf *out,
                                struct pl_err *err)
{
	size_t left = get->count - at, count = left < PART ? left : PART;
	enum pl_code code = PL_OK;

	pl_arena_reset(&get->reader.scratch);
	for (size_t i = 0; i < count && code == PL_OK; i++)
		code = node_row(&get->found[at + i], &get->reader.scratch, &rows[i]);
	if (code != PL_OK)
		return pl_err_set(err, code, "print the nodes");
	code = get->count <= PART
	               ? output_list(output, rows, count, out, err)
	               : output_part(output, rows, count, count == left, out, err);
	return code == PL_OK ? print_result(out, err) : code;
}

static enum pl_code print_nodes(struct get_nodes *get, struct pl_err *err)
{
	struct output_row *rows = pl_calloc(PART, sizeof *rows);
	enum pl_code code = PL_OK;
	struct output output;
	struct pl_buf out;
	size_t at = 0;

	if (rows == NULL)
		return pl_err_set(err, PL_NOMEM, "print the nodes");
	if (get->count > 1)
		qsort(get->found, get->count, sizeof *get->found, compare_nodes);
	if (get->count == 0)
		print_message("no nodes");
	output_init(&output, &node_schema, get->cli->options->format, false);
	pl_buf_init(&out, PRINT_MAX);
	do {
		code = print_chunk(get, &output, at, rows, &out, err);
		at += PART;
	} while (at < get->count && code == PL_OK);
	pl_buf_done(&out);
	free(rows);
	return code;
}

/* -- all of it ------------------------------------------------------------ */

static enum pl_code read_kind(struct get_nodes *get, enum keys_kind kind,
                              int64_t *revision, session_list_fn *fn, void *ctx,
                              struct pl_err *err)
{
	const char *cluster = get->pick.arg_count > 0 ? NULL : get->pick.cluster;
	struct keys_id id = {.kind = kind, .scope = pl_span_str(cluster)};
	uint32_t prefixes = cluster == NULL ? 1 : get->cli->meta.partitions;
	enum pl_code code = PL_OK;

	for (uint32_t p = 0; p < prefixes && code == PL_OK; p++) {
		struct keys_text prefix;

		id.partition = p;
		code = keys_prefix(&id, cluster == NULL ? 1 : 3, &prefix, err);
		if (code == PL_OK)
			code = session_list(get->cli->session, keys_span(&prefix),
			                    revision, fn, ctx, err);
	}
	return code;
}

static enum pl_code read_all(struct get_nodes *get, struct pl_err *err)
{
	struct allocs_walk allocs = {.get = get};
	int64_t revision = 0;
	enum pl_code code;

	get->count = get->at = 0;
	code = read_kind(get, KEYS_NODE, &revision, on_node, get, err);
	allocs.nodes = get->count;
	if (code == PL_OK)
		code = read_kind(get, KEYS_ALLOC, &revision, on_alloc, &allocs, err);
	return code;
}

/* -- those that are named ------------------------------------------------- */

/* The key, as a prefix: longer names are not asked for. */
static enum pl_code read_named(struct get_nodes *get, struct keys_id *id,
                               int64_t *revision, struct pl_err *err)
{
	struct store_session *session = get->cli->session;
	struct allocs_walk allocs = {.get = get};
	struct keys_text key;
	enum pl_code code = partition_of_node(
		id->scope, id->name, get->cli->meta.partitions, &id->partition, err);

	get->at = get->count;
	if (code == PL_OK)
		code = keys_build(id, &key, err);
	if (code == PL_OK)
		code = session_list(session, keys_span(&key), revision, on_node, get,
		                    err);
	allocs.nodes = get->count;
	id->kind = KEYS_ALLOC;
	if (code == PL_OK)
		code = keys_build(id, &key, err);
	if (code == PL_OK)
		code = session_list(session, keys_span(&key), revision, on_alloc, &allocs,
		                    err);
	return code;
}

/* One in a partition that is not its own may still be there: all are looked through. */
static enum pl_code read_names(struct get_nodes *get, struct pl_err *err)
{
	int64_t revision = 0;

	for (unsigned i = 0; i < get->pick.arg_count; i++) {
		size_t before = get->count;
		struct keys_id id = {.kind = KEYS_NODE};
		enum pl_code code =
			node_pick_named(&get->pick, get->pick.args[i], &id, err);

		if (code == PL_OK && node_pick_is_among(&get->pick, i, &id))
			continue;
		if (code == PL_OK)
			code = read_named(get, &id, &revision, err);
		if (code != PL_OK)
			return code;
		if (get->count == before)
			return read_all(get, err);
	}
	return PL_OK;
}

static bool is_found(const struct get_nodes *get, const struct keys_id *id)
{
	struct node_found wanted = {.cluster = id->scope, .name = id->name};

	return get->count > 0 && bsearch(&wanted, get->found, get->count,
	                                 sizeof *get->found, compare_nodes) != NULL;
}

/* After they were printed, sorted. PL_NOTFOUND: some are not there. */
static enum pl_code print_missing(const struct get_nodes *get, struct pl_err *err)
{
	unsigned absent = 0;

	for (unsigned i = 0; i < get->pick.arg_count; i++) {
		struct keys_id id = {.kind = KEYS_NODE};

		if (node_pick_named(&get->pick, get->pick.args[i], &id, NULL) != PL_OK ||
		    node_pick_is_among(&get->pick, i, &id) || is_found(get, &id))
			continue;
		absent++;
		print_message(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such node",
		              PL_SPAN_ARG(id.scope), PL_SPAN_ARG(id.name));
	}
	return absent == 0 ? PL_OK : pl_err_set(err, PL_NOTFOUND, "%u not there", absent);
}

static enum pl_code print_found(struct get_nodes *get, struct pl_err *err)
{
	bool names = get->pick.arg_count > 0;
	enum pl_code code = names ? read_names(get, err) : read_all(get, err);

	if (code == PL_OK && get->pick.query.requirements > 0)
		keep_selected(get);
	if (code == PL_OK && (get->count > 0 || !names))
		code = print_nodes(get, err);
	return code == PL_OK ? print_missing(get, err) : code;
}

static enum pl_code get_nodes_run(void *ctx, const struct cli_session *cli,
                                  struct pl_err *err)
{
	struct get_nodes *get = ctx;
	enum pl_code code;

	get->cli = cli;
	if (cli->options->watch)
		return watch_nodes(cli, &get->pick, err);
	node_reader_init(&get->reader, &get->pick.query);
	pl_arena_init(&get->arena, ARENA_CHUNK, 0);
	code = print_found(get, err);
	pl_arena_done(&get->arena);
	node_reader_done(&get->reader);
	free(get->found);
	return code;
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct get_nodes *get = ctx;

	if (opt == 'l')
		return label_query_parse(pl_span_str(arg), &get->pick.query, err) == PL_OK
		               ? PL_OK
		               : pl_err_wrap(err, "--selector");
	get->pick.cluster = arg;
	if (names_check(NAMES_CLUSTER, pl_span_str(arg), err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "--cluster");
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct node_pick *pick = &((struct get_nodes *)ctx)->pick;
	struct keys_id id;

	pick->args = options->args;
	pick->arg_count = options->arg_count;
	if (pick->arg_count > 0 && pick->query.requirements > 0)
		return pl_err_set(err, PL_INVALID, "--selector: does not go with names");
	for (unsigned i = 0; i < pick->arg_count; i++)
		if (node_pick_named(pick, pick->args[i], &id, err) != PL_OK)
			return err->code;
	return PL_OK;
}

static const struct option own[] = {
	{"cluster", required_argument, NULL, 'c'},
	{"selector", required_argument, NULL, 'l'},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "get nodes",
	.usage = "[CLUSTER/NODE...] [options]",
	.about =
		"Shows nodes by cluster and name, with what is taken on each of what can\n"
		"be taken: pods, cpu, memory. What makes no sense is shown as malformed,\n"
		"with the reason.\n",
	.help = "  -c, --cluster NAME     only those of a cluster; of names without one\n"
		"  -l, --selector LABELS  only those with labels, as zone=a,disk!=hdd,\n"
		"                         'gpu in (a100,h100)', spot or '!spot'\n",
	.example = "  placet get nodes -o wide\n"
		   "  placet get nodes -c east -o json\n"
		   "  placet get nodes east/n-1 east/n-2\n"
		   "  placet get nodes -l disk=hdd -o name | xargs placet nodes cordon\n",
	.exits = "0 done, 1 some named node is not there, or it could not be, 2 wrong "
		 "usage",
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_WATCH,
	.args_max = ARGS_MAX,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct get_nodes get = {.count = 0};

	return cli_session_run(&spec, argc, argv, get_nodes_run, &get);
}

const struct command get_nodes_command = {.words = "get nodes",
                                          .summary = "show the nodes and what is taken",
                                          .run = run_command};
