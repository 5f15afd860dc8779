/*
 * For random histories: nodes, classes of pods, and objects beside them.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_CLASSES_HISTORY_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_CLASSES_HISTORY_RIG_H

#include "shardsched/model/storage.h"
#include "shardsched/model/volume.h"
#include "store/base/rng.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

#define HISTORY_POD(meta, containers, rest)                                             \
	"{'metadata': {'name': 'p', 'namespace': 'a'" meta "}, 'spec': {'containers': " \
	"[" containers "]" rest "}}"
#define HISTORY_ASKS(amounts) "{'name': 'c', 'resources': {'requests': {" amounts "}}}"
#define HISTORY_SMALL HISTORY_ASKS("'cpu': '200m', 'memory': '100Mi'")
#define HISTORY_LABELS(labels) ", 'labels': {" labels "}"
#define HISTORY_WEB HISTORY_LABELS("'app': 'web'")
#define HISTORY_DB HISTORY_LABELS("'app': 'db'")
#define HISTORY_TERM(app, key)                                    \
	"{'labelSelector': {'matchLabels': {'app': '" app "'}}, " \
	"'topologyKey': '" key "'}"
#define HISTORY_SPREAD(key, when, skew)                                               \
	"{'maxSkew': " skew ", 'topologyKey': '" key "', 'whenUnsatisfiable': '" when \
	"', 'labelSelector': {'matchLabels': {'app': 'web'}}}"
#define HISTORY_PREFERS(weight, key, values)                                       \
	"{'weight': " weight ", 'preference': {'matchExpressions': [{'key': '" key \
	"', 'operator': 'In', 'values': [" values "]}]}}"

static const char *const history_pods[] = {
	HISTORY_POD("", HISTORY_SMALL, ""),
	HISTORY_POD(HISTORY_WEB, HISTORY_SMALL, ""),
	HISTORY_POD(HISTORY_DB, HISTORY_ASKS("'cpu': '1', 'memory': '1Gi'"), ""),
	HISTORY_POD("", "{'name': 'c'}", ""),
	HISTORY_POD("", "{'name': 'c'}", ", 'priority': 10"),
	HISTORY_POD("", HISTORY_SMALL, ", 'priority': 100"),
	HISTORY_POD("", HISTORY_ASKS("'cpu': '3', 'memory': '6Gi'"), ", 'priority': 5"),
	HISTORY_POD("", HISTORY_ASKS("'example.com/gpu': '1', 'cpu': '100m'"), ""),
	HISTORY_POD("", HISTORY_ASKS("'ephemeral-storage': '3Gi', 'cpu': '10m'"), ""),
	HISTORY_POD("", HISTORY_ASKS("'cpu': '1000'"), ""),
	HISTORY_POD("", HISTORY_SMALL, ", 'nodeSelector': {'disk': 'ssd'}"),
	HISTORY_POD("", HISTORY_SMALL, ", 'nodeSelector': {'disk': 'none'}"),
	HISTORY_POD("", HISTORY_SMALL,
                    ", 'affinity': {'nodeAffinity': "
                    "{'requiredDuringSchedulingIgnoredDuringExecution': "
                    "{'nodeSelectorTerms': [{'matchExpressions': [{'key': 'zone', "
                    "'operator': 'NotIn', 'values': ['z1']}]}]}}}"),
	HISTORY_POD("", HISTORY_SMALL,
                    ", 'affinity': {'nodeAffinity': "
                    "{'requiredDuringSchedulingIgnoredDuringExecution': "
                    "{'nodeSelectorTerms': [{'matchFields': [{'key': "
                    "'metadata.name', 'operator': 'In', 'values': ['n3']}]}]}}}"),
	HISTORY_POD("", HISTORY_SMALL,
                    ", 'affinity': {'nodeAffinity': "
                    "{'preferredDuringSchedulingIgnoredDuringExecution': "
                    "[" HISTORY_PREFERS("7", "zone", "'z1'") ", " HISTORY_PREFERS(
			    "30", "disk", "'ssd'") "]}}"),
	HISTORY_POD(HISTORY_WEB, HISTORY_SMALL,
                    ", 'affinity': {'nodeAffinity': "
                    "{'preferredDuringSchedulingIgnoredDuringExecution': "
                    "[" HISTORY_PREFERS("90", "rare", "'yes'") "]}}"),
	HISTORY_POD("", HISTORY_SMALL, ", 'tolerations': [{'operator': 'Exists'}]"),
	HISTORY_POD("", HISTORY_SMALL,
                    ", 'tolerations': [{'key': 'soft', 'operator': 'Exists', "
                    "'effect': 'PreferNoSchedule'}, {'key': 'hard', 'value': 'x'}]"),
	HISTORY_POD("", "{'name': 'c', 'ports': [{'containerPort': 80, 'hostPort': 80}]}",
                    ""),
	HISTORY_POD("",
                    "{'name': 'c', 'image': 'big:1'}, {'name': 'd', 'image': 'web:1'}",
                    ""),
	/* Fails where a node is feasible: no number is above a word. */
	HISTORY_POD("", HISTORY_SMALL,
                    ", 'affinity': {'nodeAffinity': "
                    "{'preferredDuringSchedulingIgnoredDuringExecution': "
                    "[{'weight': 1, 'preference': {'matchExpressions': [{'key': 'zone', "
                    "'operator': 'Gt', 'values': ['many']}]}}]}}"),
	HISTORY_POD(HISTORY_WEB, HISTORY_SMALL,
                    ", 'topologySpreadConstraints': "
                    "[" HISTORY_SPREAD("zone", "DoNotSchedule", "1") "]"),
	HISTORY_POD(HISTORY_WEB, HISTORY_SMALL,
                    ", 'topologySpreadConstraints': [" HISTORY_SPREAD(
			    "kubernetes.io/hostname", "ScheduleAnyway",
			    "2") ", " HISTORY_SPREAD("zone", "ScheduleAnyway", "1") "]"),
	HISTORY_POD(HISTORY_WEB, HISTORY_SMALL,
                    ", 'affinity': {'podAntiAffinity': "
                    "{'requiredDuringSchedulingIgnoredDuringExecution': "
                    "[" HISTORY_TERM("web", "kubernetes.io/hostname") "]}}"),
	HISTORY_POD(HISTORY_DB, HISTORY_SMALL,
                    ", 'affinity': {'podAffinity': "
                    "{'requiredDuringSchedulingIgnoredDuringExecution': "
                    "[" HISTORY_TERM("web", "zone") "]}}"),
	HISTORY_POD(
		HISTORY_DB, HISTORY_SMALL,
		", 'affinity': {'podAntiAffinity': "
		"{'preferredDuringSchedulingIgnoredDuringExecution': "
		"[{'weight': 20, 'podAffinityTerm': " HISTORY_TERM("db", "zone") "}]}}"),
	HISTORY_POD("", HISTORY_SMALL,
                    ", 'volumes': [{'name': 'v', 'persistentVolumeClaim': "
                    "{'claimName': 'c0'}}]"),
	HISTORY_POD("", HISTORY_SMALL,
                    ", 'volumes': [{'name': 'v', 'persistentVolumeClaim': "
                    "{'claimName': 'c1'}}]"),
	HISTORY_POD("", HISTORY_SMALL,
                    ", 'volumes': [{'name': 'v', 'gcePersistentDisk': {'pdName': "
                    "'disk'}}]"),
	HISTORY_POD("", HISTORY_SMALL,
                    ", 'volumes': [{'name': 'v', 'ephemeral': "
                    "{'volumeClaimTemplate': {'spec': {'accessModes': "
                    "['ReadWriteOnce'], 'resources': {'requests': {'storage': "
                    "'1Gi'}}}}}}]"),
};

enum {
	HISTORY_PODS = sizeof(history_pods) / sizeof(history_pods[0]),
	HISTORY_LOCAL = 21, /* classes below consider local nodes only */
	HISTORY_VARIANTS = 4,
};

static inline void history_print_node(struct pl_rng *rng, uint32_t number, char *text,
                                      size_t size)
{
	static const char *const taints[] = {
		"",
		"",
		"",
		"{'key': 'soft', 'effect': 'PreferNoSchedule'}",
		("{'key': 'soft', 'effect': 'PreferNoSchedule'}, {'key': 'softer', "
	         "'effect': 'PreferNoSchedule'}"),
		"{'key': 'hard', 'value': 'x', 'effect': 'NoSchedule'}",
	};
	static const char *const images[] = {
		"", "{'names': ['web:1'], 'sizeBytes': 300000000}",
		("{'names': ['big:1'], 'sizeBytes': 900000000}, {'names': ['web:1'], "
	         "'sizeBytes': 300000000}")};

	(void)snprintf(
		text, size,
		"{'metadata': {'name': 'n%u', 'labels': {'kubernetes.io/hostname': "
		"'n%u', 'zone': 'z%u', 'disk': '%s'%s}}, 'spec': {'taints': [%s]%s}, "
		"'status': {'allocatable': {'cpu': '%u', 'memory': '%uGi', 'pods': "
		"'%u', 'ephemeral-storage': '%uGi'%s}, 'images': [%s]}}",
		number, number, (unsigned)pl_rng_below(rng, 3),
		pl_rng_chance(rng, 1, 2) ? "ssd" : "hdd",
		pl_rng_chance(rng, 1, 20) ? ", 'rare': 'yes'" : "",
		taints[pl_rng_below(rng, sizeof(taints) / sizeof(taints[0]))],
		pl_rng_chance(rng, 1, 10) ? ", 'unschedulable': true" : "",
		(unsigned)pl_rng_below(rng, 9), (unsigned)pl_rng_below(rng, 9),
		(unsigned)pl_rng_below(rng, 12), (unsigned)pl_rng_below(rng, 9),
		pl_rng_chance(rng, 1, 3) ? ", 'example.com/gpu': '2'" : "",
		images[pl_rng_below(rng, sizeof(images) / sizeof(images[0]))]);
}

/* -- objects beside: each step puts or drops one ------------------------------------- */

static inline void history_namespace(struct pl_rng *rng)
{
	struct parse parse = {.model = &model, .arena = &arena};
	struct namespace namespace;
	char room[4096], text[256];

	(void)snprintf(text, sizeof(text),
	               "{'metadata': {'name': 'a', 'labels': {'team': 't%u'}}}",
	               (unsigned)pl_rng_below(rng, 3));
	T_OK(namespace_parse(&parse, json_of(room, text), &namespace, &err), &err);
	T_OK(snapshot_namespace_put(&snapshot, &namespace, &err), &err);
}

static inline void history_claim(struct pl_rng *rng)
{
	struct parse parse = {.model = &model, .arena = &arena};
	unsigned number = (unsigned)pl_rng_below(rng, 2);
	struct claim claim;
	char room[4096], text[512];

	(void)snprintf(text, sizeof(text),
	               "{'metadata': {'name': 'c%u', 'namespace': 'a', 'uid': 'u%u'%s}, "
	               "'spec': {'accessModes': ['%s'], 'storageClassName': 'late', "
	               "'resources': {'requests': {'storage': '1Gi'}}%s}}",
	               number, number,
	               pl_rng_chance(rng, 1, 2)
	                       ? ", 'annotations': {'pv.kubernetes.io/bind-completed': "
	                         "'yes'}"
	                       : "",
	               pl_rng_chance(rng, 1, 3) ? "ReadWriteOncePod" : "ReadWriteOnce",
	               pl_rng_chance(rng, 1, 2) ? ", 'volumeName': 'v0'" : "");
	T_OK(claim_parse(&parse, json_of(room, text), &claim, &err), &err);
	if (pl_rng_chance(rng, 1, 4)) {
		catalog_drop_claim(&snapshot.catalog,
		                   (struct catalog_key){.namespace = claim.namespace,
		                                        .name = claim.name});
		claim_drop(&model, &claim);
		return;
	}
	T_OK(catalog_put_claim(&snapshot.catalog, &claim, &err), &err);
}

static inline void history_volume(struct pl_rng *rng)
{
	struct parse parse = {.model = &model, .arena = &arena};
	struct volume volume;
	char room[4096], text[700];

	(void)snprintf(
		text, sizeof(text),
		"{'metadata': {'name': 'v%u', 'uid': 'w%u', 'labels': {'topology."
		"kubernetes.io/zone': 'z%u'}}, 'spec': {'capacity': {'storage': '%uGi'}, "
		"'accessModes': ['ReadWriteOnce', 'ReadWriteOncePod'], "
		"'storageClassName': 'late', 'nodeAffinity': {'required': "
		"{'nodeSelectorTerms': [{'matchExpressions': [{'key': 'zone', "
		"'operator': 'In', 'values': ['z%u']}]}]}}}}",
		(unsigned)pl_rng_below(rng, 2), 0U, (unsigned)pl_rng_below(rng, 3),
		(unsigned)pl_rng_between(rng, 1, 5), (unsigned)pl_rng_below(rng, 3));
	T_OK(volume_parse(&parse, json_of(room, text), &volume, &err), &err);
	T_OK(catalog_put_volume(&snapshot.catalog, &volume, &err), &err);
}

static inline void history_storage_class(struct pl_rng *rng)
{
	struct parse parse = {.model = &model, .arena = &arena};
	struct storage_class class;
	char room[4096], text[256];

	(void)snprintf(text, sizeof(text),
	               "{'metadata': {'name': 'late'}, 'provisioner': '%s', "
	               "'volumeBindingMode': 'WaitForFirstConsumer'}",
	               pl_rng_chance(rng, 1, 2) ? "example.com/disks"
	                                        : "kubernetes.io/no-provisioner");
	T_OK(storage_class_parse(&parse, json_of(room, text), &class, &err), &err);
	T_OK(catalog_put_storage_class(&snapshot.catalog, &class, &err), &err);
}

static inline void history_service(struct pl_rng *rng)
{
	struct parse parse = {.model = &model, .arena = &arena};
	struct workload workload;
	char room[4096], text[256];

	(void)snprintf(text, sizeof(text),
	               "{'metadata': {'name': 's', 'namespace': 'a'}, 'spec': "
	               "{'selector': {'app': '%s'}}}",
	               pl_rng_chance(rng, 1, 2) ? "web" : "db");
	T_OK(workload_parse(&parse, WORKLOAD_SERVICE, json_of(room, text), &workload,
	                    &err),
	     &err);
	T_OK(catalog_put_workload(&snapshot.catalog, &workload, &err), &err);
}

static inline void history_object(struct pl_rng *rng)
{
	void (*const put[])(struct pl_rng *) = {history_namespace, history_claim,
	                                        history_volume, history_storage_class,
	                                        history_service};

	put[pl_rng_below(rng, sizeof(put) / sizeof(put[0]))](rng);
	pl_arena_reset(&arena);
}

#endif
