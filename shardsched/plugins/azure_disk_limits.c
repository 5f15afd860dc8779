/* AzureDiskLimits: 16 Azure disks on a node. */
#include "shardsched/plugins/disk_limits.h"

enum { AZURE_DISK_MOST = 16 };

static int64_t default_limit(struct pl_span machine)
{
	(void)machine;
	return AZURE_DISK_MOST;
}

static const struct disk_rule rule = {
	.kind = ATTACH_AZURE,
	.draft = DRAFT_AZURE,
	.scalar = "attachable-volumes-azure-disk",
	.limit = default_limit,
};

DISK_LIMITS_ROW(plugin_azure_disk_limits, "AzureDiskLimits", rule);
