#include "coord/api/discovery/discovery.h"

#include <stdio.h>

#include "coord/api/discovery/discovery_int.h"
#include "store/base/buf.h"

#define KUBERNETES_MAJOR "1"
#define KUBERNETES_MINOR "32"

/* -- version ------------------------------------------------------------------------------ */

#if defined(__x86_64__)
#define PLATFORM "linux/amd64"
#elif defined(__aarch64__)
#define PLATFORM "linux/arm64"
#else
#define PLATFORM "linux/unknown"
#endif

void discovery_version(const struct discovery *discovery, struct pl_json_out *out)
{
	char version[128];

	(void)snprintf(version, sizeof version,
	               "v" KUBERNETES_MAJOR "." KUBERNETES_MINOR ".0+placet-%s",
	               discovery->version);
	pl_json_out_object(out);
	discovery_write_str(out, "major", KUBERNETES_MAJOR);
	discovery_write_str(out, "minor", KUBERNETES_MINOR);
	discovery_write_str(out, "gitVersion", version);
	discovery_write_str(out, "gitCommit", "");
	discovery_write_str(out, "gitTreeState", "");
	discovery_write_str(out, "buildDate", "");
	discovery_write_str(out, "goVersion", "");
	discovery_write_str(out, "compiler", "cc");
	discovery_write_str(out, "platform", PLATFORM);
	pl_json_out_end(out);
}

/* -- versions and groups ------------------------------------------------------------------ */

static void write_address(const struct discovery *discovery, struct pl_json_out *out)
{
	pl_json_out_name(out, "serverAddressByClientCIDRs");
	pl_json_out_array(out);
	pl_json_out_object(out);
	discovery_write_str(out, "clientCIDR", "0.0.0.0/0");
	discovery_write_str(out, "serverAddress", discovery->address);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

void discovery_core(const struct discovery *discovery, struct pl_json_out *out)
{
	pl_json_out_object(out);
	discovery_write_str(out, "kind", "APIVersions");
	discovery_write_list(out, "versions", (const char *const[]){"v1", NULL});
	write_address(discovery, out);
	pl_json_out_end(out);
}

static void write_version(const struct schema_resource *resource, struct pl_json_out *out)
{
	char text[128];

	pl_json_out_object(out);
	discovery_write_str(out, "groupVersion", schema_api_version(resource, text));
	discovery_write_str(out, "version", resource->version);
	pl_json_out_end(out);
}

/* The members of a group whose first resource is at; the first version is preferred. */
static void write_group(const struct discovery *discovery, size_t at,
                        struct pl_json_out *out)
{
	size_t end = discovery_next_group(discovery, at), first = at;

	discovery_write_str(out, "name", discovery->resources[at].group);
	pl_json_out_name(out, "versions");
	pl_json_out_array(out);
	for (; at < end; at = discovery_next_version(discovery, at))
		write_version(&discovery->resources[at], out);
	pl_json_out_end(out);
	pl_json_out_name(out, "preferredVersion");
	write_version(&discovery->resources[first], out);
}

static bool is_core(const struct discovery *discovery, size_t at)
{
	return discovery->resources[at].group[0] == 0;
}

void discovery_groups(const struct discovery *discovery, struct pl_json_out *out)
{
	pl_json_out_object(out);
	discovery_write_str(out, "kind", "APIGroupList");
	discovery_write_str(out, "apiVersion", "v1");
	pl_json_out_name(out, "groups");
	pl_json_out_array(out);
	for (size_t at = 0; at < discovery->count;
	     at = discovery_next_group(discovery, at)) {
		if (is_core(discovery, at))
			continue;
		pl_json_out_object(out);
		write_group(discovery, at, out);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
	pl_json_out_end(out);
}

bool discovery_group(const struct discovery *discovery, struct pl_span group,
                     struct pl_json_out *out)
{
	size_t at = 0;

	while (at < discovery->count &&
	       !pl_span_eq(pl_span_str(discovery->resources[at].group), group))
		at = discovery_next_group(discovery, at);
	if (at == discovery->count || is_core(discovery, at))
		return false;
	pl_json_out_object(out);
	discovery_write_str(out, "kind", "APIGroup");
	discovery_write_str(out, "apiVersion", "v1");
	write_group(discovery, at, out);
	pl_json_out_end(out);
	return true;
}

/* -- resources ---------------------------------------------------------------------------- */

static void write_resource(const struct schema_resource *resource,
                           struct pl_json_out *out)
{
	pl_json_out_object(out);
	discovery_write_str(out, "name", resource->plural);
	discovery_write_str(out, "singularName", resource->singular);
	pl_json_out_name(out, "namespaced");
	pl_json_out_bool(out, resource->namespaced);
	discovery_write_str(out, "kind", resource->kind);
	discovery_write_verbs(out, resource->verbs);
	discovery_write_list(out, "shortNames", resource->short_names);
	discovery_write_list(out, "categories", resource->categories);
	pl_json_out_end(out);
}

static void write_subresource(const struct schema_resource *resource,
                              const struct discovery_subresource *sub,
                              struct pl_json_out *out)
{
	char name[128];
	bool foreign = sub->kind != NULL && strcmp(sub->group, resource->group) != 0;

	(void)snprintf(name, sizeof name, "%s/%s", resource->plural, sub->name);
	pl_json_out_object(out);
	discovery_write_str(out, "name", name);
	discovery_write_str(out, "singularName", "");
	pl_json_out_name(out, "namespaced");
	pl_json_out_bool(out, resource->namespaced);
	if (foreign) {
		discovery_write_str(out, "group", sub->group);
		discovery_write_str(out, "version", sub->version);
	}
	discovery_write_str(out, "kind", sub->kind == NULL ? resource->kind : sub->kind);
	discovery_write_list(out, "verbs", sub->verbs);
	pl_json_out_end(out);
}

static void write_with_subresources(const struct schema_resource *resource,
                                    struct pl_json_out *out)
{
	size_t count;
	const struct discovery_subresource *subs = discovery_subresources(&count);

	write_resource(resource, out);
	for (size_t i = 0; i < count; i++)
		if ((resource->subresources & subs[i].flag) != 0)
			write_subresource(resource, &subs[i], out);
}

bool discovery_resources(const struct discovery *discovery, struct pl_span group,
                         struct pl_span version, struct pl_json_out *out)
{
	const struct schema_resource *at = discovery->resources;
	const struct schema_resource *end = at + discovery->count, *last;
	char text[128];

	while (at < end && (!pl_span_eq(pl_span_str(at->group), group) ||
	                    !pl_span_eq(pl_span_str(at->version), version)))
		at++;
	if (at == end)
		return false;
	last = discovery->resources +
	       discovery_next_version(discovery, (size_t)(at - discovery->resources));
	pl_json_out_object(out);
	discovery_write_str(out, "kind", "APIResourceList");
	if (group.len > 0)
		discovery_write_str(out, "apiVersion", "v1");
	discovery_write_str(out, "groupVersion", schema_api_version(at, text));
	pl_json_out_name(out, "resources");
	pl_json_out_array(out);
	for (; at < last; at++)
		write_with_subresources(at, out);
	pl_json_out_end(out);
	pl_json_out_end(out);
	return true;
}

/* -- paths -------------------------------------------------------------------------------- */

static void write_path(struct pl_json_out *out, const struct schema_resource *resource,
                       bool version)
{
	char text[256], name[128];

	(void)snprintf(text, sizeof text, "/apis/%s",
	               version ? schema_api_version(resource, name) : resource->group);
	pl_json_out_str(out, text);
}

void discovery_paths(const struct discovery *discovery, const char *const *more,
                     struct pl_json_out *out)
{
	pl_json_out_object(out);
	pl_json_out_name(out, "paths");
	pl_json_out_array(out);
	pl_json_out_str(out, "/api");
	pl_json_out_str(out, "/api/v1");
	pl_json_out_str(out, "/apis");
	for (size_t at = 0; at < discovery->count;
	     at = discovery_next_group(discovery, at)) {
		if (is_core(discovery, at))
			continue;
		write_path(out, &discovery->resources[at], false);
		for (size_t v = at; v < discovery_next_group(discovery, at);
		     v = discovery_next_version(discovery, v))
			write_path(out, &discovery->resources[v], true);
	}
	for (; *more != NULL; more++)
		pl_json_out_str(out, *more);
	pl_json_out_str(out, "/version");
	pl_json_out_end(out);
	pl_json_out_end(out);
}
