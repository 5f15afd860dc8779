/*
 * A kubeconfig is what Kubernetes' clients know about clusters: where the API of each is
 * and whom to trust (clusters), who the user is (users), and which of both go together
 * (contexts).
 *
 * Files are read as kubectl reads them: several count as one, and of two entries with one
 * name the first counts, current-context too; names of files are relative to the file
 * that has them. Unknown members are ignored. A file is validated whole before anything
 * of it counts; what is not supported here (passwords, impersonation) is refused when a
 * context that needs it is resolved, so that the other contexts of a file work.
 *
 * err is never NULL. Everything that is given out lives in the kubeconfig's arena. Secrets are in that memory,
 * and never in an error.
 */
#ifndef COORD_KUBECONFIG_KUBECONFIG_H
#define COORD_KUBECONFIG_KUBECONFIG_H

#include <stdbool.h>

#include "store/base/arena.h"
#include "store/base/err.h"
#include "store/base/json.h"

enum {
	KUBECONFIG_FILE_MAX = 4 << 20, /* bytes */
	KUBECONFIG_ENTRIES_MAX = 4096, /* clusters, users and contexts, each */
	KUBECONFIG_PEM_MAX = 1 << 20,  /* bytes of inline certificates */
	KUBECONFIG_TOKEN_MAX = 16 << 10,
};

struct kubeconfig_exec;

/* How the API of one cluster is reached. NULL, or an empty span: not given. Of a file and
 * inline data at most one is set; what is inline is decoded. */
struct kubeconfig_target {
	const char *server; /* "https://east.example:6443/path", without a last slash */
	const char *server_name; /* the name to check in the certificate */
	const char *ca_file, *cert_file, *key_file;
	struct pl_span ca_data, cert_data, key_data;
	const char *token, *token_file;
	const struct kubeconfig_exec *exec; /* a program gives the credentials */
	const char *proxy;                  /* "http://proxy:3128"; also https, socks5 */
	bool unverified; /* the server's certificate is not checked: worth a warning */
	const char *namespace; /* of commands that name none */
};

enum kubeconfig_kind {
	KUBECONFIG_CLUSTERS,
	KUBECONFIG_USERS,
	KUBECONFIG_CONTEXTS,
	KUBECONFIG_KINDS,
};

struct kubeconfig_entry;

struct kubeconfig {
	struct pl_arena arena;
	struct kubeconfig_entry *entries[KUBECONFIG_KINDS]; /* the first added first */
	struct kubeconfig_entry **last[KUBECONFIG_KINDS];
	const char *current; /* context; NULL: none is named */
};

void kubeconfig_init(struct kubeconfig *config);
/* Wipes what it can of the secrets. */
void kubeconfig_done(struct kubeconfig *config);

/* Adds a file: YAML or JSON. path is for errors and relative names. PL_INVALID: nothing of
 * it was added, and err names the member. */
PL_NODISCARD enum pl_code kubeconfig_add(struct kubeconfig *config, struct pl_span text,
                                         const char *path, struct pl_err *err);

/* context NULL: the current one. PL_NOTFOUND: there is no such context, or none is
 * current; PL_UNSUPPORTED; PL_INVALID: the context names no cluster, or no such one. */
PL_NODISCARD enum pl_code kubeconfig_resolve(struct kubeconfig *config,
                                             const char *context,
                                             struct kubeconfig_target *out,
                                             struct pl_err *err);

/* Puts a server that the caller was told in its place: "http://127.0.0.1:6443/". */
PL_NODISCARD enum pl_code kubeconfig_server(struct pl_arena *arena, const char *url,
                                            const char **out, struct pl_err *err);

/* The nth name of a kind, for completion; NULL: there are no more. */
const char *kubeconfig_name(const struct kubeconfig *config, enum kubeconfig_kind kind,
                            size_t nth);

#endif
