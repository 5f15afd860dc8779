/* What a client says on its watch stream. */
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
	/* Left alone it would go on sending: a new stream is the other way. */
	if (frame_send(&frame, watches->stream, NULL) != PL_OK)
		watches_drop_stream(watches);
}

enum pl_code watch_send_create(struct watches *watches, const struct kv_watch *watch,
                               struct pl_err *err)
{
	/* One that goes on begins at what it has seen: a compaction to just the next
	 * revision would take deletions of it away, and still let us begin there. */
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

	/* An answer that would not be believed is not asked for. */
	if (watches->stream == NULL || !watches->progress_sound)
		return;
	frame_begin(&frame);
	if (frame.code == PL_OK)
		frame.code = codec_watch_progress(&frame.body, NULL);
	(void)!frame_send(&frame, watches->stream, NULL); /* the timer asks again */
}
