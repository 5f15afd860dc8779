#include "shardsched/expand/mould.h"

void mould_init(struct mould *mould, size_t bytes_max)
{
	*mould = (struct mould){.count = 0};
	pl_buf_init(&mould->text, bytes_max);
}

void mould_done(struct mould *mould)
{
	pl_buf_done(&mould->text);
}

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static void open_here(struct mould *mould, uint8_t what)
{
	PL_ASSERT(mould->count < MOULD_OPEN_MAX && what <= MOULD_INDEX_AT);
	mould->open[mould->count].at = mould->text.len;
	mould->open[mould->count++].what = what;
}

enum pl_code mould_set(struct mould *mould, struct pl_span json)
{
	bool quoted = false, escaped = false;
	enum pl_code code;

	pl_buf_clear(&mould->text, SIZE_MAX);
	mould->count = 0;
	code = pl_buf_reserve(&mould->text, json.len);
	for (size_t i = 0; i < json.len && code == PL_OK; i++) {
		uint8_t byte = json.at[i];

		if (quoted && byte < ' ') {
			open_here(mould, byte);
			continue;
		}
		if (!quoted && is_space(byte))
			continue;
		if (byte == '"' && !escaped)
			quoted = !quoted;
		escaped = quoted && byte == '\\' && !escaped;
		mould->text.at[mould->text.len++] = byte;
	}
	return code;
}

bool mould_eq(const struct mould *a, const struct mould *b)
{
	if (a->count != b->count ||
	    !pl_span_eq(pl_buf_span(&a->text), pl_buf_span(&b->text)))
		return false;
	for (unsigned i = 0; i < a->count; i++)
		if (a->open[i].at != b->open[i].at || a->open[i].what != b->open[i].what)
			return false;
	return true;
}

static struct pl_span filled(const struct mould_fill *fill, uint8_t what)
{
	switch (what) {
	case MOULD_NAME_AT:
		return fill->name;
	case MOULD_UID_AT:
		return fill->uid;
	default:
		return fill->index;
	}
}

enum pl_code mould_print(const struct mould *mould, const struct mould_fill *fill,
                         struct pl_buf *out)
{
	struct pl_span text = pl_buf_span(&mould->text);
	enum pl_code code = PL_OK;
	size_t from = 0;

	for (unsigned i = 0; i < mould->count && code == PL_OK; i++) {
		size_t to = mould->open[i].at;

		code = pl_buf_add(out, pl_span(text.at + from, to - from));
		if (code == PL_OK)
			code = pl_buf_add(out, filled(fill, mould->open[i].what));
		from = to;
	}
	return code == PL_OK ? pl_buf_add(out, pl_span(text.at + from, text.len - from))
	                     : code;
}
