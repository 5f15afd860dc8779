#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct kit_watch watch[3];

#define KEY(text) kv_key(PL_SPAN_LIT(text))
#define S(text) PL_SPAN_LIT(text)

T_CASE(revisions_count_writes_that_change_something)
{
	const struct kv_record *record;

	kit_open(&kit, NULL);
	T_EQ(kit_get_at(&kit, kv_all_keys(), 0), PL_OK);
	T_EQ(kit.result.header.revision, 1);
	T_EQ(kit_put(&kit, "a", "1"), 2);
	T_EQ(kit_put(&kit, "a", "1"), 3);
	T_EQ(kit_delete(&kit, KEY("b")), 0);
	T_EQ(kit.result.header.revision, 3);
	T_EQ(kit_get_at(&kit, KEY("a"), 0), PL_OK);
	record = kit.result.get.records;
	T_EQ(record->version, 2);
	T_EQ(record->create_revision, 2);
	T_EQ(record->mod_revision, 3);
	T_EQ(kit_delete(&kit, KEY("a")), 1);
	T_EQ(kit.result.header.revision, 4);
	T_EQ(kit_put(&kit, "a", "3"), 5);
	T_EQ(kit_get_at(&kit, KEY("a"), 0), PL_OK);
	record = kit.result.get.records;
	T_EQ(record->version, 1);
	T_EQ(record->create_revision, 5);
	kit_close(&kit);
}

T_CASE(past_revisions_can_be_read_until_compaction)
{
	kit_open(&kit, NULL);
	(void)kit_put(&kit, "a", "1");            /* 2 */
	(void)kit_put(&kit, "b", "1");            /* 3 */
	(void)kit_put(&kit, "a", "2");            /* 4 */
	(void)kit_delete(&kit, kv_prefix(S(""))); /* 5 */
	(void)kit_put(&kit, "a", "3");            /* 6 */
	T_EQ(kit_get_at(&kit, kv_all_keys(), 3), PL_OK);
	T_STR(kit_show(&kit), "a=1 b=1");
	T_EQ(kit.result.header.revision, 6);
	T_EQ(kit_get_at(&kit, kv_all_keys(), 5), PL_OK);
	T_STR(kit_show(&kit), "");
	T_EQ(kit_get_at(&kit, KEY("a"), 7), PL_FUTURE);
	T_EQ(kit_compact(&kit, 7), PL_FUTURE);
	T_EQ(kit_compact(&kit, 4), PL_OK);
	T_EQ(kit_compact(&kit, 4), PL_COMPACTED);
	T_EQ(kit_compact(&kit, 3), PL_COMPACTED);
	T_EQ(kit_get_at(&kit, kv_all_keys(), 3), PL_COMPACTED);
	T_EQ(kit_get_at(&kit, kv_all_keys(), 4), PL_OK);
	T_STR(kit_show(&kit), "a=2 b=1");
	T_EQ(kit_compact(&kit, 6), PL_OK);
	T_EQ(kit_get_at(&kit, kv_all_keys(), 6), PL_OK);
	T_STR(kit_show(&kit), "a=3");
	kit_close(&kit);
}

T_CASE(limits_and_counts_of_a_range)
{
	struct kv_req req = kv_op_get(kv_prefix(S("k")));

	kit_open(&kit, NULL);
	for (int i = 0; i < 5; i++)
		(void)kit_put(&kit, (const char *[]){"k0", "k1", "k2", "k3", "l"}[i],
		              "v");
	req.get.limit = 3;
	T_EQ(kit_call(&kit, &req), PL_OK);
	T_STR(kit_show(&kit), "k0=v k1=v k2=v");
	T_EQ(kit.result.get.total, 4);
	T_TRUE(kit.result.get.more);
	req.get.limit = 4;
	T_EQ(kit_call(&kit, &req), PL_OK);
	T_TRUE(!kit.result.get.more);
	req.get.count_only = true;
	T_EQ(kit_call(&kit, &req), PL_OK);
	T_EQ(kit.result.get.count, 0);
	T_EQ(kit.result.get.total, 4);
	T_TRUE(!kit.result.get.more);
	req = kv_op_get(kv_range(S("k1"), S("k3")));
	req.get.keys_only = true;
	T_EQ(kit_call(&kit, &req), PL_OK);
	T_STR(kit_show(&kit), "k1= k2=");
	T_EQ(kit_get_at(&kit, kv_from(S("k3")), 0), PL_OK);
	T_STR(kit_show(&kit), "k3=v l=v");
	T_EQ(kit_get_at(&kit, kv_range(S("z"), S("a")), 0), PL_OK);
	T_EQ(kit.result.get.total, 0);
	kit_close(&kit);
}

T_CASE(a_watch_sees_whole_revisions_in_order)
{
	struct kv_req ops[] = {kv_op_put(S("b"), S("2")), kv_op_delete(KEY("a")),
	                       kv_op_put(S("c"), S("2"))};
	struct kv_req txn = {.op = KV_TXN, .txn = {.then = ops, .then_count = 3}};

	kit_open(&kit, NULL);
	T_EQ(kit_watch(&kit, &watch[0],
	               &(struct kv_watch_req){.keys = kv_all_keys(), .want_prev = true}),
	     PL_OK);
	T_EQ(kit_watch(&kit, &watch[1],
	               &(struct kv_watch_req){.keys = KEY("a"), .no_puts = true}),
	     PL_OK);
	(void)kit_put(&kit, "a", "1");
	T_EQ(kit_call(&kit, &txn), PL_OK);
	T_EQ(kit.result.header.revision, 3);
	T_STR(kit_told(&watch[0]), "ready@1 put a=1@2 put b=2+del a(1)+put c=2@3");
	T_STR(kit_told(&watch[1]), "ready@1 del a@3");
	T_EQ(kit_watch(
		     &kit, &watch[2],
		     &(struct kv_watch_req){.keys = kv_from(S("b")), .from_revision = 2}),
	     PL_OK);
	(void)kit_put(&kit, "d", "4");
	T_STR(kit_told(&watch[2]), "ready@1 put b=2+put c=2@3 put d=4@4");
	kv_unwatch(kit.kv, watch[2].watch);
	(void)kit_put(&kit, "d", "5");
	T_STR(kit_told(&watch[2]), "end(canceled)");
	kit_close(&kit);
	T_EQ(watch[0].end, PL_CANCELED);
}

T_CASE(a_watch_below_the_compacted_revision_ends)
{
	kit_open(&kit, NULL);
	(void)kit_put(&kit, "a", "1");
	(void)kit_put(&kit, "a", "2");
	(void)kit_delete(&kit, KEY("a"));
	T_EQ(kit_compact(&kit, 3), PL_OK);
	T_EQ(kit_watch(&kit, &watch[0],
	               &(struct kv_watch_req){.keys = KEY("a"), .from_revision = 2}),
	     PL_OK);
	T_EQ(kit_watch(&kit, &watch[1],
	               &(struct kv_watch_req){
			       .keys = KEY("a"), .from_revision = 3, .want_prev = true}),
	     PL_OK);
	kit_run(&kit, 0);
	T_EQ(watch[0].note[1].compact_revision, 3);
	T_STR(kit_told(&watch[0]), "ready@1 end(revision compacted)");
	/* The value before the compacted revision is not known any more. */
	T_STR(kit_told(&watch[1]), "ready@2 put a=2@3 del a(2)@4");
	T_EQ(kit_compact(&kit, 4), PL_OK);
	T_EQ(kit_watch(&kit, &watch[2],
	               &(struct kv_watch_req){.keys = KEY("a"), .from_revision = 4}),
	     PL_OK);
	kit_run(&kit, 0);
	T_STR(kit_told(&watch[2]), "ready@3"); /* the deletion is gone, too */
	kit_close(&kit);
}

T_CASE(leases_expire_by_the_clock)
{
	struct kv_req put = kv_op_put_leased(S("b"), S("1"), 7);

	kit_open(&kit, NULL);
	T_EQ(kit_call(&kit, &put), PL_NOLEASE);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 7, 1), PL_OK);
	T_EQ(kit.result.lease.ttl_s, 2);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 7, 5), PL_EXISTS);
	T_EQ(kit_call(&kit, &put), PL_OK);
	put.put.key = S("a");
	T_EQ(kit_call(&kit, &put), PL_OK);
	T_EQ(kit_watch(&kit, &watch[0], &(struct kv_watch_req){.keys = kv_all_keys()}),
	     PL_OK);
	kit_run(&kit, 1500);
	T_EQ(kit_lease(&kit, KV_LEASE_TTL, 7, 0), PL_OK);
	T_EQ(kit.result.lease.ttl_s, 0);
	T_EQ(kit.result.lease.granted_s, 2);
	T_EQ(kit.result.lease.key_count, 2);
	T_EQ(kit_lease(&kit, KV_LEASE_KEEP, 7, 0), PL_OK);
	T_EQ(memkv_next_ms(kit.mem), 3500);
	kit_run(&kit, 3499);
	T_STR(kit_told(&watch[0]), "ready@3");
	kit_run(&kit, 3500);
	T_STR(kit_told(&watch[0]), "del a+del b@4");
	T_EQ(kit_lease(&kit, KV_LEASE_KEEP, 7, 0), PL_NOLEASE);
	T_EQ(kit_lease(&kit, KV_LEASE_TTL, 7, 0), PL_NOLEASE);
	T_EQ(kit_lease(&kit, KV_LEASE_REVOKE, 7, 0), PL_NOLEASE);
	T_EQ(memkv_next_ms(kit.mem), UINT64_MAX);
	kit_close(&kit);
}

T_CASE(new_leader_renews_all_leases)
{
	kit_open(&kit, NULL);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 7, 5), PL_OK);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 8, 3), PL_OK);
	kit_run(&kit, 2000);
	T_EQ(memkv_renew_leases(kit.mem, 1000, NULL), PL_OK);
	kit_run(&kit, 5999);
	T_EQ(memkv_leases(kit.mem), 2);
	kit_run(&kit, 6000);
	T_EQ(memkv_leases(kit.mem), 1);
	kit_run(&kit, 8000);
	T_EQ(memkv_leases(kit.mem), 0);
	T_EQ(memkv_revision(kit.mem), 1);
	kit_close(&kit);
}
