/* The kinds of placet.io. */
#include <inttypes.h>

#include "coord/api/reply/table_int.h"

const struct table_column table_columns_placet_clusters[] = {
	TABLE_NAME,
	TABLE_TEXT("Health", "How the member is, in a word."),
	TABLE_TEXT("Kind", "What the member is."),
	TABLE_INT("Nodes", "Number of nodes."),
	TABLE_INT("Weight", "Share of new pods, compared with other members."),
	TABLE_BOOL("Cordoned", "Whether the member takes no new pods."),
	TABLE_TEXT("Last Seen", "Time since the member answered last."),
	TABLE_AGE,
	TABLE_WIDE("Endpoint", "Where the member's own API is reached."),
	TABLE_END,
};

void table_cells_placet_clusters(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_field(row, object, "status.health", "<unknown>");
	cell_field(row, object, "spec.kind", "");
	cell_field_int(row, object, "status.nodes");
	cell_field_int(row, object, "spec.weight");
	cell_field_bool(row, object, "spec.cordoned", false);
	cell_since(row, object, "status.lastSeenTime", "<none>");
	cell_age(row, object);
	cell_field(row, object, "spec.endpoint", "<none>");
}

const struct table_column table_columns_placet_shards[] = {
	TABLE_NAME,
	TABLE_TEXT("State", "joining, active or draining; malformed: it cannot be read."),
	TABLE_INT("Partitions", "Number of partitions that the shard owns."),
	TABLE_INT("Pending", "Pods that wait."),
	TABLE_INT("Placed", "Pods placed since the start."),
	TABLE_TEXT("Zone", "Zone of the shard."),
	TABLE_TEXT("Host", "The machine that the shard runs on."),
	TABLE_AGE,
	TABLE_WIDE("Version", "Version of the program."),
	TABLE_WIDE("Address", "Where the shard can be reached."),
	{"Weight", "integer", "", 1, "Share of the partitions, in thousandths."},
	{"Conflicts", "integer", "", 1,
         "Placements that met the write of another shard."},
	TABLE_END,
};

static bool is_malformed(struct pl_json object)
{
	return field_text_or(object, "status.malformed", "")[0] != 0;
}

void table_cells_placet_shards(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	if (is_malformed(object))
		cell_text(row, "malformed");
	else
		cell_field(row, object, "status.state", "");
	cell_count(row, object, "status.partitions");
	cell_field_int(row, object, "status.work.pending");
	cell_field_int(row, object, "status.work.placed");
	cell_field(row, object, "status.zone", "<none>");
	cell_field(row, object, "status.host", "");
	if (field_is_set(object, "status.startTime"))
		cell_since(row, object, "status.startTime", NULL);
	else
		cell_age(row, object);
	cell_field(row, object, "status.version", "");
	cell_field(row, object, "status.address", "<none>");
	cell_field_int(row, object, "spec.weight");
	cell_field_int(row, object, "status.work.conflicts");
}

const struct table_column table_columns_placet_partitions[] = {
	TABLE_NAME,
	TABLE_TEXT("State", "owned, moving or unowned; malformed: it cannot be read."),
	TABLE_TEXT("Shard", "The shard that owns the partition."),
	TABLE_TEXT("Epoch", "Fencing token of the owner."),
	TABLE_WIDE("Target", "The shard that is to own the partition."),
	TABLE_END,
};

static const char *partition_state(struct pl_json object)
{
	const char *shard = field_text_or(object, "status.shard", "");
	const char *target = field_text_or(object, "status.target", "");

	if (is_malformed(object))
		return "malformed";
	if (shard[0] == 0)
		return "unowned";
	return target[0] != 0 && strcmp(shard, target) != 0 ? "moving" : "owned";
}

void table_cells_placet_partitions(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_text(row, partition_state(object));
	cell_field(row, object, "status.shard", "<none>");
	cell_scalar(row, object, "status.epoch", "<none>");
	cell_field(row, object, "status.target", "<none>");
}

const struct table_column table_columns_placet_configs[] = {
	TABLE_NAME,
	TABLE_TEXT("Version", "The version that is current; 0: the default."),
	TABLE_TEXT("Changed", "Time since the version was written."),
	TABLE_TEXT("By", "The writer of the version."),
	TABLE_WIDE("Why", "Why the version was written."),
	TABLE_END,
};

void table_cells_placet_configs(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_scalar(row, object, "status.version", "0");
	cell_since(row, object, "status.time", "<none>");
	cell_field(row, object, "status.by", "<none>");
	cell_field(row, object, "status.why", "<none>");
}

const struct table_column table_columns_placet_gangs[] = {
	TABLE_NAME,
	TABLE_TEXT("Phase",
                   "reserving, bound or aborting; malformed: it cannot be read."),
	TABLE_INT("Pods", "Number of pods in the plan."),
	TABLE_INT("Nodes", "Number of nodes in the plan."),
	TABLE_TEXT("Shard", "The shard that places the gang."),
	TABLE_AGE,
	TABLE_END,
};

void table_cells_placet_gangs(struct table_row *row, struct pl_json object)
{
	int64_t pods = 0;

	PL_JSON_EACH (node, field_at(object, "status.nodes"))
		pods += (int64_t)pl_json_count(field_at(node, "pods"));
	cell_name(row, object);
	if (is_malformed(object))
		cell_text(row, "malformed");
	else
		cell_field(row, object, "status.phase", "");
	cell_int(row, pods);
	cell_count(row, object, "status.nodes");
	cell_field(row, object, "status.shard", "<none>");
	cell_age(row, object);
}

const struct table_column table_columns_placet_explanations[] = {
	TABLE_NAME,
	TABLE_TEXT("Phase", "Phase of the pod."),
	TABLE_TEXT("Reason", "Why the pod waits, in a word."),
	TABLE_INT("Nodes", "Nodes that were looked at."),
	TABLE_INT("Feasible", "Nodes that would do."),
	TABLE_TEXT("Message", "Why the pod waits, in a sentence."),
	TABLE_WIDE("Cluster", "Cluster of the pod's node."),
	TABLE_WIDE("Node", "The pod's node."),
	TABLE_END,
};

void table_cells_placet_explanations(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_field(row, object, "status.phase", "");
	cell_field(row, object, "status.reason", "");
	cell_field_int(row, object, "status.nodes");
	cell_field_int(row, object, "status.feasible");
	cell_field(row, object, "status.message", "");
	cell_field(row, object, "status.cluster", "<none>");
	cell_field(row, object, "status.node", "<none>");
}

const struct table_column table_columns_placet_tokens[] = {
	TABLE_NAME,
	TABLE_TEXT("User", "The user that the token stands for."),
	TABLE_TEXT("Expires", "When the token ends."),
	TABLE_TEXT("Age", "Time since the token was issued."),
	TABLE_WIDE("Created By", "The user who issued the token."),
	TABLE_END,
};

void table_cells_placet_tokens(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_field(row, object, "spec.user", "<unknown>");
	cell_field(row, object, "status.expirationTimestamp", "never");
	cell_since(row, object, "status.creationTimestamp", "<unknown>");
	cell_field(row, object, "status.createdBy", "<none>");
}
