/* Statuses of answers: their names, and the Status object that the server answers with
 * itself. */
#ifndef STORE_NET_HTTP_STATUS_H
#define STORE_NET_HTTP_STATUS_H

#include "store/base/buf.h"

/* "Not Found"; never NULL. */
const char *http_status_text(int status);
/* The status allows an answer to have a body. */
bool http_status_has_body(int status);
/* A Kubernetes Status object of kind Failure. text is a literal. */
PL_NODISCARD enum pl_code http_status_object(struct pl_buf *out, int status,
                                             const char *text);

#endif
