/* The balancer over a store in memory. The members are records that the test writes,
 * with the partitions that the applied table gives to each. */
#include <math.h>

#include "coord/assign/assign.h"
#include "coord/balance/balance.h"
#include "coord/config/config_watch.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { P = 64, MEMBERS = 4, LEASE = 77 };

#define INTERVAL_MS UINT64_C(30000)

static struct kit kit;
static struct kv *plain; /* without the faults */

static struct {
	struct roster *roster;
	struct elect *elect;
	struct config_watch *config;
	struct balance *balance;
	struct assign *assign;
	uint32_t hot; /* load of each partition of the hot member */
	uint32_t load[P];
	bool gone[MEMBERS]; /* not registered */
	const char *state[MEMBERS];
	unsigned wrote, troubles;
	struct balance_note last;
	struct pl_err trouble;
	bool stop_in_note;
} w;

static const char *const ids[MEMBERS] = {"s-0", "s-1", "s-2", "s-3"};

static void run(uint64_t ms)
{
	kit_until(&kit, kit.now_ms + ms);
}

static void direct_put_leased(const char *key, struct pl_span value, int64_t lease)
{
	struct kv *faulty = kit.kv;
	struct kv_req req = kv_op_put_leased(pl_span_str(key), value, lease);

	kit.kv = plain;
	T_EQ(kit_call(&kit, &req), PL_OK);
	kit.kv = faulty;
}

static void direct_put(const char *key, struct pl_span value)
{
	direct_put_leased(key, value, 0);
}

static void direct_del(const char *key)
{
	struct kv *faulty = kit.kv;

	kit.kv = plain;
	(void)kit_delete(&kit, kv_key(pl_span_str(key)));
	kit.kv = faulty;
}

/* Makes the assignment of the members that are active and not drained. */
static void assign_all(void)
{
	const struct config_weights *weights =
		&config_watch_value(w.config, CONFIG_WEIGHTS)->weights;
	const struct config_shards *shards =
		&config_watch_value(w.config, CONFIG_SHARDS)->shards;
	struct pl_err err;

	for (unsigned i = 0; i < MEMBERS; i++) {
		struct pl_span id = pl_span_str(ids[i]);

		if (w.gone[i] || strcmp(w.state[i], "active") != 0 ||
		    config_drains(shards, id))
			assign_del(w.assign, id);
		else
			T_OK(assign_put(w.assign, id,
			                assign_weight(1000, config_factor(weights, id)),
			                &err),
			     &err);
	}
}

static void put_record(unsigned i)
{
	struct pl_buf buf;
	char key[32];
	const char *comma = "";

	pl_buf_init(&buf, 65536);
	(void)snprintf(key, sizeof key, "/shards/%s", ids[i]);
	T_OK(pl_buf_printf(&buf,
	                   "{\"v\":1,\"id\":\"%s\",\"instance\":"
	                   "\"0123456789abcdef0123456789abcdef\",\"state\":\"%s\","
	                   "\"pid\":1,\"weight\":1000,\"started\":"
	                   "\"2026-11-21T05:00:00.000Z\",\"partitions\":[",
	                   ids[i], w.state[i]),
	     NULL);
	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t p = 0; p < P; p++) {
			if (!pl_span_eq(assign_of(w.assign, p), pl_span_str(ids[i])))
				continue;
			T_OK(pl_buf_printf(&buf, "%s%u", comma,
			                   pass == 0 ? p : w.load[p]),
			     NULL);
			comma = ",";
		}
		comma = "";
		T_OK(pl_buf_printf(&buf, "%s", pass == 0 ? "],\"loads\":[" : "]}"), NULL);
	}
	direct_put_leased(key, pl_buf_span(&buf), i == 0 ? LEASE : 0);
	pl_buf_done(&buf);
}

/* The members take the partitions that fall to them, and report them. */
static void members_follow(void)
{
	assign_all();
	for (unsigned i = 0; i < MEMBERS; i++)
		if (!w.gone[i])
			put_record(i);
}

static void configure(void)
{
	if (w.balance == NULL || w.config == NULL)
		return;
	balance_config(w.balance, &config_watch_value(w.config, CONFIG_COORD)->coord,
	               &config_watch_value(w.config, CONFIG_SHARDS)->shards,
	               &config_watch_value(w.config, CONFIG_WEIGHTS)->weights,
	               config_watch_version(w.config, CONFIG_WEIGHTS));
}

static void on_config(void *ctx, const struct config_note *note)
{
	T_TRUE(ctx == &w);
	if (note->what == CONFIG_APPLIED)
		configure();
	if (note->what == CONFIG_STOPPED)
		w.config = NULL;
}

static void on_roster(void *ctx, const struct roster_note *note)
{
	T_TRUE(ctx == &w);
	if (note->what == ROSTER_STOPPED)
		w.roster = NULL;
}

static void on_elect(void *ctx, const struct elect_note *note)
{
	T_TRUE(ctx == &w);
	if (note->what == ELECT_STOPPED)
		w.elect = NULL;
	if (w.balance != NULL &&
	    (note->what == ELECT_LEAD || note->what == ELECT_STEP_DOWN))
		balance_lead(w.balance, note->what == ELECT_LEAD);
}

static void on_balance(void *ctx, const struct balance_note *note)
{
	T_TRUE(ctx == &w && w.balance != NULL);
	switch (note->what) {
	case BALANCE_WROTE:
		w.wrote++;
		w.last = *note;
		break;
	case BALANCE_TROUBLE:
		w.troubles++;
		w.trouble = *note->err;
		break;
	case BALANCE_STOPPED:
		w.balance = NULL;
		return;
	}
	if (w.stop_in_note)
		balance_stop(w.balance);
}

static int64_t wall_ms(void *ctx)
{
	T_TRUE(ctx == &w);
	return INT64_C(1795237200000) + (int64_t)kit.now_ms;
}

static void open_balance(void)
{
	struct balance_opts opts = {.partitions = P,
	                            .roster = w.roster,
	                            .elect = w.elect,
	                            .id = PL_SPAN_LIT("s-0"),
	                            .wall_ms = wall_ms};

	T_OK(balance_open(kit.kv, &opts, on_balance, &w, &w.balance, &kit.err), &kit.err);
	configure();
}

/* The balancer leads from the first second on; the third member is hot. */
static void begin(const struct faulty_rule *rules, size_t count)
{
	struct elect_opts opts = {
		.role = "balancer", .id = PL_SPAN_LIT("s-0"), .seed = 1};

	memset(&w, 0, sizeof w);
	kit_open(&kit, NULL);
	plain = kit.kv;
	T_EQ(memkv_session(kit.mem, &kit.kv, NULL), PL_OK);
	T_EQ(faulty_open(kit.kv, 3, rules, count, &kit.kv, NULL), PL_OK);
	T_OK(assign_new(P, &w.assign, &kit.err), &kit.err);
	for (unsigned i = 0; i < MEMBERS; i++)
		w.state[i] = "active";
	T_OK(config_watch_open(kit.kv, 1, on_config, &w, &w.config, &kit.err), &kit.err);
	T_OK(roster_open(kit.kv, 2, on_roster, &w, &w.roster, &kit.err), &kit.err);
	T_OK(elect_open(kit.kv, &opts, on_elect, &w, &w.elect, &kit.err), &kit.err);
	assign_all();
	for (uint32_t p = 0; p < P; p++)
		w.load[p] =
			pl_span_eq(assign_of(w.assign, p), pl_span_str(ids[2])) ? 30 : 10;
	open_balance();
	faulty_pause(kit.kv, true);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, LEASE, 1 << 20), PL_OK);
	faulty_pause(kit.kv, false);
	members_follow();
	elect_session(w.elect, LEASE, UINT64_C(1) << 40);
	elect_campaign(w.elect, true, 0);
	run(1000);
}

static void end(void)
{
	if (w.balance != NULL)
		balance_stop(w.balance);
	run(20000);
	T_TRUE(w.balance == NULL);
	elect_stop(w.elect, false);
	config_watch_stop(w.config);
	roster_stop(w.roster);
	run(20000);
	T_TRUE(w.elect == NULL && w.config == NULL && w.roster == NULL);
	assign_free(w.assign);
	kit_close_session(&kit, plain);
	kit_close(&kit);
}

static uint64_t version(void)
{
	return config_watch_version(w.config, CONFIG_WEIGHTS);
}

static double worst(void)
{
	double load[MEMBERS] = {0}, total = 0, most = 0, members = 0;

	for (uint32_t p = 0; p < P; p++) {
		for (unsigned i = 0; i < MEMBERS; i++)
			if (pl_span_eq(assign_of(w.assign, p), pl_span_str(ids[i])))
				load[i] += w.load[p];
		total += w.load[p];
	}
	for (unsigned i = 0; i < MEMBERS; i++) {
		most = fmax(most, load[i]);
		members += assign_count(w.assign, pl_span_str(ids[i])) != 0;
	}
	return most / (total / members);
}

/* The members follow each table until there has been none for a long time. */
static void settle(void)
{
	for (uint64_t last = UINT64_MAX, quiet = 0; quiet < 6; quiet++) {
		run(INTERVAL_MS);
		if (version() != last)
			quiet = 0;
		last = version();
		members_follow();
	}
}

T_CASE(a_hot_member_is_relieved)
{
	double before;
	uint32_t moved = 0;
	struct assign *was;

	begin(NULL, 0);
	before = worst();
	T_OK(assign_copy(w.assign, &was, &kit.err), &kit.err);
	run(INTERVAL_MS / 2);
	T_EQ(version(), 0);
	run(INTERVAL_MS);
	T_EQ(w.wrote, 1);
	T_EQ(w.troubles, 0);
	T_EQ(version(), 1);
	T_EQ(w.last.version, 1);
	T_NEAR(w.last.worst, before, 1e-9);
	members_follow();
	T_NEAR(worst(), w.last.planned, 1e-9);
	for (uint32_t p = 0; p < P; p++)
		moved += !pl_span_eq(assign_of(was, p), assign_of(w.assign, p));
	T_EQ(moved, w.last.moves);
	T_TRUE(moved <= P / 10);
	settle();
	T_TRUE(worst() < before - 0.2);
	assign_free(was);
	end();
}

T_CASE(the_record_names_author_and_reason)
{
	begin(NULL, 0);
	run(2 * INTERVAL_MS);
	T_EQ(kit_get_at(&kit, kv_key(PL_SPAN_LIT("/config/weights/0000000001")), 0),
	     PL_OK);
	T_EQ(kit.result.get.count, 1);
	T_TRUE(strstr(kit_show(&kit), "\"by\":\"s-0\"") != NULL);
	T_TRUE(strstr(kit_show(&kit), "\"why\":\"fullest 1.") != NULL);
	T_TRUE(strstr(kit_show(&kit), "\"at\":\"2026-11-21T05:0") != NULL);
	end();
}

/* A partition that is on its way, or is reported by another member, delays the table. */
T_CASE(waits_until_everything_has_arrived)
{
	begin(NULL, 0);
	w.state[1] = "draining"; /* the member takes no part, and still has partitions */
	put_record(1);
	run(10 * INTERVAL_MS);
	T_EQ(w.wrote, 0);
	members_follow();
	settle();
	T_TRUE(w.wrote > 0);
	end();
}

T_CASE(a_draining_member_takes_no_part)
{
	begin(NULL, 0);
	direct_put("/config/shards/0000000001",
	           PL_SPAN_LIT("{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":"
	                       "\"ann\",\"why\":\"\",\"nonce\":\"0000000000000001\","
	                       "\"config\":{\"drain\":[\"s-1\"]}}"));
	direct_put("/config/shards/current", PL_SPAN_LIT("{\"v\":1,\"version\":1}"));
	run(100);
	T_EQ(config_watch_version(w.config, CONFIG_SHARDS), 1);
	settle();
	T_EQ(assign_count(w.assign, pl_span_str(ids[1])), 0);
	T_TRUE(w.wrote > 0);
	T_TRUE(worst() < 1.3);
	end();
}

/* A record that does not parse delays nothing, and no member loses its factor. */
T_CASE(malformed_and_missing_members_keep_their_factors)
{
	begin(NULL, 0);
	settle();
	run(25 * INTERVAL_MS); /* registered for a long time before it goes */
	T_TRUE(config_factor(&config_watch_value(w.config, CONFIG_WEIGHTS)->weights,
	                     pl_span_str(ids[2])) < 1000);
	direct_put("/shards/s-9", PL_SPAN_LIT("what?"));
	direct_del("/shards/s-2");
	w.gone[2] = true;
	members_follow();
	for (uint32_t p = 0; p < P; p++)
		w.load[p] =
			pl_span_eq(assign_of(w.assign, p), pl_span_str(ids[0])) ? 40 : 10;
	members_follow();
	w.wrote = 0;
	run(3 * INTERVAL_MS);
	T_EQ(w.wrote, 1);
	members_follow();
	T_TRUE(config_factor(&config_watch_value(w.config, CONFIG_WEIGHTS)->weights,
	                     pl_span_str(ids[2])) != 1000);
	run(30 * INTERVAL_MS);
	for (uint32_t p = 0; p < P; p++)
		w.load[p] =
			pl_span_eq(assign_of(w.assign, p), pl_span_str(ids[1])) ? 90 : 10;
	members_follow();
	w.wrote = 0;
	run(4 * INTERVAL_MS);
	T_TRUE(w.wrote > 0);
	T_EQ(config_factor(&config_watch_value(w.config, CONFIG_WEIGHTS)->weights,
	                   pl_span_str(ids[2])),
	     1000);
	end();
}

/* Another shard leads and this one has not heard of it: the guard refuses the write. */
T_CASE(a_table_under_a_stale_epoch_is_refused)
{
	struct faulty_rule deaf = {.what = FAULTY_STALL_WATCH,
	                           .prefix = PL_SPAN_LIT("/leader/"),
	                           .per_mille = 1000};

	begin(&deaf, 1);
	run(INTERVAL_MS - 2000); /* just before the table would be written */
	T_TRUE(elect_epoch(w.elect) != 0);
	direct_del("/leader/balancer");
	direct_put("/leader/balancer", PL_SPAN_LIT("{\"v\":1,\"shard\":\"s-1\"}"));
	run(4000);
	T_EQ(w.wrote, 0);
	T_EQ(w.troubles, 1);
	T_EQ(w.trouble.code, PL_CONFLICT);
	T_EQ(version(), 0);
	end();
}

T_CASE(without_leadership_nothing_is_written)
{
	begin(NULL, 0);
	run(INTERVAL_MS / 2);
	elect_session(w.elect, 0, 0);
	run(10 * INTERVAL_MS);
	T_EQ(w.wrote, 0);
	T_EQ(w.troubles, 0);
	T_EQ(version(), 0);
	end();
}

/* Answers are lost, late, or never sent: every table is still one of ours, and the
 * weights become stable. */
T_CASE_SECONDS(through_faults, 60)
{
	struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .per_mille = 200},
		{.what = FAULTY_APPLY_LATE,
	         .per_mille = 100,
	         .delay_min_ms = 100,
	         .delay_max_ms = 8000},
		{.what = FAULTY_REFUSE, .per_mille = 200, .code = PL_BUSY},
		{.what = FAULTY_MERGE_NOTES, .per_mille = 700},
		{.what = FAULTY_END_WATCH, .per_mille = 50, .code = PL_COMPACTED},
		{.what = FAULTY_SLOW_NOTE,
	         .per_mille = 200,
	         .delay_min_ms = 10,
	         .delay_max_ms = 3000},
	};

	begin(rules, sizeof rules / sizeof rules[0]);
	for (unsigned i = 0; i < 30; i++) {
		run(INTERVAL_MS);
		members_follow();
	}
	faulty_pause(kit.kv, true);
	settle();
	T_TRUE(version() > 0 && version() < 10);
	T_TRUE(worst() < 1.2);
	end();
}

T_CASE(stops_whatever_it_does)
{
	for (unsigned way = 0; way < 2; way++) {
		struct faulty_rule slow = {.what = way == 0 ? FAULTY_SLOW_ANSWER
		                                            : FAULTY_SLOW_REQUEST,
		                           .ops = 1u << KV_TXN,
		                           .prefix = PL_SPAN_LIT("/config/weights/"),
		                           .per_mille = 1000,
		                           .delay_min_ms = 4000,
		                           .delay_max_ms = 4000};

		begin(&slow, 1);
		run(INTERVAL_MS + 2000);
		T_EQ(w.wrote, 0);
		end();
	}
	begin(NULL, 0);
	w.stop_in_note = true;
	run(2 * INTERVAL_MS);
	T_EQ(w.wrote, 1);
	T_TRUE(w.balance == NULL);
	end();
}

static enum pl_code build(void)
{
	struct balance_opts opts = {
		.partitions = P, .id = PL_SPAN_LIT("s-0"), .wall_ms = wall_ms};
	struct pl_err err;
	enum pl_code code = balance_open(kit.kv, &opts, on_balance, &w, &w.balance, &err);

	pl_fault_arm(PL_FAULT_ALLOC, 0);
	if (code == PL_OK)
		balance_stop(w.balance);
	run(1);
	T_TRUE(w.balance == NULL);
	return code;
}

T_CASE(no_memory)
{
	kit_open(&kit, NULL);
	for (uint64_t nth = 1; nth < 20; nth++) {
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		if (build() == PL_OK)
			break;
	}
	pl_fault_reset();
	T_EQ(build(), PL_OK);
	kit_close(&kit);
}

/* Each allocation fails once; the failure is reported or has no effect. */
T_CASE_SECONDS(memory_runs_out_at_work, 60)
{
	for (uint64_t nth = 1; nth < 400; nth += 7) {
		begin(NULL, 0);
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		run(INTERVAL_MS + INTERVAL_MS / 2);
		pl_fault_reset();
		run(3 * INTERVAL_MS);
		T_TRUE(w.wrote > 0);
		end();
	}
}
