#include "coord/api/select/label_int.h"

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static bool is_special(uint8_t byte)
{
	return byte != 0 && strchr("=!(),><", byte) != NULL;
}

static const struct {
	const char *text;
	enum label_token token;
} specials[] = {
	/* the longer ones first */
	{"==", LABEL_TOKEN_EQ_EQ}, {"!=", LABEL_TOKEN_NOT_EQ}, {"=", LABEL_TOKEN_EQ},
	{"!", LABEL_TOKEN_NOT},    {"(", LABEL_TOKEN_OPEN},    {")", LABEL_TOKEN_CLOSE},
	{",", LABEL_TOKEN_COMMA},  {">", LABEL_TOKEN_GT},      {"<", LABEL_TOKEN_LT},
};

static void take(struct label_lexer *lexer, enum label_token token, size_t len)
{
	lexer->token = token;
	lexer->word = pl_span(lexer->rest.at, len);
	lexer->rest = pl_span(lexer->rest.at + len, lexer->rest.len - len);
}

static void take_word(struct label_lexer *lexer)
{
	size_t len = 0;

	while (len < lexer->rest.len && !is_space(lexer->rest.at[len]) &&
	       !is_special(lexer->rest.at[len]))
		len++;
	take(lexer, LABEL_TOKEN_WORD, len);
	if (pl_span_eq(lexer->word, PL_SPAN_LIT("in")))
		lexer->token = LABEL_TOKEN_IN;
	else if (pl_span_eq(lexer->word, PL_SPAN_LIT("notin")))
		lexer->token = LABEL_TOKEN_NOT_IN;
}

void label_lexer_next(struct label_lexer *lexer)
{
	while (lexer->rest.len > 0 && is_space(lexer->rest.at[0]))
		lexer->rest = pl_span(lexer->rest.at + 1, lexer->rest.len - 1);
	if (lexer->rest.len == 0) {
		take(lexer, LABEL_TOKEN_END, 0);
		return;
	}
	for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
		struct pl_span special = pl_span_str(specials[i].text);

		if (pl_span_starts(lexer->rest, special)) {
			take(lexer, specials[i].token, special.len);
			return;
		}
	}
	take_word(lexer);
}

void label_lexer_init(struct label_lexer *lexer, struct pl_span text)
{
	*lexer = (struct label_lexer){.rest = text};
	label_lexer_next(lexer);
}
