/* EBSLimits: 39 EBS volumes on a node, 25 on machines of the Nitro families. */
#include "shardsched/plugins/disk_limits.h"

enum { EBS_MOST = 39, EBS_NITRO_MOST = 25 };

static bool contains(struct pl_span text, struct pl_span part)
{
	for (size_t at = 0; at + part.len <= text.len; at++)
		if (pl_span_starts(pl_span(text.at + at, text.len - at), part))
			return true;
	return false;
}

/* c5..., m5..., r5..., and names that contain t3 or z1d. */
static bool is_nitro(struct pl_span machine)
{
	if (machine.len >= 2 && machine.at[1] == '5' &&
	    (machine.at[0] == 'c' || machine.at[0] == 'm' || machine.at[0] == 'r'))
		return true;
	return contains(machine, PL_SPAN_LIT("t3")) ||
	       contains(machine, PL_SPAN_LIT("z1d"));
}

static int64_t default_limit(struct pl_span machine)
{
	return is_nitro(machine) ? EBS_NITRO_MOST : EBS_MOST;
}

static const struct disk_rule rule = {
	.kind = ATTACH_AWS,
	.draft = DRAFT_AWS,
	.scalar = "attachable-volumes-aws-ebs",
	.limit = default_limit,
};

DISK_LIMITS_ROW(plugin_ebs_limits, "EBSLimits", rule);
