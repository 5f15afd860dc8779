/*
 * What placetd was told, by whom: flags win over the environment, that over files
 * (a later one over an earlier), those over the defaults.
 *
 * One table (options_table.c) says what there is; flags, variables and fields of a
 * file are spelled from the same name: --log-format, PLACET_LOG_FORMAT, "log_format".
 * Every value is checked where it is read, also one that another then wins over.
 */
#ifndef COORD_DAEMON_OPTIONS_H
#define COORD_DAEMON_OPTIONS_H

#include <stdio.h>

#include "coord/cli/session/store_opts.h"
#include "store/base/arena.h"
#include "store/base/log.h"

enum {
	DAEMON_SHARDS_MAX = 256,
	DAEMON_NAME_SIZE = 254,
	DAEMON_PREFIX_MAX = 128,
	DAEMON_FILES_MAX = 16,
	DAEMON_SOURCE_SIZE = 512,
};

enum daemon_option {
	DAEMON_SHARDS,
	DAEMON_ETCD,
	DAEMON_NAME,
	DAEMON_WEIGHT,
	DAEMON_ZONE,
	DAEMON_API_ADDRESS,
	DAEMON_TTL,
	DAEMON_PARTITIONS,
	DAEMON_PREFIX,
	DAEMON_DRAIN_TIMEOUT,
	DAEMON_SCHEDULING,
	DAEMON_LOG_FORMAT,
	DAEMON_LOG_LEVEL,
	DAEMON_CACERT,
	DAEMON_CERT,
	DAEMON_KEY,
	DAEMON_SERVER_NAME,
	DAEMON_USER,
	DAEMON_PASSWORD_FILE,
	DAEMON_OPTION_COUNT,
};

enum daemon_action {
	DAEMON_RUN,
	DAEMON_SHOW_HELP,
	DAEMON_SHOW_VERSION,
	DAEMON_SHOW_CONFIG,
};

/* Strings live as long as it does. */
struct daemon_opts {
	struct store_opts store;
	uint32_t shards;
	const char *name;
	uint32_t weight; /* thousandths */
	const char *zone;
	const char *api;
	int64_t ttl_s;
	uint32_t partitions; /* 0: what there is, or the default */
	const char *prefix;  /* "": none */
	uint64_t drain_timeout_ms;
	bool scheduling;
	enum pl_log_format log_format;
	enum pl_log_level log_level;
	enum daemon_action action;
	const char *text[DAEMON_OPTION_COUNT];   /* as it was written */
	const char *source[DAEMON_OPTION_COUNT]; /* "default", "--ttl", a file, ... */
	struct pl_arena arena;
};

/* environment: as environ. hostname: what the default name is made of. *out needs
 * daemon_opts_done() also after a failure, whose message says where it stands. */
PL_NODISCARD enum pl_code daemon_opts_read(struct daemon_opts *out, int argc, char **argv,
                                           char **environment, const char *hostname,
                                           struct pl_err *err);
void daemon_opts_done(struct daemon_opts *opts);

void daemon_opts_help(FILE *to);
/* A line an option: its value, and who said so. */
void daemon_opts_show(const struct daemon_opts *opts, FILE *to);

/* A name for shards from that of a host: what may not be in one becomes '-'. */
void daemon_name_from(const char *hostname, char out[DAEMON_NAME_SIZE]);

#endif
