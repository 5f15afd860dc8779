/*
 * Random clusters: what a plugin says of a node agrees with what follows from the objects
 * one by one, without index, order or bound; and its filter agrees with its why.
 */
#include "shardsched/plugins/volume_plan.h"
#include "store/base/rng.h"
#include "tests/support/shardsched/plugins/volume_rig.h"

enum { WORLDS = 60, NODES = 150, VOLUMES = 60, CLAIMS = 24, PODS = 120, ASKED = 20 };

static struct pl_rng rng;
static char text[4096];
static size_t len;

static uint32_t pick(uint32_t below)
{
	return (uint32_t)pl_rng_below(&rng, below);
}

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	len += (size_t)vsnprintf(text + len, sizeof text - len, format, args);
	va_end(args);
	T_TRUE(len < sizeof text);
}

/* -- a world ----------------------------------------------------------------------------- */

static void random_node(unsigned n)
{
	len = 0;
	add("{'metadata':{'name':'n%u','labels':{'kubernetes.io/hostname':'n%u'", n, n);
	for (unsigned key = 0; key < 6; key++)
		if (pick(4) > 0)
			add(",'k%u':'%u'", key, pick(4));
	add("}}%s}", pick(4) > 0
	                     ? ""
	                     : ",'status':{'allocatable':{'attachable-volumes-csi-d':'2',"
	                       "'attachable-volumes-aws-ebs':'2'}}");
	(void)put_node(text);
	if (pick(3) == 0)
		return;
	len = 0;
	add("{'metadata':{'name':'n%u'},'spec':{'drivers':[{'name':'d','allocatable':{'count'"
	    ":%u}},{'name':'e'}]}}",
	    n, pick(5));
	PUT_OBJECT(csi_node, text);
}

/* Rows of a term about labels. */
static void random_rows(void)
{
	static const char *const ops[] = {"In", "In", "In", "NotIn", "Exists"};
	unsigned rows = pick(3);

	for (unsigned i = 0; i <= rows; i++) {
		const char *op = ops[pick(5)];
		bool host = pick(2) == 0;
		unsigned values = strcmp(op, "Exists") == 0 ? 0 : 1 + pick(host ? 12 : 3);

		add("%s{'key':'", i > 0 ? "," : "");
		if (host)
			add("kubernetes.io/hostname");
		else
			add("k%u", pick(6));
		add("','operator':'%s','values':[", op);
		for (unsigned j = 0; j < values; j++)
			add("%s'%s%u'", j > 0 ? "," : "", host ? "n" : "",
			    pick(host ? NODES : 4));
		add("]}");
	}
}

static void random_volume(unsigned n)
{
	static const char *const sources[] = {"'csi':{'driver':'d','volumeHandle':'h",
	                                      "'csi':{'driver':'e','volumeHandle':'h",
	                                      "'local':{'path':'/",
	                                      "'awsElasticBlockStore':{'volumeID':'h"};
	unsigned terms = pick(4);

	len = 0;
	add("{'metadata':{'name':'v%u','labels':{'k0':'%u'}},'spec':{'storageClassName':'c%u'"
	    ",'accessModes':['%s'],'capacity':{'storage':'%u'},'volumeMode':'%s',",
	    n, pick(2), pick(3), pick(5) > 0 ? "ReadWriteOnce" : "ReadOnlyMany",
	    1 + pick(6), pick(6) > 0 ? "Filesystem" : "Block");
	add("%s%u'}", sources[pick(4)], pick(VOLUMES));
	if (pick(3) == 0)
		add(",'claimRef':{'namespace':'n','name':'p%u'%s}", pick(CLAIMS),
		    pick(3) > 0 ? "" : ",'uid':'other'");
	for (unsigned i = 0; i < terms; i++) {
		add(i == 0 ? ",'nodeAffinity':{'required':{'nodeSelectorTerms':[" : ",");
		add("{'matchExpressions':[");
		random_rows();
		add("]}");
	}
	add("%s},'status':{'phase':'%s'}}", terms > 0 ? "]}}" : "",
	    pick(8) > 0 ? "Available" : "Released");
	PUT_OBJECT(volume, text);
}

static void random_claim(unsigned n)
{
	bool bound = pick(3) == 0;

	len = 0;
	add("{'metadata':{'namespace':'n','name':'p%u','uid':'u%u','annotations':{", n,
	    n);
	if (bound)
		add("'pv.kubernetes.io/bind-completed':'yes'");
	else if (pick(5) == 0)
		add("'volume.kubernetes.io/selected-node':'n%u'", pick(NODES));
	add("}},'spec':{'storageClassName':'c%u','accessModes':['ReadWriteOnce'],"
	    "'resources':{'requests':{'storage':'%u'}}",
	    pick(3), 1 + pick(4));
	if (bound)
		add(",'volumeName':'v%u'", pick(VOLUMES));
	if (pick(4) == 0)
		add(",'selector':{'matchLabels':{'k0':'0'}}");
	add("}}");
	PUT_OBJECT(claim, text);
}

static void random_classes(void)
{
	static const char *const provisioners[] = {"d", "e",
	                                           "kubernetes.io/no-provisioner"};

	for (unsigned i = 0; i < 3; i++) {
		len = 0;
		add("{'metadata':{'name':'c%u'},'provisioner':'%s','volumeBindingMode':"
		    "'WaitForFirstConsumer'",
		    i, provisioners[i]);
		if (pick(3) == 0)
			add(",'allowedTopologies':[{'matchLabelExpressions':[{'key':'k1',"
			    "'values':['1','2']}]}]");
		add("}");
		PUT_OBJECT(storage_class, text);
	}
	PUT_OBJECT(csi_driver,
	           "{'metadata':{'name':'e'},'spec':{'storageCapacity':true}}");
	for (unsigned i = 0; i < 30; i++) {
		len = 0;
		add("{'metadata':{'namespace':'n','name':'s%u'},'storageClassName':'c1',"
		    "'capacity':'%u','nodeTopology':{'matchExpressions':[",
		    i, pick(6));
		random_rows();
		add("]}}");
		PUT_OBJECT(csi_capacity, text);
	}
}

static void random_pod(unsigned n)
{
	unsigned volumes = 1 + pick(4);

	len = 0;
	add("{'metadata':{'namespace':'n','name':'q%u','uid':'q%u'},'spec':{'containers':[{"
	    "'name':'c'}],'volumes':[",
	    n, n);
	for (unsigned i = 0; i < volumes; i++) {
		add("%s{'name':'v%u',", i > 0 ? "," : "", i);
		if (pick(4) > 0)
			add("'persistentVolumeClaim':{'claimName':'p%u'}}", pick(CLAIMS));
		else
			add("'awsElasticBlockStore':{'volumeID':'h%u'}}", pick(VOLUMES));
	}
	add("]}}");
}

static void random_world(void)
{
	random_classes();
	for (unsigned i = 0; i < NODES; i++)
		random_node(i);
	for (unsigned i = 0; i < VOLUMES; i++)
		random_volume(i);
	for (unsigned i = 0; i < CLAIMS; i++)
		random_claim(i);
	for (unsigned i = 0; i < PODS; i++) {
		random_pod(i);
		(void)put_pod(pick(NODES / 4), text);
	}
}

/* -- binding, one by one ----------------------------------------------------------------- */

static bool naive_reaches(const struct volume *volume, const struct node_row *at)
{
	return volume->reachable == NULL ||
	       node_selector_matches(&model.strings, volume->reachable, at->node.labels,
	                             0);
}

static bool fits(const struct volume *volume, const struct claim *claim)
{
	return volume->class == claim->class && volume->bytes >= claim->bytes &&
	       volume->block == claim->block && !volume->deleted;
}

static bool names_it(const struct volume *volume, const struct claim *claim)
{
	return volume->claim_name == claim->name &&
	       volume->claim_namespace == claim->namespace &&
	       (volume->claim_uid == 0 || volume->claim_uid == claim->uid);
}

static bool is_better(const struct volume *a, const struct volume *b)
{
	if (b == NULL || a->bytes != b->bytes)
		return b == NULL || a->bytes < b->bytes;
	return strcmp((const char *)model_text(&model, a->name).at,
	              (const char *)model_text(&model, b->name).at) < 0;
}

static const struct volume *naive_choose(const struct claim *claim,
                                         const struct node_row *at,
                                         const struct volume *const *used_volumes,
                                         unsigned count)
{
	const struct volume *own = NULL, *best = NULL, *it = NULL;

	while ((it = catalog_next_volume(&snapshot.catalog, it)) != NULL) {
		bool is_taken = false;

		for (unsigned i = 0; i < count; i++)
			is_taken |= used_volumes[i] == it;
		if (is_taken || !fits(it, claim))
			continue;
		if (names_it(it, claim) && is_better(it, own))
			own = it;
		if (it->claim_name == 0 && it->phase == VOLUME_AVAILABLE &&
		    (claim->modes & ~it->modes) == 0 && naive_reaches(it, at) &&
		    (claim->selector == NULL ||
		     selector_matches(&model.strings, claim->selector, it->labels)) &&
		    is_better(it, best))
			best = it;
	}
	if (own != NULL)
		return naive_reaches(own, at) ? own : NULL;
	return best;
}

static unsigned naive_making(const struct claim *claim, const struct node_row *at)
{
	const struct storage_class *of = claim_class(&snapshot, claim);
	const struct csi_capacity *it = NULL;

	if (of->provisioner == id("kubernetes.io/no-provisioner"))
		return PLAN_NONE;
	if (of->topologies != NULL && of->topologies->count > 0 &&
	    !node_selector_matches(&model.strings, of->topologies, at->node.labels, 0))
		return PLAN_NONE;
	if (of->provisioner != id("e"))
		return 0;
	while ((it = catalog_next_csi_capacity(&snapshot.catalog, it)) != NULL)
		if (it->class == of->name && it->bytes >= claim->bytes &&
		    selector_matches(&model.strings, it->nodes, at->node.labels))
			return 0;
	return PLAN_SPACE;
}

struct open_claims {
	const struct claim *at[8];
	unsigned count;
};

static struct open_claims naive_open(void)
{
	const struct spec_volume *volume = spec_volumes(pod.spec);
	struct open_claims out = {.count = 0};

	for (unsigned i = 0; i < pod.spec->volumes; i++) {
		const struct claim *it;

		if (!volume_has_claim(&volume[i]))
			continue;
		it = volume_claim(&snapshot, claims_of_call(&call), &volume[i]);
		if (it->volume == 0)
			out.at[out.count++] = it;
	}
	return out;
}

static unsigned naive_waiting(const struct node_row *at)
{
	struct open_claims open = naive_open();
	const struct volume *used_volumes[8];
	unsigned count = 0, refusal = 0;

	for (unsigned i = 0; i < open.count; i++)
		if (open.at[i]->selected_node != 0 &&
		    open.at[i]->selected_node != at->node.name)
			return PLAN_NONE;
	for (unsigned i = 0; i < open.count && refusal == 0; i++)
		if (open.at[i]->selected_node != 0)
			refusal = naive_making(open.at[i], at);
	for (int64_t size = 0; size < 8; size++)
		for (unsigned i = 0; i < open.count; i++) {
			const struct volume *got;

			if (open.at[i]->selected_node != 0 || open.at[i]->bytes != size)
				continue;
			got = naive_choose(open.at[i], at, used_volumes, count);
			if (got != NULL)
				used_volumes[count++] = got;
			else if (refusal == 0)
				refusal = naive_making(open.at[i], at);
		}
	return refusal;
}

static unsigned naive_bound(const struct node_row *at)
{
	const struct spec_volume *volume = spec_volumes(pod.spec);

	for (unsigned i = 0; i < pod.spec->volumes; i++) {
		const struct claim *claim;

		if (!volume_has_claim(&volume[i]))
			continue;
		claim = volume_claim(&snapshot, claims_of_call(&call), &volume[i]);
		if (claim->volume != 0 &&
		    !naive_reaches(claim_volume(&snapshot, claim), at))
			return PLAN_NODE;
	}
	return 0;
}

/* -- limits, one by one ------------------------------------------------------------------ */

enum { SEEN_MAX = 4096 };

static const char *seen[SEEN_MAX];
static unsigned seen_count;

/* The name of what is attached for the volume; NULL: nothing of that driver. */
static const char *naive_attached(const struct spec_volume *volume, uint32_t driver)
{
	const struct claim *claim;
	const struct volume *made;

	if (volume->kind != DRAFT_CLAIM)
		return NULL;
	claim = catalog_find_claim(&snapshot.catalog,
	                           (struct catalog_key){id("n"), volume->id, 0});
	made = claim_volume(&snapshot, claim);
	if (made != NULL)
		return made->driver == driver
		               ? (const char *)model_text(&model, made->handle).at
		               : NULL;
	return claim_class(&snapshot, claim)->provisioner == driver
	               ? (const char *)model_text(&model, claim->name).at
	               : NULL;
}

static void see(const struct spec *spec, uint32_t driver)
{
	for (unsigned i = 0; i < spec->volumes; i++) {
		const char *name = naive_attached(&spec_volumes(spec)[i], driver);
		bool known = name == NULL;

		for (unsigned j = 0; j < seen_count && !known; j++)
			known = strcmp(seen[j], name) == 0;
		if (!known)
			seen[seen_count++] = name;
	}
}

static bool naive_over(uint32_t slot)
{
	const struct node_row *at = &snapshot.row[slot];
	const struct csi_node *node = catalog_find_csi_node(
		&snapshot.catalog, (struct catalog_key){0, at->node.name, 0});
	int64_t most = node != NULL ? node->limits[0].volumes : -1;
	unsigned there;

	if (most < 0 && at->node.allocatable->count > 0)
		most = resources_get(at->node.allocatable,
		                     id("attachable-volumes-csi-d"));
	seen_count = 0;
	for (uint32_t i = at->first_pod; i != SNAPSHOT_NONE;
	     i = snapshot.placed[i].next_on_node)
		see(snapshot.placed[i].view->spec, id("d"));
	there = seen_count;
	see(pod.spec, id("d"));
	return most >= 0 && seen_count > there && (int64_t)seen_count > most;
}

/* -- held against each other ------------------------------------------------------------- */

static unsigned refused, passed;

static void compare(const struct plugin *row, uint32_t slot, uint64_t bit)
{
	struct verdict verdict;

	verdict_clear(&verdict);
	row->why(&call, slot, &verdict);
	T_EQ(bit, verdict.code == VERDICT_SUCCESS);
	*(verdict.code == VERDICT_SUCCESS ? &passed : &refused) += 1;
	if (row == &plugin_volume_binding)
		T_EQ(volume_plan_judge(&snapshot, call.state, slot),
		     naive_bound(&snapshot.row[slot]) |
		             naive_waiting(&snapshot.row[slot]));
	if (row == &plugin_node_volume_limits)
		T_EQ(bit == 0, naive_over(slot));
}

static void ask_row(const struct plugin *row)
{
	uint64_t bits[SNAPSHOT_PAD / 64];
	struct node_span span = {0, (NODES + 63) / 64, bits};

	if (prepare(row) != VERDICT_SUCCESS)
		return;
	for (uint32_t i = 0; i < span.words; i++)
		bits[i] = snapshot.live.word[i];
	row->filter(&call, span);
	for (uint32_t slot = 0; slot < NODES; slot++)
		compare(row, slot, bits[slot / 64] >> slot % 64 & 1);
}

static void ask_all(void)
{
	static const struct plugin *const rows[] = {
		&plugin_volume_restrictions, &plugin_ebs_limits,
		&plugin_node_volume_limits, &plugin_volume_binding, &plugin_volume_zone};

	for (unsigned i = 0; i < ASKED; i++) {
		random_pod(PODS + i);
		ask(text);
		for (unsigned j = 0; j < sizeof rows / sizeof rows[0]; j++)
			ask_row(rows[j]);
	}
}

T_CASE_SECONDS(volume_plugins_agree_with_a_naive_model, 120)
{
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < WORLDS; i++) {
		begin_volumes();
		random_world();
		ask_all();
		end_volumes();
	}
	T_REACHED(refused > 1000 && passed > 1000);
}
