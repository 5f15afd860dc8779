/* Internals of the options, shared by options.c, options_source.c, options_show.c and
 * options_table.c. */
#ifndef COORD_DAEMON_OPTIONS_INT_H
#define COORD_DAEMON_OPTIONS_INT_H

#include "coord/daemon/options.h"

enum { OPTION_TEXT_MAX = 4096 };

struct option_def {
	const char *name;     /* name of the flag */
	const char *variable; /* NULL: PLACET_ and the name */
	const char *value;    /* placeholder for the value in --help */
	const char *normal;   /* the default as text; NULL: none */
	const char *help;     /* lines of --help; the first one stands behind the flag */
	/* Checks and sets the value. text stays valid. PL_INVALID says what the value
	 * must be. */
	enum pl_code (*parse)(struct daemon_opts *opts, const char *text,
	                      struct pl_err *err);
};

extern const struct option_def option_table[DAEMON_OPTION_COUNT];

/* "PLACET_LOG_FORMAT" and "log_format". Both return out. */
const char *option_variable(enum daemon_option option, char out[64]);
const char *option_field(enum daemon_option option, char out[64]);

/* Copies text and source, checks the value and sets it. The caller adds to the error
 * where the value stands. */
PL_NODISCARD enum pl_code option_apply(struct daemon_opts *opts,
                                       enum daemon_option option, struct pl_span text,
                                       const char *source, struct pl_err *err);

PL_NODISCARD enum pl_code options_from_file(struct daemon_opts *opts, const char *path,
                                            struct pl_err *err);
PL_NODISCARD enum pl_code options_from_environment(struct daemon_opts *opts,
                                                   char **environment,
                                                   struct pl_err *err);

#endif
