#include "coord/cli/eval/eval_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "store/base/alloc.h"

enum { CHUNK = 64 << 10, CHUNK_ZLIB = 128 << 10 };

struct eval_lines {
	gzFile file;
	struct pl_buf buf;
	size_t line_max;
	size_t used; /* bytes of buf that were given out */
	size_t number;
	bool end;
};

static gzFile open_file(const char *path)
{
	int fd;
	gzFile file;

	if (strcmp(path, "-") != 0)
		return gzopen(path, "rbe");
	fd = dup(STDIN_FILENO);
	file = fd < 0 ? NULL : gzdopen(fd, "rb");
	if (file == NULL && fd >= 0)
		(void)close(fd);
	return file;
}

enum pl_code eval_lines_open(const char *path, size_t line_max, struct eval_lines **out,
                             struct pl_err *err)
{
	struct eval_lines *lines = pl_calloc(1, sizeof *lines);

	if (lines == NULL)
		return pl_err_set(err, PL_NOMEM, "open %s", path);
	errno = 0;
	lines->file = open_file(path);
	if (lines->file == NULL) {
		free(lines);
		return pl_err_set(err, PL_IO, "open %s: %s", path, strerror(errno));
	}
	(void)gzbuffer(lines->file, CHUNK_ZLIB);
	lines->line_max = line_max;
	pl_buf_init(&lines->buf, line_max + CHUNK + 1);
	*out = lines;
	return PL_OK;
}

void eval_lines_close(struct eval_lines *lines)
{
	if (lines == NULL)
		return;
	(void)gzclose(lines->file);
	pl_buf_done(&lines->buf);
	free(lines);
}

size_t eval_lines_number(const struct eval_lines *lines)
{
	return lines->number;
}

static enum pl_code fail_read(struct eval_lines *lines, struct pl_err *err)
{
	int number = Z_OK;
	const char *why = gzerror(lines->file, &number);

	lines->end = true;
	pl_buf_clear(&lines->buf, SIZE_MAX);
	return pl_err_set(err, PL_IO, "read: %s",
	                  number == Z_ERRNO ? strerror(errno) : why);
}

static enum pl_code fill_buffer(struct eval_lines *lines, struct pl_err *err)
{
	enum pl_code code = pl_buf_reserve(&lines->buf, CHUNK);
	int got, number = Z_OK;

	if (code != PL_OK)
		return pl_err_set(err, code, "read: %s", pl_code_name(code));
	got = gzread(lines->file, lines->buf.at + lines->buf.len, CHUNK);
	if (got < 0)
		return fail_read(lines, err);
	lines->buf.len += (size_t)got;
	lines->end = got == 0;
	/* A truncated file reads like one that ends. */
	(void)gzerror(lines->file, &number);
	return got == 0 && number != Z_OK ? fail_read(lines, err) : PL_OK;
}

/* Skips the rest of a line that is too long. */
static enum pl_code skip_line(struct eval_lines *lines, struct pl_err *err)
{
	for (;;) {
		const uint8_t *newline =
			lines->buf.len == 0 ? NULL
					    : memchr(lines->buf.at, '\n', lines->buf.len);
		enum pl_code code;

		if (newline != NULL) {
			pl_buf_drop(&lines->buf, (size_t)(newline - lines->buf.at) + 1);
			break;
		}
		pl_buf_clear(&lines->buf, SIZE_MAX);
		if (lines->end)
			break;
		code = fill_buffer(lines, err);
		if (code != PL_OK)
			return code;
	}
	return pl_err_set(err, PL_LIMIT, "a line of more than %zu bytes",
	                  lines->line_max);
}

static void give_line(struct eval_lines *lines, size_t len, size_t used,
                      struct pl_span *line)
{
	*line = pl_span(lines->buf.at, len);
	lines->used = used;
}

enum pl_code eval_lines_next(struct eval_lines *lines, struct pl_span *line, bool *more,
                             struct pl_err *err)
{
	size_t from = 0;

	pl_buf_drop(&lines->buf, lines->used);
	lines->used = 0;
	lines->number++;
	*more = true;
	for (;;) {
		const uint8_t *at = lines->buf.at + from, *newline;
		size_t left = lines->buf.len - from, len = lines->buf.len;
		enum pl_code code;

		newline = left == 0 ? NULL : memchr(at, '\n', left);
		if (newline != NULL)
			len = (size_t)(newline - lines->buf.at);
		if (len > lines->line_max)
			return skip_line(lines, err);
		if (newline != NULL || (lines->end && len > 0)) {
			give_line(lines, len, len + (newline != NULL), line);
			return PL_OK;
		}
		*more = !lines->end;
		if (lines->end)
			return PL_OK;
		from = lines->buf.len;
		code = fill_buffer(lines, err);
		if (code != PL_OK)
			return code;
	}
}
