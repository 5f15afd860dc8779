/* Writes a kubeconfig with one context, for kubectl and others to take as it is. */
#ifndef COORD_KUBECONFIG_KUBECONFIG_WRITE_H
#define COORD_KUBECONFIG_KUBECONFIG_WRITE_H

#include "coord/kubeconfig/kubeconfig.h"
#include "store/base/buf.h"

/* name: of the context, the cluster and the user. Files become their absolute names if the
 * target has such ones; certificates and keys that the target has inline stay inline. */
PL_NODISCARD enum pl_code kubeconfig_print(const struct kubeconfig_target *target,
                                           const char *name, struct pl_buf *out,
                                           struct pl_err *err);

/* Replaces the file, which only its owner can read. path "-": standard output. */
PL_NODISCARD enum pl_code kubeconfig_save(struct pl_span text, const char *path,
                                          struct pl_err *err);

#endif
