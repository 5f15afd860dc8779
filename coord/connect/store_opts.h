/*
 * Store options: how a program reaches its etcd, from its environment and its command
 * line (a flag wins over the environment). Commands of placet and placetd share them.
 *
 * Invariant: the strings are borrowed from the environment and the arguments, but the
 * password, which is the struct's own and is wiped by store_opts_done.
 */
#ifndef COORD_CONNECT_STORE_OPTS_H
#define COORD_CONNECT_STORE_OPTS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/etcd/etcd.h"

enum { STORE_SECRET_MAX = 512 };

struct store_opts {
	const char *endpoints; /* URLs, separated by commas */
	bool by_default;       /* neither a flag nor the environment names endpoints */
	bool flagged;          /* a flag names them */
	struct tls_files tls;
	const char *user; /* NULL: no authentication by password */
	char password[STORE_SECRET_MAX];
	uint64_t timeout_ms; /* of each request */
};

/* Values for getopt_long; a command numbers its own options outside of this range. */
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
/* Help for --timeout, left out by commands that have a --timeout of their own. */
extern const char store_opts_timeout_help[];

/* Reads PLACET_ENDPOINTS, PLACET_CACERT, PLACET_CERT, PLACET_KEY, PLACET_USER and
 * PLACET_PASSWORD. */
PL_NODISCARD enum pl_code store_opts_init(struct store_opts *opts, struct pl_err *err);

/* opt is what getopt_long returned, STORE_OPT_FIRST to STORE_OPT_LAST. */
PL_NODISCARD enum pl_code store_opts_set(struct store_opts *opts, int opt,
                                         const char *arg, struct pl_err *err);

/* Borrows from opts. */
struct etcd_opts store_opts_etcd(const struct store_opts *opts);

/* When the default endpoint can not be reached, err also says how to name another one.
 * Other errors stay as they are. */
void store_opts_add_advice(const struct store_opts *opts, struct pl_err *err);

/* Wipes the password. */
void store_opts_done(struct store_opts *opts);

#endif
