/* All keys with a prefix, page by page, as they were at one revision; should that be
 * compacted on the way, what is left as it is then. */
#ifndef COORD_CLI_SESSION_LISTING_H
#define COORD_CLI_SESSION_LISTING_H

#include "coord/cli/session/store_session.h"

/* Large, because etcd counts all that is left with each page; less where keys are. */
enum { SESSION_LIST_PAGE = 10000, SESSION_LIST_PAGE_MIN = 16 };

/* Borrows the record for the call. */
typedef enum pl_code session_list_fn(void *ctx, const struct kv_record *record,
                                     struct pl_err *err);

/* *revision 0: now, which it is then. The session's arena is reset. */
PL_NODISCARD enum pl_code session_list(struct store_session *session,
                                       struct pl_span prefix, int64_t *revision,
                                       session_list_fn *fn, void *ctx,
                                       struct pl_err *err);

#endif
