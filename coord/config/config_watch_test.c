#include "coord/config/config_edit.h"
#include "coord/config/config_watch.h"
#include "store/base/rng.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct kv *plain; /* without the faults */
static struct pl_err err;
static struct config_watch *watch;
static bool stopped;
static unsigned stop_at, notes;
static char text[8192];
static size_t text_len;

#define SAY(...)     \
	(text_len += \
	 (size_t)snprintf(text + text_len, sizeof text - text_len, __VA_ARGS__))

static void on_note(void *ctx, const struct config_note *note)
{
	static const char *const names[] = {
		[CONFIG_SYNCED] = "synced",   [CONFIG_APPLIED] = "applied",
		[CONFIG_REFUSED] = "refused", [CONFIG_LOST] = "lost",
		[CONFIG_TROUBLE] = "trouble", [CONFIG_STOPPED] = "stopped",
	};

	(void)ctx;
	T_TRUE(!stopped);
	notes++;
	if (text_len + 300 > sizeof text)
		text_len = 0;
	SAY("%s%s", text_len == 0 ? "" : " ", names[note->what]);
	if (note->what == CONFIG_APPLIED) {
		SAY(":%s=%" PRIu64, config_name_text(note->name), note->version);
		T_EQ(note->value->name, note->name);
		T_TRUE(note->value == config_watch_value(watch, note->name));
		T_EQ(note->version, config_watch_version(watch, note->name));
		T_TRUE(config_watch_refused(watch, note->name) == NULL);
	}
	if (note->what == CONFIG_REFUSED) {
		SAY(":%s=%" PRIu64 "(%s)", config_name_text(note->name), note->version,
		    note->err->msg);
		T_TRUE(note->err == config_watch_refused(watch, note->name));
	}
	if (note->what == CONFIG_LOST || note->what == CONFIG_TROUBLE)
		T_TRUE(note->err != NULL);
	if (note->what == CONFIG_STOPPED)
		stopped = true;
	else if (notes == stop_at)
		config_watch_stop(watch);
}

static void run(uint64_t now_ms)
{
	kit_until(&kit, now_ms);
}

static void begin_with(const struct faulty_rule *rules, size_t count)
{
	kit_open(&kit, NULL);
	stopped = false;
	notes = 0;
	text_len = 0;
	text[0] = 0;
	T_EQ(memkv_session(kit.mem, &plain, NULL), PL_OK);
	T_EQ(faulty_open(kit.kv, 5, rules, count, &kit.kv, NULL), PL_OK);
}

static void follow(void)
{
	T_OK(config_watch_open(kit.kv, 3, on_note, NULL, &watch, &err), &err);
}

static void end(void)
{
	if (!stopped)
		config_watch_stop(watch);
	run(kit.now_ms + 20000);
	T_TRUE(stopped);
	kit_close_session(&kit, plain);
	kit_close(&kit);
}

static const char *reports(void)
{
	run(kit.now_ms + 100);
	text_len = 0;
	return text;
}

static void check_reports(const char *want)
{
	const char *got = reports();

	T_STR(got, want);
	text[0] = 0;
}

static void put(const char *key, const char *value)
{
	struct kv *faulty = kit.kv;

	kit.kv = plain;
	(void)kit_put(&kit, key, value);
	kit.kv = faulty;
}

static void delete (const char *key)
{
	struct kv *faulty = kit.kv;

	kit.kv = plain;
	(void)kit_delete(&kit, kv_key(pl_span_str(key)));
	kit.kv = faulty;
}

static void put_version(unsigned version, const char *config)
{
	char key[64], json[256];

	(void)snprintf(key, sizeof key, "/config/coord/%010u", version);
	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":\"me\","
	               "\"why\":\"\",\"config\":%s}",
	               config);
	put(key, json);
}

static void put_current(unsigned version)
{
	char json[64];

	(void)snprintf(json, sizeof json, "{\"v\":1,\"version\":%u}", version);
	put("/config/coord/current", json);
}

static void on_edited(void *ctx, uint64_t version, const struct pl_err *why)
{
	(void)version;
	(void)why;
	*(bool *)ctx = true;
}

static void edit(enum config_name name, const char *json)
{
	struct config_edit_opts opts = {.name = name,
	                                .config = pl_span_str(json),
	                                .expect_version = -1,
	                                .seed = 9};
	bool done = false;

	T_OK(config_edit_start(plain, &opts, on_edited, &done, NULL, &err), &err);
	run(kit.now_ms + 1);
	T_TRUE(done);
}

/* So long that it would overwrite the applied value if it were parsed into the same
 * arena. */
static void put_long_drain(void)
{
	char json[2048];
	int len = snprintf(json, sizeof json,
	                   "{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\","
	                   "\"config\":{\"drain\":[");

	for (unsigned i = 0; i < 100; i++)
		len += snprintf(json + len, sizeof json - (size_t)len, "\"xxxxxx\",");
	(void)snprintf(json + len, sizeof json - (size_t)len, "\"x\"]}}");
	put("/config/shards/0000000001", json);
}

static const struct config_coord *coord(void)
{
	return &config_watch_value(watch, CONFIG_COORD)->coord;
}

T_CASE(reports_what_there_is_then_every_change)
{
	begin_with(NULL, 0);
	edit(CONFIG_COORD, "{\"settle_ms\":1}");
	edit(CONFIG_COORD, "{\"settle_ms\":2}");
	follow();
	T_EQ(coord()->settle_ms, 300);
	check_reports("applied:coord=2 synced");
	T_EQ(coord()->settle_ms, 2);
	edit(CONFIG_COORD, "{\"settle_ms\":3}");
	edit(CONFIG_SHARDS, "{\"drain\":[\"b\",\"a\"]}");
	check_reports("applied:coord=3 applied:shards=1");
	T_EQ(coord()->settle_ms, 3);
	T_TRUE(config_drains(&config_watch_value(watch, CONFIG_SHARDS)->shards,
	                     PL_SPAN_LIT("a")));
	edit(CONFIG_WEIGHTS, "{\"factors\":{\"a\":7}}");
	check_reports("applied:weights=1");
	T_EQ(config_factor(&config_watch_value(watch, CONFIG_WEIGHTS)->weights,
	                   PL_SPAN_LIT("a")),
	     7);
	put_long_drain();
	check_reports("refused:shards=1(version 1: config.drain: 'xxxxxx' stands twice)");
	T_TRUE(config_drains(&config_watch_value(watch, CONFIG_SHARDS)->shards,
	                     PL_SPAN_LIT("a")));
	put("/config/other/current", "{}");
	put("/config/coord/nonsense", "{}");
	check_reports("");
	end();
}

T_CASE(nothing_there)
{
	begin_with(NULL, 0);
	follow();
	check_reports("synced");
	T_EQ(config_watch_version(watch, CONFIG_COORD), 0);
	T_EQ(coord()->handover_ms, 2000);
	end();
}

T_CASE(an_invalid_version_is_reported_and_not_applied)
{
	begin_with(NULL, 0);
	edit(CONFIG_COORD, "{\"settle_ms\":1}");
	follow();
	check_reports("applied:coord=1 synced");
	put("/config/coord/current", "7");
	check_reports("refused:coord=0(current: document: want an object, got a number)");
	T_EQ(coord()->settle_ms, 1);
	put_current(1);
	check_reports("applied:coord=1");
	put_current(5);
	check_reports("refused:coord=5(version 5: is not there)");
	put_version(5, "{\"handover_ms\":0}");
	check_reports(
		"refused:coord=5(version 5: config.handover_ms: want 1 to 60000, got 0)");
	T_EQ(config_watch_version(watch, CONFIG_COORD), 1);
	T_EQ(coord()->settle_ms, 1);
	put_version(5, "{\"handover_ms\":7}");
	check_reports("applied:coord=5");
	T_EQ(coord()->handover_ms, 7);
	put_version(4, "{}"); /* not wanted */
	check_reports("");
	put_current(4); /* written before current named it */
	check_reports("applied:coord=4");
	T_EQ(coord()->handover_ms, 2000);
	put("/config/coord/0000000004", "?");
	check_reports("refused:coord=4(version 4: JSON, line 1, column 1: want a value)");
	delete ("/config/coord/current");
	check_reports("applied:coord=0");
	end();
}

T_CASE(a_store_restored_from_a_backup)
{
	struct memkv_snapshot *snapshot = NULL;

	begin_with(NULL, 0);
	edit(CONFIG_COORD, "{\"settle_ms\":1}");
	T_OK(memkv_save(kit.mem, &snapshot, &err), &err);
	follow();
	check_reports("applied:coord=1 synced");
	edit(CONFIG_COORD, "{\"settle_ms\":2}");
	edit(CONFIG_SHARDS, "{\"drain\":[\"a\"]}");
	check_reports("applied:coord=2 applied:shards=1");
	T_OK(memkv_restore(kit.mem, snapshot, &err), &err);
	run(kit.now_ms + 30000);
	check_reports("lost applied:coord=1 applied:shards=0 synced");
	T_EQ(coord()->settle_ms, 1);
	memkv_snapshot_free(snapshot);
	end();
}

/* Reads fail and watches end: in the end the current version is applied. */
T_CASE(through_faults)
{
	const struct faulty_rule rules[] = {
		{.what = FAULTY_REFUSE,
	         .ops = 1u << KV_GET,
	         .per_mille = 300,
	         .code = PL_BUSY},
		{.what = FAULTY_REFUSE,
	         .ops = 1u << KV_GET,
	         .per_mille = 300,
	         .code = PL_UNAVAIL},
		{.what = FAULTY_MERGE_NOTES, .per_mille = 700},
		{.what = FAULTY_END_WATCH, .per_mille = 100, .code = PL_COMPACTED},
		{.what = FAULTY_SLOW_NOTE, .per_mille = 300, .delay_max_ms = 200},
		{.what = FAULTY_SLOW_ANSWER, .per_mille = 300, .delay_max_ms = 200},
	};
	struct pl_rng rng;
	char json[64];

	pl_rng_init(&rng, t_seed());
	begin_with(rules, 5);
	put_version(1, "{\"settle_ms\":1}");
	put_version(2, "{\"settle_ms\":2}");
	put_version(3, "{\"settle_ms\":-3}");
	follow();
	for (unsigned i = 0; i < 200; i++) {
		unsigned version = (unsigned)pl_rng_between(&rng, 1, 4);

		put_current(version);
		if (pl_rng_chance(&rng, 1, 4)) {
			(void)snprintf(json, sizeof json, "{\"settle_ms\":%u}", i);
			put_version(2, json);
		}
		run(kit.now_ms + pl_rng_below(&rng, 3000));
	}
	put_current(1);
	faulty_pause(kit.kv, true);
	run(kit.now_ms + 60000);
	T_EQ(config_watch_version(watch, CONFIG_COORD), 1);
	T_EQ(coord()->settle_ms, 1);
	T_TRUE(config_watch_refused(watch, CONFIG_COORD) == NULL);
	T_REACHED(faulty_count(kit.kv, FAULTY_REFUSE) > 50);
	end();
}

T_CASE(stopped_from_any_note)
{
	for (stop_at = 1; stop_at < 8; stop_at++) {
		begin_with(NULL, 0);
		edit(CONFIG_COORD, "{\"settle_ms\":1}");
		edit(CONFIG_SHARDS, "{\"drain\":[\"a\"]}");
		follow();
		put_current(9);
		run(kit.now_ms + 100);
		put_current(1);
		end();
	}
	stop_at = 0;
}

T_CASE(stopped_at_every_step)
{
	for (unsigned steps = 0; steps < 12; steps++) {
		begin_with(NULL, 0);
		edit(CONFIG_COORD, "{\"settle_ms\":1}");
		put_version(2, "{}");
		put_current(2);
		follow();
		for (unsigned i = 0; i < steps; i++)
			(void)memkv_step(kit.mem, kit.now_ms, 1);
		put_current(1);
		end();
	}
}

/* The store may run out of memory too. */
static void put_current_somehow(unsigned version)
{
	char json[64];
	struct kv *faulty = kit.kv;
	struct kv_req req;

	(void)snprintf(json, sizeof json, "{\"v\":1,\"version\":%u}", version);
	req = kv_op_put(PL_SPAN_LIT("/config/coord/current"), pl_span_str(json));
	kit.kv = plain;
	while (kit_call(&kit, &req) != PL_OK)
		;
	kit.kv = faulty;
}

T_CASE(memory_may_run_out)
{
	bool fired = true;

	for (uint64_t nth = 1; fired; nth++) {
		enum pl_code code;

		begin_with(NULL, 0);
		put_version(7, "{\"settle_ms\":7}");
		put_version(8, "{\"settle_ms\":8}");
		put_current(7);
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = config_watch_open(kit.kv, 3, on_note, NULL, &watch, &err);
		run(kit.now_ms + 1000);
		put_current_somehow(8);
		run(kit.now_ms + 20000);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		run(kit.now_ms + 60000);
		if (code == PL_OK) {
			T_EQ(config_watch_version(watch, CONFIG_COORD), 8);
			T_EQ(coord()->settle_ms, 8);
		} else {
			T_EQ(code, PL_NOMEM);
			stopped = true;
		}
		end();
	}
}
