#include <stdarg.h>
#include <stdio.h>

#include "coord/meta/meta.h"
#include "store/base/fault.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { STORY_SIZE = 4096 };

static const char key[] = "/placet/meta";
static struct kit kit;

struct user {
	struct kv *kv;
	struct meta_watch *watch;
	struct meta meta;
	bool stopped;
	char story[STORY_SIZE];
	size_t story_len;
	char why[PL_ERR_MSG_SIZE];
	unsigned stop_at, notes;
};

static struct user users[2];

PL_PRINTF(2, 3) static void say(struct user *user, const char *fmt, ...)
{
	va_list args;

	if (user->story_len + 100 > STORY_SIZE)
		return;
	va_start(args, fmt);
	user->story_len += (size_t)vsnprintf(user->story + user->story_len,
	                                     STORY_SIZE - user->story_len, fmt, args);
	va_end(args);
}

static const char *reports(struct user *user)
{
	static char text[STORY_SIZE];

	memcpy(text, user->story, sizeof text);
	user->story_len = 0;
	user->story[0] = 0;
	return text;
}

static void on_note(void *ctx, const struct meta_note *note)
{
	struct user *user = ctx;

	T_TRUE(!user->stopped);
	T_TRUE(user->stop_at == 0 || user->notes < user->stop_at ||
	       note->what == META_STOPPED);
	T_TRUE((note->err != NULL) ==
	       (note->what == META_REFUSED || note->what == META_TROUBLE));
	if (note->err != NULL)
		(void)snprintf(user->why, sizeof user->why, "%s", note->err->msg);
	switch (note->what) {
	case META_KNOWN:
		say(user, "known(%u%s) ", note->meta->partitions,
		    note->changed ? ", changed" : "");
		user->meta = *note->meta;
		break;
	case META_REFUSED:
		say(user, "refused(%s) ",
		    note->err == NULL ? "" : pl_code_name(note->err->code));
		break;
	case META_TROUBLE:
		say(user, "trouble(%s) ",
		    note->err == NULL ? "" : pl_code_name(note->err->code));
		break;
	case META_STOPPED:
		user->stopped = true;
		return;
	}
	if (++user->notes == user->stop_at)
		meta_stop(user->watch);
}

static void run(uint64_t now_ms)
{
	kit_until(&kit, now_ms);
}

static void begin(uint64_t seed, const struct faulty_rule *rules, size_t count)
{
	memset(users, 0, sizeof users);
	kit_open(&kit, NULL);
	for (unsigned i = 0; i < 2; i++) {
		T_EQ(memkv_session(kit.mem, &users[i].kv, NULL), PL_OK);
		T_EQ(faulty_open(users[i].kv, seed * 2 + i, rules, count, &users[i].kv,
		                 NULL),
		     PL_OK);
	}
}

static enum pl_code follow(struct user *user, uint32_t partitions)
{
	struct meta_opts opts = {.partitions = partitions,
	                         .version = "0.1.0",
	                         .created_ms = 1795237200000,
	                         .seed = 7 + (uint64_t)(user - users)};

	return meta_open(user->kv, &opts, on_note, user, &user->watch, &kit.err);
}

static void end(void)
{
	for (unsigned i = 0; i < 2; i++) {
		if (users[i].watch != NULL && !users[i].stopped)
			meta_stop(users[i].watch);
		run(kit.now_ms + 10000);
		T_TRUE(users[i].watch == NULL || users[i].stopped);
		kit_close_session(&kit, users[i].kv);
	}
	kit_close(&kit);
}

static void put(uint32_t partitions, char incarnation)
{
	struct meta meta = {.partitions = partitions, .version = "x"};
	struct kv_req req;
	struct pl_buf json;

	memset(meta.incarnation, incarnation, META_INCARNATION_SIZE - 1);
	pl_buf_init(&json, 1024);
	T_OK(meta_print(&meta, &json, &kit.err), &kit.err);
	req = kv_op_put(pl_span_str(key), pl_buf_span(&json));
	T_EQ(kit_call(&kit, &req), PL_OK);
	pl_buf_done(&json);
}

T_CASE(one_creates_it_all_know_it)
{
	struct kv_req get = kv_op_get(kv_key(pl_span_str(key)));

	begin(1, NULL, 0);
	T_OK(follow(&users[0], 16), &kit.err);
	T_OK(follow(&users[1], 0), &kit.err);
	T_EQ(users[0].notes, 0);
	run(100);
	T_STR(reports(&users[0]), "known(16) ");
	T_STR(reports(&users[1]), "known(16) ");
	T_STR(users[0].meta.incarnation, users[1].meta.incarnation);
	T_STR(users[0].meta.version, "0.1.0");
	T_EQ(kit_call(&kit, &get), PL_OK);
	T_EQ(kit.result.get.records[0].version, 1);
	run(60000);
	T_STR(reports(&users[0]), "");
	end();
}

T_CASE(partitions_that_do_not_match_are_refused)
{
	begin(1, NULL, 0);
	put(16, 'a');
	T_OK(follow(&users[0], 64), &kit.err);
	T_OK(follow(&users[1], 0), &kit.err);
	run(100);
	T_STR(reports(&users[0]), "refused(compare failed) ");
	T_TRUE(strstr(users[0].why, "the store has 16 partitions, wanted are 64") !=
	       NULL);
	T_STR(reports(&users[1]), "known(16) ");
	put(32, 'a');
	run(200);
	T_STR(reports(&users[1]), "refused(compare failed) ");
	T_EQ(users[1].meta.partitions, 16);
	T_CODE(follow(&users[1], 4097), PL_INVALID, &kit.err);
	end();
}

T_CASE(a_malformed_record_is_refused_until_it_is_repaired)
{
	static char big[20000];

	begin(1, NULL, 0);
	(void)kit_put(&kit, key, "{\"v\":2}");
	T_OK(follow(&users[0], 0), &kit.err);
	run(100);
	T_STR(reports(&users[0]), "refused(invalid argument) ");
	T_TRUE(strstr(users[0].why, "/placet/meta: ") == users[0].why);
	put(8, 'a');
	run(200);
	T_STR(reports(&users[0]), "known(8) ");
	memset(big, ' ', sizeof big - 1);
	(void)kit_put(&kit, key, big);
	run(300);
	T_STR(reports(&users[0]), "refused(invalid argument) ");
	put(8, 'b');
	run(400);
	T_STR(reports(&users[0]), "known(8, changed) ");
	end();
}

T_CASE(a_removed_or_restored_record_is_another_incarnation)
{
	struct memkv_snapshot *snapshot = NULL;
	char first[META_INCARNATION_SIZE];

	begin(1, NULL, 0);
	T_EQ(memkv_save(kit.mem, &snapshot, NULL), PL_OK);
	T_OK(follow(&users[0], 8), &kit.err);
	run(100);
	memcpy(first, users[0].meta.incarnation, sizeof first);
	T_EQ(kit_delete(&kit, kv_key(pl_span_str(key))), 1);
	run(200);
	T_STR(reports(&users[0]), "known(8) trouble(not found) known(8, changed) ");
	T_TRUE(strcmp(first, users[0].meta.incarnation) != 0);
	T_EQ(memkv_restore(kit.mem, snapshot, NULL), PL_OK);
	memkv_snapshot_free(snapshot);
	run(60000);
	T_STR(reports(&users[0]), "trouble(store rewound or replaced) trouble(not found) "
	                          "known(8, changed) ");
	end();
}

/* As after a restore that was not noticed: the watch takes the new record for an old
 * one, and never shows it. */
T_CASE(an_incarnation_that_the_watch_does_not_show)
{
	static const struct faulty_rule deaf[] = {
		{.what = FAULTY_STALL_WATCH, .per_mille = 1000}};

	begin(1, deaf, 1);
	put(64, 'a');
	T_OK(follow(&users[0], 0), &kit.err);
	run(1100); /* the list does not wait for the watch for ever */
	T_STR(reports(&users[0]), "known(64) ");
	put(64, 'b');
	run(9000);
	T_STR(reports(&users[0]), "");
	run(11500);
	T_STR(reports(&users[0]), "known(64, changed) ");
	T_EQ(users[0].meta.incarnation[0], 'b');
	end();
}

T_CASE(over_a_faulty_store)
{
	struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .per_mille = 150},
		{.what = FAULTY_APPLY_LATE, .per_mille = 150, .delay_max_ms = 4000},
		{.what = FAULTY_REFUSE, .per_mille = 150, .code = PL_UNAVAIL},
		{.what = FAULTY_REFUSE, .per_mille = 100, .code = PL_BUSY},
		{.what = FAULTY_SLOW_ANSWER, .per_mille = 150, .delay_max_ms = 2000},
		{.what = FAULTY_SLOW_NOTE, .per_mille = 300, .delay_max_ms = 500},
		{.what = FAULTY_MERGE_NOTES, .per_mille = 700},
		{.what = FAULTY_END_WATCH, .per_mille = 100, .code = PL_COMPACTED},
	};

	for (uint64_t seed = 0; seed < 200; seed++) {
		begin(seed, rules, 6);
		T_OK(follow(&users[0], 0), &kit.err);
		T_OK(follow(&users[1], 64), &kit.err);
		run(10000);
		if (seed % 2 != 0)
			(void)kit_delete(&kit, kv_key(pl_span_str(key)));
		run(20000);
		faulty_pause(users[0].kv, true);
		faulty_pause(users[1].kv, true);
		run(60000);
		T_EQ(users[0].meta.partitions, 64);
		T_STR(users[0].meta.incarnation, users[1].meta.incarnation);
		end();
	}
}

T_CASE(stops_inside_a_note)
{
	for (unsigned at = 1; at < 4; at++) {
		begin(1, NULL, 0);
		users[0].stop_at = at;
		T_OK(follow(&users[0], 8), &kit.err);
		run(100);
		(void)kit_delete(&kit, kv_key(pl_span_str(key)));
		run(200);
		T_TRUE(users[0].stopped);
		end();
	}
	begin(1, NULL, 0);
	T_OK(follow(&users[0], 8), &kit.err);
	meta_stop(users[0].watch);
	run(10);
	T_TRUE(users[0].stopped);
	end();
}

T_CASE(without_memory)
{
	for (uint64_t nth = 1;; nth++) {
		enum pl_code code;
		bool fired;

		begin(1, NULL, 0);
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = follow(&users[0], 8);
		if (code == PL_OK)
			run(100);
		else
			T_EQ(code, PL_NOMEM);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		run(30000);
		T_EQ(users[0].meta.partitions, code == PL_OK ? 8 : 0);
		end();
		if (!fired)
			break;
	}
}
