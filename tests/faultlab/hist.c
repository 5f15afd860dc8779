#include "tests/faultlab/hist.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"

/* Limits of one array. No run that makes sense reaches the maximum. */
enum { ITEMS_MAX = 1 << 24, ITEMS_MIN = 64 };

/* A laboratory without memory can not go on: it ends loudly. */
static void grow_array(void **items, size_t *cap, size_t count, size_t size)
{
	void *at;

	if (count < *cap)
		return;
	PL_ASSERT(count < ITEMS_MAX);
	*cap = *cap == 0 ? ITEMS_MIN : 2 * *cap;
	at = pl_realloc(*items, *cap * size);
	PL_ASSERT(at != NULL);
	*items = at;
}

#define GROW(owner, array)                                                           \
	do {                                                                         \
		void *grow_at_ = (owner)->array;                                     \
		grow_array(&grow_at_, &(owner)->array##_cap, (owner)->array##_count, \
		           sizeof *(owner)->array);                                  \
		(owner)->array = grow_at_;                                           \
	} while (0)

void hist_init(struct hist *hist)
{
	memset(hist, 0, sizeof *hist);
}

void hist_done(struct hist *hist)
{
	for (unsigned i = 0; i < hist->stream_count; i++) {
		free(hist->stream[i].note);
		free(hist->stream[i].event);
	}
	free(hist->op);
	free(hist->lease);
	free(hist->compacted);
	free(hist->mark);
	free(hist->pause);
	free(hist->final);
}

uint32_t hist_op_start(struct hist *hist, uint16_t client, uint64_t now_ms)
{
	GROW(hist, op);
	hist->op[hist->op_count] = (struct hist_op){.id = (uint32_t)hist->op_count + 1,
	                                            .client = client,
	                                            .start_tick = ++hist->tick,
	                                            .start_ms = now_ms};
	return hist->op[hist->op_count++].id;
}

struct hist_op *hist_op(struct hist *hist, uint32_t id)
{
	PL_ASSERT(id > 0 && id <= hist->op_count);
	return &hist->op[id - 1];
}

void hist_op_end(struct hist *hist, uint32_t id, enum hist_outcome outcome,
                 enum pl_code code, int64_t revision, uint64_t now_ms)
{
	struct hist_op *op = hist_op(hist, id);

	PL_ASSERT(op->outcome == HIST_OPEN && outcome != HIST_OPEN);
	op->outcome = outcome;
	op->code = code;
	op->revision = revision;
	op->end_tick = ++hist->tick;
	op->end_ms = now_ms;
}

unsigned hist_stream_add(struct hist *hist, const char *name, enum hist_class class,
                         bool whole)
{
	struct hist_stream *stream = &hist->stream[hist->stream_count];

	PL_ASSERT(hist->stream_count < HIST_STREAMS_MAX);
	*stream = (struct hist_stream){.class = class, .whole = whole};
	(void)snprintf(stream->name, sizeof stream->name, "%s", name);
	return hist->stream_count++;
}

struct hist_note *hist_note_add(struct hist *hist, unsigned stream,
                                enum hist_note_what what, int64_t revision,
                                uint64_t now_ms)
{
	struct hist_stream *to = &hist->stream[stream];
	struct hist_note *note;

	PL_ASSERT(stream < hist->stream_count);
	GROW(to, note);
	note = &to->note[to->note_count++];
	*note = (struct hist_note){.what = what,
	                           .revision = revision,
	                           .first = to->event_count,
	                           .tick = ++hist->tick,
	                           .ms = now_ms};
	return note;
}

void hist_event_add(struct hist *hist, unsigned stream, const struct hist_event *event)
{
	struct hist_stream *to = &hist->stream[stream];

	PL_ASSERT(stream < hist->stream_count && to->note_count > 0);
	GROW(to, event);
	to->event[to->event_count++] = *event;
	to->note[to->note_count - 1].count++;
}

size_t hist_lease_add(struct hist *hist, int64_t id, uint64_t ttl_ms)
{
	GROW(hist, lease);
	hist->lease[hist->lease_count] = (struct hist_lease){.id = id, .ttl_ms = ttl_ms};
	return hist->lease_count++;
}

void hist_compacted(struct hist *hist, int64_t revision)
{
	GROW(hist, compacted);
	hist->compacted[hist->compacted_count++] = revision;
}

void hist_final_add(struct hist *hist, const struct hist_event *record)
{
	GROW(hist, final);
	hist->final[hist->final_count++] = *record;
}

void hist_pause(struct hist *hist, uint64_t now_ms, bool begins)
{
	if (begins) {
		GROW(hist, pause);
		hist->pause[hist->pause_count++] = (struct hist_pause){.from_ms = now_ms};
		return;
	}
	for (size_t i = 0; i < hist->pause_count; i++)
		if (hist->pause[i].to_ms == 0)
			hist->pause[i].to_ms = now_ms;
}

void hist_mark(struct hist *hist, uint64_t now_ms, const char *fmt, ...)
{
	struct hist_mark *mark;
	va_list args;

	GROW(hist, mark);
	mark = &hist->mark[hist->mark_count++];
	mark->ms = now_ms;
	va_start(args, fmt);
	(void)vsnprintf(mark->text, sizeof mark->text, fmt, args);
	va_end(args);
}

void hist_complain(struct hist *hist, uint64_t now_ms, const char *fmt, ...)
{
	struct hist_complaint *complaint;
	va_list args;

	if (hist->complaint_count == HIST_COMPLAINTS_MAX)
		return;
	complaint = &hist->complaint[hist->complaint_count++];
	complaint->ms = now_ms;
	va_start(args, fmt);
	(void)vsnprintf(complaint->text, sizeof complaint->text, fmt, args);
	va_end(args);
}
