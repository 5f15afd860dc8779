#include "coord/cli/output/message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "coord/cli/output/printable.h"

enum { LINE_MAX_BYTES = 16 << 10 };

static void print_line(const char *before, const char *text, const char *after)
{
	struct pl_buf line;

	pl_buf_init(&line, LINE_MAX_BYTES);
	if (printable_add(&line, pl_span_str(text), NULL) != PL_OK)
		pl_buf_clear(&line, 0);
	(void)fprintf(stderr, "%s" PL_SPAN_FMT "%s\n", before,
	              PL_SPAN_ARG(pl_buf_span(&line)), after);
	pl_buf_done(&line);
}

enum exit_code print_error(const char *words, const struct pl_err *err)
{
	const char *advice = pl_code_advice(err->cause);
	char before[80], after[160] = "";

	(void)snprintf(before, sizeof before, "placet %s: ", words);
	/* The name of the code is left out where the message says more, as that of a
	 * system call does. */
	if (err->cause != PL_IO && strstr(err->msg, advice) == NULL &&
	    strstr(err->msg, "; ") == NULL)
		(void)snprintf(after, sizeof after, "; %s", advice);
	print_line(before, err->msg, after);
	return EXIT_FAILED;
}

enum exit_code print_usage_error(const char *words, const struct pl_err *err)
{
	char before[80];

	(void)snprintf(before, sizeof before, "placet %s: ", words);
	print_line(before, err->msg, "\n(--help shows the options)");
	return EXIT_USAGE;
}

void print_message(const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	print_line("", text, "");
}

enum pl_code print_result(struct pl_buf *buf, struct pl_err *err)
{
	size_t wrote = buf->len == 0 ? 0 : fwrite(buf->at, 1, buf->len, stdout);
	bool good = wrote == buf->len && fflush(stdout) == 0;

	/* A reader that closes the pipe has seen enough (| head): that is no
	 * failure. */
	if (!good && errno == EPIPE)
		_exit(EXIT_FAILED);
	if (!good)
		return pl_err_set(err, PL_IO, "print: %s", strerror(errno));
	pl_buf_clear(buf, buf->max);
	return PL_OK;
}
