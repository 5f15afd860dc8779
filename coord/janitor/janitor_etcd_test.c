/* The same with a real etcd: what can be read after a compaction, and that etcd judges
 * the compares of an election as memkv does. */
#include "coord/janitor/janitor.h"
#include "coord/janitor/pin.h"
#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"

enum { KEEP = 100, LEASE = 500 };

static struct etcd_rig rig;
static struct elect *elect;
static struct janitor *janitor;
static int64_t pinned, want;
static bool leads, steps_down, elect_stopped, is_pinned, released, janitor_stopped;
static bool compacted, removed;

static void on_elect(void *ctx, const struct elect_note *note)
{
	(void)ctx;
	leads = leads || note->what == ELECT_LEAD;
	steps_down = steps_down || note->what == ELECT_STEP_DOWN;
	elect_stopped = note->what == ELECT_STOPPED;
}

static void on_pin(void *ctx, const struct pin_note *note)
{
	(void)ctx;
	if (note->what == PIN_HELD)
		pinned = note->revision;
	is_pinned = pinned != 0;
	released = note->what == PIN_RELEASED;
}

static void on_janitor(void *ctx, const struct janitor_note *note)
{
	(void)ctx;
	if (note->what == JANITOR_COMPACTED)
		compacted = note->revision >= want;
	removed = removed || note->what == JANITOR_REMOVED;
	janitor_stopped = note->what == JANITOR_STOPPED;
}

static int64_t writes(unsigned count)
{
	int64_t revision = 0;

	for (unsigned i = 0; i < count; i++)
		revision = etcd_rig_put(&rig, "x", "1");
	return revision;
}

static enum pl_code read_at(int64_t revision)
{
	struct kv_req req = kv_op_get(kv_key(PL_SPAN_LIT("x")));

	req.get.revision = revision;
	return etcd_rig_call(&rig, &req, ETCD_RIG_TIMEOUT_MS, NULL);
}

static void begin(void)
{
	struct elect_opts opts = {.role = "janitor", .id = PL_SPAN_LIT("s0"), .seed = 3};
	struct kv_req grant = {.op = KV_LEASE_GRANT,
	                       .lease = {.id = LEASE, .ttl_s = 1000}};
	struct kv_req record =
		kv_op_put_leased(PL_SPAN_LIT("/shards/s0"), PL_SPAN_LIT("{}"), LEASE);
	struct config_value value;

	etcd_rig_up(&rig, NULL, NULL);
	T_OK(elect_open(rig.kv, &opts, on_elect, NULL, &elect, NULL), NULL);
	T_OK(etcd_rig_call(&rig, &grant, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
	T_OK(etcd_rig_call(&rig, &record, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
	elect_session(elect, LEASE, UINT64_MAX);
	elect_campaign(elect, true, 0);
	etcd_rig_until(&rig, &leads);
	T_OK(janitor_open(rig.kv, elect, 3, on_janitor, NULL, &janitor, NULL), NULL);
	config_default(CONFIG_COORD, &value);
	value.coord.janitor.keep_revisions = KEEP;
	value.coord.janitor.interval_ms = 1000;
	janitor_config(janitor, &value.coord);
}

static void end(void)
{
	janitor_stop(janitor);
	etcd_rig_until(&rig, &janitor_stopped);
	elect_stop(elect, true);
	etcd_rig_until(&rig, &elect_stopped);
	T_TRUE(steps_down);
	T_TRUE(etcd_rig_get(&rig, "/leader/janitor") == NULL);
	etcd_rig_down(&rig);
}

T_CASE_SECONDS(pins_and_garbage, 60)
{
	struct pin_opts opts = {.name = PL_SPAN_LIT("fsck"),
	                        .by = PL_SPAN_LIT("test"),
	                        .why = PL_SPAN_LIT("reads"),
	                        .seed = 9};
	struct pin *pin;

	begin();
	T_STR(etcd_rig_get(&rig, "/leader/janitor"), "{\"v\":1,\"shard\":\"s0\"}");
	(void)writes(10);
	T_OK(pin_open(rig.kv, &opts, on_pin, NULL, &pin, &rig.err), &rig.err);
	etcd_rig_until(&rig, &is_pinned);
	(void)writes(300);
	(void)etcd_rig_put(&rig, "/partitions/0003/owner", "unowned");
	want = pinned - 1;
	janitor_lead(janitor, true);
	etcd_rig_until(&rig, &compacted);
	T_OK(read_at(pinned), &rig.err);
	T_CODE(read_at(pinned - 2), PL_COMPACTED, &rig.err);
	etcd_rig_until(&rig, &removed);
	T_TRUE(etcd_rig_get(&rig, "/partitions/0003/owner") == NULL);
	pin_release(pin);
	etcd_rig_until(&rig, &released);
	compacted = false;
	want = pinned + 1;
	etcd_rig_until(&rig, &compacted);
	T_CODE(read_at(pinned), PL_COMPACTED, &rig.err);
	end();
}
