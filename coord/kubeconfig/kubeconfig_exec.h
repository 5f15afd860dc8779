/* The program of a user ("exec"), as the kubeconfig describes it. */
#ifndef COORD_KUBECONFIG_KUBECONFIG_EXEC_H
#define COORD_KUBECONFIG_KUBECONFIG_EXEC_H

#include "coord/kubeconfig/kubeconfig.h"

enum { KUBECONFIG_EXEC_LIST_MAX = 256 }; /* arguments, variables */

enum kubeconfig_interactive {
	KUBECONFIG_INTERACTIVE_IF_AVAILABLE, /* the terminal, if there is one */
	KUBECONFIG_INTERACTIVE_NEVER,
	KUBECONFIG_INTERACTIVE_ALWAYS,
};

/* Lives in the kubeconfig's arena. */
struct kubeconfig_exec {
	const char *api_version; /* client.authentication.k8s.io/v1 or /v1beta1 */
	char **argv;             /* command and arguments, then NULL */
	char **env;              /* "NAME=value", then NULL */
	const char *hint;        /* how to install it; NULL: not said */
	enum kubeconfig_interactive interactive;
	bool cluster_info;     /* the program wants to know the cluster */
	struct pl_span config; /* JSON that the cluster has for it; empty: none */
};

/* exec: of the user; cluster: of the context; dir: of the kubeconfig, for a command with a
 * slash; NULL: the working directory. err begins with the member. PL_INVALID,
 * PL_UNSUPPORTED, PL_NOMEM. */
PL_NODISCARD enum pl_code kubeconfig_exec_read(struct pl_arena *arena,
                                               struct pl_json exec,
                                               struct pl_json cluster, const char *dir,
                                               const struct kubeconfig_exec **out,
                                               struct pl_err *err);

#endif
