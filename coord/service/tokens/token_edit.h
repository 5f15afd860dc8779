/*
 * Token edit: issues a token, or revokes one.
 *
 *	create: commit --absent--> done
 *	           |  there, or the outcome is unknown
 *	           `--> read: the record that was written: done; another one: PL_EXISTS
 *	delete: read --absent--> PL_NOTFOUND, or done after a try
 *	         ^ `--there--> commit --> done
 *	         `----------------'  it was replaced, or the outcome is unknown
 */
#ifndef COORD_SERVICE_TOKENS_TOKEN_EDIT_H
#define COORD_SERVICE_TOKENS_TOKEN_EDIT_H

#include "coord/service/base/service.h"
#include "coord/service/tokens/token_record.h"

struct token_edit;

/* err NULL: it is done. */
typedef void token_edit_fn(void *ctx, const struct pl_err *err);

/* Writes the record below that id. PL_INVALID: it may not be issued (token_record_check).
 * done: PL_EXISTS. */
PL_NODISCARD enum pl_code token_create_start(const struct service *service,
                                             struct pl_span id,
                                             const struct token_record *record,
                                             token_edit_fn *done, void *ctx,
                                             struct token_edit **out, struct pl_err *err);
/* done: PL_NOTFOUND. */
PL_NODISCARD enum pl_code token_delete_start(const struct service *service,
                                             struct pl_span id, token_edit_fn *done,
                                             void *ctx, struct token_edit **out,
                                             struct pl_err *err);
void token_edit_cancel(struct token_edit *edit);

#endif
