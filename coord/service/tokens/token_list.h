/* A token list: whose the issued tokens are, at one revision. Never what they are. */
#ifndef COORD_SERVICE_TOKENS_TOKEN_LIST_H
#define COORD_SERVICE_TOKENS_TOKEN_LIST_H

#include "coord/service/base/service.h"
#include "coord/service/tokens/token_record.h"

enum { TOKEN_LIST_MAX = 100000 };

struct token_info {
	struct pl_span id;
	struct pl_span note; /* why its record is malformed; empty: it is not */
	struct token_record record;
};

struct token_list;

struct token_list_opts {
	/* err NULL: the list can be read until token_list_free. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code token_list_start(const struct service *service,
                                           const struct token_list_opts *opts,
                                           struct token_list **out, struct pl_err *err);
void token_list_cancel(struct token_list *list);
/* Frees the list, in done or later. Takes NULL. */
void token_list_free(struct token_list *list);

/* Sorted by id. */
const struct token_info *token_list_tokens(const struct token_list *list, size_t *count);

#endif
