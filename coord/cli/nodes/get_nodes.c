/*
 * placet get nodes: what each node has, and what of it is taken. Nodes and allocs are
 * read at one revision; both come by partition, cluster and name, so they are put
 * together as they come. Those that are named are read where their names fall.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/out/say.h"
#include "coord/cli/reach/listing.h"
#include "coord/cli/reach/reach.h"
#include "shardsched/ledger/alloc.h"
#include "shardsched/model/parse.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"
#include "store/keys/partition.h"

enum {
	PART = 8192,
	ARENA_CHUNK = 1 << 20,
	SCRATCH_MAX = 64 << 20,
	PRINT_MAX = 256 << 20,
	NODES_MAX = 4000000,
	NOTE_MAX = 200,
	ARGS_MAX = 1000,
};

enum column {
	CLUSTER,
	NAME,
	STATE,
	PODS,
	PODS_USED,
	PODS_MAX,
	CPU,
	CPU_USED,
	CPU_MAX,
	MEMORY,
	MEMORY_USED,
	MEMORY_MAX,
	TAINTS,
	HOLDS,
	GENERATION,
	PARTITION,
	NOTE,
	COLUMN_COUNT,
};

static const struct output_column columns[] = {
	[CLUSTER] = {"CLUSTER", "cluster", OUTPUT_ALWAYS},
	[NAME] = {"NAME", "name", OUTPUT_ALWAYS},
	[STATE] = {"STATE", "state", OUTPUT_ALWAYS},
	[PODS] = {"PODS", NULL, OUTPUT_ALWAYS},
	[PODS_USED] = {NULL, "pods", OUTPUT_ALWAYS},
	[PODS_MAX] = {NULL, "pods_allocatable", OUTPUT_ALWAYS},
	[CPU] = {"CPU", NULL, OUTPUT_ALWAYS},
	[CPU_USED] = {NULL, "cpu_milli", OUTPUT_ALWAYS},
	[CPU_MAX] = {NULL, "cpu_milli_allocatable", OUTPUT_ALWAYS},
	[MEMORY] = {"MEMORY", NULL, OUTPUT_ALWAYS},
	[MEMORY_USED] = {NULL, "memory", OUTPUT_ALWAYS},
	[MEMORY_MAX] = {NULL, "memory_allocatable", OUTPUT_ALWAYS},
	[TAINTS] = {"TAINTS", "taints", OUTPUT_ON_WIDE},
	[HOLDS] = {"HOLDS", "holds", OUTPUT_ON_WIDE},
	[GENERATION] = {"GENERATION", "generation", OUTPUT_ON_WIDE},
	[PARTITION] = {"PARTITION", "partition", OUTPUT_ON_WIDE},
	[NOTE] = {"NOTE", "note", OUTPUT_IF_USED},
};

static const struct output_schema schema = {"Node", columns, COLUMN_COUNT};

struct amounts {
	int64_t pods, cpu_milli, memory;
};

struct found {
	struct pl_span cluster, name, note;
	uint32_t partition, taints, holds;
	uint64_t generation;
	struct amounts used, most;
	bool has_node, has_alloc, cordoned;
};

struct get {
	const char *cluster; /* NULL: all */
	const struct reach *reach;
	struct model model;
	struct pl_arena arena, scratch;
	struct found *found;
	size_t count, cap;
	size_t at; /* the walk along them that allocs go with */
};

/* -- which are asked for
 * ----------------------------------------------------------------- */

/* "east/n-1", or "n-1" with --cluster east. */
static enum pl_code named(const struct get *get, const char *arg, struct keys_id *out,
                          struct pl_err *err)
{
	const char *slash = strchr(arg, '/');
	enum pl_code code;

	if (slash == NULL && get->cluster == NULL)
		return pl_err_set(err, PL_INVALID,
		                  "'%s': want CLUSTER/NODE, or --cluster", arg);
	*out = (struct keys_id){.kind = KEYS_NODE};
	out->scope = slash == NULL ? pl_span_str(get->cluster)
	                           : pl_span(arg, (size_t)(slash - arg));
	out->name = pl_span_str(slash == NULL ? arg : slash + 1);
	code = names_check(NAMES_CLUSTER, out->scope, err);
	return code == PL_OK ? names_check(NAMES_NODE, out->name, err) : code;
}

/* Of the first count arguments. */
static bool is_among(const struct get *get, unsigned count, const struct keys_id *id)
{
	struct keys_id one = {.kind = KEYS_NODE};

	for (unsigned i = 0; i < count; i++)
		if (named(get, get->reach->options->args[i], &one, NULL) == PL_OK &&
		    pl_span_eq(one.scope, id->scope) && pl_span_eq(one.name, id->name))
			return true;
	return false;
}

static bool is_asked_for(const struct get *get, const struct keys_id *id)
{
	unsigned count = get->reach->options->arg_count;

	return count == 0 || is_among(get, count, id);
}

/* -- what stands there
 * ------------------------------------------------------------------- */

static struct found *add(struct get *get, const struct keys_id *id, struct pl_err *err)
{
	struct found *found;

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
	*found = (struct found){.cluster = pl_arena_dup(&get->arena, id->scope),
	                        .name = pl_arena_dup(&get->arena, id->name),
	                        .partition = id->partition};
	if (found->cluster.at == NULL || found->name.at == NULL) {
		(void)pl_err_set(err, PL_NOMEM, "keep the nodes");
		return NULL;
	}
	get->count++;
	return found;
}

static enum pl_code note(struct get *get, struct found *found, const char *what,
                         const struct pl_err *why, struct pl_err *err)
{
	char text[NOTE_MAX + PL_ERR_MSG_SIZE];

	(void)snprintf(text, sizeof text, "%s%.*s", what, NOTE_MAX, why->msg);
	found->note = pl_arena_dup(&get->arena, pl_span_str(text));
	return found->note.at == NULL ? pl_err_set(err, PL_NOMEM, "keep the nodes")
	                              : PL_OK;
}

static enum pl_code on_node(void *ctx, const struct kv_record *record, struct pl_err *err)
{
	struct get *get = ctx;
	struct parse parse = {.model = &get->model, .arena = &get->scratch};
	struct pl_err why = {0};
	struct found *found;
	struct keys_id id;
	struct node node;

	if (keys_parse(record->key, &id, NULL) != PL_OK || !is_asked_for(get, &id))
		return PL_OK;
	found = add(get, &id, err);
	if (found == NULL)
		return err->code;
	found->has_node = true;
	pl_arena_reset(&get->scratch);
	if (node_parse(&parse, record->value, &node, &why) != PL_OK)
		return why.code == PL_NOMEM ? pl_err_set(err, PL_NOMEM, "read a node")
		                            : note(get, found, "node: ", &why, err);
	found->cordoned = node.unschedulable;
	found->taints = node.taints->count;
	found->most =
		(struct amounts){node.allocatable->pods, node.allocatable->cpu_milli,
	                         node.allocatable->memory};
	node_drop(&get->model, &node);
	return PL_OK;
}

/* As their keys are: a slash stands behind the cluster. */
static int order(const struct found *found, const struct keys_id *id)
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

static struct found *find(struct get *get, const struct keys_id *id, size_t nodes)
{
	while (get->at < nodes && order(&get->found[get->at], id) < 0)
		get->at++;
	return get->at < nodes && order(&get->found[get->at], id) == 0
	               ? &get->found[get->at]
	               : NULL;
}

struct allocs {
	struct get *get;
	size_t nodes; /* what was found before the first alloc */
};

static enum pl_code on_alloc(void *ctx, const struct kv_record *record,
                             struct pl_err *err)
{
	struct allocs *allocs = ctx;
	struct get *get = allocs->get;
	struct pl_err why = {0};
	struct found *found;
	struct alloc alloc;
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK || !is_asked_for(get, &id))
		return PL_OK;
	found = find(get, &id, allocs->nodes);
	if (found == NULL)
		found = add(get, &id, err);
	if (found == NULL)
		return err->code;
	found->has_alloc = true;
	pl_arena_reset(&get->scratch);
	if (alloc_parse(record->value, &get->scratch, &alloc, &why) != PL_OK)
		return why.code == PL_NOMEM ? pl_err_set(err, PL_NOMEM, "read an alloc")
		                            : note(get, found, "alloc: ", &why, err);
	found->generation = alloc.generation;
	found->holds = alloc.holds;
	found->used = (struct amounts){alloc.used.pods, alloc.used.cpu_milli,
	                               alloc.used.memory};
	return PL_OK;
}

/* -- rows
 * -------------------------------------------------------------------------------- */

static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};

static void print_bytes(int64_t bytes, char out[32])
{
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 1024 && unit < sizeof units / sizeof units[0] - 1) {
		value /= 1024;
		unit++;
	}
	(void)snprintf(out, 32, value < 10 && unit > 0 ? "%.1f%s" : "%.0f%s", value,
	               units[unit]);
}

/* "4.2/16"; what is used is not known of a node without an alloc. */
static enum pl_code put_pair(struct output_row *row, unsigned column,
                             struct pl_arena *arena, const char *used, const char *most)
{
	char *text = pl_arena_printf(arena, "%s/%s", used, most);

	if (text == NULL)
		return PL_NOMEM;
	output_text(row, column, pl_span_str(text));
	return PL_OK;
}

static enum pl_code put_amounts(struct output_row *row, const struct found *found,
                                struct pl_arena *arena)
{
	const struct amounts *used = &found->used, *most = &found->most;
	char a[32], b[32];
	enum pl_code code;

	(void)snprintf(a, sizeof a, "%" PRId64, used->pods);
	(void)snprintf(b, sizeof b, "%" PRId64, most->pods);
	code = put_pair(row, PODS, arena, a, b);
	(void)snprintf(a, sizeof a, "%.3g", (double)used->cpu_milli / 1e3);
	(void)snprintf(b, sizeof b, "%.6g", (double)most->cpu_milli / 1e3);
	if (code == PL_OK)
		code = put_pair(row, CPU, arena, a, b);
	print_bytes(used->memory, a);
	print_bytes(most->memory, b);
	if (code == PL_OK)
		code = put_pair(row, MEMORY, arena, a, b);
	output_int(row, PODS_USED, used->pods);
	output_int(row, PODS_MAX, most->pods);
	output_int(row, CPU_USED, used->cpu_milli);
	output_int(row, CPU_MAX, most->cpu_milli);
	output_int_string(row, MEMORY_USED, used->memory);
	output_int_string(row, MEMORY_MAX, most->memory);
	return code;
}

static const char *state_of(const struct found *found)
{
	if (found->note.len > 0)
		return "garbled";
	if (!found->has_node)
		return "no-node";
	if (!found->has_alloc)
		return "no-alloc";
	return found->cordoned ? "cordoned" : "ready";
}

static enum pl_code node_row(const struct found *found, struct pl_arena *arena,
                             struct output_row *out)
{
	struct output_row row = {0};
	enum pl_code code = PL_OK;

	output_text(&row, CLUSTER, found->cluster);
	output_text(&row, NAME, found->name);
	output_text(&row, STATE, pl_span_str(state_of(found)));
	if (found->has_node && found->has_alloc && found->note.len == 0)
		code = put_amounts(&row, found, arena);
	output_int(&row, TAINTS, found->taints);
	output_int(&row, HOLDS, found->holds);
	output_int_string(&row, GENERATION, (int64_t)found->generation);
	output_int(&row, PARTITION, found->partition);
	output_text(&row, NOTE, found->note);
	*out = row;
	return code;
}

static int by_name(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int by = pl_span_cmp(x->cluster, y->cluster);

	return by != 0 ? by : pl_span_cmp(x->name, y->name);
}

static enum pl_code print_part(struct get *get, struct output *output, size_t at,
                               struct output_row *rows, struct pl_buf *out,
                               struct pl_err *err)
{
	size_t left = get->count - at, count = left < PART ? left : PART;
	enum pl_code code = PL_OK;

	pl_arena_reset(&get->scratch);
	for (size_t i = 0; i < count && code == PL_OK; i++)
		code = node_row(&get->found[at + i], &get->scratch, &rows[i]);
	if (code != PL_OK)
		return pl_err_set(err, code, "print the nodes");
	code = get->count <= PART
	               ? output_list(output, rows, count, out, err)
	               : output_part(output, rows, count, count == left, out, err);
	return code == PL_OK ? say_result(out, err) : code;
}

static enum pl_code print(struct get *get, struct pl_err *err)
{
	struct output_row *rows = pl_calloc(PART, sizeof *rows);
	enum pl_code code = PL_OK;
	struct output output;
	struct pl_buf out;
	size_t at = 0;

	if (rows == NULL)
		return pl_err_set(err, PL_NOMEM, "print the nodes");
	if (get->count > 1)
		qsort(get->found, get->count, sizeof *get->found, by_name);
	if (get->count == 0)
		say("no nodes");
	output_init(&output, &schema, get->reach->options->format, false);
	pl_buf_init(&out, PRINT_MAX);
	do {
		code = print_part(get, &output, at, rows, &out, err);
		at += PART;
	} while (at < get->count && code == PL_OK);
	pl_buf_done(&out);
	free(rows);
	return code;
}

/* -- all of it
 * --------------------------------------------------------------------------- */

static enum pl_code read_kind(struct get *get, enum keys_kind kind, int64_t *revision,
                              listing_fn *fn, void *ctx, struct pl_err *err)
{
	struct keys_id id = {.kind = kind, .scope = pl_span_str(get->cluster)};
	uint32_t prefixes = get->cluster == NULL ? 1 : get->reach->meta.partitions;
	enum pl_code code = PL_OK;

	for (uint32_t p = 0; p < prefixes && code == PL_OK; p++) {
		struct keys_text prefix;

		id.partition = p;
		code = keys_prefix(&id, get->cluster == NULL ? 1 : 3, &prefix, err);
		if (code == PL_OK)
			code = listing_read(get->reach->session, keys_span(&prefix),
			                    revision, fn, ctx, err);
	}
	return code;
}

static enum pl_code read_all(struct get *get, struct pl_err *err)
{
	struct allocs allocs = {.get = get};
	bool names = get->reach->options->arg_count > 0;
	const char *cluster = get->cluster;
	int64_t revision = 0;
	enum pl_code code;

	get->cluster = names ? NULL : cluster;
	get->count = get->at = 0;
	code = read_kind(get, KEYS_NODE, &revision, on_node, get, err);
	allocs.nodes = get->count;
	if (code == PL_OK)
		code = read_kind(get, KEYS_ALLOC, &revision, on_alloc, &allocs, err);
	get->cluster = cluster;
	return code;
}

/* -- those that are named
 * ------------------------------------------------------------------ */

/* The key, as a prefix: longer names are not asked for. */
static enum pl_code read_named(struct get *get, struct keys_id *id, int64_t *revision,
                               struct pl_err *err)
{
	struct store_session *session = get->reach->session;
	struct allocs allocs = {.get = get};
	struct keys_text key;
	enum pl_code code = partition_of_node(
		id->scope, id->name, get->reach->meta.partitions, &id->partition, err);

	get->at = get->count;
	if (code == PL_OK)
		code = keys_build(id, &key, err);
	if (code == PL_OK)
		code = listing_read(session, keys_span(&key), revision, on_node, get,
		                    err);
	allocs.nodes = get->count;
	id->kind = KEYS_ALLOC;
	if (code == PL_OK)
		code = keys_build(id, &key, err);
	if (code == PL_OK)
		code = listing_read(session, keys_span(&key), revision, on_alloc, &allocs,
		                    err);
	return code;
}

/* One in a partition that is not its own may still be there: all are looked through. */
static enum pl_code read_names(struct get *get, struct pl_err *err)
{
	int64_t revision = 0;

	for (unsigned i = 0; i < get->reach->options->arg_count; i++) {
		size_t before = get->count;
		struct keys_id id = {.kind = KEYS_NODE};
		enum pl_code code = named(get, get->reach->options->args[i], &id, err);

		if (code == PL_OK && is_among(get, i, &id))
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

static bool is_found(const struct get *get, const struct keys_id *id)
{
	struct found wanted = {.cluster = id->scope, .name = id->name};

	return get->count > 0 && bsearch(&wanted, get->found, get->count,
	                                 sizeof *get->found, by_name) != NULL;
}

/* After they were printed, sorted. PL_NOTFOUND: some are not there. */
static enum pl_code say_absent(const struct get *get, struct pl_err *err)
{
	unsigned absent = 0;

	for (unsigned i = 0; i < get->reach->options->arg_count; i++) {
		struct keys_id id = {.kind = KEYS_NODE};

		if (named(get, get->reach->options->args[i], &id, NULL) != PL_OK ||
		    is_among(get, i, &id) || is_found(get, &id))
			continue;
		absent++;
		say(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such node", PL_SPAN_ARG(id.scope),
		    PL_SPAN_ARG(id.name));
	}
	return absent == 0 ? PL_OK : pl_err_set(err, PL_NOTFOUND, "%u not there", absent);
}

static enum pl_code look(void *ctx, const struct reach *reach, struct pl_err *err)
{
	bool names = reach->options->arg_count > 0;
	struct get *get = ctx;
	enum pl_code code;

	get->reach = reach;
	model_init(&get->model);
	pl_arena_init(&get->arena, ARENA_CHUNK, 0);
	pl_arena_init(&get->scratch, ARENA_CHUNK, SCRATCH_MAX);
	code = names ? read_names(get, err) : read_all(get, err);
	if (code == PL_OK && (get->count > 0 || !names))
		code = print(get, err);
	if (code == PL_OK)
		code = say_absent(get, err);
	pl_arena_done(&get->scratch);
	pl_arena_done(&get->arena);
	model_done(&get->model);
	free(get->found);
	return code;
}

static enum pl_code take(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct get *get = ctx;

	(void)opt;
	get->cluster = arg;
	if (names_check(NAMES_CLUSTER, pl_span_str(arg), err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "--cluster");
}

static enum pl_code check(void *ctx, const struct options *options, struct pl_err *err)
{
	const struct get *get = ctx;
	struct keys_id id;

	for (unsigned i = 0; i < options->arg_count; i++)
		if (named(get, options->args[i], &id, err) != PL_OK)
			return err->code;
	return PL_OK;
}

static const struct option own[] = {
	{"cluster", required_argument, NULL, 'c'},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "get nodes",
	.usage = "[CLUSTER/NODE...] [options]",
	.about =
		"Shows nodes by cluster and name, with what is taken on each of what can\n"
		"be taken: pods, cpu, memory. What makes no sense is shown as garbled,\n"
		"with the reason.\n",
	.help = "  -c, --cluster NAME     only those of a cluster; of names without one\n",
	.example = "  placet get nodes -o wide\n"
		   "  placet get nodes -c east -o json\n"
		   "  placet get nodes east/n-1 east/n-2\n",
	.exits = "0 done, 1 some named node is not there, or it could not be, 2 wrong "
		 "usage",
	.common = OPTIONS_OUTPUT,
	.args_max = ARGS_MAX,
	.own = own,
	.take = take,
	.check = check,
};

static enum exit_code run(int argc, char **argv)
{
	struct get get = {.cluster = NULL};

	return reach_run(&spec, argc, argv, look, &get);
}

const struct command get_nodes_command = {
	.words = "get nodes", .summary = "show the nodes and what is taken", .run = run};
