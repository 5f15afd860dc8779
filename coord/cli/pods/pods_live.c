/* What the watch tells is kept as rows by name; one that does not fit any more is gone.
 */
#include "coord/cli/pods/pods_live.h"

#include "coord/cli/out/live.h"
#include "coord/cli/out/say.h"
#include "coord/cli/pods/pod_row.h"
#include "coord/cli/pods/podwatch.h"
#include "store/base/clock.h"

enum { LIVE_MAX = 60000 };

struct follow {
	const struct reach *reach;
	const struct pod_pick *pick;
	struct live live;
	struct podwatch *watch;
	struct pl_arena scratch;
	struct pl_err err;
	bool stopped;
};

struct absent {
	struct pl_span space, name;
	bool there;
};

static bool wanted(void *ctx, struct pl_span key)
{
	struct follow *follow = ctx;
	const uint8_t *slash = memchr(key.at, '/', key.len);
	size_t len = (size_t)(slash - key.at);

	return pod_pick_wants(follow->pick, pl_span(key.at, len),
	                      pl_span(slash + 1, key.len - len - 1));
}

static struct pod_row_about about_of(const struct podwatch_note *note)
{
	const struct podwatch_pod *pod = note->pod;

	return (struct pod_row_about){.space = pod->space,
	                              .name = pod->name,
	                              .partition = pod->partition,
	                              .has_spec = pod->has_spec,
	                              .gated = pod->gated,
	                              .has_state = pod->has_state,
	                              .state = note->state,
	                              .now_ms = pl_clock_wall_ms()};
}

/* By labels and state; with memory of its own, since most may not. */
static bool fits(struct follow *follow, const struct podwatch_note *note)
{
	struct pod_row_about about = about_of(note);
	struct output_row row;

	if (follow->pick->query.wants > 0 &&
	    !(note->pod->has_spec && note->pod->selected))
		return false;
	if (!pod_pick_by_state(follow->pick))
		return true;
	pl_arena_reset(&follow->scratch);
	if (pod_row(&about, &follow->scratch, &row) == PL_OK)
		return pod_pick_fits(follow->pick, &row);
	live_fail(&follow->live, PL_NOMEM, "a pod's row");
	return false;
}

static void put(struct follow *follow, const struct podwatch_note *note)
{
	struct pod_row_about about = about_of(note);
	struct pl_arena *arena = &follow->live.arena;
	struct output_row row;

	/* In the first picture rows stay until all are there. */
	about.space = pl_arena_dup(arena, about.space);
	about.name = pl_arena_dup(arena, about.name);
	about.state = pl_arena_dup(arena, about.state);
	if (!follow->live.whole && follow->live.first_count == LIVE_MAX)
		live_fail(&follow->live, PL_LIMIT,
		          "more than 60000 pods at once; ask for less with "
		          "--namespace, --selector or --phase");
	else if (about.space.at == NULL || about.name.at == NULL ||
	         pod_row(&about, arena, &row) != PL_OK)
		live_fail(&follow->live, PL_NOMEM, "a pod's row");
	else
		live_put(&follow->live, note->pod->node.key, &row);
}

static bool is_named(void *ctx, const struct podwatch_pod *pod)
{
	struct absent *absent = ctx;

	absent->there = pl_span_eq(pod->space, absent->space) &&
	                pl_span_eq(pod->name, absent->name);
	return !absent->there;
}

/* Whoever waits for one that has another name would wait for ever. */
static void say_absent(const struct follow *follow)
{
	const struct pod_pick *pick = follow->pick;

	for (unsigned i = 0; i < pick->arg_count; i++) {
		struct absent absent = {.there = false};

		if (pods_given_name(&pick->given, pick->args[i], &absent.space,
		                    &absent.name, NULL) != PL_OK)
			PL_UNREACHABLE("a name that was checked");
		podwatch_each(follow->watch, is_named, &absent);
		if (!absent.there)
			say(PL_SPAN_FMT "/" PL_SPAN_FMT ": is not there (yet)",
			    PL_SPAN_ARG(absent.space), PL_SPAN_ARG(absent.name));
	}
}

static void on_pod(void *ctx, const struct podwatch_note *note)
{
	struct follow *follow = ctx;

	switch (note->what) {
	case PODWATCH_POD:
		if (fits(follow, note))
			put(follow, note);
		else
			live_gone(&follow->live, note->pod->node.key);
		break;
	case PODWATCH_GONE:
		live_gone(&follow->live, note->pod->node.key);
		break;
	case PODWATCH_WHOLE:
		if (!follow->live.whole) {
			live_end(&follow->live);
			say_absent(follow);
		}
		break;
	case PODWATCH_TROUBLE:
		say("placet get pods: %s; going on", note->err->msg);
		break;
	case PODWATCH_STOPPED:
		follow->stopped = true;
		if (note->err != NULL)
			follow->err = *note->err;
		break;
	}
}

/* Lists of a namespace by partition, as long as they are not too many. */
static unsigned prefixes_of(const struct follow *follow,
                            struct keys_text text[PODWATCH_LISTS_MAX],
                            struct pl_span prefix[PODWATCH_LISTS_MAX])
{
	uint32_t partitions = follow->reach->meta.partitions;
	bool parts = follow->pick->given.space != NULL && follow->pick->arg_count == 0 &&
	             partitions <= PODWATCH_LISTS_MAX;
	unsigned count = parts ? partitions : 1;

	for (unsigned i = 0; i < count; i++) {
		struct keys_id id = {.kind = KEYS_SPEC,
		                     .partition = i,
		                     .scope = pl_span_str(follow->pick->given.space)};

		if (keys_prefix(&id, parts ? 3 : 1, &text[i], NULL) != PL_OK)
			PL_UNREACHABLE("a namespace that was checked");
		prefix[i] = keys_span(&text[i]);
	}
	return count;
}

enum pl_code pods_live(const struct reach *reach, const struct pod_pick *pick,
                       struct pl_err *err)
{
	struct follow follow = {.reach = reach, .pick = pick};
	struct keys_text text[PODWATCH_LISTS_MAX];
	struct pl_span prefix[PODWATCH_LISTS_MAX];
	struct podwatch_opts opts = {
		.prefix = prefix, .wanted = wanted, .fn = on_pod, .ctx = &follow};
	enum pl_code code;

	opts.count = prefixes_of(&follow, text, prefix);
	if (pick->query.wants > 0)
		opts.query = &pick->query;
	pl_arena_init(&follow.scratch, 0, 0);
	live_init(&follow.live, &pod_schema, reach->options->format, true);
	follow.live.state_column = POD_ROW_PHASE;
	live_begin(&follow.live);
	code = podwatch_open(reach->session->kv, &opts, &follow.watch, err);
	while (code == PL_OK && !follow.stopped) {
		(void)uv_run(&reach->session->loop, UV_RUN_ONCE);
		if (follow.live.err.code != PL_OK && !follow.stopped)
			podwatch_stop(follow.watch);
	}
	if (code == PL_OK) {
		*err = follow.live.err.code != PL_OK ? follow.live.err : follow.err;
		code = err->code;
	}
	live_done(&follow.live);
	pl_arena_done(&follow.scratch);
	return code;
}
