/*
 * The schema of placet.io/v1: what Kubernetes has no word for. The fields follow the
 * values in the store (docs/keys.md).
 */
#include "coord/api/schema/schema_table.h"

FIELDS(placet_cluster) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, placet_cluster_spec, "spec", DOC("What is wanted of the member.")),
	OBJ(3, placet_cluster_status, "status", IS(STATUS),
            DOC("What is known about the member.")),
	END,
};
TYPE(placet_cluster, PLACET_V1 "Cluster",
     "A member of the federation: a cluster whose nodes take pods.");

FIELDS(placet_cluster_spec) = {
	STR(1, "kind", DOC("What the member is: kubernetes, simulated, ...")),
	STR(2, "endpoint", DOC("Where the member's own API is reached.")),
	ANY_OBJECT(3, "policy", DOC("What may be placed on the member.")),
	I32(4, "weight", DOC("Share of new pods, compared with other members.")),
	BOOL(5, "cordoned", DOC("True: the member takes no new pods.")),
	END,
};
TYPE(placet_cluster_spec, PLACET_V1 "ClusterSpec", "What is wanted of a member.");

FIELDS(placet_cluster_status) = {
	STR(1, "health", DOC("A stable word: how the member is.")),
	STR(2, "message", DOC("A sentence for people.")),
	I32(3, "nodes", DOC("Number of nodes.")),
	TIME(4, "lastSeenTime", DOC("When the member last answered.")),
	OBJS(5, meta_condition, "conditions", KEYS("type"),
             DOC("Aspects of the member's state.")),
	END,
};
TYPE(placet_cluster_status, PLACET_V1 "ClusterStatus", "What is known about a member.");

FIELDS(placet_shard) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, placet_shard_spec, "spec", DOC("What is wanted of the shard.")),
	OBJ(3, placet_shard_status, "status", IS(STATUS),
            DOC("What the shard says of itself.")),
	END,
};
TYPE(placet_shard, PLACET_V1 "Shard",
     "A scheduler of the federation, with the partitions that it owns.");

FIELDS(placet_shard_spec) = {
	I32(1, "weight", DOC("Share of the partitions, in thousandths.")),
	BOOL(2, "drained", DOC("True: the shard hands its partitions over.")),
	END,
};
TYPE(placet_shard_spec, PLACET_V1 "ShardSpec", "What is wanted of a shard.");

FIELDS(placet_shard_status) = {
	STR(1, "state", DOC("joining, active or draining.")),
	STR(2, "host", DOC("The machine that the shard runs on.")),
	I64(3, "pid", DOC("Process id of the shard.")),
	STR(4, "version", DOC("Version of the program.")),
	STR(5, "address", DOC("Where the shard can be reached.")),
	STR(6, "zone", DOC("Zone of the shard.")),
	TIME(7, "startTime", DOC("When the shard started.")),
	STR(8, "lease", DOC("Lease that the shard's keys hang on.")),
	I32S(9, "partitions", DOC("Numbers of the partitions that the shard owns.")),
	OBJ(10, placet_shard_rates, "rates", DOC("How busy the shard is.")),
	OBJ(11, placet_shard_work, "work", DOC("What the shard has placed.")),
	FIELD(INT64, MAP, 12, "config",
              DOC("Versions of the configurations that the shard applies."),
              .list = SCHEMA_GRANULAR),
	STRM(13, "refused",
             DOC("Why the current version of a configuration is not applied.")),
	STR(14, "malformed", DOC("Why the shard's record can not be read.")),
	END,
};
TYPE(placet_shard_status, PLACET_V1 "ShardStatus", "What a shard says of itself.");

FIELDS(placet_shard_rates) = {
	DBL(1, "writesPerSecond", DOC("Writes to the store in a second.")),
	I64(2, "fenced",
            DOC("Writes that were refused because the shard had lost a partition.")),
	DBL(3, "busy", DOC("Share of the time in which the shard worked, 0 to 1.")),
	END,
};
TYPE(placet_shard_rates, PLACET_V1 "ShardRates", "How busy a shard is.");

FIELDS(placet_shard_work) = {
	I64(1, "placed", DOC("Pods placed since the start.")),
	DBL(2, "placedPerSecond", DOC("Pods placed in a second, lately.")),
	I64(3, "pending", DOC("Pods that wait.")),
	I64(4, "conflicts", DOC("Placements that met the write of another shard.")),
	DBL(5, "conflictsPerSecond", DOC("Conflicts in a second, lately.")),
	I64(6, "lagMilliseconds",
            DOC("Time from a commit until the shard's watch shows it.")),
	END,
};
TYPE(placet_shard_work, PLACET_V1 "ShardWork", "What a shard has placed.");

FIELDS(placet_partition) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, placet_partition_status, "status", IS(STATUS),
            DOC("Who owns the partition.")),
	END,
};
TYPE(placet_partition, PLACET_V1 "Partition",
     "A part of all nodes and pods, by the hash of their names. One shard owns it.");

FIELDS(placet_partition_status) = {
	I32(1, "number", DOC("Number of the partition.")),
	STR(2, "shard", DOC("The shard that owns the partition; empty: none.")),
	I64(3, "epoch",
            DOC("Fencing token: the revision at which the owner claimed the partition.")),
	STR(4, "target", DOC("The shard that is to own the partition.")),
	STR(5, "malformed", DOC("Why the owner's key can not be read.")),
	END,
};
TYPE(placet_partition_status, PLACET_V1 "PartitionStatus", "Who owns a partition.");

FIELDS(placet_config) = {
	TYPE_META,
	OBJECT_META,
	ANY_OBJECT(
		2, "spec",
		DOC("The configuration itself; docs/configuration.md describes each.")),
	OBJ(3, placet_config_status, "status", IS(STATUS),
            DOC("Version and origin of the configuration.")),
	END,
};
TYPE(placet_config, PLACET_V1 "Config",
     "A configuration of the federation: access, coord, scheduler, shards "
     "or weights.");

FIELDS(placet_config_status) = {
	I64(1, "version", DOC("The version that is current; 0: the default.")),
	TIME(2, "time", DOC("When the version was written.")),
	STR(3, "by", DOC("Who wrote the version.")),
	STR(4, "why", DOC("Why the version was written.")),
	STR(5, "malformed", DOC("Why the version can not be read.")),
	END,
};
TYPE(placet_config_status, PLACET_V1 "ConfigStatus",
     "Version and origin of a configuration.");

FIELDS(placet_gang) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, placet_gang_status, "status", IS(STATUS), DOC("How far the gang is.")),
	END,
};
TYPE(placet_gang, PLACET_V1 "Gang",
     "Pods that are placed together or not at all, while the placement is under way.");

FIELDS(placet_gang_status) = {
	STR(1, "phase", DOC("reserving, bound or aborting.")),
	STR(2, "shard", DOC("The shard that places the gang.")),
	I64(3, "epoch", DOC("The shard's epoch of the gang's partition.")),
	TIME(4, "until", DOC("When reserving is given up.")),
	OBJS(5, placet_gang_node, "nodes", DOC("The plan: the pods of each node.")),
	STR(6, "malformed", DOC("Why the gang's record can not be read.")),
	END,
};
TYPE(placet_gang_status, PLACET_V1 "GangStatus", "How far a gang is.");

FIELDS(placet_gang_node) = {
	STR(1, "cluster", DOC("The node's cluster.")),
	STR(2, "node", DOC("Name of the node.")),
	I32(3, "partition", DOC("The node's partition.")),
	OBJS(4, placet_gang_pod, "pods", DOC("The gang's pods for the node.")),
	END,
};
TYPE(placet_gang_node, PLACET_V1 "GangNode", "The pods of a gang for one node.");

FIELDS(placet_gang_pod) = {
	STR(1, "name", DOC("Name of the pod.")),
	I64(2, "revision", DOC("Revision of the spec that was decided for.")),
	END,
};
TYPE(placet_gang_pod, PLACET_V1 "GangPod", "A pod of a gang.");

FIELDS(placet_explanation) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, placet_explanation_status, "status", IS(STATUS), DOC("The explanation.")),
	END,
};
TYPE(placet_explanation, PLACET_V1 "Explanation",
     "Why the pod of the same name is where it is, or nowhere. Made when asked for.");

FIELDS(placet_explanation_status) = {
	STR(1, "phase", DOC("Phase of the pod.")),
	STR(2, "cluster", DOC("Cluster of the pod's node.")),
	STR(3, "node", DOC("The pod's node.")),
	STR(4, "shard", DOC("The shard that decides about the pod.")),
	I32(5, "partition", DOC("Partition of the pod.")),
	STR(6, "revision", DOC("Revision of the store that everything was read at.")),
	STR(7, "reason", DOC("A stable word: why the pod waits.")),
	STR(8, "message", DOC("The sentence of kube-scheduler: why the pod waits.")),
	TIME(9, "since", DOC("Since when the pod is in its phase.")),
	I32(10, "attempts", DOC("Attempts that found no node.")),
	I32(11, "nodes", DOC("Nodes that were looked at.")),
	I32(12, "feasible", DOC("Nodes that would do.")),
	OBJS(13, placet_explanation_filter, "filters", DOC("What each filter refuses.")),
	OBJS(14, placet_explanation_reason, "reasons",
             DOC("Why nodes are refused, the most frequent first.")),
	OBJS(15, placet_explanation_cluster, "clusters",
             DOC("The same counts by cluster.")),
	OBJS(16, placet_explanation_near, "nearest",
             DOC("The nodes that miss by the least.")),
	STRS(17, "help", DOC("What would help.")),
	OBJ(18, placet_explanation_queue, "queue", DOC("Position in the queue.")),
	OBJ(19, placet_explanation_estimate, "estimate",
            DOC("When the pod may be placed.")),
	STR(20, "gang", DOC("The gang of the pod.")),
	ANY_OBJECT(21, "decision", DOC("The decision in all details.")),
	END,
};
TYPE(placet_explanation_status, PLACET_V1 "ExplanationStatus", "The explanation itself.");

FIELDS(placet_explanation_queue) = {
	STR(1, "sort", DOC("priority or sla.")),
	I64(2, "before",
            DOC("Pods that go before the pod because they are more important.")),
	I64(3, "alike", DOC("Pods of the same importance.")),
	I64(4, "older", DOC("Older ones among them.")),
	END,
};
TYPE(placet_explanation_queue, PLACET_V1 "ExplanationQueue",
     "Position of a pod in the queue of its shard.");

FIELDS(placet_explanation_estimate) = {
	TIME(1, "time", DOC("When the pod may be placed.")),
	DBL(2, "coverage",
            DOC("Share of such estimates that came true in time, 0 to 1.")),
	STR(3, "message", DOC("On what the estimate rests.")),
	END,
};
TYPE(placet_explanation_estimate, PLACET_V1 "ExplanationEstimate",
     "When a pod may be placed, and how sure that is.");

FIELDS(placet_explanation_filter) = {
	STR(1, "plugin", DOC("Name of the filter.")),
	BOOL(2, "skipped", DOC("The filter has nothing to check for this pod.")),
	I32(3, "first", DOC("Nodes refused that no earlier filter refused.")),
	I32(4, "alone", DOC("Nodes refused, whatever other filters say.")),
	END,
};
TYPE(placet_explanation_filter, PLACET_V1 "ExplanationFilter",
     "What one filter refuses.");

FIELDS(placet_explanation_reason) = {
	STR(1, "plugin", DOC("The filter.")),
	STR(2, "code", DOC("A stable word.")),
	STR(3, "message", DOC("A sentence for people.")),
	I32(4, "nodes", DOC("Nodes with the reason.")),
	I32(5, "only", DOC("How many of them have no other reason.")),
	END,
};
TYPE(placet_explanation_reason, PLACET_V1 "ExplanationReason",
     "A reason, and how many nodes have it.");

FIELDS(placet_explanation_cluster) = {
	STR(1, "cluster", DOC("Name of the cluster; empty: all others.")),
	I32(2, "nodes", DOC("Nodes of the cluster.")),
	I32(3, "feasible", DOC("How many of them would do.")),
	OBJS(4, placet_explanation_reason, "reasons", DOC("Why its nodes are refused.")),
	END,
};
TYPE(placet_explanation_cluster, PLACET_V1 "ExplanationCluster",
     "The counts of one cluster.");

FIELDS(placet_explanation_near) = {
	STR(1, "cluster", DOC("The node's cluster.")),
	STR(2, "node", DOC("Name of the node.")),
	STRS(3, "reasons", DOC("All that keeps the pod away from the node.")),
	END,
};
TYPE(placet_explanation_near, PLACET_V1 "ExplanationNear",
     "A node that misses by little.");

FIELDS(placet_plan) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, placet_plan_spec, "spec", IS(REQUIRED), DOC("What is to be tried.")),
	OBJ(3, placet_plan_status, "status", IS(STATUS), DOC("What would happen.")),
	END,
};
TYPE(placet_plan, PLACET_V1 "Plan",
     "A dry run: where would these objects go? Nothing is stored.");

FIELDS(placet_plan_spec) = {
	ANYS(1, "objects", DOC("Pods, and objects that contain pods.")),
	STRS(2, "withoutClusters", DOC("Members that are taken away for the trial.")),
	OBJS(3, placet_plan_nodes, "addNodes",
             DOC("Nodes that are added for the trial.")),
	STR(4, "atRevision", DOC("Revision of the store to look at; empty: the newest.")),
	END,
};
TYPE(placet_plan_spec, PLACET_V1 "PlanSpec", "What a plan tries.");

FIELDS(placet_plan_nodes) = {
	I32(1, "count", IS(REQUIRED), DOC("How many nodes.")),
	STR(2, "shape",
            DOC("Amounts that each has, cpu=8,memory=32Gi; or the name of a node that "
                "they are like.")),
	STR(3, "cluster", DOC("The member that gets them.")),
	ANY_OBJECT(4, "template", DOC("A Node that they are like, instead of a shape.")),
	END,
};
TYPE(placet_plan_nodes, PLACET_V1 "PlanNodes", "Nodes that a plan adds.");

FIELDS(placet_plan_status) = {
	BOOL(1, "fits", DOC("True: every pod has a node.")),
	STR(2, "revision", DOC("Revision of the store that was looked at.")),
	I32(3, "placed", DOC("Pods with a node.")),
	I32(4, "unplaced", DOC("Pods without a node.")),
	OBJS(5, placet_plan_pod, "pods", DOC("Where each pod would go.")),
	END,
};
TYPE(placet_plan_status, PLACET_V1 "PlanStatus", "What a plan found.");

FIELDS(placet_plan_pod) = {
	STR(1, "namespace", DOC("Namespace of the pod.")),
	STR(2, "name", DOC("Name of the pod.")),
	STR(3, "cluster", DOC("Cluster of the node; empty: none.")),
	STR(4, "node", DOC("The node; empty: none.")),
	STR(5, "reason", DOC("A stable word: why there is none.")),
	STR(6, "message", DOC("A sentence for people.")),
	STRS(7, "victims", DOC("Pods that would be displaced, namespace/name.")),
	END,
};
TYPE(placet_plan_pod, PLACET_V1 "PlanPod", "Where a pod of a plan would go.");

FIELDS(placet_token) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, placet_token_spec, "spec", DOC("Whose the token is, and for how long.")),
	OBJ(3, placet_token_status, "status", IS(STATUS),
            DOC("What came of the token's issue.")),
	END,
};
TYPE(placet_token, PLACET_V1 "Token",
     "A bearer token that stands for a user. The token itself is shown once, in the answer "
     "to its creation. Deleting the object revokes it.");

FIELDS(placet_token_spec) = {
	STR(1, "user", IS(REQUIRED), DOC("The user that the token stands for.")),
	STRS(2, "groups", DOC("Groups of the user.")),
	I64(3, "expirationSeconds",
            DOC("Seconds from the issue to the end of the token. A new token needs it; 0: it "
                "never ends.")),
	END,
};
TYPE(placet_token_spec, PLACET_V1 "TokenSpec", "Whose a token is, and for how long.");

FIELDS(placet_token_status) = {
	STR(1, "token", DOC("The token; only in the answer to its creation.")),
	TIME(2, "creationTimestamp", DOC("When the token was issued.")),
	TIME(3, "expirationTimestamp", DOC("When the token ends.")),
	STR(4, "createdBy", DOC("The user who issued the token.")),
	STR(5, "malformed", DOC("Why the token's record can not be read.")),
	END,
};
TYPE(placet_token_status, PLACET_V1 "TokenStatus", "What came of a token's issue.");
