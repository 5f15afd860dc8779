/* The token with which a client asks for the next page of a list: the revision of the list
 * and the order of the last object that was sent. Opaque to clients, checked when it comes
 * back. Pure. */
#ifndef COORD_API_VERBS_CONTINUE_TOKEN_H
#define COORD_API_VERBS_CONTINUE_TOKEN_H

#include "store/base/arena.h"

/* at NULL: no memory. */
struct pl_span continue_token_print(struct pl_arena *arena, int64_t revision,
                                    struct pl_span order);
/* False: it is none of ours. */
bool continue_token_parse(struct pl_arena *arena, struct pl_span token, int64_t *revision,
                          struct pl_span *order);

#endif
