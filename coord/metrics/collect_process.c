/* The kernel's figures of the process, by the names that all exporters use. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "coord/metrics/collect.h"

/* The numbers of /proc/self/stat behind the command, which may hold anything. */
struct stat_numbers {
	unsigned long long user_ticks, system_ticks, start_ticks, virtual_bytes;
	long resident_pages;
};

static bool read_stat(struct stat_numbers *out)
{
	char text[1024];
	FILE *file = fopen("/proc/self/stat", "re");
	size_t len = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
	const char *at;

	if (file != NULL)
		(void)fclose(file);
	text[len] = 0;
	at = strrchr(text, ')');
	/* From field 3, the state, to field 24. */
	return at != NULL &&
	       sscanf(at + 1, /* NOLINT(cert-err34-c): the kernel's numbers */
	              " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d "
	              "%*d %*d %*d %*d %llu %llu %ld",
	              &out->user_ticks, &out->system_ticks, &out->start_ticks,
	              &out->virtual_bytes, &out->resident_pages) == 5;
}

/* Seconds since 1970 at which the machine started; 0: not known. */
static double boot_seconds(void)
{
	struct timespec wall, up;

	if (clock_gettime(CLOCK_REALTIME, &wall) != 0 ||
	    clock_gettime(CLOCK_BOOTTIME, &up) != 0)
		return 0;
	return (double)(wall.tv_sec - up.tv_sec) +
	       (double)(wall.tv_nsec - up.tv_nsec) / 1e9;
}

static unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	if (dir == NULL)
		return 0;
	while (readdir(dir) != NULL)
		count++;
	(void)closedir(dir);
	return count > 3 ? count - 3 : 0; /* ".", "..", and the directory's own */
}

/* The allocator's own figures are left out: it walks all free chunks for them, under the
 * locks that the shards allocate under. */
static void collect_memory(struct metric_set *set)
{
	static const struct {
		const char *line, *kind;
	} kinds[] = {{"RssAnon:", "anonymous"}, {"RssFile:", "file"}, {"VmHWM:", "peak"}};
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
			size_t len = strlen(kinds[i].line);

			if (strncmp(line, kinds[i].line, len) == 0)
				metric_add(set, M_MEMORY,
				           METRIC_VALUES(pl_span_str(kinds[i].kind)),
				           strtod(line + len, NULL) * 1024);
		}
	if (file != NULL)
		(void)fclose(file);
}

void collect_process(struct metric_set *set, const char *version)
{
	struct stat_numbers stat = {0};
	struct rlimit limit;
	double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);

	metric_put(set, M_BUILD_INFO,
	           METRIC_VALUES(pl_span_str(version), PL_SPAN_LIT(__VERSION__)), 1);
	collect_memory(set);
	metric_add(set, M_OPEN_FDS, NULL, count_fds());
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		metric_add(set, M_MAX_FDS, NULL, (double)limit.rlim_cur);
	if (!read_stat(&stat))
		return;
	metric_add(set, M_CPU_SECONDS, NULL,
	           (double)(stat.user_ticks + stat.system_ticks) * tick);
	metric_add(set, M_RESIDENT, NULL,
	           (double)stat.resident_pages * (double)sysconf(_SC_PAGESIZE));
	metric_add(set, M_VIRTUAL, NULL, (double)stat.virtual_bytes);
	metric_add(set, M_START_SECONDS, NULL,
	           boot_seconds() + (double)stat.start_ticks * tick);
}
