#include "bench/live/onlooker.h"

#include <stdlib.h>
#include <string.h>

#include "bench/common/report.h"
#include "store/base/clock.h"

enum { REPLACED = 4 }; /* times that a pod may be placed, on the average */

/* Only who unwatches ends a watch: what was missed would be missing in the figures. */
static void watch_ended(struct onlooker *t, const struct kv_watch_note *note)
{
	if (note->what != KV_WATCH_END)
		return;
	if (note->err->code != PL_CANCELED)
		bench_check(note->err->code, note->err, "watch");
	t->ended++;
}

static void on_owner(void *ctx, const struct kv_watch_note *note)
{
	struct onlooker *t = ctx;

	watch_ended(t, note);
	for (size_t i = 0; i < note->count; i++) {
		if (note->events[i].is_delete)
			continue;
		t->moved_s = bench_now_s();
		if (t->owned++ == 0)
			t->owned_s = t->moved_s;
	}
}

/* What stands in quotes behind that; read as a stranger would, since half of the machine
 * is at work that is measured. */
static struct pl_span word_behind(struct pl_span json, struct pl_span start)
{
	const uint8_t *at = memmem(json.at, json.len, start.at, start.len);
	const uint8_t *end;
	size_t left;

	if (at == NULL)
		return (struct pl_span){0};
	at += start.len;
	left = json.len - (size_t)(at - json.at);
	end = memchr(at, '"', left);
	return end == NULL ? (struct pl_span){0} : pl_span(at, (size_t)(end - at));
}

/* .../<name>/state */
static bool pod_of(struct pl_span key, uint32_t *out)
{
	static const char leaf[] = "/state";
	size_t len = sizeof leaf - 1;
	const uint8_t *slash;

	if (key.len <= len || memcmp(key.at + key.len - len, leaf, len) != 0)
		return false;
	key.len -= len;
	slash = memrchr(key.at, '/', key.len);
	return slash != NULL &&
	       load_pod_of(pl_span(slash + 1, key.len - (size_t)(slash + 1 - key.at)),
	                   out);
}

static void bound(struct onlooker *t, uint32_t pod, struct pl_span value, double now_s)
{
	uint32_t node = 0;

	t->is_bound[pod] = true;
	t->bound++;
	t->moved_s = now_s;
	t->bound_s = now_s;
	if (t->placed == 0)
		t->first_bound_s = now_s;
	if (t->bound_ns != NULL && t->bound_ns[pod] == 0)
		t->bound_ns[pod] = pl_clock_ns();
	if (t->placement != NULL && t->placements < t->placements_max &&
	    load_node_of(word_behind(value, PL_SPAN_LIT("\"node\":\"")), &node))
		t->placement[t->placements++] = (struct onlooker_placement){pod, node};
}

/* It is told to go; that it has gone is said later. */
static bool is_leaving(struct pl_span phase, struct pl_span value)
{
	return pl_span_eq(phase, PL_SPAN_LIT("Terminating")) &&
	       word_behind(value, PL_SPAN_LIT("\"ended\":\"")).at == NULL;
}

static void take(struct onlooker *t, const struct kv_event *event, double now_s)
{
	struct pl_span phase = {0};
	uint32_t pod;
	bool is_bound;

	if (!event->is_delete)
		phase = word_behind(event->record.value, PL_SPAN_LIT("\"phase\":\""));
	t->evicted += is_leaving(phase, event->record.value);
	if (!pod_of(event->record.key, &pod) || pod >= t->pods)
		return;
	is_bound = pl_span_eq(phase, PL_SPAN_LIT("Bound"));
	t->pending_puts += pl_span_eq(phase, PL_SPAN_LIT("Pending"));
	if (t->is_bound[pod] == is_bound)
		return;
	if (is_bound) {
		bound(t, pod, event->record.value, now_s);
	} else {
		t->is_bound[pod] = false;
		t->bound--;
	}
	if (t->bound > t->placed)
		t->placed = t->bound;
}

static void on_state(void *ctx, const struct kv_watch_note *note)
{
	struct onlooker *t = ctx;
	double now_s = bench_now_s();

	watch_ended(t, note);
	for (size_t i = 0; i < note->count; i++)
		take(t, &note->events[i], now_s);
}

static struct kv_watch *watch(struct onlooker *t, const char *prefix, int64_t from,
                              kv_watch_fn *fn)
{
	struct kv_watch_req req = {.keys = kv_prefix(pl_span_str(prefix)),
	                           .from_revision = from};
	struct kv_watch *out = NULL;
	struct pl_err err = {0};

	bench_check(kv_watch(t->kv, &req, fn, t, &out, &err), &err, "watch");
	return out;
}

void onlooker_open(struct onlooker *onlooker, struct live *live, uint32_t pods,
                   unsigned wants)
{
	onlooker_open_at(onlooker, live, pods, wants, live_revision(live) + 1);
}

void onlooker_open_at(struct onlooker *onlooker, struct live *live, uint32_t pods,
                      unsigned wants, int64_t from)
{
	*onlooker =
		(struct onlooker){.live = live, .pods = pods, .moved_s = bench_now_s()};
	onlooker->is_bound = bench_alloc(pods, sizeof *onlooker->is_bound);
	if ((wants & ONLOOKER_TIMES) != 0)
		onlooker->bound_ns = bench_alloc(pods, sizeof *onlooker->bound_ns);
	if ((wants & ONLOOKER_PLACEMENTS) != 0) {
		onlooker->placements_max = pods * REPLACED;
		onlooker->placement = bench_alloc(onlooker->placements_max,
		                                  sizeof *onlooker->placement);
	}
	onlooker->kv = live_client(live, &live->loop);
	onlooker->owners = watch(onlooker, "/partitions/", from, on_owner);
	onlooker->states = watch(onlooker, "/schedules/", from, on_state);
}

void onlooker_close(struct onlooker *onlooker)
{
	kv_unwatch(onlooker->kv, onlooker->owners);
	kv_unwatch(onlooker->kv, onlooker->states);
	while (onlooker->ended < 2)
		(void)uv_run(&onlooker->live->loop, UV_RUN_ONCE);
	live_client_close(&onlooker->live->loop, onlooker->kv);
	free(onlooker->is_bound);
	free(onlooker->bound_ns);
	free(onlooker->placement);
}
