/* Users, passwords, tokens and permissions, against a real etcd. */
#include <signal.h>
#include <stdio.h>

#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"

static struct etcd_rig rig;

static void etcdctl(const char *what)
{
	char line[512];
	const char *argv[] = {"sh", "-ec", line, NULL};

	(void)snprintf(
		line, sizeof line,
		"export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=%s; etcdctl %s 2>/dev/null",
		etcd_launch_endpoint(rig.launch, 0), what);
	etcd_rig_spawn(argv);
}

/* root may do everything; ann may read and write below "ann/". */
static void auth_up(const char *token_ttl)
{
	const char *args[] = {token_ttl, NULL};
	struct etcd_launch_opts launch = {.members = 1, .extra_args = args};

	etcd_rig_launch(&rig, &launch);
	etcdctl("user add root:secret");
	etcdctl("user grant-role root root");
	etcdctl("role add ann");
	etcdctl("role grant-permission ann --prefix=true readwrite ann/");
	etcdctl("user add ann:pass");
	etcdctl("user grant-role ann ann");
	etcdctl("auth enable");
}

static struct kv *open_as(const char *user, const char *password)
{
	struct etcd_opts opts = {.user = user, .password = password};

	return etcd_rig_open(&rig, &opts);
}

T_CASE(the_right_password_reads_and_writes)
{
	struct etcd_rig_watch watch;

	auth_up("--auth-token-ttl=300");
	rig.kv = open_as("ann", "pass");
	etcd_rig_watch(&rig, &watch, "ann/", 0);
	(void)etcd_rig_put(&rig, "ann/a", "x");
	T_STR(etcd_rig_get(&rig, "ann/a"), "x");
	etcd_rig_wait_events(&rig, &watch, 1);
	etcd_rig_unwatch(&rig, &watch);
	T_EQ(etcd_stats(rig.kv).tokens, 1);
	etcd_rig_down(&rig);
}

T_CASE(a_wrong_password_fails_at_once_and_for_the_reason)
{
	struct kv_req get = kv_op_get(kv_key(PL_SPAN_LIT("ann/a")));
	struct etcd_rig_watch watch;
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("ann/"))};

	auth_up("--auth-token-ttl=300");
	rig.kv = open_as("ann", "wrong");
	T_CODE(etcd_rig_call(&rig, &get, ETCD_RIG_TIMEOUT_MS, NULL), PL_AUTH, &rig.err);
	T_CODE(etcd_rig_call(&rig, &get, ETCD_RIG_TIMEOUT_MS, NULL), PL_AUTH, &rig.err);
	watch = (struct etcd_rig_watch){0};
	T_OK(kv_watch(rig.kv, &req, etcd_rig_on_note, &watch, &watch.watch, &rig.err),
	     &rig.err);
	etcd_rig_until(&rig, &watch.ended);
	T_CODE(watch.err.code, PL_AUTH, &watch.err);
	etcd_rig_down(&rig);
}

T_CASE(a_missing_user_is_named_in_the_error)
{
	struct kv_req put = kv_op_put(PL_SPAN_LIT("a"), PL_SPAN_LIT("x"));

	auth_up("--auth-token-ttl=300");
	rig.kv = open_as(NULL, NULL);
	T_CODE(etcd_rig_call(&rig, &put, ETCD_RIG_TIMEOUT_MS, NULL), PL_AUTH, &rig.err);
	etcd_rig_down(&rig);
}

T_CASE(a_missing_permission_is_its_own_error_for_calls_and_watches)
{
	struct kv_req put = kv_op_put(PL_SPAN_LIT("bob/a"), PL_SPAN_LIT("x"));
	struct kv_req get = kv_op_get(kv_prefix(PL_SPAN_LIT("bob/")));
	struct kv_watch_req denied = {.keys = kv_prefix(PL_SPAN_LIT("bob/"))};
	struct etcd_rig_watch good, bad = {0};

	auth_up("--auth-token-ttl=300");
	rig.kv = open_as("ann", "pass");
	T_CODE(etcd_rig_call(&rig, &put, ETCD_RIG_TIMEOUT_MS, NULL), PL_DENIED, &rig.err);
	T_CODE(etcd_rig_call(&rig, &get, ETCD_RIG_TIMEOUT_MS, NULL), PL_DENIED, &rig.err);
	/* The refused watch shares its stream with an accepted one. */
	T_OK(kv_watch(rig.kv, &denied, etcd_rig_on_note, &bad, &bad.watch, &rig.err),
	     &rig.err);
	etcd_rig_watch(&rig, &good, "ann/", 0);
	etcd_rig_until(&rig, &bad.ended);
	T_CODE(bad.err.code, PL_DENIED, &bad.err);
	(void)etcd_rig_put(&rig, "ann/a", "x");
	etcd_rig_wait_events(&rig, &good, 1);
	etcd_rig_unwatch(&rig, &good);
	etcd_rig_down(&rig);
}

/* etcd restores most tokens from its log; a token that it lost is replaced. */
T_CASE(a_restart_of_the_server_is_not_noticed_by_users)
{
	struct etcd_rig_watch watch;

	auth_up("--auth-token-ttl=300");
	rig.kv = open_as("ann", "pass");
	etcd_rig_watch(&rig, &watch, "ann/", 0);
	(void)etcd_rig_put(&rig, "ann/a", "x");
	T_OK(etcd_launch_signal(rig.launch, 0, SIGKILL, &rig.err), &rig.err);
	T_OK(etcd_launch_restart(rig.launch, 0, &rig.err), &rig.err);
	T_STR(etcd_rig_get(&rig, "ann/a"), "x");
	(void)etcd_rig_put(&rig, "ann/a", "y");
	etcd_rig_wait_events(&rig, &watch, 2);
	etcd_rig_unwatch(&rig, &watch);
	etcd_rig_down(&rig);
}

T_CASE(an_expired_token_is_replaced)
{
	auth_up("--auth-token-ttl=1");
	rig.kv = open_as("ann", "pass");
	(void)etcd_rig_put(&rig, "ann/a", "x");
	/* etcd checks expiry every few seconds: runs until another token was needed. */
	while (etcd_stats(rig.kv).tokens < 2) {
		etcd_rig_run_ms(&rig, 1500);
		T_STR(etcd_rig_get(&rig, "ann/a"), "x");
	}
	etcd_rig_down(&rig);
}

T_CASE(the_client_recovers_once_the_password_is_right)
{
	struct kv_req get = kv_op_get(kv_key(PL_SPAN_LIT("ann/a")));
	enum pl_code code;

	auth_up("--auth-token-ttl=300");
	rig.kv = open_as("ann", "new");
	T_CODE(etcd_rig_call(&rig, &get, ETCD_RIG_TIMEOUT_MS, NULL), PL_AUTH, &rig.err);
	etcdctl("--user=root:secret user passwd ann --interactive=false <<END\nnew\nEND\n");
	do
		code = etcd_rig_call(&rig, &get, ETCD_RIG_TIMEOUT_MS, NULL);
	while (code == PL_AUTH);
	T_CODE(code, PL_OK, &rig.err);
	etcd_rig_down(&rig);
}

T_CASE(an_unneeded_user_does_no_harm)
{
	etcd_rig_launch(&rig, NULL);
	rig.kv = open_as("ann", "pass");
	(void)etcd_rig_put(&rig, "a", "x");
	T_STR(etcd_rig_get(&rig, "a"), "x");
	etcd_rig_down(&rig);
}
