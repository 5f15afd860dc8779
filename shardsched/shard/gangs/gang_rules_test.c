/*
 * Large gangs whose members rules about pods on other nodes concern: what others do
 * between the steps, whoever dies where. Two shards: one has the gang and all nodes but
 * those of one partition; the other has that one, with a pod or two of its own.
 */
#include <stdarg.h>
#include <stddef.h>

#include "shardsched/shard/gangs/gang_kit.h"
#include "shardsched/shard/room/holds.h"
#include "shardsched/shard/tables/tables.h"
#include "tests/harness/torture.h"

enum { ZONES = 3, GANGS_SHARD = 0, OTHER_SHARD = 1, NOWHERE = NODES };
enum { PART_AT = offsetof(struct rig, sched), PART_SIZE = sizeof(struct rig) - PART_AT };

static uint8_t part[2][PART_SIZE];
static unsigned now_is;

static const char spread[] =
	"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
	"\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{"
	"\"matchLabels\":{\"app\":\"a\"}}}],";

__attribute__((format(printf, 1, 2))) static const char *text(const char *fmt, ...)
{
	static char room[16][1536];
	static unsigned at;
	char *out = room[at++ % 8];
	va_list args;

	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was begun above */
	(void)vsnprintf(out, sizeof room[0], fmt, args);
	va_end(args);
	return out;
}

/* Not with pods of that app in a zone; or, near, only with such. */
static const char *by_app(const char *rule, const char *app)
{
	return text("\"affinity\":{\"%s\":{\"requiredDuringSchedulingIgnoredDuring"
	            "Execution\":[{\"topologyKey\":\"zone\",\"labelSelector\":{"
	            "\"matchLabels\":{\"app\":\"%s\"}}}]}},",
	            rule, app);
}

static const char *apart(const char *app)
{
	return by_app("podAntiAffinity", app);
}

/* -- the world ------------------------------------------------------------------- */

/* With all that it has, as when something came there, and has gone. */
static void put_alloc(uint32_t n)
{
	const char *alloc = text("/alloc/%04u/east/n-%u", n % RIG_PARTITIONS, n);
	const char *value = rig_value(&rig, alloc);
	const char *at = strstr(value, "\"generation\":");
	char *rest;
	unsigned long generation;

	T_TRUE(at != NULL);
	generation = strtoul(at + strlen("\"generation\":"), &rest, 10);
	rig_put(&rig, alloc,
	        text("%.*s\"generation\":%lu%s", (int)(at - value), value, generation + 1,
	             rest));
}

/* The Node is written, with its alloc, as whoever does that writes it. */
static void put_node(uint32_t n, uint32_t zone, const char *cpu, const char *spec)
{
	put_alloc(n);
	rig_set(&rig.store,
	        pl_span_str(text("/nodes/%04u/east/n-%u", n % RIG_PARTITIONS, n)),
	        pl_span_str(text("{\"metadata\":{\"name\":\"n-%u\",\"labels\":{\"zone\":"
	                         "\"z%u\"}},\"spec\":{%s},\"status\":{\"allocatable\":{"
	                         "\"cpu\":\"%s\",\"memory\":\"64Gi\",\"pods\":"
	                         "\"110\"}}}",
	                         n, zone, spec, cpu)));
	rig_set(&rig.store, PL_SPAN_LIT("/groups/nodes"), PL_SPAN_LIT("{\"v\":1}"));
}

static void put_zone(uint32_t n, uint32_t zone, const char *cpu)
{
	put_node(n, zone, cpu, "");
}

static void be(unsigned shard)
{
	uint64_t now_ms = rig.now_ms;
	int64_t epoch = rig.epoch;

	memcpy(part[now_is], (uint8_t *)&rig + PART_AT, PART_SIZE);
	memcpy((uint8_t *)&rig + PART_AT, part[shard], PART_SIZE);
	rig.now_ms = now_ms;
	rig.epoch = epoch;
	now_is = shard;
}

static uint32_t others(void)
{
	return (home() + 1) % RIG_PARTITIONS;
}

/* Twelve nodes of four cpus in three zones. */
static void two_shards(void)
{
	node_cpus = 4;
	begin_unowned();
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % ZONES, "4");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		if (p != others())
			rig_own(&rig, p);
	memcpy(part[GANGS_SHARD], (uint8_t *)&rig + PART_AT, PART_SIZE);
	rig.sched = NULL; /* it is the other's, there */
	another_shard();
	rig_own(&rig, others());
	now_is = OTHER_SHARD;
	be(GANGS_SHARD);
}

static void close_both(void)
{
	for (unsigned i = 0; i < 2; i++) {
		be(i);
		T_EQ(rig.garbled, 0);
		sched_free(rig.sched);
	}
	free(rig.store.log);
	pl_arena_done(&rig.store.arena);
}

static void both_for(uint64_t ms)
{
	for (uint64_t i = 0; i < ms; i += 100) {
		rig.now_ms += 100;
		for (unsigned n = 0; n < 2; n++) {
			be(n);
			rig_settle(&rig);
		}
	}
	be(GANGS_SHARD);
}

/* Only the other shard goes on. */
static void other_for(uint64_t ms)
{
	be(OTHER_SHARD);
	settle_for(ms);
	be(GANGS_SHARD);
}

/* A pod of the other shard's, of that app. */
static void other_pod(const char *name, const char *app, const char *spec)
{
	rig_put(&rig, text("/schedules/%04u/web/%s/spec", others(), name),
	        text("{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"labels\":{"
	             "\"app\":\"%s\"}},\"spec\":{%s\"containers\":[{\"name\":\"c\","
	             "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
	             name, app, spec));
}

static uint32_t node_of(const char *name, uint32_t p)
{
	int phase_is;
	struct pod_state state = rig_state(&rig, p, name, &phase_is);

	return phase_is != STATE_BOUND
	               ? (uint32_t)NOWHERE
	               : (uint32_t)strtoul((const char *)state.node.at + 2, NULL, 10);
}

static uint32_t members_in(uint32_t zone)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < MEMBERS; i++) {
		uint32_t node = node_of(text("a-%u", i), home());

		count += node != NOWHERE && node % ZONES == zone;
	}
	return count;
}

/* The call that binds the gang; RIG_OUT_MAX: it is not out. */
static unsigned flip_out(void)
{
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		for (size_t n = 0; rig.out[i].used && n < rig.out[i].req.txn.then_count;
		     n++) {
			const struct kv_req *op = &rig.out[i].req.txn.then[n];

			if (op->op == KV_PUT &&
			    pl_span_eq(op->put.key, PL_SPAN_LIT("/gangs/web/a")) &&
			    memmem(op->put.value.at, op->put.value.len, "\"bound\"", 7) !=
			            NULL)
				return i;
		}
	return RIG_OUT_MAX;
}

/* All room is held, and it is about to be bound: that call is out. */
static unsigned until_flip(void)
{
	for (unsigned i = 0; i < 100 && flip_out() == RIG_OUT_MAX; i++) {
		(void)answer_all();
		rig.now_ms += 20;
		rig_run(&rig);
	}
	T_TRUE(flip_out() < RIG_OUT_MAX);
	return flip_out();
}

static bool is_bind(const struct rig_out *out)
{
	for (size_t i = 0; out->used && i < out->req.txn.then_count; i++)
		if (out->req.txn.then[i].op == KV_PUT &&
		    pl_span_starts(out->req.txn.then[i].put.key, PL_SPAN_LIT("/alloc/")))
			return true;
	return false;
}

/* The other shard has decided a pod, and that call is out. */
static void until_other_binds(void)
{
	bool binds = false;

	be(OTHER_SHARD);
	for (unsigned i = 0; i < 100 && !binds; i++) {
		(void)answer_all();
		rig.now_ms += 20;
		rig_run(&rig);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++)
			binds = binds || is_bind(&rig.out[n]);
	}
	T_TRUE(binds);
	be(GANGS_SHARD);
}

/* What it has sent is applied only now. */
static void other_hears(void)
{
	be(OTHER_SHARD);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig.out[i].used)
			(void)rig_answer(&rig, i);
	be(GANGS_SHARD);
}

/* -- as it should be ---------------------------------------------------------------- */

T_CASE(spreading_over_zones_goes_in_steps)
{
	two_shards();
	members(spread);
	until("reserving");
	until("bound");
	T_EQ(held(), MEMBERS);
	until("none");
	both_for(1000);
	for (uint32_t z = 0; z < ZONES; z++)
		T_EQ(members_in(z), MEMBERS / ZONES);
	all_is_well();
	close_both();
}

T_CASE(members_that_are_near_each_other_do_too)
{
	uint32_t zone = 0;

	two_shards();
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % ZONES, "9");
	node_cpus = 9;
	rig_deliver_all(&rig);
	members(by_app("podAffinity", "a"));
	both_for(2000);
	while (members_in(zone) == 0)
		zone++;
	T_EQ(members_in(zone), MEMBERS);
	all_is_well();
	close_both();
}

/* -- who comes between the steps ------------------------------------------------------
 */

/* From the record on, until its last moment, somebody comes whom they can not be with. */
T_CASE(who_comes_while_room_is_held_is_seen)
{
	for (unsigned late = 0; late < 2; late++) {
		unsigned flip = RIG_OUT_MAX;
		uint32_t node;

		two_shards();
		members(apart("y"));
		if (late)
			flip = until_flip();
		else
			until("reserving");
		other_pod("y", "y", "");
		other_for(1000);
		node = node_of("y", others());
		T_TRUE(node != NOWHERE);
		if (late)
			T_TRUE(!rig_answer(&rig, flip));
		both_for(20000);
		T_EQ(members_in(node % ZONES), 0);
		all_is_well();
		close_both();
	}
}

/* The lock is newer, and all is as it was: it is bound, by the same record. */
T_CASE(who_is_in_nobodys_way_costs_it_nothing)
{
	unsigned flip;

	two_shards();
	other_pod("y", "y", "\"nodeSelector\":{\"zone\":\"z1\"},");
	other_for(1000);
	members(apart("y"));
	flip = until_flip();
	other_pod("y-1", "y", "\"nodeSelector\":{\"zone\":\"z1\"},");
	other_for(1000);
	T_TRUE(node_of("y-1", others()) != NOWHERE);
	T_TRUE(!rig_answer(&rig, flip));
	until("bound");
	both_for(1000);
	T_EQ(members_in(1), 0);
	all_is_well();
	close_both();
}

/* A zone that is new, or that nodes have left, counts. */
T_CASE(a_node_that_is_relabelled_meanwhile_is_seen)
{
	unsigned flip;

	two_shards();
	rig_node(&rig, 0, "n-100", "4");
	rig_deliver_all(&rig);
	put_zone(100, 0, "4");
	members(spread);
	flip = until_flip();
	put_zone(100, 7, "0"); /* where there never can be one */
	T_TRUE(!rig_answer(&rig, flip));
	both_for(20000);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	put_zone(100, 0, "4");
	both_for(60000);
	all_is_well();
	close_both();
}

/* -- nodes that somebody has written ------------------------------------------ */

static uint64_t cycles(void)
{
	struct plugin_figures figures;
	uint64_t most = 0;

	for (unsigned i = 0; i < PLUGINS_MAX; i++) {
		cycle_figures(rig.sched->cycle, i, &figures);
		most = figures.runs > most ? figures.runs : most;
	}
	return most;
}

/* What was planned there is planned again, when all members have been asked once. */
T_CASE(all_nodes_that_were_written_are_judged_at_once)
{
	uint64_t before;

	two_shards();
	members(spread);
	until("reserving");
	for (uint32_t n = 0; n < NODES; n++)
		put_alloc(n);
	rig_deliver_all(&rig);
	before = cycles();
	rig_run(&rig);
	T_TRUE(cycles() > before);
	T_TRUE(cycles() - before <= MEMBERS);
	until("bound");
	both_for(1000);
	all_is_well();
	close_both();
}

/* Nothing more goes to one of them for a while, since it has refused too often: that does
 * not say that it never will do. */
T_CASE(a_node_that_is_aside_is_waited_for)
{
	const uint32_t other = others();
	struct sched_node *node;

	two_shards();
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % ZONES, "2"); /* so all of them are wanted */
	rig_deliver_all(&rig);
	members(spread);
	until("reserving");
	node = node_find(rig.sched, PL_SPAN_LIT("east"),
	                 pl_span_str(text("n-%u", other)));
	T_TRUE(node != NULL && !node_is_home(rig.sched, node) && holds_close(node));
	for (unsigned i = 0; i < 5; i++)
		abroad_refused(rig.sched, node, CONFLICT_ALLOC);
	put_alloc(other);
	put_alloc((other + 1) % RIG_PARTITIONS);
	rig_deliver_all(&rig);
	T_TRUE(node->scope == NODE_ASIDE && !holds_close(node));
	rig_run(&rig);
	(void)answer_all();
	T_STR(phase(), "reserving");
	both_for(8000);
	T_EQ(bound(), MEMBERS);
	all_is_well();
	close_both();
}

/* -- who comes after it is bound
 * ---------------------------------------------------------- */

/* Decided before it, and sent after. */
T_CASE(who_was_decided_without_it_fails)
{
	two_shards();
	other_pod("q", "q", apart("a"));
	until_other_binds();
	members("");
	until("bound");
	other_hears();
	T_EQ(node_of("q", others()), NOWHERE);
	both_for(5000);
	if (node_of("q", others()) != NOWHERE)
		T_EQ(members_in(node_of("q", others()) % ZONES), 0);
	all_is_well();
	close_both();
}

static const char *spread_of(const char *key, const char *values)
{
	return text("\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":"
	            "\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\","
	            "\"labelSelector\":{\"matchExpressions\":[{\"key\":\"%s\","
	            "\"operator\":\"In\",\"values\":[%s]}]}}],",
	            key, values);
}

/* The gang looks at the pod, the pod at a member, and neither at who looks at him: what
 * the gang's record puts is more than what it compares. Five zones, of which one takes
 * one member less than the others, and a node in z0 which only the pod has room on and
 * tolerates: with it there, there are too many for either, whoever came first. */
T_CASE(neither_of_two_who_look_at_each_other_is_missed)
{
	const char *members_rule, *pod_rule;

	two_shards();
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % 5, n % 5 == 4 ? "2" : "4");
	rig_node(&rig, 100 % RIG_PARTITIONS, "n-100", "9");
	put_node(100, 0, "9", "\"taints\":[{\"key\":\"t\",\"effect\":\"NoSchedule\"}]");
	members_rule = spread_of("app", "\"a\",\"p\"");
	other_pod("first", "w", members_rule); /* so it is registered */
	both_for(2000);
	pod_rule = spread_of("two", "\"y\"");
	rig_put(&rig, text("/schedules/%04u/web/p/spec", others()),
	        text("{\"metadata\":{\"namespace\":\"web\",\"name\":\"p\",\"labels\":{"
	             "\"app\":\"p\",\"two\":\"y\"}},\"spec\":{%s\"tolerations\":[{"
	             "\"operator\":\"Exists\"}],\"containers\":[{\"name\":\"c\",\"resources\":{"
	             "\"requests\":{\"cpu\":\"6\"}}}]}}",
	             pod_rule));
	until_other_binds();
	for (uint32_t i = 1; i < MEMBERS; i++)
		member_with(i, members_rule);
	rig_put(&rig, text("/schedules/%04u/web/a-0/spec", home()),
	        text("{\"metadata\":{\"namespace\":\"web\",\"name\":\"a-0\",\"labels\":{"
	             "\"app\":\"a\",\"two\":\"y\"},\"annotations\":{"
	             "\"placet.io/gang\":\"a\",\"placet.io/gang-min\":\"%d\"}},"
	             "\"spec\":{%s\"nodeSelector\":{\"zone\":\"z0\"},\"containers\":[{"
	             "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
	             MEMBERS, members_rule));
	until("bound");
	other_hears();
	T_EQ(node_of("p", others()), NOWHERE);
	both_for(5000);
	T_EQ(node_of("p", others()), NOWHERE);
	all_is_well();
	close_both();
}

/* Another gang is bound, and its pods are on their way: no view shows where they are. */
T_CASE(it_waits_for_a_gang_that_is_on_its_way)
{
	char name[16];
	struct partition_group group = {.namespace = PL_SPAN_LIT("web")};
	uint32_t p = RIG_PARTITIONS;

	two_shards();
	members(spread);
	until("reserving");
	for (unsigned i = 0; p != others(); i++) {
		(void)snprintf(name, sizeof name, "b-%u", i);
		group.gang = pl_span_str(name);
		T_OK(partition_of_group(&group, RIG_PARTITIONS, &p, &rig.err), &rig.err);
	}
	rig_put(&rig, text("/gangs/web/%s", name),
	        "{\"v\":1,\"phase\":\"bound\",\"shard\":\"east-1\",\"epoch\":\"1\","
	        "\"until\":\"2026-11-21T09:00:00.000Z\",\"nodes\":[{\"at\":0,"
	        "\"cluster\":\"east\",\"node\":\"n-0\",\"pods\":{\"b\":\"7\"}}]}");
	rig_deliver_all(&rig);
	settle_for(5000);
	T_STR(phase(), "reserving");
	both_for(2000); /* its owner sees that nothing is left of it */
	all_is_well();
	close_both();
}

/* With a rule that nobody knew when it was bound; and whoever was to list it may be dead.
 */
T_CASE(nobody_is_decided_while_it_is_on_its_way)
{
	for (unsigned dead = 0; dead < 2; dead++) {
		two_shards();
		members(spread);
		until("bound");
		T_EQ(bound(), 0);
		if (dead) {
			sched_free(rig.sched);
			rig.sched = NULL;
			another_shard();
		}
		other_pod("q", "q", apart("a"));
		other_for(8000);
		T_EQ(node_of("q", others()), NOWHERE);
		T_EQ(bound(), 0);
		if (dead)
			for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
				if (p != others())
					rig_own(&rig, p);
		both_for(5000);
		T_EQ(node_of("q", others()), NOWHERE); /* they are everywhere */
		rig_node(&rig, 101 % RIG_PARTITIONS, "n-101", "4");
		put_zone(101, 9, "4");
		both_for(20000);
		all_is_well();
		close_both();
	}
}

/* -- terms that come --------------------------------------------------------------------
 */

/* Plain until then: nobody had a rule about them. */
T_CASE(a_term_that_is_new_before_it_is_bound_is_seen)
{
	unsigned flip;
	uint32_t node;

	two_shards();
	members("");
	flip = until_flip();
	other_pod("q", "q", apart("a"));
	other_for(2000);
	node = node_of("q", others());
	T_TRUE(node != NOWHERE);
	T_TRUE(!rig_answer(&rig, flip));
	both_for(20000);
	T_EQ(members_in(node % ZONES), 0);
	all_is_well();
	close_both();
}

/* -- who is about to be placed here ----------------------------------------------------
 */

/* What is decided here and not so yet is nothing to go by. */
T_CASE(it_does_not_go_by_what_may_not_come_true)
{
	unsigned flip;

	two_shards();
	other_pod("b", "b", "\"nodeSelector\":{\"zone\":\"z1\"},");
	other_for(1000);
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % ZONES, "9");
	node_cpus = 9;
	rig_deliver_all(&rig);
	members(by_app("podAffinity", "b"));
	flip = until_flip();
	/* The one that they were to be near goes, and another is about to come. */
	rig_put(&rig, text("/schedules/%04u/web/b-1/spec", home()),
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"b-1\",\"labels\":{"
	        "\"app\":\"b\"}},\"spec\":{\"nodeSelector\":{\"zone\":\"z1\"},"
	        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	        "\"cpu\":\"1\"}}}]}}");
	rig_put(&rig, text("/schedules/%04u/web/b/state", others()),
	        text("%.*s,\"ended\":\"Succeeded\"}",
	             (int)strlen(rig_value(
			     &rig, text("/schedules/%04u/web/b/state", others()))) -
	                     1,
	             rig_value(&rig, text("/schedules/%04u/web/b/state", others()))));
	other_for(1000);
	T_TRUE(!rig_answer(&rig, flip));
	for (unsigned i = 0; i < 400; i++) {
		rig_deliver_all(&rig);
		rig.now_ms += 5;
		rig_run(&rig);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++) {
			if (!rig.out[n].used)
				continue;
			T_TRUE(node_of("b-1", home()) != NOWHERE || n != flip_out());
			(void)rig_fail(&rig, n, PL_BUSY);
		}
	}
	both_for(30000);
	T_EQ(members_in(1), MEMBERS);
	all_is_well();
	close_both();
}

/* -- whoever dies
 * --------------------------------------------------------------------------- */

/* Death at each call; the last one was applied, or not. */
T_CASE(whoever_takes_over_keeps_the_rules)
{
	bool reached = true;
	unsigned in[2] = {0};

	for (unsigned die = 0; reached; die++) {
		node_cpus = 4;
		begin_unowned();
		for (uint32_t n = 0; n < NODES; n++)
			put_zone(n, n % ZONES, "4");
		own_all();
		members(spread);
		reached = dies_at(die / 2, die % 2 == 0);
		in[0] += strcmp(phase(), "reserving") == 0;
		in[1] += strcmp(phase(), "bound") == 0;
		if (reached) {
			another_shard();
			own_all();
		}
		all_is_well();
		for (uint32_t z = 0; z < ZONES; z++)
			T_EQ(members_in(z), MEMBERS / ZONES);
		rig_close(&rig);
	}
	T_TRUE(in[0] > 2 && in[1] > 2);
}

/* The one that was sent may be applied no more, since its epoch is over; sent anew under
 * the next one it would be, though most members have gone. */
T_CASE(a_flip_of_an_old_epoch_is_only_asked_for)
{
	for (unsigned waits = 0; waits < 2; waits++) {
		unsigned flip;

		two_shards();
		members("");
		flip = until_flip();
		if (waits)
			rig_fail(&rig, flip, PL_UNKNOWN);
		rig_lost(&rig, home());
		for (uint32_t i = 4; i < MEMBERS; i++)
			rig_del(&rig, text("/schedules/%04u/web/a-%u/spec", home(), i));
		rig_own(&rig, home());
		if (!waits)
			rig_fail(&rig, flip, PL_UNKNOWN);
		rig.now_ms += 20;
		rig_run(&rig);
		T_EQ(flip_out(), RIG_OUT_MAX);
		both_for(5000);
		T_EQ(bound(), 0);
		T_EQ(held(), 0);
		T_STR(phase(), "none");
		members("");
		both_for(5000);
		all_is_well();
		close_both();
	}
}

/* -- what can not be
 * --------------------------------------------------------------------- */

T_CASE(more_locks_than_a_transaction_takes)
{
	struct pod_state state;
	int phase_is;

	two_shards();
	for (uint32_t i = 0; i < MEMBERS; i++)
		member_with(i, apart(text("x-%u", i)));
	rig_deliver_all(&rig);
	both_for(5000);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	state = rig_state(&rig, home(), "a-0", &phase_is);
	T_SPAN(state.reason, PL_SPAN_LIT("gang.large"));
	T_TRUE(memmem(state.message.at, state.message.len, "the locks of the rules",
	              22) != NULL);
	close_both();
}

/* -- whatever allocation fails
 * -------------------------------------------------------------- */

static enum pl_code live_through(void)
{
	const struct sched_opts opts = {.shard = "east-0", .partitions = RIG_PARTITIONS};
	enum pl_code code = sched_new(&opts, &rig.sched, &rig.err);

	if (code != PL_OK)
		return code;
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = OPS});
	own_all();
	for (int i = 0; i < 5; i++) {
		rig_settle(&rig);
		rig.now_ms += 11000;
	}
	return PL_OK;
}

T_CASE_SECONDS(any_allocation_may_fail, 200)
{
	bool fired = true;
	uint64_t nth = 1;

	for (; fired; nth += 11) { /* the others have tests of their own */
		enum pl_code code;

		node_cpus = 4;
		begin_unowned();
		for (uint32_t n = 0; n < NODES; n++)
			put_zone(n, n % ZONES, "4");
		members(spread);
		sched_free(rig.sched);
		rig.sched = NULL;
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = live_through();
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_TRUE(code == PL_OK || (fired && code == PL_NOMEM));
		if (code == PL_OK)
			close_well();
		else
			rig_close(&rig);
	}
	T_TRUE(nth > 250);
}
