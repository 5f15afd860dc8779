/*
 * No pod waits for ever. Small clusters change at random, and a refused pod only sees the
 * events that the refusing plugins asked for, as in the queue. A pod for which no event
 * was helpful is judged anew all the same: there must be no node for it yet, and none
 * that preemption would make.
 */
#include "shardsched/plugins/plugins.h"
#include "tests/support/shardsched/engine/changing_cluster.h"

enum { PENDING = 6, HISTORIES = 120, STEPS = 250 };

struct waiting_class {
	char json[RIG_JSON_SIZE];
	struct pod pod;
	struct fw_class *class;
	uint64_t refused_by; /* 0: not refused */
};

static struct waiting_class waiting[PENDING];
static unsigned woken, helped, helped_by[PLUGINS_COUNT];

/* -- pods that wait ---------------------------------------------------------------------- */

static void add_affinity(struct json_text *text)
{
	add(text, "'affinity':{");
	if (chance(25))
		add(text,
		    "'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
		    "'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name',"
		    "'operator':'In','values':['n%u']}]%s}]}},",
		    below(NODES),
		    chance(50)
		            ? ""
		            : ",'matchExpressions':[{'key':'disk','operator':'Exists'}]");
	if (chance(35)) {
		add(text, "'podAffinity':{"
		          "'requiredDuringSchedulingIgnoredDuringExecution':[");
		add_term(text, a_key(below(2)), below(2), chance(50));
		add(text, "]},");
	}
	if (chance(35)) {
		add(text, "'podAntiAffinity':{"
		          "'requiredDuringSchedulingIgnoredDuringExecution':[");
		add_term(text, a_key(below(2)), below(2), chance(50));
		add(text, "]},");
	}
	add(text, "'x':1},");
}

static void add_volumes(struct json_text *text)
{
	add(text, "'volumes':[");
	for (unsigned i = 0; chance(45) && i < 2; i++)
		add(text, "{'name':'a%u','persistentVolumeClaim':{'claimName':'c-p%u'}},",
		    i, below(CLAIMS));
	if (chance(20))
		add(text, "{'name':'e','awsElasticBlockStore':{'volumeID':'d%u'}},",
		    below(3));
	add(text, "{'name':'z','emptyDir':{}}],");
}

static void make_json(struct json_text *text, unsigned n)
{
	add(text,
	    "{'metadata':{'namespace':'s','name':'p%u','uid':'p%u','labels':{'app':'%u'}},"
	    "'spec':{'priority':5,%s",
	    n, n, below(2), chance(30) ? "'preemptionPolicy':'Never'," : "");
	if (chance(30))
		add(text, "'nodeSelector':{'disk':'%u'},", below(3));
	if (chance(50))
		add(text, "'tolerations':[{'key':'t%u','operator':'Exists'}],", below(2));
	if (chance(40))
		add_affinity(text);
	if (chance(40))
		add(text,
		    "'topologySpreadConstraints':[{'topologyKey':'%s','maxSkew':1,"
		    "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{'matchLabels':{"
		    "'app':'%u'}}%s%s}],",
		    a_key(below(2)), below(2), chance(50) ? "" : ",'minDomains':2",
		    chance(50) ? "" : ",'nodeTaintsPolicy':'Honor'");
	if (chance(50))
		add_volumes(text);
	add(text,
	    "'containers':[{'name':'c','resources':{'requests':{'cpu':'%u'%s}}%s}]}}",
	    below(4), chance(70) ? "" : ",'example.com/x':'1'",
	    chance(60) ? "" : ",'ports':[{'containerPort':1,'hostPort':1}]");
}

/* Whether there is a node for the pod, or preemption would make one; else *refused_by has
 * the plugins that refused. */
static bool decide(struct waiting_class *it, uint64_t *refused_by)
{
	struct engine_decision decision;

	T_OK(engine_decide(rig.engine, &it->pod, &decision, &rig.err), &rig.err);
	T_TRUE(decision.outcome.result != CYCLE_ERROR);
	*refused_by = decision.outcome.refused_by | decision.preempt.refused_by;
	return decision.outcome.result == CYCLE_NODE ||
	       decision.preempt.code == VERDICT_SUCCESS;
}

static void let_go(struct waiting_class *it)
{
	if (it->class == NULL)
		return;
	engine_release(rig.engine, it->class);
	pod_drop(engine_model(rig.engine), &it->pod);
	it->class = NULL;
}

static void judge(struct waiting_class *it)
{
	uint64_t refused_by;

	it->refused_by = 0;
	if (!decide(it, &refused_by))
		it->refused_by = refused_by == 0 ? UINT64_MAX : refused_by;
}

static void renew(unsigned n)
{
	struct waiting_class *it = &waiting[n];
	struct json_text text = {0};

	let_go(it);
	make_json(&text, n);
	memcpy(it->json, text.at, text.len + 1);
	pl_arena_reset(&rig.arena);
	it->pod = rig_parse(&rig, it->json);
	T_OK(engine_class(rig.engine, it->pod.spec, &it->class, &rig.err), &rig.err);
	judge(it);
}

/* -- what is told ------------------------------------------------------------------------ */

static bool helps(const struct waiting_class *it, unsigned plugin,
                  const struct queue_event *event)
{
	const struct plugin *row = plugins.row[plugin];
	struct pod_self self = {it->pod.name, it->pod.uid, SNAPSHOT_NONE, 0};
	struct plugin_call call;

	if ((row->events >> event->kind & 1) == 0)
		return false;
	if ((row->hint_needs_class >> event->kind & 1) != 0)
		fw_class_call(it->class, engine_snapshot(rig.engine), plugin, &call);
	else
		fw_spec_call(it->class->profile, it->class->view->spec,
		             engine_snapshot(rig.engine), plugin, &call);
	call.pod = &self;
	return row->hint == NULL || row->hint(&call, event);
}

/* The plugins for which the events may help; if no plugin refused, every event helps. */
static uint64_t helping_plugins(const struct waiting_class *it)
{
	uint64_t helpers = 0;

	if (it->refused_by == UINT64_MAX)
		return it->refused_by;
	for (unsigned i = 0; i < events_count; i++)
		for (uint64_t left = it->refused_by; left != 0; left &= left - 1) {
			unsigned plugin = (unsigned)__builtin_ctzll(left);

			if (helps(it, plugin, &events[i]))
				helpers |= UINT64_C(1) << plugin;
		}
	return helpers;
}

static void complain(const struct waiting_class *it)
{
	(void)printf("# %s\n# refused by", it->json);
	for (unsigned i = 0; i < PLUGINS_COUNT; i++)
		if ((it->refused_by >> i & 1) != 0)
			(void)printf(" %s", plugins.row[i]->name);
	for (unsigned i = 0; i < events_count; i++)
		(void)printf("\n# event: %s, object %llu",
		             queue_event_name(events[i].kind),
		             (unsigned long long)events[i].object);
	(void)printf("\n");
}

static void follow(struct waiting_class *it)
{
	uint64_t helpers, now;

	if (it->refused_by == 0) {
		judge(it);
		return;
	}
	helpers = helping_plugins(it);
	if (helpers == 0) {
		bool fits = decide(it, &now);

		if (fits)
			complain(it);
		T_TRUE(!fits);
		return;
	}
	woken++;
	judge(it);
	if (it->refused_by != 0 || helpers == UINT64_MAX)
		return;
	helped++;
	for (unsigned i = 0; i < PLUGINS_COUNT; i++)
		helped_by[i] += (helpers >> i & 1) != 0;
}

/* Services make spreading required. */
static const char *const configs[] = {
	"", "{\"profiles\":[{\"pluginConfig\":[{\"name\":\"PodTopologySpread\",\"args\":{"
	    "\"defaultingType\":\"List\",\"defaultConstraints\":[{\"maxSkew\":1,"
	    "\"topologyKey\":\"topology.kubernetes.io/zone\",\"whenUnsatisfiable\":"
	    "\"DoNotSchedule\"}]}}]}]}"};

static void history(unsigned n)
{
	rig_open(&rig, &(struct engine_opts){.config = pl_span_str(configs[n % 2])});
	memset(nodes, 0, sizeof nodes);
	memset(placed, 0, sizeof placed);
	memset(waiting, 0, sizeof waiting);
	for (unsigned i = 0; i < 40 * (n % 3); i++)
		change();
	for (unsigned i = 0; i < PENDING; i++)
		renew(i);
	for (unsigned step = 0; step < STEPS; step++) {
		change();
		for (unsigned i = 0; i < PENDING; i++)
			follow(&waiting[i]);
		if (chance(20))
			renew(below(PENDING));
	}
	for (unsigned i = 0; i < PENDING; i++)
		let_go(&waiting[i]);
	rig_close(&rig);
}

T_CASE_SECONDS(every_pod_that_fits_was_hinted, 120)
{
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < HISTORIES; i++)
		history(i);
	(void)printf("# woken %u, helped %u\n", woken, helped);
	for (unsigned i = 0; i < PLUGINS_COUNT; i++)
		if (helped_by[i] != 0)
			(void)printf("# %s %u\n", plugins.row[i]->name, helped_by[i]);
	T_REACHED(helped > HISTORIES);
}
