#include "bench/live/observer.h"

#include <stdlib.h>
#include <string.h>

#include "bench/common/report.h"
#include "store/base/clock.h"

enum { REPLACED = 4 }; /* times that a pod may be placed, on the average */

/* A watch may end by unwatch only: events that are missed would be missing in the figures. */
static void watch_ended(struct observer *t, const struct kv_watch_note *note)
{
	if (note->what != KV_WATCH_END)
		return;
	if (note->err->code != PL_CANCELED)
		bench_check(note->err->code, note->err, "watch");
	t->ended++;
}

static void on_owner(void *ctx, const struct kv_watch_note *note)
{
	struct observer *t = ctx;

	watch_ended(t, note);
	for (size_t i = 0; i < note->count; i++) {
		if (note->events[i].is_delete)
			continue;
		t->moved_s = bench_now_s();
		if (t->owned++ == 0)
			t->owned_s = t->moved_s;
	}
}

/* The quoted word that follows start. The JSON is not parsed as a whole: the processor
 * is needed by the work that is measured. */
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

static void apply_bound(struct observer *t, uint32_t pod, struct pl_span value,
                        double now_s)
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
		t->placement[t->placements++] = (struct observer_placement){pod, node};
}

/* The pod is asked to terminate; its end is a later state. */
static bool is_leaving(struct pl_span phase, struct pl_span value)
{
	return pl_span_eq(phase, PL_SPAN_LIT("Terminating")) &&
	       word_behind(value, PL_SPAN_LIT("\"ended\":\"")).at == NULL;
}

static void apply_event(struct observer *t, const struct kv_event *event, double now_s)
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
		apply_bound(t, pod, event->record.value, now_s);
	} else {
		t->is_bound[pod] = false;
		t->bound--;
	}
	if (t->bound > t->placed)
		t->placed = t->bound;
}

static void on_state(void *ctx, const struct kv_watch_note *note)
{
	struct observer *t = ctx;
	double now_s = bench_now_s();

	watch_ended(t, note);
	for (size_t i = 0; i < note->count; i++)
		apply_event(t, &note->events[i], now_s);
}

static struct kv_watch *watch_prefix(struct observer *t, const char *prefix, int64_t from,
                                     kv_watch_fn *fn)
{
	struct kv_watch_req req = {.keys = kv_prefix(pl_span_str(prefix)),
	                           .from_revision = from};
	struct kv_watch *out = NULL;
	struct pl_err err = {0};

	bench_check(kv_watch(t->kv, &req, fn, t, &out, &err), &err, "watch");
	return out;
}

void observer_open(struct observer *observer, struct live *live, uint32_t pods,
                   unsigned wants)
{
	observer_open_at(observer, live, pods, wants, live_revision(live) + 1);
}

void observer_open_at(struct observer *observer, struct live *live, uint32_t pods,
                      unsigned wants, int64_t from)
{
	*observer =
		(struct observer){.live = live, .pods = pods, .moved_s = bench_now_s()};
	observer->is_bound = bench_alloc(pods, sizeof *observer->is_bound);
	if ((wants & OBSERVER_TIMES) != 0)
		observer->bound_ns = bench_alloc(pods, sizeof *observer->bound_ns);
	if ((wants & OBSERVER_PLACEMENTS) != 0) {
		observer->placements_max = pods * REPLACED;
		observer->placement = bench_alloc(observer->placements_max,
		                                  sizeof *observer->placement);
	}
	observer->kv = live_client(live, &live->loop);
	observer->owners = watch_prefix(observer, "/partitions/", from, on_owner);
	observer->states = watch_prefix(observer, "/schedules/", from, on_state);
}

void observer_close(struct observer *observer)
{
	kv_unwatch(observer->kv, observer->owners);
	kv_unwatch(observer->kv, observer->states);
	while (observer->ended < 2)
		(void)uv_run(&observer->live->loop, UV_RUN_ONCE);
	live_client_close(&observer->live->loop, observer->kv);
	free(observer->is_bound);
	free(observer->bound_ns);
	free(observer->placement);
}
