#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/check.h"
#include "store/kv/rewrite.h"
#include "tests/sim/simkv_int.h"

/*
 * A watch holds what the store has told and the network has not yet brought.
 * When the connection breaks that is lost, and asked for again from the first
 * revision that its user has not seen.
 */

enum { NOTE_ARENA = 512, RESUME_MAX_MS = 500 };

struct watch;

/* The store's side of it. Lives until memkv has said its last word. */
struct feed {
	struct watch *watch; /* NULL: nobody listens */
	struct kv_watch *inner;
};

struct note {
	struct pl_list link;
	uint64_t at_ms;
	struct pl_arena arena;
	struct kv_watch_note told;
	struct pl_err err;
};

struct watch {
	struct pl_list link;
	struct simkv *owner;
	struct kv_watch_req req;
	struct pl_arena arena;
	kv_watch_fn *fn;
	void *ctx;
	struct feed *feed;
	struct pl_list notes; /* on their way */
	struct agenda_item opens;
	struct agenda_item pump;
	struct agenda_item asks; /* for progress */
	uint64_t last_ms;
	int64_t next; /* revision that has not been delivered; 0: from now */
	int64_t seen;
	bool owes_progress;
	bool ending;
	struct pl_err why;
};

static void note_free(struct note *note)
{
	pl_arena_done(&note->arena);
	free(note);
}

static void drop_notes(struct watch *watch)
{
	PL_LIST_EACH (link, &watch->notes) {
		pl_list_del(link);
		note_free(PL_LIST_ITEM(link, struct note, link));
	}
	agenda_stop(watch->owner->agenda, &watch->pump);
}

static void unfeed(struct watch *watch)
{
	if (watch->feed == NULL)
		return;
	watch->feed->watch = NULL;
	kv_unwatch(watch->owner->depot->kv, watch->feed->inner);
	watch->feed = NULL;
}

static void end_soon(struct watch *watch, enum pl_code code, const char *why)
{
	struct simkv *sim = watch->owner;

	if (watch->ending)
		return;
	watch->ending = true;
	(void)pl_err_set(&watch->why, code, "watch: %s", why);
	unfeed(watch);
	drop_notes(watch);
	agenda_stop(sim->agenda, &watch->opens);
	agenda_stop(sim->agenda, &watch->asks);
	agenda_set(sim->agenda, &watch->pump, sim->agenda->now_ms);
}

static void push(struct watch *watch, const struct kv_watch_note *told)
{
	struct simkv *sim = watch->owner;
	struct note *note = pl_calloc(1, sizeof *note);
	uint64_t at = sim->agenda->now_ms + simkv_delay(sim);

	PL_ASSERT(note != NULL);
	pl_arena_init(&note->arena, NOTE_ARENA, 0);
	if (kv_note_copy(&note->arena, told, &note->told) != PL_OK)
		PL_UNREACHABLE("no memory");
	if (told->err != NULL) {
		note->err = *told->err;
		note->told.err = &note->err;
	}
	if (sim->link.note_max_ms != 0)
		at += pl_rng_below(&sim->rng, (uint64_t)sim->link.note_max_ms + 1);
	note->at_ms = at < watch->last_ms ? watch->last_ms : at;
	watch->last_ms = note->at_ms;
	if (pl_list_empty(&watch->notes))
		agenda_set(sim->agenda, &watch->pump, note->at_ms);
	pl_list_add_tail(&watch->notes, &note->link);
}

static void on_inner(void *ctx, const struct kv_watch_note *told)
{
	struct feed *feed = ctx;
	struct watch *watch = feed->watch;

	if (watch != NULL &&
	    !(told->what == KV_WATCH_EVENTS && told->revision < watch->next))
		push(watch, told);
	if (told->what != KV_WATCH_END)
		return;
	if (watch != NULL)
		watch->feed = NULL;
	free(feed);
}

static void finish(struct watch *watch)
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

static void note_seen(struct watch *watch, const struct kv_watch_note *told)
{
	struct simkv *sim = watch->owner;

	if (told->revision >= watch->next)
		watch->next = told->revision + 1;
	if (told->header.revision > watch->seen)
		watch->seen = told->header.revision;
	if (watch->seen > sim->seen_revision)
		sim->seen_revision = watch->seen;
	if (told->what == KV_WATCH_PROGRESS)
		watch->owes_progress = false;
	sim->counts->notes++;
}

/* The watch's last note is a copy of the inner one's, revision and all. */
static void deliver(struct watch *watch, struct note *note)
{
	struct simkv *sim = watch->owner;

	if (note->told.what == KV_WATCH_END) {
		kv_watch_fn *fn = watch->fn;
		void *ctx = watch->ctx;

		PL_ASSERT(watch->feed == NULL && pl_list_empty(&watch->notes));
		agenda_stop(sim->agenda, &watch->asks);
		agenda_stop(sim->agenda, &watch->opens);
		pl_list_del(&watch->link);
		pl_arena_done(&watch->arena);
		free(watch);
		simkv_ended(sim);
		fn(ctx, &note->told);
	} else {
		note_seen(watch, &note->told);
		watch->fn(watch->ctx, &note->told);
	}
	note_free(note);
}

static void on_pump(void *ctx)
{
	struct watch *watch = ctx;
	struct simkv *sim = watch->owner;
	struct note *note;

	if (!simkv_awake(sim, &watch->pump))
		return;
	if (watch->ending) {
		finish(watch);
		return;
	}
	if (!simkv_passes(sim, SIMKV_NOTES, &watch->pump))
		return;
	note = PL_LIST_ITEM(watch->notes.next, struct note, link);
	pl_list_del(&note->link);
	if (!pl_list_empty(&watch->notes))
		agenda_set(sim->agenda, &watch->pump,
		           PL_LIST_ITEM(watch->notes.next, struct note, link)->at_ms);
	deliver(watch, note);
}

static void ask_progress(struct watch *watch)
{
	if (watch->owes_progress && watch->feed != NULL &&
	    kv_progress(watch->owner->depot->kv, watch->feed->inner, 0, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
}

static void on_asks(void *ctx)
{
	struct watch *watch = ctx;

	if (simkv_passes(watch->owner, SIMKV_NOTES, &watch->asks))
		ask_progress(watch);
}

/* The creation has reached the store. */
static void on_opens(void *ctx)
{
	struct watch *watch = ctx;
	struct simkv *sim = watch->owner;
	struct kv_watch_req req = watch->req;
	struct feed *feed;

	if (!simkv_passes(sim, SIMKV_NOTES, &watch->opens))
		return;
	if (watch->seen > memkv_revision(sim->depot->mem)) {
		sim->counts->rewound++;
		end_soon(watch, PL_REWOUND, "the store's revision went back");
		return;
	}
	feed = pl_calloc(1, sizeof *feed);
	PL_ASSERT(feed != NULL);
	feed->watch = watch;
	watch->feed = feed;
	/* As a client of etcd: from what it has seen, so that a compaction to just the
	 * next revision can not take anything from it unseen. */
	req.from_revision = watch->next - (watch->next != watch->req.from_revision);
	if (kv_watch(sim->depot->kv, &req, on_inner, feed, &feed->inner, NULL) != PL_OK)
		PL_UNREACHABLE("no memory");
	ask_progress(watch);
}

enum pl_code simkv_watch(struct kv *kv, const struct kv_watch_req *req, kv_watch_fn *fn,
                         void *ctx, struct kv_watch **out, struct pl_err *err)
{
	struct simkv *sim = simkv_of(kv);
	enum pl_code code = kv_check_watch(req, err);
	struct watch *watch;

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
	struct watch *watch = (struct watch *)(void *)handle;

	PL_ASSERT(watch->owner == simkv_of(kv));
	if (watch->ending)
		(void)pl_err_set(&watch->why, PL_CANCELED, "watch: canceled");
	end_soon(watch, PL_CANCELED, "canceled");
}

/* How far the store is when it comes to that. */
enum pl_code simkv_progress(struct kv *kv, struct kv_watch *handle, int64_t revision,
                            struct pl_err *err)
{
	struct watch *watch = (struct watch *)(void *)handle;
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
		end_soon(PL_LIST_ITEM(link, struct watch, link), code, why);
}

void simkv_watches_break(struct simkv *sim)
{
	PL_LIST_EACH (link, &sim->watches) {
		struct watch *watch = PL_LIST_ITEM(link, struct watch, link);

		if (watch->ending)
			continue;
		unfeed(watch);
		drop_notes(watch);
		watch->last_ms = 0;
		agenda_set(sim->agenda, &watch->opens,
		           sim->agenda->now_ms + simkv_delay(sim) +
		                   pl_rng_below(&sim->rng, RESUME_MAX_MS));
	}
}
