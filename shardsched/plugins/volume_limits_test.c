#include "tests/support/shardsched/plugins/volume_rig.h"

static const char refusal[] = "node(s) exceed max volume count";

static uint32_t slot;

#define POD(name, volumes)                                                        \
	"{'metadata':{'namespace':'n','name':'" name "'},'spec':{'containers':[{" \
	"'name':'c'}],'volumes':[" volumes "]}}"
#define VOLUME(name, source) "{'name':'" name "'," source "}"
#define CLAIM_OF(claim) "'persistentVolumeClaim':{'claimName':'" claim "'}"

/* Puts a claim and the CSI volume that it is bound to. */
static void put_bound(const char *claim, const char *handle)
{
	char text[512];

	(void)snprintf(text, sizeof text,
	               "{'metadata':{'namespace':'n','name':'%s'},'spec':{'volumeName':"
	               "'pv-%s'}}",
	               claim, claim);
	PUT_OBJECT(claim, text);
	(void)snprintf(text, sizeof text,
	               "{'metadata':{'name':'pv-%s'},'spec':{'csi':{'driver':'d','"
	               "volumeHandle':'%s'}}}",
	               claim, handle);
	PUT_OBJECT(volume, text);
}

static void limit(int most)
{
	char text[256];

	(void)snprintf(
		text, sizeof text,
		"{'metadata':{'name':'m'},'spec':{'drivers':[{'name':'d','allocatable"
		"':{'count':%d}}]}}",
		most);
	PUT_OBJECT(csi_node, text);
}

static const char *reasons_of(const struct plugin *row)
{
	T_EQ(prepare(row), VERDICT_SUCCESS);
	return node_reasons(row, slot);
}

T_CASE(each_volume_of_a_driver_counts_once)
{
	const struct plugin *row = &plugin_node_volume_limits;

	begin_volumes();
	slot = put_node("{'metadata':{'name':'m'}}");
	put_bound("p", "one");
	put_bound("q", "two");
	put_bound("r", "one");
	ask(POD("b", VOLUME("v", CLAIM_OF("p")) "," VOLUME("w", CLAIM_OF("r"))));
	T_STR(reasons_of(row), "");
	limit(1);
	T_STR(reasons_of(row), "");
	limit(0);
	T_STR(reasons_of(row), refusal);
	limit(1);
	(void)put_pod(slot, POD("a", VOLUME("v", CLAIM_OF("q"))));
	T_STR(reasons_of(row), refusal);
	limit(2);
	T_STR(reasons_of(row), "");
	limit(1);
	ask(POD("b", VOLUME("v", CLAIM_OF("q"))));
	T_STR(reasons_of(row), "");
	end_volumes();
}

T_CASE(claim_without_a_volume_counts_for_its_class)
{
	const struct plugin *row = &plugin_node_volume_limits;

	begin_volumes();
	slot = put_node("{'metadata':{'name':'m'}}");
	limit(1);
	PUT_OBJECT(claim, "{'metadata':{'namespace':'n','name':'p'},'spec':{"
	                  "'storageClassName':'s'}}");
	PUT_OBJECT(claim, "{'metadata':{'namespace':'n','name':'q'},'spec':{"
	                  "'storageClassName':'s','volumeName':'gone'}}");
	ask(POD("b", VOLUME("v", CLAIM_OF("p"))));
	(void)put_pod(slot, POD("a", VOLUME("v", CLAIM_OF("q"))));
	T_STR(reasons_of(row), "");
	PUT_OBJECT(storage_class, "{'metadata':{'name':'s'},'provisioner':'d'}");
	T_STR(reasons_of(row), refusal);
	end_volumes();
}

T_CASE(allocatable_may_have_the_limit)
{
	begin_volumes();
	slot = put_node("{'metadata':{'name':'m'},'status':{'allocatable':{"
	                "'attachable-volumes-csi-d':'1'}}}");
	put_bound("p", "one");
	put_bound("q", "two");
	ask(POD("b", VOLUME("v", CLAIM_OF("p")) "," VOLUME("w", CLAIM_OF("q"))));
	T_STR(reasons_of(&plugin_node_volume_limits), refusal);
	limit(2);
	T_STR(reasons_of(&plugin_node_volume_limits), "");
	end_volumes();
}

#define EBS(name, id) VOLUME(name, "'awsElasticBlockStore':{'volumeID':'" id "'}")

T_CASE(cloud_disks_have_default_limits)
{
	const struct plugin *row = &plugin_ebs_limits;

	begin_volumes();
	slot = put_node("{'metadata':{'name':'m'},'status':{'allocatable':{"
	                "'attachable-volumes-aws-ebs':'2'}}}");
	ask(POD("b", EBS("v", "x") "," EBS("w", "y")));
	T_STR(reasons_of(row), "");
	(void)put_pod(slot, POD("a", EBS("v", "x")));
	T_STR(reasons_of(row), "");
	PUT_OBJECT(claim, "{'metadata':{'namespace':'n','name':'p'},'spec':{"
	                  "'volumeName':'pv'}}");
	PUT_OBJECT(volume, "{'metadata':{'name':'pv'},'spec':{'awsElasticBlockStore':{"
	                   "'volumeID':'z'}}}");
	(void)put_pod(slot, POD("c", VOLUME("v", CLAIM_OF("p"))));
	T_STR(reasons_of(row), refusal);
	T_EQ(prepare(&plugin_gce_pd_limits), VERDICT_SKIP);
	/* A node with a CSINode is left to the driver's limit. */
	PUT_OBJECT(csi_node, "{'metadata':{'name':'m'},'spec':{'drivers':[{'name':"
	                     "'ebs.csi.aws.com','allocatable':{'count':2}}]}}");
	T_STR(reasons_of(row), "");
	T_STR(reasons_of(&plugin_node_volume_limits), refusal);
	end_volumes();
}

T_CASE(without_csi_node_cloud_disks_do_not_count_for_the_driver)
{
	begin_volumes();
	slot = put_node("{'metadata':{'name':'m'},'status':{'allocatable':{"
	                "'attachable-volumes-csi-ebs.csi.aws.com':'0'}}}");
	ask(POD("b", EBS("v", "aws://zone/x")));
	T_STR(reasons_of(&plugin_node_volume_limits), "");
	PUT_OBJECT(csi_node, "{'metadata':{'name':'m'}}");
	T_STR(reasons_of(&plugin_node_volume_limits), refusal);
	end_volumes();
}

T_CASE(disk_with_two_names_counts_once)
{
	begin_volumes();
	slot = put_node("{'metadata':{'name':'m'}}");
	PUT_OBJECT(csi_node, "{'metadata':{'name':'m'},'spec':{'drivers':[{'name':"
	                     "'ebs.csi.aws.com','allocatable':{'count':1}}]}}");
	PUT_OBJECT(claim, "{'metadata':{'namespace':'n','name':'p'},'spec':{"
	                  "'volumeName':'pv'}}");
	PUT_OBJECT(volume, "{'metadata':{'name':'pv'},'spec':{'csi':{'driver':"
	                   "'ebs.csi.aws.com','volumeHandle':'x'}}}");
	(void)put_pod(slot, POD("a", VOLUME("v", CLAIM_OF("p"))));
	ask(POD("b", EBS("v", "aws://zone/x")));
	T_STR(reasons_of(&plugin_node_volume_limits), "");
	ask(POD("b", EBS("v", "aws://zone/y")));
	T_STR(reasons_of(&plugin_node_volume_limits), refusal);
	end_volumes();
}

static void fill_node(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char text[512];

		(void)snprintf(
			text, sizeof text,
			POD("a%u",
		            EBS("v", "d%u") "," VOLUME("g", "'gcePersistentDisk':{'pdName':'d%u'}") "," VOLUME(
				    "z", "'azureDisk':{'diskName':'d%u','diskURI':'u'}")),
			i, i, i, i);
		(void)put_pod(slot, text);
	}
}

T_CASE(machine_types_have_their_limits)
{
	static const char one[] = POD(
		"b",
		EBS("v", "x") "," VOLUME("g", "'gcePersistentDisk':{'pdName':'x'}") "," VOLUME(
			"z", "'azureDisk':{'diskName':'x','diskURI':'u'}"));

	begin_volumes();
	slot = put_node("{'metadata':{'name':'m','labels':{"
	                "'node.kubernetes.io/instance-type':'m5.large'}}}");
	fill_node(15);
	ask(one);
	T_STR(reasons_of(&plugin_gce_pd_limits), "");
	T_STR(reasons_of(&plugin_azure_disk_limits), "");
	fill_node(1);
	T_STR(reasons_of(&plugin_gce_pd_limits), "");
	(void)put_pod(slot, POD("y", VOLUME("g", "'gcePersistentDisk':{'pdName':'y'}")));
	T_STR(reasons_of(&plugin_gce_pd_limits), refusal);
	T_STR(reasons_of(&plugin_azure_disk_limits), "");
	fill_node(24);
	T_STR(reasons_of(&plugin_azure_disk_limits), refusal);
	T_STR(reasons_of(&plugin_ebs_limits), "");
	fill_node(25);
	T_STR(reasons_of(&plugin_ebs_limits), refusal);
	change_node(slot, "{'metadata':{'name':'m','labels':{"
	                  "'node.kubernetes.io/instance-type':'m4.large'}}}");
	T_STR(reasons_of(&plugin_ebs_limits), "");
	end_volumes();
}
