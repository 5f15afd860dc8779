#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/check.h"
#include "store/kv/rewrite.h"
#include "tests/sim/simkv_int.h"

/*
 * A watch holds the notes that the store has sent and the network has not yet delivered.
 * When the connection breaks they are lost, and the watch resumes from the first revision
 * that its user has not seen.
 */

enum { NOTE_ARENA = 512, RESUME_MAX_MS = 500 };

struct simkv_feed_watch;

/* The store's side of a watch. Lives until memkv has sent its last note. */
struct simkv_feed {
	struct simkv_feed_watch *watch; /* NULL: the watch has ended */
	struct kv_watch *inner;
};

struct simkv_note {
	struct pl_list link;
	uint64_t at_ms;
	struct pl_arena arena;
	struct kv_watch_note kv_note;
	struct pl_err err;
};

struct simkv_feed_watch {
	struct pl_list link;
	struct simkv *owner;
	struct kv_watch_req req;
	struct pl_arena arena;
	kv_watch_fn *fn;
	void *ctx;
	struct simkv_feed *feed;
	struct pl_list notes; /* notes under way */
	struct agenda_item opens;
	struct agenda_item pump;
	struct agenda_item asks; /* for progress requests */
	uint64_t last_ms;
	int64_t next; /* first revision that has not been delivered; 0: from now on */
	int64_t seen;
	bool owes_progress;
	bool ending;
	struct pl_err why;
};

static void note_free(struct simkv_note *note)
{
	pl_arena_done(&note->arena);
	free(note);
}

static void drop_notes(struct simkv_feed_watch *watch)
{
	PL_LIST_EACH (link, &watch->notes) {
		pl_list_del(link);
		note_free(PL_LIST_ITEM(link, struct simkv_note, link));
	}
	agenda_stop(watch->owner->agenda, &watch->pump);
}

static void feed_detach(struct simkv_feed_watch *watch)
{
	if (watch->feed == NULL)
		return;
	watch->feed->watch = NULL;
	kv_unwatch(watch->owner->store->kv, watch->feed->inner);
	watch->feed = NULL;
}

static void end_soon(struct simkv_feed_watch *watch, enum pl_code code, const char *why)
{
	struct simkv *sim = watch->owner;

	if (watch->ending)
		return;
	watch->ending = true;
	(void)pl_err_set(&watch->why, code, "watch: %s", why);
	feed_detach(watch);
	drop_notes(watch);
	agenda_stop(sim->agenda, &watch->opens);
	agenda_stop(sim->agenda, &watch->asks);
	agenda_set(sim->agenda, &watch->pump, sim->agenda->now_ms);
}

static void push_note(struct simkv_feed_watch *watch, const struct kv_watch_note *kv_note)
{
	struct simkv *sim = watch->owner;
	struct simkv_note *note = pl_calloc(1, sizeof *note);
	uint64_t at = sim->agenda->now_ms + simkv_delay(sim);

	PL_ASSERT(note != NULL);
	pl_arena_init(&note->arena, NOTE_ARENA, 0);
	if (kv_note_copy(&note->arena, kv_note, &note->kv_note) != PL_OK)
		PL_UNREACHABLE("no memory");
	if (kv_note->err != NULL) {
		note->err = *kv_note->err;
		note->kv_note.err = &note->err;
	}
	if (sim->link.note_max_ms != 0)
		at += pl_rng_below(&sim->rng, (uint64_t)sim->link.note_max_ms + 1);
	note->at_ms = at < watch->last_ms ? watch->last_ms : at;
	watch->last_ms = note->at_ms;
	if (pl_list_empty(&watch->notes))
		agenda_set(sim->agenda, &watch->pump, note->at_ms);
	pl_list_add_tail(&watch->notes, &note->link);
}

static void on_inner(void *ctx, const struct kv_watch_note *kv_note)
{
	struct simkv_feed *feed = ctx;
	struct simkv_feed_watch *watch = feed->watch;

	if (watch != NULL &&
	    !(kv_note->what == KV_WATCH_EVENTS && kv_note->revision < watch->next))
		push_note(watch, kv_note);
	if (kv_note->what != KV_WATCH_END)
		return;
	if (watch != NULL)
		watch->feed = NULL;
	free(feed);
}

static void end_watch(struct simkv_feed_watch *watch)
{
	struct simkv *sim = watch->owner;
	kv_watch_fn *fn = watch->fn;
	void *ctx = watch->ctx;
	struct kv_watch_note last = {.what = KV_WATCH_END, .err = &watch->why};
	struct pl_err why = watch->why;

	last.err = &why;
	pl_list_del(&watch->link);
	pl_arena_done(&watch->arena);
	free(watch);
	simkv_ended(sim);
	fn(ctx, &last);
}

static void note_seen(struct simkv_feed_watch *watch, const struct kv_watch_note *kv_note)
{
	struct simkv *sim = watch->owner;

	if (kv_note->revision >= watch->next)
		watch->next = kv_note->revision + 1;
	if (kv_note->header.revision > watch->seen)
		watch->seen = kv_note->header.revision;
	if (watch->seen > sim->seen_revision)
		sim->seen_revision = watch->seen;
	if (kv_note->what == KV_WATCH_PROGRESS)
		watch->owes_progress = false;
	sim->counts->notes++;
}

/* The watch's last note is a copy of the inner watch's, including the revision. */
static void deliver_note(struct simkv_feed_watch *watch, struct simkv_note *note)
{
	struct simkv *sim = watch->owner;

	if (note->kv_note.what == KV_WATCH_END) {
		kv_watch_fn *fn = watch->fn;
		void *ctx = watch->ctx;

		PL_ASSERT(watch->feed == NULL && pl_list_empty(&watch->notes));
		agenda_stop(sim->agenda, &watch->asks);
		agenda_stop(sim->agenda, &watch->opens);
		pl_list_del(&watch->link);
		pl_arena_done(&watch->arena);
		free(watch);
		simkv_ended(sim);
		fn(ctx, &note->kv_note);
	} else {
		note_seen(watch, &note->kv_note);
		watch->fn(watch->ctx, &note->kv_note);
	}
	note_free(note);
}

static void on_pump(void *ctx)
{
	struct simkv_feed_watch *watch = ctx;
	struct simkv *sim = watch->owner;
	struct simkv_note *note;

	if (!simkv_awake(sim, &watch->pump))
		return;
	if (watch->ending) {
		end_watch(watch);
		return;
	}
	if (!simkv_passes(sim, SIMKV_NOTES, &watch->pump))
		return;
	note = PL_LIST_ITEM(watch->notes.next, struct simkv_note, link);
	pl_list_del(&note->link);
	if (!pl_list_empty(&watch->notes))
		agenda_set(
			sim->agenda, &watch->pump,
			PL_LIST_ITEM(watch->notes.next, struct simkv_note, link)->at_ms);
	deliver_note(watch, note);
}

static void ask_progress(struct simkv_feed_watch *watch)
{
	if (watch->owes_progress && watch->feed != NULL &&
	    kv_progress(watch->owner->store->kv, watch->feed->inner, 0, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

static void on_asks(void *ctx)
{
	struct simkv_feed_watch *watch = ctx;

	if (simkv_passes(watch->owner, SIMKV_NOTES, &watch->asks))
		ask_progress(watch);
}

/* The watch request has reached the store. */
static void on_opens(void *ctx)
{
	struct simkv_feed_watch *watch = ctx;
	struct simkv *sim = watch->owner;
	struct kv_watch_req req = watch->req;
	struct simkv_feed *feed;

	if (!simkv_passes(sim, SIMKV_NOTES, &watch->opens))
		return;
	if (watch->seen > memkv_revision(sim->store->mem)) {
		sim->counts->rewound++;
		end_soon(watch, PL_REWOUND, "the store's revision went back");
		return;
	}
	feed = pl_calloc(1, sizeof *feed);
	PL_ASSERT(feed != NULL);
	feed->watch = watch;
	watch->feed = feed;
	/* As an etcd client does, the watch resumes from the last revision that it has
	 * seen, so that a compaction to just the next revision can not take an event from
	 * it unseen. */
	req.from_revision = watch->next - (watch->next != watch->req.from_revision);
	if (kv_watch(sim->store->kv, &req, on_inner, feed, &feed->inner, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
	ask_progress(watch);
}

enum pl_code simkv_watch(struct kv *kv, const struct kv_watch_req *req, kv_watch_fn *fn,
                         void *ctx, struct kv_watch **out, struct pl_err *err)
{
	struct simkv *sim = simkv_of(kv);
	enum pl_code code = kv_check_watch(req, err);
	struct simkv_feed_watch *watch;

	if (code != PL_OK)
		return code;
	if (sim->closing || sim->dead)
		return pl_err_set(err, PL_CANCELED, "closed");
	watch = pl_calloc(1, sizeof *watch);
	PL_ASSERT(watch != NULL);
	pl_arena_init(&watch->arena, NOTE_ARENA, 0);
	if (kv_watch_req_copy(&watch->arena, req, &watch->req) != PL_OK)
		PL_UNREACHABLE("no memory");
	watch->owner = sim;
	watch->fn = fn;
	watch->ctx = ctx;
	watch->next = req->from_revision;
	pl_list_init(&watch->notes);
	pl_list_add_tail(&sim->watches, &watch->link);
	agenda_item_init(&watch->opens, on_opens, watch);
	agenda_item_init(&watch->pump, on_pump, watch);
	agenda_item_init(&watch->asks, on_asks, watch);
	agenda_set(sim->agenda, &watch->opens, sim->agenda->now_ms + simkv_delay(sim));
	if (out != NULL)
		*out = (struct kv_watch *)(void *)watch;
	return PL_OK;
}

void simkv_unwatch(struct kv *kv, struct kv_watch *handle)
{
	struct simkv_feed_watch *watch = (struct simkv_feed_watch *)(void *)handle;

	PL_ASSERT(watch->owner == simkv_of(kv));
	if (watch->ending)
		(void)pl_err_set(&watch->why, PL_CANCELED, "watch: canceled");
	end_soon(watch, PL_CANCELED, "canceled");
}

/* Answers with the store's revision when the request arrives there. */
enum pl_code simkv_progress(struct kv *kv, struct kv_watch *handle, int64_t revision,
                            struct pl_err *err)
{
	struct simkv_feed_watch *watch = (struct simkv_feed_watch *)(void *)handle;
	struct simkv *sim = simkv_of(kv);

	(void)revision;
	if (watch->ending)
		return pl_err_set(err, PL_CANCELED, "watch has ended");
	watch->owes_progress = true;
	if (!agenda_is_set(&watch->asks) && pl_list_empty(&watch->asks.parked))
		agenda_set(sim->agenda, &watch->asks,
		           sim->agenda->now_ms + simkv_delay(sim));
	return PL_OK;
}

void simkv_watches_end(struct simkv *sim, enum pl_code code, const char *why)
{
	PL_LIST_EACH (link, &sim->watches)
		end_soon(PL_LIST_ITEM(link, struct simkv_feed_watch, link), code, why);
}

void simkv_watches_break(struct simkv *sim)
{
	PL_LIST_EACH (link, &sim->watches) {
		struct simkv_feed_watch *watch =
			PL_LIST_ITEM(link, struct simkv_feed_watch, link);

		if (watch->ending)
			continue;
		feed_detach(watch);
		drop_notes(watch);
		watch->last_ms = 0;
		agenda_set(sim->agenda, &watch->opens,
		           sim->agenda->now_ms + simkv_delay(sim) +
		                   pl_rng_below(&sim->rng, RESUME_MAX_MS));
	}
}
