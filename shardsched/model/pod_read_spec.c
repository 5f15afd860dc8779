#include <ctype.h>

#include "shardsched/model/pod_read.h"

/* The API server takes any text, as "localhost"; here the address has to go into an
 * alloc. */
static bool is_address(struct pl_span text)
{
	enum { ADDRESS_MAX = 253 };

	for (size_t i = 0; i < text.len; i++)
		if (!isalnum(text.at[i]) && strchr(".:-_%", text.at[i]) == NULL)
			return false;
	return text.len <= ADDRESS_MAX && memchr(text.at, 0, text.len) == NULL;
}

static struct pl_span read_address(struct reader *reader, struct pl_json port)
{
	struct pl_span text = reader_text(reader, port, "hostIP");

	if (text.len > 0 && !is_address(text))
		(void)reader_fail(reader, pl_json_member(port, "hostIP"), PL_INVALID,
		                  "want an IP address");
	return text;
}

static void read_ports(struct reader *reader, struct pl_json container,
                       struct draft_container *out)
{
	uint32_t i = 0;
	struct pl_json list = reader_list(reader, container, "ports", &out->port_count);

	out->ports = reader_alloc(reader, out->port_count, sizeof *out->ports);
	if (out->ports == NULL)
		return;
	PL_JSON_EACH (item, list) {
		struct draft_port port = {
			.name = reader_text(reader, item, "name"),
			.protocol = reader_text(reader, item, "protocol"),
			.host_ip = read_address(reader, item),
			.container_port = reader_int32(reader, item, "containerPort"),
			.host_port = reader_int32(reader, item, "hostPort"),
		};

		if (port.protocol.len == 0)
			port.protocol = PL_SPAN_LIT("TCP");
		out->ports[i++] = port;
	}
}

static const struct draft_amount *amount_of(struct draft_amounts amounts,
                                            struct pl_span name)
{
	for (uint32_t i = 0; i < amounts.count; i++)
		if (pl_span_eq(amounts.at[i].name, name))
			return &amounts.at[i];
	return NULL;
}

/* A resource with a limit and no request is requested up to its limit. */
static void requests_from_limits(struct reader *reader, struct draft_container *out)
{
	struct draft_amounts all = out->requests;

	all.at = reader_alloc(reader, (size_t)all.count + out->limits.count,
	                      sizeof *all.at);
	if (all.at == NULL)
		return;
	if (all.count > 0)
		memcpy(all.at, out->requests.at, all.count * sizeof *all.at);
	for (uint32_t i = 0; i < out->limits.count; i++)
		if (amount_of(out->requests, out->limits.at[i].name) == NULL)
			all.at[all.count++] = out->limits.at[i];
	out->requests = all;
}

struct draft_containers pod_read_containers(struct reader *reader, struct pl_json spec,
                                            const char *name)
{
	struct draft_containers all = {0};
	struct pl_json list = reader_list(reader, spec, name, &all.count);
	uint32_t i = 0, ports = 0;

	all.at = reader_alloc(reader, all.count, sizeof *all.at);
	if (all.at == NULL)
		return (struct draft_containers){0};
	PL_JSON_EACH (item, list) {
		struct draft_container *out = &all.at[i++];
		struct pl_json resources = reader_object(reader, item, "resources");

		out->name = reader_text(reader, item, "name");
		out->image = reader_text(reader, item, "image");
		out->limits = reader_amounts(reader, resources, "limits");
		out->requests = reader_amounts(reader, resources, "requests");
		if (out->limits.count > 0)
			requests_from_limits(reader, out);
		read_ports(reader, item, out);
		ports += out->port_count;
		if (ports > READER_ENTRIES_MAX)
			(void)reader_fail(reader, list, PL_LIMIT,
			                  "too many ports in all");
	}
	return all;
}

static const struct {
	const char *name;
	const char *id; /* the member that names it */
	enum draft_source source;
} sources[] = {
	{"persistentVolumeClaim", "claimName", DRAFT_CLAIM},
	{"gcePersistentDisk", "pdName", DRAFT_GCE},
	{"awsElasticBlockStore", "volumeID", DRAFT_AWS},
	{"iscsi", "iqn", DRAFT_ISCSI},
	{"rbd", "image", DRAFT_RBD},
	{"azureDisk", "diskName", DRAFT_AZURE},
};

static void read_template(struct reader *reader, struct pl_json volume,
                          struct draft_volume *out)
{
	struct pl_json source = reader_object(reader, volume, "ephemeral");
	struct pl_json template = reader_object(reader, source, "volumeClaimTemplate");
	struct pl_json spec = reader_object(reader, template, "spec");
	struct pl_json resources = reader_object(reader, spec, "resources");

	if (source.node == NULL)
		return;
	out->source = DRAFT_EPHEMERAL;
	out->has_template = template.node != NULL;
	out->modes = reader_texts(reader, spec, "accessModes");
	out->requested = reader_amounts(reader, resources, "requests");
}

/* Other members than the name that are objects are the volume's source. */
static uint32_t count_sources(struct pl_json volume)
{
	uint32_t count = 0;

	PL_JSON_EACH (item, volume)
		count += pl_json_type(item) == PL_JSON_OBJECT;
	return count;
}

static void read_volume(struct reader *reader, struct pl_json volume,
                        struct draft_volume *out)
{
	out->name = reader_text(reader, volume, "name");
	out->sources = count_sources(volume);
	read_template(reader, volume, out);
	for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
		struct pl_json from = reader_object(reader, volume, sources[i].name);

		if (from.node == NULL)
			continue;
		out->source = sources[i].source;
		out->id = reader_text(reader, from, sources[i].id);
		out->read_only = reader_bool(reader, from, "readOnly");
		out->portal = reader_text(reader, from, "targetPortal");
		out->pool = reader_text(reader, from, "pool");
		out->monitors = reader_texts(reader, from, "monitors");
		out->number = out->source == DRAFT_ISCSI
		                      ? reader_int32(reader, from, "lun")
		                      : reader_int32(reader, from, "partition");
		if (out->source == DRAFT_RBD && out->pool.len == 0)
			out->pool = PL_SPAN_LIT("rbd");
	}
}

void pod_read_volumes(struct reader *reader, struct pl_json spec, struct pod_draft *out)
{
	uint32_t i = 0, monitors = 0;
	struct pl_json list = reader_list(reader, spec, "volumes", &out->volume_count);

	out->volumes = reader_alloc(reader, out->volume_count, sizeof *out->volumes);
	if (out->volumes == NULL)
		return;
	PL_JSON_EACH (item, list) {
		read_volume(reader, item, &out->volumes[i]);
		monitors += out->volumes[i++].monitors.count;
		if (monitors > READER_ENTRIES_MAX)
			(void)reader_fail(reader, list, PL_LIMIT,
			                  "too many monitors in all");
	}
}

static struct draft_pod_term pod_term_of(struct reader *reader, struct pl_json term)
{
	return (struct draft_pod_term){
		.selector = reader_selector(reader, term, "labelSelector"),
		.namespace_selector = reader_selector(reader, term, "namespaceSelector"),
		.namespaces = reader_texts(reader, term, "namespaces"),
		.topology_key = reader_text(reader, term, "topologyKey"),
	};
}

static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

/* A preferred term lies one level deeper, beside its weight. */
static struct draft_pod_terms pod_terms(struct reader *reader, struct pl_json rules,
                                        const char *name)
{
	struct draft_pod_terms all = {0};
	struct pl_json list = reader_list(reader, rules, name, &all.count);
	uint32_t i = 0;

	all.at = reader_alloc(reader, all.count, sizeof *all.at);
	if (all.at == NULL)
		return (struct draft_pod_terms){0};
	PL_JSON_EACH (item, list) {
		if (name == required) {
			all.at[i++] = pod_term_of(reader, item);
			continue;
		}
		all.at[i] = pod_term_of(reader,
		                        reader_object(reader, item, "podAffinityTerm"));
		all.at[i++].weight = reader_int32(reader, item, "weight");
	}
	return all;
}

static struct draft_node_terms preferred_nodes(struct reader *reader,
                                               struct pl_json rules)
{
	struct draft_node_terms all = {0};
	struct pl_json list = reader_list(reader, rules, preferred, &all.count);
	uint32_t i = 0;

	all.at = reader_alloc(reader, all.count, sizeof *all.at);
	if (all.at == NULL)
		return (struct draft_node_terms){0};
	all.set = true;
	PL_JSON_EACH (item, list) {
		all.at[i] = reader_node_term(reader,
		                             reader_object(reader, item, "preference"));
		all.at[i++].weight = reader_int32(reader, item, "weight");
	}
	return all;
}

void pod_read_affinity(struct reader *reader, struct pl_json spec, struct pod_draft *out)
{
	struct pl_json affinity = reader_object(reader, spec, "affinity");
	struct pl_json node = reader_object(reader, affinity, "nodeAffinity");
	struct pl_json pod = reader_object(reader, affinity, "podAffinity");
	struct pl_json anti = reader_object(reader, affinity, "podAntiAffinity");

	out->required = reader_node_selector(reader, node, required);
	out->preferred = preferred_nodes(reader, node);
	out->affinity = pod_terms(reader, pod, required);
	out->soft_affinity = pod_terms(reader, pod, preferred);
	out->anti_affinity = pod_terms(reader, anti, required);
	out->soft_anti_affinity = pod_terms(reader, anti, preferred);
}
