/*
 * The options of placetd and where each value comes from. Flags win over the
 * environment, the environment over files (a later file over an earlier one), files
 * over the defaults.
 *
 * One table (options_table.c) lists all options. Flag, variable and field of a file
 * are spelled from one name: --log-format, PLACET_LOG_FORMAT, "log_format". Every
 * value is checked where it is read, even if another source then wins.
 */
#ifndef COORD_DAEMON_OPTIONS_H
#define COORD_DAEMON_OPTIONS_H

#include <stdio.h>

#include "coord/connect/store_opts.h"
#include "store/base/arena.h"
#include "store/base/json_out.h"
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
	DAEMON_API_LISTEN,
	DAEMON_API_INSECURE,
	DAEMON_API_CERT,
	DAEMON_API_KEY,
	DAEMON_API_CLIENT_CA,
	DAEMON_API_CLIENT_CRL,
	DAEMON_API_TOKEN_FILE,
	DAEMON_API_JWT_ISSUER,
	DAEMON_API_JWT_AUDIENCE,
	DAEMON_API_JWT_JWKS,
	DAEMON_API_JWT_USER_CLAIM,
	DAEMON_API_JWT_GROUPS_CLAIM,
	DAEMON_API_JWT_USER_PREFIX,
	DAEMON_API_JWT_GROUPS_PREFIX,
	DAEMON_AUDIT_LOG,
	DAEMON_AUDIT_LOG_SIZE,
	DAEMON_AUDIT_LOG_KEEP,
	DAEMON_AUDIT_READS,
	DAEMON_METRICS_LISTEN,
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
	DAEMON_SHOW_METRICS,
};

enum { DAEMON_API_HOST_SIZE = 64 };

/* How the process serves the API. Texts are NULL where nothing was given. */
struct daemon_api_opts {
	char host[DAEMON_API_HOST_SIZE]; /* an address; empty: it does not */
	uint16_t port;                   /* 0: the kernel chooses */
	bool loopback;                   /* host is on this machine only */
	const char *insecure;   /* the address to listen at, whatever is lacking */
	const char *cert, *key; /* NULL: clear text */
	const char *client_ca, *client_crl;
	const char *token_file;
	const char *jwt_issuer, *jwt_audience, *jwt_jwks;
	const char *jwt_user_claim, *jwt_groups_claim;
	const char *jwt_user_prefix, *jwt_groups_prefix; /* "": none */
	const char *audit_log;
	uint32_t audit_log_mib, audit_log_keep;
	bool audit_reads;
};

/* Where the process shows its metrics without the API. */
struct daemon_listen {
	char host[DAEMON_API_HOST_SIZE]; /* an address; empty: it does not */
	uint16_t port;                   /* 0: the kernel chooses */
};

/* The strings live as long as the options. */
struct daemon_opts {
	struct store_opts store;
	uint32_t shards;
	const char *name;
	uint32_t weight; /* thousandths */
	const char *zone;
	const char *api;
	struct daemon_api_opts serve;
	struct daemon_listen metrics;
	int64_t ttl_s;
	uint32_t partitions; /* 0: as many as the store has, or the default */
	const char *prefix;  /* "": no prefix */
	uint64_t drain_timeout_ms;
	bool scheduling;
	enum pl_log_format log_format;
	enum pl_log_level log_level;
	enum daemon_action action;
	const char *text[DAEMON_OPTION_COUNT];   /* the value as it was written */
	const char *source[DAEMON_OPTION_COUNT]; /* "default", "--ttl", a file, ... */
	struct pl_arena arena;
};

/* environment is an environ; the default name is made of hostname. *out needs
 * daemon_opts_done() even after a failure. The error names the source of the value. */
PL_NODISCARD enum pl_code daemon_opts_read(struct daemon_opts *out, int argc, char **argv,
                                           char **environment, const char *hostname,
                                           struct pl_err *err);
void daemon_opts_done(struct daemon_opts *opts);

void daemon_opts_help(FILE *to);
/* Prints one line an option: its value and its source. */
void daemon_opts_show(const struct daemon_opts *opts, FILE *to);

/* Writes an object: of each option its value and its source. Secrets are files, of which
 * the paths are shown. */
void daemon_opts_json(const struct daemon_opts *opts, struct pl_json_out *out);

/* Makes a name for shards from a host name: characters that a name can not have become
 * '-'. */
void daemon_name_from(const char *hostname, char out[DAEMON_NAME_SIZE]);

#endif
