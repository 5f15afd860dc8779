#include "tests/sim/story.h"

#include <inttypes.h>
#include <stdarg.h>

void story_print(struct story *story, const char *who, const char *fmt, ...)
{
	va_list args;

	(void)fprintf(story->out, "[%5" PRIu64 ".%03" PRIu64 "] %-7s ",
	              *story->now_ms / 1000, *story->now_ms % 1000, who);
	va_start(args, fmt);
	(void)vfprintf(story->out, fmt, args);
	va_end(args);
	(void)fputc('\n', story->out);
}
