#include "tests/conformance/kit.h"

T_CASE(lease_grant)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, GRANT(1, 60), "!EXISTS");
	EXPECT(s, GRANT(2, 3), "@0 L2 ttl 3");
	EXPECT(s, TTL(1), "@0 L1 ttl 60 of 60");
	/* Shorter than an election: raised. */
	EXPECT(s, GRANT(3, 1), "@0 L3 ttl 2");
	EXPECT(s, GRANT(4, 9000000000), "@0 L4 ttl 9000000000");
	EXPECT(s, GRANT(5, 9000000001), "!INVALID");
	EXPECT(s, GRANT(6, 0), "!INVALID");
	EXPECT(s, GRANT(7, -1), "!INVALID");
	kit_close(s);
}

T_CASE(lease_with_an_id_of_the_stores_choice)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(0, 60), "@0 S0 ttl 60");
	EXPECT(s, GRANT(0, 70), "@0 S1 ttl 70");
	EXPECT(s, PUT_WITH("a", "1", .lease = NAMES_CHOSEN + 1), "@1");
	EXPECT(s, GET(ONE("a")), "@1 1/1 a=1(1,1,1,S1)");
	EXPECT(s, TTL_KEYS(NAMES_CHOSEN + 1), "@1 S1 ttl 70 of 70 keys a");
	EXPECT(s, REVOKE(NAMES_CHOSEN), "@1 S0");
	EXPECT(s, REVOKE(NAMES_CHOSEN), "!NOLEASE");
	kit_close(s);
}

T_CASE(lease_keep)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, KEEP(1), "@0 L1 ttl 60");
	EXPECT(s, KEEP(1), "@0 L1 ttl 60");
	EXPECT(s, KEEP(2), "!NOLEASE");
	EXPECT(s, REVOKE(1), "@0 L1");
	EXPECT(s, KEEP(1), "!NOLEASE");
	kit_close(s);
}

T_CASE(lease_time_to_live)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(1, 600), "@0 L1 ttl 600");
	EXPECT(s, TTL_KEYS(1), "@0 L1 ttl 600 of 600");
	EXPECT(s, PUT_WITH("b", "1", .lease = 1), "@1");
	EXPECT(s, PUT_WITH("a\x00", "1", .lease = 1), "@2");
	EXPECT(s, PUT_WITH("b", "2", .lease = 1), "@3");
	EXPECT(s, TTL_KEYS(1), "@3 L1 ttl 600 of 600 keys \"a\\x00\" b");
	EXPECT(s, TTL(1), "@3 L1 ttl 600 of 600");
	EXPECT(s, TTL(2), "!NOLEASE");
	EXPECT(s, TTL_KEYS(2), "!NOLEASE");
	kit_close(s);
}

T_CASE(lease_revoke_deletes_in_one_revision)
{
	struct subject *s = kit_open();
	struct stream *w = kit_watch(s, &WATCH(ALL, .want_prev = true));

	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, GRANT(2, 60), "@0 L2 ttl 60");
	EXPECT(s, PUT_WITH("c", "1", .lease = 1), "@1");
	EXPECT(s, PUT_WITH("a", "1", .lease = 1), "@2");
	EXPECT(s, PUT_WITH("b", "1", .lease = 2), "@3");
	EXPECT(s, PUT("d", "1"), "@4");
	EXPECT(s, REVOKE(1), "@5 L1");
	EXPECT(s, GET(ALL), "@5 2/2 b=1(3,3,1,L2) d=1(4,4,1)");
	EXPECT(s, REVOKE(1), "!NOLEASE");
	EXPECT(s, PUT_WITH("a", "2", .lease = 1), "!NOLEASE");
	EXPECT_STREAM(s, w, "@1 put c=1(1,1,1,L1)", "@2 put a=1(2,2,1,L1)",
	              "@3 put b=1(3,3,1,L2)", "@4 put d=1(4,4,1)",
	              "@5 delete a prev a=1(2,2,1,L1)", "@5 delete c prev c=1(1,1,1,L1)");
	/* The id is free again, and its keys are not. */
	EXPECT(s, GRANT(1, 60), "@5 L1 ttl 60");
	EXPECT(s, TTL_KEYS(1), "@5 L1 ttl 60 of 60");
	kit_close(s);
}

T_CASE(lease_without_keys_is_no_revision)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, REVOKE(1), "@0 L1");
	EXPECT(s, REVOKE(2), "!NOLEASE");
	kit_close(s);
}

T_CASE(lease_moves_with_the_last_put)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, GRANT(2, 60), "@0 L2 ttl 60");
	EXPECT(s, PUT_WITH("a", "1", .lease = 1), "@1");
	EXPECT(s, PUT_WITH("b", "1", .lease = 1), "@2");
	EXPECT(s, PUT_WITH("a", "2", .lease = 2), "@3");
	EXPECT(s, TTL_KEYS(1), "@3 L1 ttl 60 of 60 keys b");
	EXPECT(s, TTL_KEYS(2), "@3 L2 ttl 60 of 60 keys a");
	EXPECT(s, REVOKE(1), "@4 L1");
	EXPECT(s, GET(ALL), "@4 1/1 a=2(1,3,2,L2)");
	EXPECT(s, PUT("a", "3"), "@5");
	EXPECT(s, REVOKE(2), "@5 L2");
	EXPECT(s, GET(ALL), "@5 1/1 a=3(1,5,3)");
	kit_close(s);
}

T_CASE(lease_needs_an_id)
{
	struct subject *s = kit_open();

	EXPECT(s, KEEP(0), "!INVALID");
	EXPECT(s, REVOKE(0), "!INVALID");
	EXPECT(s, TTL(0), "!INVALID");
	kit_close(s);
}

static bool has_both(void *ctx)
{
	return ((struct stream *)ctx)->line_count >= 2;
}

/* The one case that has to wait: a lease of the least length runs out, its keys
 * go in one revision, and it is unknown afterwards. */
T_CASE(lease_expires)
{
	struct subject *s = kit_open();
	struct stream *w = kit_watch(s, &WATCH(ALL, .no_puts = true));

	EXPECT(s, GRANT(1, 2), "@0 L1 ttl 2");
	EXPECT(s, GRANT(2, 60), "@0 L2 ttl 60");
	EXPECT(s, PUT_WITH("b", "1", .lease = 1), "@1");
	EXPECT(s, PUT_WITH("a", "1", .lease = 1), "@2");
	EXPECT(s, PUT_WITH("c", "1", .lease = 2), "@3");
	T_TRUE(subject_until(s, has_both, w, SUBJECT_WAIT_MS));
	EXPECT_STREAM(s, w, "@4 delete a", "@4 delete b");
	EXPECT(s, GET(ALL), "@4 1/1 c=1(3,3,1,L2)");
	EXPECT(s, KEEP(1), "!NOLEASE");
	EXPECT(s, TTL(1), "!NOLEASE");
	EXPECT(s, REVOKE(1), "!NOLEASE");
	kit_close(s);
}

/* Kept half way, it lives past the time it was granted for. On a machine that
 * stood still for so long that the lease may be gone, nothing can be said. */
T_CASE(lease_kept_does_not_expire)
{
	struct subject *s = kit_open();
	uint64_t kept_ms = kv_now_ms(subject_kv(s));

	EXPECT(s, GRANT(1, 2), "@0 L1 ttl 2");
	EXPECT(s, PUT_WITH("a", "1", .lease = 1), "@1");
	for (int i = 0; i < 3; i++) {
		const struct answer *answer;
		uint64_t asked_ms;

		subject_pass(s, 1000);
		asked_ms = kv_now_ms(subject_kv(s));
		answer = subject_call(s, &KEEP(1));
		if (kv_now_ms(subject_kv(s)) - kept_ms >= 1900)
			break;
		T_STR(answer->text, "@1 L1 ttl 2");
		EXPECT(s, GET(ALL), "@1 1/1 a=1(1,1,1,L1)");
		kept_ms = asked_ms;
	}
	kit_close(s);
}
