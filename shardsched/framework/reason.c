#include "shardsched/framework/reason.h"

#include "shardsched/model/claim_pattern.h"

#define REASON_WORD(name, word, sentence) word,
static const char *const words[] = {REASON_MAP(REASON_WORD)};

#define VERDICT_WORD(name, word) word,
static const char *const verdict_words[] = {VERDICT_MAP(VERDICT_WORD)};

const char *reason_word(enum reason_code code)
{
	PL_ASSERT((unsigned)code < REASON_CODES);
	return words[code];
}

static const char *reason_sentence(enum reason_code code)
{
	switch (code) {
#define REASON_SENTENCE(name, word, sentence) \
	case REASON_##name:                   \
		return sentence;
		REASON_MAP(REASON_SENTENCE)
	case REASON_CODES:
		break;
	}
	PL_UNREACHABLE("no such reason");
}

enum reason_code reason_of_word(struct pl_span word)
{
	unsigned code = 0;

	while (code < REASON_CODES && !pl_span_eq(word, pl_span_str(words[code])))
		code++;
	return (enum reason_code)code;
}

enum pl_code reason_print_subject(const struct strings *strings,
                                  const struct reason *reason, struct pl_buf *out)
{
	struct pl_span subject = strings_get(strings, reason->subject);
	uint8_t name[CLAIM_NAME_MAX];
	size_t len = 0;

	if (reason_is_of_own(reason))
		len = claim_pattern_expand(subject, strings_get(strings, reason->value),
		                           name);
	return pl_buf_add(out, len > 0 ? pl_span(name, len) : subject);
}

/* Appends the text of a placeholder. */
static enum pl_code print_placeholder(const struct strings *strings,
                                      const struct reason *reason, char placeholder,
                                      struct pl_buf *out)
{
	if (placeholder == 's')
		return reason_print_subject(strings, reason, out);
	return pl_buf_add(out, strings_get(strings, placeholder == 'v' ? reason->value
	                                                               : reason->detail));
}

static bool is_placeholder(const char *at)
{
	return at[0] == '{' && (at[1] == 's' || at[1] == 'v' || at[1] == 'd') &&
	       at[2] == '}';
}

enum pl_code reason_print(const struct strings *strings, const struct reason *reason,
                          struct pl_buf *out)
{
	const char *at = NULL, *from = NULL;
	enum pl_code code = PL_OK;

	at = from = reason_sentence((enum reason_code)reason->code);
	while (code == PL_OK && *at != 0) {
		if (!is_placeholder(at)) {
			at++;
			continue;
		}
		code = pl_buf_add(out, pl_span(from, (size_t)(at - from)));
		if (code == PL_OK)
			code = print_placeholder(strings, reason, at[1], out);
		from = at += 3;
	}
	return code != PL_OK ? code : pl_buf_add_str(out, from);
}

const char *verdict_word(enum verdict_code code)
{
	PL_ASSERT((unsigned)code < VERDICT_CODES);
	return verdict_words[code];
}

void verdict_clear(struct verdict *verdict)
{
	verdict->code = VERDICT_SUCCESS;
	verdict->plugin = -1;
	verdict->count = 0;
}

static int verdict_gravity(enum verdict_code code)
{
	switch (code) {
	case VERDICT_SUCCESS:
	case VERDICT_SKIP:
		return 0;
	case VERDICT_WAIT:
		return 1;
	case VERDICT_UNSCHEDULABLE:
		return 2;
	case VERDICT_UNRESOLVABLE:
		return 3;
	case VERDICT_ERROR:
		return 4;
	case VERDICT_CODES:
		break;
	}
	PL_UNREACHABLE("no such verdict");
}

void verdict_add(struct verdict *verdict, enum verdict_code code,
                 const struct reason *reason)
{
	if (verdict_gravity(code) > verdict_gravity(verdict->code))
		verdict->code = code;
	if (verdict->count < VERDICT_REASONS_MAX)
		verdict->reason[verdict->count++] = *reason;
}
