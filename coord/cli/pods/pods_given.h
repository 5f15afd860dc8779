/* Pods that a command line means: names, or whatever files speak of. */
#ifndef COORD_CLI_PODS_GIVEN_H
#define COORD_CLI_PODS_GIVEN_H

#include "coord/cli/input/intake.h"
#include "coord/cli/reach/options.h"

enum { PODS_GIVEN_FILE = 'f', PODS_GIVEN_SPACE = 'n' };

#define PODS_GIVEN_OPTIONS                                             \
	{"filename", required_argument, NULL, PODS_GIVEN_FILE},        \
	{                                                              \
		"namespace", required_argument, NULL, PODS_GIVEN_SPACE \
	}

struct pods_given {
	struct files files;
	const char *space; /* NULL: not said */
	enum intake_fields fields;
	bool once; /* as of intake.h */
};

/* Of one of those options. */
PL_NODISCARD enum pl_code pods_given_take(struct pods_given *given, int opt,
                                          const char *arg, struct pl_err *err);

/* "shop/web-0", or "web-0" in the namespace that was said, or "default". */
PL_NODISCARD enum pl_code pods_given_name(const struct pods_given *given, const char *arg,
                                          struct pl_span *space, struct pl_span *name,
                                          struct pl_err *err);

/* Whether "shop/web-0" is of the namespace that was said; of any, if none was. */
bool pods_given_is_of(const struct pods_given *given, struct pl_span key);

/* Opens an intake of the files and checks it all, saying what is refused (the first ones)
 * what is passed over, and which fields are not known. PL_INVALID: something is refused,
 * and keep_going is not set; or there is no object at all. On PL_OK the intake is to be
 * closed. */
PL_NODISCARD enum pl_code pods_given_intake(const struct pods_given *given,
                                            uint32_t partitions, bool keep_going,
                                            struct intake *out, struct pl_err *err);

#endif
