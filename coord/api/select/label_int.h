/* The parts of the label selector's parser. */
#ifndef COORD_API_SELECT_LABEL_INT_H
#define COORD_API_SELECT_LABEL_INT_H

#include "coord/api/select/label_selector.h"

enum label_token {
	LABEL_TOKEN_END,
	LABEL_TOKEN_WORD,
	LABEL_TOKEN_IN,
	LABEL_TOKEN_NOT_IN,
	LABEL_TOKEN_OPEN,
	LABEL_TOKEN_CLOSE,
	LABEL_TOKEN_COMMA,
	LABEL_TOKEN_NOT,
	LABEL_TOKEN_EQ,
	LABEL_TOKEN_EQ_EQ,
	LABEL_TOKEN_NOT_EQ,
	LABEL_TOKEN_GT,
	LABEL_TOKEN_LT,
};

struct label_lexer {
	struct pl_span rest;
	enum label_token token; /* not yet stepped over */
	struct pl_span word;    /* text of the token */
};

void label_lexer_init(struct label_lexer *lexer, struct pl_span text);
/* Steps over the token; the end stays the end. */
void label_lexer_next(struct label_lexer *lexer);

/* Kubernetes' sentences about a key or value, joined by "; ". "": nothing is wrong. NULL:
 * no memory. */
const char *label_key_faults(struct pl_arena *arena, struct pl_span key);
const char *label_value_faults(struct pl_arena *arena, struct pl_span value);

#endif
