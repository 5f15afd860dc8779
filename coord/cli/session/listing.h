/* Lists all keys of one prefix, and waits for them (key_list.h). */
#ifndef COORD_CLI_SESSION_LISTING_H
#define COORD_CLI_SESSION_LISTING_H

#include "coord/cli/session/cli_session.h"

/* Borrows the record for the call. */
typedef enum pl_code session_list_fn(void *ctx, const struct kv_record *record,
                                     struct pl_err *err);

/* fn may end the list with another code than PL_OK, which is the result then. */
PL_NODISCARD enum pl_code session_list(const struct cli_session *cli,
                                       struct pl_span prefix, session_list_fn *fn,
                                       void *ctx, struct pl_err *err);

#endif
