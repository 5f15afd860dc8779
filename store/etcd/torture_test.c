/* Makes each allocation, read, write and connection fail in turn: each call ends once, a
 * write reports its outcome, and the client keeps working. */
#include "store/base/fault.h"
#include "tests/support/store/etcd/faulty_etcd_rig.h"

static unsigned puts_seen;

static bool counts_puts(struct faulty_etcd *it, struct faulty_etcd_call *call,
                        struct pl_span message)
{
	(void)it;
	(void)message;
	puts_seen += faulty_etcd_is(call, "Put");
	return false;
}

/* The reported outcome of the write agrees with what the server saw. */
static void put_check(enum pl_code code)
{
	T_TRUE(puts_seen <= 1);
	if (code == PL_OK)
		T_EQ(puts_seen, 1);
	else if (code != PL_UNKNOWN)
		T_EQ(puts_seen, 0);
}

static void start_all(struct etcd_rig_watch *watch)
{
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("w/"))};

	*watch = (struct etcd_rig_watch){.ended = true};
	if (kv_watch(rig.kv, &req, etcd_rig_on_note, watch, &watch->watch, NULL) == PL_OK)
		watch->ended = false;
	puts_seen = 0;
	put_check(write_key(ETCD_RIG_TIMEOUT_MS));
	(void)read_key(ETCD_RIG_TIMEOUT_MS);
	(void)keep_lease(ETCD_RIG_TIMEOUT_MS);
}

static void progress_all(struct etcd_rig_watch *watch)
{
	if (watch->ended)
		return;
	etcd_rig_until(&rig, &watch->is_ready);
	if (!watch->ended && kv_progress(rig.kv, watch->watch, 0, NULL) == PL_OK)
		etcd_rig_until(&rig, &watch->has_progress);
	(void)read_key(ETCD_RIG_TIMEOUT_MS);
	(void)keep_lease(ETCD_RIG_TIMEOUT_MS);
}

static void still_works(void)
{
	T_OK(write_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	T_OK(read_key(ETCD_RIG_TIMEOUT_MS), &rig.err);
	T_OK(keep_lease(ETCD_RIG_TIMEOUT_MS), &rig.err);
}

/* False: the fault was not reached any more. */
static bool round_of(enum pl_fault point, uint64_t nth, const char *user)
{
	struct etcd_opts opts = {.endpoints = faulty.endpoint,
	                         .seed = nth,
	                         .user = user,
	                         .password = user};
	struct etcd_rig_watch watch = {0};
	bool fired = true;

	pl_fault_arm(point, nth);
	if (etcd_open(&rig.loop, &opts, &rig.kv, &rig.err) == PL_OK) {
		start_all(&watch);
		progress_all(&watch);
		fired = pl_fault_fired(point);
		pl_fault_reset();
		still_works();
		etcd_rig_close(&rig, rig.kv);
		T_TRUE(watch.ended);
		rig.kv = NULL;
	} else {
		T_EQ(rig.err.code, PL_NOMEM);
		rig.kv = NULL;
	}
	pl_fault_reset();
	return fired;
}

static void torture(enum pl_fault point, const char *user, uint64_t least)
{
	uint64_t nth = 1;

	rig_up(counts_puts);
	etcd_rig_close(&rig, rig.kv);
	rig.kv = NULL;
	while (round_of(point, nth, user))
		nth++;
	T_TRUE(nth > least);
	rig_down();
}

T_CASE_SECONDS(each_allocation_fails, 120)
{
	torture(PL_FAULT_ALLOC, NULL, 100);
}

T_CASE_SECONDS(each_allocation_fails_with_a_user, 120)
{
	torture(PL_FAULT_ALLOC, "ann", 100);
}

T_CASE_SECONDS(each_read_fails, 60)
{
	torture(PL_FAULT_NET_READ, "ann", 5);
}

T_CASE_SECONDS(each_write_fails, 60)
{
	torture(PL_FAULT_NET_WRITE, "ann", 5);
}

T_CASE_SECONDS(each_connection_fails, 60)
{
	torture(PL_FAULT_NET_CONNECT, "ann", 2);
}
