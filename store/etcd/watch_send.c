/* Sends requests on a client's watch stream. */
#include "store/etcd/codec.h"
#include "store/etcd/frame.h"
#include "store/etcd/watches.h"

void watches_drop_stream(struct watches *watches)
{
	if (watches->stream != NULL)
		grpc_call_cancel(watches->stream);
}

void watch_send_cancel(struct watches *watches, int64_t id)
{
	struct frame frame;

	frame_begin(&frame);
	if (frame.code == PL_OK)
		frame.code = codec_watch_cancel(id, &frame.body, NULL);
	/* The server would go on sending events, so the stream is replaced. */
	if (frame_send(&frame, watches->stream, NULL) != PL_OK)
		watches_drop_stream(watches);
}

enum pl_code watch_send_create(struct watches *watches, const struct kv_watch *watch,
                               struct pl_err *err)
{
	/* A resumed watch begins at the last revision that it has seen: a compaction to
	 * just the next revision would drop deletions of that revision and still allow to
	 * begin there. */
	bool goes_on = watch->next_revision != watch->req.from_revision;
	struct codec_watch_create create = {
		.req = &watch->req,
		.from_revision = watch->next_revision - goes_on,
		.progress_notify = true,
	};
	struct frame frame;

	frame_begin(&frame);
	if (frame.code == PL_OK)
		frame.code = codec_watch_create(&create, &frame.body, err);
	return frame_send(&frame, watches->stream, err);
}

void watches_send_progress(struct watches *watches)
{
	struct frame frame;

	/* Progress is not requested when the answer would not be believed. */
	if (watches->stream == NULL || !watches->progress_sound)
		return;
	frame_begin(&frame);
	if (frame.code == PL_OK)
		frame.code = codec_watch_progress(&frame.body, NULL);
	/* the timer requests it again */
	(void)!frame_send(&frame, watches->stream, NULL);
}
