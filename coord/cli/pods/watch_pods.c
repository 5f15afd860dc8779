/* The watch's notes become rows by name; a pod that does not match any more is gone. */
#include "coord/cli/pods/watch_pods.h"

#include "coord/cli/output/message.h"
#include "coord/cli/output/row_watch.h"
#include "coord/cli/pods/pod_row.h"
#include "coord/service/pods/pod_watch.h"
#include "store/base/clock.h"

enum { LIVE_MAX = 60000 };

struct pods_watch {
	const struct cli_session *cli;
	const struct pod_pick *pick;
	struct row_watch row_watch;
	struct pod_watch *watch;
	struct pl_arena scratch;
	struct pl_err err;
	bool stopped;
};

struct pods_missing {
	struct pl_span namespace, name;
	bool there;
};

static bool is_wanted(void *ctx, struct pl_span key)
{
	struct pods_watch *pods_watch = ctx;
	const uint8_t *slash = memchr(key.at, '/', key.len);
	size_t len = (size_t)(slash - key.at);

	return pod_filter_names(&pods_watch->pick->filter, pl_span(key.at, len),
	                        pl_span(slash + 1, key.len - len - 1));
}

static struct pod_info info_of(const struct pod_watch_note *note)
{
	const struct pod_watch_pod *pod = note->pod;

	return (struct pod_info){.namespace = pod->namespace,
	                         .name = pod->name,
	                         .partition = pod->partition,
	                         .has_spec = pod->has_spec,
	                         .gated = pod->gated,
	                         .selected = pod->selected,
	                         .has_state = pod->has_state,
	                         .state = note->state};
}

/* Matches by labels and state. Scratch memory is separate, since most pods may not
 * match. */
static bool is_shown(struct pods_watch *pods_watch, const struct pod_watch_note *note)
{
	const struct pod_info info = info_of(note);
	bool passes = false;

	pl_arena_reset(&pods_watch->scratch);
	if (pod_filter_passes(&pods_watch->pick->filter, &info, &pods_watch->scratch,
	                      &passes) != PL_OK)
		row_watch_fail(&pods_watch->row_watch, PL_NOMEM, "a pod's row");
	return passes;
}

static void put_row(struct pods_watch *pods_watch, const struct pod_watch_note *note)
{
	struct pod_info info = info_of(note);
	struct pl_arena *arena = &pods_watch->row_watch.arena;
	struct output_row row;

	/* Rows of the first picture stay until all are there. */
	info.namespace = pl_arena_dup(arena, info.namespace);
	info.name = pl_arena_dup(arena, info.name);
	info.state = pl_arena_dup(arena, info.state);
	if (!pods_watch->row_watch.whole && pods_watch->row_watch.first_count == LIVE_MAX)
		row_watch_fail(&pods_watch->row_watch, PL_LIMIT,
		               "more than 60000 pods at once; ask for less with "
		               "--namespace, --selector or --phase");
	else if (info.namespace.at == NULL || info.name.at == NULL ||
	         pod_row(&info, pl_clock_wall_ms(), arena, &row) != PL_OK)
		row_watch_fail(&pods_watch->row_watch, PL_NOMEM, "a pod's row");
	else
		row_watch_put(&pods_watch->row_watch, note->pod->node.key, &row);
}

static bool is_named(void *ctx, const struct pod_watch_pod *pod)
{
	struct pods_missing *absent = ctx;

	absent->there = pl_span_eq(pod->namespace, absent->namespace) &&
	                pl_span_eq(pod->name, absent->name);
	return !absent->there;
}

/* A misspelt name would be waited for without end. */
static void print_missing(const struct pods_watch *pods_watch)
{
	const struct pod_pick *pick = pods_watch->pick;

	for (size_t i = 0; i < pick->filter.name_count; i++) {
		struct pods_missing absent = {.namespace = pick->name[i].namespace,
		                              .name = pick->name[i].name};

		pod_watch_each(pods_watch->watch, is_named, &absent);
		if (!absent.there)
			print_message(
				PL_SPAN_FMT "/" PL_SPAN_FMT ": does not exist (yet)",
				PL_SPAN_ARG(absent.namespace), PL_SPAN_ARG(absent.name));
	}
}

static void on_pod(void *ctx, const struct pod_watch_note *note)
{
	struct pods_watch *pods_watch = ctx;

	switch (note->what) {
	case POD_WATCH_POD:
		if (is_shown(pods_watch, note))
			put_row(pods_watch, note);
		else
			row_watch_gone(&pods_watch->row_watch, note->pod->node.key);
		break;
	case POD_WATCH_GONE:
		row_watch_gone(&pods_watch->row_watch, note->pod->node.key);
		break;
	case POD_WATCH_WHOLE:
		if (!pods_watch->row_watch.whole) {
			row_watch_end(&pods_watch->row_watch);
			print_missing(pods_watch);
		}
		break;
	case POD_WATCH_TROUBLE:
		print_message("placet get pods: %s; going on", note->err->msg);
		break;
	case POD_WATCH_STOPPED:
		pods_watch->stopped = true;
		if (note->err != NULL)
			pods_watch->err = *note->err;
		break;
	}
}

/* Lists of a namespace by partition, as long as they are not too many. */
static unsigned prefixes_of(const struct pods_watch *pods_watch,
                            struct keys_text text[POD_WATCH_LISTS_MAX],
                            struct pl_span prefix[POD_WATCH_LISTS_MAX])
{
	uint32_t partitions = pods_watch->cli->meta.partitions;
	bool parts = pods_watch->pick->given.namespace != NULL &&
	             pods_watch->pick->filter.name_count == 0 &&
	             partitions <= POD_WATCH_LISTS_MAX;
	unsigned count = parts ? partitions : 1;

	for (unsigned i = 0; i < count; i++) {
		struct keys_id id = {
			.kind = KEYS_SPEC,
			.partition = i,
			.scope = pl_span_str(pods_watch->pick->given.namespace)};

		if (keys_prefix(&id, parts ? 3 : 1, &text[i], NULL) != PL_OK)
			PL_UNREACHABLE("a namespace that was checked");
		prefix[i] = keys_span(&text[i]);
	}
	return count;
}

enum pl_code watch_pods(const struct cli_session *cli, const struct pod_pick *pick,
                        struct pl_err *err)
{
	struct pods_watch pods_watch = {.cli = cli, .pick = pick};
	struct keys_text text[POD_WATCH_LISTS_MAX];
	struct pl_span prefix[POD_WATCH_LISTS_MAX];
	struct pod_watch_opts opts = {
		.prefix = prefix, .wanted = is_wanted, .fn = on_pod, .ctx = &pods_watch};
	enum pl_code code;

	opts.count = prefixes_of(&pods_watch, text, prefix);
	if (pick->query.requirements > 0)
		opts.query = &pick->query;
	pl_arena_init(&pods_watch.scratch, 0, 0);
	row_watch_init(&pods_watch.row_watch, &pod_schema, cli->options->format, true);
	pods_watch.row_watch.state_column = POD_ROW_PHASE;
	row_watch_begin(&pods_watch.row_watch);
	code = pod_watch_open(cli->session->kv, &opts, &pods_watch.watch, err);
	while (code == PL_OK && !pods_watch.stopped) {
		(void)uv_run(&cli->session->loop, UV_RUN_ONCE);
		if (pods_watch.row_watch.err.code != PL_OK && !pods_watch.stopped)
			pod_watch_stop(pods_watch.watch);
	}
	if (code == PL_OK) {
		*err = pods_watch.row_watch.err.code != PL_OK ? pods_watch.row_watch.err
		                                              : pods_watch.err;
		code = err->code;
	}
	row_watch_done(&pods_watch.row_watch);
	pl_arena_done(&pods_watch.scratch);
	return code;
}
