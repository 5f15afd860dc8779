/*
 * A stream: the notes of a watch as lines of text, and the first note that broke a
 * rule.
 *
 * Events become a line each, however the store packed them into notes; READY and
 * PROGRESS are counted, since a store may send more of them; the end is a line.
 * The first note that breaks a promise of kv.h is kept in fault.
 */
#ifndef TESTS_CONFORMANCE_STREAM_H
#define TESTS_CONFORMANCE_STREAM_H

#include "store/base/arena.h"
#include "store/base/list.h"
#include "store/kv/kv.h"
#include "tests/conformance/names.h"

struct stream {
	struct pl_list link;
	const struct names *names;
	struct kv_watch_req req; /* as the store has it; its spans are the stream's */
	struct kv_watch *watch;  /* NULL: ended, or never begun */
	struct pl_arena arena;
	const char **lines;
	size_t line_count;
	size_t checked; /* lines that were compared so far */
	size_t lines_wanted;
	unsigned ready_count;
	unsigned progress_count;
	unsigned progress_before; /* progress_count when a wait for the next began */
	/* As the store has them; 0: none yet. */
	int64_t ready_revision;
	int64_t progress_revision;
	int64_t last_revision; /* revision of the last event so far */
	bool ended;
	char fault[200]; /* "": none */
};

struct stream *stream_new(const struct names *names, const struct kv_watch_req *req);
void stream_free(struct stream *stream);

/* A kv_watch_fn. */
void stream_note(void *ctx, const struct kv_watch_note *note);

/* The store refused the watch: as good as an end. */
void stream_refused(struct stream *stream, enum pl_code code);

#endif
