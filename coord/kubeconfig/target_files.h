/*
 * Target files are the certificates and keys of a target as files, which TLS reads: those
 * that the kubeconfig names, and for what stands in the kubeconfig files in memory, which
 * no other user can open.
 */
#ifndef COORD_KUBECONFIG_TARGET_FILES_H
#define COORD_KUBECONFIG_TARGET_FILES_H

#include "coord/kubeconfig/kubeconfig.h"
#include "store/net/tls.h"

enum { TARGET_FILES_COUNT = 3, TARGET_FILES_NAME_SIZE = 40 };

struct target_files {
	struct tls_files tls; /* borrows from the target and from the names */
	int fd[TARGET_FILES_COUNT];
	char name[TARGET_FILES_COUNT][TARGET_FILES_NAME_SIZE];
};

/* The struct must not move, and the target must outlive it. PL_IO. */
PL_NODISCARD enum pl_code target_files_open(const struct kubeconfig_target *target,
                                            struct target_files *out, struct pl_err *err);
void target_files_close(struct target_files *files);

#endif
