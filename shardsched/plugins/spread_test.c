/* PodTopologySpread agrees with a model that counts all pods each time, as kube-scheduler
 * does. */
#include <math.h>

#include "shardsched/plugins/pod_topology_spread.h"
#include "tests/support/shardsched/plugins/plugin_rig.h"

enum {
	NODES = 90,
	PODS = 300,
	ROUNDS = 60,
	CHANGES = 25,
	CLASSES = 8,
	DOMAINS_MAX = 128
};

static uint32_t slot_of[NODES];
static uint32_t placed[PODS];
static bool lifted[PODS];
static uint32_t placed_count;
static uint32_t pod_number;
static unsigned bare; /* how many nodes lack a key, in percent */

/* -- a cluster --------------------------------------------------------------------------- */

static struct line_text some_node(unsigned number)
{
	struct line_text text = {0};

	add(&text, "{'metadata':{'name':'n%u','labels':{", number);
	if (!chance(bare))
		add(&text, "'kubernetes.io/hostname':'h%u',", number % (NODES - 5));
	if (!chance(bare))
		add(&text, "'topology.kubernetes.io/zone':'%s',",
		    chance(2) ? "e" : ONE_OF("a", "b", "c", "c", "", "d"));
	if (!chance(bare))
		add(&text, "'rack':'r%u',", below(60));
	if (chance(50))
		add(&text, "'disk':'ssd',");
	end_list(&text, "}},'spec':{'taints':[");
	if (chance(20))
		add(&text, "{'key':'gpu','value':'','effect':'%s'}",
		    ONE_OF("NoSchedule", "PreferNoSchedule"));
	add(&text, "]}}");
	return text;
}

static void some_rule(struct line_text *text, const char *key, const char *when)
{
	add(text, "{'topologyKey':'%s','whenUnsatisfiable':'%s','maxSkew':%u,", key, when,
	    1 + below(3));
	if (chance(40) && strcmp(when, "DoNotSchedule") == 0)
		add(text, "'minDomains':%u,", 1 + below(12));
	if (chance(30))
		add(text, "'nodeAffinityPolicy':'%s',", ONE_OF("Honor", "Ignore"));
	if (chance(30))
		add(text, "'nodeTaintsPolicy':'%s',", ONE_OF("Honor", "Ignore"));
	switch (below(10)) {
	case 0:
		break; /* null: selects nothing */
	case 1:
		add(text, "'labelSelector':{},");
		break;
	case 2:
		add(text, "'labelSelector':{'matchExpressions':[{'key':'app',"
		          "'operator':'NotIn','values':['a','b']}]},");
		break;
	default:
		add(text, "'labelSelector':{'matchLabels':{'app':'%s'}},",
		    ONE_OF("a", "b"));
	}
	end_list(text, "},");
}

static void some_rules(struct line_text *text)
{
	static const char *const keys[] = {"kubernetes.io/hostname",
	                                   "topology.kubernetes.io/zone", "rack", "no"};

	add(text, "'topologySpreadConstraints':[");
	for (unsigned i = 0; i < 4; i++)
		for (unsigned j = 0; j < 2; j++)
			if (chance(i == 3 ? 2 : 25))
				some_rule(text, keys[i],
				          j == 0 ? "DoNotSchedule" : "ScheduleAnyway");
	end_list(text, "],");
}

static struct line_text some_pod(bool rules)
{
	struct line_text text = {0};

	add(&text,
	    "{'metadata':{'name':'p%u','namespace':'%s','labels':{'app':'%s',"
	    "'tier':'%s'},",
	    pod_number++, ONE_OF("x", "x", "x", "y"), ONE_OF("a", "b", "c"),
	    ONE_OF("front", "back"));
	if (chance(50))
		add(&text,
		    "'ownerReferences':[{'apiVersion':'apps/v1','kind':'%s',"
		    "'name':'%s','uid':'u','controller':true}],",
		    ONE_OF("ReplicaSet", "StatefulSet", "Job"), ONE_OF("w1", "w2"));
	end_list(&text, "},'spec':{");
	if (rules)
		some_rules(&text);
	if (chance(25))
		add(&text, "'nodeSelector':{'disk':'ssd'},");
	if (chance(25))
		add(&text, "'tolerations':[{'key':'gpu','operator':'Exists'}],");
	end_list(&text, "}}");
	return text;
}

static void some_workload(void)
{
	struct parse parse = {.model = &model, .arena = &arena};
	enum workload_kind kind = chance(50)   ? WORKLOAD_SERVICE
	                          : chance(50) ? WORKLOAD_REPLICA_SET
	                                       : WORKLOAD_STATEFUL_SET;
	bool service = kind == WORKLOAD_SERVICE;
	struct line_text text = {0};
	struct workload made;
	char quoted[4096];

	add(&text, "{'metadata':{'name':'%s','namespace':'%s'},'spec':{'selector':%s",
	    ONE_OF("w1", "w2"), ONE_OF("x", "x", "y"),
	    service ? "{" : "{'matchLabels':{");
	add(&text, "'%s':'%s'}%s}}", ONE_OF("app", "tier"),
	    ONE_OF("a", "b", "front", "back"), service ? "" : "}");
	T_OK(workload_parse(&parse, kind, json_of(quoted, text.at), &made, &err), &err);
	pl_arena_reset(&arena);
	T_OK(catalog_put_workload(&snapshot.catalog, &made, &err), &err);
}

static void change_pods(void)
{
	unsigned which = placed_count == 0 ? 0 : below(placed_count);

	if (placed_count > 0 && chance(30)) {
		snapshot_pod_remove(&snapshot, placed[which]);
		placed[which] = placed[--placed_count];
	} else if (placed_count > 0 && chance(10)) {
		if ((snapshot.placed[placed[which]].flags & PLACED_TERMINATING) == 0)
			snapshot_pod_terminate(&snapshot, placed[which]);
	} else if (placed_count < PODS) {
		placed[placed_count++] =
			put_pod(slot_of[below(NODES)], some_pod(false).at);
	}
}

static void change_cluster(unsigned changes)
{
	for (unsigned i = 0; i < changes; i++) {
		unsigned at = below(NODES);

		if (chance(15))
			change_node(slot_of[at], some_node(at).at);
		else if (chance(5))
			some_workload();
		else
			change_pods();
	}
}

static void make_cluster(void)
{
	begin();
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < NODES; i++)
		slot_of[i] = put_node(some_node(i).at);
	change_cluster(PODS);
}

static void end_cluster(void)
{
	while (placed_count > 0)
		snapshot_pod_remove(&snapshot, placed[--placed_count]);
	end();
}

/* -- the model --------------------------------------------------------------------------- */

/* The rules of one class. */
struct rules {
	struct spec_spread at[64];
	unsigned count;
	const struct spec *spec;
	uint32_t hostname;
	bool all_keys;
};

static uint32_t value_of(uint32_t slot, uint32_t key)
{
	return labels_get(snapshot.row[slot].node.labels, key);
}

/* Each node is a domain of the hostname key. */
static uint32_t domain_of(const struct rules *rules, uint32_t slot, uint32_t key)
{
	uint32_t value = value_of(slot, key);

	return value == 0 || key != rules->hostname ? value : UINT32_MAX - slot;
}

static bool has_keys(const struct rules *rules, uint32_t slot, uint8_t hard)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->at[i].hard == hard &&
		    value_of(slot, rules->at[i].topology_key) == 0)
			return false;
	return true;
}

static bool policies(const struct rules *rules, const struct spec_spread *rule,
                     uint32_t slot)
{
	const struct node *node = &snapshot.row[slot].node;

	if (rule->affinity &&
	    !labels_include(node->labels, rules->spec->template->node_selector))
		return false;
	return !rule->taints ||
	       taints_first_untolerated(node->taints, rules->spec->template->tolerations,
	                                TAINT_HARD) == NULL;
}

static bool finds(const struct rules *rules, const struct spec_spread *rule, unsigned pod)
{
	const struct spec *other = snapshot.placed[placed[pod]].view->spec;

	return other->namespace == rules->spec->namespace &&
	       selector_matches(&model.strings, rule->selector, other->labels);
}

/* Removed pods are subtracted from the count, whether they were counted or not. */
static int64_t pods_on(const struct rules *rules, const struct spec_spread *rule,
                       uint32_t slot)
{
	int64_t count = 0;

	for (unsigned i = 0; i < placed_count; i++) {
		const struct placed_pod *there = &snapshot.placed[placed[i]];

		if (there->node != slot || !finds(rules, rule, i))
			continue;
		if (!selector_is_everything(rule->selector) &&
		    (there->flags & PLACED_TERMINATING) == 0)
			count++;
		count -= lifted[i];
	}
	return count;
}

struct domains {
	uint32_t text[DOMAINS_MAX];
	int64_t count[DOMAINS_MAX];
	unsigned used;
};

static int64_t *domain_at(struct domains *domains, uint32_t text, bool make)
{
	for (unsigned i = 0; i < domains->used; i++)
		if (domains->text[i] == text)
			return &domains->count[i];
	if (!make)
		return NULL;
	T_TRUE(domains->used < DOMAINS_MAX);
	domains->text[domains->used] = text;
	domains->count[domains->used] = 0;
	return &domains->count[domains->used++];
}

static void hard_domains(const struct rules *rules, const struct spec_spread *rule,
                         struct domains *out)
{
	out->used = 0;
	for (unsigned i = 0; i < NODES; i++)
		if (has_keys(rules, slot_of[i], 1) && policies(rules, rule, slot_of[i]))
			*domain_at(out, domain_of(rules, slot_of[i], rule->topology_key),
			           true) += pods_on(rules, rule, slot_of[i]);
}

static int64_t least_of(const struct spec_spread *rule, const struct domains *domains)
{
	int64_t least = INT32_MAX;

	for (unsigned i = 0; i < domains->used; i++)
		if (domains->count[i] < least)
			least = domains->count[i];
	if (domains->used > 0 && (int64_t)domains->used < rule->min_domains)
		least = 0;
	return least;
}

static enum reason_code judge_rule(const struct rules *rules,
                                   const struct spec_spread *rule, uint32_t slot,
                                   struct domains *domains)
{
	uint32_t value = domain_of(rules, slot, rule->topology_key);
	int64_t self =
		selector_matches(&model.strings, rule->selector, rules->spec->labels);
	int64_t *there;

	if (value == 0)
		return REASON_SPREAD_LABEL;
	there = domain_at(domains, value, false);
	return (there == NULL ? 0 : *there) + self - least_of(rule, domains) >
	                       rule->max_skew
	               ? REASON_SPREAD
	               : REASON_NONE;
}

static void compare_filter(struct plugin_rig *rig, const struct rules *rules)
{
	static struct domains domains[64];
	struct verdict verdict;

	for (unsigned i = 0; i < rules->count; i++)
		if (rules->at[i].hard)
			hard_domains(rules, &rules->at[i], &domains[i]);
	for (unsigned i = 0; i < NODES; i++) {
		enum reason_code want = REASON_NONE;

		for (unsigned j = 0; j < rules->count && want == REASON_NONE; j++)
			if (rules->at[j].hard)
				want = judge_rule(rules, &rules->at[j], slot_of[i],
				                  &domains[j]);
		T_EQ(rig_why(rig, slot_of[i], &verdict), want == REASON_NONE);
		T_EQ(want, verdict.count > 0 ? verdict.reason[0].code : REASON_NONE);
		T_EQ(rig_alone(rig, slot_of[i]), want == REASON_NONE);
	}
}

/* -- the model's scores ------------------------------------------------------------------ */

static double raw_score(const struct rules *rules, struct pl_bitset feasible,
                        const struct spec_spread *rule, uint32_t slot)
{
	struct domains domains = {.used = 0};
	uint32_t empty = id(""), value = domain_of(rules, slot, rule->topology_key),
		 size = 0;
	bool host = rule->topology_key == rules->hostname;
	int64_t count;

	if (value == 0)
		return 0;
	PL_BITSET_EACH (one, feasible) {
		uint32_t in = domain_of(rules, (uint32_t)one, rule->topology_key);

		if (rules->all_keys && !has_keys(rules, (uint32_t)one, 0))
			continue;
		size++;
		domain_at(&domains, in == 0 ? empty : in, true);
	}
	for (unsigned i = 0; i < NODES; i++) {
		uint32_t in = domain_of(rules, slot_of[i], rule->topology_key);
		int64_t *there = domain_at(&domains, in == 0 ? empty : in, false);

		if (there != NULL && policies(rules, rule, slot_of[i]) &&
		    (!rules->all_keys || has_keys(rules, slot_of[i], 0)))
			*there += pods_on(rules, rule, slot_of[i]);
	}
	count = host ? pods_on(rules, rule, slot) : *domain_at(&domains, value, true);
	return (double)count * log((host ? size : domains.used) + 2.0) +
	       (double)(rule->max_skew - 1);
}

static void compare_score(struct plugin_rig *rig, const struct rules *rules,
                          struct pl_bitset feasible)
{
	static int64_t score[4096], want[4096];
	int64_t low = INT64_MAX, high = 0;
	bool soft = false;

	for (unsigned i = 0; i < rules->count; i++)
		soft = soft || !rules->at[i].hard;
	T_EQ(rig_score(rig, feasible, score), soft);
	if (!soft)
		return;
	PL_BITSET_EACH (slot, feasible) {
		double sum = 0;

		want[slot] = -1;
		if (rules->all_keys && !has_keys(rules, (uint32_t)slot, 0))
			continue;
		for (unsigned i = 0; i < rules->count; i++)
			if (!rules->at[i].hard)
				sum += raw_score(rules, feasible, &rules->at[i],
				                 (uint32_t)slot);
		want[slot] = (int64_t)round(sum);
		low = want[slot] < low ? want[slot] : low;
		high = want[slot] > high ? want[slot] : high;
	}
	PL_BITSET_EACH (slot, feasible)
		T_EQ(score[slot], want[slot] < 0 ? 0
		                  : high == 0    ? 100
		                              : 100 * (high + low - want[slot]) / high);
}

/* -- both -------------------------------------------------------------------------------- */

static void rules_of(struct plugin_rig *rig, struct rules *out,
                     const struct selector **held)
{
	const struct spread_args *args = rig->args;
	const struct spec *spec = rig->pod.spec;
	bool class_state = spec->template->spreads.count > 0;
	const struct spec_spread *from = class_state ? spec_spreads(spec) : args->rule;

	*held = NULL;
	*out = (struct rules){.spec = spec,
	                      .hostname = id("kubernetes.io/hostname"),
	                      .all_keys = class_state || !args->system};
	if (!class_state) {
		T_OK(spread_default_selector(&snapshot, spec, held, &err), &err);
		if (*held == NULL)
			return;
	}
	for (uint32_t i = 0;
	     i < (class_state ? spec->template->spreads.count : args->count); i++) {
		out->at[out->count] = from[i];
		if (!class_state)
			out->at[out->count].selector = *held;
		out->count++;
	}
}

/* All pods of a node are removed, the plugin is asked, and the pods come back. */
static void what_if(struct plugin_rig *rig, const struct rules *rules)
{
	uint32_t slot = slot_of[below(NODES)];

	snapshot_probe(&snapshot);
	for (int delta = -1; delta <= 1; delta += 2)
		for (unsigned i = 0; i < placed_count; i++) {
			const struct placed_pod *pod = &snapshot.placed[placed[i]];

			if (pod->node != slot || (delta > 0) != lifted[i])
				continue;
			if (delta < 0)
				snapshot_pod_lift(&snapshot, placed[i]);
			else
				snapshot_pod_restore(&snapshot, placed[i]);
			rig->row->moved(&rig->call, pod, delta);
			lifted[i] = delta < 0;
			if (chance(30))
				compare_filter(rig, rules);
		}
	snapshot_probe_end(&snapshot);
	compare_filter(rig, rules);
}

static void compare(struct plugin_rig *rig)
{
	const struct selector *held;
	struct rules rules;
	struct pl_bitset left;
	struct verdict verdict;
	bool hard = false;

	rules_of(rig, &rules, &held);
	for (unsigned i = 0; i < rules.count; i++)
		hard = hard || rules.at[i].hard;
	left = rig_filter(rig);
	T_EQ(rig_pre_filter(rig, &left, &verdict), hard ? VERDICT_SUCCESS : VERDICT_SKIP);
	if (hard) {
		compare_filter(rig, &rules);
		what_if(rig, &rules);
		what_if(rig, &rules);
	}
	left = rig_filter(rig);
	if (chance(30))
		PL_BITSET_EACH (slot, left)
			if (chance(70))
				pl_bitset_del(left, slot);
	if (!pl_bitset_empty(left))
		compare_score(rig, &rules, left);
	model_unref(&model, MODEL_SELECTORS, held);
}

#define LIST                                                                         \
	"{'defaultingType':'List','defaultConstraints':[{'maxSkew':2,'topologyKey':" \
	"'topology.kubernetes.io/zone','whenUnsatisfiable':'DoNotSchedule'},{"       \
	"'maxSkew':1,'topologyKey':'rack','whenUnsatisfiable':'ScheduleAnyway'}]}"

T_CASE_SECONDS(spreading_agrees_with_counting_all_pods, 100)
{
	static struct plugin_rig rig[CLASSES];

	make_cluster();
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < CLASSES; i++) {
			if (round == 0 || chance(30)) {
				if (round > 0)
					rig_close(&rig[i]);
				rig_open(&rig[i], &plugin_pod_topology_spread,
				         some_pod(chance(70)).at,
				         chance(50)   ? NULL
				         : chance(90) ? LIST
				                      : "{'defaultingType':'List'}");
			}
			compare(&rig[i]);
		}
		/* Sometimes all nodes have all keys. */
		bare = round % 20 < 10 ? 0 : 5;
		for (unsigned i = 0; i < NODES && round % 10 == 0; i++)
			change_node(slot_of[i], some_node(i).at);
		change_cluster(CHANGES);
	}
	for (unsigned i = 0; i < CLASSES; i++)
		rig_close(&rig[i]);
	end_cluster();
}
