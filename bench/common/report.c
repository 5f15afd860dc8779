#include "bench/common/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "store/base/clock.h"

const char *bench_name = "bench";

void bench_fail(const char *fmt, ...)
{
	va_list args;

	(void)fprintf(stderr, "bench: ");
	va_start(args, fmt);
	(void)vfprintf(stderr, fmt, args);
	va_end(args);
	(void)fprintf(stderr, "\n");
	exit(BENCH_FAILED);
}

void bench_check(enum pl_code code, const struct pl_err *err, const char *what)
{
	if (code != PL_OK)
		bench_fail("%s: %s", what,
		           err == NULL || err->code == PL_OK ? pl_code_name(code)
		                                             : err->msg);
}

void bench_say(const char *fmt, ...)
{
	va_list args;

	(void)fprintf(stderr, "# ");
	va_start(args, fmt);
	(void)vfprintf(stderr, fmt, args);
	va_end(args);
	(void)fprintf(stderr, "\n");
}

void *bench_alloc(size_t count, size_t size)
{
	void *at = calloc(count == 0 ? 1 : count, size);

	if (at == NULL)
		bench_fail("out of memory");
	return at;
}

/* -- figures --------------------------------------------------------------- */

void bench_field(struct bench_fields *fields, const char *fmt, ...)
{
	va_list args;
	int len;

	if (fields->len > 0)
		fields->at[fields->len++] = ',';
	va_start(args, fmt);
	len = vsnprintf(fields->at + fields->len, sizeof fields->at - fields->len, fmt,
	                args);
	va_end(args);
	if (len < 0 || (size_t)len + 1 >= sizeof fields->at - fields->len)
		bench_fail("the case takes too many words");
	fields->len += (size_t)len;
}

void bench_emit(const char *fields, const char *metric, double value, const char *unit)
{
	(void)printf("{\"bench\":\"%s\",\"case\":{%s},\"metric\":\"%s\",\"value\":%.9g,"
	             "\"unit\":\"%s\"}\n",
	             bench_name, fields, metric, value, unit);
	(void)fflush(stdout);
}

void bench_environment(const char *more)
{
	struct bench_fields fields = {.len = 0};
	struct utsname host;

	(void)uname(&host);
	bench_field(&fields, "\"cores\":%ld,\"kernel\":\"%s\",\"build\":\"%s\"",
	            sysconf(_SC_NPROCESSORS_ONLN), host.release,
#ifdef __OPTIMIZE__
	            "optimized"
#else
	            "debug"
#endif
	);
	if (more != NULL && more[0] != 0)
		bench_field(&fields, "%s", more);
	bench_emit(fields.at, "environment", 1, "");
}

/* -- time and memory -------------------------------------------------------- */

double bench_now_s(void)
{
	return (double)pl_clock_ns() / 1e9;
}

double bench_cpu_s(pid_t pid)
{
	struct timespec at;
	clockid_t id;

	if (pid == 0)
		return (double)pl_clock_cpu_ns() / 1e9;
	if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &at) != 0)
		return 0;
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

double bench_rss_max(pid_t pid)
{
	static const char peak[] = "VmHWM:";
	char path[64], line[256];
	double bytes = 0;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%ld/status",
	               (long)(pid == 0 ? getpid() : pid));
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, peak, sizeof peak - 1) == 0)
			bytes = strtod(line + sizeof peak - 1, NULL) * 1024;
	if (file != NULL)
		(void)fclose(file);
	return bytes;
}
