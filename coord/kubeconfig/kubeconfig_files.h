/* Where a kubeconfig comes from: files, the environment, or the pod that a program
 * runs in. */
#ifndef COORD_KUBECONFIG_KUBECONFIG_FILES_H
#define COORD_KUBECONFIG_KUBECONFIG_FILES_H

#include "coord/kubeconfig/kubeconfig.h"
#include "store/base/buf.h"

/* Adds the file; NULL: the files that kubectl takes, which are those of KUBECONFIG
 * (separated by colons; a missing one is skipped), or ~/.kube/config. PL_NOTFOUND: there
 * is none. PL_IO, PL_LIMIT. */
PL_NODISCARD enum pl_code kubeconfig_load(struct kubeconfig *config, const char *path,
                                          struct pl_err *err);

#define KUBECONFIG_POD_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* Whether this program runs in a pod that may talk to an API: KUBERNETES_SERVICE_HOST is
 * set, and dir has a token. */
bool kubeconfig_in_pod(const char *dir);
/* The API of the cluster that this program runs in. */
PL_NODISCARD enum pl_code kubeconfig_pod_target(struct pl_arena *arena, const char *dir,
                                                struct kubeconfig_target *out,
                                                struct pl_err *err);

/* Adds the whole file. PL_NOTFOUND: there is none. PL_IO, PL_LIMIT. */
PL_NODISCARD enum pl_code kubeconfig_read_file(const char *path, struct pl_buf *out,
                                               struct pl_err *err);

/* The first line of a file with a token, wiped by the caller. PL_INVALID: it is no
 * token. */
PL_NODISCARD enum pl_code kubeconfig_read_token(const char *path,
                                                char out[KUBECONFIG_TOKEN_MAX],
                                                struct pl_err *err);

#endif
