#include "tests/support/shardsched/plugins/volume_rig.h"

static const struct plugin *const row = &plugin_volume_restrictions;

#define POD(name, volume)                                                         \
	"{'metadata':{'namespace':'n','name':'" name "'},'spec':{'containers':[{" \
	"'name':'c'}],'volumes':[{'name':'v'," volume "}]}}"
#define RBD(monitors, image, more) \
	"'rbd':{'monitors':[" monitors "],'image':'" image "'" more "}"
#define CLAIM_OF(claim) "'persistentVolumeClaim':{'claimName':'" claim "'}"

static uint32_t slot;

/* Whether a pod with the second volume conflicts with a pod with the first. */
static bool clash(const char *there, const char *comes)
{
	uint32_t placed = put_pod(slot, there);
	bool clashes;

	ask(comes);
	T_EQ(prepare(row), VERDICT_SUCCESS);
	clashes = strcmp(node_reasons(row, slot), "node(s) had no available disk") == 0;
	T_TRUE(clashes || strcmp(node_reasons(row, slot), "") == 0);
	snapshot_pod_remove(&snapshot, placed);
	return clashes;
}

#define CLASH(first, second) clash(POD("a", first), POD("b", second))

T_CASE(unshareable_disks_conflict)
{
	begin_volumes();
	slot = put_node("{'metadata':{'name':'n'}}");
	T_TRUE(CLASH("'awsElasticBlockStore':{'volumeID':'x','readOnly':true}",
	             "'awsElasticBlockStore':{'volumeID':'x','readOnly':true}"));
	T_TRUE(!CLASH("'awsElasticBlockStore':{'volumeID':'x'}",
	              "'awsElasticBlockStore':{'volumeID':'y'}"));
	T_TRUE(!CLASH("'awsElasticBlockStore':{'volumeID':'x'}",
	              "'gcePersistentDisk':{'pdName':'x'}"));
	T_TRUE(CLASH("'gcePersistentDisk':{'pdName':'x'}",
	             "'gcePersistentDisk':{'pdName':'x','readOnly':true}"));
	T_TRUE(!CLASH("'gcePersistentDisk':{'pdName':'x','readOnly':true}",
	              "'gcePersistentDisk':{'pdName':'x','readOnly':true}"));
	T_TRUE(CLASH("'iscsi':{'targetPortal':'p','iqn':'iqn.2000-01.x:y','lun':0}",
	             "'iscsi':{'targetPortal':'q','iqn':'iqn.2000-01.x:y','lun':1}"));
	T_TRUE(CLASH(RBD("'a','b'", "i", ""), RBD("'b','c'", "i", "")));
	T_TRUE(!CLASH(RBD("'a'", "i", ""), RBD("'b'", "i", "")));
	T_TRUE(!CLASH(RBD("'a'", "i", ",'pool':'p'"), RBD("'a'", "i", "")));
	T_TRUE(!CLASH(RBD("'a'", "i", ",'readOnly':true"),
	              RBD("'a'", "i", ",'readOnly':true")));
	end_volumes();
}

static void put_claim_named(const char *name, const char *mode)
{
	char text[256];

	(void)snprintf(
		text, sizeof text,
		"{'metadata':{'namespace':'n','name':'%s'},'spec':{'accessModes':['%s'"
		"]}}",
		name, mode);
	PUT_OBJECT(claim, text);
}

static void put_claim(const char *mode)
{
	put_claim_named("p", mode);
}

T_CASE(used_single_pod_claim_refuses_every_node)
{
	static const char taken[] =
		"node has pod using PersistentVolumeClaim with the same name and "
		"ReadWriteOncePod access mode";
	uint32_t placed, far;

	begin_volumes();
	slot = put_node("{'metadata':{'name':'n'}}");
	far = put_node("{'metadata':{'name':'m'}}");
	ask(POD("b", CLAIM_OF("p")));
	T_EQ(prepare(row), VERDICT_UNRESOLVABLE);
	T_STR(sentences(&pod_verdict), "persistentvolumeclaim \"p\" not found");
	put_claim("ReadWriteOncePod");
	T_EQ(prepare(row), VERDICT_SKIP);
	placed = put_pod(slot, POD("a", CLAIM_OF("p")));
	T_EQ(prepare(row), VERDICT_SUCCESS);
	T_STR(node_reasons(row, slot), taken);
	T_STR(node_reasons(row, far), taken);
	row->moved(&call, &snapshot.placed[placed], -1);
	T_STR(node_reasons(row, far), "");
	row->moved(&call, &snapshot.placed[placed], 1);
	T_STR(node_reasons(row, far), taken);
	put_claim("ReadWriteOnce");
	T_EQ(prepare(row), VERDICT_SKIP);
	end_volumes();
}

T_CASE(claim_named_twice_counts_once)
{
	uint32_t placed;

	begin_volumes();
	slot = put_node("{'metadata':{'name':'n'}}");
	put_claim("ReadWriteOncePod");
	placed = put_pod(slot, POD("a", CLAIM_OF("p")));
	ask(POD("b", CLAIM_OF("p") "},{'name':'w'," CLAIM_OF("p")));
	T_EQ(prepare(row), VERDICT_SUCCESS);
	row->moved(&call, &snapshot.placed[placed], -1);
	T_STR(node_reasons(row, slot), "");
	end_volumes();
}

/* Both pods name c-b-a: one as its own claim, the other by chance. */
T_CASE(claims_named_after_pods_are_compared_by_whole_name)
{
	uint32_t placed;

	begin_volumes();
	slot = put_node("{'metadata':{'name':'n'}}");
	put_claim_named("c-b-a", "ReadWriteOncePod");
	placed = put_pod(slot, POD("b-a", CLAIM_OF("c-b-a")));
	ask(POD("a", CLAIM_OF("c-b-a")));
	T_EQ(prepare(row), VERDICT_SUCCESS);
	T_EQ(call.spec->flags & SPEC_BY_NAME, SPEC_BY_NAME);
	row->moved(&call, &snapshot.placed[placed], -1);
	T_STR(node_reasons(row, slot), "");
	ask(POD("x", CLAIM_OF("c-x")));
	T_EQ(prepare(row), VERDICT_UNRESOLVABLE);
	T_STR(sentences(&pod_verdict), "persistentvolumeclaim \"c-x\" not found");
	end_volumes();
}

T_CASE(pods_without_volumes_are_skipped)
{
	static const struct plugin *const rows[] = {
		&plugin_volume_restrictions, &plugin_ebs_limits,
		&plugin_gce_pd_limits,       &plugin_node_volume_limits,
		&plugin_azure_disk_limits,   &plugin_volume_binding,
		&plugin_volume_zone};

	begin_volumes();
	ask("{'metadata':{'namespace':'n','name':'a'},'spec':{'containers':[{'name':'c'}],"
	    "'volumes':[{'name':'e','emptyDir':{}}]}}");
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		T_EQ(prepare(rows[i]), VERDICT_SKIP);
	T_EQ(plugin_volume_binding.epoch(&call), 0);
	T_EQ(plugin_volume_binding.reserve(&call, 0, &pod_verdict), VERDICT_SUCCESS);
	end_volumes();
}

T_CASE(hint_is_about_own_claims_only)
{
	struct queue_event event = {.kind = QUEUE_EV_PVC_ADDED};

	begin_volumes();
	ask(POD("b", CLAIM_OF("p")));
	(void)prepare(row);
	T_TRUE(row->hint(&call, &event));
	event.object = id("p");
	event.detail = id("n");
	T_TRUE(row->hint(&call, &event));
	event.detail = id("v");
	T_TRUE(!row->hint(&call, &event));
	event.detail = id("n");
	event.object = id("v");
	T_TRUE(!row->hint(&call, &event));
	event.kind = QUEUE_EV_POD_REMOVED;
	T_TRUE(row->hint(&call, &event));
	end_volumes();
}
