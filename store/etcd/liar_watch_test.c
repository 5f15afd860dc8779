/* Watches and progress, of servers that lie. */
#include "store/etcd/liar_rig.h"

static bool ends_streams(struct liar *it, struct liar_call *call, struct pl_span message)
{
	(void)it;
	(void)message;
	if (is_unary(call))
		return false;
	liar_end(call, 0, "");
	return true;
}

T_CASE(streams_that_end_at_once_are_opened_again_but_not_in_a_hurry)
{
	struct rig_watch watch = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	up(ends_streams);
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	liar.streams = 0;
	T_OK(kv_watch(rig.kv, &req, rig_on_note, &watch, &watch.watch, &rig.err),
	     &rig.err);
	T_CODE(keep(1000), PL_TIMEOUT, &rig.err);
	T_TRUE(liar.streams > 2 && liar.streams < 60);
	T_TRUE(!watch.ended && !watch.is_ready);
	liar.fn = NULL;
	rig_until(&rig, &watch.is_ready);
	rig_unwatch(&rig, &watch);
	recovers();
	down();
}

static struct pl_span watch_lie;
static bool creates_first;

static bool lies_in_watches(struct liar *it, struct liar_call *call,
                            struct pl_span message)
{
	(void)message;
	if (!liar_is(call, "Watch"))
		return false;
	if (creates_first)
		liar_say(call, liar_created(it->revision, ++it->watch_id));
	liar_raw(call, watch_lie);
	return true;
}

static void watch_lies_case(struct pl_span bytes, bool created, enum pl_code code)
{
	struct rig_watch watch = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	watch_lie = bytes;
	creates_first = created;
	up(lies_in_watches);
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	liar.streams = 0;
	T_OK(kv_watch(rig.kv, &req, rig_on_note, &watch, &watch.watch, &rig.err),
	     &rig.err);
	rig_until(&rig, &watch.ended);
	T_CODE(watch.err.code, code, &watch.err);
	T_EQ(watch.events, 0);
	T_TRUE(liar.streams < 40);
	recovers();
	down();
}

T_CASE(watches_of_undecodable_messages_end)
{
	watch_lies_case(PL_SPAN_LIT("\0\0\0\0\3\xff\xff\xff"), false, PL_PROTO);
	watch_lies_case(PL_SPAN_LIT("\0\0\0\0\3\xff\xff\xff"), true, PL_PROTO);
}

T_CASE(watches_of_what_is_no_message_end)
{
	watch_lies_case(PL_SPAN_LIT("Internal Server Error"), true, PL_PROTO);
}

T_CASE(watches_of_oversized_messages_end)
{
	watch_lies_case(PL_SPAN_LIT("\0\xff\xff\xff\xff\x0a\x07"), true, PL_LIMIT);
}

static bool watch_is_404(struct liar *it, struct liar_call *call, struct pl_span message)
{
	return is_unary(call) ? false : says_404(it, call, message);
}

T_CASE(watches_of_a_web_server_end)
{
	struct rig_watch watch = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	up(watch_is_404);
	T_OK(kv_watch(rig.kv, &req, rig_on_note, &watch, &watch.watch, &rig.err),
	     &rig.err);
	rig_until(&rig, &watch.ended);
	T_CODE(watch.err.code, PL_PROTO, &watch.err);
	recovers();
	down();
}

/* All get the same id, and more answers than questions. */
static bool creates_wildly(struct liar *it, struct liar_call *call,
                           struct pl_span message)
{
	(void)message;
	if (!liar_is(call, "Watch"))
		return false;
	liar_say(call, liar_created(it->revision, 5));
	liar_say(call, liar_created(it->revision, 5));
	liar_say(call, liar_event(it->revision + 1, 5, "w/a"));
	return true;
}

T_CASE(answers_to_creations_out_of_turn)
{
	static struct rig_watch watch[3];
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	memset(watch, 0, sizeof watch);
	up(creates_wildly);
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	liar.streams = 0;
	for (unsigned i = 0; i < 3; i++)
		T_OK(kv_watch(rig.kv, &req, rig_on_note, &watch[i], &watch[i].watch,
		              &rig.err),
		     &rig.err);
	rig_run_ms(&rig, 500);
	T_TRUE(liar.streams > 1 && liar.streams < 40);
	liar.fn = NULL;
	for (unsigned i = 0; i < 3; i++)
		if (!watch[i].ended)
			rig_unwatch(&rig, &watch[i]);
	recovers();
	down();
}

/* Both answers lie in one read: what is behind the first must not matter to a
 * client that closes in the note of the first. */
static bool creates_and_says_version(struct liar *it, struct liar_call *call,
                                     struct pl_span message)
{
	static struct liar_call *watching;

	(void)message;
	if (liar_is(call, "Watch")) {
		watching = call;
		return true;
	}
	if (!liar_is(call, "Status"))
		return false;
	if (watching != NULL)
		liar_say(watching, liar_created(it->revision, 1));
	watching = NULL;
	return false;
}

struct closer {
	bool ended, closed;
};

static void on_closed(void *ctx)
{
	((struct closer *)ctx)->closed = true;
}

static void closes_in_note(void *ctx, const struct kv_watch_note *note)
{
	struct closer *closer = ctx;

	if (note->what == KV_WATCH_READY)
		kv_close(rig.kv, on_closed, closer);
	else
		closer->ended = true;
}

T_CASE(a_client_closed_inside_a_note_closes)
{
	struct closer closer = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};
	struct kv_watch *watch;

	up(creates_and_says_version);
	T_OK(kv_watch(rig.kv, &req, closes_in_note, &closer, &watch, &rig.err), &rig.err);
	rig_until(&rig, &closer.closed);
	T_TRUE(closer.ended);
	rig.kv = NULL;
	down();
}

static unsigned cancels_seen;

static bool counts_cancels(struct liar *it, struct liar_call *call,
                           struct pl_span message)
{
	(void)it;
	if (liar_is(call, "Watch") && message.len != 0 && message.at[0] == 0x12)
		cancels_seen++;
	return false;
}

T_CASE(a_watch_that_ends_on_our_side_ends_on_the_server_too)
{
	struct rig_watch watch;

	up(counts_cancels);
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	rig_watch(&rig, &watch, "w/", 0);
	liar.revision -= 50; /* back in time */
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	rig_until(&rig, &watch.ended);
	T_CODE(watch.err.code, PL_REWOUND, &watch.err);
	rig_run_ms(&rig, 50);
	T_EQ(cancels_seen, 1);
	recovers();
	down();
}

/* -- progress -------------------------------------------------------------- */

static struct liar_call *held;

static bool holds_the_first_read(struct liar *it, struct liar_call *call,
                                 struct pl_span message)
{
	(void)it;
	if (!liar_is(call, "Range") || held != NULL || message.len == 0)
		return false;
	held = call;
	return true;
}

T_CASE(progress_is_not_older_than_the_last_call_for_it)
{
	struct rig_watch watch;

	up(NULL);
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	rig_watch(&rig, &watch, "w/", 0);
	liar.fn = holds_the_first_read;
	T_OK(kv_progress(rig.kv, watch.watch, 0, &rig.err), &rig.err);
	while (held == NULL)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	/* The first read's answer is on its way, and knows nothing of these. */
	liar_say(held, liar_header(liar.revision));
	liar_end(held, 0, "");
	liar.revision += 5;
	T_OK(kv_progress(rig.kv, watch.watch, 0, &rig.err), &rig.err);
	liar_flush(&liar);
	while (watch.progress_revision < liar.revision)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	rig_unwatch(&rig, &watch);
	down();
}

static unsigned requests;

static bool counts_requests(struct liar *it, struct liar_call *call,
                            struct pl_span message)
{
	static const uint8_t progress_request = 3 << 3 | 2;

	(void)it;
	requests += liar_is(call, "Watch") && message.len > 0 &&
	            message.at[0] == progress_request;
	return false;
}

T_CASE(many_who_want_to_know_ask_once)
{
	static struct rig_watch watch[50];

	up(NULL);
	T_OK(get(RIG_TIMEOUT_MS), &rig.err);
	for (unsigned i = 0; i < 50; i++)
		rig_watch(&rig, &watch[i], "w/", 0);
	liar.fn = counts_requests;
	liar.revision += 5;
	requests = 0;
	for (unsigned i = 0; i < 50; i++)
		T_OK(kv_progress(rig.kv, watch[i].watch, liar.revision, &rig.err),
		     &rig.err);
	for (unsigned i = 0; i < 50; i++)
		while (watch[i].progress_revision < liar.revision)
			(void)uv_run(&rig.loop, UV_RUN_ONCE);
	T_TRUE(requests > 0 && requests < 10);
	for (unsigned i = 0; i < 50; i++)
		rig_unwatch(&rig, &watch[i]);
	down();
}
