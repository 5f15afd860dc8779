#include "shardsched/expand/json_template.h"

void json_template_init(struct json_template *json_template, size_t bytes_max)
{
	*json_template = (struct json_template){.count = 0};
	pl_buf_init(&json_template->text, bytes_max);
}

void json_template_done(struct json_template *json_template)
{
	pl_buf_done(&json_template->text);
}

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static void add_placeholder(struct json_template *json_template, uint8_t what)
{
	PL_ASSERT(json_template->count < TEMPLATE_OPEN_MAX && what <= TEMPLATE_INDEX_AT);
	json_template->open[json_template->count].at = json_template->text.len;
	json_template->open[json_template->count++].what = what;
}

enum pl_code json_template_set(struct json_template *json_template, struct pl_span json)
{
	bool quoted = false, escaped = false;
	enum pl_code code;

	pl_buf_clear(&json_template->text, SIZE_MAX);
	json_template->count = 0;
	code = pl_buf_reserve(&json_template->text, json.len);
	for (size_t i = 0; i < json.len && code == PL_OK; i++) {
		uint8_t byte = json.at[i];

		if (quoted && byte < ' ') {
			add_placeholder(json_template, byte);
			continue;
		}
		if (!quoted && is_space(byte))
			continue;
		if (byte == '"' && !escaped)
			quoted = !quoted;
		escaped = quoted && byte == '\\' && !escaped;
		json_template->text.at[json_template->text.len++] = byte;
	}
	return code;
}

bool json_template_eq(const struct json_template *a, const struct json_template *b)
{
	if (a->count != b->count ||
	    !pl_span_eq(pl_buf_span(&a->text), pl_buf_span(&b->text)))
		return false;
	for (unsigned i = 0; i < a->count; i++)
		if (a->open[i].at != b->open[i].at || a->open[i].what != b->open[i].what)
			return false;
	return true;
}

static struct pl_span fill_value(const struct json_template_fill *fill, uint8_t what)
{
	switch (what) {
	case TEMPLATE_NAME_AT:
		return fill->name;
	case TEMPLATE_UID_AT:
		return fill->uid;
	default:
		return fill->index;
	}
}

enum pl_code json_template_print(const struct json_template *json_template,
                                 const struct json_template_fill *fill,
                                 struct pl_buf *out)
{
	struct pl_span text = pl_buf_span(&json_template->text);
	enum pl_code code = PL_OK;
	size_t from = 0;

	for (unsigned i = 0; i < json_template->count && code == PL_OK; i++) {
		size_t to = json_template->open[i].at;

		code = pl_buf_add(out, pl_span(text.at + from, to - from));
		if (code == PL_OK)
			code = pl_buf_add(out,
			                  fill_value(fill, json_template->open[i].what));
		from = to;
	}
	return code == PL_OK ? pl_buf_add(out, pl_span(text.at + from, text.len - from))
	                     : code;
}
