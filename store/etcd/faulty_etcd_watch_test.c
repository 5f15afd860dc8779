/* Watches and progress against a faulty etcd. */
#include "tests/support/store/etcd/faulty_etcd_rig.h"

static bool ends_streams(struct faulty_etcd *it, struct faulty_etcd_call *call,
                         struct pl_span message)
{
	(void)it;
	(void)message;
	if (is_unary(call))
		return false;
	faulty_etcd_end(call, 0, "");
	return true;
}

T_CASE(streams_that_end_at_once_are_reopened_with_pauses)
{
	struct etcd_rig_watch watch = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	rig_up(ends_streams);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	faulty.streams = 0;
	T_OK(kv_watch(rig.kv, &req, etcd_rig_on_note, &watch, &watch.watch, &rig.err),
	     &rig.err);
	T_CODE(keep_lease(1000), PL_TIMEOUT, &rig.err);
	T_TRUE(faulty.streams > 2 && faulty.streams < 60);
	T_TRUE(!watch.ended && !watch.is_ready);
	faulty.fn = NULL;
	etcd_rig_until(&rig, &watch.is_ready);
	etcd_rig_unwatch(&rig, &watch);
	check_recovered();
	rig_down();
}

static struct pl_span malformed_bytes;
static bool creates_first;

static bool malformed_watches(struct faulty_etcd *it, struct faulty_etcd_call *call,
                              struct pl_span message)
{
	(void)message;
	if (!faulty_etcd_is(call, "Watch"))
		return false;
	if (creates_first)
		faulty_etcd_send(call, faulty_etcd_created(it->revision, ++it->watch_id));
	faulty_etcd_raw(call, malformed_bytes);
	return true;
}

static void malformed_watch_case(struct pl_span bytes, bool created, enum pl_code code)
{
	struct etcd_rig_watch watch = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	malformed_bytes = bytes;
	creates_first = created;
	rig_up(malformed_watches);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	faulty.streams = 0;
	T_OK(kv_watch(rig.kv, &req, etcd_rig_on_note, &watch, &watch.watch, &rig.err),
	     &rig.err);
	etcd_rig_until(&rig, &watch.ended);
	T_CODE(watch.err.code, code, &watch.err);
	T_EQ(watch.events, 0);
	T_TRUE(faulty.streams < 40);
	check_recovered();
	rig_down();
}

T_CASE(watches_of_undecodable_messages_end)
{
	malformed_watch_case(PL_SPAN_LIT("\0\0\0\0\3\xff\xff\xff"), false, PL_PROTO);
	malformed_watch_case(PL_SPAN_LIT("\0\0\0\0\3\xff\xff\xff"), true, PL_PROTO);
}

T_CASE(watches_of_other_bytes_end)
{
	malformed_watch_case(PL_SPAN_LIT("Internal Server Error"), true, PL_PROTO);
}

T_CASE(watches_of_oversized_messages_end)
{
	malformed_watch_case(PL_SPAN_LIT("\0\xff\xff\xff\xff\x0a\x07"), true, PL_LIMIT);
}

static bool watch_is_404(struct faulty_etcd *it, struct faulty_etcd_call *call,
                         struct pl_span message)
{
	return is_unary(call) ? false : answers_404(it, call, message);
}

T_CASE(watches_of_a_web_server_end)
{
	struct etcd_rig_watch watch = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	rig_up(watch_is_404);
	T_OK(kv_watch(rig.kv, &req, etcd_rig_on_note, &watch, &watch.watch, &rig.err),
	     &rig.err);
	etcd_rig_until(&rig, &watch.ended);
	T_CODE(watch.err.code, PL_PROTO, &watch.err);
	check_recovered();
	rig_down();
}

/* All creations get the same id, and there are more answers than creations. */
static bool creates_with_equal_ids(struct faulty_etcd *it, struct faulty_etcd_call *call,
                                   struct pl_span message)
{
	(void)message;
	if (!faulty_etcd_is(call, "Watch"))
		return false;
	faulty_etcd_send(call, faulty_etcd_created(it->revision, 5));
	faulty_etcd_send(call, faulty_etcd_created(it->revision, 5));
	faulty_etcd_send(call, faulty_etcd_event(it->revision + 1, 5, "w/a"));
	return true;
}

T_CASE(unrequested_creation_answers_are_refused)
{
	static struct etcd_rig_watch watch[3];
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	memset(watch, 0, sizeof watch);
	rig_up(creates_with_equal_ids);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	faulty.streams = 0;
	for (unsigned i = 0; i < 3; i++)
		T_OK(kv_watch(rig.kv, &req, etcd_rig_on_note, &watch[i], &watch[i].watch,
		              &rig.err),
		     &rig.err);
	etcd_rig_run_ms(&rig, 500);
	T_TRUE(faulty.streams > 1 && faulty.streams < 40);
	faulty.fn = NULL;
	for (unsigned i = 0; i < 3; i++)
		if (!watch[i].ended)
			etcd_rig_unwatch(&rig, &watch[i]);
	check_recovered();
	rig_down();
}

/* Both answers are in one read: the second must not matter to a client that is closed in
 * the note of the first. */
static bool creates_and_says_version(struct faulty_etcd *it,
                                     struct faulty_etcd_call *call,
                                     struct pl_span message)
{
	static struct faulty_etcd_call *watching;

	(void)message;
	if (faulty_etcd_is(call, "Watch")) {
		watching = call;
		return true;
	}
	if (!faulty_etcd_is(call, "Status"))
		return false;
	if (watching != NULL)
		faulty_etcd_send(watching, faulty_etcd_created(it->revision, 1));
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

T_CASE(a_client_can_be_closed_inside_a_note)
{
	struct closer closer = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};
	struct kv_watch *watch;

	rig_up(creates_and_says_version);
	T_OK(kv_watch(rig.kv, &req, closes_in_note, &closer, &watch, &rig.err), &rig.err);
	etcd_rig_until(&rig, &closer.closed);
	T_TRUE(closer.ended);
	rig.kv = NULL;
	rig_down();
}

static unsigned cancels_seen;

static bool counts_cancels(struct faulty_etcd *it, struct faulty_etcd_call *call,
                           struct pl_span message)
{
	(void)it;
	if (faulty_etcd_is(call, "Watch") && message.len != 0 && message.at[0] == 0x12)
		cancels_seen++;
	return false;
}

T_CASE(a_cancelled_watch_is_cancelled_on_the_server)
{
	struct etcd_rig_watch watch;

	rig_up(counts_cancels);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	etcd_rig_watch(&rig, &watch, "w/", 0);
	faulty.revision -= 50; /* the store is rewound */
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	etcd_rig_until(&rig, &watch.ended);
	T_CODE(watch.err.code, PL_REWOUND, &watch.err);
	etcd_rig_run_ms(&rig, 50);
	T_EQ(cancels_seen, 1);
	check_recovered();
	rig_down();
}

/* -- progress -------------------------------------------------------------- */

static struct faulty_etcd_call *held;

static bool holds_the_first_read(struct faulty_etcd *it, struct faulty_etcd_call *call,
                                 struct pl_span message)
{
	(void)it;
	if (!faulty_etcd_is(call, "Range") || held != NULL || message.len == 0)
		return false;
	held = call;
	return true;
}

T_CASE(progress_is_not_older_than_its_request)
{
	struct etcd_rig_watch watch;

	rig_up(NULL);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	etcd_rig_watch(&rig, &watch, "w/", 0);
	faulty.fn = holds_the_first_read;
	T_OK(kv_progress(rig.kv, watch.watch, 0, &rig.err), &rig.err);
	while (held == NULL)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	/* The first read's answer is on its way and does not cover these. */
	faulty_etcd_send(held, faulty_etcd_header(faulty.revision));
	faulty_etcd_end(held, 0, "");
	faulty.revision += 5;
	T_OK(kv_progress(rig.kv, watch.watch, 0, &rig.err), &rig.err);
	faulty_etcd_flush(&faulty);
	while (watch.progress_revision < faulty.revision)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	etcd_rig_unwatch(&rig, &watch);
	rig_down();
}

static unsigned requests;

static bool counts_requests(struct faulty_etcd *it, struct faulty_etcd_call *call,
                            struct pl_span message)
{
	static const uint8_t progress_request = 3 << 3 | 2;

	(void)it;
	requests += faulty_etcd_is(call, "Watch") && message.len > 0 &&
	            message.at[0] == progress_request;
	return false;
}

T_CASE(concurrent_progress_requests_ask_once)
{
	static struct etcd_rig_watch watch[50];

	rig_up(NULL);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	for (unsigned i = 0; i < 50; i++)
		etcd_rig_watch(&rig, &watch[i], "w/", 0);
	while (!kv_limits(rig.kv).progress) /* until the version is known */
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	faulty.fn = counts_requests;
	faulty.revision += 5;
	requests = 0;
	for (unsigned i = 0; i < 50; i++)
		T_OK(kv_progress(rig.kv, watch[i].watch, faulty.revision, &rig.err),
		     &rig.err);
	for (unsigned i = 0; i < 50; i++)
		while (watch[i].progress_revision < faulty.revision)
			(void)uv_run(&rig.loop, UV_RUN_ONCE);
	T_TRUE(requests > 0 && requests < 10);
	for (unsigned i = 0; i < 50; i++)
		etcd_rig_unwatch(&rig, &watch[i]);
	rig_down();
}

/* A server that was restarted and has lost the first token refuses what was opened with
 * it, and leaves the stream of the watches open, as etcd does. */
static bool knows_token(const struct faulty_etcd_call *call)
{
	return strcmp(faulty_etcd_token(call), "token.1") != 0;
}

static unsigned refused_creations;

static bool forgot_first_token(struct faulty_etcd *it, struct faulty_etcd_call *call,
                               struct pl_span message)
{
	if (faulty_etcd_is(call, "Authenticate") || faulty_etcd_is(call, "Status") ||
	    knows_token(call))
		return false;
	if (faulty_etcd_is(call, "Txn"))
		return false; /* etcd counts the operations first */
	if (faulty_etcd_is(call, "Watch")) {
		if (message.len != 0 && message.at[0] == 0x0a) { /* a creation */
			refused_creations++;
			faulty_etcd_send(
				call,
				faulty_etcd_refused(it->revision,
			                            "rpc error: code = Unauthenticated "
			                            "desc = etcdserver: invalid auth "
			                            "token"));
		}
		return true;
	}
	faulty_etcd_end(call, 16, "etcdserver: invalid auth token");
	return true;
}

static const struct etcd_opts as_ann = {.user = "ann", .password = "pass"};

/* The stream reconnects with the old token before a call learns that it is invalid: the
 * call's new token must reach the stream at once. */
T_CASE(a_watch_stream_with_an_outdated_token_is_replaced_at_once)
{
	static struct etcd_rig_watch watch[3];
	struct kv_watch_req late = {.keys = kv_prefix(PL_SPAN_LIT("v/"))};

	memset(watch, 0, sizeof watch);
	refused_creations = 0;
	rig_up_with(NULL, &as_ann);
	for (unsigned i = 0; i < 2; i++)
		etcd_rig_watch(&rig, &watch[i], "w/", 0);
	T_EQ(faulty.tokens, 1);
	/* A call renews the token; the stream that was opened with the first one stays.
	 */
	faulty.fn = forgot_first_token;
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	T_EQ(faulty.tokens, 2);
	T_OK(kv_watch(rig.kv, &late, etcd_rig_on_note, &watch[2], &watch[2].watch,
	              &rig.err),
	     &rig.err);
	etcd_rig_until(&rig, &watch[2].is_ready);
	T_EQ(refused_creations, 1);
	T_EQ(faulty.tokens, 2);
	/* The watches of the old stream are on the new one. */
	T_EQ(etcd_stats(rig.kv).watch_resumes, 2);
	for (unsigned i = 0; i < 3; i++)
		etcd_rig_unwatch(&rig, &watch[i]);
	check_recovered();
	rig_down();
}

/* No call has found out: the refused creation itself requests the new token. */
T_CASE(a_watch_stream_with_a_refused_token_gets_a_new_one)
{
	struct etcd_rig_watch watch = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	refused_creations = 0;
	rig_up_with(NULL, &as_ann);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	T_EQ(faulty.tokens, 1);
	faulty.fn = forgot_first_token;
	T_OK(kv_watch(rig.kv, &req, etcd_rig_on_note, &watch, &watch.watch, &rig.err),
	     &rig.err);
	etcd_rig_until(&rig, &watch.is_ready);
	T_EQ(refused_creations, 1);
	T_EQ(faulty.tokens, 2);
	etcd_rig_unwatch(&rig, &watch);
	check_recovered();
	rig_down();
}

/* Every token is refused, new ones too: the client keeps asking, with pauses. */
static bool refuses_all_tokens(struct faulty_etcd *it, struct faulty_etcd_call *call,
                               struct pl_span message)
{
	if (!faulty_etcd_is(call, "Watch"))
		return false;
	if (message.len != 0 && message.at[0] == 0x0a) {
		refused_creations++;
		faulty_etcd_send(call,
		                 faulty_etcd_refused(it->revision,
		                                     "etcdserver: invalid auth token"));
	}
	return true;
}

T_CASE(refused_tokens_are_requested_again_with_pauses)
{
	struct etcd_rig_watch watch = {0};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	refused_creations = 0;
	rig_up_with(refuses_all_tokens, &as_ann);
	T_OK(kv_watch(rig.kv, &req, etcd_rig_on_note, &watch, &watch.watch, &rig.err),
	     &rig.err);
	etcd_rig_run_ms(&rig, 1000);
	T_TRUE(refused_creations > 2 && refused_creations < 40);
	T_TRUE(faulty.tokens < 40);
	T_TRUE(!watch.ended && !watch.is_ready);
	faulty.fn = NULL;
	etcd_rig_until(&rig, &watch.is_ready);
	etcd_rig_unwatch(&rig, &watch);
	check_recovered();
	rig_down();
}

/* A keep-alive stream is refused by ending it, so the next one has the token of that
 * time. */
T_CASE(keepalives_continue_with_the_newer_token)
{
	rig_up_with(NULL, &as_ann);
	T_OK(keep_lease(ETCD_RIG_TIMEOUT_MS), &rig.err);
	faulty.fn = forgot_first_token;
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	T_EQ(faulty.tokens, 2);
	T_OK(keep_lease(ETCD_RIG_TIMEOUT_MS), &rig.err);
	T_EQ(faulty.tokens, 2);
	check_recovered();
	rig_down();
}

/* A member that does not know the token and issues no other, because it is cut off. */
static bool knows_no_token(struct faulty_etcd *it, struct faulty_etcd_call *call,
                           struct pl_span message)
{
	(void)message;
	if (faulty_etcd_is(call, "Authenticate"))
		return it->tokens > 0; /* silent after the first one */
	if (!faulty_etcd_is(call, "Range"))
		return false;
	faulty_etcd_end(call, 16, "etcdserver: invalid auth token");
	return true;
}

T_CASE(a_call_without_a_valid_token_times_out)
{
	rig_up_with(knows_no_token, &as_ann);
	T_CODE(read_key(600), PL_TIMEOUT, &rig.err);
	T_TRUE(strstr(rig.err.msg, "no token") != NULL);
	check_recovered();
	rig_down();
}
