#include "coord/service/pods/pod_info.h"

enum pl_code pod_info_state(const struct pod_info *info, struct pl_arena *arena,
                            struct pod_state *out, const char **phase, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	*out = (struct pod_state){0};
	*phase = POD_PHASE_MALFORMED;
	if (!info->has_spec)
		return pl_err_set(err, PL_INVALID, "a state without a spec");
	if (info->has_state)
		code = state_parse(info->state, arena, out, err);
	if (code == PL_OK)
		*phase = state_phase_word(info->has_state ? out->phase : STATE_PENDING);
	return code;
}
