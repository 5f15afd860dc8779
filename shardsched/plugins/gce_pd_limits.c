/* GCEPDLimits: 16 Google persistent disks on a node. */
#include "shardsched/plugins/disk_limits.h"

enum { GCE_PD_MOST = 16 };

static int64_t default_limit(struct pl_span machine)
{
	(void)machine;
	return GCE_PD_MOST;
}

static const struct disk_rule rule = {
	.kind = ATTACH_GCE,
	.draft = DRAFT_GCE,
	.scalar = "attachable-volumes-gce-pd",
	.limit = default_limit,
};

DISK_LIMITS_ROW(plugin_gce_pd_limits, "GCEPDLimits", rule);
