/* A world for random histories of the snapshot: what pods and nodes there may be, and
 * what there is of them, as lists. */
#ifndef TESTS_SUPPORT_SHARDSCHED_SNAPSHOT_SNAPSHOT_WORLD_H
#define TESTS_SUPPORT_SHARDSCHED_SNAPSHOT_SNAPSHOT_WORLD_H

#include "store/base/rng.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

enum {
	NODES = 2600, /* the columns grow three times */
	SLOTS = 4096,
	CLUSTERS = 2,
	PODS = 4000,
	KINDS = 24, /* kinds of pods */
	LOOKS = 60, /* kinds of nodes */
	KEYS = 3,
	IMAGES = 3,
	WAITING = 100, /* nominations */
	HOLDS = 100,
};

static const char *const keys[KEYS] = {"zone", "rack", "host"};
static const unsigned values[KEYS] = {3, 7, 40};

struct kind {
	int64_t cpu, memory, storage; /* 0: not asked for */
	int64_t gpus, sticks;
	unsigned port;
	bool volume;
	struct pod pod;
};

struct look {
	int64_t cpu, memory, storage, pods;
	int64_t gpus; /* -1: absent */
	unsigned label[KEYS];
	unsigned images; /* bits */
	bool hard, soft, unschedulable;
	struct node node; /* the name is set when the node is put */
};

struct one_node {
	bool there;
	uint32_t name, cluster, slot;
	const struct look *look;
	unsigned pods, waiting, reservations;
};

struct one_pod {
	bool there, terminating, lifted, of_probe;
	const struct kind *kind;
	unsigned node;
	uint32_t placed;
};

struct one_waiting {
	bool there;
	unsigned node;
	uint32_t number;
};

/* Reserves as much as such a node has. */
struct one_reservation {
	bool there, lifted;
	const struct look *look;
	int64_t nonzero_cpu, nonzero_memory;
	unsigned node;
	uint32_t number;
};

static struct {
	struct pl_rng rng;
	struct kind kind[KINDS];
	struct look look[LOOKS];
	struct one_node node[NODES];
	struct one_pod pod[PODS];
	struct one_waiting waiting[WAITING];
	struct one_reservation reservation[HOLDS];
	struct label_column *column[KEYS];
	uint32_t key[KEYS], image[IMAGES], gpu, stick;
	unsigned nodes_most, pods_most;
	uint64_t seen; /* changes */
	uint64_t print[SLOTS];
	bool told[SLOTS];
} w;

static inline unsigned any(unsigned below)
{
	return (unsigned)pl_rng_below(&w.rng, below);
}

static inline bool chance(unsigned percent)
{
	return any(100) < percent;
}

/* -- objects ---------------------------------------------------------------------- */

static char text[4096];

#define ADD(...) snprintf(text + strlen(text), sizeof text - strlen(text), __VA_ARGS__)

static inline void add_amount(const char *name, int64_t amount, const char *unit)
{
	if (amount > 0)
		ADD("'%s':'%" PRId64 "%s',", name, amount, unit);
}

static inline void make_kind(struct kind *kind)
{
	*kind = (struct kind){.cpu = chance(80) ? any(4000) : 0,
	                      .memory = chance(80) ? any(1 << 30) : 0,
	                      .storage = chance(30) ? any(1000) : 0,
	                      .gpus = chance(20) ? 1 + any(4) : 0,
	                      .sticks = chance(10) ? 1 + any(4) : 0,
	                      .port = chance(30) ? 8000 + any(4) : 0,
	                      .volume = chance(20)};
	if (chance(5))
		kind->cpu = INT64_C(1500000000) + any(10);
	text[0] = '\0';
	ADD("{'metadata':{'name':'p','namespace':'x'},'spec':{'volumes':[");
	if (kind->volume)
		ADD("{'name':'v','persistentVolumeClaim':{'claimName':'c'}}");
	ADD("],'containers':[{'name':'c','image':'i','ports':[");
	if (kind->port != 0)
		ADD("{'containerPort':1,'hostPort':%u}", kind->port);
	ADD("],'resources':{'requests':{");
	add_amount("cpu", kind->cpu, "m");
	add_amount("memory", kind->memory, "");
	add_amount("ephemeral-storage", kind->storage, "");
	add_amount("example.com/gpu", kind->gpus, "");
	add_amount("example.com/stick", kind->sticks, "");
	ADD("'other':'1'}}}]}}");
	kind->pod = pod_from(text);
}

static inline void add_taints(const struct look *look)
{
	ADD("'taints':[");
	if (look->hard)
		ADD("{'key':'a','effect':'NoExecute'}");
	if (look->soft)
		ADD("%s{'key':'b','effect':'PreferNoSchedule'}", look->hard ? "," : "");
	ADD("],");
}

static inline void make_look(struct look *look)
{
	*look = (struct look){.cpu = any(64000),
	                      .memory = (int64_t)any(1 << 30) * 64,
	                      .storage = any(100000),
	                      .pods = any(200),
	                      .gpus = chance(30) ? (int64_t)any(3) : -1,
	                      .images = any(1 << IMAGES),
	                      .hard = chance(20),
	                      .soft = chance(20),
	                      .unschedulable = chance(10)};
	if (chance(5))
		look->cpu = INT32_MAX - 1 + (int64_t)any(3);
	text[0] = '\0';
	ADD("{'metadata':{'name':'n','labels':{'other':'1'");
	for (unsigned i = 0; i < KEYS; i++) {
		look->label[i] = any(values[i] + 1);
		if (look->label[i] != 0)
			ADD(",'%s':'v%u'", keys[i], look->label[i]);
	}
	ADD("}},'spec':{");
	add_taints(look);
	ADD("'unschedulable':%s},'status':{'images':[",
	    look->unschedulable ? "true" : "false");
	for (unsigned i = 0; i < IMAGES; i++)
		if ((look->images >> i & 1) != 0)
			ADD("{'names':['image%u'],'sizeBytes':7},", i);
	ADD("{'names':['other'],'sizeBytes':7}],'allocatable':{");
	if (look->gpus >= 0)
		ADD("'example.com/gpu':'%" PRId64 "',", look->gpus);
	ADD("'cpu':'%" PRId64 "m','memory':'%" PRId64 "','ephemeral-storage':'%" PRId64
	    "','pods':'%" PRId64 "'}}}",
	    look->cpu, look->memory, look->storage, look->pods);
	look->node = node_from(text);
}

static inline uint32_t string_of(const char *word)
{
	uint32_t out;

	T_OK(strings_add(&model.strings, pl_span_str(word), &out), NULL);
	return out;
}

static inline uint32_t numbered(const char *word, unsigned number)
{
	char room[32];

	snprintf(room, sizeof room, "%s%u", word, number);
	return string_of(room);
}

static inline void set_up(void)
{
	pl_rng_init(&w.rng, t_seed());
	for (unsigned i = 0; i < KINDS; i++)
		make_kind(&w.kind[i]);
	for (unsigned i = 0; i < LOOKS; i++)
		make_look(&w.look[i]);
	for (unsigned i = 0; i < NODES; i++) {
		w.node[i].name = numbered("node", i / CLUSTERS);
		w.node[i].cluster = numbered("cluster", i % CLUSTERS);
	}
	for (unsigned i = 0; i < KEYS; i++)
		w.key[i] = string_of(keys[i]);
	for (unsigned i = 0; i < IMAGES; i++)
		w.image[i] = numbered("image", i);
	w.gpu = string_of("example.com/gpu");
	w.stick = string_of("example.com/stick");
}

static inline void tear_down(void)
{
	for (unsigned i = 0; i < KINDS; i++)
		pod_drop(&model, &w.kind[i].pod);
	for (unsigned i = 0; i < LOOKS; i++)
		node_drop(&model, &w.look[i].node);
	for (unsigned i = 0; i < NODES; i++) {
		strings_unref(&model.strings, w.node[i].name);
		strings_unref(&model.strings, w.node[i].cluster);
	}
	for (unsigned i = 0; i < KEYS; i++) {
		label_column_close(&snapshot, w.column[i]);
		strings_unref(&model.strings, w.key[i]);
	}
	for (unsigned i = 0; i < IMAGES; i++)
		strings_unref(&model.strings, w.image[i]);
	strings_unref(&model.strings, w.gpu);
	strings_unref(&model.strings, w.stick);
}

#endif
