/* Within coord/kubeconfig: entries of a kubeconfig. */
#ifndef COORD_KUBECONFIG_KUBECONFIG_INT_H
#define COORD_KUBECONFIG_KUBECONFIG_INT_H

#include "coord/kubeconfig/kubeconfig.h"

struct kubeconfig_entry {
	struct kubeconfig_entry *next;
	const char *name;
	struct pl_json part; /* the "cluster", "user" or "context"; absent: none */
	const char *path;    /* of the file */
};

/* NULL: there is none of that name. */
const struct kubeconfig_entry *kubeconfig_find(const struct kubeconfig *config,
                                               enum kubeconfig_kind kind,
                                               const char *name);

/* Whether the text can be sent as a token. */
bool kubeconfig_is_token(const char *text);

/* *out is empty for an empty text. PL_INVALID: it is not base64, in its standard alphabet and
 * with all its padding. PL_LIMIT: more than KUBECONFIG_PEM_MAX bytes. */
PL_NODISCARD enum pl_code kubeconfig_base64(struct pl_arena *arena, const char *text,
                                            struct pl_span *out);
/* Adds the text of the bytes, with a NUL behind it. NULL: no memory. */
PL_NODISCARD char *kubeconfig_base64_print(struct pl_arena *arena, struct pl_span bytes);

#endif
