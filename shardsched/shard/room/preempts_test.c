/* Pods that make room for themselves. */
#include "shardsched/shard/sched_rig.h"

static struct rig rig;

static void pod_in(uint32_t p, const char *name, const char *cpu, int priority)
{
	char key[128], json[512];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/spec", p, name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\"},\"spec\":{\"priority\":%d,\"containers\":[{\"name\":"
	               "\"c\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
	               name, name, priority, cpu);
	rig_put(&rig, key, json);
}

static void pod(const char *name, const char *cpu, int priority)
{
	pod_in(1, name, cpu, priority);
}

static struct pod_state state_of(const char *name, int *phase)
{
	return rig_state(&rig, 1, name, phase);
}

static const char *phase_of(const char *name)
{
	int phase;

	(void)state_of(name, &phase);
	return phase < 0 ? "" : state_phase_word((enum state_phase)phase);
}

/* What its member says. */
static void ends_in(uint32_t p, const char *name)
{
	int phase;
	struct pod_state state = rig_state(&rig, p, name, &phase);
	struct pl_buf buf = {.max = 4096};
	char key[128];

	T_EQ(phase, STATE_TERMINATING);
	state.ended = STATE_ENDED_GONE;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/state", p, name);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void own_two(void)
{
	rig_own(&rig, 0);
	rig_own(&rig, 1);
}

/* A node of 4 cpu with four pods of 1, of priority 0 to 3. */
static void up(void)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	pod("low-0", "1", 0);
	pod("low-1", "1", 1);
	pod("low-2", "1", 2);
	pod("low-3", "1", 3);
	own_two();
	rig_settle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 4);
}

static void later(unsigned seconds)
{
	rig.now_ms += (uint64_t)seconds * 1000;
	rig_settle(&rig);
}

static struct pl_span span_after(struct pl_span text, const char *prefix)
{
	size_t len = strlen(prefix);

	return text.len > len && memcmp(text.at, prefix, len) == 0
	               ? pl_span(text.at + len, text.len - len)
	               : pl_span(NULL, 0);
}

static bool holds_for(struct pl_span value, struct pl_span key)
{
	struct alloc alloc = {0};

	T_OK(alloc_parse(value, &rig.store.arena, &alloc, &rig.err), &rig.err);
	for (uint32_t i = 0; i < alloc.holds; i++) {
		char name[128];

		(void)snprintf(name, sizeof name, "/%.*s/%.*s/state",
		               PL_SPAN_ARG(alloc.hold[i].space),
		               PL_SPAN_ARG(alloc.hold[i].name));
		if (key.len > strlen(name) &&
		    memcmp(key.at + key.len - strlen(name), name, strlen(name)) == 0)
			return true;
	}
	return false;
}

/* What stood there after so many events; NULL: nothing. */
static const struct kv_record *stood(const char *key, uint32_t events)
{
	while (events-- > 0) {
		const struct kv_event *event = &rig.store.log[events];

		if (pl_span_eq(event->record.key, pl_span_str(key)))
			return event->is_delete ? NULL : &event->record;
	}
	return NULL;
}

/* That state, if it is one, names a node that held room for it after so many events. */
static void is_held(const struct kv_record *record, uint32_t events)
{
	struct pod_state state;
	const struct kv_record *alloc = NULL;
	char key[128];

	T_OK(state_parse(record->value, &rig.store.arena, &state, &rig.err), &rig.err);
	if (state.nominated_node.len == 0)
		return;
	for (uint32_t p = 0; p < RIG_PARTITIONS && alloc == NULL; p++) {
		(void)snprintf(key, sizeof key, "/alloc/%04u/east/%.*s", p,
		               PL_SPAN_ARG(state.nominated_node));
		alloc = stood(key, events);
	}
	T_TRUE(alloc != NULL && holds_for(alloc->value, record->key));
}

/* At every revision: said with the hold, and not a revision longer. */
static void nobody_was_nominated_for_nothing(void)
{
	const struct rig_store *store = &rig.store;

	for (uint32_t i = 0; i < store->logged; i++) {
		const struct kv_record *now = &store->log[i].record;

		if (i + 1 < store->logged &&
		    store->log[i + 1].record.mod_revision == now->mod_revision)
			continue;
		for (uint32_t n = 0; n <= i; n++) {
			const struct kv_event *event = &store->log[n];
			struct pl_span key = event->record.key;
			char text[128];

			if (span_after(key, "/schedules/").len == 0 || key.len > 120 ||
			    memcmp(key.at + key.len - 6, "/state", 6) != 0)
				continue;
			(void)snprintf(text, sizeof text, "%.*s", PL_SPAN_ARG(key));
			if (stood(text, i + 1) == &event->record)
				is_held(&event->record, i + 1);
		}
	}
}

static void down(void)
{
	nobody_was_nominated_for_nothing();
	T_EQ(rig.garbled, 0);
	rig_close(&rig);
}

static unsigned leaving(const struct alloc *alloc)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < alloc->pods; i++)
		count += alloc->pod[i].leaving;
	return count;
}

T_CASE(the_less_important_leave_and_the_room_is_kept)
{
	struct sched_figures figures;
	struct pod_state state;
	struct alloc alloc;
	int phase;

	up();
	pod("high", "2", 10);
	rig_settle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 4);
	T_EQ(leaving(&alloc), 2);
	T_EQ(alloc.holds, 1);
	T_EQ(alloc.hold[0].kind, ALLOC_HOLD_NOMINATED);
	T_SPAN(alloc.hold[0].name, PL_SPAN_LIT("high"));
	T_EQ(alloc.hold[0].partition, 1);
	T_EQ(alloc.hold[0].used.cpu_milli, 2000);
	T_EQ(alloc.used.cpu_milli, 6000);
	T_EQ(alloc.used.pods, 5);
	T_STR(phase_of("low-0"), "Terminating");
	T_STR(phase_of("low-1"), "Terminating");
	T_STR(phase_of("low-2"), "Bound");
	state = state_of("low-0", &phase);
	T_TRUE(state.next_pending);
	T_SPAN(state.reason, PL_SPAN_LIT("preempted"));
	state = state_of("high", &phase);
	T_EQ(phase, STATE_PENDING);
	T_SPAN(state.reason, PL_SPAN_LIT("preempting"));
	T_SPAN(state.nominated_cluster, PL_SPAN_LIT("east"));
	T_SPAN(state.nominated_node, PL_SPAN_LIT("n-1"));
	sched_figures(rig.sched, &figures);
	T_EQ(figures.preempted, 1);
	T_EQ(figures.terminated, 2);

	/* Nobody else has to go meanwhile, however often it is tried. */
	for (unsigned i = 0; i < 5; i++)
		later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(leaving(&alloc), 2);

	ends_in(1, "low-0");
	rig_settle(&rig);
	T_STR(phase_of("high"), "Pending");
	T_STR(phase_of("low-0"), "Pending");
	ends_in(1, "low-1");
	rig_settle(&rig);
	T_STR(phase_of("high"), "Bound");
	state = state_of("high", &phase);
	T_EQ(state.nominated_node.len, 0);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 3);
	T_EQ(alloc.holds, 0);
	T_EQ(alloc.used.cpu_milli, 4000);
	later(30);
	T_STR(phase_of("low-0"), "Pending");
	sched_figures(rig.sched, &figures);
	T_EQ(figures.preempted, 1);
	down();
}

T_CASE(equals_do_not_make_room_for_each_other)
{
	struct alloc alloc;

	up();
	pod("other", "1", 0);
	rig_settle(&rig);
	later(20);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(leaving(&alloc), 0);
	T_EQ(alloc.holds, 0);
	down();
}

T_CASE(who_never_preempts_waits)
{
	struct alloc alloc;

	up();
	rig_put(&rig, "/schedules/0001/web/calm/spec",
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"calm\",\"uid\":\"c\"},"
	        "\"spec\":{\"priority\":9,\"preemptionPolicy\":\"Never\",\"containers\":[{"
	        "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}");
	rig_settle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(leaving(&alloc), 0);
	down();
}

T_CASE(each_makes_room_for_itself)
{
	struct alloc alloc;

	up();
	pod("high-a", "1", 10);
	pod("high-b", "1", 10);
	pod("high-c", "2", 10);
	for (unsigned i = 0; i < 6; i++)
		later(3);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 3);
	T_EQ(leaving(&alloc), 4);
	for (unsigned i = 0; i < 4; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "low-%u", i);
		ends_in(1, name);
	}
	later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 3);
	T_EQ(alloc.holds, 0);
	T_EQ(alloc.used.cpu_milli, 4000);
	down();
}

T_CASE(a_more_important_one_takes_the_room_over)
{
	struct alloc alloc;

	up();
	pod("high", "4", 10);
	rig_settle(&rig);
	pod("top", "4", 20);
	rig_settle(&rig);
	later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(leaving(&alloc), 4);
	T_EQ(alloc.holds, 1);
	T_SPAN(alloc.hold[0].name, PL_SPAN_LIT("top"));
	for (unsigned i = 0; i < 4; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "low-%u", i);
		ends_in(1, name);
	}
	rig_settle(&rig);
	T_STR(phase_of("top"), "Bound");
	T_STR(phase_of("high"), "Pending");
	later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 0);
	T_EQ(alloc.pods, 1);
	down();
}

T_CASE(a_hold_goes_with_its_pod_or_when_that_is_placed_elsewhere)
{
	up();
	pod("high", "2", 10);
	rig_settle(&rig);
	rig_del(&rig, "/schedules/0001/web/high/state");
	rig_del(&rig, "/schedules/0001/web/high/spec");
	rig_settle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	T_EQ(rig_alloc(&rig, 0, "n-1").used.cpu_milli, 4000);
	ends_in(1, "low-0");
	rig_settle(&rig);
	later(12);
	T_STR(phase_of("low-0"), "Bound");
	down();

	up();
	pod("high", "2", 10);
	rig_settle(&rig);
	rig_node(&rig, 0, "n-2", "4");
	rig_settle(&rig);
	later(12);
	T_STR(phase_of("high"), "Bound");
	T_EQ(rig_alloc(&rig, 0, "n-2").pods, 1);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	down();
}

/* It does not help it any more: the state that says why has gone with the hold. */
T_CASE(what_is_given_back_is_said_with_it)
{
	struct pod_state state;
	int phase;

	up();
	pod("high", "2", 10);
	rig_settle(&rig);
	state = state_of("high", &phase);
	T_SPAN(state.nominated_node, PL_SPAN_LIT("n-1"));
	pod("high", "3", 10); /* edited: the room is for another one */
	rig_settle(&rig);
	state = state_of("high", &phase);
	T_SPAN(state.nominated_node, PL_SPAN_LIT("n-1"));
	T_EQ(rig_alloc(&rig, 0, "n-1").hold[0].used.cpu_milli, 3000);
	down();

	up();
	pod("high", "2", 10);
	rig_settle(&rig);
	pod("high", "9", 10);
	rig_settle(&rig);
	for (unsigned i = 0; i < 5; i++)
		later(12);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	state = state_of("high", &phase);
	T_EQ(phase, STATE_PENDING);
	T_EQ(state.nominated_node.len, 0);
	T_SPAN(state.reason, PL_SPAN_LIT("fit.cpu"));
	down();
}

/* Others have ended it: it is said when the pod is tried again. */
T_CASE(what_others_took_is_not_said_for_long)
{
	struct pod_state state;
	int phase;

	up();
	pod("high", "2", 10);
	rig_settle(&rig);
	rig_lost(&rig, 0);
	rig_settle(&rig);
	rig_del(&rig, "/nodes/0000/east/n-1");
	rig_del(&rig, "/alloc/0000/east/n-1");
	rig_own(&rig, 0);
	rig_settle(&rig);
	for (unsigned i = 0; i < 3; i++)
		later(12);
	state = state_of("high", &phase);
	T_EQ(phase, STATE_PENDING);
	T_EQ(state.nominated_node.len, 0);
	T_EQ(rig.garbled, 0);
	rig_close(&rig);
}

/* Its states are read by key, and compared. */
T_CASE(pods_of_others_leave_as_well)
{
	struct alloc alloc;
	int phase;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	pod_in(2, "theirs", "3", 0);
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_own(&rig, 2);
	rig_settle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	rig_lost(&rig, 2);
	pod("high", "2", 10);
	rig_settle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 1);
	(void)rig_state(&rig, 2, "theirs", &phase);
	T_EQ(phase, STATE_TERMINATING);
	for (unsigned i = 0; i < 3; i++)
		later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	down();
}

/* It left, and was placed there again, which its own shard alone has heard of. */
T_CASE(a_pod_of_others_that_came_back_leaves_again)
{
	struct alloc alloc;
	int phase;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	pod_in(2, "theirs", "3", 0);
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_own(&rig, 2);
	rig_settle(&rig);
	rig_lost(&rig, 2);
	pod("high", "2", 10);
	rig_settle(&rig);
	rig_del(&rig, "/schedules/0001/web/high/spec");
	rig_del(&rig, "/schedules/0001/web/high/state");
	rig_put(&rig, "/schedules/0002/web/theirs/state",
	        "{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-1\","
	        "\"shard\":\"west-0\",\"epoch\":\"9\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	rig_put(&rig, "/alloc/0000/east/n-1",
	        "{\"v\":1,\"generation\":50,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"pods\":{\"0002\":{\"web\":[\"theirs\"]}}}");
	rig_deliver_all(&rig);
	rig_settle(&rig);
	pod("higher", "2", 20);
	rig_settle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 1);
	(void)rig_state(&rig, 2, "theirs", &phase);
	T_EQ(phase, STATE_TERMINATING);
	down();
}

/* Somebody else has it that a victim is not what it was. */
T_CASE(a_victim_that_has_gone_meanwhile_is_a_conflict)
{
	struct alloc alloc;
	unsigned out = 0;
	int phase;

	up();
	pod("high", "2", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	while (!rig.out[out].used)
		out++;
	/* Deleted by hand, with its alloc. */
	rig_put(&rig, "/schedules/0001/web/low-0/state",
	        "{\"v\":1,\"uid\":\"u-low-0\",\"phase\":\"Terminating\",\"cluster\":\"east\","
	        "\"node\":\"n-1\",\"since\":\"2026-11-21T09:00:00.000Z\"}");
	rig_settle(&rig);
	later(3);
	/* And the alloc says so then. */
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 2);
	T_EQ(rig_alloc(&rig, 0, "n-1").used.cpu_milli, 6000);
	T_TRUE(!state_of("low-0", &phase).next_pending);
	T_STR(phase_of("low-1"), "Terminating");
	T_STR(phase_of("low-2"), "Bound");
	rig_close(&rig);
}

/* Whoever takes over finds it in the alloc. */
T_CASE(a_nomination_outlives_its_shard)
{
	struct alloc alloc;

	up();
	pod("high", "2", 10);
	rig_settle(&rig);
	rig_lost(&rig, 0);
	rig_lost(&rig, 1);
	rig_settle(&rig);
	rig_own(&rig, 1);
	rig_own(&rig, 0);
	rig_settle(&rig);
	later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 2);
	pod("other", "1", 0);
	rig_settle(&rig);
	ends_in(1, "low-0");
	ends_in(1, "low-1");
	rig_settle(&rig);
	T_STR(phase_of("high"), "Bound");
	T_STR(phase_of("other"), "Pending");
	T_EQ(rig_alloc(&rig, 0, "n-1").used.cpu_milli, 4000);
	down();
}

static void unknown(bool applied, bool fenced)
{
	struct alloc alloc;
	unsigned out = 0;

	up();
	pod("high", "2", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	while (!rig.out[out].used)
		out++;
	if (applied)
		(void)rig_exec(&rig.store, &rig.out[out].req.txn);
	rig_fail(&rig, out, PL_UNKNOWN);
	if (fenced) {
		rig.now_ms += 100;
		rig_run(&rig);
		rig_fail(&rig, out, PL_FENCED);
	}
	for (unsigned i = 0; i < 6; i++)
		later(3);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 2);
	T_EQ(alloc.used.cpu_milli, 6000);
	ends_in(1, "low-0");
	ends_in(1, "low-1");
	rig_settle(&rig);
	T_STR(phase_of("high"), "Bound");
	down();
}

T_CASE(what_nobody_knows_is_found_out)
{
	unknown(false, false);
	unknown(true, false);
	unknown(false, true);
	unknown(true, true);
}

/* Whatever was written: when all that leave have left, there is room for all. */
static void no_alloc_was_over(const char *node, int64_t milli, int64_t each)
{
	char key[64];

	(void)snprintf(key, sizeof key, "/alloc/0000/east/%s", node);
	for (uint32_t i = 0; i < rig.store.logged; i++) {
		const struct kv_record *record = &rig.store.log[i].record;
		struct alloc alloc = {0};

		if (!pl_span_eq(record->key, pl_span_str(key)))
			continue;
		T_OK(alloc_parse(record->value, &rig.store.arena, &alloc, &rig.err),
		     &rig.err);
		T_TRUE(alloc.used.cpu_milli - each * leaving(&alloc) <= milli);
	}
}

/* Thirty at once, and a transaction takes few operations. */
T_CASE(many_leave_in_several_transactions)
{
	struct alloc alloc;

	rig_open(&rig, NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 16});
	rig_node(&rig, 0, "n-1", "30");
	own_two();
	for (unsigned i = 0; i < 30; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "low-%u", i);
		pod(name, "1", 0);
	}
	rig_settle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 30);
	pod("high", "30", 10);
	rig_settle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 30);
	for (unsigned i = 0; i < 30; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "low-%u", i);
		ends_in(1, name);
	}
	rig_settle(&rig);
	T_STR(phase_of("high"), "Bound");
	no_alloc_was_over("n-1", 30000, 1000);
	down();
}

/* -- of others, and on their nodes --------------------------------------------- */

static void bound_to(uint32_t p, const char *name, const char *node)
{
	char key[128], json[256];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/state", p, name);
	(void)snprintf(
		json, sizeof json,
		"{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"%s\","
		"\"shard\":\"west-0\",\"epoch\":\"9\","
		"\"since\":\"2026-11-21T09:00:00.000Z\"}",
		node);
	rig_put(&rig, key, json);
}

/* It left a node of ours, and we have heard of the node where it is now, but not that it
 * does not terminate any more. There is too little room for somebody who is nominated
 * there, when a more important one comes. */
T_CASE(what_left_one_node_takes_room_on_the_next)
{
	struct alloc alloc;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "3");
	pod_in(2, "theirs", "3", 0);
	pod_in(2, "mid", "1", 5);
	bound_to(2, "theirs", "n-1");
	rig_put(&rig, "/alloc/0000/east/n-1",
	        "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"pods\":{\"0002\":{\"web\":[\"theirs\"]}}}");
	own_two();
	pod("high", "2", 10);
	rig_settle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(leaving(&alloc), 1);
	rig_node(&rig, 0, "n-2", "4");
	bound_to(2, "theirs", "n-2");
	rig_put(&rig, "/alloc/0000/east/n-2",
	        "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"4000m\",\"pods\":\"2\"},"
	        "\"nonzero\":{\"memory\":\"419430400\"},"
	        "\"pods\":{\"0002\":{\"web\":[\"theirs\"]}},"
	        "\"holds\":[{\"kind\":\"nominated\",\"namespace\":\"web\",\"name\":\"mid\","
	        "\"at\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"until\":\"2027-11-21T09:00:00.000Z\"}]}");
	rig_deliver_all(&rig);
	rig_settle(&rig);
	pod("top", "1", 20);
	rig_settle(&rig);
	T_STR(phase_of("top"), "Bound");
	alloc = rig_alloc(&rig, 0, "n-2");
	T_EQ(alloc.pods, 2);
	T_EQ(alloc.used.cpu_milli, 4000);
	T_EQ(alloc.holds, 0);
	down();
}

/* A node of ours with a pod of ours of that priority; one of others with one of theirs,
 * of which their digest says so. */
static void up_with_neighbours(int ours, int theirs)
{
	char json[512];

	rig_open(&rig, NULL);
	rig_node(&rig, 1, "n-1", "4");
	pod_in(1, "ours", "3", ours);
	rig_own(&rig, 1);
	rig_settle(&rig);
	rig_node(&rig, 0, "n-2", "4");
	pod_in(2, "theirs", "3", theirs);
	bound_to(2, "theirs", "n-2");
	rig_put(&rig, "/alloc/0000/east/n-2",
	        "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"pods\":{\"0002\":{\"web\":[\"theirs\"]}}}");
	(void)snprintf(
		json, sizeof json,
		"{\"v\":1,\"partitions\":{\"0000\":[{\"nodes\":1,\"free\":{\"cpu\":"
		"\"1000m\",\"memory\":\"1\",\"pods\":\"9\"},\"most\":{\"cpu\":"
		"\"1000m\",\"memory\":\"1\",\"pods\":\"9\"},\"labels\":{},"
		"\"least\":%d}]}}",
		theirs);
	rig_put(&rig, "/digests/west-0", json);
	rig_settle(&rig);
}

static bool all_are_viewed(void)
{
	return rig.viewed[SCHED_WHOLE];
}

T_CASE(who_is_less_important_leaves_wherever_he_is)
{
	struct alloc alloc;
	int phase;

	up_with_neighbours(5, 0);
	pod("high", "3", 10);
	rig_settle(&rig);
	later(2);
	T_TRUE(all_are_viewed());
	alloc = rig_alloc(&rig, 0, "n-2");
	T_EQ(leaving(&alloc), 1);
	T_EQ(alloc.holds, 1);
	T_STR(phase_of("ours"), "Bound");
	ends_in(2, "theirs");
	rig_put(&rig, "/alloc/0000/east/n-2", /* as his own shard does */
	        "{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"holds\":[{\"kind\":\"nominated\",\"namespace\":\"web\",\"name\":"
	        "\"high\",\"at\":1,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"until\":\"2027-11-21T09:00:00.000Z\"}]}");
	rig_settle(&rig);
	later(2);
	(void)state_of("high", &phase);
	T_EQ(phase, STATE_BOUND);
	alloc = rig_alloc(&rig, 0, "n-2");
	T_EQ(alloc.pods, 1);
	T_EQ(alloc.holds, 0);
	down();
}

/* And nobody has to look at all nodes for that. */
T_CASE(at_home_if_nobody_elsewhere_is_less_important)
{
	struct alloc alloc;

	up_with_neighbours(5, 5);
	pod("high", "3", 10);
	rig_settle(&rig);
	alloc = rig_alloc(&rig, 1, "n-1");
	T_EQ(leaving(&alloc), 1);
	T_EQ(alloc.holds, 1);
	T_TRUE(!all_are_viewed());
	down();
}

/* Nor for finding out that it can not be helped. */
T_CASE(the_least_important_look_nowhere)
{
	up_with_neighbours(5, 5);
	pod("low", "3", 5);
	rig_settle(&rig);
	later(5);
	T_STR(phase_of("low"), "Pending");
	T_TRUE(!all_are_viewed());
	down();
}
