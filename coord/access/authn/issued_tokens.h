/*
 * Issued tokens: the records below /access/tokens/, kept by an informer.
 *
 * Invariants: a token whose record is deleted is refused as soon as the watch shows the
 * deletion; while the store can not be reached, what was known last counts. Before the
 * first list nothing is known, and issued_tokens_synced() is false.
 */
#ifndef COORD_ACCESS_AUTHN_ISSUED_TOKENS_H
#define COORD_ACCESS_AUTHN_ISSUED_TOKENS_H

#include "coord/access/base/identity.h"
#include "store/kv/kv.h"

struct issued_tokens;

PL_NODISCARD enum pl_code issued_tokens_open(struct kv *kv, struct issued_tokens **out,
                                             struct pl_err *err);
/* closed is called later, once; the tokens are gone then. */
void issued_tokens_close(struct issued_tokens *tokens, void (*closed)(void *ctx),
                         void *ctx);

bool issued_tokens_synced(const struct issued_tokens *tokens);

/* Whether the bearer token has the form of an issued one: "placet.<id>.<secret>". */
bool issued_tokens_is_one(struct pl_span token);

/* PL_OK: *out is whose it is. PL_DENIED with the cause, for logs; PL_UNAVAIL: not listed
 * yet; PL_NOMEM. */
PL_NODISCARD enum pl_code issued_tokens_identify(const struct issued_tokens *tokens,
                                                 struct pl_span token,
                                                 struct pl_arena *arena, int64_t now_s,
                                                 struct identity *out,
                                                 struct pl_err *err);

#endif
