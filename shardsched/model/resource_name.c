/* Which sort of resource a name is of. */
#include "shardsched/model/resources.h"
#include "shardsched/model/text.h"

static bool is_one_of(struct pl_span name, const char *const *words)
{
	for (; *words != NULL; words++)
		if (pl_span_eq(name, pl_span_str(*words)))
			return true;
	return false;
}

static bool has_domain(struct pl_span name)
{
	return text_has(name, PL_SPAN_LIT("/"));
}

static bool is_prefixed_native(struct pl_span name)
{
	return text_has(name, PL_SPAN_LIT("kubernetes.io/"));
}

bool resource_is_native(struct pl_span name)
{
	return !has_domain(name) || is_prefixed_native(name);
}

/* The name with the prefix "requests." must still be a name that a quota can have. */
bool resource_is_extended(struct pl_span name)
{
	enum { PREFIX_MAX = 253 - 9 };
	const uint8_t *slash;

	if (resource_is_native(name) || pl_span_starts(name, PL_SPAN_LIT("requests.")) ||
	    text_key(name) != 0)
		return false;
	slash = memchr(name.at, '/', name.len);
	return slash - name.at <= PREFIX_MAX;
}

bool resource_is_huge_pages(struct pl_span name)
{
	return pl_span_starts(name, PL_SPAN_LIT("hugepages-"));
}

bool resource_is_scalar(struct pl_span name)
{
	return resource_is_huge_pages(name) || is_prefixed_native(name) ||
	       pl_span_starts(name, PL_SPAN_LIT("attachable-volumes-")) ||
	       resource_is_extended(name);
}

bool resource_is_whole(struct pl_span name)
{
	static const char *const words[] = {"pods",
	                                    "resourcequotas",
	                                    "services",
	                                    "replicationcontrollers",
	                                    "secrets",
	                                    "configmaps",
	                                    "persistentvolumeclaims",
	                                    "services.nodeports",
	                                    "services.loadbalancers",
	                                    NULL};

	return is_one_of(name, words) || resource_is_extended(name);
}

bool resource_is_container(struct pl_span name)
{
	static const char *const words[] = {"cpu", "memory", "ephemeral-storage", NULL};

	return is_one_of(name, words) || resource_is_huge_pages(name);
}

bool resource_is_standard(struct pl_span name)
{
	static const char *const words[] = {"cpu",
	                                    "memory",
	                                    "ephemeral-storage",
	                                    "storage",
	                                    "requests.cpu",
	                                    "requests.memory",
	                                    "requests.ephemeral-storage",
	                                    "requests.storage",
	                                    "limits.cpu",
	                                    "limits.memory",
	                                    "limits.ephemeral-storage",
	                                    "pods",
	                                    "resourcequotas",
	                                    "services",
	                                    "replicationcontrollers",
	                                    "secrets",
	                                    "configmaps",
	                                    "persistentvolumeclaims",
	                                    "services.nodeports",
	                                    "services.loadbalancers",
	                                    NULL};

	return is_one_of(name, words) || resource_is_huge_pages(name) ||
	       pl_span_starts(name, PL_SPAN_LIT("requests.hugepages-"));
}

bool resource_may_overcommit(struct pl_span name)
{
	return resource_is_native(name) && !resource_is_huge_pages(name);
}
