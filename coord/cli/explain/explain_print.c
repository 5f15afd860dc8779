#include "coord/cli/explain/explain_print.h"

#include <string.h>

#include "coord/cli/output/printable.h"

static enum pl_code print_line(struct pl_buf *out, struct pl_span *rest)
{
	const uint8_t *end = memchr(rest->at, '\n', rest->len);
	size_t len = end == NULL ? rest->len : (size_t)(end - rest->at);
	enum pl_code code = printable_add(out, pl_span(rest->at, len), NULL);

	len += end != NULL;
	*rest = pl_span(rest->at + len, rest->len - len);
	return code == PL_OK ? pl_buf_add_str(out, "\n") : code;
}

enum pl_code explain_print(const struct explain *explain, struct pl_buf *out)
{
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, EXPLAIN_OUT_MAX);
	code = explain_text(explain, &text);
	for (struct pl_span rest = pl_buf_span(&text); code == PL_OK && rest.len > 0;)
		code = print_line(out, &rest);
	pl_buf_done(&text);
	return code;
}
