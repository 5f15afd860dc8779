/* The token commands over the API (tokens.placet.io). */
#ifndef COORD_CLI_TOKENS_TOKEN_API_H
#define COORD_CLI_TOKENS_TOKEN_API_H

#include "coord/cli/output/output.h"
#include "coord/cli/session/api_session.h"
#include "coord/service/tokens/token_record.h"

enum token_column {
	TOKEN_NAME,
	TOKEN_USER,
	TOKEN_GROUPS,
	TOKEN_AGE,
	TOKEN_CREATED,
	TOKEN_EXPIRES,
	TOKEN_EXPIRES_IN,
	TOKEN_BY,
	TOKEN_NOTE,
	TOKEN_COLUMNS,
};

extern const struct output_schema token_schema; /* token_list_cmd.c */

/* Fills a row of the list; the texts live in the arena. PL_NOMEM. */
PL_NODISCARD enum pl_code token_row(struct output_row *row, struct pl_arena *arena,
                                    struct pl_span name,
                                    const struct token_record *record);

/* Gives the token, which lives in the arena. expires_s: from now; 0: never. */
PL_NODISCARD enum pl_code token_api_create(struct api_session *api, const char *name,
                                           const struct token_record *record,
                                           uint64_t expires_s, struct pl_arena *arena,
                                           struct pl_span *out, struct pl_err *err);
PL_NODISCARD enum pl_code token_api_list(struct api_session *api, struct pl_err *err);
/* PL_NOTFOUND: there is none of that name. */
PL_NODISCARD enum pl_code token_api_delete(struct api_session *api, const char *name,
                                           struct pl_err *err);

#endif
