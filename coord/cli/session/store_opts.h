/*
 * Where the store is and who we are to it: the options that every command which
 * talks to etcd has in common. A flag wins over the environment.
 */
#ifndef COORD_CLI_SESSION_STORE_OPTS_H
#define COORD_CLI_SESSION_STORE_OPTS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/etcd/etcd.h"

enum { STORE_SECRET_MAX = 512 };

struct store_opts {
	const char *endpoints;
	bool by_default; /* nobody named them */
	struct tls_files tls;
	const char *user;
	char password[STORE_SECRET_MAX];
	uint64_t timeout_ms; /* of each step */
};

/* For getopt_long: the command's own options go behind these. */
enum { STORE_OPT_FIRST = 1000, STORE_OPT_LAST = 1015 };
#define STORE_OPTS_LONG                                                          \
	{"endpoints", required_argument, NULL, STORE_OPT_FIRST},                 \
		{"cacert", required_argument, NULL, STORE_OPT_FIRST + 1},        \
		{"cert", required_argument, NULL, STORE_OPT_FIRST + 2},          \
		{"key", required_argument, NULL, STORE_OPT_FIRST + 3},           \
		{"server-name", required_argument, NULL, STORE_OPT_FIRST + 4},   \
		{"user", required_argument, NULL, STORE_OPT_FIRST + 5},          \
		{"password-file", required_argument, NULL, STORE_OPT_FIRST + 6}, \
	{                                                                        \
		"timeout", required_argument, NULL, STORE_OPT_FIRST + 7          \
	}

extern const char store_opts_help[];
/* Of the last one of them, for commands that have no --timeout of their own. */
extern const char store_opts_timeout_help[];

/* From the environment: PLACET_ENDPOINTS, PLACET_CACERT, PLACET_CERT,
 * PLACET_KEY, PLACET_USER, PLACET_PASSWORD. */
PL_NODISCARD enum pl_code store_opts_init(struct store_opts *opts, struct pl_err *err);

/* opt is what getopt_long returned, STORE_OPT_FIRST to STORE_OPT_LAST. */
PL_NODISCARD enum pl_code store_opts_set(struct store_opts *opts, int opt,
                                         const char *arg, struct pl_err *err);

struct etcd_opts store_opts_etcd(const struct store_opts *opts);

/* To an error of a store that was not named: that it can be. Other errors stay. */
void store_opts_add_advice(const struct store_opts *opts, struct pl_err *err);

/* Wipes the password. */
void store_opts_done(struct store_opts *opts);

#endif
