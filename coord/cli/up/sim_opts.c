#include "coord/cli/up/sim_opts.h"

#include "store/base/duration.h"
#include "store/base/num.h"

enum { TIME_MAX_MS = 86400000 };

static enum pl_code parse_time(const char *arg, uint64_t *out, struct pl_err *err)
{
	return pl_duration_ms(pl_span_str(arg), 0, TIME_MAX_MS, out, err);
}

static enum pl_code parse_percent(const char *arg, uint32_t *out, struct pl_err *err)
{
	uint64_t percent;
	enum pl_code code = pl_num_u64_in(pl_span_str(arg), 0, 100, &percent, err);

	if (code == PL_OK)
		*out = (uint32_t)percent;
	return code;
}

static enum pl_code parse_value(enum sim_opt opt, const char *arg,
                                struct sim_member_opts *out, struct pl_err *err)
{
	switch (opt) {
	case SIM_LIFETIME:
		return parse_time(arg, &out->lifetime_ms, err);
	case SIM_ENDS:
		return sim_rate_parse(pl_span_str(arg), &out->ends, err);
	case SIM_FAIL:
		return parse_percent(arg, &out->fail_percent, err);
	case SIM_GRACE:
		return parse_time(arg, &out->grace_ms, err);
	case SIM_OPT_COUNT:
		break;
	}
	PL_UNREACHABLE("an option of what runs");
}

enum pl_code sim_opt_set(enum sim_opt opt, const char *arg, struct sim_member_opts *out,
                         struct pl_err *err)
{
	enum pl_code code = parse_value(opt, arg, out, err);

	return code == PL_OK ? PL_OK : pl_err_wrap(err, "%s", sim_opt_word(opt));
}
