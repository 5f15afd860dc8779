#include "tests/conformance_k8s/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "store/base/alloc.h"
#include "tests/harness/t.h"

enum { LINE_MAX_BYTES = 16 << 20, CHUNK = 64 << 10 };

const char *const cases_categories[] = {
	"fit",          "images",  "interpod",   "invalid", "mixed",
	"nodeaffinity", "ports",   "preemption", "spread",  "spreaddefault",
	"taints",       "volumes", NULL};

struct cases {
	gzFile file;
	struct pl_buf buf;
	size_t used; /* bytes of buf that were given out */
	bool end;
};

struct cases *cases_open(const char *category)
{
	const char *root = getenv("T_ROOT");
	struct cases *cases = pl_calloc(1, sizeof *cases);
	char path[512];

	T_TRUE(cases != NULL);
	(void)snprintf(path, sizeof path, "%s/tests/conformance/%s.jsonl.gz",
	               root == NULL ? "." : root, category);
	cases->file = gzopen(path, "rb");
	if (cases->file == NULL)
		t_fail(__FILE__, __LINE__, "cannot open %s", path);
	pl_buf_init(&cases->buf, LINE_MAX_BYTES);
	return cases;
}

void cases_close(struct cases *cases)
{
	T_EQ(gzclose(cases->file), Z_OK);
	pl_buf_done(&cases->buf);
	free(cases);
}

static void fill_buffer(struct cases *cases)
{
	int got;

	T_OK(pl_buf_reserve(&cases->buf, CHUNK), NULL);
	got = gzread(cases->file, cases->buf.at + cases->buf.len, CHUNK);
	T_TRUE(got >= 0);
	cases->buf.len += (size_t)got;
	cases->end = got == 0;
}

bool cases_next(struct cases *cases, struct pl_span *line)
{
	size_t from = 0;

	pl_buf_drop(&cases->buf, cases->used);
	cases->used = 0;
	for (;;) {
		const uint8_t *newline = NULL;

		if (cases->buf.len > from)
			newline =
				memchr(cases->buf.at + from, '\n', cases->buf.len - from);
		if (newline != NULL) {
			size_t len = (size_t)(newline - cases->buf.at);

			*line = pl_span(cases->buf.at, len);
			cases->used = len + 1;
			return true;
		}
		if (cases->end) {
			T_EQ(cases->buf.len, 0); /* every line ends */
			return false;
		}
		from = cases->buf.len;
		fill_buffer(cases);
	}
}
