/* A store that is full: run beside an etcd with a quota of its own. */
#include <stdlib.h>

#include "tests/conformance/kit.h"

enum { QUOTA_BYTES = 16 << 20, VALUE_BYTES = 1 << 20, PUTS_MAX = 64 };

static struct kv_req big_put(const uint8_t *bytes)
{
	return (struct kv_req){
		.op = KV_PUT,
		.put = {.key = PL_SPAN_LIT("big"), .value = pl_span(bytes, VALUE_BYTES)}};
}

/* etcd refuses a write that no longer fits while it applies it, too: a client can
 * not always tell that the write was not applied, and then reports UNKNOWN. */
static void expect_no_space(int line, struct subject *s, const struct kv_req *req)
{
	const struct answer *answer = subject_call(s, req);
	bool unknown = answer->code == PL_UNKNOWN && subject_is_etcd(s) &&
	               strstr(answer->why, "database space exceeded") != NULL;

	if (answer->code != PL_NOSPACE && !unknown)
		t_fail(__FILE__, line, "%s: answer is '%s' (%s)", kv_op_name(req->op),
		       answer->text, answer->why);
}

#define EXPECT_NO_SPACE(s, req) expect_no_space(__LINE__, s, &(req))

T_CASE(nospace_refuses_what_would_grow)
{
	struct subject_opts opts = subject_opts_env();
	struct subject *s;
	uint8_t *bytes = calloc(1, VALUE_BYTES);
	struct kv_req put;
	int64_t puts = 0, version;

	T_TRUE(bytes != NULL);
	put = big_put(bytes);
	opts.quota_bytes = QUOTA_BYTES;
	s = subject_new(&opts);
	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, PUT_WITH("a", "1", .lease = 1), "@1");
	while (puts < PUTS_MAX && subject_call(s, &put)->code == PL_OK)
		puts++;
	T_TRUE(puts > 2 && puts < PUTS_MAX);
	EXPECT_NO_SPACE(s, put);
	EXPECT_NO_SPACE(s, TXN(IF(CMP(ONE("a"), KV_VERSION, KV_EQ, 1)), THEN(put)));
	version = subject_call(s, &GET(ONE("big")))->result->get.records[0].version;
	T_TRUE(version == puts || (subject_is_etcd(s) && version == puts + 1));
	T_TRUE(subject_call(s, &STATUS)->result->status.alarm_nospace);

	/* Everything else goes on: reading, and the ways out. */
	T_EQ(subject_call(s, &GET(ALL, .keys_only = true))->code, PL_OK);
	T_EQ(subject_call(s, &TXN(THEN(GET(ONE("a")), DELETE(ONE("x")))))->code, PL_OK);
	T_EQ(subject_call(s, &KEEP(1))->code, PL_OK);
	T_EQ(subject_call(s, &REVOKE(1))->code, PL_OK);
	T_EQ(subject_call(s, &GET(ONE("a")))->result->get.total, 0);
	T_EQ(subject_call(s, &DELETE(ONE("big")))->result->del.deleted, 1);
	T_EQ(subject_call(s, &COMPACT(puts + 1))->code, PL_OK);
	free(bytes);
	kit_close(s);
}
