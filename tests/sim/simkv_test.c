/* The simulated network, over memkv, with a client that only records its callbacks. */
#include "store/kv/calls.h"
#include "tests/harness/t.h"
#include "tests/sim/simkv.h"

enum { ANSWERS_MAX = 64 };

#define S(text) PL_SPAN_LIT(text)

struct rig {
	struct agenda agenda;
	struct story story;
	struct simstore store;
	struct simkv_counts counts;
	struct simkv *sim;
	struct kv *kv;
	bool closed;
};

struct answer {
	struct rig *rig;
	unsigned count;
	enum pl_code code;
	uint64_t at_ms;
	int64_t revision;
};

struct watcher {
	struct rig *rig;
	struct kv_watch *watch;
	unsigned events, ready, progress;
	int64_t last;
	enum pl_code end;
};

static void rig_open(struct rig *rig, struct simlink link)
{
	*rig = (struct rig){0};
	agenda_init(&rig->agenda, t_seed());
	rig->story.now_ms = &rig->agenda.now_ms;
	simstore_init(&rig->store, &rig->agenda, &rig->story, 7, 0, 0);
	rig->sim = simkv_new(&(struct simkv_opts){.agenda = &rig->agenda,
	                                          .store = &rig->store,
	                                          .story = &rig->story,
	                                          .name = "n0",
	                                          .link = link,
	                                          .seed = t_seed(),
	                                          .counts = &rig->counts});
	rig->kv = simkv_kv(rig->sim);
}

static void run_to(struct rig *rig, uint64_t until_ms)
{
	for (;;) {
		uint64_t next = agenda_next_ms(&rig->agenda);
		uint64_t due = simstore_next_ms(&rig->store);

		next = due < next ? due : next;
		if (next > until_ms)
			break;
		agenda_advance(&rig->agenda, next);
		simstore_run(&rig->store);
		(void)agenda_step(&rig->agenda, next);
		simstore_run(&rig->store);
	}
	agenda_advance(&rig->agenda, until_ms);
}

static void on_closed(void *ctx)
{
	((struct rig *)ctx)->closed = true;
}

static void rig_close(struct rig *rig)
{
	simstore_elect(&rig->store);
	kv_close(rig->kv, on_closed, rig);
	run_to(rig, rig->agenda.now_ms + 100000);
	T_TRUE(rig->closed && simkv_is_closed(rig->sim));
	simkv_free(rig->sim);
	run_to(rig, rig->agenda.now_ms + 100000);
	simstore_done(&rig->store);
	agenda_done(&rig->agenda);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct answer *answer = ctx;

	answer->count++;
	answer->code = result != NULL ? PL_OK : err->code;
	answer->at_ms = answer->rig->agenda.now_ms;
	answer->revision = result != NULL ? result->header.revision : 0;
}

static void put(struct rig *rig, struct answer *answer, const char *key)
{
	*answer = (struct answer){.rig = rig};
	T_OK(kv_put(rig->kv, &(struct kv_put){.key = pl_span_str(key), .value = S("1")},
	            2000, on_done, answer, NULL, NULL),
	     NULL);
}

static void get(struct rig *rig, struct answer *answer)
{
	*answer = (struct answer){.rig = rig};
	T_OK(kv_get(rig->kv, &(struct kv_get){.keys = kv_all_keys()}, 2000, on_done,
	            answer, NULL, NULL),
	     NULL);
}

static void txn(struct rig *rig, struct answer *answer)
{
	const struct kv_req then = {.op = KV_PUT,
	                            .put = {.key = S("a"), .value = S("1")}};

	*answer = (struct answer){.rig = rig};
	T_OK(kv_txn(rig->kv, &(struct kv_txn){.then = &then, .then_count = 1}, 2000,
	            on_done, answer, NULL, NULL),
	     NULL);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct watcher *w = ctx;

	T_EQ(w->end, PL_OK);
	w->ready += note->what == KV_WATCH_READY;
	w->progress += note->what == KV_WATCH_PROGRESS;
	if (note->what == KV_WATCH_EVENTS) {
		T_TRUE(note->revision > w->last);
		w->last = note->revision;
		w->events++;
	}
	if (note->what == KV_WATCH_END)
		w->end = note->err->code;
}

static void watch(struct rig *rig, struct watcher *w)
{
	*w = (struct watcher){.rig = rig};
	T_OK(kv_watch(rig->kv, &(struct kv_watch_req){.keys = kv_all_keys()}, on_note, w,
	              &w->watch, NULL),
	     NULL);
}

static struct rig rig;
static struct answer a[ANSWERS_MAX];
static struct watcher w[2];

T_CASE(requests_overtake_each_other_and_all_are_answered)
{
	bool overtook = false;

	rig_open(&rig, (struct simlink){.delay_min_ms = 1, .delay_max_ms = 50});
	for (unsigned i = 0; i < ANSWERS_MAX; i++)
		put(&rig, &a[i], "a");
	run_to(&rig, 110);
	for (unsigned i = 0; i < ANSWERS_MAX; i++) {
		T_EQ(a[i].count, 1);
		T_EQ(a[i].code, PL_OK);
		overtook = overtook || (i > 0 && a[i].revision < a[i - 1].revision);
	}
	T_TRUE(overtook);
	rig_close(&rig);
}

T_CASE(a_lost_write_is_unknown_and_a_lost_read_timed_out)
{
	rig_open(&rig, (struct simlink){.delay_max_ms = 5, .lose_answer_in_1000 = 1000});
	put(&rig, &a[0], "a");
	get(&rig, &a[1]);
	run_to(&rig, 1999);
	T_EQ(a[0].count + a[1].count, 0);
	T_EQ(memkv_revision(rig.store.mem), 2);
	run_to(&rig, 2010);
	T_EQ(a[0].code, PL_UNKNOWN);
	T_EQ(a[1].code, PL_TIMEOUT);
	simkv_link(rig.sim)->lose_request_in_1000 = 1000;
	put(&rig, &a[0], "a");
	run_to(&rig, 5000);
	T_EQ(a[0].code, PL_UNKNOWN);
	T_EQ(memkv_revision(rig.store.mem), 2);
	rig_close(&rig);
}

T_CASE(unanswered_transactions_are_counted_until_their_timeout)
{
	rig_open(&rig, (struct simlink){.delay_max_ms = 5});
	txn(&rig, &a[0]);
	T_EQ(simkv_unanswered(rig.sim), 0);
	run_to(&rig, 50);
	T_EQ(a[0].code, PL_OK);
	simkv_link(rig.sim)->lose_answer_in_1000 = 1000;
	txn(&rig, &a[0]);
	simkv_link(rig.sim)->lose_request_in_1000 = 1000;
	txn(&rig, &a[1]);
	put(&rig, &a[2], "b");
	run_to(&rig, 2049);
	T_EQ(memkv_revision(rig.store.mem), 3);
	T_EQ(simkv_unanswered(rig.sim), 2);
	run_to(&rig, 2060);
	T_EQ(a[0].code, PL_UNKNOWN);
	T_EQ(a[1].code, PL_UNKNOWN);
	T_EQ(simkv_unanswered(rig.sim), 0);
	rig_close(&rig);
}

T_CASE(a_late_write_is_applied_after_its_caller_gave_up)
{
	rig_open(&rig, (struct simlink){.late_in_1000 = 1000, .late_max_ms = 60000});
	for (unsigned i = 0; i < 8; i++)
		put(&rig, &a[i], "a");
	run_to(&rig, 3000);
	T_TRUE(memkv_revision(rig.store.mem) < 9);
	run_to(&rig, 61000);
	T_EQ(memkv_revision(rig.store.mem), 9);
	rig_close(&rig);
}

T_CASE(a_cut_holds_messages_until_it_heals)
{
	rig_open(&rig, (struct simlink){.delay_min_ms = 1, .delay_max_ms = 3});
	watch(&rig, &w[0]);
	run_to(&rig, 10);
	simkv_cut(rig.sim, SIMKV_NOTES, true);
	put(&rig, &a[0], "a");
	run_to(&rig, 100);
	T_EQ(a[0].code, PL_OK);
	T_EQ(w[0].events, 0); /* the answer before the note */
	simkv_cut(rig.sim, SIMKV_ANSWERS, true);
	simkv_cut(rig.sim, SIMKV_NOTES, false);
	put(&rig, &a[1], "a");
	run_to(&rig, 200);
	T_EQ(a[1].count, 0);
	T_EQ(w[0].events, 2); /* and the note before the answer */
	simkv_cut(rig.sim, SIMKV_ANSWERS, false);
	run_to(&rig, 210);
	T_EQ(a[1].code, PL_OK);
	simkv_cut(rig.sim, SIMKV_REQUESTS, true);
	put(&rig, &a[2], "a");
	run_to(&rig, 5000);
	T_EQ(a[2].code, PL_UNKNOWN);
	T_EQ(memkv_revision(rig.store.mem), 3);
	simkv_cut(rig.sim, SIMKV_REQUESTS, false);
	run_to(&rig, 5010);
	T_EQ(memkv_revision(rig.store.mem), 4);
	rig_close(&rig);
}

T_CASE(paused_process_gets_nothing_until_it_resumes)
{
	rig_open(&rig, (struct simlink){.delay_min_ms = 1, .delay_max_ms = 3});
	watch(&rig, &w[0]);
	run_to(&rig, 10);
	put(&rig, &a[0], "a");
	put(&rig, &a[1], "b");
	simkv_pause(rig.sim, false);
	run_to(&rig, 10000);
	T_EQ(memkv_revision(rig.store.mem), 3);
	T_EQ(a[0].count + a[1].count + w[0].events, 0);
	simkv_resume(rig.sim);
	run_to(&rig, 10000);
	T_EQ(a[0].count + a[1].count, 2);
	T_EQ(w[0].events, 2);
	T_EQ(simkv_local_ms(rig.sim), 10000);
	simkv_pause(rig.sim, true);
	run_to(&rig, 20000);
	simkv_resume(rig.sim);
	T_EQ(simkv_local_ms(rig.sim), 10000);
	rig_close(&rig);
}

T_CASE(a_crash_ends_everything_but_sent_requests)
{
	rig_open(&rig, (struct simlink){.delay_min_ms = 5, .delay_max_ms = 9});
	watch(&rig, &w[0]);
	put(&rig, &a[0], "a");
	get(&rig, &a[1]);
	simkv_crash(rig.sim);
	T_CODE(kv_get(rig.kv, &(struct kv_get){.keys = kv_all_keys()}, 10, on_done, &a[2],
	              NULL, NULL),
	       PL_CANCELED, NULL);
	run_to(&rig, 0);
	T_EQ(a[0].code, PL_UNKNOWN);
	T_EQ(a[1].code, PL_CANCELED);
	T_EQ(w[0].end, PL_CANCELED);
	run_to(&rig, 20);
	T_EQ(memkv_revision(rig.store.mem), 2);
	rig_close(&rig);
}

T_CASE(a_broken_connection_loses_nothing_of_a_watch)
{
	rig_open(&rig, (struct simlink){.delay_min_ms = 1, .delay_max_ms = 9});
	watch(&rig, &w[0]);
	run_to(&rig, 20);
	for (unsigned i = 0; i < 20; i++) {
		put(&rig, &a[i], "a");
		run_to(&rig, rig.agenda.now_ms + 7);
		simkv_break(rig.sim, false);
		T_OK(kv_progress(rig.kv, w[0].watch, 0, NULL), NULL);
	}
	run_to(&rig, 5000);
	T_EQ(w[0].last, memkv_revision(rig.store.mem));
	T_EQ(w[0].events, memkv_revision(rig.store.mem) - 1);
	T_TRUE(w[0].ready > 1 && w[0].progress > 0);
	rig_close(&rig);
}

T_CASE(a_restored_store_is_noticed_by_watches_and_answers)
{
	struct memkv_snapshot *snapshot;

	rig_open(&rig, (struct simlink){.delay_min_ms = 1, .delay_max_ms = 3});
	watch(&rig, &w[0]);
	T_OK(memkv_save(rig.store.mem, &snapshot, NULL), NULL);
	for (unsigned i = 0; i < 3; i++)
		put(&rig, &a[i], "a");
	run_to(&rig, 100);
	simstore_restore(&rig.store, snapshot);
	watch(&rig, &w[1]);
	get(&rig, &a[0]);
	run_to(&rig, 110);
	T_EQ(w[1].end, PL_REWOUND);
	T_EQ(w[0].end, PL_REWOUND);
	watch(&rig, &w[0]);
	put(&rig, &a[0], "a");
	run_to(&rig, 200);
	simstore_restore(&rig.store, snapshot);
	simkv_break(rig.sim, true);
	run_to(&rig, 1000);
	T_EQ(w[0].end, PL_REWOUND);
	memkv_snapshot_free(snapshot);
	rig_close(&rig);
}

T_CASE(without_a_leader_writes_are_unknown_and_no_lease_expires)
{
	unsigned unknown = 0;

	rig_open(&rig, (struct simlink){.delay_min_ms = 1, .delay_max_ms = 3});
	T_OK(kv_lease_grant(rig.kv, &(struct kv_lease_req){.id = 9, .ttl_s = 3}, 1000,
	                    on_done, &a[0], NULL, NULL),
	     NULL);
	a[0].rig = &rig;
	run_to(&rig, 2000);
	simstore_lose_leader(&rig.store, 4000);
	for (unsigned i = 0; i < ANSWERS_MAX; i++)
		put(&rig, &a[i], "a");
	run_to(&rig, 5999);
	for (unsigned i = 0; i < ANSWERS_MAX; i++)
		unknown += a[i].code == PL_UNKNOWN;
	T_EQ(unknown, ANSWERS_MAX);
	T_EQ(memkv_revision(rig.store.mem), 1);
	run_to(&rig, 6010);
	T_TRUE(memkv_revision(rig.store.mem) > 10); /* the writes arrived after all */
	T_EQ(memkv_leases(rig.store.mem), 1);
	run_to(&rig, 8999);
	T_EQ(memkv_leases(rig.store.mem), 1);
	run_to(&rig, 9001);
	T_EQ(memkv_leases(rig.store.mem), 0);
	rig_close(&rig);
}

T_CASE(a_clock_runs_fast_and_timers_follow_it)
{
	struct simclock clock = {.local_ms = 500};

	rig_open(&rig, (struct simlink){.lose_request_in_1000 = 1000});
	simkv_drift(rig.sim, 500000);
	put(&rig, &a[0], "a");
	run_to(&rig, 1333);
	T_EQ(a[0].count, 0);
	run_to(&rig, 1334);
	T_EQ(a[0].count, 1);
	simkv_jump(rig.sim, 700);
	put(&rig, &a[0], "a");
	simkv_jump(rig.sim, 2000);
	run_to(&rig, 1334);
	T_EQ(a[0].code, PL_UNKNOWN);
	rig_close(&rig);

	simclock_drift(&clock, 1000, -100000);
	T_EQ(simclock_read(&clock, 1000), 1500);
	T_EQ(simclock_when(&clock, 1000, 2400), 2000);
	T_EQ(simclock_read(&clock, 1999), 2400); /* a whole millisecond is rounded */
	simclock_stop(&clock, 2000, true);
	T_EQ(simclock_when(&clock, 3000, 2401), UINT64_MAX);
	simclock_stop(&clock, 5000, false);
	T_EQ(simclock_read(&clock, 5010), 2409);
}

static uint64_t digest_of(uint64_t seed)
{
	uint64_t digest;

	rig_open(&rig, (struct simlink){.delay_max_ms = 30,
	                                .slow_in_1000 = 100,
	                                .slow_max_ms = 4000,
	                                .lose_answer_in_1000 = 100,
	                                .note_max_ms = 50});
	agenda_done(&rig.agenda);
	agenda_init(&rig.agenda, seed);
	watch(&rig, &w[0]);
	for (unsigned i = 0; i < ANSWERS_MAX; i++) {
		put(&rig, &a[i], "a");
		run_to(&rig, rig.agenda.now_ms + 5);
	}
	rig_close(&rig);
	digest = rig.agenda.digest;
	return digest;
}

T_CASE(the_same_seed_is_the_same_history)
{
	T_EQ(digest_of(1), digest_of(1));
	T_TRUE(digest_of(1) != digest_of(2));
}
