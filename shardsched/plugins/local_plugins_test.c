/* Plugins that look at one node at a time: filter, why and score agree with the objects
 * of random clusters that change. */
#include "tests/support/shardsched/plugins/plugin_rig.h"

enum { NODES = 200, ROUNDS = 40, CHANGES = 30 };

static uint32_t slot_of[NODES];
static uint32_t placed[4 * NODES];
static uint32_t placed_count;
static uint32_t pod_number;

/* -- a cluster --------------------------------------------------------------------------- */

static void some_labels(struct line_text *text)
{
	add(text, "'labels':{");
	if (chance(90))
		add(text, "'zone':'%s',", ONE_OF("a", "b", "c", "d", ""));
	if (chance(70))
		add(text, "'cores':'%s',", ONE_OF("1", "4", "16", "32", "0", "many"));
	if (chance(50))
		add(text, "'disk':'%s',", ONE_OF("ssd", "hdd"));
	/* Rarely set: its values come and go, and their numbers with them. */
	if (chance(3))
		add(text, "'rack':'r%u',", below(8));
	end_list(text, "}");
}

static void some_taints(struct line_text *text)
{
	add(text, "'taints':[");
	for (unsigned i = below(4); i > 0 && chance(60); i--)
		add(text, "{'key':'%s','value':'%s','effect':'%s'},",
		    ONE_OF("gpu", "team", "node.kubernetes.io/unschedulable"),
		    ONE_OF("", "x", "y"),
		    ONE_OF("NoSchedule", "PreferNoSchedule", "PreferNoSchedule",
		           "NoExecute"));
	end_list(text, "]");
}

static void some_images(struct line_text *text)
{
	add(text, "'images':[");
	for (unsigned i = 0; i < 3; i++)
		if (chance(40))
			add(text, "{'names':['i%u:v1','reg/i%u:latest'],'sizeBytes':%u},",
			    i, i, 400000000 * (i + 1));
	end_list(text, "]");
}

static struct line_text some_node(unsigned number)
{
	struct line_text text = {0};

	add(&text, "{'metadata':{'name':'n%u',", number);
	some_labels(&text);
	add(&text, "},'spec':{'unschedulable':%s,", ONE_OF("true", "false", "false"));
	some_taints(&text);
	add(&text, "},'status':{");
	some_images(&text);
	add(&text, "}}");
	return text;
}

static void some_ports(struct line_text *text)
{
	add(text, "'ports':[");
	for (unsigned i = below(3); i > 0; i--)
		add(text,
		    "{'containerPort':80,'hostPort':%u,'hostIP':'%s','protocol':'%s'},",
		    8080 + below(2), ONE_OF("", "0.0.0.0", "10.0.0.1", "10.0.0.2"),
		    ONE_OF("TCP", "TCP", "UDP"));
	end_list(text, "]");
}

static void some_rows(struct line_text *text)
{
	add(text, "'matchExpressions':[");
	for (unsigned i = below(3); i > 0; i--)
		switch (below(6)) {
		case 0:
			add(text,
			    "{'key':'%s','operator':'%s','values':['a','ssd','r6','r7']},",
			    ONE_OF("zone", "disk", "rack"), ONE_OF("In", "NotIn"));
			break;
		case 1:
			add(text, "{'key':'%s','operator':'%s'},",
			    ONE_OF("zone", "cores", "nowhere"),
			    ONE_OF("Exists", "DoesNotExist"));
			break;
		case 3:
			add(text,
			    "{'key':'%s','operator':'%s','values':['a','ssd','r1','r2',"
			    "'r3','4']},",
			    ONE_OF("zone", "rack", "cores"), ONE_OF("In", "NotIn"));
			break;
		case 2:
			add(text, "{'key':'%s','operator':'%s','values':['%s']},",
			    ONE_OF("cores", "zone"), ONE_OF("Gt", "Lt"),
			    ONE_OF("3", "0", "16"));
			break;
		default:
			add(text, "{'key':'%s','operator':'%s','values':['%s']},",
			    ONE_OF("zone", "disk", "rack", "nowhere"),
			    ONE_OF("In", "NotIn"), ONE_OF("a", "ssd", "", "r7", "r3"));
		}
	end_list(text, "],'matchFields':[");
	if (chance(25))
		add(text, "{'key':'metadata.name','operator':'%s','values':['n%u']}",
		    ONE_OF("In", "In", "NotIn"), below(NODES));
	add(text, "]");
}

static void some_terms(struct line_text *text, bool soft)
{
	for (unsigned i = below(4); i > 0; i--) {
		add(text, soft ? "{'weight':%u,'preference':{" : "{", 1 + below(100));
		some_rows(text);
		add(text, soft ? "}}," : "},");
	}
	end_list(text, "]");
}

static void some_affinity(struct line_text *text)
{
	add(text, "'affinity':{'nodeAffinity':{");
	if (chance(60)) {
		add(text, "'requiredDuringSchedulingIgnoredDuringExecution':"
		          "{'nodeSelectorTerms':[");
		some_terms(text, false);
		add(text, "},");
	}
	if (chance(60)) {
		add(text, "'preferredDuringSchedulingIgnoredDuringExecution':[");
		some_terms(text, true);
	}
	end_list(text, "}}");
}

static void some_tolerations(struct line_text *text)
{
	add(text, "'tolerations':[");
	for (unsigned i = below(4); i > 0; i--) {
		bool exists = chance(50);

		add(text, "{'key':'%s','operator':'%s','value':'%s','effect':'%s'},",
		    exists ? ONE_OF("", "gpu", "team", "node.kubernetes.io/unschedulable")
		           : ONE_OF("gpu", "team"),
		    exists ? "Exists" : "Equal", exists ? "" : ONE_OF("", "x", "y"),
		    ONE_OF("", "NoSchedule", "PreferNoSchedule", "NoExecute"));
	}
	end_list(text, "]");
}

static struct line_text some_pod(void)
{
	struct line_text text = {0};

	add(&text, "{'metadata':{'name':'p%u','namespace':'x'},'spec':{'containers':[",
	    pod_number++);
	for (unsigned i = 1 + below(3); i > 0; i--) {
		add(&text, "{'name':'c%u','image':'%s',", i,
		    ONE_OF("i0:v1", "reg/i1", "i2:v1", "none:1"));
		some_ports(&text);
		add(&text, "},");
	}
	end_list(&text, "],");
	if (chance(40))
		add(&text, "'nodeSelector':{'%s':'%s'},", ONE_OF("zone", "disk"),
		    ONE_OF("a", "ssd", "gone"));
	some_tolerations(&text);
	add(&text, ",");
	some_affinity(&text);
	add(&text, "}}");
	return text;
}

static void change_cluster(void)
{
	for (unsigned i = 0; i < CHANGES; i++) {
		unsigned at = below(NODES);

		if (chance(60)) {
			change_node(slot_of[at], some_node(at).at);
		} else if (placed_count > 0 && chance(50)) {
			unsigned which = below(placed_count);

			snapshot_pod_remove(&snapshot, placed[which]);
			placed[which] = placed[--placed_count];
		} else if (placed_count < 4 * NODES) {
			placed[placed_count++] = put_pod(slot_of[at], some_pod().at);
		}
	}
}

static void make_cluster(void)
{
	begin();
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < NODES; i++)
		slot_of[i] = put_node(some_node(i).at);
	change_cluster();
}

static void end_cluster(void)
{
	while (placed_count > 0)
		snapshot_pod_remove(&snapshot, placed[--placed_count]);
	end();
}

/* -- what the objects say ---------------------------------------------------------------- */

typedef bool fits_fn(const struct spec *spec, uint32_t slot);
typedef int64_t score_fn(const struct spec *spec, uint32_t slot);

static bool fits_cordon(const struct spec *spec, uint32_t slot)
{
	if (!snapshot.row[slot].node.unschedulable)
		return true;
	for (uint32_t i = 0; i < spec->template->tolerations->count; i++) {
		const struct toleration *one = &spec->template->tolerations->row[i];
		bool key = one->key == 0 ||
		           one->key == id("node.kubernetes.io/unschedulable");
		bool value = one->op == TOLERATION_EXISTS || one->value == id("");

		if (key && value &&
		    (one->effect == TAINT_ANY || one->effect == TAINT_NO_SCHEDULE))
			return true;
	}
	return false;
}

static bool fits_taints(const struct spec *spec, uint32_t slot)
{
	const struct taints *taints = snapshot.row[slot].node.taints;

	for (uint32_t i = 0; i < taints->count; i++)
		if (taints->row[i].effect != TAINT_PREFER_NO_SCHEDULE &&
		    !tolerations_cover(spec->template->tolerations, &taints->row[i]))
			return false;
	return true;
}

static int64_t score_taints(const struct spec *spec, uint32_t slot)
{
	const struct taints *taints = snapshot.row[slot].node.taints;
	int64_t count = 0;

	for (uint32_t i = 0; i < taints->count; i++)
		count += taints->row[i].effect == TAINT_PREFER_NO_SCHEDULE &&
		         !tolerations_cover(spec->template->tolerations, &taints->row[i]);
	return count;
}

static bool fits_affinity(const struct spec *spec, uint32_t slot)
{
	const struct node *node = &snapshot.row[slot].node;

	return labels_include(node->labels, spec->template->node_selector) &&
	       (spec->template->required == NULL ||
	        node_selector_matches(&model.strings, spec->template->required,
	                              node->labels, node->name));
}

static int64_t score_affinity(const struct spec *spec, uint32_t slot)
{
	const struct node *node = &snapshot.row[slot].node;
	int64_t sum = 0;

	for (uint64_t i = 0;
	     spec->template->preferred != NULL && i < spec->template->preferred->count;
	     i++)
		if (node_term_matches(&model.strings, &spec->template->preferred->term[i],
		                      node->labels, node->name))
			sum += spec->template->preferred->term[i].weight;
	return sum;
}

static bool fits_ports(const struct spec *spec, uint32_t slot)
{
	uint32_t any = id("0.0.0.0");

	for (uint32_t i = 0; i < placed_count; i++) {
		const struct placed_pod *there = &snapshot.placed[placed[i]];
		const struct spec *other = there->view->spec;

		for (uint32_t j = 0;
		     there->node == slot && j < other->template->ports.count; j++)
			for (uint32_t k = 0; k < spec->template->ports.count; k++) {
				struct spec_port a = spec_ports(other)[j];
				struct spec_port b = spec_ports(spec)[k];

				if (a.port == b.port && a.protocol == b.protocol &&
				    (a.ip == b.ip || a.ip == any || b.ip == any))
					return false;
			}
	}
	return true;
}

static int64_t score_images(const struct spec *spec, uint32_t slot)
{
	int64_t least = 23 << 20,
		most = (INT64_C(1000) << 20) * spec->template->images.count;
	int64_t sum = 0;

	for (uint32_t i = 0; i < spec->template->images.count; i++) {
		uint32_t name = spec_images(spec)[i];
		unsigned nodes = 0;
		int64_t size = images_get(snapshot.row[slot].node.images, name);

		for (unsigned j = 0; j < NODES; j++)
			nodes += images_get(snapshot.row[slot_of[j]].node.images, name) >=
			         0;
		if (size >= 0)
			sum += (int64_t)((double)size * ((double)nodes / NODES));
	}
	sum = sum < least ? least : sum > most ? most : sum;
	return 100 * (sum - least) / (most - least);
}

/* -- the comparison ---------------------------------------------------------------------- */

static const struct {
	const struct plugin *row;
	fits_fn *fits;
	score_fn *score;
} rows[] = {
	{&plugin_node_unschedulable, fits_cordon, NULL},
	{&plugin_node_name, NULL, NULL},
	{&plugin_taint_toleration, fits_taints, score_taints},
	{&plugin_node_affinity, fits_affinity, score_affinity},
	{&plugin_node_ports, fits_ports, NULL},
	{&plugin_image_locality, NULL, score_images},
};

enum { ROWS = sizeof rows / sizeof rows[0], CLASSES = 6 };

static void compare(struct plugin_rig *rig, unsigned which)
{
	static int64_t score[4096];
	struct pl_bitset left = rig_filter(rig);

	for (unsigned i = 0; i < NODES && rows[which].fits != NULL; i++)
		T_EQ(pl_bitset_has(left, slot_of[i]),
		     rows[which].fits(rig->pod.spec, slot_of[i]));
	T_TRUE(left.bits <= 4096);
	if (rows[which].score == NULL)
		return;
	if (!rig_score(rig, left, score)) {
		T_TRUE(rig->pod.spec->template->preferred == NULL);
		return;
	}
	PL_BITSET_EACH (slot, left)
		T_EQ(score[slot], rows[which].score(rig->pod.spec, (uint32_t)slot));
}

/* Classes stay open while the cluster changes. */
T_CASE_SECONDS(local_plugins_agree_with_the_objects, 60)
{
	static struct plugin_rig rig[ROWS][CLASSES];

	make_cluster();
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < ROWS; i++)
			for (unsigned j = 0; j < CLASSES; j++) {
				if (round == 0 || chance(15)) {
					if (round > 0)
						rig_close(&rig[i][j]);
					rig_open(&rig[i][j], rows[i].row, some_pod().at,
					         NULL);
				}
				compare(&rig[i][j], i);
			}
		change_cluster();
	}
	for (unsigned i = 0; i < ROWS * CLASSES; i++)
		rig_close(&rig[i / CLASSES][i % CLASSES]);
	end_cluster();
}

T_CASE(hint_agrees_with_the_filter)
{
	make_cluster();
	for (unsigned i = 0; i < ROWS; i++) {
		struct plugin_rig rig;
		struct pl_bitset left;
		struct queue_event event = {.kind = QUEUE_EV_NODE_ADDED};

		if (rows[i].row->hint == NULL)
			continue;
		rig_open(&rig, rows[i].row, some_pod().at, NULL);
		left = rig_filter(&rig);
		for (unsigned j = 0; j < NODES; j++) {
			struct verdict verdict;

			event.object = slot_of[j];
			if (rows[i].row != &plugin_node_unschedulable)
				T_EQ(rows[i].row->hint(&rig.call, &event),
				     rig_why(&rig, slot_of[j], &verdict));
			else if (pl_bitset_has(left, slot_of[j]) &&
			         !snapshot.row[slot_of[j]].node.unschedulable)
				T_TRUE(rows[i].row->hint(&rig.call, &event));
		}
		event.object = SNAPSHOT_NONE;
		T_TRUE(rows[i].row->hint(&rig.call, &event));
		event = (struct queue_event){.kind = QUEUE_EV_DIGEST};
		T_TRUE(rows[i].row->hint(&rig.call, &event));
		rig_close(&rig);
	}
	end_cluster();
}
