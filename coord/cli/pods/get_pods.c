/*
 * placet get pods: read page by page, sorted by namespace and name, printed in parts; so
 * a million of them can be looked at. Those that are named are read where their names
 * lead. With --watch they are kept, and every change printed.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "coord/cli/output/message.h"
#include "coord/service/pods/pod_gates.h"
#include "coord/cli/pods/pod_row.h"
#include "coord/cli/pods/watch_pods.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/listing.h"
#include "coord/cli/shards/idle_warning.h"
#include "shardsched/records/pod_location.h"
#include "shardsched/records/pod_state.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/keys/names.h"
#include "store/keys/partition.h"

enum {
	PART = 8192,
	ARENA_CHUNK = 1 << 20,
	PRINT_MAX = 256 << 20,
	PODS_MAX = 4000000,
	ARGS_MAX = 1000,
	NAME_LEVELS = 4, /* /schedules/<partition>/<namespace>/<name>/ */
};

struct pod_found {
	struct pl_span namespace, name, state; /* the state's value; at NULL: none */
	uint32_t partition;
	bool has_spec, gated;
	bool selected; /* it has the labels that are asked for */
};

struct get_pods {
	struct pod_pick pick;
	const struct cli_session *cli;
	struct pl_arena arena; /* of what was found */
	struct pod_found *found;
	size_t count, cap;
	bool some_wait;  /* of those that were printed */
	struct pointer { /* what was read last of a name */
		bool there;
		uint32_t at;
	} pointer;
};

/* -- all there is --------------------------------------------------------- */

static struct pod_found *add_pod(struct get_pods *get, const struct keys_id *id,
                                 struct pl_err *err)
{
	struct pod_found *found;

	if (get->count == get->cap) {
		size_t cap = get->cap == 0 ? 1024 : get->cap * 2;

		found = cap > PODS_MAX ? NULL
		                       : pl_realloc(get->found, cap * sizeof *found);
		if (found == NULL) {
			(void)pl_err_set(err, PL_NOMEM,
			                 "keep the pods; ask for less with "
			                 "--namespace");
			return NULL;
		}
		get->found = found;
		get->cap = cap;
	}
	PL_ASSERT(get->found != NULL);
	found = &get->found[get->count];
	*found = (struct pod_found){.namespace = pl_arena_dup(&get->arena, id->scope),
	                            .name = pl_arena_dup(&get->arena, id->name),
	                            .partition = id->partition};
	if (found->namespace.at == NULL || found->name.at == NULL) {
		(void)pl_err_set(err, PL_NOMEM, "keep the pods");
		return NULL;
	}
	get->count++;
	return found;
}

/* The one that the last record was about, or a new one. */
static struct pod_found *found_for(struct get_pods *get, const struct keys_id *id,
                                   struct pl_err *err)
{
	struct pod_found *last = get->count == 0 ? NULL : &get->found[get->count - 1];

	if (last != NULL && last->partition == id->partition &&
	    pl_span_eq(last->name, id->name) && pl_span_eq(last->namespace, id->scope))
		return last;
	return add_pod(get, id, err);
}

static enum pl_code on_record(void *ctx, const struct kv_record *record,
                              struct pl_err *err)
{
	struct get_pods *get = ctx;
	bool is_pointer = false;
	struct pod_found *found;
	struct keys_id id;
	uint32_t at = 0;

	if (keys_parse(record->key, &id, NULL) != PL_OK ||
	    !pod_pick_wants(&get->pick, id.scope, id.name))
		return PL_OK;
	if (id.kind == KEYS_SPEC &&
	    (pointer_parse(record->value, &is_pointer, &at, NULL) != PL_OK ||
	     is_pointer)) {
		get->pointer = (struct pointer){is_pointer, at};
		return PL_OK;
	}
	found = found_for(get, &id, err);
	if (found == NULL)
		return err->code;
	if (id.kind == KEYS_SPEC) {
		found->has_spec = true;
		found->gated = pod_has_gates(record->value);
		found->selected = label_query_matches(&get->pick.query, record->value);
		return PL_OK;
	}
	if (get->pick.query.requirements > 0 && !found->selected)
		return PL_OK;
	found->state = pl_arena_dup(&get->arena, record->value);
	return found->state.at == NULL ? pl_err_set(err, PL_NOMEM, "keep the pods")
	                               : PL_OK;
}

static int compare_pods(const void *a, const void *b)
{
	const struct pod_found *x = a, *y = b;
	int order = pl_span_cmp(x->namespace, y->namespace);

	return order != 0 ? order : pl_span_cmp(x->name, y->name);
}

static enum pl_code rows_of(struct get_pods *get, size_t first, size_t count,
                            struct pl_arena *arena, struct output_row *rows)
{
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < count && code == PL_OK; i++) {
		const struct pod_found *found = &get->found[first + i];
		struct pod_row_about about = {.namespace = found->namespace,
		                              .name = found->name,
		                              .partition = found->partition,
		                              .has_spec = found->has_spec,
		                              .gated = found->gated,
		                              .has_state = found->state.at != NULL,
		                              .state = found->state,
		                              .now_ms = pl_clock_wall_ms()};

		code = pod_row(&about, arena, &rows[i]);
	}
	return code;
}

static void note_unserved(struct get_pods *get, size_t first, size_t count,
                          const struct output_row *rows)
{
	for (size_t i = 0; i < count && !get->some_wait; i++)
		get->some_wait = !get->found[first + i].gated &&
		                 pl_span_eq(pod_row_phase(&rows[i]),
		                            pl_span_str(state_phase_word(STATE_PENDING)));
}

static enum pl_code print_chunks(struct get_pods *get, struct output_row *rows,
                                 struct pl_err *err)
{
	struct output output;
	struct pl_arena arena;
	enum pl_code code = PL_OK;
	struct pl_buf out;
	size_t at = 0;

	output_init(&output, &pod_schema, get->cli->options->format, false);
	pl_arena_init(&arena, ARENA_CHUNK, 0);
	pl_buf_init(&out, PRINT_MAX);
	do {
		size_t left = get->count - at, count = left < PART ? left : PART;

		pl_arena_reset(&arena);
		code = rows_of(get, at, count, &arena, rows);
		if (code == PL_OK)
			note_unserved(get, at, count, rows);
		if (code != PL_OK)
			(void)pl_err_set(err, code, "print the pods");
		else if (get->count <= PART)
			code = output_list(&output, rows, count, &out, err);
		else
			code = output_part(&output, rows, count, count == left, &out,
			                   err);
		at += count;
		if (code == PL_OK)
			code = print_result(&out, err);
	} while (at < get->count && code == PL_OK);
	pl_buf_done(&out);
	pl_arena_done(&arena);
	return code;
}

static enum pl_code read_prefix(struct get_pods *get, const struct keys_id *id,
                                unsigned levels, int64_t *revision, struct pl_err *err)
{
	struct keys_text prefix;
	enum pl_code code = keys_prefix(id, levels, &prefix, err);

	return code == PL_OK ? session_list(get->cli->session, keys_span(&prefix),
	                                    revision, on_record, get, err)
	                     : code;
}

/* Of one namespace there is a prefix in each partition. */
static enum pl_code read_all(struct get_pods *get, struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_SPEC};
	unsigned levels = get->pick.given.namespace == NULL ? 1 : 3;
	uint32_t prefixes = levels == 1 ? 1 : get->cli->meta.partitions;
	enum pl_code code = PL_OK;
	int64_t revision = 0;

	if (get->pick.arg_count > 0)
		prefixes = levels = 1;
	id.scope = pl_span_str(get->pick.given.namespace);
	for (uint32_t p = 0; p < prefixes && code == PL_OK; p++) {
		id.partition = p;
		code = read_prefix(get, &id, levels, &revision, err);
	}
	return code;
}

/* -- those that are named ------------------------------------------------- */

static void locate_name(const struct get_pods *get, unsigned arg, struct keys_id *out)
{
	*out = (struct keys_id){.kind = KEYS_SPEC};
	if (pods_args_name(&get->pick.given, get->pick.args[arg], &out->scope, &out->name,
	                   NULL) != PL_OK)
		PL_UNREACHABLE("a name that was checked");
}

static bool is_duplicate(const struct get_pods *get, unsigned arg,
                         const struct keys_id *id)
{
	for (unsigned i = 0; i < arg; i++) {
		struct keys_id other;

		locate_name(get, i, &other);
		if (pl_span_eq(other.scope, id->scope) &&
		    pl_span_eq(other.name, id->name))
			return true;
	}
	return false;
}

/* Where its name falls, or where the pointer there leads. */
static enum pl_code read_named(struct get_pods *get, struct keys_id *id,
                               int64_t *revision, struct pl_err *err)
{
	uint32_t partitions = get->cli->meta.partitions;
	enum pl_code code =
		partition_of_pod(id->scope, id->name, partitions, &id->partition, err);

	get->pointer = (struct pointer){0};
	if (code == PL_OK)
		code = read_prefix(get, id, NAME_LEVELS, revision, err);
	if (code != PL_OK || !get->pointer.there || get->pointer.at >= partitions)
		return code;
	id->partition = get->pointer.at;
	return read_prefix(get, id, NAME_LEVELS, revision, err);
}

/* One that its name does not lead to may still be there: then all are looked through. */
static enum pl_code read_names(struct get_pods *get, struct pl_err *err)
{
	int64_t revision = 0;

	for (unsigned i = 0; i < get->pick.arg_count; i++) {
		size_t before = get->count;
		enum pl_code code;
		struct keys_id id;

		locate_name(get, i, &id);
		if (is_duplicate(get, i, &id))
			continue;
		code = read_named(get, &id, &revision, err);
		if (code != PL_OK)
			return code;
		if (get->count == before) {
			get->count = 0;
			return read_all(get, err);
		}
	}
	return PL_OK;
}

static bool is_found(const struct get_pods *get, const struct keys_id *id)
{
	struct pod_found wanted = {.namespace = id->scope, .name = id->name};

	return get->count > 0 && bsearch(&wanted, get->found, get->count,
	                                 sizeof *get->found, compare_pods) != NULL;
}

/* PL_NOTFOUND: some are not there. */
static enum pl_code print_missing(const struct get_pods *get, struct pl_err *err)
{
	uint64_t absent = 0;

	for (unsigned i = 0; i < get->pick.arg_count; i++) {
		struct keys_id id;

		locate_name(get, i, &id);
		if (is_found(get, &id) || is_duplicate(get, i, &id))
			continue;
		absent++;
		print_message(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such pod",
		              PL_SPAN_ARG(id.scope), PL_SPAN_ARG(id.name));
	}
	return absent == 0
	               ? PL_OK
	               : pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " not there", absent);
}

/* -- shown ---------------------------------------------------------------- */

/* By labels, and by the state as it is shown. */
static enum pl_code keep_selected(struct get_pods *get)
{
	const struct pod_pick *pick = &get->pick;
	enum pl_code code = PL_OK;
	struct output_row row;
	struct pl_arena arena;
	size_t count = 0;

	pl_arena_init(&arena, ARENA_CHUNK, 0);
	for (size_t i = 0; i < get->count && code == PL_OK; i++) {
		bool keep = pick->query.requirements == 0 || get->found[i].selected;

		if (keep && pod_pick_by_state(pick)) {
			pl_arena_reset(&arena);
			code = rows_of(get, i, 1, &arena, &row);
			keep = code == PL_OK && pod_pick_fits(pick, &row);
		}
		if (keep)
			get->found[count++] = get->found[i];
	}
	get->count = count;
	pl_arena_done(&arena);
	return code;
}

static enum pl_code print_found(struct get_pods *get, struct pl_err *err)
{
	bool names = get->pick.arg_count > 0;
	struct output_row *rows;
	enum pl_code code = names ? read_names(get, err) : read_all(get, err);

	if (code != PL_OK)
		return code;
	if (keep_selected(get) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "keep the pods");
	if (get->count == 0 && !names)
		print_message("no pods");
	if (get->count > 1)
		qsort(get->found, get->count, sizeof *get->found, compare_pods);
	rows = pl_calloc(PART, sizeof *rows);
	if (rows == NULL)
		return pl_err_set(err, PL_NOMEM, "print the pods");
	if (get->count > 0 || !names)
		code = print_chunks(get, rows, err);
	free(rows);
	if (code == PL_OK && get->some_wait)
		idle_warning_note(get->cli, "places pods");
	return code == PL_OK ? print_missing(get, err) : code;
}

static enum pl_code get_pods_run(void *ctx, const struct cli_session *cli,
                                 struct pl_err *err)
{
	struct get_pods *get = ctx;
	enum pl_code code;

	get->cli = cli;
	if (cli->options->watch)
		return watch_pods(cli, &get->pick, err);
	pl_arena_init(&get->arena, ARENA_CHUNK, 0);
	code = print_found(get, err);
	pl_arena_done(&get->arena);
	free(get->found);
	return code;
}

/* -- the command line ----------------------------------------------------- */

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	return pod_pick_take(&((struct get_pods *)ctx)->pick, opt, arg, err);
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	return pod_pick_check(&((struct get_pods *)ctx)->pick, options, err);
}

static const struct option own[] = {
	{"namespace", required_argument, NULL, PODS_ARGS_SPACE},
	{"all-namespaces", no_argument, NULL, POD_PICK_ALL},
	{"selector", required_argument, NULL, POD_PICK_SELECTOR},
	{"phase", required_argument, NULL, POD_PICK_PHASE},
	{"node", required_argument, NULL, POD_PICK_NODE},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "get pods",
	.usage = "[<namespace>/<name>...] [options]",
	.about =
		"Shows pods by namespace and name: their phase, and where they are. One\n"
		"that nobody has decided about yet is Pending without a reason. What\n"
		"makes no sense is shown as malformed, with the reason.\n",
	.help = "  -n, --namespace NAME   only those of a namespace; of names without one\n"
		"                         (default all, and default of those)\n"
		"  -A, --all-namespaces   those of all of them, as without -n\n"
		"  -l, --selector LABELS  only those with labels, as app=web,tier!=db,\n"
		"                         'track in (a,b)', canary or '!canary'\n"
		"  --phase PHASE          only Pending, Bound, Terminating, Succeeded,\n"
		"                         Failed or malformed ones\n"
		"  --node CLUSTER/NODE    only those that are on a node\n",
	.example =
		"  placet get pods -n shop -o wide\n"
		"  placet get pods --node east/n-7\n"
		"  placet get pods -n shop --phase Pending -l app=web --watch\n"
		"  placet get pods -l app=web -o name | xargs placet delete pod --yes\n",
	.exits =
		"0 done, 1 some named pod is not there, or it could not be, 2 wrong usage",
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_WATCH,
	.args_max = ARGS_MAX,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct get_pods get = {.count = 0};

	return cli_session_run(&spec, argc, argv, get_pods_run, &get);
}

const struct command get_pods_command = {.words = "get pods",
                                         .summary = "show the pods and where they are",
                                         .run = run_command};
