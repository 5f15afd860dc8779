#include "coord/janitor/pin.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct holder {
	struct pin *pin; /* NULL: released */
	int64_t revision;
	unsigned lost, troubles;
	enum pl_code why, end;
} h;

static void on_note(void *ctx, const struct pin_note *note)
{
	struct holder *me = ctx;

	switch (note->what) {
	case PIN_HELD:
		T_EQ(me->revision, 0);
		me->revision = note->revision;
		break;
	case PIN_LOST:
		me->lost++;
		me->why = note->err->code;
		break;
	case PIN_TROUBLE:
		me->troubles++;
		break;
	case PIN_RELEASED:
		me->end = note->err == NULL ? PL_OK : note->err->code;
		me->pin = NULL;
		break;
	}
}

static void run(uint64_t ms)
{
	kit_until(&kit, kit.now_ms + ms);
}

static enum pl_code take(struct kv *kv, const char *name)
{
	struct pin_opts opts = {.name = pl_span_str(name),
	                        .by = PL_SPAN_LIT("tester"),
	                        .why = PL_SPAN_LIT("fsck"),
	                        .until_wall_ms = 1000,
	                        .seed = 5};

	memset(&h, 0, sizeof h);
	return pin_open(kv, &opts, on_note, &h, &h.pin, &kit.err);
}

T_CASE(held_until_released)
{
	kit_open(&kit, NULL);
	(void)kit_put(&kit, "a", "1");
	T_OK(take(kit.kv, "fsck"), &kit.err);
	run(100);
	T_TRUE(h.revision > 0);
	T_EQ(kit_get_at(&kit, kv_prefix(kit_key("/pins/")), 0), PL_OK);
	T_STR(kit_show(&kit), "/pins/fsck={\"v\":1,\"by\":\"tester\",\"why\":\"fsck\","
	                      "\"until\":\"1970-01-01T00:00:01.000Z\"}");
	T_EQ(kit.result.get.records[0].create_revision, h.revision);
	T_TRUE(kit.result.get.records[0].lease != 0);
	run(600000);
	T_EQ(kit_get_at(&kit, kv_prefix(kit_key("/pins/")), 0), PL_OK);
	T_EQ(kit.result.get.count, 1);
	pin_release(h.pin);
	run(1000);
	T_TRUE(h.pin == NULL && h.end == PL_OK && h.lost == 0);
	T_EQ(kit_get_at(&kit, kv_prefix(kit_key("/pins/")), 0), PL_OK);
	T_EQ(kit.result.get.count, 0);
	kit_close(&kit);
}

T_CASE(a_name_that_is_taken)
{
	kit_open(&kit, NULL);
	(void)kit_put(&kit, "/pins/fsck", "by hand");
	T_OK(take(kit.kv, "fsck"), &kit.err);
	run(100);
	T_EQ(h.lost, 1);
	T_EQ(h.why, PL_EXISTS);
	pin_release(h.pin);
	run(1000);
	T_TRUE(h.pin == NULL);
	T_CODE(take(kit.kv, "no/name"), PL_INVALID, &kit.err);
	kit_close(&kit);
}

T_CASE(the_lease_is_lost)
{
	kit_open(&kit, NULL);
	T_OK(take(kit.kv, "fsck"), &kit.err);
	run(100);
	T_EQ(kit_get_at(&kit, kv_prefix(kit_key("/pins/")), 0), PL_OK);
	T_EQ(kit_lease(&kit, KV_LEASE_REVOKE, kit.result.get.records[0].lease, 0), PL_OK);
	run(20000);
	T_EQ(h.lost, 1);
	pin_release(h.pin);
	run(1000);
	T_TRUE(h.pin == NULL);
	kit_close(&kit);
}

/* Released at any moment, with lost answers: it ends, and the key is gone. */
T_CASE(faults)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .per_mille = 300},
		{.what = FAULTY_APPLY_LATE,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 4000},
		{.what = FAULTY_REFUSE, .per_mille = 200, .code = PL_UNAVAIL},
		{.what = FAULTY_REFUSE, .per_mille = 100, .code = PL_BUSY},
	};

	for (uint64_t seed = 1; seed < 100; seed++) {
		struct kv *faulty;

		kit_open(&kit, NULL);
		T_OK(memkv_session(kit.mem, &faulty, NULL), NULL);
		T_OK(faulty_open(faulty, seed, rules, 4, &faulty, NULL), NULL);
		T_OK(take(faulty, "fsck"), &kit.err);
		run(seed * 100);
		if (h.revision != 0 && h.lost == 0) {
			T_EQ(kit_get_at(&kit, kv_prefix(kit_key("/pins/")), 0), PL_OK);
			T_EQ(kit.result.get.count, 1);
			T_EQ(kit.result.get.records[0].create_revision, h.revision);
		}
		pin_release(h.pin);
		run(60000);
		T_TRUE(h.pin == NULL);
		T_EQ(kit_get_at(&kit, kv_prefix(kit_key("/pins/")), 0), PL_OK);
		T_EQ(kit.result.get.count, 0);
		kit_close_session(&kit, faulty);
		kit_close(&kit);
	}
}

static enum pl_code open_and_release(void)
{
	enum pl_code code = take(kit.kv, "fsck");

	if (code != PL_OK)
		return code;
	run(10);
	pin_release(h.pin);
	run(10000);
	T_TRUE(h.pin == NULL);
	return PL_OK;
}

T_CASE(torture)
{
	kit_open(&kit, NULL);
	t_torture(open_and_release, true);
	kit_close(&kit);
}
