/*
 * API options: how a command reaches the Kubernetes API of a Placet, instead of the
 * store: by --server, by a context of a kubeconfig, or because it runs in a pod.
 *
 *	--server, --kubeconfig, --context or --token-file      the API
 *	--endpoints or PLACET_ENDPOINTS                        the store
 *	PLACET_SERVER                                          the API
 *	run as kubectl's plugin                                the API of kubectl's context
 *	in a pod with a service account                        the API of its cluster
 *	nothing of these                                       the store at its default
 */
#ifndef COORD_CLI_SESSION_API_OPTS_H
#define COORD_CLI_SESSION_API_OPTS_H

#include <getopt.h>

#include "coord/connect/store_opts.h"
#include "coord/kubeconfig/kubeconfig.h"

struct api_opts {
	const char *server;     /* URL; NULL: not given */
	const char *kubeconfig; /* file */
	const char *context;
	const char *token_file;
	bool in_pod; /* of a pod's own cluster */
};

enum { API_OPT_FIRST = 1020, API_OPT_LAST = 1023 };
#define API_OPTS_LONG                                                       \
	{"server", required_argument, NULL, API_OPT_FIRST},                 \
		{"kubeconfig", required_argument, NULL, API_OPT_FIRST + 1}, \
		{"context", required_argument, NULL, API_OPT_FIRST + 2},    \
	{                                                                   \
		"token-file", required_argument, NULL, API_OPT_FIRST + 3    \
	}

extern const char api_opts_help[];

/* Whether some option names the API. */
bool api_opts_given(const struct api_opts *opts);
void api_opts_set(struct api_opts *opts, int opt, const char *arg);

/* This program was called as kubectl's plugin: the API is what is meant. */
void api_opts_plugin(void);
bool api_opts_is_plugin(void);

/* Whether the API is meant, and not the store. PL_INVALID: the options contradict each
 * other. */
PL_NODISCARD enum pl_code api_opts_choose(struct api_opts *opts,
                                          const struct store_opts *store, bool *api,
                                          struct pl_err *err);

/* The target that is meant, in the config's arena. tls: the files that go with --server. */
PL_NODISCARD enum pl_code api_opts_target(const struct api_opts *opts,
                                          const struct tls_files *tls,
                                          struct kubeconfig *config,
                                          struct kubeconfig_target *out,
                                          struct pl_err *err);

#endif
