/* The core's story, for people to read: tests/golden/sched. */
#include <stdarg.h>

#include "store/base/buf.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;
static struct pl_buf story;
static bool known[RIG_OUT_MAX];

__attribute__((format(printf, 1, 2))) static void print_line(const char *fmt, ...)
{
	char line[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	T_EQ(pl_buf_printf(&story, "%s\n", line), PL_OK);
}

#define NARRATE(...)                                                            \
	do {                                                                    \
		char line[512];                                                 \
		(void)snprintf(line, sizeof line, __VA_ARGS__);                 \
		print_line("[%5llu] %s", (unsigned long long)rig.now_ms, line); \
	} while (0)

/* "n-1 takes 2 pods: a b" or "a is Bound to n-1". */
static void print_value(const char *how, struct pl_span key, struct pl_span value)
{
	struct keys_id id;
	struct alloc alloc;
	struct pod_state state;

	T_EQ(keys_parse(key, &id, NULL), PL_OK);
	if (id.kind == KEYS_ALLOC) {
		char pods[256] = "";

		T_OK(alloc_parse(value, &rig.store.arena, &alloc, &rig.err), &rig.err);
		for (uint32_t i = 0; i < alloc.pods; i++) {
			size_t len = strlen(pods);

			(void)snprintf(pods + len, sizeof pods - len, " %.*s",
			               PL_SPAN_ARG(alloc.pod[i].name));
		}
		print_line(
			"          %s alloc of %.*s: generation %llu, cpu %lldm, pods%s",
			how, PL_SPAN_ARG(id.name), (unsigned long long)alloc.generation,
			(long long)alloc.used.cpu_milli,
			alloc.pods == 0 ? " none" : pods);
		return;
	}
	T_OK(state_parse(value, &rig.store.arena, &state, &rig.err), &rig.err);
	print_line("          %s state of %.*s: %s%s%.*s%s%.*s%s%.*s", how,
	           PL_SPAN_ARG(id.name), state_phase_word(state.phase),
	           state.node.len > 0 ? " on " : "", PL_SPAN_ARG(state.node),
	           state.reason.len > 0 ? ", " : "", PL_SPAN_ARG(state.reason),
	           state.message.len > 0 ? ": " : "", PL_SPAN_ARG(state.message));
}

static void print_txn(const struct rig_out *out)
{
	const struct kv_txn *txn = &out->req.txn;

	print_line("          txn %u", out->txn);
	for (size_t i = 0; i < txn->compare_count; i++)
		print_line("          if %.*s is of revision %lld",
		           PL_SPAN_ARG(txn->compares[i].keys.from),
		           (long long)txn->compares[i].number);
	for (size_t i = 0; i < txn->then_count; i++)
		if (txn->then[i].op == KV_PUT)
			print_value("put", txn->then[i].put.key, txn->then[i].put.value);
		else
			print_line("          read %.*s",
			           PL_SPAN_ARG(txn->then[i].get.keys.from));
}

static void run(void)
{
	unsigned malformed = rig.malformed + rig.troubles;

	rig_run(&rig);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		if (rig.out[i].used && !known[i])
			print_txn(&rig.out[i]);
		known[i] = rig.out[i].used;
	}
	if (rig.malformed + rig.troubles != malformed)
		print_line("          reported: %s", rig.said);
}

static void show(void)
{
	struct sched_figures figures;
	struct queue_stats stats;

	sched_check(rig.sched);
	sched_figures(rig.sched, &figures);
	sched_queue_stats(rig.sched, &stats);
	print_line(
		"          nodes %u, queue: active %u backoff %u waiting %u gated %u flight "
		"%u; placed %llu, conflicts %llu, unknown %llu",
		figures.nodes, stats.pods[QUEUE_ACTIVE], stats.pods[QUEUE_BACKOFF],
		stats.pods[QUEUE_WAITING], stats.pods[QUEUE_GATED],
		stats.pods[QUEUE_IN_FLIGHT], (unsigned long long)figures.placed,
		(unsigned long long)figures.conflicts,
		(unsigned long long)figures.txns_unknown);
}

static void answer(void)
{
	bool yes;

	T_TRUE(rig.out[0].used);
	yes = rig_answer(&rig, 0);
	known[0] = false;
	NARRATE("the txn is answered: %s", yes ? "yes" : "no");
	show();
}

static void begin(void)
{
	rig_open(&rig, NULL);
	pl_buf_init(&story, 1 << 20);
	memset(known, 0, sizeof known);
}

static void end(const char *name)
{
	t_golden(name, (const char *)pl_buf_span(&story).at);
	pl_buf_done(&story);
	rig_close(&rig);
}

static void two_nodes_and_a_pod(void)
{
	begin();
	rig_node(&rig, 0, "n-1", "4");
	rig_node(&rig, 0, "n-2", "2");
	rig_pod(&rig, 1, "a", "3", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	NARRATE("partitions 0 (n-1 with 4 cpu, n-2 with 2) and 1 (pod a, 3 cpu) are owned");
	show();
	run();
	show();
}

T_CASE(a_pod_is_placed_and_its_echo_is_known)
{
	struct sched_figures figures;

	two_nodes_and_a_pod();
	answer();
	rig_deliver_all(&rig);
	sched_figures(rig.sched, &figures);
	NARRATE("the events arrive: %llu echoes", (unsigned long long)figures.echoes);
	rig_pod(&rig, 1, "b", "1", "");
	rig_pod(&rig, 1, "c", "2", "");
	rig_pod(&rig, 1, "d", "2", "");
	rig_deliver_all(&rig);
	NARRATE("b (1 cpu), c and d (2 each) come; after b there is no room for them");
	run();
	show();
	answer();
	run();
	NARRATE("c and d have a status that says why they wait");
	(void)rig_answer(&rig, 1);
	known[1] = false;
	rig_deliver_all(&rig);
	show();
	rig_node(&rig, 0, "n-3", "2");
	rig_deliver_all(&rig);
	rig.now_ms += 11000;
	NARRATE("n-3 comes");
	run();
	answer();
	end("sched/flow.txt");
}

static void bind(const char *pod, const char *node, const char *generation,
                 const char *cpu)
{
	char key[128], value[512];

	rig.store.revision++;
	(void)snprintf(key, sizeof key, "/alloc/0000/east/%s", node);
	(void)snprintf(value, sizeof value,
	               "{\"v\":1,\"generation\":%s,\"used\":{\"cpu\":\"%s\",\"pods\":"
	               "\"1\"},\"nonzero\":{\"cpu\":\"%s\",\"memory\":\"209715200\"},"
	               "\"pods\":{\"0003\":{\"web\":[\"%s\"]}}}",
	               generation, cpu, cpu, pod);
	rig_set(&rig.store, pl_span_str(key), pl_span_str(value));
	(void)snprintf(key, sizeof key, "/schedules/0003/web/%s/state", pod);
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"%s\","
		"\"shard\":\"west-0\",\"epoch\":\"9\",\"since\":"
		"\"2026-11-21T09:00:00.000Z\"}",
		node);
	rig_set(&rig.store, pl_span_str(key), pl_span_str(value));
}

T_CASE(another_writer_was_first)
{
	two_nodes_and_a_pod();
	rig_pod(&rig, 3, "x", "2", "");
	bind("x", "n-1", "2", "2000m");
	NARRATE("another shard puts x of partition 3 on n-1, which then has 2 cpu left");
	answer();
	rig_deliver_all(&rig);
	run();
	NARRATE("the spec of x is read; meanwhile nothing goes to n-1");
	(void)rig_answer(&rig, 0);
	(void)rig_answer(&rig, 1);
	known[0] = known[1] = false;
	show();
	run();
	show();
	rig_node(&rig, 0, "n-4", "4");
	rig_deliver_all(&rig);
	rig.now_ms += 11000;
	NARRATE("n-4 comes with 4 cpu");
	run();
	answer();
	end("sched/conflict.txt");
}

T_CASE(an_unknown_outcome_was_yes)
{
	two_nodes_and_a_pod();
	(void)rig_exec(&rig.store, &rig.out[0].req.txn);
	rig_fail(&rig, 0, PL_UNKNOWN);
	known[0] = false;
	NARRATE("its outcome is unknown; it was applied");
	show();
	rig_deliver_all(&rig);
	NARRATE("its events arrive, and are deferred");
	show();
	rig.now_ms += 20;
	run();
	answer();
	end("sched/unknown-yes.txt");
}

T_CASE(an_unknown_outcome_was_no)
{
	two_nodes_and_a_pod();
	rig_fail(&rig, 0, PL_UNKNOWN);
	known[0] = false;
	NARRATE("its outcome is unknown; it was not applied");
	rig.now_ms += 20;
	run();
	answer();
	rig_deliver_all(&rig);
	show();
	end("sched/unknown-no.txt");
}

T_CASE(a_partition_is_lost_in_flight)
{
	two_nodes_and_a_pod();
	(void)rig_exec(&rig.store, &rig.out[0].req.txn);
	rig_fail(&rig, 0, PL_UNKNOWN);
	known[0] = false;
	NARRATE("its outcome is unknown; it was applied");
	rig.now_ms += 20;
	run();
	rig_fail(&rig, 0, PL_FENCED);
	known[0] = false;
	NARRATE("the same again, and it is fenced: now the keys are only read");
	rig_lost(&rig, 1);
	NARRATE("partition 1 is lost, with the pod");
	show();
	rig.now_ms += 40;
	run();
	answer();
	rig_deliver_all(&rig);
	rig_own(&rig, 1);
	NARRATE("partition 1 comes back");
	run();
	show();
	end("sched/lost.txt");
}

T_CASE(a_node_changes_under_the_decision)
{
	two_nodes_and_a_pod();
	rig.store.revision++;
	rig_set(&rig.store, PL_SPAN_LIT("/nodes/0000/east/n-1"),
	        pl_span_str(rig_node_json("n-1", "4", "\"unschedulable\":true")));
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0000/east/n-1"),
	        PL_SPAN_LIT("{\"v\":1,\"generation\":2}"));
	(void)rig_deliver(&rig, 0, SCHED_ALLOCS, 100);
	NARRATE("n-1 is cordoned; so far only its alloc has arrived");
	answer();
	run();
	NARRATE("the known Node is older than the alloc");
	answer();
	run();
	NARRATE("it fits nowhere now");
	answer();
	run();
	show();
	end("sched/cordon.txt");
}
