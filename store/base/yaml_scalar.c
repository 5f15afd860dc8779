#include "store/base/yaml_scalar.h"

#include <math.h>
#include <stdlib.h>

/*
 * The rules are those of Kubernetes' tools (YAML 1.1 in Go):
 *
 *	null, Null, NULL, ~ and nothing
 *	true, yes, on, y and their opposites, in three spellings each
 *	whole numbers with a sign, underscores anywhere behind the first digit, and
 *	0x, 0o, 0b or (for octal) 0 in front; a number with a 0 in front and an 8 or 9
 *	in it is decimal after all
 *	floats: digits, a point, an exponent; a string when it is out of range (such
 *	as a hash that happens to have one e among its digits)
 */

enum { NUMBER_MAX = 400 }; /* longer ones are strings: no number needs so many digits */

struct yaml_word {
	const char *text;
	enum pl_yaml_kind kind;
	bool truth;
};

#define BOTH(no, yes)                   \
	{no, PL_YAML_BOOL, false},      \
	{                               \
		yes, PL_YAML_BOOL, true \
	}

static const struct yaml_word words[] = {
	{"", PL_YAML_NULL, false},
	{"~", PL_YAML_NULL, false},
	{"null", PL_YAML_NULL, false},
	{"Null", PL_YAML_NULL, false},
	{"NULL", PL_YAML_NULL, false},
	BOTH("n", "y"),
	BOTH("N", "Y"),
	BOTH("no", "yes"),
	BOTH("No", "Yes"),
	BOTH("NO", "YES"),
	BOTH("false", "true"),
	BOTH("False", "True"),
	BOTH("FALSE", "TRUE"),
	BOTH("off", "on"),
	BOTH("Off", "On"),
	BOTH("OFF", "ON"),
	{"<<", PL_YAML_MERGE, false},
	{".nan", PL_YAML_UNREPRESENTABLE, false},
	{".NaN", PL_YAML_UNREPRESENTABLE, false},
	{".NAN", PL_YAML_UNREPRESENTABLE, false},
	{".inf", PL_YAML_UNREPRESENTABLE, false},
	{".Inf", PL_YAML_UNREPRESENTABLE, false},
	{".INF", PL_YAML_UNREPRESENTABLE, false},
	{"+.inf", PL_YAML_UNREPRESENTABLE, false},
	{"+.Inf", PL_YAML_UNREPRESENTABLE, false},
	{"+.INF", PL_YAML_UNREPRESENTABLE, false},
	{"-.inf", PL_YAML_UNREPRESENTABLE, false},
	{"-.Inf", PL_YAML_UNREPRESENTABLE, false},
	{"-.INF", PL_YAML_UNREPRESENTABLE, false},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static unsigned digit_of(char c)
{
	if (is_digit(c))
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 99;
}

/* The prefix before the digits, and the base that it selects. */
static const char *base_of(const char *at, unsigned *base)
{
	static const struct {
		char small, large;
		unsigned base;
	} bases[] = {{'x', 'X', 16}, {'o', 'O', 8}, {'b', 'B', 2}};

	*base = 10;
	if (at[0] != '0' || at[1] == 0)
		return at;
	for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
		if (at[1] == bases[i].small || at[1] == bases[i].large) {
			*base = bases[i].base;
			return at + 2;
		}
	}
	*base = 8;
	return at + 1;
}

/* False: the text is no whole number of that form. *over is set beyond 64 bits. */
static bool read_whole(const char *text, struct pl_yaml_scalar *out, bool *over)
{
	unsigned base = 10;
	const char *at = text;
	uint64_t number = 0;

	out->negative = *at == '-';
	at = base_of(at + (*at == '-' || *at == '+'), &base);
	if (*at == 0)
		return false;
	for (; *at != 0; at++) {
		unsigned digit = digit_of(*at);

		if (digit >= base)
			return false;
		if (number > (UINT64_MAX - digit) / base)
			*over = true;
		else
			number = number * base + digit;
	}
	if (out->negative && number > (uint64_t)INT64_MAX + 1)
		*over = true;
	out->whole = number;
	return true;
}

static const char *digits(const char *at)
{
	while (is_digit(*at))
		at++;
	return at;
}

static bool is_float(const char *text)
{
	const char *at = text + (*text == '-' || *text == '+');
	const char *whole = digits(at), *end = whole;

	if (*end == '.')
		end = digits(end + 1);
	if (whole == at && end <= whole + 1)
		return false;
	if (*end == 'e' || *end == 'E') {
		const char *power = end + 1 + (end[1] == '-' || end[1] == '+');

		end = digits(power);
		if (end == power)
			return false;
	}
	return *end == 0;
}

static struct pl_yaml_scalar number_of(const char *text)
{
	struct pl_yaml_scalar out = {.kind = PL_YAML_STRING};
	bool over = false;

	if (read_whole(text, &out, &over) && !over) {
		out.kind = PL_YAML_INT;
		return out;
	}
	if (is_float(text)) {
		out.number = strtod(text, NULL);
		out.kind = isfinite(out.number) ? PL_YAML_FLOAT : PL_YAML_STRING;
	} else if (over) {
		out.kind = PL_YAML_UNREPRESENTABLE;
	}
	return out;
}

struct pl_yaml_scalar pl_yaml_resolve(struct pl_span plain)
{
	char text[NUMBER_MAX + 1];
	size_t len = 0;

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (pl_span_eq(plain, pl_span_str(words[i].text)))
			return (struct pl_yaml_scalar){.kind = words[i].kind,
			                               .truth = words[i].truth};
	}
	if (plain.len > NUMBER_MAX || strchr("+-.0123456789", plain.at[0]) == NULL ||
	    memchr(plain.at, 0, plain.len) != NULL)
		return (struct pl_yaml_scalar){.kind = PL_YAML_STRING};
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.at[i] != '_' || plain.at[0] == '.')
			text[len++] = (char)plain.at[i];
	}
	text[len] = 0;
	return number_of(text);
}

static bool is_date(struct pl_span text)
{
	for (size_t i = 0; i < 6 && i < text.len; i++) {
		if ((i == 4) != (text.at[i] == '-') ||
		    (i != 4 && !is_digit((char)text.at[i])))
			return false;
	}
	return text.len >= 6;
}

/* Matches "1:30" and "-2:00:00.5". */
static bool is_base_sixty(struct pl_span text)
{
	bool colon = false;

	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.at[i];

		if (c == ':')
			colon = true;
		else if (!is_digit((char)c) && c != '_' && c != '.' &&
		         (i > 0 || (c != '-' && c != '+')))
			return false;
	}
	return colon;
}

bool pl_yaml_needs_quotes(struct pl_span text)
{
	return pl_yaml_resolve(text).kind != PL_YAML_STRING || is_date(text) ||
	       is_base_sixty(text) || pl_span_eq(text, PL_SPAN_LIT("="));
}
