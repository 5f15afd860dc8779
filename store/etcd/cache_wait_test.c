/* Waits of a cache over a real etcd: other keys change, those of the cache do not. */
#include "store/kv/cache/cache.h"
#include "store/kv/keys.h"
#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"

static struct etcd_rig rig;
static struct cache *cache;
static bool is_synced, is_stopped, has_ended;
static int64_t reached;
static enum pl_code ended;

static void on_note(void *ctx, const struct cache_note *note)
{
	(void)ctx;
	is_synced = is_synced || note->type == CACHE_SYNCED;
	is_stopped = is_stopped || note->type == CACHE_STOPPED;
}

static void on_end(void *ctx, int64_t revision, const struct pl_err *err)
{
	(void)ctx;
	has_ended = true;
	reached = revision;
	ended = err == NULL ? PL_OK : err->code;
}

static void wait_for(int64_t revision)
{
	static struct cache_wait wait;

	has_ended = false;
	T_OK(cache_wait(cache, &wait, revision, 60000, on_end, NULL, &rig.err), &rig.err);
	etcd_rig_until(&rig, &has_ended);
}

static void open_cache(struct pl_span tick, struct cache_listener *listener)
{
	const struct cache_opts opts = {
		.list = {.keys = kv_prefix(PL_SPAN_LIT("p/")), .check_ms = 600000},
		.tick = tick};

	T_OK(cache_open(rig.kv, &opts, &cache, &rig.err), &rig.err);
	cache_listen(cache, listener, on_note, NULL);
	etcd_rig_until(&rig, &is_synced);
}

static void stop_cache(void)
{
	cache_stop(cache);
	etcd_rig_until(&rig, &is_stopped);
}

/* The check of the cache itself, every ten minutes here, has no part in it. */
T_CASE_SECONDS(a_quiet_prefix_gets_to_the_revision_of_the_store, 60)
{
	const char *args[] = {"--experimental-watch-progress-notify-interval=500ms",
	                      NULL};
	const struct etcd_launch_opts launch = {.members = 1, .extra_args = args};
	struct cache_listener listener;
	int64_t last = 0;

	etcd_rig_up(&rig, &launch, NULL);
	(void)etcd_rig_put(&rig, "p/a", "1");
	open_cache((struct pl_span){0}, &listener);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 20; i++)
			last = etcd_rig_put(&rig, "q/a", "x");
		wait_for(round == 0 ? last : 0);
		T_EQ(ended, PL_OK);
		T_TRUE(reached >= last && cache_revision(cache) >= last);
	}
	wait_for(last + 1000);
	T_EQ(ended, PL_FUTURE);
	T_EQ(cache_count(cache), 1);
	stop_cache();
	etcd_rig_down(&rig);
}

/* The timed reports would come after the end of this case. */
T_CASE_SECONDS(a_tick_does_not_wait_for_a_timed_report, 60)
{
	const char *args[] = {"--experimental-watch-progress-notify-interval=10m", NULL};
	const struct etcd_launch_opts launch = {.members = 1, .extra_args = args};
	struct cache_listener listener;
	int64_t last = 0;

	etcd_rig_up(&rig, &launch, NULL);
	(void)etcd_rig_put(&rig, "p/a", "1");
	open_cache(PL_SPAN_LIT("p/tick"), &listener);
	for (int round = 0; round < 10; round++) {
		last = etcd_rig_put(&rig, "q/a", "x");
		wait_for(round % 2 == 0 ? last : 0);
		T_EQ(ended, PL_OK);
		T_TRUE(reached >= last && cache_revision(cache) >= last);
	}
	T_EQ(cache_count(cache), 1);
	if (!kv_limits(rig.kv).progress) /* as that of Debian 12 */
		T_STR(etcd_rig_get(&rig, "p/tick"), "{\"v\":1}");
	wait_for(last + 1000);
	T_EQ(ended, PL_FUTURE);
	stop_cache();
	etcd_rig_down(&rig);
}
