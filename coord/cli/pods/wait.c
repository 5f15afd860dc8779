/*
 * placet wait --for=bound: until every pod that is meant has been given a place.
 *
 * A pod counts once it was seen with a place, or over; what becomes of it later does not
 * matter. One that goes before is lost, and nothing can be waited for any more; so is one
 * that is being deleted when it is first seen, though it may still have a place.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/out/progress.h"
#include "coord/cli/out/say.h"
#include "coord/cli/out/sums.h"
#include "coord/cli/pods/pod_locate.h"
#include "coord/cli/pods/pods_given.h"
#include "coord/cli/pods/podwatch.h"
#include "coord/cli/pods/wait_gone.h"
#include "coord/cli/pods/wait_left.h"
#include "coord/cli/pods/wait_tally.h"
#include "coord/cli/reach/reach.h"
#include "coord/cli/shards/nobody.h"
#include "coord/submit/leaving.h"
#include "shardsched/ledger/state.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/duration.h"
#include "store/kv/calls.h"

enum {
	OPT_FOR = OPTIONS_OWN_FIRST,
	OPT_ALL,
	OPT_TIMEOUT,
	OPT_SUMMARY,
	OPT_SELECTOR = 'l',
	TIMEOUT_DEFAULT_MS = 300000,
	TIMEOUT_MAX_MS = 86400000,
	ARGS_MAX = 10000,
	WANTED_MAX = PODWATCH_PODS_MAX,
	ASK_EACH_MS = 1000,
	ARENA_MAX = 1 << 20,
};

/* A pod that was named, by "namespace/name". */
struct wanted {
	struct pl_map_node node;
	uint64_t seen_us; /* there, and without a place; 0: never */
	uint32_t partition;
	bool there; /* the watch told of it */
	bool bound;
	uint8_t key[];
};

struct job {
	struct pods_given given;
	struct label_query query; /* with all; none: whatever their labels */
	bool all, bound_asked, gone_asked, summary;
	struct wait_tally tally;
	uint64_t timeout_ms;
	const struct reach *reach;
	struct pl_map wanted; /* unless all */
	uint64_t bound, lost;
	uint64_t leaving; /* that are being deleted: of the lost, or beside the others */
	uint64_t there;   /* all: pods that are there, or were bound */
	/* Where they stand. */
	bool in_partition[KEYS_PARTITIONS_MAX];
	struct podwatch *watch;
	bool whole, stopped, time_up;
	struct pl_err err;
	struct pl_arena arena;
	struct progress progress;
	struct kv_call *asking; /* for the shards' records, while it asks */
	bool asks;
	uint64_t ask_ms, conflicts;
	struct nobody nobody;
	struct wait_left left;
	struct pl_timer end, tick;
};

/* -- which pods
 * -------------------------------------------------------------------------- */

static enum pl_code want(struct job *job, struct pl_span space, struct pl_span name,
                         uint32_t partition, struct pl_err *err)
{
	size_t len = space.len + 1 + name.len;
	struct wanted *wanted = NULL;

	if (job->wanted.count < WANTED_MAX)
		wanted = pl_calloc(1, sizeof *wanted + len);
	if (wanted == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the pods' names");
	wanted->partition = partition;
	memcpy(wanted->key, space.at, space.len);
	wanted->key[space.len] = '/';
	memcpy(wanted->key + space.len + 1, name.at, name.len);
	if (pl_map_add(&job->wanted, &wanted->node, pl_span(wanted->key, len)) != NULL)
		free(wanted); /* it came twice */
	job->in_partition[partition] = true;
	return PL_OK;
}

static enum pl_code want_files(struct job *job, struct pl_err *err)
{
	struct intake intake;
	struct intake_pod pod;
	enum pl_code code = pods_given_intake(&job->given, job->reach->meta.partitions,
	                                      false, &intake, err);

	if (code != PL_OK)
		return code;
	while (code == PL_OK) {
		code = intake_next(&intake, &pod, err);
		if (code == PL_OK)
			code = want(job, pod.pod.space, pod.pod.name, pod.home.partition,
			            err);
	}
	intake_close(&intake);
	return code == PL_NOTFOUND ? PL_OK : code;
}

static enum pl_code want_names(struct job *job, struct pl_err *err)
{
	const struct options *options = job->reach->options;
	enum pl_code code = PL_OK;

	for (unsigned i = 0; i < options->arg_count && code == PL_OK; i++) {
		struct pl_span space, name;
		uint32_t partition = 0;

		code = pods_given_name(&job->given, options->args[i], &space, &name, err);
		if (code == PL_OK)
			code = pod_locate(job->reach, space, name, &partition, err);
		if (code == PL_OK)
			code = want(job, space, name, partition, err);
	}
	return code;
}

static struct wanted *wanted_of(const struct job *job, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&job->wanted, key);

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct wanted, node);
}

/* -- what becomes of them
 * ---------------------------------------------------------------- */

static uint64_t total(const struct job *job)
{
	return job->all ? job->there : job->wanted.count;
}

static bool is_over(const struct job *job)
{
	return job->whole && job->bound + job->lost >= total(job);
}

/* It has a place, or had one. */
static bool was_bound(struct job *job, struct pl_span state, struct pod_state *is)
{
	pl_arena_reset(&job->arena);
	return state.len > 0 && state_parse(state, &job->arena, is, NULL) == PL_OK &&
	       is->phase != STATE_PENDING;
}

static void take_lost(struct job *job, struct wanted *wanted, const char *why)
{
	if (wanted->bound)
		return;
	progress_end(&job->progress);
	say(PL_SPAN_FMT " %s", PL_SPAN_ARG(wanted->node.key), why);
	wanted->bound = true; /* nothing more is counted of it */
	job->lost++;
}

/* Named, it is lost; it is none of all, or of those with some labels. */
static void take_leaving(struct job *job, struct podwatch_pod *pod, struct wanted *wanted)
{
	pod->marked = true;
	if (wanted == NULL)
		job->there--;
	if (wanted != NULL && wanted->bound)
		return;
	job->leaving++;
	if (wanted != NULL)
		take_lost(job, wanted, "is being deleted");
}

static void take_gone(struct job *job, struct podwatch_pod *pod)
{
	struct wanted *wanted = wanted_of(job, pod->node.key);

	if (pod->marked)
		return;
	if (pod->counted)
		job->there--;
	pod->counted = false;
	if (wanted != NULL)
		take_lost(job, wanted, "is gone");
}

static void take_pod(struct job *job, struct podwatch_pod *pod, struct pl_span state)
{
	struct wanted *wanted = wanted_of(job, pod->node.key);
	uint64_t now_us = pl_clock_ns() / 1000;
	struct pod_state is;

	if (!pod->selected) { /* not, or not any more */
		take_gone(job, pod);
		return;
	}
	if (!pod->counted) {
		pod->counted = true;
		job->there++;
	}
	if (wanted != NULL)
		wanted->there = true;
	if (pod->marked)
		return;
	if (!was_bound(job, state, &is)) {
		if (wanted != NULL && wanted->seen_us == 0)
			wanted->seen_us = now_us;
		return;
	}
	if (state_is_leaving(&is)) {
		take_leaving(job, pod, wanted);
		return;
	}
	pod->marked = true;
	if (job->summary && (wanted == NULL || !wanted->bound))
		wait_tally_bound(&job->tally, &is, wanted == NULL ? 0 : wanted->seen_us,
		                 now_us);
	/* One that was bound, went and came again is not counted twice. */
	if (wanted == NULL || !wanted->bound)
		job->bound++;
	if (wanted != NULL)
		wanted->bound = true;
}

/* Names were found before they were watched: one that is not there now went in between.
 * Pods of files may still come. */
static void take_whole(struct job *job)
{
	if (!job->whole && job->given.files.count == 0)
		PL_MAP_EACH (node, &job->wanted) {
			struct wanted *wanted =
				PL_CONTAINER_OF(node, struct wanted, node);

			if (!wanted->there)
				take_lost(job, wanted, "is gone");
		}
	job->whole = true;
}

static void on_pod(void *ctx, const struct podwatch_note *note)
{
	struct job *job = ctx;

	switch (note->what) {
	case PODWATCH_POD:
		take_pod(job, note->pod, note->state);
		break;
	case PODWATCH_GONE:
		take_gone(job, note->pod);
		break;
	case PODWATCH_WHOLE:
		take_whole(job);
		break;
	case PODWATCH_TROUBLE:
		progress_end(&job->progress);
		say("placet wait: %s; going on", note->err->msg);
		break;
	case PODWATCH_STOPPED:
		job->stopped = true;
		job->watch = NULL; /* the answer about the shards may come yet */
		if (note->err != NULL)
			job->err = *note->err;
		break;
	}
}

static bool is_wanted(void *ctx, struct pl_span key)
{
	const struct job *job = ctx;

	return job->all ? pods_given_is_of(&job->given, key)
	                : wanted_of(job, key) != NULL;
}

/* -- waiting
 * ----------------------------------------------------------------------------- */

static void on_time_up(void *ctx)
{
	struct job *job = ctx;

	job->time_up = true;
}

/* What conflicted lately stands in the shards' records only; without, it is as it was. */
static void on_records(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct job *job = ctx;
	struct sums sums = {0};

	job->asks = false;
	if (err != NULL)
		return;
	sums_add(&sums, result);
	job->conflicts = sums.conflicts;
}

static void ask_shards(struct job *job, uint64_t now_ms)
{
	struct kv_req req = sums_request();
	struct store_session *session = job->reach->session;

	if (job->asks || now_ms < job->ask_ms)
		return;
	job->ask_ms = now_ms + ASK_EACH_MS;
	job->asks = kv_start(session->kv, &req, session->timeout_ms, on_records, job,
	                     &job->asking, NULL) == PL_OK;
}

static void on_tick(void *ctx)
{
	struct job *job = ctx;
	uint64_t now_ms = kv_now_ms(job->reach->session->kv);
	char text[PROGRESS_TEXT_MAX];
	const struct sums sums = {
		.placed = job->bound,
		.pending = total(job) - job->bound - job->lost,
		.conflicts = job->conflicts,
		.total = total(job),
		.rate = progress_rate(&job->progress, now_ms, job->bound)};

	ask_shards(job, now_ms);
	nobody_look(&job->nobody, now_ms, job->bound + job->lost);
	sums_text(&sums, text);
	if (sums.total != 0)
		progress_say(&job->progress, now_ms, "%s", text);
	pl_timer_set(&job->tick, now_ms + PROGRESS_EACH_MS);
}

/* -- who is left
 * ------------------------------------------------------------------------- */

typedef bool left_fn(void *ctx, struct pl_span key, uint32_t partition);

struct walk {
	left_fn *fn;
	void *ctx;
};

static bool on_watched(void *ctx, const struct podwatch_pod *pod)
{
	const struct walk *walk = ctx;

	return !pod->counted || pod->marked ||
	       walk->fn(walk->ctx, pod->node.key, pod->partition);
}

/* Those that are still waited for, until fn says false. */
static void each_left(const struct job *job, left_fn *fn, void *ctx)
{
	struct walk walk = {fn, ctx};

	if (job->all && job->watch != NULL)
		podwatch_each(job->watch, on_watched, &walk);
	PL_MAP_EACH (node, &job->wanted) {
		const struct wanted *wanted =
			PL_CONTAINER_OF_CONST(node, struct wanted, node);

		if (!wanted->bound && !fn(ctx, node->key, wanted->partition))
			return;
	}
}

static bool on_left(void *ctx, struct pl_span key, uint32_t partition)
{
	return wait_left_add(ctx, key, partition);
}

static bool is_owned(void *ctx, struct pl_span key, uint32_t partition)
{
	(void)key;
	return nobody_is_owned(ctx, partition);
}

static void each_partition(void *ctx, struct nobody_owners *owners)
{
	each_left(ctx, is_owned, owners);
}

/* The partitions that they stand in, when those are few; else all of it. */
static unsigned prefixes_of(const struct job *job,
                            struct keys_text text[PODWATCH_LISTS_MAX],
                            struct pl_span prefix[PODWATCH_LISTS_MAX])
{
	struct keys_id id = {.kind = KEYS_SPEC};
	unsigned count = 0;

	for (uint32_t p = 0; p < KEYS_PARTITIONS_MAX && !job->all; p++) {
		if (!job->in_partition[p])
			continue;
		if (count == PODWATCH_LISTS_MAX) {
			count = 0;
			break;
		}
		id.partition = p;
		if (keys_prefix(&id, 2, &text[count], NULL) != PL_OK)
			PL_UNREACHABLE("a partition");
		prefix[count] = keys_span(&text[count]);
		count++;
	}
	if (count > 0)
		return count;
	prefix[0] = PL_SPAN_LIT("/schedules/");
	return 1;
}

static enum pl_code start(struct job *job, struct pl_err *err)
{
	struct keys_text text[PODWATCH_LISTS_MAX];
	struct pl_span prefix[PODWATCH_LISTS_MAX];
	struct kv *kv = job->reach->session->kv;
	struct podwatch_opts opts = {.prefix = prefix,
	                             .wanted = is_wanted,
	                             .query = job->query.wants > 0 ? &job->query : NULL,
	                             .fn = on_pod,
	                             .ctx = job};
	const struct nobody_opts nobody = {.reach = job->reach,
	                                   .progress = &job->progress,
	                                   .what = "places pods",
	                                   .each = each_partition,
	                                   .ctx = job};

	opts.count = prefixes_of(job, text, prefix);
	nobody_init(&job->nobody, &nobody, kv_now_ms(kv));
	progress_init(&job->progress, kv_now_ms(kv));
	pl_timer_set(&job->end, kv_now_ms(kv) + job->timeout_ms);
	pl_timer_set(&job->tick, kv_now_ms(kv) + PROGRESS_EACH_MS);
	return podwatch_open(kv, &opts, &job->watch, err);
}

static enum pl_code verdict(struct job *job, struct pl_err *err)
{
	char text[PL_DURATION_TEXT_SIZE];
	uint64_t left = total(job) - job->bound - job->lost;

	if (job->err.code != PL_OK) {
		*err = job->err;
		return err->code;
	}
	if (job->time_up && !is_over(job)) {
		wait_left_say(&job->left, left, job->reach->session);
		return pl_err_set(
			err, PL_TIMEOUT,
			"%" PRIu64 " of %" PRIu64 " pods are not bound after %s; placet "
			"get pods -o wide tells why",
			left, total(job),
			pl_duration_print((int64_t)job->timeout_ms * 1000000, text));
	}
	if (job->lost > 0)
		return pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " pods are %s", job->lost,
		                  job->leaving == 0           ? "gone"
		                  : job->leaving == job->lost ? "being deleted"
		                                              : "gone, or being deleted");
	if (job->query.wants > 0 && job->bound == 0)
		return pl_err_set(
			err, PL_NOTFOUND,
			job->leaving == 0
				? "no pod has these labels; check them, or the namespace"
				: "no pod has these labels but such as are being deleted");
	(void)printf("%" PRIu64 " pod%s bound\n", job->bound, job->bound == 1 ? "" : "s");
	(void)fflush(stdout);
	if (job->summary)
		wait_tally_print(&job->tally);
	return PL_OK;
}

static enum pl_code wait_for(struct job *job, struct pl_err *err)
{
	uv_loop_t *loop = &job->reach->session->loop;
	enum pl_code code = start(job, err);

	if (code != PL_OK)
		return code;
	while (!job->stopped && !job->time_up && !is_over(job))
		(void)uv_run(loop, UV_RUN_ONCE);
	if (!job->stopped) {
		each_left(job, on_left, &job->left);
		podwatch_stop(job->watch);
	}
	if (job->asks)
		kv_cancel(job->reach->session->kv, job->asking);
	nobody_cancel(&job->nobody);
	while (!job->stopped || job->asks || job->nobody.asks)
		(void)uv_run(loop, UV_RUN_ONCE);
	progress_end(&job->progress);
	return verdict(job, err);
}

static enum pl_code timers_init(struct job *job, struct pl_err *err)
{
	struct pl_timers *timers = kv_timers(job->reach->session->kv);
	enum pl_code code = pl_timer_init(&job->end, timers, on_time_up, job);

	if (code == PL_OK)
		code = pl_timer_init(&job->tick, timers, on_tick, job);
	return code == PL_OK ? code : pl_err_set(err, code, "wait");
}

static void forget(struct job *job)
{
	PL_MAP_EACH (node, &job->wanted) {
		pl_map_del(&job->wanted, node);
		free(PL_CONTAINER_OF(node, struct wanted, node));
	}
	pl_map_done(&job->wanted);
	wait_tally_done(&job->tally);
	pl_arena_done(&job->arena);
	pl_timer_done(&job->end);
	pl_timer_done(&job->tick);
}

static enum pl_code wait_all(void *ctx, const struct reach *reach, struct pl_err *err)
{
	struct job *job = ctx;
	enum pl_code code;

	if (job->gone_asked)
		return wait_gone(reach, &job->given, job->timeout_ms, err);
	job->reach = reach;
	pl_map_init(&job->wanted);
	wait_tally_init(&job->tally);
	pl_arena_init(&job->arena, 0, ARENA_MAX);
	code = timers_init(job, err);
	if (code == PL_OK && job->given.files.count > 0)
		code = want_files(job, err);
	if (code == PL_OK)
		code = want_names(job, err);
	if (code == PL_OK)
		code = wait_for(job, err);
	forget(job);
	return code;
}

/* -- the command line
 * -------------------------------------------------------------------- */

static enum pl_code take(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct job *job = ctx;

	switch (opt) {
	case OPT_FOR:
		job->bound_asked = strcmp(arg, "bound") == 0;
		job->gone_asked = strcmp(arg, "delete") == 0;
		if (job->bound_asked || job->gone_asked)
			return PL_OK;
		return pl_err_set(err, PL_INVALID, "--for=%s: want bound or delete", arg);
	case OPT_ALL:
		job->all = true;
		return PL_OK;
	case OPT_SELECTOR:
		if (label_query_parse(pl_span_str(arg), &job->query, err) == PL_OK)
			return PL_OK;
		return pl_err_wrap(err, "--selector");
	case OPT_SUMMARY:
		job->summary = true;
		return PL_OK;
	case OPT_TIMEOUT:
		if (pl_duration_ms(pl_span_str(arg), 1, TIMEOUT_MAX_MS, &job->timeout_ms,
		                   err) == PL_OK)
			return PL_OK;
		return pl_err_wrap(err, "--timeout");
	default:
		return pods_given_take(&job->given, opt, arg, err);
	}
}

static enum pl_code check(void *ctx, const struct options *options, struct pl_err *err)
{
	struct job *job = ctx;
	unsigned ways = (unsigned)job->all + (job->query.wants > 0) +
	                (options->arg_count > 0) + (job->given.files.count > 0);

	if (!job->bound_asked && !job->gone_asked)
		return pl_err_set(err, PL_INVALID, "want --for=bound or --for=delete");
	if (ways != 1)
		return pl_err_set(err, PL_INVALID,
		                  "want names, -f FILE, --selector or --all");
	job->all = job->all || job->query.wants > 0;
	if (job->gone_asked && (job->all || job->summary))
		return pl_err_set(
			err, PL_INVALID,
			"--for=delete: want names or -f FILE, and no --summary");
	return PL_OK;
}

static const struct option own[] = {
	PODS_GIVEN_OPTIONS,
	{"for", required_argument, NULL, OPT_FOR},
	{"all", no_argument, NULL, OPT_ALL},
	{"selector", required_argument, NULL, OPT_SELECTOR},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"summary", no_argument, NULL, OPT_SUMMARY},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "wait",
	.usage = "--for=bound|delete <namespace>/<name>... | -f FILE | -l LABELS | --all "
		 "[options]",
	.about =
		"Waits until pods have a place. A pod that is over had one. One that is\n"
		"deleted before it had any, or is being deleted when it is first seen, is\n"
		"told, and is a failure; of --selector and --all it is not waited for.\n"
		"With --for=delete, until pods are there no more.\n",
	.help = "  --for=bound            what is waited for; or --for=delete, of names or -f\n"
		"  -f, --filename PATH    the pods that placet submit makes of it, also when "
		"they\n"
		"                         are not there yet\n"
		"  -n, --namespace NAME   of names without one (default default); with -l\n"
		"                         and --all only those of it (default all)\n"
		"  -l, --selector LABELS  those with labels, as app=web,tier!=db or\n"
		"                         'track in (a,b)'; none is a failure\n"
		"  --all                  every pod in the store\n"
		"  --timeout DURATION     of all of it (default 5m)\n"
		"  --summary              then tell how long they waited, on which clusters\n"
		"                         they are, and which shards placed them\n",
	.example = "  placet wait --for=bound -f deployment.yaml --timeout=2m\n"
		   "  placet wait --for=bound -n shop -l app=web\n"
		   "  placet wait --for=bound --all\n"
		   "  placet wait --for=delete shop/web-0\n",
	.exits = "0 all are bound, or gone, 1 not all are, 2 wrong usage",
	.common = 0,
	.args_max = ARGS_MAX,
	.own = own,
	.take = take,
	.check = check,
};

static enum exit_code run(int argc, char **argv)
{
	struct job *job = pl_calloc(1, sizeof *job);
	enum exit_code exit_code;

	if (job == NULL) {
		say("placet wait: out of memory");
		return EXIT_FAILED;
	}
	job->timeout_ms = TIMEOUT_DEFAULT_MS;
	exit_code = reach_run(&spec, argc, argv, wait_all, job);
	files_done(&job->given.files);
	free(job);
	return exit_code;
}

const struct command wait_command = {.words = "wait",
                                     .summary =
                                             "wait until pods have a place, or are gone",
                                     .run = run};
