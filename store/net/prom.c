#include "store/net/prom.h"

#include <math.h>
#include <stdlib.h>

#include "store/base/num.h"
#include "store/base/utf8.h"

enum { NUMBER_MAX = 63 };

/* The rest of a line that is being read. */
struct prom_cursor {
	const uint8_t *at;
	const uint8_t *end;
};

static int cursor_peek(const struct prom_cursor *c)
{
	return c->at < c->end ? *c->at : -1;
}

static bool cursor_eat(struct prom_cursor *c, int byte)
{
	if (cursor_peek(c) != byte)
		return false;
	c->at++;
	return true;
}

static void skip_blanks(struct prom_cursor *c)
{
	while (cursor_peek(c) == ' ' || cursor_peek(c) == '\t')
		c->at++;
}

static bool is_letter(int byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       byte == '_';
}

static bool is_digit(int byte)
{
	return byte >= '0' && byte <= '9';
}

/* A metric's name may have colons, a label's may not. */
static struct pl_span take_name(struct prom_cursor *c, bool colons)
{
	const uint8_t *from = c->at;

	while (is_letter(cursor_peek(c)) || (colons && cursor_peek(c) == ':') ||
	       (c->at > from && is_digit(cursor_peek(c))))
		c->at++;
	return pl_span(from, (size_t)(c->at - from));
}

static struct pl_span take_word(struct prom_cursor *c)
{
	const uint8_t *from = c->at;

	while (cursor_peek(c) > ' ')
		c->at++;
	return pl_span(from, (size_t)(c->at - from));
}

/* Reads a quoted value; the quotes are dropped, the escapes stay. */
static bool take_quoted(struct prom_cursor *c, struct pl_span *value)
{
	const uint8_t *from;

	if (!cursor_eat(c, '"'))
		return false;
	from = c->at;
	while (cursor_peek(c) != '"') {
		size_t len = pl_utf8_char(c->at, (size_t)(c->end - c->at));

		if (c->at == c->end || len == 0)
			return false;
		c->at += len;
		if (c->at[-1] != '\\')
			continue;
		if (cursor_peek(c) != '\\' && cursor_peek(c) != '"' &&
		    cursor_peek(c) != 'n')
			return false;
		c->at++;
	}
	*value = pl_span(from, (size_t)(c->at - from));
	return cursor_eat(c, '"');
}

static bool take_label(struct prom_cursor *c, struct prom_label *label)
{
	label->name = take_name(c, false);
	skip_blanks(c);
	if (label->name.len == 0 || !cursor_eat(c, '='))
		return false;
	skip_blanks(c);
	return take_quoted(c, &label->value);
}

static bool take_labels(struct prom_cursor *c, struct prom_sample *sample)
{
	if (!cursor_eat(c, '{'))
		return true;
	for (;;) {
		skip_blanks(c);
		if (cursor_eat(c, '}')) /* also after a trailing comma */
			return true;
		if (sample->label_count == PROM_LABELS_MAX ||
		    !take_label(c, &sample->labels[sample->label_count]))
			return false;
		sample->label_count++;
		skip_blanks(c);
		if (!cursor_eat(c, ',') && cursor_peek(c) != '}')
			return false;
	}
}

enum pl_code prom_number(struct pl_span text, double *out)
{
	static const struct {
		const char *word;
		double value;
	} words[] = {
		{"+Inf", INFINITY}, {"Inf", INFINITY}, {"-Inf", -INFINITY}, {"NaN", NAN}};
	char copy[NUMBER_MAX + 1];
	char *end;
	double value;

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (pl_span_eq(text, pl_span_str(words[i].word))) {
			*out = words[i].value;
			return PL_OK;
		}
	}
	if (text.len == 0 || text.len > NUMBER_MAX)
		return PL_INVALID;
	/* strtod() accepts more than the format: hex, "infinity", blanks. */
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] == 0 || strchr("+-.eE0123456789", text.at[i]) == NULL)
			return PL_INVALID;
	}
	memcpy(copy, text.at, text.len);
	copy[text.len] = 0;
	value = strtod(copy, &end);
	if (*end != 0)
		return PL_INVALID;
	*out = value;
	return PL_OK;
}

static const char *read_sample(struct prom_cursor *c, struct prom_sample *sample)
{
	struct pl_span word;

	*sample = (struct prom_sample){.name = take_name(c, true)};
	if (sample->name.len == 0)
		return "no metric name";
	skip_blanks(c);
	if (!take_labels(c, sample))
		return "bad labels";
	skip_blanks(c);
	if (prom_number(take_word(c), &sample->value) != PL_OK)
		return "no value";
	skip_blanks(c);
	word = take_word(c);
	if (word.len > 0) {
		if (pl_num_i64(word, &sample->time_ms, NULL) != PL_OK)
			return "bad time stamp";
		sample->has_time = true;
	}
	skip_blanks(c);
	return c->at == c->end ? NULL : "text after the sample";
}

/* Takes the text up to the line's end and skips the end. */
static struct pl_span take_line(struct prom_reader *reader)
{
	struct pl_span rest = reader->rest;
	const uint8_t *end = memchr(rest.at, '\n', rest.len);
	size_t len = end == NULL ? rest.len : (size_t)(end - rest.at);
	size_t passed = end == NULL ? len : len + 1;

	reader->rest = pl_span(rest.at + passed, rest.len - passed);
	reader->line++;
	return pl_span(rest.at, len);
}

void prom_init(struct prom_reader *reader, struct pl_span text)
{
	*reader = (struct prom_reader){.rest = text};
}

enum pl_code prom_next(struct prom_reader *reader, struct prom_sample *sample,
                       struct pl_err *err)
{
	while (reader->rest.len > 0) {
		struct pl_span line = take_line(reader);
		struct prom_cursor c = {line.at, line.at + line.len};
		const char *wrong;

		if (line.len > PROM_LINE_MAX)
			return pl_err_set(err, PL_INVALID, "line %u: too long",
			                  reader->line);
		skip_blanks(&c);
		if (c.at == c.end || *c.at == '#')
			continue;
		wrong = read_sample(&c, sample);
		if (wrong != NULL)
			return pl_err_set(err, PL_INVALID, "line %u: %s", reader->line,
			                  wrong);
		return PL_OK;
	}
	return PL_NOTFOUND;
}

bool prom_label(const struct prom_sample *sample, const char *name, struct pl_span *value)
{
	for (size_t i = 0; i < sample->label_count; i++) {
		if (pl_span_eq(sample->labels[i].name, pl_span_str(name))) {
			*value = sample->labels[i].value;
			return true;
		}
	}
	return false;
}
