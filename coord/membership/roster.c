#include "coord/membership/roster.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/compiler.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "store/kv/relist.h"

/*
 * Happy path: a list is collected apart, and replaces the known entries when it is
 * complete; then each event replaces one entry. An entry that was replaced is freed
 * only after the note about it.
 *
 * Without memory for an entry the roster would stay wrong, so everything is read again
 * a little later (LOST, then RETRY_MS).
 */

enum { ENTRIES_MAX = 16384, RETRY_MS = 1000, ARENA_CHUNK = 2048 };

struct roster_node {
	struct roster_entry entry;
	struct pl_arena arena;
	size_t id_len;
	char id[];
};

/* Sorted by id. */
struct roster_list {
	struct roster_node **at;
	size_t count, cap;
};

struct roster {
	struct kv *kv;
	struct relist *relist; /* NULL: the timer will open it */
	struct pl_timer timer;
	uint64_t seed;
	struct roster_list live, next;
	struct keys_text prefix;
	bool synced, stopping;
	struct pl_err failure; /* why everything is read again */
	roster_fn *fn;
	void *ctx;
};

/* -- entries -------------------------------------------------------------- */

static struct pl_span id_of(const struct roster_node *node)
{
	return pl_span(node->id, node->id_len);
}

static void node_free(struct roster_node *node)
{
	if (node == NULL)
		return;
	pl_arena_done(&node->arena);
	free(node);
}

/* NULL: no memory. A record that does not parse makes an entry too. */
static struct roster_node *node_new(struct pl_span id, const struct kv_record *record)
{
	struct roster_node *node = pl_calloc(1, sizeof *node + id.len + 1);
	struct roster_entry *entry;
	struct keys_id key = {0};
	enum pl_code code;

	if (node == NULL)
		return NULL;
	entry = &node->entry;
	node->id_len = id.len;
	memcpy(node->id, id.at, id.len);
	pl_arena_init(&node->arena, ARENA_CHUNK, 0);
	entry->create_revision = record->create_revision;
	entry->mod_revision = record->mod_revision;
	entry->lease = record->lease;
	code = keys_parse(record->key, &key, &entry->why);
	if (code == PL_OK)
		code = membership_parse(id_of(node), record->value, &node->arena,
		                        &entry->member, &entry->why);
	if (code == PL_NOMEM) {
		node_free(node);
		return NULL;
	}
	entry->malformed = code != PL_OK;
	if (entry->malformed)
		entry->member = (struct membership){.id = id_of(node)};
	return node;
}

/* The index of the first entry that is not before id. */
static size_t place_of(const struct roster_list *list, struct pl_span id)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (pl_span_cmp(id_of(list->at[mid]), id) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool stands_at(const struct roster_list *list, size_t place, struct pl_span id)
{
	return place < list->count && pl_span_eq(id_of(list->at[place]), id);
}

static bool list_grow(struct roster_list *list)
{
	size_t cap = list->cap == 0 ? 16 : list->cap * 2;
	struct roster_node **at;

	if (list->count < list->cap)
		return true;
	at = pl_realloc(list->at, cap * sizeof(struct roster_node *));
	if (at == NULL)
		return false;
	list->at = at;
	list->cap = cap;
	return true;
}

static enum pl_code list_insert(struct roster_list *list, size_t place,
                                struct roster_node *node)
{
	if (list->count >= ENTRIES_MAX)
		return PL_LIMIT;
	if (!list_grow(list))
		return PL_NOMEM;
	memmove(&list->at[place + 1], &list->at[place],
	        (list->count - place) * sizeof(struct roster_node *));
	list->at[place] = node;
	list->count++;
	return PL_OK;
}

static struct roster_node *list_remove(struct roster_list *list, size_t place)
{
	struct roster_node *node = list->at[place];

	list->count--;
	memmove(&list->at[place], &list->at[place + 1],
	        (list->count - place) * sizeof(struct roster_node *));
	return node;
}

static void list_done(struct roster_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		node_free(list->at[i]);
	free(list->at);
	*list = (struct roster_list){0};
}

/* PL_OK: the record is in the list; *old is the entry that it replaced, or NULL. */
static enum pl_code list_put(struct roster_list *list, struct pl_span id,
                             const struct kv_record *record, struct roster_node **old)
{
	size_t place = place_of(list, id);
	struct roster_node *node = node_new(id, record);
	enum pl_code code;

	if (node == NULL)
		return PL_NOMEM;
	if (stands_at(list, place, id)) {
		*old = list->at[place];
		list->at[place] = node;
		return PL_OK;
	}
	code = list_insert(list, place, node);
	if (code != PL_OK)
		node_free(node);
	return code;
}

/* -- notes ---------------------------------------------------------------- */

static void report_note(struct roster *r, const struct roster_note *note)
{
	if (!r->stopping)
		r->fn(r->ctx, note);
}

static void report_err(struct roster *r, enum roster_what what, const struct pl_err *err)
{
	report_note(r, &(struct roster_note){.what = what, .err = err});
}

/* The roster misses something, so everything is read again. */
static void relist_anew(struct roster *r, enum pl_code code)
{
	pl_err_set(&r->failure, code, "roster of %zu shards", r->live.count);
	r->synced = false;
	list_done(&r->next);
	relist_stop(r->relist);
	report_err(r, ROSTER_LOST, &r->failure);
}

static struct pl_span id_in(const struct roster *r, struct pl_span key)
{
	PL_ASSERT(pl_span_starts(key, keys_span(&r->prefix)));
	return pl_span(key.at + r->prefix.len, key.len - r->prefix.len);
}

static void on_page(struct roster *r, const struct relist_note *note)
{
	for (size_t i = 0; i < note->count; i++) {
		const struct kv_record *record = &note->records[i];
		struct roster_node *old = NULL;
		enum pl_code code =
			list_put(&r->next, id_in(r, record->key), record, &old);

		node_free(old);
		if (code != PL_OK) {
			relist_anew(r, code);
			return;
		}
	}
}

static void on_end(struct roster *r, int64_t revision)
{
	struct roster_list old = r->live;

	r->live = r->next;
	r->next = (struct roster_list){0};
	r->synced = true;
	report_note(r,
	            &(struct roster_note){.what = ROSTER_SYNCED, .revision = revision});
	list_done(&old);
}

static void on_gone(struct roster *r, struct roster_note *note)
{
	size_t place = place_of(&r->live, note->id);
	struct roster_node *old;

	if (!stands_at(&r->live, place, note->id))
		return;
	old = list_remove(&r->live, place);
	note->id = id_of(old);
	report_note(r, note);
	node_free(old);
}

static void on_event(struct roster *r, const struct kv_event *event)
{
	struct roster_note note = {.what = ROSTER_CHANGED,
	                           .id = id_in(r, event->record.key),
	                           .revision = event->record.mod_revision};
	struct roster_node *old = NULL;
	enum pl_code code;

	if (event->is_delete) {
		on_gone(r, &note);
		return;
	}
	code = list_put(&r->live, note.id, &event->record, &old);
	if (code != PL_OK) {
		relist_anew(r, code);
		return;
	}
	note.entry = &r->live.at[place_of(&r->live, note.id)]->entry;
	note.id = note.entry->member.id;
	report_note(r, &note);
	node_free(old);
}

static void rearm_timer(struct roster *r)
{
	uint64_t wait = r->stopping ? 0 : RETRY_MS;

	pl_timer_set(&r->timer, kv_now_ms(r->kv) + wait);
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct roster *r = ctx;

	switch (note->what) {
	case RELIST_BEGIN:
		list_done(&r->next);
		break;
	case RELIST_PAGE:
		on_page(r, note);
		break;
	case RELIST_END:
		on_end(r, note->revision);
		break;
	case RELIST_EVENTS:
		/* After the roster was given up or stopped, the rest is ignored. */
		for (size_t i = 0; i < note->count && r->synced && !r->stopping; i++)
			on_event(r, &note->events[i]);
		break;
	case RELIST_PROGRESS:
		break;
	case RELIST_LOST:
		r->synced = false;
		list_done(&r->next);
		report_err(r, ROSTER_LOST, note->err);
		break;
	case RELIST_TROUBLE:
		report_err(r, ROSTER_TROUBLE, note->err);
		break;
	case RELIST_STOPPED:
		r->relist = NULL;
		rearm_timer(r);
		break;
	}
}

/* -- life ----------------------------------------------------------------- */

static enum pl_code open_relist(struct roster *r, struct pl_err *err)
{
	struct relist_opts opts = {.keys = kv_prefix(keys_span(&r->prefix)),
	                           .seed = r->seed};

	return relist_open(r->kv, &opts, on_note, r, &r->relist, err);
}

static void roster_finish(struct roster *r)
{
	static const struct roster_note stopped = {.what = ROSTER_STOPPED};
	roster_fn *fn = r->fn;
	void *ctx = r->ctx;

	pl_timer_done(&r->timer);
	list_done(&r->live);
	list_done(&r->next);
	free(r);
	fn(ctx, &stopped);
}

static void on_timer(void *ctx)
{
	struct roster *r = ctx;
	struct pl_err err;

	if (r->stopping) {
		roster_finish(r);
		return;
	}
	if (open_relist(r, &err) == PL_OK)
		return;
	rearm_timer(r);
	report_err(r, ROSTER_TROUBLE, &err);
}

enum pl_code roster_open(struct kv *kv, uint64_t seed, roster_fn *fn, void *ctx,
                         struct roster **out, struct pl_err *err)
{
	struct keys_id shards = {.kind = KEYS_SHARD};
	struct roster *r = pl_calloc(1, sizeof *r);
	enum pl_code code = PL_NOMEM;

	if (r == NULL)
		return pl_err_set(err, PL_NOMEM, "roster");
	r->kv = kv;
	r->seed = seed;
	r->fn = fn;
	r->ctx = ctx;
	code = pl_timer_init(&r->timer, kv_timers(kv), on_timer, r);
	if (code != PL_OK) {
		pl_err_set(err, code, "roster");
		goto fail_timer;
	}
	code = keys_prefix(&shards, 1, &r->prefix, err);
	if (code == PL_OK)
		code = open_relist(r, err);
	if (code == PL_OK) {
		*out = r;
		return PL_OK;
	}
	pl_timer_done(&r->timer);
fail_timer:
	free(r);
	return code;
}

void roster_stop(struct roster *r)
{
	if (r->stopping)
		return;
	r->stopping = true;
	r->synced = false;
	if (r->relist != NULL)
		relist_stop(r->relist);
	else
		rearm_timer(r);
}

bool roster_synced(const struct roster *r)
{
	return r->synced;
}

size_t roster_count(const struct roster *r)
{
	return r->live.count;
}

static const struct roster_entry *entry_at(const struct roster *r, size_t place)
{
	return place < r->live.count ? &r->live.at[place]->entry : NULL;
}

const struct roster_entry *roster_get(const struct roster *r, struct pl_span id)
{
	size_t place = place_of(&r->live, id);

	return stands_at(&r->live, place, id) ? entry_at(r, place) : NULL;
}

const struct roster_entry *roster_first(const struct roster *r)
{
	return entry_at(r, 0);
}

const struct roster_entry *roster_next(const struct roster *r,
                                       const struct roster_entry *entry)
{
	size_t place = place_of(&r->live, entry->member.id);

	return entry_at(r, place + stands_at(&r->live, place, entry->member.id));
}
