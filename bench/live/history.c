#include "bench/live/history.h"

#include <stdlib.h>
#include <string.h>

#include "bench/common/report.h"
#include "coord/janitor/pin.h"
#include "store/base/clock.h"
#include "store/keys/keys.h"

enum { PIN_FOR_MS = 3600 * 1000 };

/* -- the pin ------------------------------------------------------------------------ */

struct history_pin {
	struct pin *pin;
	bool held, released;
};

static void on_pin(void *ctx, const struct pin_note *note)
{
	struct history_pin *p = ctx;

	switch (note->what) {
	case PIN_HELD:
		p->held = true;
		return;
	case PIN_LOST:
		bench_check(note->err->code, note->err, "keep the history");
		return;
	case PIN_TROUBLE:
		return;
	case PIN_RELEASED:
		p->released = true;
		return;
	}
}

struct history_pin *history_keep(struct live *live)
{
	struct history_pin *p = bench_alloc(1, sizeof *p);
	const struct pin_opts opts = {.name = PL_SPAN_LIT("bench"),
	                              .by = PL_SPAN_LIT("bench"),
	                              .why = PL_SPAN_LIT("history"),
	                              .until_wall_ms = pl_clock_wall_ms() + PIN_FOR_MS,
	                              .seed = 1};
	struct pl_err err = {0};

	bench_check(pin_open(live->kv, &opts, on_pin, p, &p->pin, &err), &err,
	            "keep the history");
	while (!p->held)
		(void)uv_run(&live->loop, UV_RUN_ONCE);
	return p;
}

void history_release(struct live *live, struct history_pin *pin)
{
	pin_release(pin->pin);
	while (!pin->released)
		(void)uv_run(&live->loop, UV_RUN_ONCE);
	free(pin);
}

/* -- reading ------------------------------------------------------------------------ */

struct history_reading {
	struct history sum;
	struct history txn; /* the one at hand */
	int64_t revision, seen;
	/* Bit set: the partitions of the txn's pods. */
	uint64_t partition[KEYS_PARTITIONS_MAX / 64];
	bool ended;
};

static void end_txn(struct history_reading *r)
{
	const struct history *txn = &r->txn;

	r->sum.puts += txn->puts;
	r->sum.bytes += txn->bytes;
	if (txn->pods > 0) {
		r->sum.txns++;
		r->sum.pods += txn->pods;
		r->sum.allocs += txn->allocs;
		r->sum.groups += txn->groups;
		r->sum.fences += txn->fences;
		r->sum.state_bytes += txn->state_bytes;
		r->sum.alloc_bytes += txn->alloc_bytes;
		r->sum.group_bytes += txn->group_bytes;
	}
	r->txn = (struct history){0};
	memset(r->partition, 0, sizeof r->partition);
}

static void take_state(struct history_reading *r, const struct keys_id *id,
                       struct pl_span value)
{
	static const char bound[] = "\"phase\":\"Bound\"";
	uint64_t bit = UINT64_C(1) << id->partition % 64;

	if (memmem(value.at, value.len, bound, sizeof bound - 1) == NULL)
		return;
	r->txn.pods++;
	r->txn.state_bytes += value.len;
	r->txn.fences += (r->partition[id->partition / 64] & bit) == 0;
	r->partition[id->partition / 64] |= bit;
}

static void apply_event(struct history_reading *r, const struct kv_event *event)
{
	struct pl_span value = event->record.value;
	struct keys_id id;

	if (event->record.mod_revision != r->revision)
		end_txn(r);
	r->revision = event->record.mod_revision;
	r->txn.puts++;
	r->txn.bytes += event->record.key.len + value.len;
	if (event->is_delete || keys_parse(event->record.key, &id, NULL) != PL_OK)
		return;
	if (id.kind == KEYS_STATE)
		take_state(r, &id, value);
	if (id.kind == KEYS_ALLOC) {
		r->txn.allocs++;
		r->txn.alloc_bytes += value.len;
	}
	if (id.kind == KEYS_GROUP || id.kind == KEYS_REGISTRY ||
	    id.kind == KEYS_REGISTRY_GLOBAL) {
		r->txn.groups++;
		r->txn.group_bytes += value.len;
	}
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct history_reading *r = ctx;

	if (note->what == KV_WATCH_END) {
		if (note->err->code != PL_CANCELED)
			bench_check(note->err->code, note->err, "read the history");
		r->ended = true;
	}
	for (size_t i = 0; i < note->count; i++)
		apply_event(r, &note->events[i]);
	if (note->revision > r->seen)
		r->seen = note->revision;
}

void history_read(struct live *live, int64_t from, int64_t until, struct history *out)
{
	struct history_reading *r = bench_alloc(1, sizeof *r);
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("/")),
	                           .from_revision = from};
	struct kv_watch *watch = NULL;
	struct pl_err err = {0};

	bench_check(kv_watch(live->kv, &req, on_note, r, &watch, &err), &err,
	            "read the history");
	bench_check(kv_progress(live->kv, watch, 0, &err), &err, "read the history");
	while (r->seen < until)
		(void)uv_run(&live->loop, UV_RUN_ONCE);
	kv_unwatch(live->kv, watch);
	while (!r->ended)
		(void)uv_run(&live->loop, UV_RUN_ONCE);
	end_txn(r);
	*out = r->sum;
	free(r);
}

static double mean_of(uint64_t sum, uint64_t count)
{
	return count == 0 ? 0 : (double)sum / (double)count;
}

void history_emit(const struct history *h, const char *fields)
{
	bench_emit(fields, "commits", (double)h->txns, "transactions");
	bench_emit(fields, "placements_per_txn", mean_of(h->pods, h->txns), "placements");
	bench_emit(fields, "allocs_per_txn", mean_of(h->allocs, h->txns), "puts");
	bench_emit(fields, "groups_per_txn", mean_of(h->groups, h->txns), "puts");
	bench_emit(fields, "fences_per_txn", mean_of(h->fences, h->txns), "partitions");
	bench_emit(fields, "state_bytes_mean", mean_of(h->state_bytes, h->pods), "B");
	bench_emit(fields, "alloc_bytes_mean", mean_of(h->alloc_bytes, h->allocs), "B");
	bench_emit(fields, "bytes_written", (double)h->bytes, "B");
	bench_emit(fields, "puts", (double)h->puts, "puts");
}
