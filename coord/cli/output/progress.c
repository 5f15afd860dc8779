#include "coord/cli/output/progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINES_EACH_MS = 5000, RATE_EACH_MS = 1000 };

static volatile sig_atomic_t line_open;

/* The handler resets itself, so the signal has its default effect. */
static void on_signal(int number)
{
	if (line_open != 0)
		(void)!write(STDERR_FILENO, "\n", 1);
	(void)raise(number);
}

/* Catches the signal, unless the program handles or ignores it already. */
static void catch_signal(int number)
{
	struct sigaction action = {.sa_handler = on_signal,
	                           .sa_flags = (int)SA_RESETHAND};
	struct sigaction is;

	if (sigaction(number, NULL, &is) == 0 && (is.sa_flags & SA_SIGINFO) == 0 &&
	    is.sa_handler == SIG_DFL)
		(void)sigaction(number, &action, NULL);
}

void progress_init(struct progress *progress, uint64_t now_ms)
{
	*progress = (struct progress){.terminal = isatty(STDERR_FILENO) == 1,
	                              .printed_ms = now_ms,
	                              .rate_ms = now_ms};
	if (!progress->terminal)
		return;
	catch_signal(SIGINT);
	catch_signal(SIGTERM);
}

void progress_print(struct progress *progress, uint64_t now_ms, const char *fmt, ...)
{
	uint64_t each = progress->terminal ? PROGRESS_EACH_MS : LINES_EACH_MS;
	char text[PROGRESS_TEXT_MAX];
	va_list args;

	if (now_ms - progress->printed_ms < each)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (strcmp(text, progress->last) == 0)
		return;
	(void)snprintf(progress->last, sizeof progress->last, "%s", text);
	progress->printed_ms = now_ms;
	progress->open = progress->terminal;
	line_open = progress->open;
	/* Goes to the start of the line and clears it. */
	(void)fprintf(stderr, progress->terminal ? "\r\033[K%s" : "%s\n", text);
	(void)fflush(stderr);
}

double progress_rate(struct progress *progress, uint64_t now_ms, uint64_t count)
{
	uint64_t since = now_ms - progress->rate_ms;

	if (since >= RATE_EACH_MS) {
		progress->rate =
			(double)(count - progress->rate_count) * 1e3 / (double)since;
		progress->rate_ms = now_ms;
		progress->rate_count = count;
	}
	return progress->rate;
}

void progress_end(struct progress *progress)
{
	if (progress->open)
		(void)fprintf(stderr, "\n");
	progress->open = false;
	line_open = 0;
}
