#include "store/etcd/status.h"
#include "tests/harness/t.h"

static struct status of(uint32_t grpc, const char *text)
{
	return status_of(grpc, pl_span_str(text));
}

/* etcd 3.4's errors: status, text, and their interpretation. */
static const struct want {
	const char *text;
	uint32_t grpc;
	enum pl_code code;
	enum status_next next;
	bool maybe_applied;
} wants[] = {
	{"etcdserver: key is not provided", 3, PL_INVALID, STATUS_GIVE_UP, false},
	{"etcdserver: key not found", 3, PL_NOTFOUND, STATUS_GIVE_UP, false},
	{"etcdserver: value is provided", 3, PL_INVALID, STATUS_GIVE_UP, false},
	{"etcdserver: lease is provided", 3, PL_INVALID, STATUS_GIVE_UP, false},
	{"etcdserver: too many operations in txn request", 3, PL_LIMIT, STATUS_GIVE_UP,
         false},
	{"etcdserver: duplicate key given in txn request", 3, PL_INVALID, STATUS_GIVE_UP,
         false},
	{"etcdserver: mvcc: required revision has been compacted", 11, PL_COMPACTED,
         STATUS_GIVE_UP, false},
	{"etcdserver: mvcc: required revision is a future revision", 11, PL_FUTURE,
         STATUS_GIVE_UP, false},
	{"etcdserver: mvcc: database space exceeded", 8, PL_NOSPACE, STATUS_GIVE_UP,
         true},
	{"etcdserver: requested lease not found", 5, PL_NOLEASE, STATUS_GIVE_UP, false},
	{"etcdserver: lease already exists", 9, PL_EXISTS, STATUS_GIVE_UP, false},
	{"etcdserver: too large lease TTL", 11, PL_INVALID, STATUS_GIVE_UP, false},
	{"etcdserver: watch canceled", 1, PL_UNAVAIL, STATUS_SAME, false},
	{"etcdserver: request is too large", 3, PL_LIMIT, STATUS_GIVE_UP, false},
	{"etcdserver: too many requests", 8, PL_THROTTLED, STATUS_SAME, false},
	{"etcdserver: user name is empty", 3, PL_AUTH, STATUS_TOKEN, false},
	{"etcdserver: authentication failed, invalid user ID or password", 3, PL_AUTH,
         STATUS_GIVE_UP, false},
	{"auth: authentication failed, password was given for no password user", 2,
         PL_AUTH, STATUS_GIVE_UP, false},
	{"etcdserver: permission denied", 7, PL_DENIED, STATUS_GIVE_UP, false},
	{"etcdserver: authentication is not enabled", 9, PL_AUTH, STATUS_NO_TOKEN, false},
	{"etcdserver: invalid auth token", 16, PL_AUTH, STATUS_TOKEN, false},
	{"etcdserver: revision of auth store is old", 3, PL_AUTH, STATUS_TOKEN, false},
	{"auth: revision in header is old", 2, PL_AUTH, STATUS_TOKEN, false},
	{"etcdserver: no leader", 14, PL_NOLEADER, STATUS_ELSEWHERE, false},
	{"etcdserver: not leader", 9, PL_NOLEADER, STATUS_ELSEWHERE, false},
	{"etcdserver: leader changed", 14, PL_NOLEADER, STATUS_SAME, true},
	{"etcdserver: not capable", 14, PL_UNAVAIL, STATUS_ELSEWHERE, false},
	{"etcdserver: server stopped", 14, PL_UNAVAIL, STATUS_ELSEWHERE, true},
	{"etcdserver: request timed out", 14, PL_TIMEOUT, STATUS_ELSEWHERE, true},
	{"etcdserver: request timed out, possibly due to previous leader failure", 14,
         PL_TIMEOUT, STATUS_ELSEWHERE, true},
	{"etcdserver: request timed out, possibly due to connection lost", 14, PL_TIMEOUT,
         STATUS_ELSEWHERE, true},
	{"etcdserver: request timed out, waiting for the applied index took too long", 14,
         PL_TIMEOUT, STATUS_ELSEWHERE, true},
	{"etcdserver: unhealthy cluster", 14, PL_UNAVAIL, STATUS_ELSEWHERE, false},
	{"etcdserver: corrupt cluster", 15, PL_CORRUPT, STATUS_GIVE_UP, false},
	{"etcdserver: rpc not supported for learner", 14, PL_UNAVAIL, STATUS_ELSEWHERE,
         false},
	{"raft proposal dropped", 2, PL_NOLEADER, STATUS_SAME, false},
	{"raft: stopped", 2, PL_UNAVAIL, STATUS_ELSEWHERE, true},
	{"etcdserver: request cancelled", 2, PL_UNAVAIL, STATUS_SAME, true},
	{"context deadline exceeded", 4, PL_TIMEOUT, STATUS_ELSEWHERE, true},
	{"context canceled", 1, PL_UNAVAIL, STATUS_SAME, true},
	{"unknown service etcdserverpb.KV", 12, PL_UNSUPPORTED, STATUS_GIVE_UP, false},
	{"grpc: received message larger than max (5 vs. 4)", 8, PL_LIMIT, STATUS_GIVE_UP,
         false},
	{"grpc: trying to send message larger than max (5 vs. 4)", 8, PL_LIMIT,
         STATUS_GIVE_UP, true},
	/* unknown texts */
	{"upstream connect error", 14, PL_UNAVAIL, STATUS_ELSEWHERE, true},
	{"slow down", 8, PL_THROTTLED, STATUS_SAME, true},
	{"boom", 2, PL_UNAVAIL, STATUS_ELSEWHERE, true},
	{"", 3, PL_INVALID, STATUS_GIVE_UP, false},
	{"", 17, PL_PROTO, STATUS_GIVE_UP, true},
	{"what", 4000000000u, PL_PROTO, STATUS_GIVE_UP, true},
};

T_CASE(each_answer_of_etcd_has_its_meaning)
{
	for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++) {
		const struct want *want = &wants[i];
		struct status status = of(want->grpc, want->text);

		T_STR(pl_code_name(status.code), pl_code_name(want->code));
		T_EQ(status.next, want->next);
		T_EQ(status.maybe_applied, want->maybe_applied);
		T_EQ(status.grpc, want->grpc);
	}
	T_EQ(of(0, "etcdserver: no leader").code, PL_OK);
}

T_CASE(texts_must_match_completely)
{
	/* The text around it may come from outside: a key, a user's name. */
	T_EQ(of(14, "no healthy upstream: etcdserver: no leader").maybe_applied, true);
	T_EQ(of(14, "etcdserver: no leader yet").maybe_applied, true);
	T_EQ(of(14, "etcdserver: ").code, PL_UNAVAIL);
	T_EQ(of(14, "no lea").code, PL_UNAVAIL);
}

T_CASE(the_limit_is_parsed_from_the_text)
{
	T_EQ(of(8, "grpc: received message larger than max (2097153 vs. 2097152)")
	             .limit_bytes,
	     2097152);
	T_EQ(of(8, "grpc: received message larger than max (7)").limit_bytes, 0);
	T_EQ(of(8, "grpc: received message larger than max (7 vs. )").limit_bytes, 0);
	T_EQ(of(8, "grpc: received message larger than max (7 vs. "
	           "99999999999999999999999)")
	             .limit_bytes,
	     0);
	T_EQ(of(8, "grpc: trying to send message larger than max (7 vs. 6)").limit_bytes,
	     0);
	T_EQ(of(3, "etcdserver: request is too large").limit_bytes, 0);
}

static struct status reason(const char *text)
{
	return status_of_reason(pl_span_str(text));
}

T_CASE(a_watch_reason_in_gos_format_is_parsed)
{
	struct status status = reason("rpc error: code = PermissionDenied desc = "
	                              "etcdserver: permission denied");

	T_EQ(status.code, PL_DENIED);
	T_EQ(status.next, STATUS_GIVE_UP);
	T_EQ(status.grpc, GRPC_PERMISSION_DENIED);
	status = reason("rpc error: code = Unauthenticated desc = etcdserver: invalid "
	                "auth token");
	T_EQ(status.code, PL_AUTH);
	T_EQ(status.next, STATUS_TOKEN);
	status =
		reason("rpc error: code = InvalidArgument desc = etcdserver: revision of "
	               "auth store is old");
	T_EQ(status.next, STATUS_TOKEN);
	status = reason(
		"rpc error: code = InvalidArgument desc = etcdserver: user name is "
		"empty");
	T_EQ(status.next, STATUS_TOKEN);
	/* For an unknown text the status name alone decides. */
	T_EQ(reason("rpc error: code = PermissionDenied desc = no").code, PL_DENIED);
	T_EQ(reason("rpc error: code = Unauthenticated desc = ").code, PL_AUTH);
	T_EQ(reason("mvcc: watcher range is empty").code, PL_INVALID);
	T_EQ(reason("mvcc: duplicate watch ID provided on the WatchStream").next,
	     STATUS_SAME);
	T_EQ(reason("").code, PL_CANCELED);
	T_EQ(reason("rpc error: code = Code(99) desc = x").code, PL_UNAVAIL);
	T_EQ(reason("rpc error: code = ").code, PL_UNAVAIL);
	T_EQ(reason("rpc error: code = PermissionDenied").code, PL_UNAVAIL);
	T_EQ(reason("rpc error: code = OK desc = x").code, PL_UNAVAIL);
}

T_CASE(errors_suggest_a_remedy)
{
	struct pl_span text = PL_SPAN_LIT("etcdserver: request timed out");
	struct status status = status_of(GRPC_UNAVAILABLE, text);
	struct pl_err err;

	T_EQ(status_err(&status, false, text, &err), PL_TIMEOUT);
	T_STR(err.msg, "etcdserver: request timed out (Unavailable): check that the "
	               "server is up and not overloaded");
	T_EQ(status_err(&status, true, text, &err), PL_UNKNOWN);
	T_STR(err.msg,
	      "etcdserver: request timed out (Unavailable), and it may have been "
	      "applied: read the keys before deciding what happened; check that the "
	      "server is up and not overloaded");
	text = PL_SPAN_LIT("rpc error: code = PermissionDenied desc = etcdserver: "
	                   "permission denied");
	status = status_of_reason(text);
	T_EQ(status_err(&status, false, text, &err), PL_DENIED);
	T_STR(err.msg, "etcdserver: permission denied (PermissionDenied): grant the user "
	               "a role for these keys");
	T_EQ(status_err(&status, true, text, NULL), PL_DENIED);
}

T_CASE(server_texts_are_bounded_and_printable)
{
	uint8_t text[5000];
	struct status status;
	struct pl_err err;

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (uint8_t)i;
	for (uint32_t grpc = 1; grpc < 20; grpc++) {
		status = status_of(grpc, pl_span(text, sizeof text));
		(void)status_err(&status, grpc % 2 == 0, pl_span(text, sizeof text),
		                 &err);
		T_TRUE(strlen(err.msg) < sizeof err.msg);
		for (size_t i = 0; err.msg[i] != 0; i++)
			T_TRUE(err.msg[i] >= ' ' && err.msg[i] <= '~');
	}
	status = status_of(17, pl_span(NULL, 0));
	T_EQ(status_err(&status, false, pl_span(NULL, 0), &err), PL_PROTO);
	T_STR(err.msg, "malformed message (17): check that the endpoint is what it "
	               "should be");
}
