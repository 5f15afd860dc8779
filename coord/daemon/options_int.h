/* Inside the options of placetd. */
#ifndef COORD_DAEMON_OPTIONS_INT_H
#define COORD_DAEMON_OPTIONS_INT_H

#include "coord/daemon/options.h"

enum { OPTION_TEXT_MAX = 4096 };

struct option_def {
	const char *name;     /* of the flag */
	const char *variable; /* NULL: PLACET_ and the name */
	const char *value;    /* what help calls it */
	const char *normal;   /* the default as text; NULL: none */
	const char *help;     /* lines, the first behind the flag */
	/* text stays. PL_INVALID with what it must be. */
	enum pl_code (*parse)(struct daemon_opts *opts, const char *text,
	                      struct pl_err *err);
};

extern const struct option_def option_table[DAEMON_OPTION_COUNT];

/* "PLACET_LOG_FORMAT", "log_format". Both give out. */
const char *option_variable(enum daemon_option option, char out[64]);
const char *option_field(enum daemon_option option, char out[64]);

/* Copies text and source, checks, and remembers both. The error has no place yet. */
PL_NODISCARD enum pl_code option_apply(struct daemon_opts *opts,
                                       enum daemon_option option, struct pl_span text,
                                       const char *source, struct pl_err *err);

PL_NODISCARD enum pl_code options_from_file(struct daemon_opts *opts, const char *path,
                                            struct pl_err *err);
PL_NODISCARD enum pl_code options_from_environment(struct daemon_opts *opts,
                                                   char **environment,
                                                   struct pl_err *err);

#endif
