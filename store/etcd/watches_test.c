/* Watches against a real etcd: resumed, refused, compacted, rewound. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"

static struct etcd_rig rig;

static void send_signal(unsigned member, int signum)
{
	T_OK(etcd_launch_signal(rig.launch, member, signum, &rig.err), &rig.err);
}

static void restart_member(unsigned member)
{
	T_OK(etcd_launch_restart(rig.launch, member, &rig.err), &rig.err);
	/* The read is retried until it is answered: the client has reconnected by then.
	 */
	(void)etcd_rig_get(&rig, "none");
}

/* Repeats a write until it is known to be applied; returns its revision. */
static int64_t put_surely(const char *key)
{
	struct kv_req put = kv_op_put(pl_span_str(key), PL_SPAN_LIT("x"));
	struct kv_result result = {0};

	while (etcd_rig_call(&rig, &put, ETCD_RIG_TIMEOUT_MS, &result) != PL_OK)
		T_EQ(rig.err.code, PL_UNKNOWN);
	return result.header.revision;
}

static void compact(int64_t revision)
{
	struct kv_req req = {.op = KV_COMPACT, .compact = {.revision = revision}};

	T_OK(etcd_rig_call(&rig, &req, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
}

T_CASE(resumes_after_a_restart_without_gap_or_repetition)
{
	struct etcd_rig_watch watch;

	etcd_rig_up(&rig, NULL, NULL);
	etcd_rig_watch(&rig, &watch, "w/", 0);
	for (unsigned i = 0; i < 5; i++)
		(void)etcd_rig_put(&rig, "w/a", "x");
	etcd_rig_wait_events(&rig, &watch, 5);
	for (unsigned round = 1; round <= 3; round++) {
		send_signal(0, SIGKILL);
		restart_member(0);
		for (unsigned i = 0; i < 5; i++)
			(void)etcd_rig_put(&rig, "w/a", "x");
		etcd_rig_wait_events(&rig, &watch, 5 + round * 5);
	}
	for (unsigned i = 1; i < watch.events; i++)
		T_EQ(watch.revision[i], watch.revision[i - 1] + 1);
	T_TRUE(watch.ready >= 2); /* the resumption was reported */
	etcd_rig_unwatch(&rig, &watch);
	etcd_rig_down(&rig);
}

T_CASE_SECONDS(moves_to_another_member_when_its_own_stops, 60)
{
	struct etcd_launch_opts three = {
		.members = 3, .heartbeat_ms = 20, .election_ms = 200};
	struct etcd_rig_watch watch;

	etcd_rig_up(&rig, &three, NULL);
	etcd_rig_watch(&rig, &watch, "w/", 0);
	for (unsigned member = 0; member < 3; member++) {
		int64_t revision;

		send_signal(member, SIGSTOP);
		revision = put_surely("w/a");
		while (watch.events == 0 || watch.revision[watch.events - 1] < revision)
			(void)uv_run(&rig.loop, UV_RUN_ONCE);
		send_signal(member, SIGCONT);
	}
	T_TRUE(!watch.ended);
	for (unsigned i = 1; i < watch.events; i++)
		T_EQ(watch.revision[i], watch.revision[i - 1] + 1);
	etcd_rig_unwatch(&rig, &watch);
	etcd_rig_down(&rig);
}

T_CASE(many_watches_share_a_stream)
{
	enum { COUNT = 300 };
	static struct etcd_rig_watch watch[COUNT];
	char prefix[32], key[32];

	etcd_rig_up(&rig, NULL, NULL);
	for (unsigned i = 0; i < COUNT; i++) {
		struct kv_watch_req req;

		(void)snprintf(prefix, sizeof prefix, "w/%03u/", i);
		req = (struct kv_watch_req){.keys = kv_prefix(pl_span_str(prefix))};
		T_OK(kv_watch(rig.kv, &req, etcd_rig_on_note, &watch[i], &watch[i].watch,
		              &rig.err),
		     &rig.err);
	}
	/* A third is cancelled before it is active. */
	for (unsigned i = 0; i < COUNT; i += 3)
		kv_unwatch(rig.kv, watch[i].watch);
	for (unsigned i = 0; i < COUNT; i++)
		etcd_rig_until(&rig, i % 3 == 0 ? &watch[i].ended : &watch[i].is_ready);
	for (unsigned i = 0; i < COUNT; i++) {
		(void)snprintf(key, sizeof key, "w/%03u/k", i);
		(void)etcd_rig_put(&rig, key, "x");
	}
	for (unsigned i = 0; i < COUNT; i++) {
		if (i % 3 == 0) {
			T_EQ(watch[i].events, 0);
			continue;
		}
		etcd_rig_wait_events(&rig, &watch[i], 1);
		etcd_rig_unwatch(&rig, &watch[i]);
	}
	etcd_rig_down(&rig);
}

T_CASE(a_compacted_start_ends_the_watch_with_the_compact_revision)
{
	struct etcd_rig_watch watch;
	int64_t last = 0;

	etcd_rig_up(&rig, NULL, NULL);
	for (unsigned i = 0; i < 10; i++)
		last = etcd_rig_put(&rig, "w/a", "x");
	compact(last - 2);
	etcd_rig_watch(&rig, &watch, "w/", 2);
	etcd_rig_until(&rig, &watch.ended);
	T_CODE(watch.err.code, PL_COMPACTED, &watch.err);
	T_EQ(watch.compact_revision, last - 2);
	etcd_rig_down(&rig);
}

T_CASE(progress_covers_everything_before_it)
{
	const char *args[] = {"--experimental-watch-progress-notify-interval=1s", NULL};
	struct etcd_launch_opts launch = {.members = 1, .extra_args = args};
	struct etcd_rig_watch watch, quiet;
	int64_t last = 0;

	etcd_rig_up(&rig, &launch, NULL);
	etcd_rig_watch(&rig, &watch, "w/", 0);
	etcd_rig_watch(&rig, &quiet, "q/", 0);
	for (unsigned i = 0; i < 50; i++)
		last = etcd_rig_put(&rig, "w/a", "x");
	T_OK(kv_progress(rig.kv, watch.watch, 0, &rig.err), &rig.err);
	T_OK(kv_progress(rig.kv, quiet.watch, 0, &rig.err), &rig.err);
	T_TRUE(!watch.has_progress);
	etcd_rig_until(&rig, &watch.has_progress);
	T_TRUE(watch.progress_revision >= last);
	T_EQ(watch.events, 50);
	etcd_rig_until(&rig, &quiet.has_progress);
	T_TRUE(quiet.progress_revision >= last);
	etcd_rig_unwatch(&rig, &watch);
	etcd_rig_unwatch(&rig, &quiet);
	etcd_rig_down(&rig);
}

/* A caller that knows the store's revision saves a read. */
T_CASE(progress_up_to_a_revision)
{
	const char *args[] = {"--experimental-watch-progress-notify-interval=500ms",
	                      NULL};
	struct etcd_launch_opts launch = {.members = 1, .extra_args = args};
	struct etcd_rig_watch watch, quiet;
	int64_t last;

	etcd_rig_up(&rig, &launch, NULL);
	etcd_rig_watch(&rig, &watch, "w/", 0);
	etcd_rig_watch(&rig, &quiet, "q/", 0);
	(void)etcd_rig_put(&rig, "w/a", "x");
	last = etcd_rig_put(&rig, "w/a", "y");
	T_OK(kv_progress(rig.kv, quiet.watch, last, &rig.err), &rig.err);
	T_TRUE(!quiet.has_progress);
	etcd_rig_until(&rig, &quiet.has_progress);
	T_TRUE(quiet.progress_revision >= last);
	etcd_rig_wait_events(&rig, &watch, 2);
	/* The watch is that far already: reported later, without asking the store. */
	T_OK(kv_progress(rig.kv, watch.watch, last, &rig.err), &rig.err);
	T_TRUE(!watch.has_progress);
	etcd_rig_until(&rig, &watch.has_progress);
	T_EQ(watch.progress_revision, last);
	etcd_rig_unwatch(&rig, &watch);
	etcd_rig_unwatch(&rig, &quiet);
	etcd_rig_down(&rig);
}

/* Timed reports move the revision from which a quiet watch resumes. */
T_CASE(a_quiet_watch_survives_a_compaction_and_a_restart)
{
	const char *args[] = {"--experimental-watch-progress-notify-interval=500ms",
	                      NULL};
	struct etcd_launch_opts launch = {.members = 1, .extra_args = args};
	struct etcd_rig_watch watch;
	int64_t last = 0;

	etcd_rig_up(&rig, &launch, NULL);
	etcd_rig_watch(&rig, &watch, "quiet/", 0);
	for (unsigned i = 0; i < 20; i++)
		last = etcd_rig_put(&rig, "busy/a", "x");
	T_OK(kv_progress(rig.kv, watch.watch, 0, &rig.err), &rig.err);
	etcd_rig_until(&rig, &watch.has_progress);
	compact(last);
	send_signal(0, SIGKILL);
	restart_member(0);
	(void)etcd_rig_put(&rig, "quiet/a", "x");
	etcd_rig_wait_events(&rig, &watch, 1);
	etcd_rig_unwatch(&rig, &watch);
	etcd_rig_down(&rig);
}

T_CASE_SECONDS(a_message_of_64_megabytes_survives, 60)
{
	enum { COUNT = 550, SIZE = 125 << 10 };
	char *value = malloc(SIZE);
	struct etcd_rig_watch watch;
	int64_t first = 0;

	T_TRUE(value != NULL);
	memset(value, 'v', SIZE);
	etcd_rig_up(&rig, NULL, NULL);
	for (unsigned i = 0; i < COUNT; i++) {
		struct kv_req put = kv_op_put(PL_SPAN_LIT("w/a"), pl_span(value, SIZE));
		struct kv_result result;

		T_OK(etcd_rig_call(&rig, &put, ETCD_RIG_TIMEOUT_MS, &result), &rig.err);
		if (i == 0)
			first = result.header.revision;
	}
	etcd_rig_watch(&rig, &watch, "w/", first);
	etcd_rig_wait_events(&rig, &watch, COUNT);
	T_EQ(watch.bytes, (int64_t)COUNT * SIZE);
	T_TRUE(watch.bytes / watch.messages > 32 << 20); /* the messages were large */
	etcd_rig_unwatch(&rig, &watch);
	free(value);
	etcd_rig_down(&rig);
}

static void in_data_dir(const char *what)
{
	char line[700];
	const char *argv[] = {"sh", "-ec", line, NULL};

	(void)snprintf(line, sizeof line, "cd '%s'; data=$(ls -d m0.[0-9]*); %s",
	               etcd_launch_dir(rig.launch), what);
	etcd_rig_spawn(argv);
}

/* The disk is restored from a backup: same cluster, earlier revision. */
T_CASE(a_rewound_store_ends_the_watch)
{
	struct etcd_rig_watch watch;

	etcd_rig_up(&rig, NULL, NULL);
	(void)etcd_rig_put(&rig, "w/a", "x");
	send_signal(0, SIGKILL);
	in_data_dir("cp -a $data backup");
	restart_member(0);
	etcd_rig_watch(&rig, &watch, "w/", 0);
	for (unsigned i = 0; i < 10; i++)
		(void)etcd_rig_put(&rig, "w/a", "y");
	etcd_rig_wait_events(&rig, &watch, 10);
	send_signal(0, SIGKILL);
	in_data_dir("rm -rf $data; cp -a backup $data");
	restart_member(0);
	etcd_rig_until(&rig, &watch.ended);
	T_CODE(watch.err.code, PL_REWOUND, &watch.err);
	T_STR(etcd_rig_get(&rig, "w/a"), "x");
	etcd_rig_down(&rig);
}
