/* Nodes with so many pods, of names so long, that their allocs have no room for more. */
#include "tests/support/shardsched/shard/sched_rig.h"

enum { NAME = 253, PODS = 4095 };

static struct rig rig;

struct key {
	char text[512];
};

static struct key key_of(unsigned pod, const char *part)
{
	struct key key;
	char name[NAME + 1];
	int len = snprintf(name, sizeof name, "p%04u", pod);

	for (; len < NAME; len++)
		name[len] = len % 60 == 0 ? '.' : 'x';
	name[NAME] = 0;
	(void)snprintf(key.text, sizeof key.text, "/schedules/0001/web/%s/%s", name,
	               part);
	return key;
}

static void submit(unsigned pod)
{
	const struct key key = key_of(pod, "spec");
	char json[1024];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%.253s\",\"uid\":"
	               "\"u-%u\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}",
	               key.text + sizeof "/schedules/0001/web/" - 1, pod);
	rig_put(&rig, key.text, json);
}

static enum state_phase phase_of(unsigned pod)
{
	struct kv_record *record =
		rig_get(&rig.store, pl_span_str(key_of(pod, "state").text));
	struct pod_state state = {.phase = STATE_PHASES};

	if (record != NULL)
		T_OK(state_parse(record->value, &rig.store.arena, &state, &rig.err),
		     &rig.err);
	return state.phase;
}

static void ask_to_go(unsigned pod)
{
	const struct key key = key_of(pod, "state");
	struct kv_record *record = rig_get(&rig.store, pl_span_str(key.text));
	struct pod_state state;
	struct pl_buf buf = {.max = 4096};

	T_OK(state_parse(record->value, &rig.store.arena, &state, &rig.err), &rig.err);
	state.ask = STATE_ASK_DELETE;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key.text), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void up(void)
{
	rig_open(&rig, NULL);
	rig_put(&rig, "/groups/nodes", "{\"v\":1}");
	rig.store.revision++;
	rig_set(&rig.store, PL_SPAN_LIT("/nodes/0000/east/n-1"),
	        PL_SPAN_LIT(
			"{\"metadata\":{\"name\":\"n-1\"},\"status\":{\"allocatable\":{"
			"\"cpu\":\"64\",\"memory\":\"64Gi\",\"pods\":\"5000\"}}}"));
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0000/east/n-1"),
	        PL_SPAN_LIT("{\"v\":1,\"generation\":1}"));
	for (unsigned i = 0; i < PODS; i++)
		submit(i);
	rig_own(&rig, 0);
	rig_own(&rig, 1);
}

static void run_for(unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		rig.now_ms += 1000;
		rig_run_idle(&rig);
	}
}

static unsigned count(enum state_phase phase)
{
	unsigned count = 0;

	for (unsigned i = 0; i < PODS; i++)
		count += phase_of(i) == phase;
	return count;
}

/* Placements leave room for some pods that are asked to leave; all pods of the node
 * leave, one after the other if need be. */
T_CASE_SECONDS(pods_of_a_full_alloc_can_be_asked_to_leave, 200)
{
	enum { GO = 300 };
	unsigned bound, asked = 0;

	up();
	run_for(30);
	bound = count(STATE_BOUND);
	T_TRUE(bound > PODS * 9 / 10 && bound < PODS);
	T_EQ(rig.troubles, 0);
	for (unsigned i = 0; i < PODS && asked < GO; i++)
		if (phase_of(i) == STATE_BOUND) {
			ask_to_go(i);
			asked++;
		}
	run_for(10);
	T_TRUE(count(STATE_TERMINATING) >= 48);
	T_TRUE(count(STATE_TERMINATING) < GO);
	T_EQ(rig.troubles, 0); /* the rest is a matter of time */
	rig_close(&rig);
}
