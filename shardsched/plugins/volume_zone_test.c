#include "tests/support/shardsched/plugins/volume_rig.h"

static const struct plugin *const row = &plugin_volume_zone;

static const char refusal[] = "node(s) had no available volume zone";

static const char pod_json[] =
	"{'metadata':{'namespace':'n','name':'a'},'spec':{'containers':[{'name':'c'}],"
	"'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'p'}}]}}";

static void put_volume(const char *labels)
{
	char text[512];

	(void)snprintf(text, sizeof text, "{'metadata':{'name':'pv','labels':{%s}}}",
	               labels);
	PUT_OBJECT(volume, text);
}

static void put_claim(const char *spec)
{
	char text[512];

	(void)snprintf(text, sizeof text,
	               "{'metadata':{'namespace':'n','name':'p'},'spec':{%s}}", spec);
	PUT_OBJECT(claim, text);
}

T_CASE(zoned_volume_goes_to_its_zone)
{
	uint32_t a, b, other, none;

	begin_volumes();
	a = put_node(
		"{'metadata':{'name':'a','labels':{'topology.kubernetes.io/zone':'a'}}}");
	b = put_node(
		"{'metadata':{'name':'b','labels':{'topology.kubernetes.io/zone':'b'}}}");
	other = put_node("{'metadata':{'name':'c','labels':{"
	                 "'topology.kubernetes.io/region':'r'}}}");
	none = put_node("{'metadata':{'name':'d'}}");
	ask(pod_json);
	put_claim("'volumeName':'pv'");
	put_volume("'topology.kubernetes.io/zone':'a__c'");
	T_EQ(prepare(row), VERDICT_SUCCESS);
	T_STR(node_reasons(row, a), "");
	T_STR(node_reasons(row, b), refusal);
	T_STR(node_reasons(row, other), refusal);
	T_STR(node_reasons(row, none), "");
	put_volume("'topology.kubernetes.io/zone':'c__b'");
	T_EQ(prepare(row), VERDICT_SUCCESS);
	T_STR(node_reasons(row, a), refusal);
	T_STR(node_reasons(row, b), "");
	end_volumes();
}

T_CASE(volume_without_zone_is_skipped)
{
	begin_volumes();
	(void)put_node(
		"{'metadata':{'name':'a','labels':{'topology.kubernetes.io/zone':'a'}}}");
	ask(pod_json);
	put_claim("'volumeName':'pv'");
	put_volume("");
	T_EQ(prepare(row), VERDICT_SKIP);
	put_volume("'topology.kubernetes.io/zone':'a__'");
	T_EQ(prepare(row), VERDICT_SKIP);
	put_volume("'topology.kubernetes.io/zone':'__a'");
	T_EQ(prepare(row), VERDICT_SKIP);
	put_volume("'topology.kubernetes.io/zone':'a____b'");
	T_EQ(prepare(row), VERDICT_SKIP);
	put_volume("'topology.kubernetes.io/zone':'a___b'");
	T_EQ(prepare(row), VERDICT_SUCCESS);
	end_volumes();
}

T_CASE(missing_objects_have_their_reasons)
{
	begin_volumes();
	ask(pod_json);
	T_EQ(prepare(row), VERDICT_UNRESOLVABLE);
	T_STR(sentences(&pod_verdict), "persistentvolumeclaim \"p\" not found");
	put_claim("'volumeName':'pv'");
	T_EQ(prepare(row), VERDICT_UNRESOLVABLE);
	T_STR(sentences(&pod_verdict), "persistentvolume \"pv\" not found");
	put_claim("");
	T_EQ(prepare(row), VERDICT_UNRESOLVABLE);
	T_STR(sentences(&pod_verdict),
	      "PersistentVolumeClaim had no pv name and storageClass name");
	put_claim("'storageClassName':'s'");
	T_EQ(prepare(row), VERDICT_UNRESOLVABLE);
	T_STR(sentences(&pod_verdict), "storageclass.storage.k8s.io \"s\" not found");
	PUT_OBJECT(storage_class, "{'metadata':{'name':'s'},'provisioner':'x'}");
	T_EQ(prepare(row), VERDICT_UNRESOLVABLE);
	T_STR(sentences(&pod_verdict), "PersistentVolume had no name");
	PUT_OBJECT(storage_class, "{'metadata':{'name':'s'},'provisioner':'x',"
	                          "'volumeBindingMode':'WaitForFirstConsumer'}");
	T_EQ(prepare(row), VERDICT_SKIP);
	end_volumes();
}
