/* All groups, versions and resources in one answer. */
#include "coord/api/discovery/discovery_int.h"

static void write_kind(struct pl_json_out *out, const char *group, const char *version,
                       const char *kind)
{
	pl_json_out_name(out, "responseKind");
	pl_json_out_object(out);
	discovery_write_str(out, "group", group);
	discovery_write_str(out, "version", version);
	discovery_write_str(out, "kind", kind);
	pl_json_out_end(out);
}

static void write_subresource(const struct schema_resource *resource,
                              const struct discovery_subresource *sub,
                              struct pl_json_out *out)
{
	pl_json_out_object(out);
	discovery_write_str(out, "subresource", sub->name);
	if (sub->kind == NULL)
		write_kind(out, resource->group, resource->version, resource->kind);
	else
		write_kind(out, sub->group, sub->version, sub->kind);
	discovery_write_list(out, "verbs", sub->verbs);
	pl_json_out_end(out);
}

static void write_subresources(const struct schema_resource *resource,
                               struct pl_json_out *out)
{
	size_t count;
	const struct discovery_subresource *subs = discovery_subresources(&count);

	if (resource->subresources == 0)
		return;
	pl_json_out_name(out, "subresources");
	pl_json_out_array(out);
	for (size_t i = 0; i < count; i++)
		if ((resource->subresources & subs[i].flag) != 0)
			write_subresource(resource, &subs[i], out);
	pl_json_out_end(out);
}

static void write_resource(const struct schema_resource *resource,
                           struct pl_json_out *out)
{
	pl_json_out_object(out);
	discovery_write_str(out, "resource", resource->plural);
	write_kind(out, resource->group, resource->version, resource->kind);
	discovery_write_str(out, "scope",
	                    resource->namespaced ? "Namespaced" : "Cluster");
	discovery_write_str(out, "singularResource", resource->singular);
	discovery_write_verbs(out, resource->verbs);
	discovery_write_list(out, "shortNames", resource->short_names);
	discovery_write_list(out, "categories", resource->categories);
	write_subresources(resource, out);
	pl_json_out_end(out);
}

static void write_version(const struct discovery *discovery, size_t at,
                          struct pl_json_out *out)
{
	size_t end = discovery_next_version(discovery, at);

	pl_json_out_object(out);
	discovery_write_str(out, "version", discovery->resources[at].version);
	pl_json_out_name(out, "resources");
	pl_json_out_array(out);
	for (; at < end; at++)
		write_resource(&discovery->resources[at], out);
	pl_json_out_end(out);
	discovery_write_str(out, "freshness", "Current");
	pl_json_out_end(out);
}

static void write_group(const struct discovery *discovery, size_t at,
                        struct pl_json_out *out)
{
	size_t end = discovery_next_group(discovery, at);

	pl_json_out_object(out);
	pl_json_out_name(out, "metadata");
	pl_json_out_object(out);
	if (discovery->resources[at].group[0] != 0)
		discovery_write_str(out, "name", discovery->resources[at].group);
	pl_json_out_name(out, "creationTimestamp");
	pl_json_out_null(out);
	pl_json_out_end(out);
	pl_json_out_name(out, "versions");
	pl_json_out_array(out);
	for (; at < end; at = discovery_next_version(discovery, at))
		write_version(discovery, at, out);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

void discovery_aggregated(const struct discovery *discovery, bool core, bool beta,
                          struct pl_json_out *out)
{
	pl_json_out_object(out);
	discovery_write_str(out, "kind", "APIGroupDiscoveryList");
	discovery_write_str(out, "apiVersion",
	                    beta ? "apidiscovery.k8s.io/v2beta1"
	                         : "apidiscovery.k8s.io/v2");
	pl_json_out_name(out, "metadata");
	pl_json_out_object(out);
	pl_json_out_end(out);
	pl_json_out_name(out, "items");
	pl_json_out_array(out);
	for (size_t at = 0; at < discovery->count;
	     at = discovery_next_group(discovery, at))
		if ((discovery->resources[at].group[0] == 0) == core)
			write_group(discovery, at, out);
	pl_json_out_end(out);
	pl_json_out_end(out);
}
