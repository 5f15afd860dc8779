/*
 * Impersonation: a request in the name of another user, by Kubernetes' headers
 * Impersonate-User, -Group, -Uid and -Extra-<key>. Pure.
 *
 * Invariants: everything that the headers name is asked for with the verb impersonate, which
 * only admins have; without a user nothing else may be named; the result is a whole identity
 * of its own, none of the sender's rights go with it.
 */
#ifndef COORD_API_SERVER_IMPERSONATION_H
#define COORD_API_SERVER_IMPERSONATION_H

#include "coord/access/roles/access_decide.h"
#include "coord/api/reply/status.h"
#include "store/net/http_server.h"

enum impersonation { IMPERSONATION_NONE, IMPERSONATION_DONE, IMPERSONATION_REFUSED };

/* DONE: *out is the identity to act as. REFUSED: *status says why, and *refused what was
 * asked for where a right was missing. */
enum impersonation impersonate(const struct http_request *http,
                               const struct access_document *document,
                               const struct identity *sender, struct pl_arena *arena,
                               struct identity *out, struct api_status *status);

/* "pods "x" is forbidden: User "ann" cannot get resource ..." */
struct api_status access_forbidden(struct pl_arena *arena,
                                   const struct access_attributes *asked,
                                   struct pl_span user);

#endif
