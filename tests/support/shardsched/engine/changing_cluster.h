/* A small cluster that changes at random, with the queue events of each change. */
#ifndef TESTS_SUPPORT_SHARDSCHED_ENGINE_CHANGING_CLUSTER_H
#define TESTS_SUPPORT_SHARDSCHED_ENGINE_CHANGING_CLUSTER_H

#include <stdarg.h>
#include <stdlib.h>

#include "store/base/rng.h"
#include "tests/support/shardsched/engine/engine_rig.h"

enum {
	NODES = 5,
	PLACED = 9,
	VOLUMES = 4,
	CLAIMS = 4,
	EVENTS_MAX = 8,
	NONE = 9 /* a label that is absent */
};

static struct engine_rig rig;
static struct pl_rng rng;

/* -- objects ------------------------------------------------------------------------- */

struct a_node {
	bool there, cordoned;
	unsigned zone, disk, taint, cpu, x, ebs, machine;
};

struct a_pod {
	bool there, nominated, terminates;
	unsigned node, app, cpu, priority, port, anti, claim, disk, namespace;
};

static struct a_node nodes[NODES];
static struct a_pod placed[PLACED];
static struct queue_event events[EVENTS_MAX];
static unsigned events_count;

struct json_text {
	size_t len;
	char at[RIG_JSON_SIZE];
};

/* Quotes are written as ' */
PL_PRINTF(2, 3) static void add(struct json_text *text, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text->at + text->len, sizeof text->at - text->len, format, args);
	va_end(args);
	T_TRUE(len >= 0 && (size_t)len < sizeof text->at - text->len);
	for (size_t i = 0; i < (size_t)len; i++)
		if (text->at[text->len + i] == '\'')
			text->at[text->len + i] = '"';
	text->len += (size_t)len;
}

static unsigned below(unsigned bound)
{
	return (unsigned)pl_rng_below(&rng, bound);
}

static bool chance(unsigned percent)
{
	return pl_rng_chance(&rng, percent, 100);
}

static void send_event(enum queue_event_kind kind, uint64_t object, uint64_t detail)
{
	T_TRUE(events_count < EVENTS_MAX);
	events[events_count++] = (struct queue_event){kind, object, detail};
}

static uint32_t string(const char *text)
{
	return strings_find(&engine_model(rig.engine)->strings, pl_span_str(text));
}

static void put(enum engine_kind kind, const struct json_text *text)
{
	rig_put(&rig, kind, text->at);
}

static bool drop(enum engine_kind kind, const char *namespace, const char *prefix,
                 unsigned n)
{
	char name[16];

	(void)snprintf(name, sizeof name, "%s%u", prefix, n);
	return rig_drop(&rig, kind, namespace, name) == PL_OK;
}

/* -- nodes --------------------------------------------------------------------------- */

static void put_node(unsigned n)
{
	const struct a_node *node = &nodes[n];
	struct json_text text = {0};

	add(&text, "{'metadata':{'name':'n%u','labels':{'kubernetes.io/hostname':'n%u'",
	    n, n);
	if (node->zone != NONE)
		add(&text, ",'topology.kubernetes.io/zone':'z%u'", node->zone);
	if (node->disk != NONE)
		add(&text, ",'disk':'%u'", node->disk);
	if (node->machine != 0)
		add(&text, ",'node.kubernetes.io/instance-type':'m5'");
	add(&text, "}},'spec':{'unschedulable':%s,'taints':[",
	    node->cordoned ? "true" : "false");
	if (node->taint != NONE)
		add(&text, "{'key':'t%u','effect':'%s'}", node->taint,
		    node->taint == 0 ? "NoSchedule" : "NoExecute");
	add(&text, "]},'status':{'allocatable':{'cpu':'%u','memory':'9Gi','pods':'4'",
	    node->cpu);
	if (node->x != 0)
		add(&text, ",'example.com/x':'%u'", node->x);
	if (node->ebs != NONE)
		add(&text, ",'attachable-volumes-aws-ebs':'%u'", node->ebs);
	add(&text, "}}}");
	put(ENGINE_NODE, &text);
}

static struct a_node some_node(void)
{
	return (struct a_node){
		.there = true,
		.cordoned = chance(15),
		.zone = chance(20) ? NONE : below(2),
		.disk = chance(40) ? NONE : below(3),
		.taint = chance(65) ? NONE : below(2),
		.cpu = 1 + below(4),
		.x = below(3),
		.ebs = chance(50) ? NONE : below(3),
		.machine = below(2),
	};
}

static char *node_name(unsigned n)
{
	static char name[8];

	(void)snprintf(name, sizeof name, "n%u", n);
	return name;
}

static void change_node(unsigned n)
{
	struct a_node was = nodes[n], is = some_node();
	uint32_t slot;

	if (was.there && chance(25)) {
		slot = rig_slot(&rig, node_name(n));
		T_TRUE(drop(ENGINE_NODE, "", "n", n));
		nodes[n].there = false;
		send_event(QUEUE_EV_NODE_REMOVED, slot, 0);
		return;
	}
	if (was.there) {
		unsigned what = below(3);

		nodes[n] = was;
		if (what == 0) {
			nodes[n].zone = is.zone;
			nodes[n].disk = is.disk;
			nodes[n].machine = is.machine;
		} else if (what == 1) {
			nodes[n].taint = is.taint;
			nodes[n].cordoned = is.cordoned;
		} else {
			nodes[n].cpu = is.cpu;
			nodes[n].x = is.x;
			nodes[n].ebs = is.ebs;
		}
		put_node(n);
		send_event(what == 0   ? QUEUE_EV_NODE_LABELS
		           : what == 1 ? QUEUE_EV_NODE_TAINTS
		                       : QUEUE_EV_NODE_ALLOCATABLE,
		           rig_slot(&rig, node_name(n)), 0);
		return;
	}
	nodes[n] = is;
	put_node(n);
	send_event(QUEUE_EV_NODE_ADDED, rig_slot(&rig, node_name(n)), 0);
}

/* -- pods ---------------------------------------------------------------------------- */

static const char *space_of(unsigned namespace)
{
	return namespace == 0 ? "s" : "t";
}

static void add_term(struct json_text *text, const char *key, unsigned app,
                     bool all_spaces)
{
	add(text, "{'topologyKey':'%s','labelSelector':{'matchLabels':{'app':'%u'}}%s}",
	    key, app,
	    all_spaces ? ",'namespaceSelector':{'matchLabels':{'team':'1'}}" : "");
}

static const char *a_key(unsigned n)
{
	return n % 2 == 0 ? "topology.kubernetes.io/zone" : "kubernetes.io/hostname";
}

static void put_pod(unsigned n)
{
	const struct a_pod *pod = &placed[n];
	struct json_text text = {0};

	add(&text,
	    "{'metadata':{'namespace':'%s','name':'q%u','uid':'q%u','labels':{'app':'%u'}"
	    "%s},'spec':{'priority':%u,%s%s%s'containers':[{'name':'c','resources':"
	    "{'requests':{'cpu':'%u'}}",
	    space_of(pod->namespace), n, n, pod->app,
	    pod->terminates ? ",'deletionTimestamp':'2026-01-01T00:00:00Z'" : "",
	    pod->priority, pod->nominated ? "" : "'nodeName':'",
	    pod->nominated ? "" : node_name(pod->node), pod->nominated ? "" : "',",
	    pod->cpu);
	if (pod->port != 0)
		add(&text, ",'ports':[{'containerPort':1,'hostPort':%u}]", pod->port);
	add(&text, "}]");
	if (pod->anti != NONE) {
		add(&text, ",'affinity':{'podAntiAffinity':{"
		           "'requiredDuringSchedulingIgnoredDuringExecution':[");
		add_term(&text, a_key(n), pod->anti, pod->anti == 0);
		add(&text, "]}}");
	}
	add(&text, ",'volumes':[");
	if (pod->claim != NONE)
		add(&text, "{'name':'a','persistentVolumeClaim':{'claimName':'c-p%u'}},",
		    pod->claim);
	add(&text, "{'name':'b',");
	if (pod->disk != NONE)
		add(&text, "'awsElasticBlockStore':{'volumeID':'d%u'}}]", pod->disk);
	else
		add(&text, "'emptyDir':{}}]");
	add(&text, "},'status':{%s%s%s}}", pod->nominated ? "'nominatedNodeName':'" : "",
	    pod->nominated ? node_name(pod->node) : "", pod->nominated ? "'" : "");
	put(ENGINE_POD, &text);
}

static struct a_pod some_pod(void)
{
	return (struct a_pod){
		.there = true,
		.nominated = chance(20),
		.node = below(NODES),
		.app = below(2),
		.cpu = below(3),
		.priority = chance(50) ? 1 : 9,
		.port = below(3),
		.anti = chance(70) ? NONE : below(2),
		.claim = chance(60) ? NONE : below(CLAIMS),
		.disk = chance(60) ? NONE : below(3),
		.namespace = below(2),
	};
}

/* No scheduler gives one host port of a node to two pods. */
static bool has_port(unsigned node, unsigned port)
{
	for (unsigned i = 0; i < PLACED; i++)
		if (placed[i].there && placed[i].node == node && placed[i].port == port)
			return true;
	return false;
}

/* Nor does it give a claim to two pods: any claim may become ReadWriteOncePod. */
static bool has_claim(unsigned claim)
{
	for (unsigned i = 0; i < PLACED; i++)
		if (placed[i].there && placed[i].claim == claim)
			return true;
	return false;
}

static uint64_t slot_of(unsigned n)
{
	return rig_slot(&rig, node_name(placed[n].node));
}

static void change_pod(unsigned n)
{
	struct a_pod *pod = &placed[n];

	if (!pod->there) {
		struct a_pod is = some_pod();

		if (has_port(is.node, is.port))
			is.port = 0;
		if (has_claim(is.claim))
			is.claim = NONE;
		*pod = is;
		put_pod(n);
		if (!pod->nominated && nodes[pod->node].there)
			send_event(QUEUE_EV_POD_ADDED, slot_of(n), 0);
	} else if (pod->nominated || chance(55)) {
		T_TRUE(drop(ENGINE_POD, space_of(pod->namespace), "q", n));
		pod->there = false;
		if (nodes[pod->node].there)
			send_event(QUEUE_EV_POD_REMOVED, slot_of(n), 0);
	} else {
		if (chance(50))
			pod->app ^= 1;
		else
			pod->terminates = true;
		put_pod(n);
		if (nodes[pod->node].there)
			send_event(QUEUE_EV_POD_LABELS, slot_of(n), 0);
	}
}

/* -- claims, volumes, classes ----------------------------------------------------------
 */

static void change_claim(unsigned n)
{
	struct json_text text = {0};
	char name[8];
	bool bound = chance(50), there;

	(void)snprintf(name, sizeof name, "c-p%u", n);
	there = string("s") != 0 &&
	        catalog_find_claim(&engine_snapshot(rig.engine)->catalog,
	                           (struct catalog_key){string("s"), string(name), 0}) !=
	                NULL;
	if (there && chance(35)) {
		uint32_t id = string(name);

		T_TRUE(drop(ENGINE_CLAIM, "s", "c-p", n));
		send_event(QUEUE_EV_PVC_CHANGED, id, string("s"));
		return;
	}
	add(&text,
	    "{'metadata':{'namespace':'s','name':'c-p%u','uid':'u%u','annotations':{%s%s}"
	    "%s},'spec':{'storageClassName':'k%u','accessModes':['%s'],'resources':{"
	    "'requests':{'storage':'%u'}}",
	    n, n, bound ? "'pv.kubernetes.io/bind-completed':'yes'" : "",
	    !bound && chance(20) ? "'volume.kubernetes.io/selected-node':'n1'" : "",
	    chance(10) ? ",'deletionTimestamp':'2026-01-01T00:00:00Z'" : "", below(2),
	    chance(30) ? "ReadWriteOncePod" : "ReadWriteOnce", 1 + below(2));
	if (bound)
		add(&text, ",'volumeName':'v%u'", below(VOLUMES));
	add(&text, "}}");
	put(ENGINE_CLAIM, &text);
	send_event(there ? QUEUE_EV_PVC_CHANGED : QUEUE_EV_PVC_ADDED, string(name),
	           string("s"));
}

static void change_volume(unsigned n)
{
	struct json_text text = {0};
	unsigned sort = below(5);

	if (chance(25)) {
		if (drop(ENGINE_VOLUME, "", "v", n))
			send_event(QUEUE_EV_PV_CHANGED, 0, 0);
		return;
	}
	add(&text, "{'metadata':{'name':'v%u','labels':{%s}},'spec':{", n,
	    chance(50) ? "" : "'topology.kubernetes.io/zone':'z1'");
	if (sort == 0)
		add(&text,
		    "'local':{'path':'/x'},'nodeAffinity':{'required':{"
		    "'nodeSelectorTerms':[{'matchExpressions':[{'key':"
		    "'kubernetes.io/hostname','operator':'In','values':['n%u']}]}]}},",
		    below(NODES));
	else if (sort == 1)
		add(&text, "'awsElasticBlockStore':{'volumeID':'d%u'},", below(3));
	else
		add(&text, "'csi':{'driver':'d','volumeHandle':'h%u'},", below(2));
	if (sort == 2)
		add(&text,
		    "'nodeAffinity':{'required':{'nodeSelectorTerms':[{"
		    "'matchExpressions':[{'key':'disk','operator':'In','values':["
		    "'%u']}]}]}},",
		    below(3));
	if (chance(30))
		add(&text, "'claimRef':{'namespace':'s','name':'c-p%u','uid':'u%u'},",
		    below(CLAIMS), below(CLAIMS));
	add(&text,
	    "'storageClassName':'k%u','accessModes':['ReadWriteOnce','ReadWriteOncePod'],"
	    "'capacity':{'storage':'%u'}},'status':{'phase':'Available'}}",
	    below(2), 1 + below(2));
	put(ENGINE_VOLUME, &text);
	send_event(chance(50) ? QUEUE_EV_PV_CHANGED : QUEUE_EV_PV_ADDED, 0, 0);
}

static void change_class(unsigned n)
{
	struct json_text text = {0};

	if (chance(20)) {
		if (drop(ENGINE_STORAGE_CLASS, "", "k", n))
			send_event(QUEUE_EV_STORAGE_CLASS, 0, 0);
		return;
	}
	add(&text,
	    "{'metadata':{'name':'k%u'},'provisioner':'%s','volumeBindingMode':"
	    "'%s'%s}",
	    n,
	    chance(40)   ? "kubernetes.io/no-provisioner"
	    : chance(50) ? "d"
	                 : "kubernetes.io/aws-ebs",
	    chance(80) ? "WaitForFirstConsumer" : "Immediate",
	    chance(50) ? ""
	               : ",'allowedTopologies':[{'matchLabelExpressions':[{'key':"
	                 "'topology.kubernetes.io/zone','values':['z1']}]}]");
	put(ENGINE_STORAGE_CLASS, &text);
	send_event(QUEUE_EV_STORAGE_CLASS, 0, 0);
}

static void change_csi_node(unsigned n)
{
	struct json_text text = {0};

	if (chance(35)) {
		if (drop(ENGINE_CSI_NODE, "", "n", n))
			send_event(QUEUE_EV_CSI_NODE, 0, 0);
		return;
	}
	add(&text,
	    "{'metadata':{'name':'n%u'},'spec':{'drivers':[{'name':'d','nodeID':"
	    "'x','allocatable':{'count':%u}}]}}",
	    n, below(3));
	put(ENGINE_CSI_NODE, &text);
	send_event(QUEUE_EV_CSI_NODE, 0, 0);
}

static void change_csi(unsigned n)
{
	struct json_text text = {0};

	if (chance(50)) {
		if (chance(30)) {
			if (rig_drop(&rig, ENGINE_CSI_DRIVER, "", "d") != PL_OK)
				return;
		} else {
			add(&text,
			    "{'metadata':{'name':'d'},'spec':{'storageCapacity':%s}}",
			    chance(70) ? "true" : "false");
			put(ENGINE_CSI_DRIVER, &text);
		}
		send_event(QUEUE_EV_CSI_DRIVER, 0, 0);
		return;
	}
	add(&text,
	    "{'metadata':{'namespace':'s','name':'y%u'},'storageClassName':'k%u',"
	    "'capacity':'%u','nodeTopology':{'matchLabels':{"
	    "'topology.kubernetes.io/zone':'z%u'}}}",
	    n, below(2), below(3), below(2));
	put(ENGINE_CSI_CAPACITY, &text);
	send_event(QUEUE_EV_CSI_CAPACITY, 0, 0);
}

/* -- spaces, services, budgets -------------------------------------------- */

static void change_space(unsigned n)
{
	struct json_text text = {0};

	add(&text, "{'metadata':{'name':'%s','labels':{'team':'%u'}}}", space_of(n),
	    below(2));
	put(ENGINE_NAMESPACE, &text);
	send_event(QUEUE_EV_NAMESPACE_LABELS, string(space_of(n)), 0);
}

static void change_service(unsigned n)
{
	struct json_text text = {0};

	(void)n;
	if (chance(40)) {
		if (drop(ENGINE_SERVICE, "s", "w", 0))
			send_event(QUEUE_EV_WORKLOAD, 0, 0);
		return;
	}
	add(&text,
	    "{'metadata':{'namespace':'s','name':'w0'},'spec':{'selector':{'app':"
	    "'%u'}}}",
	    below(2));
	put(ENGINE_SERVICE, &text);
	send_event(QUEUE_EV_WORKLOAD, 0, 0);
}

static void change_budget(unsigned n)
{
	struct json_text text = {0};

	(void)n;
	add(&text,
	    "{'metadata':{'namespace':'s','name':'b'},'spec':{'selector':{"
	    "'matchLabels':{'app':'%u'}}},'status':{'disruptionsAllowed':%u}}",
	    below(2), below(2));
	put(ENGINE_BUDGET, &text);
	send_event(QUEUE_EV_BUDGET, 0, 0);
}

static const struct {
	unsigned weight;
	unsigned count; /* number of objects that it may change */
	void (*change)(unsigned n);
} changes[] = {
	{6, NODES, change_node},     {7, PLACED, change_pod}, {3, CLAIMS, change_claim},
	{2, VOLUMES, change_volume}, {1, 2, change_class},    {1, NODES, change_csi_node},
	{1, 2, change_csi},          {1, 2, change_space},    {1, 1, change_service},
	{1, 1, change_budget},
};
enum { WEIGHTS = 24 };

static void change(void)
{
	unsigned at = below(WEIGHTS), i = 0;

	events_count = 0;
	for (; at >= changes[i].weight; i++)
		at -= changes[i].weight;
	changes[i].change(below(changes[i].count));
}

#endif
