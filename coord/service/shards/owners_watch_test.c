/* Owners over the store in memory: listed, watched, listed again, and no memory. */
#include <stdarg.h>
#include <stdio.h>

#include "coord/service/shards/owners_watch.h"
#include "store/base/fault.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct owners_watch *owners;
static char story[4096];
static size_t story_len;
static bool stopped;

PL_PRINTF(1, 2) static void print_message(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	story_len +=
		(size_t)vsnprintf(story + story_len, sizeof story - story_len, fmt, args);
	va_end(args);
}

static const char *told(void)
{
	static char text[sizeof story];

	memcpy(text, story, sizeof text);
	story_len = 0;
	story[0] = 0;
	return text;
}

static void on_note(void *ctx, const struct owners_watch_note *note)
{
	T_TRUE(ctx == &kit && !stopped);
	switch (note->what) {
	case OWNERS_WATCH_SYNCED:
		print_message("synced(%zu) ", owners_watch_count(owners));
		break;
	case OWNERS_WATCH_CHANGED:
		T_TRUE(owners_watch_get(owners, note->key) == note->entry);
		print_message(PL_SPAN_FMT "=%s ", PL_SPAN_ARG(note->key),
		              note->entry == NULL      ? "gone"
		              : note->entry->malformed ? "malformed"
		                                       : note->entry->owner.shard);
		break;
	case OWNERS_WATCH_LOST:
		print_message("lost(%s) ", pl_code_name(note->err->code));
		break;
	case OWNERS_WATCH_TROUBLE:
		print_message("trouble(%s) ", pl_code_name(note->err->code));
		break;
	case OWNERS_WATCH_STOPPED:
		stopped = true;
		break;
	}
}

static void run(uint64_t ms)
{
	kit_until(&kit, kit.now_ms + ms);
}

static void begin(void)
{
	stopped = false;
	kit_open(&kit, NULL);
	(void)kit_put(&kit, "/partitions/0000/owner", "{\"v\":1,\"shard\":\"a\"}");
	(void)kit_put(&kit, "/partitions/0001/owner", "[]");
	(void)kit_put(&kit, "/partitions/x", "{\"v\":1,\"shard\":\"a\"}");
	T_EQ(owners_watch_open(kit.kv, on_note, &kit, &owners, &kit.err), PL_OK);
}

static void end(void)
{
	owners_watch_stop(owners);
	run(5000);
	T_TRUE(stopped);
	kit_close(&kit);
}

T_CASE(entries_and_their_changes_are_noted)
{
	const struct owners_watch_entry *entry;

	begin();
	run(1000);
	T_STR(told(), "synced(3) ");
	entry = owners_watch_of(owners, 0);
	T_TRUE(entry != NULL && entry->is_partition && !entry->malformed);
	T_STR(entry->owner.shard, "a");
	T_TRUE(owners_watch_of(owners, 1)->malformed &&
	       owners_watch_of(owners, 1)->is_partition);
	T_TRUE(owners_watch_of(owners, 2) == NULL);
	entry = owners_watch_get(owners, PL_SPAN_LIT("/partitions/x"));
	T_TRUE(!entry->is_partition && entry->malformed);
	T_EQ(owners_watch_owned(owners, PL_SPAN_LIT("a")), 1);
	(void)kit_put(&kit, "/partitions/0002/owner", "{\"v\":1,\"shard\":\"b\"}");
	(void)kit_put(&kit, "/partitions/0001/owner", "{\"v\":1,\"shard\":\"b\"}");
	(void)kit_delete(&kit, kv_key(PL_SPAN_LIT("/partitions/0000/owner")));
	(void)kit_delete(&kit, kv_key(PL_SPAN_LIT("/partitions/x")));
	run(1000);
	T_STR(told(), "/partitions/0002/owner=b /partitions/0001/owner=b "
	              "/partitions/0000/owner=gone /partitions/x=gone ");
	T_EQ(owners_watch_owned(owners, PL_SPAN_LIT("b")), 2);
	T_EQ(owners_watch_owned(owners, PL_SPAN_LIT("a")), 0);
	end();
}

T_CASE(an_epoch_is_the_create_revision)
{
	int64_t first;

	begin();
	run(1000);
	first = owners_watch_of(owners, 0)->owner.epoch;
	(void)kit_put(&kit, "/partitions/0000/owner", "{\"v\":1,\"shard\":\"b\"}");
	run(1000);
	T_EQ(owners_watch_of(owners, 0)->owner.epoch, first);
	T_TRUE(owners_watch_of(owners, 0)->mod_revision > first);
	end();
}

/* Any failing allocation is noted, and everything ends as it should. */
T_CASE(no_memory_ends_in_lost_or_goes_on)
{
	for (uint64_t nth = 1; nth < 40; nth++) {
		stopped = false;
		kit_open(&kit, NULL);
		(void)kit_put(&kit, "/partitions/0000/owner",
		              "{\"v\":1,\"shard\":\"a\"}");
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		if (owners_watch_open(kit.kv, on_note, &kit, &owners, &kit.err) !=
		    PL_OK) {
			T_EQ(kit.err.code, PL_NOMEM);
			pl_fault_reset();
			kit_close(&kit);
			continue;
		}
		run(1000);
		pl_fault_reset();
		run(20000);
		T_TRUE(strstr(story, "synced(1)") != NULL ||
		       strstr(story, "lost(out of memory)") != NULL);
		(void)told();
		end();
	}
}
