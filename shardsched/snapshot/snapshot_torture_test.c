/*
 * Each allocation fails in turn: the failed call changes nothing, and succeeds when it is
 * made again.
 */
#include "tests/harness/torture.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

enum { MANY = SNAPSHOT_PAD + 40, SLOTS = MANY + 8 };

static struct node node[3];
static struct pod pod[3];
static uint32_t cluster[MANY], key[2];
static bool failed;

static const char *const node_text[3] = {
	"{'metadata':{'name':'n0','labels':{'zone':'a','host':'h0'}},'status':{"
	"'allocatable':{'cpu':'4','example.com/gpu':'2'},'images':[{'names':['i','j']}]}}",
	"{'metadata':{'name':'n1','labels':{'zone':'b','host':'h1'}},'status':{"
	"'allocatable':{'cpu':'4','example.com/gpu':'2','example.com/stick':'1'},"
	"'images':[{'names':['k']}]}}",
	"{'metadata':{'name':'n1','labels':{'zone':'c','host':'h2'}},'status':{"
	"'allocatable':{'cpu':'9','hugepages-2Mi':'1Gi'}}}",
};

static const char *const pod_text[3] = {
	"{'metadata':{'name':'p0','namespace':'x'},'spec':{'containers':[{'name':'c',"
	"'image':'i','resources':{'requests':{'cpu':'1','other.com/disk':'7'}}}]}}",
	"{'metadata':{'name':'p1','namespace':'x'},'spec':{'containers':[{'name':'c',"
	"'image':'i','ports':[{'containerPort':80,'hostPort':80}]}]}}",
	"{'metadata':{'name':'p2','namespace':'x'},'spec':{'volumes':[{'name':'v',"
	"'persistentVolumeClaim':{'claimName':'c'}}],'containers':[{'name':'c',"
	"'image':'i'}]}}",
};

/* Once more after a failure, which must have left everything right. */
#define TWICE(call)                                    \
	do {                                           \
		enum pl_code code_ = (call);           \
		if (code_ != PL_OK) {                  \
			T_CODE(code_, PL_NOMEM, NULL); \
			T_TRUE(!failed);               \
			failed = true;                 \
			snapshot_check(&snapshot);     \
			T_OK(call, &err);              \
		}                                      \
	} while (0)

static uint32_t add_node(unsigned which, uint32_t of)
{
	uint32_t slot = 0;

	TWICE(snapshot_node_add(&snapshot, of, &node[which], &slot, &err));
	return slot;
}

static uint32_t add_pod(unsigned which, uint32_t slot)
{
	struct pod_on_node there = on_node(&pod[which]);
	uint32_t placed = 0;

	TWICE(snapshot_pod_add(&snapshot, slot, &there, &placed, &err));
	return placed;
}

static void play(void)
{
	struct label_column *column[2];
	struct pod_on_node there = on_node(&pod[0]);
	struct node_reservation is = {.amounts = node[1].allocatable};
	uint32_t slot[2], waiting, reservation, placed[3];

	slot[0] = add_node(0, 0);
	for (unsigned i = 0; i < 2; i++)
		TWICE(label_column_open(&snapshot, key[i], &column[i], &err));
	slot[1] = add_node(1, 0);
	for (unsigned i = 0; i < 3; i++)
		placed[i] = add_pod(i, slot[1]);
	TWICE(snapshot_nominate(&snapshot, slot[0], &there, &waiting, &err));
	TWICE(snapshot_reserve(&snapshot, slot[0], &is, &reservation, &err));
	TWICE(snapshot_node_change(&snapshot, slot[1], &node[2], &err));
	for (unsigned i = 0; i < MANY; i++)
		add_node(0, cluster[i]);
	T_EQ(column[1]->domain[column[1]->value[slot[0]]].nodes, MANY + 1);
	for (unsigned i = 0; i < MANY; i++)
		add_pod(i % 3, slot[0]);
	snapshot_check(&snapshot);
	snapshot_pod_remove(&snapshot, placed[1]);
	for (unsigned i = 0; i < 2; i++)
		label_column_close(&snapshot, column[i]);
}

static enum pl_code run(void)
{
	enum pl_code code = snapshot_init(&snapshot, &model, &err);

	failed = false;
	if (code != PL_OK)
		return code;
	play();
	snapshot_check(&snapshot);
	snapshot_done(&snapshot);
	return failed ? PL_NOMEM : PL_OK;
}

T_CASE_SECONDS(failed_calls_change_nothing, 60)
{
	model_init(&model);
	pl_arena_init(&arena, 1 << 16, 0);
	for (unsigned i = 0; i < 3; i++) {
		node[i] = node_from(node_text[i]);
		pod[i] = pod_from(pod_text[i]);
	}
	for (unsigned i = 0; i < MANY; i++) {
		char name[16];

		snprintf(name, sizeof name, "c%u", i);
		T_OK(strings_add(&model.strings, pl_span_str(name), &cluster[i]), NULL);
	}
	T_OK(strings_add(&model.strings, PL_SPAN_LIT("zone"), &key[0]), NULL);
	T_OK(strings_add(&model.strings, PL_SPAN_LIT("host"), &key[1]), NULL);
	t_torture(run, true);
	for (unsigned i = 0; i < 3; i++) {
		node_drop(&model, &node[i]);
		pod_drop(&model, &pod[i]);
	}
	for (unsigned i = 0; i < MANY; i++)
		strings_unref(&model.strings, cluster[i]);
	strings_unref(&model.strings, key[0]);
	strings_unref(&model.strings, key[1]);
	pl_arena_done(&arena);
	model_done(&model);
}
