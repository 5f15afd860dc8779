/*
 * placet get pods: prints a pod list in parts, so that a million pods can be shown;
 * with --watch every change as well.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "coord/cli/output/message.h"
#include "coord/cli/pods/get_pods_api.h"
#include "coord/cli/pods/pod_row.h"
#include "coord/cli/pods/watch_pods.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/shards/idle_warning.h"
#include "coord/service/pods/pod_list.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"

enum { CHUNK = 8192, ARENA_CHUNK = 1 << 20, PRINT_MAX = 256 << 20 };

struct get_pods {
	struct pod_pick pick;
	const struct cli_session *cli;
	const struct pod_list *list;
	bool some_wait; /* some printed pod waits for a shard */
};

/* -- printing ------------------------------------------------------------- */

static enum pl_code fill_rows(struct get_pods *get, const struct pod_info *pods,
                              size_t count, struct pl_arena *arena,
                              struct output_row *rows)
{
	const struct pl_span pending = pl_span_str(state_phase_word(STATE_PENDING));
	int64_t now_ms = pl_clock_wall_ms();
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < count && code == PL_OK; i++) {
		code = pod_row(&pods[i], now_ms, arena, &rows[i]);
		if (code == PL_OK && !pods[i].gated &&
		    pl_span_eq(pod_row_phase(&rows[i]), pending))
			get->some_wait = true;
	}
	return code;
}

static enum pl_code print_chunks(struct get_pods *get, struct output_row *rows,
                                 struct pl_err *err)
{
	size_t count, at = 0;
	const struct pod_info *pods = pod_list_pods(get->list, &count);
	struct output output;
	struct pl_arena arena;
	enum pl_code code = PL_OK;
	struct pl_buf out;

	output_init(&output, &pod_schema, get->cli->options->format, false);
	pl_arena_init(&arena, ARENA_CHUNK, 0);
	pl_buf_init(&out, PRINT_MAX);
	do {
		size_t left = count - at, now = left < CHUNK ? left : CHUNK;

		pl_arena_reset(&arena);
		code = fill_rows(get, pods + at, now, &arena, rows);
		if (code != PL_OK)
			(void)pl_err_set(err, code, "print the pods");
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

/* PL_NOTFOUND: some named pods do not exist. */
static enum pl_code print_missing(const struct get_pods *get, struct pl_err *err)
{
	uint64_t absent = 0;

	for (size_t i = 0; i < get->pick.filter.name_count; i++) {
		const struct pod_name *name = &get->pick.name[i];

		if (pod_filter_is_repeated(&get->pick.filter, i) ||
		    pod_list_find(get->list, name) != NULL)
			continue;
		absent++;
		print_message(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such pod",
		              PL_SPAN_ARG(name->namespace), PL_SPAN_ARG(name->name));
	}
	return absent == 0
	               ? PL_OK
	               : pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " not found", absent);
}

static enum pl_code print_found(struct get_pods *get, struct pl_err *err)
{
	bool named = get->pick.filter.name_count > 0;
	struct output_row *rows = pl_calloc(CHUNK, sizeof *rows);
	enum pl_code code = PL_OK;
	size_t count;

	if (rows == NULL)
		return pl_err_set(err, PL_NOMEM, "print the pods");
	(void)pod_list_pods(get->list, &count);
	if (count == 0 && !named)
		print_message("no pods");
	if (count > 0 || !named)
		code = print_chunks(get, rows, err);
	free(rows);
	if (code == PL_OK && get->some_wait)
		idle_warning_note(get->cli, "pods are not placed");
	return code == PL_OK ? print_missing(get, err) : code;
}

static enum pl_code get_pods_run(void *ctx, const struct cli_session *cli,
                                 struct pl_err *err)
{
	struct get_pods *get = ctx;
	struct cli_wait wait = {0};
	const struct pod_list_opts opts = {
		.filter = get->pick.filter, .done = cli_wait_end, .ctx = &wait};
	struct pod_list *list;
	enum pl_code code;

	if (cli->options->watch)
		return watch_pods(cli, &get->pick, err);
	code = pod_list_start(&cli->service, &opts, &list, err);
	if (code != PL_OK)
		return code;
	code = cli_wait_for(cli->session, &wait, err);
	get->cli = cli;
	get->list = list;
	if (code == PL_OK)
		code = print_found(get, err);
	pod_list_free(list);
	return code;
}

static enum pl_code get_pods_ask(void *ctx, struct api_session *api, struct pl_err *err)
{
	return get_pods_api(&((struct get_pods *)ctx)->pick, api, err);
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
		"Shows pods by namespace and name, with their phase and node. A pod that no\n"
		"shard has decided yet is Pending without a reason. A malformed pod is shown\n"
		"with the reason.\n",
	.help = "  -n, --namespace NAME   only pods of this namespace (default all); also of\n"
		"                         names without one (default default)\n"
		"  -A, --all-namespaces   pods of all namespaces, as without -n\n"
		"  -l, --selector LABELS  only pods with these labels, as app=web,tier!=db,\n"
		"                         'track in (a,b)', canary or '!canary'\n"
		"  --phase PHASE          only Pending, Bound, Terminating, Succeeded,\n"
		"                         Failed or malformed pods\n"
		"  --node CLUSTER/NODE    only pods on this node\n",
	.example =
		"  placet get pods -n shop -o wide\n"
		"  placet get pods --node east/n-7\n"
		"  placet get pods -n shop --phase Pending -l app=web --watch\n"
		"  placet get pods -l app=web -o name | xargs placet delete pod --yes\n",
	.exits =
		"0 done, 1 a named pod does not exist or the command failed, 2 wrong usage",
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_WATCH | OPTIONS_API,
	.args_max = POD_PICK_NAMES_MAX,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct get_pods get = {.list = NULL};

	return cli_session_run_either(&spec, argc, argv, get_pods_run, get_pods_ask,
	                              &get);
}

const struct command get_pods_command = {.words = "get pods",
                                         .summary = "show the pods and their nodes",
                                         .run = run_command,
                                         .spec = &spec};
