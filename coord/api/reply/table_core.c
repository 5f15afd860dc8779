/* Services, ConfigMaps, ServiceAccounts and priority classes. */
#include <inttypes.h>

#include "coord/api/reply/table_int.h"

const struct table_column table_columns_services[] = {
	TABLE_NAME,
	TABLE_TEXT("Type", "How the service is reached."),
	TABLE_TEXT("Cluster-IP", "Address of the service inside the cluster."),
	TABLE_TEXT("External-IP", "Addresses of the service outside of the cluster."),
	TABLE_TEXT("Port(s)", "Ports of the service, and its ports on nodes."),
	TABLE_AGE,
	TABLE_SELECTOR,
	TABLE_END,
};

static void add_texts(struct table_row *row, struct pl_json texts)
{
	PL_JSON_EACH (text, texts) {
		const char *value = "";

		if (pl_json_as_string(text, &value, NULL) != PL_OK)
			continue;
		cell_next(row);
		cell_add(row, value);
	}
}

static const char *address_of(struct pl_json ingress)
{
	const char *ip = field_text_or(ingress, "ip", "");

	return ip[0] != 0 ? ip : field_text_or(ingress, "hostname", "");
}

/* The addresses of the load balancer in order, each once; there are few. */
static void add_balancer(struct table_row *row, struct pl_json service)
{
	struct pl_json ingress = field_at(service, "status.loadBalancer.ingress");
	const char *after = "";

	for (;;) {
		const char *next = NULL;

		PL_JSON_EACH (one, ingress) {
			const char *address = address_of(one);

			if (strcmp(address, after) > 0 &&
			    (next == NULL || strcmp(address, next) < 0))
				next = address;
		}
		if (next == NULL)
			return;
		cell_next(row);
		cell_add(row, next);
		after = next;
	}
}

static void cell_external_ip(struct table_row *row, struct pl_json service)
{
	const char *type = field_text_or(service, "spec.type", "");
	struct pl_json external = field_at(service, "spec.externalIPs");

	if (strcmp(type, "ExternalName") == 0) {
		cell_field(row, service, "spec.externalName", "");
	} else if (strcmp(type, "LoadBalancer") == 0) {
		add_balancer(row, service);
		add_texts(row, external);
		cell_end(row, "<pending>");
	} else if (strcmp(type, "ClusterIP") == 0 || strcmp(type, "NodePort") == 0) {
		add_texts(row, external);
		cell_end(row, "<none>");
	} else {
		cell_text(row, "<unknown>");
	}
}

static void cell_ports(struct table_row *row, struct pl_json service)
{
	PL_JSON_EACH (port, field_at(service, "spec.ports")) {
		int64_t node_port = field_int(port, "nodePort", 0);

		cell_next(row);
		cell_printf(row, "%" PRId64, field_int(port, "port", 0));
		if (node_port > 0)
			cell_printf(row, ":%" PRId64, node_port);
		cell_add(row, "/");
		cell_add(row, field_text_or(port, "protocol", ""));
	}
	cell_end(row, "<none>");
}

static void cell_cluster_ip(struct table_row *row, struct pl_json service)
{
	struct pl_json first = pl_json_first(field_at(service, "spec.clusterIPs"));
	const char *text = "";

	if (first.node != NULL && pl_json_as_string(first, &text, NULL) == PL_OK)
		cell_text(row, text);
	else
		cell_field(row, service, "spec.clusterIP", "<none>");
}

void table_cells_services(struct table_row *row, struct pl_json service)
{
	cell_name(row, service);
	cell_field(row, service, "spec.type", "");
	cell_cluster_ip(row, service);
	cell_external_ip(row, service);
	cell_ports(row, service);
	cell_age(row, service);
	cell_labels(row, field_at(service, "spec.selector"));
}

const struct table_column table_columns_configmaps[] = {
	TABLE_NAME,
	TABLE_TEXT("Data", "Number of entries."),
	TABLE_AGE,
	TABLE_END,
};

void table_cells_configmaps(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_int(row, (int64_t)(pl_json_count(field_at(object, "data")) +
	                        pl_json_count(field_at(object, "binaryData"))));
	cell_age(row, object);
}

const struct table_column table_columns_accounts[] = {
	TABLE_NAME,
	TABLE_TEXT("Secrets", "Number of secrets."),
	TABLE_AGE,
	TABLE_END,
};

void table_cells_accounts(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_count(row, object, "secrets");
	cell_age(row, object);
}

const struct table_column table_columns_priorityclasses[] = {
	TABLE_NAME,
	TABLE_INT("Value", "Priority of the pods of the class."),
	TABLE_BOOL("Global-Default", "Whether pods that name no class get this one."),
	TABLE_AGE,
	TABLE_TEXT("PreemptionPolicy", "Whether the pods displace others."),
	TABLE_END,
};

void table_cells_priorityclasses(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_field_int(row, object, "value");
	cell_field_bool(row, object, "globalDefault", false);
	cell_age(row, object);
	cell_field(row, object, "preemptionPolicy", "");
}
