/* Watches in edge cases, and stores that come back from a backup or lose memory. */
#include "store/base/fault.h"
#include "store/memkv/impl.h"
#include "tests/support/store/memkv/mvcc_audit.h"
#include "tests/support/store/memkv/story.h"

static struct kit_watch watch[2];

T_CASE(progress_follows_all_earlier_events)
{
	kit_open(&kit, NULL);
	T_EQ(kit_watch(&kit, &watch[0], &(struct kv_watch_req){.keys = KEY("a")}), PL_OK);
	start_put(kit.kv, "a", named("put"), NULL);
	start_put(kit.kv, "b", named("put"), NULL);
	T_EQ(kv_progress(kit.kv, watch[0].watch, 0, &kit.err), PL_OK);
	start_put(kit.kv, "a", named("put"), NULL);
	kit_run(&kit, 0);
	T_STR(kit_told(&watch[0]), "ready@1 put a=1@2 progress@3 put a=1@4");
	kit_close(&kit);
}

T_CASE(a_store_without_progress_shows_events_only)
{
	const struct memkv_opts opts = {.no_progress = true};

	kit_open(&kit, NULL);
	T_TRUE(kv_limits(kit.kv).progress);
	kit_close(&kit);
	kit_open(&kit, &opts);
	T_TRUE(!kv_limits(kit.kv).progress);
	T_EQ(kit_watch(&kit, &watch[0], &(struct kv_watch_req){.keys = KEY("a")}), PL_OK);
	T_TRUE(kit_put(&kit, "b", "1") > 0);
	T_EQ(kv_progress(kit.kv, watch[0].watch, 0, &kit.err), PL_OK);
	T_TRUE(kit_put(&kit, "a", "1") > 0);
	kit_run(&kit, 100000);
	T_STR(kit_told(&watch[0]), "ready@1 put a=1@3");
	kv_unwatch(kit.kv, watch[0].watch);
	T_EQ(kv_progress(kit.kv, watch[0].watch, 0, &kit.err), PL_CANCELED);
	kit_close(&kit);
}

T_CASE(watch_from_a_future_revision_waits)
{
	kit_open(&kit, NULL);
	T_EQ(kit_watch(&kit, &watch[0],
	               &(struct kv_watch_req){.keys = KEY("a"), .from_revision = 4}),
	     PL_OK);
	for (int i = 0; i < 4; i++)
		(void)kit_put(&kit, "a", (const char *[]){"1", "2", "3", "4"}[i]);
	T_STR(kit_told(&watch[0]), "ready@3 put a=3@4 put a=4@5");
	kit_close(&kit);
}

static struct kit_watch *to_unwatch;

static void on_note_unwatch(void *ctx, const struct kv_watch_note *note)
{
	kit_on_note(ctx, note);
	if (note->what == KV_WATCH_EVENTS && to_unwatch->watch != NULL)
		kv_unwatch(kit.kv, to_unwatch->watch);
}

T_CASE(a_watch_may_end_itself_while_it_reads_the_past)
{
	struct kv_watch_req req = {.keys = KEY("a"), .from_revision = 2};

	kit_open(&kit, NULL);
	for (int i = 0; i < 3; i++)
		(void)kit_put(&kit, "a", "1");
	watch[0].kit = &kit;
	to_unwatch = &watch[0];
	T_EQ(kv_watch(kit.kv, &req, on_note_unwatch, &watch[0], &watch[0].watch,
	              &kit.err),
	     PL_OK);
	kit_run(&kit, 0);
	T_STR(kit_told(&watch[0]), "ready@1 put a=1@2 end(canceled)");
	kit_close(&kit);
}

static void on_note_compact(void *ctx, const struct kv_watch_note *note)
{
	struct kv_req req = {.op = KV_COMPACT, .compact = {.revision = 4}};

	kit_on_note(ctx, note);
	if (note->what == KV_WATCH_EVENTS && note->revision == 2)
		T_EQ(kv_start(kit.kv, &req, 1000, on_named, named("compact"), NULL,
		              &kit.err),
		     PL_OK);
}

T_CASE(a_compaction_overtakes_a_watch_that_reads_the_past)
{
	struct kv_watch_req req = {.keys = KEY("a"), .from_revision = 2};

	kit_open(&kit, NULL);
	for (int i = 0; i < 4; i++)
		(void)kit_put(&kit, "a", "1");
	watch[0].kit = &kit;
	T_EQ(kv_watch(kit.kv, &req, on_note_compact, &watch[0], &watch[0].watch,
	              &kit.err),
	     PL_OK);
	kit_run(&kit, 0);
	T_EQ(watch[0].note[2].compact_revision, 4);
	T_STR(kit_told(&watch[0]), "ready@1 put a=1@2 end(revision compacted)");
	kit_close(&kit);
}

static void on_note_only(void *ctx, const struct kv_watch_note *note)
{
	*(enum pl_code *)ctx = note->err == NULL ? PL_OK : note->err->code;
}

T_CASE(a_watch_without_memory_for_its_past_ends)
{
	struct kv_watch_req req = {.keys = KEY("a"), .from_revision = 2};
	struct kv_watch *started;
	enum pl_code code = PL_OK;

	kit_open(&kit, NULL);
	(void)kit_put(&kit, "a", "1");
	T_EQ(kv_watch(kit.kv, &req, on_note_only, &code, &started, &kit.err), PL_OK);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	kit_run(&kit, 0);
	T_EQ(code, PL_NOMEM);
	kit_close(&kit);
}

/* -- backups ----------------------------------------------------------- */

static void fill(void)
{
	struct kv_req put = kv_op_put_leased(S("l"), S("1"), 5);

	(void)kit_put(&kit, "a", "1");
	(void)kit_put(&kit, "b", "1");
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 5, 10), PL_OK);
	T_EQ(kit_call(&kit, &put), PL_OK);
	(void)kit_delete(&kit, KEY("b"));
	T_EQ(kit_compact(&kit, 3), PL_OK);
}

T_CASE(restored_store_equals_its_copy)
{
	struct memkv_snapshot *snapshot;

	kit_open(&kit, NULL);
	fill();
	T_EQ(memkv_save(kit.mem, &snapshot, &kit.err), PL_OK);
	T_EQ(kit_watch(&kit, &watch[0], &(struct kv_watch_req){.keys = kv_all_keys()}),
	     PL_OK);
	for (int i = 0; i < 3; i++)
		(void)kit_put(&kit, "a", "2");
	T_EQ(kit_compact(&kit, 8), PL_OK);
	T_EQ(kit_lease(&kit, KV_LEASE_REVOKE, 5, 0), PL_OK);
	(void)kit_told(&watch[0]);
	T_EQ(memkv_restore(kit.mem, snapshot, &kit.err), PL_OK);
	mvcc_audit(kit.mem->mvcc);
	memkv_snapshot_free(snapshot);
	T_EQ(kit_get_at(&kit, kv_all_keys(), 0), PL_OK);
	T_STR(kit_show(&kit), "a=1 l=1");
	T_EQ(kit.result.header.revision, 5);
	T_EQ(kit_get_at(&kit, kv_all_keys(), 3), PL_OK);
	T_STR(kit_show(&kit), "a=1 b=1");
	T_EQ(kit_get_at(&kit, kv_all_keys(), 2), PL_COMPACTED);
	T_EQ(kit_watch(&kit, &watch[1],
	               &(struct kv_watch_req){.keys = kv_all_keys(), .from_revision = 3}),
	     PL_OK);
	kit_run(&kit, 0);
	T_STR(kit_told(&watch[1]), "ready@2 put b=1@3 put l=1@4 del b@5");
	/* The old watch saw revision 9, but was told up to 6. */
	T_EQ(kit_put(&kit, "a", "3"), 6);
	T_STR(kit_told(&watch[0]), "");
	kit_run(&kit, 10000);
	T_STR(kit_told(&watch[1]), "put a=3@6 del l@7");
	memkv_reconnect(kit.kv);
	kit_run(&kit, 10000);
	T_STR(kit_told(&watch[0]), "end(store rewound or replaced)");
	T_STR(kit_told(&watch[1]), "ready@7");
	kit_close(&kit);
}

T_CASE(a_broken_connection_loses_answers_but_no_events)
{
	kit_open(&kit, NULL);
	(void)start_watch(kit.kv, kv_all_keys(), named("w"));
	start_put(kit.kv, "a", named("put"), NULL);
	T_EQ(kv_get(kit.kv, &(struct kv_get){.keys = KEY("a")}, 1000, on_named,
	            named("get"), NULL, &kit.err),
	     PL_OK);
	memkv_reconnect(kit.kv);
	start_put(kit.kv, "b", named("again"), NULL);
	kit_run(&kit, 0);
	T_STR(story, "w:events@2 put:outcome unknown get:service unavailable w:ready@2 "
	             "w:events@3 again:ok");
	kit_close(&kit);
}

/* -- memory ------------------------------------------------------------ */

static bool survive(uint64_t nth)
{
	struct memkv_snapshot *snapshot = NULL;
	struct memkv *mem = NULL;
	struct kv *kv = NULL;
	enum pl_code code;
	bool fired;

	kit_open(&kit, NULL);
	fill();
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	code = memkv_save(kit.mem, &snapshot, &kit.err);
	if (code == PL_OK)
		code = memkv_restore(kit.mem, snapshot, &kit.err);
	if (code == PL_OK)
		code = memkv_new(NULL, &mem, &kit.err);
	if (code == PL_OK)
		code = memkv_session(mem, &kv, &kit.err);
	if (code == PL_OK)
		code = kit_watch(&kit, &watch[0],
		                 &(struct kv_watch_req){.keys = kv_all_keys()});
	if (code == PL_OK)
		code = kv_progress(kit.kv, watch[0].watch, 0, &kit.err);
	fired = pl_fault_fired(PL_FAULT_ALLOC);
	pl_fault_arm(PL_FAULT_ALLOC, 0);
	T_EQ(code, fired ? PL_NOMEM : PL_OK);
	mvcc_audit(kit.mem->mvcc);
	if (kv != NULL) {
		bool closed = false;

		kv_close(kv, kit_on_closed, &closed);
		memkv_run(mem, 0);
	}
	memkv_free(mem);
	memkv_snapshot_free(snapshot);
	T_EQ(kit_get_at(&kit, kv_all_keys(), 0), PL_OK);
	T_STR(kit_show(&kit), "a=1 l=1");
	kit_close(&kit);
	return !fired;
}

T_CASE(no_allocation_that_fails_leaves_a_trace)
{
	uint64_t nth = 1;

	while (!survive(nth))
		nth++;
	T_TRUE(nth > 15);
}
