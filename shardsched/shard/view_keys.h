/* The keys of each view of sched.h, and what a driver calls the view. */
#ifndef SHARDSCHED_SHARD_VIEW_KEYS_H
#define SHARDSCHED_SHARD_VIEW_KEYS_H

#include "shardsched/shard/sched.h"
#include "store/kv/keys.h"

#define SCHED_VIEW_PREFIX(kind, group, resource, in) \
	[SCHED_OF_##kind] = "/objects/" group "/" resource "/",

static inline struct kv_keys sched_view_keys(enum sched_view view)
{
	static const char *const prefixes[SCHED_VIEWS] = {
		[SCHED_DIGESTS] = "/digests/",
		[SCHED_GANGS] = "/gangs/",
		[SCHED_BUDGETS] = "/budgets/",
		CLUSTER_FOLLOWED_MAP(SCHED_VIEW_PREFIX)};

	if (view == SCHED_FLEET)
		return kv_range(PL_SPAN_LIT("/alloc/"), PL_SPAN_LIT("/nodes0"));
	if (view == SCHED_OF_NAMESPACE)
		return kv_range(PL_SPAN_LIT("/objects/core/namespaces"),
		                PL_SPAN_LIT("/objects/core/namespaces0"));
	return kv_prefix(pl_span_str(prefixes[view]));
}

#define SCHED_VIEW_NAME(kind, group, resource, in) [SCHED_OF_##kind] = (resource),

static inline const char *sched_view_name(enum sched_view view)
{
	static const char *const names[SCHED_VIEWS] = {
		[SCHED_FLEET] = "view",
		[SCHED_DIGESTS] = "digests",
		[SCHED_GANGS] = "gangs",
		[SCHED_BUDGETS] = "budgets",
		CLUSTER_FOLLOWED_MAP(SCHED_VIEW_NAME)};

	return names[view];
}

#endif
