#include "shardsched/plugins/volume_binding.h"
#include "shardsched/plugins/volume_plan.h"
#include "shardsched/snapshot/assumed.h"
#include "tests/harness/torture.h"
#include "tests/support/shardsched/plugins/volume_rig.h"

static const struct plugin *const row = &plugin_volume_binding;

static const char none[] = "node(s) didn't find available persistent volumes to bind";
static const char conflict[] = "node(s) had volume node affinity conflict";
static const char no_storage[] = "node(s) did not have enough free storage";

static uint32_t here, there;

#define POD(name, volumes)                                              \
	"{'metadata':{'namespace':'n','name':'" name "','uid':'u-" name \
	"'},'spec':{'containers':[{'name':'c'}],'volumes':[" volumes "]}}"
#define CLAIM_OF(claim) \
	"{'name':'v-" claim "','persistentVolumeClaim':{'claimName':'" claim "'}}"

static void begin_nodes(void)
{
	begin_volumes();
	here = put_node("{'metadata':{'name':'a','labels':{'kubernetes.io/hostname':'a',"
	                "'zone':'x'}}}");
	there = put_node("{'metadata':{'name':'b','labels':{'kubernetes.io/hostname':'b',"
	                 "'zone':'y'}}}");
	PUT_OBJECT(storage_class, "{'metadata':{'name':'now'},'provisioner':'d'}");
	PUT_OBJECT(storage_class, "{'metadata':{'name':'made'},'provisioner':'d',"
	                          "'volumeBindingMode':'WaitForFirstConsumer'}");
	PUT_OBJECT(storage_class, "{'metadata':{'name':'found'},"
	                          "'provisioner':'kubernetes.io/no-provisioner',"
	                          "'volumeBindingMode':'WaitForFirstConsumer'}");
}

#define META(name, more) "'metadata':{'namespace':'n','name':'" name "'" more "}"

static void put_claim(const char *name, const char *class, int size)
{
	char text[512];

	(void)snprintf(
		text, sizeof text,
		"{'metadata':{'namespace':'n','name':'%s','uid':'u-%s'},'spec':{"
		"'storageClassName':'%s','accessModes':['ReadWriteOnce'],'resources':{"
		"'requests':{'storage':'%d'}}}}",
		name, name, class, size);
	PUT_OBJECT(claim, text);
}

/* more: further members of the volume's spec. */
static void put_volume(const char *name, int size, const char *more)
{
	char text[1024];

	(void)snprintf(text, sizeof text,
	               "{'metadata':{'name':'%s'},'spec':{'storageClassName':'found',"
	               "'accessModes':['%s'],'capacity':{'storage':'%d'}%s},"
	               "'status':{'phase':'Available'}}",
	               name, strcmp(name, "many") == 0 ? "ReadOnlyMany" : "ReadWriteOnce",
	               size, more);
	PUT_OBJECT(volume, text);
}

#define AT(host)                                                                         \
	",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':" \
	"'kubernetes.io/hostname','operator':'In','values':[" host "]}]}]}}"

static const char *refused(void)
{
	T_EQ(prepare(row), VERDICT_UNRESOLVABLE);
	return sentences(&pod_verdict);
}

static const char *reasons_at(uint32_t slot)
{
	T_EQ(prepare(row), VERDICT_SUCCESS);
	return node_reasons(row, slot);
}

T_CASE(wrong_claims_have_their_reasons)
{
	begin_nodes();
	ask(POD("p", CLAIM_OF("c")));
	T_STR(refused(), "persistentvolumeclaim \"c\" not found");
	PUT_OBJECT(claim, "{" META("c", "") ",'spec':{'volumeName':'v'},"
	                                    "'status':{'phase':'Lost'}}");
	T_STR(refused(), "persistentvolumeclaim \"c\" bound to non-existent "
	                 "persistentvolume \"v\"");
	PUT_OBJECT(claim,
	           "{" META("c", ",'deletionTimestamp':'2024-01-01T00:00:00Z'") "}");
	T_STR(refused(), "persistentvolumeclaim \"c\" is being deleted");
	put_claim("c", "now", 1);
	T_STR(refused(), "pod has unbound immediate PersistentVolumeClaims");
	put_claim("c", "unknown", 1);
	T_STR(refused(), "pod has unbound immediate PersistentVolumeClaims");
	PUT_OBJECT(claim, "{" META("c", "") ",'spec':{'storageClassName':'made',"
	                                    "'volumeName':'v'}}");
	T_STR(refused(), "pod has unbound immediate PersistentVolumeClaims");
	end_volumes();
}

T_CASE(ephemeral_claim_must_belong_to_its_pod)
{
	begin_nodes();
	ask("{'metadata':{'namespace':'n','name':'p','uid':'u-p'},'spec':{'containers':[{"
	    "'name':'c'}],'volumes':[{'name':'v','ephemeral':{'volumeClaimTemplate':{}}}]}}");
	T_STR(refused(), "waiting for ephemeral volume controller to create the "
	                 "persistentvolumeclaim \"p-v\"");
	put_claim("p-v", "made", 1);
	T_STR(refused(), "PVC n/p-v was not created for pod n/p (pod is not owner)");
	PUT_OBJECT(
		claim,
		"{" META(
			"p-v",
			",'ownerReferences':[{'kind':'Pod','name':'p',"
			"'uid':'u-p','controller':true}]") ",'spec':{'storageClassName':'made'}}");
	T_STR(reasons_at(here), "");
	end_volumes();
}

T_CASE(bound_volume_must_be_reachable)
{
	begin_nodes();
	PUT_OBJECT(
		claim,
		"{" META(
			"c",
			",'annotations':{"
			"'pv.kubernetes.io/bind-completed':'yes'}") ",'spec':{'volumeName':'v'}}");
	ask(POD("p", CLAIM_OF("c")));
	T_STR(reasons_at(here), "node(s) unavailable due to one or more pvc(s) bound to "
	                        "non-existent pv(s)");
	put_volume("v", 1, "");
	T_STR(reasons_at(here), "");
	put_volume("v", 1, AT("'b'"));
	T_STR(reasons_at(here), conflict);
	T_STR(reasons_at(there), "");
	T_TRUE(narrow.only.word == NULL);
	put_volume("v", 1, ",'local':{'path':'/d'}" AT("'b','z'"));
	T_STR(reasons_at(here), conflict);
	T_TRUE(pl_bitset_has(narrow.only, there) && !pl_bitset_has(narrow.only, here));
	end_volumes();
}

#define FIELDS(more)                                                                \
	",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchFields':[{'key':" \
	"'metadata.name','operator':'In','values':['b'" more "]}]}]}}"

T_CASE(volume_terms_match_labels_not_fields)
{
	begin_nodes();
	put_claim("c", "found", 10);
	ask(POD("p", CLAIM_OF("c")));
	put_volume("v", 20, FIELDS(""));
	T_STR(reasons_at(here), "");
	T_STR(reasons_at(there), "");
	put_volume("v", 20, FIELDS(",'a'"));
	T_STR(reasons_at(here), none);
	end_volumes();
}

/* The volume that the first claim would get on that node; NULL: none. */
static const char *gets(uint32_t slot)
{
	const struct volume_plan *plan;

	T_STR(reasons_at(slot), "");
	plan = call.state;
	if (plan->open[0].chosen == NULL)
		return NULL;
	return (const char *)model_text(&model, plan->open[0].chosen->name).at;
}

T_CASE(smallest_fitting_volume_is_chosen)
{
	begin_nodes();
	put_claim("c", "found", 10);
	ask(POD("p", CLAIM_OF("c")));
	T_STR(reasons_at(here), none);
	put_volume("small", 9, "");
	T_STR(reasons_at(here), none);
	put_volume("large", 30, "");
	put_volume("fits", 20, "");
	T_STR(gets(here), "fits");
	put_volume("other", 20, "");
	T_STR(gets(here), "fits");
	put_volume("block", 11, ",'volumeMode':'Block'");
	T_STR(gets(here), "fits");
	put_volume("far", 12, AT("'b'"));
	T_STR(gets(here), "fits");
	T_STR(gets(there), "far");
	put_volume("many", 13, "");
	T_STR(gets(here), "fits");
	put_volume("mine", 40, ",'claimRef':{'namespace':'n','name':'c'}");
	T_STR(gets(here), "mine");
	put_volume("mine", 40,
	           ",'claimRef':{'namespace':'n','name':'c','uid':'u-c'}" AT("'b'"));
	T_STR(gets(there), "mine");
	T_STR(reasons_at(here), none);
	put_volume("mine", 40, ",'claimRef':{'namespace':'n','name':'c','uid':'old'}");
	T_STR(gets(here), "fits");
	end_volumes();
}

T_CASE(two_claims_do_not_get_one_volume)
{
	begin_nodes();
	put_claim("c", "found", 10);
	put_claim("d", "found", 5);
	put_volume("v", 10, "");
	ask(POD("p", CLAIM_OF("c") "," CLAIM_OF("d")));
	T_STR(reasons_at(here), none);
	put_volume("w", 20, "");
	T_STR(reasons_at(here), "");
	put_volume("w", 20, AT("'b'"));
	T_STR(reasons_at(here), none);
	T_STR(reasons_at(there), "");
	end_volumes();
}

T_CASE(volume_is_provisioned_where_class_and_capacity_allow)
{
	begin_nodes();
	put_claim("c", "made", 10);
	ask(POD("p", CLAIM_OF("c")));
	T_STR(reasons_at(here), "");
	PUT_OBJECT(storage_class, "{'metadata':{'name':'made'},'provisioner':'d',"
	                          "'volumeBindingMode':'WaitForFirstConsumer',"
	                          "'allowedTopologies':[{'matchLabelExpressions':[{'key':"
	                          "'zone','values':['x']}]}]}");
	T_STR(reasons_at(here), "");
	T_STR(reasons_at(there), none);
	PUT_OBJECT(csi_driver,
	           "{'metadata':{'name':'d'},'spec':{'storageCapacity':true}}");
	T_STR(reasons_at(here), no_storage);
	PUT_OBJECT(csi_capacity,
	           "{" META("k", "") ",'storageClassName':'made','capacity':"
	                             "'100','nodeTopology':{'matchLabels':{"
	                             "'zone':'x'}}}");
	T_STR(reasons_at(here), "");
	PUT_OBJECT(csi_capacity,
	           "{" META("k", "") ",'storageClassName':'made','capacity':"
	                             "'100','maximumVolumeSize':'9',"
	                             "'nodeTopology':{}}");
	T_STR(reasons_at(here), no_storage);
	PUT_OBJECT(csi_capacity,
	           "{" META("k", "") ",'storageClassName':'made','capacity':'100'}");
	T_STR(reasons_at(here), no_storage);
	end_volumes();
}

T_CASE(reserved_volume_is_not_given_twice)
{
	begin_nodes();
	put_claim("c", "found", 1);
	put_claim("d", "found", 1);
	put_claim("e", "made", 1);
	put_volume("v", 1, "");
	ask(POD("p", CLAIM_OF("c") "," CLAIM_OF("e")));
	T_EQ(prepare(row), VERDICT_SUCCESS);
	T_EQ(row->reserve(&call, there, &pod_verdict), VERDICT_SUCCESS);
	T_EQ(row->pre_bind(&call, there, &pod_verdict), VERDICT_SUCCESS);
	ask(POD("q", CLAIM_OF("d")));
	T_STR(reasons_at(here), none);
	ask(POD("r", CLAIM_OF("e")));
	T_STR(reasons_at(here), none);
	T_STR(reasons_at(there), "");
	ask(POD("p", CLAIM_OF("c") "," CLAIM_OF("e")));
	(void)prepare(row);
	row->unreserve(&call, there);
	ask(POD("q", CLAIM_OF("d")));
	T_STR(reasons_at(here), "");
	end_volumes();
}

T_CASE(pod_that_lost_its_volume_is_not_bound)
{
	begin_nodes();
	put_claim("c", "found", 1);
	put_volume("v", 1, "");
	ask(POD("p", CLAIM_OF("c")));
	T_EQ(prepare(row), VERDICT_SUCCESS);
	T_EQ(row->reserve(&call, here, &pod_verdict), VERDICT_SUCCESS);
	put_volume("v", 1, ",'claimRef':{'namespace':'n','name':'x'}");
	T_EQ(row->pre_bind(&call, here, &pod_verdict), VERDICT_ERROR);
	row->unreserve(&call, here);
	T_EQ(catalog_next_open_volume(&snapshot.catalog, id("found"), NULL) == NULL,
	     true);
	T_EQ(row->reserve(&call, here, &pod_verdict), VERDICT_UNRESOLVABLE);
	end_volumes();
}

/* Calls every function of the plugin, with an arena that asks the heap for each
 * allocation. */
static enum pl_code ask_rows(void)
{
	static const struct plugin *const rows[] = {
		&plugin_volume_restrictions, &plugin_ebs_limits,
		&plugin_node_volume_limits, &plugin_volume_binding, &plugin_volume_zone};
	enum pl_code code = PL_OK;

	pl_arena_done(&cycle_arena);
	pl_arena_init(&cycle_arena, 16, 0);
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		enum verdict_code said_of_it = prepare(rows[i]);

		if (said_of_it == VERDICT_SUCCESS)
			(void)node_reasons(rows[i], here);
		if (said_of_it == VERDICT_ERROR) {
			T_STR(sentences(&pod_verdict), "the plugin failed: ");
			code = PL_NOMEM;
		}
	}
	return code;
}

static enum pl_code reserve_one(void)
{
	enum verdict_code code;

	pl_arena_done(&cycle_arena);
	pl_arena_init(&cycle_arena, 16, 0);
	verdict_clear(&pod_verdict);
	code = row->reserve(&call, here, &pod_verdict);
	row->unreserve(&call, here);
	catalog_check(&snapshot.catalog);
	T_TRUE(assumed_get(&snapshot.catalog,
	                   (struct assumed_pod){pod.spec->namespace, pod.name, pod.uid},
	                   0) == NULL);
	return code == VERDICT_SUCCESS ? PL_OK : PL_NOMEM;
}

T_CASE(failed_allocation_fails_the_plugin_and_leaks_nothing)
{
	begin_nodes();
	put_claim("c", "found", 1);
	put_claim("d", "made", 1);
	PUT_OBJECT(
		claim,
		"{" META(
			"e",
			",'annotations':{"
			"'pv.kubernetes.io/bind-completed':'yes'}") ",'spec':{'volumeName':'z'}}");
	put_volume("v", 1, AT("'a'"));
	put_volume("w", 1, ",'claimRef':{'namespace':'n','name':'d'}");
	PUT_OBJECT(volume,
	           "{'metadata':{'name':'z','labels':{"
	           "'topology.kubernetes.io/zone':'x__y'}},'spec':{'local':{'path':"
	           "'/d'}" AT("'a'") "}}");
	PUT_OBJECT(csi_driver,
	           "{'metadata':{'name':'d'},'spec':{'storageCapacity':true}}");
	PUT_OBJECT(csi_capacity,
	           "{" META("k", "") ",'storageClassName':'made','capacity':"
	                             "'100','nodeTopology':{'matchLabels':{"
	                             "'zone':'x'}}}");
	ask(POD("p",
	        CLAIM_OF("c") "," CLAIM_OF("d") "," CLAIM_OF(
			"e") ","
	                     "{'name':'aws','awsElasticBlockStore':{'volumeID':'x'}}"));
	t_torture(ask_rows, false);
	(void)prepare(row);
	t_torture(reserve_one, false);
	end_volumes();
}

T_CASE(arguments_are_parsed)
{
	char room[4096];
	struct volume_binding_args args = {0};
	struct pl_json json = {0};

	begin_volumes();
	T_OK(row->args_parse(&model, json, &args, &err), &err);
	T_OK(pl_json_parse(&arena, json_of(room, "{'bindTimeoutSeconds':5}"), NULL, &json,
	                   &err),
	     &err);
	T_OK(row->args_parse(&model, json, &args, &err), &err);
	T_EQ(args.timeout_s, 5);
	T_OK(pl_json_parse(&arena, json_of(room, "{'shape':[]}"), NULL, &json, &err),
	     &err);
	T_CODE(row->args_parse(&model, json, &args, &err), PL_INVALID, NULL);
	end_volumes();
}

T_CASE(removed_pod_helps_pods_that_want_a_volume)
{
	struct queue_event gone = {.kind = QUEUE_EV_POD_REMOVED};
	struct queue_event claim = {.kind = QUEUE_EV_PVC_CHANGED};

	begin_nodes();
	put_claim("c", "found", 1);
	ask(POD("p", CLAIM_OF("c")));
	(void)prepare(row);
	claim.object = pod.name; /* another claim */
	T_TRUE(row->hint(&call, &gone));
	T_TRUE(row->hint(&call, &claim));
	PUT_OBJECT(
		claim,
		"{" META(
			"c",
			",'annotations':{"
			"'pv.kubernetes.io/bind-completed':'yes'}") ",'spec':{'volumeName':'v','storageClassName':'found',"
								    "'accessModes':['ReadWriteOnce']}}");
	(void)prepare(row);
	T_TRUE(!row->hint(&call, &gone));
	T_TRUE(!row->hint(&call, &claim));
	T_TRUE((row->events & QUEUE_ON(POD_REMOVED)) != 0);
	end_volumes();
}
