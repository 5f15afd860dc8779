/* Sim options are about the pods on simulated machines: options of placet sim-
 * cluster, and of placet up, which hands them on. */
#ifndef COORD_CLI_UP_SIM_OPTS_H
#define COORD_CLI_UP_SIM_OPTS_H

#include "coord/up/sim_member.h"

enum sim_opt { SIM_LIFETIME, SIM_ENDS, SIM_FAIL, SIM_GRACE, SIM_OPT_COUNT };

enum { SIM_GRACE_MS = 1000 }; /* the default */

/* The option as it stands on a command line. */
static inline const char *sim_opt_word(enum sim_opt opt)
{
	static const char *const word[] = {"--lifetime", "--ends", "--fail", "--grace"};

	return word[opt];
}

/* PL_INVALID, PL_LIMIT: with the option's name. */
PL_NODISCARD enum pl_code sim_opt_set(enum sim_opt opt, const char *arg,
                                      struct sim_member_opts *out, struct pl_err *err);

/* Rows of getopt_long's table; first: the value of SIM_LIFETIME there. */
#define SIM_OPTS_OWN(first)                                            \
	{"lifetime", required_argument, NULL, (first) + SIM_LIFETIME}, \
		{"ends", required_argument, NULL, (first) + SIM_ENDS}, \
		{"fail", required_argument, NULL, (first) + SIM_FAIL}, \
	{                                                              \
		"grace", required_argument, NULL, (first) + SIM_GRACE  \
	}

#define SIM_OPTS_HELP                                                                      \
	"  --lifetime DURATION    average time a pod runs: half of it to one and a\n"      \
	"                         half of it (default 0: pods do not end by themselves)\n" \
	"  --ends N/s             that many pods of a cluster end by themselves, the\n"    \
	"                         longest running first (also N/m, N/h;\n"                 \
	"                         default 0)\n"                                            \
	"  --fail PERCENT         of the pods that end by themselves fail (default 0)\n"   \
	"  --grace DURATION       until a terminating pod has ended (default 1s)\n"

#endif
