/* Calls that are called off, and a store that is closed with all in flight. */
#include "store/base/list.h"
#include "tests/conformance/kit.h"

enum { CALLS_MAX = 64 };

struct probe {
	struct kv_call *call;
	unsigned answers;
	enum pl_code code;
};

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct probe *probe = ctx;

	T_TRUE((result == NULL) == (err != NULL));
	probe->answers++;
	probe->code = err == NULL ? PL_OK : err->code;
}

static bool all_answered(void *ctx)
{
	const struct probe *probes = ctx;

	for (int i = 0; i < CALLS_MAX; i++)
		if (probes[i].answers == 0)
			return false;
	return true;
}

static void start_probe(struct subject *s, struct probe *probe, const struct kv_req *req)
{
	struct pl_err err;

	if (kv_start(subject_kv(s), req, SUBJECT_WAIT_MS, on_done, probe, &probe->call,
	             &err) != PL_OK)
		t_fail(__FILE__, __LINE__, "start: %s", err.msg);
	T_EQ(probe->answers, 0);
}

T_CASE(life_calls_in_flight_are_answered_in_full)
{
	struct subject *s = kit_open();
	struct probe probes[CALLS_MAX] = {0};

	for (int i = 0; i < CALLS_MAX; i++)
		start_probe(s, &probes[i], i % 2 == 0 ? &PUT("a", "1") : &GET(ONE("a")));
	T_TRUE(subject_until(s, all_answered, probes, SUBJECT_WAIT_MS));
	for (int i = 0; i < CALLS_MAX; i++) {
		T_EQ(probes[i].answers, 1);
		T_EQ(probes[i].code, PL_OK);
	}
	EXPECT(s, GET(ALL, .keys_only = true), "@32 1/1 a=(1,32,32)");
	kit_close(s);
}

T_CASE(life_canceled_reads)
{
	struct subject *s = kit_open();
	struct probe probes[CALLS_MAX] = {0};

	for (int i = 0; i < CALLS_MAX; i++) {
		start_probe(s, &probes[i], &GET(ONE("a")));
		kv_cancel(subject_kv(s), probes[i].call);
		T_EQ(probes[i].answers, 0);
	}
	T_TRUE(subject_until(s, all_answered, probes, SUBJECT_WAIT_MS));
	for (int i = 0; i < CALLS_MAX; i++) {
		T_EQ(probes[i].answers, 1);
		T_EQ(probes[i].code, PL_CANCELED);
	}
	EXPECT(s, GET(ALL), "@0 0/0");
	kit_close(s);
}

/* PL_CANCELED must be true: the write has not happened and never will. */
T_CASE(life_canceled_writes)
{
	struct subject *s = kit_open();
	struct probe probes[CALLS_MAX] = {0};
	int64_t unknown = 0, revision;
	const struct answer *answer;

	for (int i = 0; i < CALLS_MAX; i++)
		start_probe(s, &probes[i], &PUT("a", "1"));
	for (int i = 0; i < CALLS_MAX; i++)
		kv_cancel(subject_kv(s), probes[i].call);
	T_TRUE(subject_until(s, all_answered, probes, SUBJECT_WAIT_MS));
	for (int i = 0; i < CALLS_MAX; i++) {
		T_EQ(probes[i].answers, 1);
		T_TRUE(probes[i].code == PL_CANCELED || probes[i].code == PL_UNKNOWN);
		unknown += probes[i].code == PL_UNKNOWN;
	}
	answer = subject_call(s, &GET(ALL));
	revision = answer->result->header.revision - subject_names(s)->base;
	T_TRUE(revision <= unknown);
	kit_close(s);
}

T_CASE(life_closed_with_all_in_flight)
{
	struct subject *s = kit_open();
	struct probe probes[CALLS_MAX] = {0};
	struct stream *w;

	EXPECT(s, PUT("a", "1"), "@1");
	(void)kit_watch(s, &WATCH(ALL));
	w = subject_watch(s, &WATCH(ALL, .from_revision = 1));
	T_EQ(kv_progress(subject_kv(s), w->watch, 0, NULL), PL_OK);
	for (int i = 0; i < CALLS_MAX; i++)
		start_probe(s, &probes[i],
		            i % 3 == 0   ? &PUT("a", "2")
		            : i % 3 == 1 ? &GET(ALL)
		                         : &GRANT(0, 60));
	kit_close(s); /* which wants the end of every watch */
	for (int i = 0; i < CALLS_MAX; i++) {
		T_EQ(probes[i].answers, 1);
		T_TRUE(probes[i].code == PL_CANCELED || probes[i].code == PL_UNKNOWN ||
		       probes[i].code == PL_OK);
		T_TRUE(i % 3 != 1 || probes[i].code != PL_UNKNOWN);
	}
}

T_CASE(life_opened_and_closed)
{
	for (int i = 0; i < 3; i++)
		kit_close(kit_open());
}

T_CASE(life_answers_say_where_and_when)
{
	struct subject *s = kit_open();
	uint64_t before_ms = kv_now_ms(subject_kv(s));
	struct kv_header first = subject_call(s, &PUT("a", "1"))->result->header;
	const struct answer *answer = subject_call(s, &GET(ONE("a")));

	T_TRUE(first.cluster_id != 0 && first.member_id != 0 && first.raft_term != 0);
	T_TRUE(answer->result->header.cluster_id == first.cluster_id);
	T_TRUE(answer->result->header.member_id == first.member_id);
	T_EQ(answer->result->header.raft_term, first.raft_term);
	T_TRUE(answer->result->sent_ms >= before_ms);
	T_TRUE(answer->result->sent_ms <= kv_now_ms(subject_kv(s)));
	kit_close(s);
}

T_CASE(life_status)
{
	struct subject *s = kit_open();
	const struct answer *answer = subject_call(s, &STATUS);
	const struct kv_status_result *status = &answer->result->status;

	T_EQ(answer->code, PL_OK);
	T_TRUE(status->version[0] == '3' && status->version[1] == '.');
	T_TRUE(status->db_bytes >= status->db_bytes_in_use);
	T_TRUE(status->leader == answer->result->header.member_id);
	T_TRUE(status->raft_index > 0);
	T_TRUE(!status->alarm_nospace && !status->alarm_corrupt);
	kit_close(s);
}

static void on_room(void *ctx)
{
	*(unsigned *)ctx += 1;
}

static bool had_room(void *ctx)
{
	return *(unsigned *)ctx > 0;
}

T_CASE(life_room_is_reported_to_waiters)
{
	struct subject *s = kit_open();
	unsigned count = 0, other = 0;
	struct kv_waiter waiter = {.fn = on_room, .ctx = &count};
	struct kv_waiter called_off = {.fn = on_room, .ctx = &other};

	pl_list_init(&waiter.link);
	pl_list_init(&called_off.link);
	T_TRUE(kv_room(subject_kv(s)) > 0);
	kv_when_room(subject_kv(s), &waiter);
	kv_when_room(subject_kv(s), &called_off);
	pl_list_del(&called_off.link);
	T_EQ(count, 0);
	T_TRUE(subject_until(s, had_room, &count, SUBJECT_WAIT_MS));
	EXPECT(s, GET(ALL), "@0 0/0");
	T_EQ(count, 1);
	T_EQ(other, 0);
	kit_close(s);
}
