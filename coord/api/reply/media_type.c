#include "coord/api/reply/media_type.h"

static bool is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t';
}

static struct pl_span trim(struct pl_span text)
{
	while (text.len > 0 && is_blank(text.at[0]))
		text = pl_span(text.at + 1, text.len - 1);
	while (text.len > 0 && is_blank(text.at[text.len - 1]))
		text.len--;
	return text;
}

struct pl_span media_split(struct pl_span *rest, char separator)
{
	struct pl_span text = *rest;
	bool quoted = false;
	size_t at = 0;

	for (; at < text.len; at++) {
		if (quoted && text.at[at] == '\\' && at + 1 < text.len)
			at++;
		else if (text.at[at] == '"')
			quoted = !quoted;
		else if (!quoted && text.at[at] == (uint8_t)separator)
			break;
	}
	*rest = at < text.len ? pl_span(text.at + at + 1, text.len - at - 1)
	                      : pl_span(text.at + at, 0);
	return pl_span(text.at, at);
}

/* RFC 9110. */
static bool is_token(struct pl_span text)
{
	for (size_t i = 0; i < text.len; i++) {
		uint8_t byte = text.at[i];

		if (byte <= ' ' || byte >= 0x7f ||
		    strchr("()<>@,;:\\\"/[]?={}", byte) != NULL)
			return false;
	}
	return text.len > 0;
}

static uint8_t lower(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte - 'A' + 'a') : byte;
}

bool media_name_is(struct pl_span name, const char *want)
{
	if (name.len != strlen(want))
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (lower(name.at[i]) != lower((uint8_t)want[i]))
			return false;
	return true;
}

bool media_type_is(const struct media_type *type, const char *want)
{
	const char *slash = strchr(want, '/');
	size_t len = (size_t)(slash - want);

	return type->type.len == len && type->subtype.len == strlen(slash + 1) &&
	       media_name_is(type->subtype, slash + 1) &&
	       media_name_is(pl_span(type->type.at, len + 1 + type->subtype.len), want);
}

/* "name=value", "name=\"value\"" */
static bool parse_param(struct pl_span text, struct media_param *out)
{
	struct pl_span rest = text, name = trim(media_split(&rest, '='));
	struct pl_span value = trim(rest);
	bool quoted =
		value.len >= 2 && value.at[0] == '"' && value.at[value.len - 1] == '"';

	if (name.len + 1 > text.len || !is_token(name))
		return false;
	if (quoted)
		value = pl_span(value.at + 1, value.len - 2);
	else if (!is_token(value))
		return false;
	*out = (struct media_param){name, value};
	return true;
}

bool media_type_parse(struct pl_span text, struct media_type *out)
{
	struct pl_span name = trim(media_split(&text, ';')), subtype = name;
	struct pl_span type = media_split(&subtype, '/');

	if (!is_token(type) || !is_token(subtype))
		return false;
	*out = (struct media_type){.type = type, .subtype = subtype};
	while (text.len > 0) {
		struct pl_span param = trim(media_split(&text, ';'));

		if (param.len == 0)
			continue;
		if (out->param_count == MEDIA_PARAMS_MAX ||
		    !parse_param(param, &out->params[out->param_count]))
			return false;
		out->param_count++;
	}
	return true;
}
