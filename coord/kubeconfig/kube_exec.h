/*
 * One run of the program that gives a user's credentials. The program is told what is wanted
 * in KUBERNETES_EXEC_INFO, prints an ExecCredential, and is killed when that takes too long.
 * Its stderr is ours, and with a terminal so is its stdin, unless it wants none.
 */
#ifndef COORD_KUBECONFIG_KUBE_EXEC_H
#define COORD_KUBECONFIG_KUBE_EXEC_H

#include <uv.h>

#include "coord/kubeconfig/kubeconfig_exec.h"

enum { KUBE_EXEC_OUTPUT_MAX = 1 << 20 };

/* A token, a client certificate with its key, or both. */
struct kube_credential {
	const char *token;        /* NULL: none */
	struct pl_span cert, key; /* PEM; empty: none */
	int64_t expires_ms;       /* since 1970; 0: not said */
};

struct kube_exec;

/* given: in the run's memory, borrowed for the call; NULL with err. */
typedef void kube_exec_fn(void *ctx, const struct kube_credential *given,
                          const struct pl_err *err);

/* target->exec is set. done comes exactly once, never inside start or cancel. PL_NOTFOUND:
 * there is no such program; PL_UNSUPPORTED: it wants a terminal. */
PL_NODISCARD enum pl_code kube_exec_start(uv_loop_t *loop,
                                          const struct kubeconfig_target *target,
                                          kube_exec_fn *done, void *ctx,
                                          struct kube_exec **out, struct pl_err *err);
/* Kills the program. done comes with PL_CANCELED. */
void kube_exec_cancel(struct kube_exec *exec);

/* Reads what a program printed. PL_INVALID. */
PL_NODISCARD enum pl_code kube_credential_read(struct pl_arena *arena,
                                               struct pl_span text,
                                               const char *api_version,
                                               struct kube_credential *out,
                                               struct pl_err *err);

#endif
