/*
 * Reads a member's log: its end, and the one line that says why the member ended. etcd
 * writes that line last when it gives up (" C | "), but first, before pages of help, when
 * it refuses a flag.
 */
#include <stdlib.h>
#include <string.h>

#include "store/etcd/launch_int.h"

enum { READ_MAX = 4096 };

/* Reads up to size - 1 bytes and ends them with a NUL. */
static size_t read_at(const char *path, long from, int whence, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t len = 0;

	if (file != NULL && fseek(file, from, whence) == 0)
		len = fread(text, 1, size - 1, file);
	if (file != NULL)
		(void)fclose(file);
	text[len] = 0;
	return len;
}

static long file_size(const char *path)
{
	FILE *file = fopen(path, "re");
	long size = 0;

	if (file == NULL)
		return 0;
	if (fseek(file, 0, SEEK_END) == 0)
		size = ftell(file);
	(void)fclose(file);
	return size;
}

const char *etcd_launch_log_tail(const struct etcd_launch *launch, unsigned member,
                                 char *text, size_t size)
{
	const char *path;
	long end, want = (long)size - 1;
	char *line;

	PL_ASSERT(member < launch->count);
	PL_ASSERT(size > 0);
	path = launch->members[member].log_path;
	end = file_size(path);
	if (end <= want) {
		(void)read_at(path, 0, SEEK_SET, text, size);
		return text;
	}
	(void)read_at(path, end - want, SEEK_SET, text, size);
	line = strchr(text, '\n'); /* the text before it is cut off */
	if (line != NULL && line[1] != 0)
		memmove(text, line + 1, strlen(line + 1) + 1);
	return text;
}

static int line_score(const char *line)
{
	static const char *const words[] = {"not defined", "invalid",   "error",
	                                    "panic",       "not found", "denied",
	                                    "conflicting"};

	if (*line == 0 || *line == ' ' || strncmp(line, "usage:", 6) == 0)
		return 0;
	if (strstr(line, " C | ") != NULL || strstr(line, "\"fatal\"") != NULL)
		return 3;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (strstr(line, words[i]) != NULL)
			return 2;
	}
	return 1;
}

/* Keeps the line with the best score; of equals the last, but of lines that name an error
 * the first. */
static void best_line(char *log, int *best, char *text, size_t size)
{
	char *save = NULL;

	for (char *line = strtok_r(log, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		int score = line_score(line);

		if (score > *best || (score == *best && score == 1)) {
			*best = score;
			(void)snprintf(text, size, "%s", line);
		}
	}
}

const char *launch_log_reason(const struct launch_member *member, char *text, size_t size)
{
	char log[READ_MAX];
	long end = file_size(member->log_path);
	int best = 0;

	(void)snprintf(text, size, "it wrote no log");
	(void)read_at(member->log_path, member->log_from, SEEK_SET, log, sizeof log);
	best_line(log, &best, text, size);
	if (end - member->log_from > READ_MAX - 1) {
		(void)read_at(member->log_path, end - (READ_MAX - 1), SEEK_SET, log,
		              sizeof log);
		best_line(log, &best, text, size);
	}
	return text;
}
