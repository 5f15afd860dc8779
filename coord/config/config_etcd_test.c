/* The same with a real etcd: what is written is applied, listed and rolled back. */
#include "coord/config/config_edit.h"
#include "coord/config/config_read.h"
#include "coord/config/config_watch.h"
#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"

static struct etcd_rig rig;
static struct pl_err err;
static struct config_watch *watch;
static bool done, synced, applied, refused, stopped;
static uint64_t version;
static size_t count;

static void on_note(void *ctx, const struct config_note *note)
{
	(void)ctx;
	synced = synced || note->what == CONFIG_SYNCED;
	applied = applied || note->what == CONFIG_APPLIED;
	refused = refused || note->what == CONFIG_REFUSED;
	stopped = stopped || note->what == CONFIG_STOPPED;
}

static void on_edited(void *ctx, uint64_t number, const struct pl_err *why)
{
	(void)ctx;
	T_STR(why == NULL ? "" : why->msg, "");
	version = number;
	done = true;
}

static void on_found(void *ctx, const struct config_found *found,
                     const struct pl_err *why)
{
	(void)ctx;
	T_TRUE(why == NULL);
	count = found->count;
	done = true;
}

static uint64_t edit(const char *json)
{
	struct config_edit_opts opts = {.name = CONFIG_COORD,
	                                .config = pl_span_str(json),
	                                .by = PL_SPAN_LIT("test"),
	                                .expect_version = -1};

	done = false;
	T_OK(json == NULL
	             ? config_rollback_start(rig.kv, &opts, on_edited, NULL, NULL, &err)
	             : config_edit_start(rig.kv, &opts, on_edited, NULL, NULL, &err),
	     &err);
	etcd_rig_until(&rig, &done);
	return version;
}

static uint64_t settle_ms(void)
{
	applied = false;
	return config_watch_value(watch, CONFIG_COORD)->coord.settle_ms;
}

T_CASE_SECONDS(over_etcd, 60)
{
	struct config_read_opts history = {.name = CONFIG_COORD};

	etcd_rig_up(&rig, NULL, NULL);
	T_OK(config_watch_open(rig.kv, 1, on_note, NULL, &watch, &err), &err);
	etcd_rig_until(&rig, &synced);
	T_EQ(edit("{\"settle_ms\":1}"), 1);
	etcd_rig_until(&rig, &applied);
	T_EQ(settle_ms(), 1);
	T_EQ(edit("{\"settle_ms\":2}"), 2);
	etcd_rig_until(&rig, &applied);
	T_EQ(settle_ms(), 2);
	T_EQ(edit("{ \"settle_ms\": 2 }"), 2);
	(void)etcd_rig_put(&rig, "/config/coord/current", "{\"v\":1,\"version\":7}");
	etcd_rig_until(&rig, &refused);
	(void)etcd_rig_put(&rig, "/config/coord/current", "{\"v\":1,\"version\":1}");
	etcd_rig_until(&rig, &applied);
	T_EQ(settle_ms(), 1);
	T_EQ(edit("{\"settle_ms\":4}"), 3);
	etcd_rig_until(&rig, &applied);
	T_EQ(settle_ms(), 4);
	T_EQ(edit(NULL), 4);
	etcd_rig_until(&rig, &applied);
	T_EQ(settle_ms(), 2);
	done = false;
	T_OK(config_history_start(rig.kv, &history, on_found, NULL, NULL, &err), &err);
	etcd_rig_until(&rig, &done);
	T_EQ(count, 4);
	config_watch_stop(watch);
	etcd_rig_until(&rig, &stopped);
	etcd_rig_down(&rig);
}
