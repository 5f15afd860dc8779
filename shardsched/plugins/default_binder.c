/* DefaultBinder: binding is the commit, which is the caller's, so every pod may be
 * bound. */
#include "shardsched/plugins/plugins.h"

static enum verdict_code bind_pod(const struct plugin_call *call, uint32_t slot,
                                  struct verdict *verdict)
{
	(void)call;
	(void)slot;
	(void)verdict;
	return VERDICT_SUCCESS;
}

const struct plugin plugin_default_binder = {
	.name = "DefaultBinder",
	.bind = bind_pod,
};
