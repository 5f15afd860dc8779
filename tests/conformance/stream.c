#include "tests/conformance/stream.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/kv/keys.h"
#include "store/kv/rewrite.h"
#include "tests/conformance/show.h"

enum { LINE_MAX = 1 << 16 };

struct stream *stream_new(const struct names *names, const struct kv_watch_req *req)
{
	struct stream *stream = calloc(1, sizeof *stream);

	PL_ASSERT(stream != NULL);
	pl_list_init(&stream->link);
	pl_arena_init(&stream->arena, 0, 0);
	stream->names = names;
	PL_ASSERT(kv_watch_req_copy(&stream->arena, req, &stream->req) == PL_OK);
	return stream;
}

void stream_free(struct stream *stream)
{
	if (stream == NULL)
		return;
	PL_ASSERT(stream->watch == NULL);
	pl_list_del(&stream->link);
	pl_arena_done(&stream->arena);
	free(stream->lines);
	free(stream);
}

PL_PRINTF(2, 3) static void fault(struct stream *stream, const char *fmt, ...)
{
	va_list args;

	if (stream->fault[0] != 0)
		return;
	va_start(args, fmt);
	(void)vsnprintf(stream->fault, sizeof stream->fault, fmt, args);
	va_end(args);
}

static void add_line(struct stream *stream, struct pl_span text)
{
	/* Doubles at each power of two. */
	if ((stream->line_count & (stream->line_count - 1)) == 0) {
		size_t room = stream->line_count == 0 ? 1 : stream->line_count * 2;

		stream->lines = realloc(stream->lines, room * sizeof *stream->lines);
		PL_ASSERT(stream->lines != NULL);
	}
	text = pl_arena_dup(&stream->arena, text);
	PL_ASSERT(text.at != NULL);
	stream->lines[stream->line_count++] = (const char *)text.at;
}

static int64_t shown_revision(const struct stream *stream, int64_t revision)
{
	return names_revision_in(stream->names, revision);
}

static void on_ready(struct stream *stream, const struct kv_watch_note *note)
{
	if (note->revision < stream->last_revision)
		fault(stream, "ready at @%" PRId64 " after an event of @%" PRId64,
		      shown_revision(stream, note->revision),
		      shown_revision(stream, stream->last_revision));
	if (stream->ready_count++ == 0)
		stream->ready_revision = note->revision;
}

static void on_event(struct stream *stream, const struct kv_event *event,
                     int64_t previous)
{
	struct pl_buf line;
	int64_t revision = event->record.mod_revision;

	pl_buf_init(&line, LINE_MAX);
	show_event(&line, stream->names, event);
	add_line(stream, pl_buf_span(&line));
	pl_buf_done(&line);
	if (revision < previous)
		fault(stream, "event of @%" PRId64 " after one of @%" PRId64,
		      shown_revision(stream, revision), shown_revision(stream, previous));
	if (revision <= stream->progress_revision)
		fault(stream, "event of @%" PRId64 " after progress to @%" PRId64,
		      shown_revision(stream, revision),
		      shown_revision(stream, stream->progress_revision));
	if (revision <= stream->ready_revision || revision < stream->req.from_revision)
		fault(stream, "event of @%" PRId64 " from before the watch",
		      shown_revision(stream, revision));
	if (!kv_key_in(stream->req.keys, event->record.key))
		fault(stream, "event of a key that is not watched");
	if (event->is_delete ? stream->req.no_deletes : stream->req.no_puts)
		fault(stream, "event that was to be filtered out");
	if (!stream->req.want_prev && event->prev != NULL)
		fault(stream, "previous value that was not asked for");
}

static void on_events(struct stream *stream, const struct kv_watch_note *note)
{
	int64_t previous = stream->last_revision;

	if (note->count == 0)
		fault(stream, "note without events");
	else if (note->events[0].record.mod_revision <= previous)
		fault(stream, "@%" PRId64 " comes in two notes, or twice",
		      shown_revision(stream, note->events[0].record.mod_revision));
	for (size_t i = 0; i < note->count; i++) {
		on_event(stream, &note->events[i], previous);
		previous = note->events[i].record.mod_revision;
	}
	stream->last_revision = previous;
	if (note->revision < previous)
		fault(stream, "events up to @%" PRId64 " in a note of @%" PRId64,
		      shown_revision(stream, previous),
		      shown_revision(stream, note->revision));
}

static void on_progress(struct stream *stream, const struct kv_watch_note *note)
{
	if (note->revision < stream->progress_revision ||
	    note->revision < stream->last_revision)
		fault(stream, "progress goes back to @%" PRId64,
		      shown_revision(stream, note->revision));
	stream->progress_count++;
	stream->progress_revision = note->revision;
}

static void add_end(struct stream *stream, enum pl_code code, int64_t compact_revision)
{
	struct pl_buf line;

	pl_buf_init(&line, LINE_MAX);
	show_text(&line, "end %s", show_code(code));
	if (code == PL_COMPACTED)
		show_text(&line, " @%" PRId64, compact_revision - stream->names->base);
	add_line(stream, pl_buf_span(&line));
	pl_buf_done(&line);
	stream->ended = true;
	stream->watch = NULL;
}

void stream_refused(struct stream *stream, enum pl_code code)
{
	add_end(stream, code, 0);
}

void stream_note(void *ctx, const struct kv_watch_note *note)
{
	struct stream *stream = ctx;

	if (stream->ended)
		fault(stream, "note after the end");
	if (stream->ready_count == 0 && note->what != KV_WATCH_READY &&
	    note->what != KV_WATCH_END)
		fault(stream, "note before the watch is ready");
	if ((note->what == KV_WATCH_END) != (note->err != NULL))
		fault(stream, "an error belongs to the end, and only there");
	switch (note->what) {
	case KV_WATCH_READY:
		on_ready(stream, note);
		break;
	case KV_WATCH_EVENTS:
		on_events(stream, note);
		break;
	case KV_WATCH_PROGRESS:
		on_progress(stream, note);
		break;
	case KV_WATCH_END:
		add_end(stream, note->err == NULL ? PL_OK : note->err->code,
		        note->compact_revision);
		break;
	}
}
