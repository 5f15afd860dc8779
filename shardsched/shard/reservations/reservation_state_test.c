/* States of pods, when many of their nominations end at once. */
#include "store/keys/partition.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

enum { LOWS = 30, HIGHS = 20 };

static const char *numbered(const char *name, unsigned number)
{
	static char text[16];

	(void)snprintf(text, sizeof text, "%s-%u", name, number);
	return text;
}

static void pod(const char *name, const char *cpu, int priority)
{
	rig_priority = priority;
	rig_pod(&rig, 1, name, cpu, "");
	rig_priority = 0;
}

static bool is_in(const char *name, enum state_phase phase)
{
	int is;

	(void)rig_state(&rig, 1, name, &is);
	return is == (int)phase;
}

static struct pl_span nominated_node_of(const char *name)
{
	int phase;

	return rig_state(&rig, 1, name, &phase).nominated_node;
}

/* The pod's member says that it has ended. */
static void ends(const char *name)
{
	int phase;
	struct pod_state state = rig_state(&rig, 1, name, &phase);
	struct pl_buf buf = {.max = 4096};
	char key[128];

	T_EQ(phase, STATE_TERMINATING);
	state.ended = STATE_ENDED_GONE;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/state", name);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

/* Writes a Node as its cluster does, with its alloc. */
static void node_is(const char *name, const char *cpu)
{
	struct pl_buf buf = {.max = 1 << 16};
	struct alloc alloc = rig_alloc(&rig, 0, name);
	char key[64];

	alloc.generation++;
	T_OK(alloc_print(&alloc, &buf, &rig.err), &rig.err);
	rig.store.revision++;
	(void)snprintf(key, sizeof key, "/nodes/0000/east/%s", name);
	rig_set(&rig.store, pl_span_str(key), pl_span_str(rig_node_json(name, cpu, "")));
	(void)snprintf(key, sizeof key, "/alloc/0000/east/%s", name);
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void later(unsigned seconds)
{
	rig.now_ms += (uint64_t)seconds * 1000;
	rig_run_idle(&rig);
}

static unsigned leaving(const struct alloc *alloc)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < alloc->pods; i++)
		count += alloc->pod[i].leaving;
	return count;
}

static bool is_reserved_on(const char *node, struct pl_span name)
{
	struct alloc alloc = rig_alloc(&rig, 0, node);

	for (uint32_t i = 0; i < alloc.holds; i++)
		if (pl_span_eq(alloc.hold[i].name, name))
			return true;
	return false;
}

/* The state of a pod names a node exactly when that has a reservation for the pod. */
static void check_nomination(const char *name)
{
	struct pl_span node = nominated_node_of(name);
	char text[16];

	(void)snprintf(text, sizeof text, "%.*s", PL_SPAN_ARG(node));
	if (node.len > 0)
		T_TRUE(is_reserved_on(text, pl_span_str(name)));
	else
		T_TRUE(!is_reserved_on("n-1", pl_span_str(name)));
}

static void up(unsigned ops, const char *cpu)
{
	rig_open(&rig, NULL);
	if (ops > 0)
		sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = ops});
	rig_node(&rig, 0, "n-1", cpu);
	rig_own(&rig, 0);
	rig_own(&rig, 1);
}

static void down(void)
{
	T_EQ(rig.malformed + rig.troubles, 0);
	rig_close(&rig);
}

/* -- a node that shrinks ----------------------------------------------------- */

static void nominate_many(unsigned ops)
{
	up(ops, "30");
	for (unsigned i = 0; i < LOWS; i++)
		pod(numbered("low", i), "1", 0);
	rig_run_idle(&rig);
	for (unsigned i = 0; i < HIGHS; i++)
		pod(numbered("high", i), "1", 10);
	rig_run_idle(&rig);
	for (unsigned i = 0; i < 400 && rig_alloc(&rig, 0, "n-1").holds < HIGHS; i++)
		later(1);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, HIGHS);
}

/* All pods that are to end do. */
static void all_end(void)
{
	for (unsigned i = 0; i < LOWS; i++)
		if (is_in(numbered("low", i), STATE_TERMINATING))
			ends(numbered("low", i));
}

/* More nominations end at once than states fit into a transaction: the node goes on all
 * the same, and soon all states say it. */
static void many_end(unsigned ops)
{
	struct alloc alloc;

	nominate_many(ops);
	node_is("n-1", "5");
	rig_run_idle(&rig);
	all_end();
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_TRUE(alloc.holds < HIGHS);
	T_EQ(alloc.pods, LOWS - HIGHS);
	for (unsigned i = 0; i < 4; i++) /* so many fit into a txn */
		later(1);
	for (unsigned i = 0; i < HIGHS; i++)
		check_nomination(numbered("high", i));
	for (unsigned i = 0; i < 10; i++) {
		later(12);
		all_end();
	}
	later(12);
	T_TRUE(rig_alloc(&rig, 0, "n-1").used.cpu_milli <= 5000);
	for (unsigned i = 0; i < HIGHS; i++)
		check_nomination(numbered("high", i));
	down();
}

T_CASE(many_nominations_that_end_do_not_stop_their_node)
{
	many_end(16);
	many_end(8);
	many_end(0);
}

/* -- a plan for a pod that is nominated there already ---------------------- */

static int64_t stays(const char *node)
{
	struct alloc alloc = rig_alloc(&rig, 0, node);

	return alloc.used.cpu_milli - (int64_t)1000 * leaving(&alloc);
}

/* The first alloc from there on in which that many pods leave. */
static struct alloc when_leaving(uint32_t from, unsigned count)
{
	struct alloc alloc = {0};

	for (uint32_t i = from; i < rig.store.logged; i++) {
		const struct kv_record *record = &rig.store.log[i].record;

		if (!pl_span_eq(record->key, PL_SPAN_LIT("/alloc/0000/east/n-1")))
			continue;
		T_OK(alloc_parse(record->value, &rig.store.arena, &alloc, &rig.err),
		     &rig.err);
		if (leaving(&alloc) == count)
			return alloc;
	}
	T_TRUE(false);
	return alloc;
}

/* Thirty victims take several transactions. On the way the nomination that stood already
 * has to be given back, and it stands again with the last of them. */
T_CASE(a_nomination_left_out_by_its_plan_returns_with_it)
{
	bool waits = false;
	struct alloc alloc;
	uint32_t from;

	up(16, "50");
	for (unsigned i = 0; i < LOWS; i++)
		pod(numbered("low", i), "1", 5);
	pod("least", "20", 0);
	rig_run_idle(&rig);
	pod("high", "20", 10);
	rig_run_idle(&rig);
	T_SPAN(nominated_node_of("high"), PL_SPAN_LIT("n-1"));
	ends("least");
	rig_deliver_all(&rig);
	for (unsigned k = 0; k < 20 && !waits; k++) { /* until its bind is out */
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX && !waits; i++) {
			const struct kv_txn *txn = &rig.out[i].req.txn;

			for (size_t n = 0; rig.out[i].used && n < txn->then_count; n++)
				waits = waits || memmem(txn->then[n].put.value.at,
				                        txn->then[n].put.value.len,
				                        "Bound", strlen("Bound")) != NULL;
			if (rig.out[i].used && !waits)
				(void)rig_answer(&rig, i);
		}
		if (!waits)
			rig_deliver_all(&rig);
	}
	T_TRUE(waits);
	from = rig.store.logged;
	node_is("n-1", "30");
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_TRUE(leaving(&alloc) > 16);
	alloc = when_leaving(from, leaving(&alloc));
	T_EQ(alloc.holds, 1);
	for (unsigned i = 0; i < 6; i++) {
		check_nomination("high");
		later(12);
	}
	T_SPAN(nominated_node_of("high"), PL_SPAN_LIT("n-1"));
	T_TRUE(is_reserved_on("n-1", PL_SPAN_LIT("high")));
	T_TRUE(stays("n-1") <= 30000);
	all_end();
	rig_run_idle(&rig);
	T_TRUE(is_in("high", STATE_BOUND));
	down();
}

/* -- a plan that has grown old ----------------------------------------------- */

/* While the plan waits for its turn a pod of higher priority takes room that it relies
 * on. */
T_CASE(no_victim_leaves_for_a_nomination_that_would_not_stand)
{
	up(0, "10");
	pod("low", "8", 0);
	rig_run_idle(&rig);
	pod("small", "500m", 20);
	rig_deliver_all(&rig);
	rig_views(&rig);
	rig_run(&rig); /* the node is in a txn */
	pod("high", "9", 5);
	rig_deliver_all(&rig);
	rig_run(&rig); /* the victims are decided, and wait */
	pod("higher", "1200m", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_run_idle(&rig);
	for (unsigned i = 0; i < 5; i++) {
		T_TRUE(is_in("low", STATE_BOUND));
		T_TRUE(is_in("higher", STATE_BOUND));
		check_nomination("high");
		T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
		later(12);
	}
	down();
}

/* -- in a batch -------------------------------------------------------------- */

/* Anti-affinity that selects no pod. */
#define APART(node)                                                            \
	",\"nodeSelector\":{\"host\":\"" node                                  \
	"\"},\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":"   \
	"\"host\",\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{" \
	"\"matchLabels\":{\"app\":\"x\"}}}]"

static void four_on(const char *name, const char *node, const char *asks, int priority)
{
	char more[64];

	rig_priority = priority;
	(void)snprintf(more, sizeof more, ",\"nodeSelector\":{\"host\":\"%s\"}", node);
	for (unsigned i = 0; i < 4; i++) {
		char full[32];

		(void)snprintf(full, sizeof full, "%s-%s-%u", name, node, i);
		rig_pod(&rig, 1, full, asks, more);
	}
	rig_priority = 0;
}

/* Four pods are nominated on each of the batch's nodes, and the batch leaves them no
 * room. Its txn has exactly as much room as it takes itself. */
T_CASE(states_do_not_take_room_from_a_batch)
{
	up(0, "4");
	rig_node(&rig, 0, "n-2", "4");
	four_on("low", "n-1", "1", 0);
	four_on("low", "n-2", "1", 0);
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	four_on("high", "n-1", "1\",\"memory\":\"10Gi", 5);
	four_on("high", "n-2", "1\",\"memory\":\"10Gi", 5);
	for (unsigned i = 0; i < 40; i++)
		later(1);
	for (unsigned i = 1; i < 3; i++) { /* an alloc that another shard wrote */
		char key[64];

		(void)snprintf(key, sizeof key, "/alloc/0000/east/n-%u", i);
		T_EQ(rig_alloc(&rig, 0, numbered("n", i)).holds, 4);
		rig_put(&rig, key, rig_value(&rig, key));
	}
	rig_deliver_all(&rig);
	rig_priority = 10;
	rig_pod(&rig, 1, "top-1", "0\",\"memory\":\"60Gi", APART("n-1"));
	rig_pod(&rig, 1, "top-2", "0\",\"memory\":\"60Gi", APART("n-2"));
	rig_priority = 0;
	rig_run_idle(&rig);
	later(1);
	for (unsigned n = 1; n < 3; n++) {
		T_TRUE(is_in(numbered("top", n), STATE_BOUND));
		T_EQ(rig_alloc(&rig, 0, numbered("n", n)).pods, 5);
		for (unsigned i = 0; i < 4; i++) {
			char name[32];

			(void)snprintf(name, sizeof name, "high-n-%u-%u", n, i);
			T_EQ(nominated_node_of(name).len, 0);
		}
	}
	down();
}

/* -- a state that is out of date --------------------------------------------- */

enum { ONCE = 100 }; /* more than are reported in a txn */

static uint32_t pod_location_of(const char *node)
{
	uint32_t local = 0;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(node), RIG_PARTITIONS,
	                       &local, &rig.err),
	     &rig.err);
	return local;
}

/* The name of a node in a partition to which the pods do not belong. */
static const char *another_node(void)
{
	unsigned i = 1;

	while (pod_location_of(numbered("n", i)) == 1)
		i++;
	return numbered("n", i);
}

/* Another shard wrote the state while room was reserved for the pod. The reservation is
 * gone, and as the pod selects a node itself, it is never tried. */
static void nominated_once(const char *name, const char *node)
{
	const struct pod_state state = {.phase = STATE_PENDING,
	                                .uid = PL_SPAN_LIT("u"),
	                                .shard = PL_SPAN_LIT("east-7"),
	                                .epoch = 1,
	                                .reason = PL_SPAN_LIT("preempting"),
	                                .message = PL_SPAN_LIT("room is made"),
	                                .nominated_cluster = PL_SPAN_LIT("east"),
	                                .nominated_node = pl_span_str(node)};
	struct pl_buf buf = {.max = 4096};
	char key[64];

	rig_pod(&rig, 1, name, "1", ",\"nodeName\":\"elsewhere\"");
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/state", name);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

T_CASE(an_acquired_pods_state_is_corrected)
{
	char node[16];

	rig_open(&rig, NULL);
	(void)snprintf(node, sizeof node, "%s", another_node());
	rig_node(&rig, pod_location_of(node), node, "4");
	nominated_once("pod", node);
	rig_own(&rig, pod_location_of(node));
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_EQ(nominated_node_of("pod").len, 0);
	down();
}

/* Until it is known what the node reserves, the state cannot be called wrong. */
T_CASE(an_acquired_pods_state_is_corrected_when_its_node_is_known)
{
	char node[16];

	rig_open(&rig, NULL);
	(void)snprintf(node, sizeof node, "%s", another_node());
	rig_node(&rig, pod_location_of(node), node, "4");
	nominated_once("pod", node);
	rig_own(&rig, 1);
	later(1);
	T_SPAN(nominated_node_of("pod"), pl_span_str(node));
	rig_own(&rig, pod_location_of(node));
	later(1);
	T_EQ(nominated_node_of("pod").len, 0);
	down();
}

T_CASE(states_of_pods_that_are_never_tried_are_corrected)
{
	char node[16];

	rig_open(&rig, NULL);
	(void)snprintf(node, sizeof node, "%s", another_node());
	for (unsigned i = 0; i < ONCE; i++)
		nominated_once(numbered("pod", i), node);
	rig_own(&rig, pod_location_of(node));
	rig_own(&rig, 1);
	for (unsigned i = 0; i < 4; i++)
		later(1);
	for (unsigned i = 0; i < ONCE; i++)
		T_EQ(nominated_node_of(numbered("pod", i)).len, 0);
	down();
}
