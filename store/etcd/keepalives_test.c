/* Leases against a real etcd: what an answer proves, and what happens without one. */
#include <signal.h>

#include "store/base/clock.h"
#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"

static struct etcd_rig rig;

static void send_signal(unsigned member, int signum)
{
	T_OK(etcd_launch_signal(rig.launch, member, signum, &rig.err), &rig.err);
}

static int64_t grant(int64_t ttl_s)
{
	struct kv_req req = {.op = KV_LEASE_GRANT, .lease = {.ttl_s = ttl_s}};
	struct kv_result result = {0};
	uint64_t before = pl_clock_ms();

	T_OK(etcd_rig_call(&rig, &req, ETCD_RIG_TIMEOUT_MS, &result), &rig.err);
	T_TRUE(result.lease.ttl_s >= ttl_s);
	T_TRUE(result.sent_ms >= before && result.sent_ms <= pl_clock_ms());
	return result.lease.id;
}

static enum pl_code keep(int64_t lease, uint64_t timeout_ms, struct kv_result *result)
{
	struct kv_req req = {.op = KV_LEASE_KEEP, .lease = {.id = lease}};

	return etcd_rig_call(&rig, &req, timeout_ms, result);
}

T_CASE(keepalives_many_leases_alive_on_one_stream)
{
	enum { COUNT = 50 };
	struct etcd_rig_pending pending[COUNT];
	int64_t lease[COUNT];

	etcd_rig_up(&rig, NULL, NULL);
	for (unsigned i = 0; i < COUNT; i++)
		lease[i] = grant(20 + i);
	for (unsigned i = 0; i < COUNT; i++) {
		struct kv_req req = {.op = KV_LEASE_KEEP, .lease = {.id = lease[i]}};

		etcd_rig_start(&rig, &pending[i], &req, ETCD_RIG_TIMEOUT_MS);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		etcd_rig_until(&rig, &pending[i].done);
		T_CODE(pending[i].code, PL_OK, &pending[i].err);
	}
	etcd_rig_down(&rig);
}

T_CASE(reports_when_a_request_left_and_the_granted_ttl)
{
	struct kv_result result = {0};
	int64_t lease;
	uint64_t before;

	etcd_rig_up(&rig, NULL, NULL);
	lease = grant(30);
	before = pl_clock_ms();
	T_OK(keep(lease, ETCD_RIG_TIMEOUT_MS, &result), &rig.err);
	T_EQ(result.lease.id, lease);
	T_EQ(result.lease.ttl_s, 30);
	T_TRUE(result.sent_ms >= before && result.sent_ms <= pl_clock_ms());
	etcd_rig_down(&rig);
}

T_CASE(a_missing_lease_is_told_apart_from_a_silent_server)
{
	struct kv_req revoke = {.op = KV_LEASE_REVOKE};
	int64_t lease;

	etcd_rig_up(&rig, NULL, NULL);
	T_CODE(keep(4711, ETCD_RIG_TIMEOUT_MS, NULL), PL_NOLEASE, &rig.err);
	lease = grant(30);
	revoke.lease.id = lease;
	T_OK(etcd_rig_call(&rig, &revoke, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
	T_CODE(keep(lease, ETCD_RIG_TIMEOUT_MS, NULL), PL_NOLEASE, &rig.err);
	lease = grant(30);
	send_signal(0, SIGSTOP);
	T_CODE(keep(lease, 300, NULL), PL_TIMEOUT, &rig.err);
	send_signal(0, SIGCONT);
	T_OK(keep(lease, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
	etcd_rig_down(&rig);
}

T_CASE(an_answer_to_a_cancelled_keep_alive_is_not_matched_to_the_next)
{
	struct kv_req req = {.op = KV_LEASE_KEEP};
	struct kv_result result = {0};
	struct etcd_rig_pending first;
	uint64_t before;

	etcd_rig_up(&rig, NULL, NULL);
	req.lease.id = grant(30);
	T_OK(keep(req.lease.id, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
	send_signal(0, SIGSTOP);
	etcd_rig_start(&rig, &first, &req, ETCD_RIG_TIMEOUT_MS);
	etcd_rig_run_ms(&rig, 20);
	kv_cancel(rig.kv, first.call);
	etcd_rig_until(&rig, &first.done);
	T_CODE(first.code, PL_CANCELED, &first.err);
	before = pl_clock_ms();
	send_signal(0, SIGCONT);
	T_OK(keep(req.lease.id, ETCD_RIG_TIMEOUT_MS, &result), &rig.err);
	T_TRUE(result.sent_ms >= before);
	etcd_rig_down(&rig);
}

T_CASE_SECONDS(a_silent_member_is_left_for_another_within_the_deadline, 60)
{
	struct etcd_launch_opts three = {
		.members = 3, .heartbeat_ms = 20, .election_ms = 200};
	int64_t lease;

	etcd_rig_up(&rig, &three, NULL);
	lease = grant(60);
	for (unsigned member = 0; member < 3; member++) {
		T_OK(keep(lease, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
		send_signal(member, SIGSTOP);
		T_OK(keep(lease, 10000, NULL), &rig.err);
		send_signal(member, SIGCONT);
	}
	etcd_rig_down(&rig);
}

T_CASE(an_expired_lease_removes_its_keys)
{
	struct kv_req put;
	struct etcd_rig_watch watch;
	uint64_t start;

	etcd_rig_up(&rig, NULL, NULL);
	etcd_rig_watch(&rig, &watch, "l/", 0);
	put = kv_op_put_leased(PL_SPAN_LIT("l/a"), PL_SPAN_LIT("x"), grant(2));
	start = pl_clock_ms();
	T_OK(etcd_rig_call(&rig, &put, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
	etcd_rig_wait_events(&rig, &watch, 2);
	T_TRUE(pl_clock_ms() - start >= 1500); /* not before its deadline */
	T_TRUE(etcd_rig_get(&rig, "l/a") == NULL);
	etcd_rig_unwatch(&rig, &watch);
	etcd_rig_down(&rig);
}
