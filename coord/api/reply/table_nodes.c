/* Nodes, namespaces, leases and events. */
#include <inttypes.h>
#include <stdlib.h>

#include "coord/api/reply/table_int.h"
#include "store/base/human_duration.h"

const struct table_column table_columns_nodes[] = {
	TABLE_NAME,
	TABLE_TEXT("Status",
                   "Whether the node is ready, and whether pods may be placed there."),
	TABLE_TEXT("Roles", "Roles that the node's labels give it."),
	TABLE_AGE,
	TABLE_TEXT("Version", "Version of the node's kubelet."),
	TABLE_WIDE("Internal-IP", "Address of the node inside its cluster."),
	TABLE_WIDE("External-IP", "Address of the node outside of its cluster."),
	TABLE_WIDE("OS-Image", "Operating system of the node."),
	TABLE_WIDE("Kernel-Version", "Kernel of the node."),
	TABLE_WIDE("Container-Runtime", "Container runtime of the node."),
	TABLE_TEXT("Cluster", "The member cluster that the node belongs to."),
	TABLE_END,
};

/* The last condition of the type counts. */
static void cell_node_status(struct table_row *row, struct pl_json node)
{
	const char *status = NULL;

	PL_JSON_EACH (condition, field_at(node, "status.conditions"))
		if (strcmp(field_text_or(condition, "type", ""), "Ready") == 0)
			status = field_text_or(condition, "status", "");
	if (status == NULL)
		cell_add(row, "Unknown");
	else
		cell_add(row, strcmp(status, "True") == 0 ? "Ready" : "NotReady");
	if (field_bool(node, "spec.unschedulable", false))
		cell_add(row, ",SchedulingDisabled");
	cell_end(row, "");
}

/* NULL: the label gives no role. */
static const char *role_of(struct pl_json label)
{
	static const char prefix[] = "node-role.kubernetes.io/";
	const char *key = pl_json_key(label), *role = NULL;

	if (strncmp(key, prefix, sizeof prefix - 1) == 0)
		role = key + sizeof prefix - 1;
	else if (strcmp(key, "kubernetes.io/role") == 0 &&
	         pl_json_as_string(label, &role, NULL) != PL_OK)
		return NULL;
	return role != NULL && role[0] != 0 ? role : NULL;
}

/* The next role in order behind after; NULL: there is none. Nodes have few roles. */
static const char *next_role(struct pl_json labels, const char *after)
{
	const char *next = NULL;

	PL_JSON_EACH (label, labels) {
		const char *role = role_of(label);

		if (role != NULL && strcmp(role, after) > 0 &&
		    (next == NULL || strcmp(role, next) < 0))
			next = role;
	}
	return next;
}

static void cell_roles(struct table_row *row, struct pl_json node)
{
	struct pl_json labels = field_at(node, "metadata.labels");

	for (const char *role = next_role(labels, ""); role != NULL;
	     role = next_role(labels, role)) {
		cell_next(row);
		cell_add(row, role);
	}
	cell_end(row, "<none>");
}

static void cell_address(struct table_row *row, struct pl_json node, const char *type)
{
	PL_JSON_EACH (address, field_at(node, "status.addresses"))
		if (strcmp(field_text_or(address, "type", ""), type) == 0) {
			cell_text(row, field_text(address, "address"));
			return;
		}
	cell_text(row, "<none>");
}

void table_cells_nodes(struct table_row *row, struct pl_json node)
{
	cell_name(row, node);
	cell_node_status(row, node);
	cell_roles(row, node);
	cell_age(row, node);
	cell_field(row, node, "status.nodeInfo.kubeletVersion", "");
	cell_address(row, node, "InternalIP");
	cell_address(row, node, "ExternalIP");
	cell_field(row, node, "status.nodeInfo.osImage", "<unknown>");
	cell_field(row, node, "status.nodeInfo.kernelVersion", "<unknown>");
	cell_field(row, node, "status.nodeInfo.containerRuntimeVersion", "<unknown>");
	cell_cluster(row, field_text_or(node, "metadata.name", ""));
}

const struct table_column table_columns_namespaces[] = {
	TABLE_NAME,
	TABLE_TEXT("Status", "Active, or Terminating while the namespace is emptied."),
	TABLE_AGE,
	TABLE_END,
};

void table_cells_namespaces(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_field(row, object, "status.phase", "");
	cell_age(row, object);
}

const struct table_column table_columns_leases[] = {
	TABLE_NAME,
	TABLE_TEXT("Holder", "The holder of the lease."),
	TABLE_AGE,
	TABLE_END,
};

void table_cells_leases(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_field(row, object, "spec.holderIdentity", "");
	cell_age(row, object);
}

/* -- events ------------------------------------------------------------------------------- */

const struct table_column table_columns_events[] = {
	TABLE_TEXT("Last Seen", "Time since the event occurred last."),
	TABLE_TEXT("Type", "Normal or Warning."),
	TABLE_TEXT("Reason", "A word for what happened."),
	TABLE_TEXT("Object", "The object that the event is about."),
	TABLE_WIDE("Subobject", "The part of the object that the event is about."),
	TABLE_WIDE("Source", "The component that reported the event."),
	TABLE_TEXT("Message", "What happened, in a sentence."),
	TABLE_WIDE("First Seen", "Time since the event occurred first."),
	TABLE_WIDE("Count", "How often the event occurred."),
	{"Name", "string", "name", 1, TABLE_NAME_DOC},
	TABLE_END,
};

/* The names of the same fields in v1 and in events.k8s.io/v1. */
static const char *field_name(struct pl_json event, const char *core, const char *other)
{
	return field_is_set(event, core) ? core : other;
}

static void cell_event_object(struct table_row *row, struct pl_json about)
{
	const char *name = field_text_or(about, "name", "");

	for (const char *at = field_text_or(about, "kind", ""); *at != 0; at++) {
		bool upper = *at >= 'A' && *at <= 'Z';
		char letter[2] = {(char)(upper ? *at + ('a' - 'A') : *at), 0};

		cell_add(row, letter);
	}
	if (name[0] != 0) {
		cell_add(row, "/");
		cell_add(row, name);
	}
	cell_end(row, "");
}

static const char *first_text(struct pl_json event, const char *path, const char *other)
{
	const char *text = field_text_or(event, path, "");

	return text[0] != 0 ? text : field_text_or(event, other, "");
}

static void cell_event_source(struct table_row *row, struct pl_json event)
{
	struct pl_json source =
		field_at(event, field_name(event, "source", "deprecatedSource"));
	const char *reporter =
		field_name(event, "reportingComponent", "reportingController");
	const char *component = field_text_or(source, "component", "");
	const char *host = field_text_or(source, "host", "");

	if (host[0] == 0)
		host = field_text_or(event, "reportingInstance", "");
	cell_add(row, component[0] != 0 ? component : field_text_or(event, reporter, ""));
	if (host[0] != 0) {
		cell_add(row, ", ");
		cell_add(row, host);
	}
	cell_end(row, "");
}

static void cell_trimmed(struct table_row *row, const char *text)
{
	static const char blanks[] = " \t\r\n\v\f";
	size_t from = strspn(text, blanks), to = strlen(text);

	while (to > from && strchr(blanks, text[to - 1]) != NULL)
		to--;
	pl_json_out_string(row->writer->out, pl_span(text + from, to - from));
}

struct event_times {
	char first[PL_HUMAN_DURATION_SIZE], last[PL_HUMAN_DURATION_SIZE];
	const char *first_text, *last_text;
	int64_t count;
};

static void read_times(const struct table_row *row, struct pl_json event,
                       struct event_times *out)
{
	const char *first =
		field_name(event, "firstTimestamp", "deprecatedFirstTimestamp");
	const char *last = field_name(event, "lastTimestamp", "deprecatedLastTimestamp");

	out->count = field_int(event, field_name(event, "count", "deprecatedCount"), 0);
	out->first_text = since_text(
		row, event, field_is_set(event, first) ? first : "eventTime", out->first);
	out->last_text = field_is_set(event, last)
	                         ? since_text(row, event, last, out->last)
	                         : out->first_text;
	if (field_is_set(event, "series")) {
		out->last_text =
			since_text(row, event, "series.lastObservedTime", out->last);
		out->count = field_int(event, "series.count", 0);
	} else if (out->count == 0) {
		out->count = 1;
	}
}

void table_cells_events(struct table_row *row, struct pl_json event)
{
	struct pl_json about =
		field_at(event, field_name(event, "involvedObject", "regarding"));
	struct event_times times;

	read_times(row, event, &times);
	cell_text(row, times.last_text);
	cell_field(row, event, "type", "");
	cell_field(row, event, "reason", "");
	cell_event_object(row, about);
	cell_field(row, about, "fieldPath", "");
	cell_event_source(row, event);
	cell_trimmed(row, first_text(event, "message", "note"));
	cell_text(row, times.first_text);
	cell_int(row, times.count);
	cell_name(row, event);
}
