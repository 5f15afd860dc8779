#include <stdlib.h>

#include "coord/api/base/go_quote.h"
#include "coord/api/select/label_int.h"
#include "shardsched/model/text.h"

/* Faults of one requirement that are told. */
enum { VALUE_FAULTS_MAX = 16 };

struct label_parser {
	struct pl_arena *arena;
	struct label_lexer lexer;
	struct pl_span *why;
	struct label_term *terms;
	struct pl_span *values;
	uint32_t term_count, value_count, value_room;
};

/* -- refusals ------------------------------------------------------------------------- */

static enum pl_code refuse(struct label_parser *p, enum pl_code code, const char *message)
{
	if (message == NULL)
		return PL_NOMEM;
	*p->why = pl_span_str(message);
	return code;
}

/* "found '<next token>'<what>" */
static enum pl_code refuse_token(struct label_parser *p, const char *prefix,
                                 const char *what)
{
	return refuse(p, PL_INVALID,
	              pl_arena_printf(p->arena, "%sfound '" PL_SPAN_FMT "'%s", prefix,
	                              PL_SPAN_ARG(p->lexer.word), what));
}

static const char requirement[] = "unable to parse requirement: ";

/* -- values ----------------------------------------------------------------------------- */

static int compare_spans(const void *a, const void *b)
{
	return pl_span_cmp(*(const struct pl_span *)a, *(const struct pl_span *)b);
}

/* Removes repeated values from a sorted list. */
static uint32_t unique(struct pl_span *values, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (kept == 0 || !pl_span_eq(values[kept - 1], values[i]))
			values[kept++] = values[i];
	return kept;
}

static enum pl_code add_value(struct label_parser *p, struct label_term *term,
                              struct pl_span value)
{
	if (p->value_count == p->value_room)
		return refuse(p, PL_LIMIT, "the label selector has too many values");
	p->values[p->value_count++] = value;
	term->count++;
	return PL_OK;
}

static bool is_word(enum label_token token)
{
	return token == LABEL_TOKEN_WORD || token == LABEL_TOKEN_IN ||
	       token == LABEL_TOKEN_NOT_IN;
}

/* A comma before or behind nothing stands for the empty value. */
static enum pl_code read_comma(struct label_parser *p, struct label_term *term)
{
	enum pl_code code = PL_OK;

	label_lexer_next(&p->lexer);
	if (term->count == 0)
		code = add_value(p, term, pl_span_str(""));
	if (code == PL_OK &&
	    (p->lexer.token == LABEL_TOKEN_CLOSE || p->lexer.token == LABEL_TOKEN_COMMA))
		code = add_value(p, term, pl_span_str(""));
	if (p->lexer.token != LABEL_TOKEN_COMMA || code != PL_OK)
		return code;
	label_lexer_next(&p->lexer);
	if (p->lexer.token == LABEL_TOKEN_CLOSE)
		return refuse_token(p, requirement, ", expected: ',', or identifier");
	return PL_OK;
}

static enum pl_code read_listed(struct label_parser *p, struct label_term *term)
{
	enum pl_code code = add_value(p, term, p->lexer.word);

	if (code != PL_OK)
		return code;
	label_lexer_next(&p->lexer);
	if (p->lexer.token != LABEL_TOKEN_COMMA && p->lexer.token != LABEL_TOKEN_CLOSE)
		return refuse_token(p, requirement, ", expected: ',' or ')'");
	return PL_OK;
}

/* "(a,b)" */
static enum pl_code read_list(struct label_parser *p, struct label_term *term)
{
	enum pl_code code = PL_OK;

	if (p->lexer.token != LABEL_TOKEN_OPEN)
		return refuse_token(p, requirement, " expected: '('");
	label_lexer_next(&p->lexer);
	if (p->lexer.token == LABEL_TOKEN_CLOSE)
		code = add_value(p, term, pl_span_str(""));
	else if (!is_word(p->lexer.token) && p->lexer.token != LABEL_TOKEN_COMMA)
		return refuse_token(p, requirement, ", expected: ',', ')' or identifier");
	while (code == PL_OK && p->lexer.token != LABEL_TOKEN_CLOSE) {
		if (is_word(p->lexer.token))
			code = read_listed(p, term);
		else if (p->lexer.token == LABEL_TOKEN_COMMA)
			code = read_comma(p, term);
		else
			return refuse_token(p, requirement,
			                    ", expected: ',', or identifier");
	}
	label_lexer_next(&p->lexer);
	return code;
}

static enum pl_code read_one(struct label_parser *p, struct label_term *term)
{
	struct pl_span value = p->lexer.word;

	if (p->lexer.token == LABEL_TOKEN_END || p->lexer.token == LABEL_TOKEN_COMMA)
		return add_value(p, term, pl_span_str(""));
	if (!is_word(p->lexer.token))
		return refuse_token(p, requirement, ", expected: identifier");
	label_lexer_next(&p->lexer);
	return add_value(p, term, value);
}

/* -- checks of a whole requirement ------------------------------------------------------ */

struct value_faults {
	const char *text; /* NULL: no memory */
	uint32_t count;
};

/* "values[<at>]<behind>: Invalid value: "<value>": <fault>" */
static void add_fault(struct label_parser *p, struct value_faults *faults,
                      const char *path, struct pl_span value, const char *fault)
{
	const char *quoted = go_quote(p->arena, value);

	if (faults->text == NULL || path == NULL || quoted == NULL) {
		faults->text = NULL;
		return;
	}
	faults->text =
		pl_arena_printf(p->arena, "%s%s%s: Invalid value: %s: %s", faults->text,
	                        faults->count == 0 ? "" : ", ", path, quoted, fault);
	faults->count++;
}

static void check_number(struct label_parser *p, struct label_term *term,
                         struct value_faults *faults)
{
	if ((term->test == LABEL_TEST_GT || term->test == LABEL_TEST_LT) &&
	    !text_int(term->values[0], &term->number))
		add_fault(p, faults, "values[0]", term->values[0],
		          "for 'Gt', 'Lt' operators, the value must be an integer");
}

static enum pl_code check_values(struct label_parser *p, struct label_term *term)
{
	struct value_faults faults = {.text = ""};

	check_number(p, term, &faults);
	for (uint32_t i = 0;
	     i < term->count && faults.text != NULL && faults.count < VALUE_FAULTS_MAX;
	     i++) {
		const char *fault = label_value_faults(p->arena, term->values[i]);

		if (fault == NULL)
			return PL_NOMEM;
		if (fault[0] != 0)
			add_fault(p, &faults,
			          pl_arena_printf(p->arena, "values[%u][" PL_SPAN_FMT "]",
			                          i, PL_SPAN_ARG(term->key)),
			          term->values[i], fault);
	}
	if (faults.text == NULL)
		return PL_NOMEM;
	if (faults.count == 0)
		return PL_OK;
	return refuse(p, PL_INVALID,
	              pl_arena_printf(p->arena, "%s%s%s%s", requirement,
	                              faults.count > 1 ? "[" : "", faults.text,
	                              faults.count > 1 ? "]" : ""));
}

static enum pl_code check_key(struct label_parser *p, struct pl_span key)
{
	const char *fault = label_key_faults(p->arena, key);
	const char *quoted = go_quote(p->arena, key);

	if (fault == NULL || quoted == NULL)
		return PL_NOMEM;
	if (fault[0] == 0)
		return PL_OK;
	return refuse(p, PL_INVALID,
	              pl_arena_printf(p->arena, "%s<nil>: Invalid value: %s: %s",
	                              requirement, quoted, fault));
}

/* -- requirements ----------------------------------------------------------------------- */

static enum pl_code read_op(struct label_parser *p, struct label_term *term)
{
	enum label_token op = p->lexer.token;

	switch (op) {
	case LABEL_TOKEN_IN:
	case LABEL_TOKEN_EQ:
	case LABEL_TOKEN_EQ_EQ:
		term->test = LABEL_TEST_IN;
		break;
	case LABEL_TOKEN_NOT_IN:
	case LABEL_TOKEN_NOT_EQ:
		term->test = LABEL_TEST_NOT_IN;
		break;
	case LABEL_TOKEN_GT:
		term->test = LABEL_TEST_GT;
		break;
	case LABEL_TOKEN_LT:
		term->test = LABEL_TEST_LT;
		break;
	case LABEL_TOKEN_END:
	case LABEL_TOKEN_WORD:
	case LABEL_TOKEN_OPEN:
	case LABEL_TOKEN_CLOSE:
	case LABEL_TOKEN_COMMA:
	case LABEL_TOKEN_NOT:
		return refuse_token(p, requirement,
		                    ", expected: in, notin, =, ==, !=, gt, lt");
	}
	label_lexer_next(&p->lexer);
	if (op == LABEL_TOKEN_IN || op == LABEL_TOKEN_NOT_IN)
		return read_list(p, term);
	return read_one(p, term);
}

static enum pl_code read_values(struct label_parser *p, struct label_term *term)
{
	struct pl_span *values = p->values + p->value_count;
	enum pl_code code = read_op(p, term);

	if (code != PL_OK)
		return code;
	qsort(values, term->count, sizeof *values, compare_spans);
	term->count = unique(values, term->count);
	term->values = values;
	return check_values(p, term);
}

static enum pl_code read_requirement(struct label_parser *p)
{
	bool absent = p->lexer.token == LABEL_TOKEN_NOT;
	struct label_term *term = &p->terms[p->term_count];
	enum pl_code code;

	if (p->term_count == LABEL_SELECTOR_TERMS_MAX)
		return refuse(p, PL_LIMIT,
		              "the label selector has too many requirements");
	if (absent)
		label_lexer_next(&p->lexer);
	if (!is_word(p->lexer.token))
		return refuse_token(p, requirement, ", expected: identifier");
	*term = (struct label_term){.key = p->lexer.word};
	code = check_key(p, term->key);
	label_lexer_next(&p->lexer);
	if (code != PL_OK)
		return code;
	p->term_count++;
	if (absent || p->lexer.token == LABEL_TOKEN_END ||
	    p->lexer.token == LABEL_TOKEN_COMMA) {
		term->test = absent ? LABEL_TEST_NOT_EXISTS : LABEL_TEST_EXISTS;
		return PL_OK;
	}
	return read_values(p, term);
}

static enum pl_code read_selector(struct label_parser *p)
{
	enum pl_code code;

	if (p->lexer.token == LABEL_TOKEN_END)
		return PL_OK;
	if (!is_word(p->lexer.token) && p->lexer.token != LABEL_TOKEN_NOT)
		return refuse_token(p, "",
		                    ", expected: !, identifier, or 'end of string'");
	for (;;) {
		code = read_requirement(p);
		if (code != PL_OK || p->lexer.token == LABEL_TOKEN_END)
			return code;
		if (p->lexer.token != LABEL_TOKEN_COMMA)
			return refuse_token(p, "", ", expected: ',' or 'end of string'");
		label_lexer_next(&p->lexer);
		if (!is_word(p->lexer.token) && p->lexer.token != LABEL_TOKEN_NOT)
			return refuse_token(p, "", ", expected: identifier after ','");
	}
}

/* -- the whole ---------------------------------------------------------------------------- */

static int compare_terms(const void *a, const void *b)
{
	const struct label_term *x = a, *y = b;

	return pl_span_cmp(x->key, y->key);
}

/* How many of these bytes the text has; each separates at most two words. */
static uint32_t count_bytes(struct pl_span text, const char *bytes)
{
	uint32_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += text.at[i] != 0 && strchr(bytes, text.at[i]) != NULL;
	return count;
}

static uint32_t at_most(uint32_t value, uint32_t most)
{
	return value < most ? value : most;
}

/* Room for as many terms and values as the text can have. */
static bool make_room(struct label_parser *p, struct pl_span text)
{
	uint32_t terms = count_bytes(text, ",") + 1;
	uint32_t values = 2 * count_bytes(text, ",=<>(") + 2;

	p->value_room = at_most(values, LABEL_SELECTOR_VALUES_MAX);
	p->terms = pl_arena_zalloc(p->arena, at_most(terms, LABEL_SELECTOR_TERMS_MAX) + 1,
	                           sizeof *p->terms);
	p->values = pl_arena_zalloc(p->arena, p->value_room, sizeof *p->values);
	return p->terms != NULL && p->values != NULL;
}

/* The keys get a NUL behind them, for lookups in JSON. */
static bool keep_keys(struct label_parser *p)
{
	for (uint32_t i = 0; i < p->term_count; i++) {
		p->terms[i].key = pl_arena_dup(p->arena, p->terms[i].key);
		if (p->terms[i].key.at == NULL)
			return false;
	}
	return true;
}

enum pl_code label_selector_parse(struct pl_arena *arena, struct pl_span text,
                                  struct label_selector *out, struct pl_span *why)
{
	struct label_parser p = {.arena = arena, .why = why};
	struct pl_span kept;
	enum pl_code code;

	if (text.len > LABEL_SELECTOR_BYTES_MAX)
		return refuse(&p, PL_LIMIT, "the label selector is too long");
	if (text.len > 0 && memchr(text.at, 0, text.len) != NULL)
		return refuse(&p, PL_INVALID, "the label selector has a NUL byte");
	kept = pl_arena_dup(arena, text);
	if ((text.len > 0 && kept.at == NULL) || !make_room(&p, text))
		return PL_NOMEM;
	label_lexer_init(&p.lexer, kept);
	code = read_selector(&p);
	if (code != PL_OK)
		return code;
	if (!keep_keys(&p))
		return PL_NOMEM;
	qsort(p.terms, p.term_count, sizeof *p.terms, compare_terms);
	*out = (struct label_selector){.count = p.term_count, .terms = p.terms};
	return PL_OK;
}
