#include "shardsched/model/cluster_objects.h"
#include "shardsched/model/storage.h"
#include "shardsched/model/volume.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct model model;
static struct pl_arena arena;
static struct pl_err err;
static struct field_errors errors;
static struct parse parse;

static void begin(void)
{
	model_init(&model);
	pl_arena_init(&arena, 0, 0);
	parse = (struct parse){.model = &model, .arena = &arena, .errors = &errors};
	err = (struct pl_err){0};
}

static void end(void)
{
	pl_arena_done(&arena);
	model_done(&model); /* asserts that nothing is left */
}

static uint32_t id(const char *text)
{
	return strings_find(&model.strings, pl_span_str(text));
}

#define READ(noun, json, out) \
	T_OK(noun##_parse(&parse, PL_SPAN_LIT(json), out, &err), &err)
#define REFUSED(noun, json, words)                                                      \
	do {                                                                            \
		struct noun it_;                                                        \
		T_CODE(noun##_parse(&parse, PL_SPAN_LIT(json), &it_, &err), PL_INVALID, \
		       &err);                                                           \
		if (strstr(err.msg, words) == NULL)                                     \
			t_fail(__FILE__, __LINE__, "'%s' is not in '%s'", words,        \
			       err.msg);                                                \
	} while (0)

static const char volume_json[] =
	"{\"metadata\":{\"name\":\"pv\",\"uid\":\"u\",\"labels\":{\"tier\":\"slow\"}},\"spec\":{"
	"\"accessModes\":[\"ReadWriteOnce\",\"ReadOnlyMany\"],\"capacity\":{\"storage\":\"1Gi\"},"
	"\"csi\":{\"driver\":\"d\",\"volumeHandle\":\"h\"},\"claimRef\":{\"namespace\":\"ns\","
	"\"name\":\"c\",\"uid\":\"cu\"},\"storageClassName\":\"sc\",\"nodeAffinity\":{\"required\":"
	"{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\","
	"\"values\":[\"a\"]}]}]}}},\"status\":{\"phase\":\"Bound\"}}";

T_CASE(a_volume_is_read)
{
	struct volume volume;

	begin();
	T_OK(volume_parse(&parse, pl_span_str(volume_json), &volume, &err), &err);
	T_EQ(volume.modes, VOLUME_RWO | VOLUME_ROX);
	T_EQ(volume.bytes, 1 << 30);
	T_EQ(volume.phase, VOLUME_BOUND);
	T_EQ(volume.class, id("sc"));
	T_EQ(volume.driver, id("d"));
	T_EQ(volume.claim_namespace, id("ns"));
	T_EQ(volume.claim_uid, id("cu"));
	T_EQ(volume.reachable->count, 1);
	T_TRUE(!volume.block && !volume.deleted);
	volume_drop(&model, &volume);
	REFUSED(volume,
	        "{\"metadata\":{\"name\":\"pv\"},\"spec\":{\"accessModes\":[\"RWO\"],"
	        "\"capacity\":{\"storage\":\"1\"}}}",
	        "spec.accessModes");
	REFUSED(volume,
	        "{\"metadata\":{\"name\":\"pv\"},\"spec\":{\"accessModes\":["
	        "\"ReadWriteOnce\"],\"capacity\":{\"storage\":\"0\"}}}",
	        "spec.capacity.storage");
	end();
}

#define STORED(on)                                                                      \
	"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"]," \
	"\"capacity\":{\"storage\":\"1\"}," on "}}"

T_CASE(source_of_a_volume_is_read)
{
	struct volume volume;

	begin();
	READ(volume, STORED("\"local\":{\"path\":\"/d\"}"), &volume);
	T_EQ(volume.source, VOLUME_ON_LOCAL);
	T_EQ(volume.handle, 0);
	volume_drop(&model, &volume);
	READ(volume, STORED("\"awsElasticBlockStore\":{\"volumeID\":\"vol-1\"}"),
	     &volume);
	T_EQ(volume.source, VOLUME_ON_AWS);
	T_EQ(volume.handle, id("vol-1"));
	T_EQ(volume.driver, 0);
	volume_drop(&model, &volume);
	READ(volume, STORED("\"nfs\":{}"), &volume);
	T_EQ(volume.source, VOLUME_ON_OTHER);
	volume_drop(&model, &volume);
	end();
}

T_CASE(a_claim_is_read)
{
	struct claim claim;

	begin();
	READ(claim,
	     "{\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\",\"annotations\":{"
	     "\"pv.kubernetes.io/bind-completed\":\"yes\",\"volume.kubernetes.io/selected-node\":"
	     "\"n1\"},\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\","
	     "\"uid\":\"pu\",\"controller\":true}]},\"spec\":{\"accessModes\":["
	     "\"ReadWriteOncePod\"],\"resources\":{\"requests\":{\"storage\":\"500m\"}},"
	     "\"volumeName\":\"pv\",\"volumeMode\":\"Block\",\"selector\":{}}}",
	     &claim);
	T_EQ(claim.bytes, 1);
	T_EQ(claim.modes, VOLUME_RWOP);
	T_EQ(claim.class, id("")); /* no class */
	T_EQ(claim.volume, id("pv"));
	T_EQ(claim.selected_node, id("n1"));
	T_EQ(claim.owner_uid, id("pu"));
	T_TRUE(claim.bind_completed && claim.block);
	T_TRUE(selector_is_everything(claim.selector));
	claim_drop(&model, &claim);
	REFUSED(claim,
	        "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"accessModes\":["
	        "\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1\"}}}}",
	        "metadata.namespace");
	REFUSED(claim,
	        "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},\"spec\":{"
	        "\"accessModes\":[\"ReadWriteOncePod\",\"ReadWriteOnce\"],\"resources\":{"
	        "\"requests\":{\"storage\":\"1\"}}}}",
	        "spec.accessModes");
	end();
}

T_CASE(classes_drivers_and_capacities_are_read)
{
	struct storage_class class;
	struct csi_node node;
	struct csi_driver driver;
	struct csi_capacity capacity;

	begin();
	READ(storage_class,
	     "{\"metadata\":{\"name\":\"sc\"},\"provisioner\":\"p\",\"volumeBindingMode\":"
	     "\"WaitForFirstConsumer\",\"allowedTopologies\":[{\"matchLabelExpressions\":[{"
	     "\"key\":\"zone\",\"values\":[\"a\",\"b\"]}]}]}",
	     &class);
	T_TRUE(class.waits);
	T_EQ(class.topologies->count, 1);
	READ(csi_node,
	     "{\"metadata\":{\"name\":\"n1\"},\"spec\":{\"drivers\":[{\"name\":\"d\","
	     "\"nodeID\":\"x\",\"allocatable\":{\"count\":3}},{\"name\":\"e\",\"nodeID\":"
	     "\"x\"}]}}",
	     &node);
	T_EQ(node.count, 2);
	T_EQ(node.limits[0].volumes, 3);
	T_EQ(node.limits[1].volumes, -1);
	READ(csi_driver,
	     "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"attachRequired\":false,"
	     "\"storageCapacity\":true}}",
	     &driver);
	T_TRUE(!driver.attaches && driver.has_capacity);
	READ(csi_capacity,
	     "{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\"},"
	     "\"storageClassName\":\"sc\",\"capacity\":\"10Gi\"}",
	     &capacity);
	T_EQ(capacity.bytes, INT64_C(10) << 30);
	T_EQ(capacity.bytes_max, -1);
	T_EQ(capacity.nodes->flags, SELECTOR_NOTHING);
	storage_class_drop(&model, &class);
	csi_node_drop(&model, &node);
	csi_driver_drop(&model, &driver);
	csi_capacity_drop(&model, &capacity);
	REFUSED(storage_class, "{\"metadata\":{\"name\":\"sc\"}}", "provisioner");
	REFUSED(csi_capacity,
	        "{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\"},"
	        "\"storageClassName\":\"sc\",\"capacity\":\"-1\"}",
	        "capacity");
	end();
}

T_CASE(budgets_and_workloads_are_read)
{
	struct budget budget;
	struct workload service;
	struct namespace namespace;
	struct priority_class priority;
	const struct labels *labels;
	struct draft_pair web = {PL_SPAN_LIT("app"), PL_SPAN_LIT("web")};

	begin();
	READ(budget,
	     "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"},\"spec\":{\"selector\":{"
	     "\"matchLabels\":{\"app\":\"web\"}}},\"status\":{\"disruptionsAllowed\":1,"
	     "\"disruptedPods\":{\"gone\":\"2026-01-01T00:00:00Z\"}}}",
	     &budget);
	maker_init(&parse.maker, &model, &arena);
	labels = labels_make(&parse.maker, (struct draft_pairs){&web, 1});
	T_EQ(budget.allowed, 1);
	T_TRUE(budget_protects(&model.strings, &budget, id("b"), labels));
	T_TRUE(!budget_protects(&model.strings, &budget, id("gone"), labels));
	budget_drop(&model, &budget);
	READ(budget,
	     "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"},\"spec\":{\"selector\":{"
	     "}}}",
	     &budget);
	T_TRUE(!budget_protects(&model.strings, &budget, id("b"), labels));
	T_OK(workload_parse(
		     &parse, WORKLOAD_SERVICE,
		     PL_SPAN_LIT("{\"metadata\":{\"name\":\"s\",\"namespace\":\"ns\"},"
	                         "\"spec\":{\"selector\":{}}}"),
		     &service, &err),
	     &err);
	T_EQ(service.selector->flags, SELECTOR_NOTHING);
	READ(namespace, "{\"metadata\":{\"name\":\"ns\",\"labels\":{\"app\":\"web\"}}}",
	     &namespace);
	T_TRUE(namespace.labels == labels);
	READ(priority_class, "{\"metadata\":{\"name\":\"high\"},\"value\":1000000}",
	     &priority);
	T_EQ(priority.value, 1000000);
	model_unref(&model, MODEL_LABELS, labels);
	budget_drop(&model, &budget);
	workload_drop(&model, &service);
	namespace_drop(&model, &namespace);
	priority_class_drop(&model, &priority);
	REFUSED(namespace, "{\"metadata\":{\"name\":\"a.b\"}}", "metadata.name");
	REFUSED(priority_class, "{\"metadata\":{\"name\":\"x\"},\"value\":1000000001}",
	        "value");
	end();
}

/* Parses one object of each kind, as far as memory lasts. */
static enum pl_code once(void)
{
	struct volume volume = {0};
	struct csi_node node = {0};
	struct storage_class class = {0};
	struct csi_capacity capacity = {0};
	struct budget budget = {0};
	struct workload workload = {0};
	struct namespace namespace = {0};
	enum pl_code code;

	begin();
	code = volume_parse(&parse, pl_span_str(volume_json), &volume, &err);
#define NEXT(noun, json, out) \
	if (code == PL_OK)    \
		code = noun##_parse(&parse, PL_SPAN_LIT(json), out, &err);
	NEXT(csi_node,
	     "{\"metadata\":{\"name\":\"n1\"},\"spec\":{\"drivers\":[{\"name\":\"d\"}]}}",
	     &node)
	NEXT(storage_class,
	     "{\"metadata\":{\"name\":\"sc\"},\"provisioner\":\"p\",\"allowedTopologies\":[{"
	     "\"matchLabelExpressions\":[{\"key\":\"zone\",\"values\":[\"a\"]}]}]}",
	     &class)
	NEXT(csi_capacity,
	     "{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\"},\"storageClassName\":\"sc\","
	     "\"capacity\":10,\"nodeTopology\":{\"matchLabels\":{\"a\":\"b\"}}}",
	     &capacity)
	NEXT(budget,
	     "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"},\"status\":{"
	     "\"disruptedPods\":{\"gone\":null}}}",
	     &budget)
	NEXT(namespace, "{\"metadata\":{\"name\":\"ns\",\"labels\":{\"x\":\"y\"}}}",
	     &namespace)
	if (code == PL_OK)
		code = workload_parse(
			&parse, WORKLOAD_REPLICA_SET,
			PL_SPAN_LIT("{\"metadata\":{\"name\":\"r\",\"namespace\":\"n2\"},"
		                    "\"spec\":{\"selector\":{}}}"),
			&workload, &err);
	volume_drop(&model, &volume);
	csi_node_drop(&model, &node);
	storage_class_drop(&model, &class);
	csi_capacity_drop(&model, &capacity);
	budget_drop(&model, &budget);
	workload_drop(&model, &workload);
	namespace_drop(&model, &namespace);
	end();
	return code;
}

T_CASE(without_memory_objects_are_refused_whole)
{
	t_torture(once, true);
}
