#include "shardsched/records/pod_state.h"
#include "store/base/rng.h"
#include "tests/harness/torture.h"

#define L(text) PL_SPAN_LIT(text)

static const char bound[] =
	"{\"v\":1,\"uid\":\"7c6e1c52-9f2e\",\"phase\":\"Bound\",\"cluster\":\"east\","
	"\"node\":\"n-7\",\"shard\":\"east-0\",\"epoch\":\"123\",\"attempts\":1,"
	"\"since\":\"2026-11-21T09:00:00.000Z\"}";
static const char pending[] =
	"{\"v\":1,\"phase\":\"Pending\",\"attempts\":4,\"reason\":\"fit.cpu\","
	"\"message\":\"12 nodes \\\"lack\\\" 2 cpu\","
	"\"since\":\"2026-11-21T09:00:00.001Z\"}";

static const char leaving[] =
	"{\"v\":1,\"phase\":\"Terminating\",\"ask\":\"evict\",\"ended\":\"Gone\","
	"\"next\":\"Pending\",\"cluster\":\"east\",\"node\":\"n-7\","
	"\"since\":\"2026-11-21T09:00:00.000Z\"}";

static const char nominated[] =
	"{\"v\":1,\"phase\":\"Pending\",\"nominated\":{\"cluster\":\"east\",\"node\":"
	"\"n-7\"},\"shard\":\"east-0\",\"epoch\":\"12\",\"reason\":\"preempting\","
	"\"since\":\"2026-11-21T09:00:00.000Z\"}";

static struct pl_arena arena;
static struct pl_buf buf;

static void up(void)
{
	pl_arena_init(&arena, 65536, 0);
	pl_buf_init(&buf, STATE_BYTES_MAX);
}

static void down(void)
{
	pl_buf_done(&buf);
	pl_arena_done(&arena);
}

static enum pl_code parse(struct pl_span text, struct pod_state *out)
{
	struct pl_err err = {0};
	enum pl_code code = state_parse(text, &arena, out, &err);

	T_EQ(err.code, code);
	return code;
}

static struct pl_span print(const struct pod_state *state)
{
	struct pl_err err = {0};

	buf.len = 0;
	T_OK(state_print(state, &buf, &err), &err);
	return pl_buf_span(&buf);
}

T_CASE(states_are_printed_as_they_were_read)
{
	struct pod_state state;

	up();
	T_EQ(parse(pl_span_str(bound), &state), PL_OK);
	T_EQ(state.phase, STATE_BOUND);
	T_TRUE(state_has_place(&state));
	T_SPAN(state.node, L("n-7"));
	T_EQ(state.epoch, 123);
	T_EQ(state.attempts, 1);
	T_EQ(state.since_ms, 1795251600000);
	T_SPAN(print(&state), pl_span_str(bound));
	T_EQ(parse(pl_span_str(pending), &state), PL_OK);
	T_TRUE(!state_has_place(&state));
	T_SPAN(state.message, L("12 nodes \"lack\" 2 cpu"));
	T_SPAN(print(&state), pl_span_str(pending));
	T_EQ(parse(pl_span_str(leaving), &state), PL_OK);
	T_EQ(state.ask, STATE_ASK_EVICT);
	T_EQ(state.ended, STATE_ENDED_GONE);
	T_TRUE(state.next_pending);
	T_SPAN(print(&state), pl_span_str(leaving));
	T_EQ(parse(pl_span_str(nominated), &state), PL_OK);
	T_TRUE(!state_has_place(&state));
	T_SPAN(state.nominated_cluster, L("east"));
	T_SPAN(state.nominated_node, L("n-7"));
	T_SPAN(print(&state), pl_span_str(nominated));
	down();
}

T_CASE(shortest_state_and_unknown_members_are_read)
{
	struct pod_state state = {0};

	up();
	T_SPAN(print(&state), L("{\"v\":1,\"phase\":\"Pending\",\"since\":"
	                        "\"1970-01-01T00:00:00.000Z\"}"));
	T_EQ(parse(L("{\"phase\":\"Pending\",\"later\":{\"a\":[]},\"epoch\":5,\"v\":1,"
	             "\"since\":\"1970-01-01T00:00:00.000Z\"}"),
	           &state),
	     PL_OK);
	T_EQ(state.epoch, 5);
	down();
}

static const struct {
	const char *text, *says;
} refused[] = {
	{"{}", "v: missing"},
	{"{\"v\":\"2\"}", "v: want 1"},
	{"{\"v\":1}", "phase: missing"},
	{"{\"v\":1,\"phase\":\"Lost\"}", "phase: no pod"},
	{"{\"v\":1,\"phase\":\"Pending\"}", "since: missing"},
	{"{\"v\":1,\"phase\":\"Pending\",\"since\":\"now\"}", "since: "},
	{"{\"v\":1,\"phase\":\"Pending\",\"node\":\"N\",\"since\":\"\"}", "node: node"},
	{"{\"v\":1,\"phase\":\"Pending\",\"shard\":\"a/b\"}", "shard: shard"},
	{"{\"v\":1,\"phase\":\"Pending\",\"epoch\":-1}", "epoch: "},
	{"{\"v\":1,\"phase\":\"Pending\",\"attempts\":4294967296}", "attempts: "},
	{"{\"v\":1,\"phase\":\"Pending\",\"uid\":1}", "uid: want a string"},
	{"{\"v\":1,\"phase\":\"Pending\",\"cluster\":\"a\",\"node\":\"b\","
         "\"since\":\"1970-01-01T00:00:00.000Z\"}",
         "document: want no node"},
	{"{\"v\":1,\"phase\":\"Bound\",\"since\":\"1970-01-01T00:00:00.000Z\"}",
         "document: want a node"},
	{"{\"v\":1,\"phase\":\"Terminating\",\"since\":\"1970-01-01T00:00:00.000Z\"}",
         "document: want a node"},
	{"{\"v\":1,\"phase\":\"Pending\",\"ask\":\"kill\"}", "ask: no pod"},
	{"{\"v\":1,\"phase\":\"Bound\",\"ended\":\"Pending\"}", "ended: no pod"},
	{"{\"v\":1,\"phase\":\"Bound\",\"next\":\"Bound\"}", "next: no pod"},
	{"{\"v\":1,\"phase\":\"Bound\",\"next\":7}", "next: want a string"},
	{"{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"a\",\"node\":\"b\",\"next\":"
         "\"Pending\",\"since\":\"1970-01-01T00:00:00.000Z\"}",
         "document: want no next"},
	{"{\"v\":1,\"phase\":\"Pending\",\"ended\":\"Gone\","
         "\"since\":\"1970-01-01T00:00:00.000Z\"}",
         "document: what has no place"},
	{"{\"v\":1,\"phase\":\"Pending\",\"nominated\":\"b\","
         "\"since\":\"1970-01-01T00:00:00.000Z\"}",
         "nominated: want an object"},
	{"{\"v\":1,\"phase\":\"Pending\",\"nominated\":{\"node\":\"B/\"},"
         "\"since\":\"1970-01-01T00:00:00.000Z\"}",
         "nominated.node: node"},
	{"{\"v\":1,\"phase\":\"Pending\",\"nominated\":{},"
         "\"since\":\"1970-01-01T00:00:00.000Z\"}",
         "nominated: want cluster and node"},
	{"{\"v\":1,\"phase\":\"Pending\",\"nominated\":{\"node\":\"b\"},"
         "\"since\":\"1970-01-01T00:00:00.000Z\"}",
         "nominated: want cluster and node"},
	{"{\"v\":1,\"phase\":\"Failed\",\"nominated\":{\"cluster\":\"a\",\"node\":"
         "\"b\"},\"since\":\"1970-01-01T00:00:00.000Z\"}",
         "document: want nothing nominated"},
	{"{\"v\":1,\"phase\":\"Failed\",\"node\":\"b\","
         "\"since\":\"1970-01-01T00:00:00.000Z\"}",
         "document: want cluster and node"},
};

T_CASE(malformed_value_is_refused_with_the_path)
{
	for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct pod_state state = {.attempts = 99};
		struct pl_err err = {0};

		up();
		T_EQ(parse(pl_span_str(refused[i].text), &state), PL_INVALID);
		T_EQ(state.attempts, 99);
		(void)!state_parse(pl_span_str(refused[i].text), &arena, &state, &err);
		if (strstr(err.msg, refused[i].says) == NULL)
			t_fail(__FILE__, __LINE__, "%s: '%s', want '%s'", refused[i].text,
			       err.msg, refused[i].says);
		down();
	}
}

T_CASE(impossible_state_is_not_printed)
{
	const struct pod_state bad[] = {
		{.phase = STATE_BOUND},
		{.phase = STATE_PENDING, .cluster = L("a"), .node = L("b")},
		{.phase = STATE_FAILED, .cluster = L("a")},
		{.phase = STATE_BOUND, .cluster = L("a\""), .node = L("b")},
		{.phase = STATE_BOUND, .cluster = L("a"), .node = L("b c")},
		{.next_pending = true},
		{.nominated_node = L("b")},
		{.nominated_cluster = L("a")},
		{.phase = STATE_SUCCEEDED,
	         .nominated_cluster = L("a"),
	         .nominated_node = L("b")},
		{.ended = STATE_ENDED_FAILED},
		{.phase = STATE_SUCCEEDED, .ended = STATE_ENDED_SUCCEEDED},
		{.shard = L("A")},
		{.epoch = -1},
		{.since_ms = -1},
	};

	up();
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		T_CODE(state_print(&bad[i], &buf, NULL), PL_INVALID, NULL);
		T_EQ(buf.len, 0);
	}
	down();
}

T_CASE(long_messages_are_cut_between_characters)
{
	char text[STATE_MESSAGE_MAX + 10];
	struct pod_state state = {.message = {(const uint8_t *)text, sizeof text}}, again;

	up();
	memset(text, 'x', sizeof text);
	T_EQ(parse(print(&state), &again), PL_OK);
	T_EQ(again.message.len, STATE_MESSAGE_MAX);
	text[STATE_MESSAGE_MAX - 1] = (char)0xc3;
	text[STATE_MESSAGE_MAX] = (char)0xa9;
	T_EQ(parse(print(&state), &again), PL_OK);
	T_EQ(again.message.len, STATE_MESSAGE_MAX - 1);
	memset(text, 0xff, sizeof text);
	T_EQ(parse(print(&state), &again), PL_OK);
	T_EQ(again.message.len, STATE_MESSAGE_MAX / 3 * 3);
	memset(text, 1, sizeof text);
	T_EQ(parse(print(&state), &again), PL_OK);
	T_EQ(again.message.len, STATE_MESSAGE_MAX);
	state.uid = pl_span(text, STATE_WORD_MAX + 1);
	T_EQ(state_print(&state, &buf, NULL), PL_LIMIT);
	down();
}

static struct pl_span some_text(struct pl_rng *rng, size_t most)
{
	static const char from[] = "abc019 -.\"\\\n/";
	size_t len = pl_rng_below(rng, most);
	char *text = pl_arena_alloc(&arena, len + 1);

	for (size_t i = 0; i < len; i++)
		text[i] = from[pl_rng_below(rng, sizeof from - 1)];
	return pl_span(text, len);
}

static struct pl_span some_name(struct pl_rng *rng)
{
	return pl_span_str(pl_arena_printf(&arena, "n%u-x", (unsigned)pl_rng_next(rng)));
}

T_CASE(printed_value_is_read_back_equal)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	up();
	for (unsigned i = 0; i < 3000; i++) {
		struct pod_state state = {
			.phase = (enum state_phase)pl_rng_below(&rng, STATE_PHASES),
			.uid = some_text(&rng, 40),
			.shard = pl_rng_below(&rng, 2) ? some_name(&rng) : L(""),
			.epoch = (int64_t)(pl_rng_next(&rng) >> pl_rng_below(&rng, 64) >>
		                           1),
			.attempts = (uint32_t)pl_rng_below(&rng, 3),
			.reason = some_text(&rng, 20),
			.message = some_text(&rng, 200),
			.since_ms = (int64_t)pl_rng_below(&rng, 253402300800000)};
		struct pod_state again;
		struct pl_span text;

		state.ask = (enum state_ask)pl_rng_below(&rng, STATE_ASKS);
		if (state_has_place(&state))
			state.ended = (enum state_ended)pl_rng_below(&rng, STATE_ENDEDS);
		if (state.phase == STATE_TERMINATING)
			state.next_pending = pl_rng_below(&rng, 2) == 0;
		if (state.ask == STATE_ASK_DELETE)
			state.awaits_finalizers = pl_rng_below(&rng, 2) == 0;
		if (state.phase != STATE_PENDING) {
			state.cluster = some_name(&rng);
			state.node = some_name(&rng);
		} else if (pl_rng_below(&rng, 2) == 0) {
			state.nominated_cluster = some_name(&rng);
			state.nominated_node = some_name(&rng);
		}
		text = pl_arena_dup(&arena, print(&state));
		T_EQ(parse(text, &again), PL_OK);
		T_EQ(again.phase, state.phase);
		T_EQ(again.ask, state.ask);
		T_EQ(again.ended, state.ended);
		T_EQ(again.next_pending, state.next_pending);
		T_EQ(again.awaits_finalizers, state.awaits_finalizers);
		T_SPAN(again.uid, state.uid);
		T_SPAN(again.cluster, state.cluster);
		T_SPAN(again.node, state.node);
		T_SPAN(again.nominated_cluster, state.nominated_cluster);
		T_SPAN(again.nominated_node, state.nominated_node);
		T_SPAN(again.shard, state.shard);
		T_EQ(again.epoch, state.epoch);
		T_EQ(again.attempts, state.attempts);
		T_SPAN(again.reason, state.reason);
		T_SPAN(again.message, state.message);
		T_EQ(again.since_ms, state.since_ms);
		T_SPAN(print(&again), text);
		pl_arena_reset(&arena);
	}
	down();
}

/* Bound, Terminating, Terminating with next Pending. */
static const struct {
	enum state_ask ask;
	enum state_ended ended;
	enum state_transition follows[3];
} ends[] = {
#define ROW(ask, ended, a, b, c) \
	{STATE_ASK_##ask,        \
	 STATE_ENDED_##ended,    \
	 {STATE_TRANSITION_##a, STATE_TRANSITION_##b, STATE_TRANSITION_##c}},
	ROW(NONE, NOT, NONE, NONE, NONE) ROW(DELETE, NOT, TERMINATE, NONE,
                                             NONE) ROW(EVICT, NOT, TERMINATE, NONE, NONE)
		ROW(NONE, SUCCEEDED, FINISH, REMOVE,
                    FINISH) ROW(NONE, FAILED, FINISH, REMOVE,
                                PENDING) ROW(NONE, GONE, PENDING, REMOVE, PENDING)
			ROW(DELETE, SUCCEEDED, REMOVE, REMOVE,
                            REMOVE) ROW(DELETE, FAILED, REMOVE, REMOVE,
                                        REMOVE) ROW(DELETE, GONE, REMOVE, REMOVE, REMOVE)
				ROW(EVICT, SUCCEEDED, FINISH, REMOVE, FINISH)
					ROW(EVICT, FAILED, FINISH, REMOVE, PENDING)
						ROW(EVICT, GONE, PENDING, REMOVE, PENDING)
#undef ROW
};

T_CASE(transition_follows_from_ask_and_ended)
{
	for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		struct pod_state state = {
			.phase = STATE_BOUND, .ask = ends[i].ask, .ended = ends[i].ended};

		T_EQ(state_transition(&state), ends[i].follows[0]);
		state.phase = STATE_TERMINATING;
		T_EQ(state_transition(&state), ends[i].follows[1]);
		state.next_pending = true;
		T_EQ(state_transition(&state), ends[i].follows[2]);
	}
	T_EQ(state_transition(&(struct pod_state){.phase = STATE_PENDING,
	                                          .ask = STATE_ASK_DELETE}),
	     STATE_TRANSITION_REMOVE);
	T_EQ(state_transition(
		     &(struct pod_state){.phase = STATE_FAILED, .ask = STATE_ASK_EVICT}),
	     STATE_TRANSITION_NONE);
}

/* The place is given back, and the keys stay. */
T_CASE(finalizers_keep_the_keys_and_nothing_else)
{
	struct pod_state state = {
		.phase = STATE_BOUND, .ask = STATE_ASK_DELETE, .awaits_finalizers = true};

	T_EQ(state_transition(&state), STATE_TRANSITION_TERMINATE);
	for (unsigned phase = STATE_BOUND; phase <= STATE_TERMINATING; phase++)
		for (unsigned ended = STATE_ENDED_SUCCEEDED; ended < STATE_ENDEDS;
		     ended++) {
			state.phase = (enum state_phase)phase;
			state.ended = (enum state_ended)ended;
			T_EQ(state_transition(&state), STATE_TRANSITION_FINISH);
			state.next_pending = phase == STATE_TERMINATING;
			T_EQ(state_transition(&state), STATE_TRANSITION_FINISH);
			state.next_pending = false;
		}
	state.ended = STATE_ENDED_NOT;
	T_EQ(state_transition(&state), STATE_TRANSITION_NONE);
	state.phase = STATE_PENDING;
	T_EQ(state_transition(&state), STATE_TRANSITION_NONE);
	state.phase = STATE_FAILED;
	T_EQ(state_transition(&state), STATE_TRANSITION_NONE);
}

static enum pl_code torture(void)
{
	struct pod_state state;
	enum pl_code code;

	pl_arena_init(&arena, 64, 0);
	pl_buf_init(&buf, STATE_BYTES_MAX);
	code = state_parse(pl_span_str(pending), &arena, &state, NULL);
	if (code == PL_OK)
		code = state_print(&state, &buf, NULL);
	down();
	return code;
}

T_CASE(failed_allocation_is_reported)
{
	t_torture(torture, false);
}
