#include "coord/cli/input/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/base/alloc.h"

const char *files_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

void files_done(struct files *files)
{
	for (unsigned i = 0; i < files->count; i++)
		free(files->path[i]);
	free(files->path);
	*files = (struct files){0};
}

static enum pl_code put_path(struct files *files, char *path, struct pl_err *err)
{
	char **at = NULL;

	if (path != NULL && files->count < FILES_MAX)
		at = pl_realloc(files->path, (files->count + 1) * sizeof *at);
	if (at == NULL) {
		bool many = files->count == FILES_MAX;

		free(path);
		return pl_err_set(err, many ? PL_LIMIT : PL_NOMEM,
		                  many ? "want at most %d files" : "keep %d files",
		                  FILES_MAX);
	}
	files->path = at;
	files->path[files->count++] = path;
	return PL_OK;
}

static bool has_suffix(const char *name, size_t len, const char *end)
{
	size_t size = strlen(end);

	return len > size && memcmp(name + len - size, end, size) == 0;
}

static bool has_objects(const char *name)
{
	static const char *const endings[] = {".json", ".jsonl", ".ndjson", ".yaml",
	                                      ".yml"};
	size_t len = strlen(name);

	if (has_suffix(name, len, ".gz"))
		len -= 3;
	for (unsigned i = 0; i < sizeof endings / sizeof endings[0]; i++)
		if (name[0] != '.' && has_suffix(name, len, endings[i]))
			return true;
	return false;
}

static char *join_path(const char *dir, const char *name)
{
	size_t size = strlen(dir) + strlen(name) + 2;
	char *out = pl_malloc(size);

	if (out != NULL)
		(void)snprintf(out, size, "%s/%s", dir, name);
	return out;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum pl_code put_dir(struct files *files, const char *path, struct pl_err *err)
{
	unsigned before = files->count;
	enum pl_code code = PL_OK;
	struct dirent *entry;
	DIR *dir = opendir(path);

	if (dir == NULL)
		return pl_err_set(err, PL_IO, "open %s: %s", path, strerror(errno));
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a DIR of our own */
	while (code == PL_OK && (entry = readdir(dir)) != NULL)
		if (has_objects(entry->d_name))
			code = put_path(files, join_path(path, entry->d_name), err);
	(void)closedir(dir);
	if (code != PL_OK)
		return code;
	if (files->count == before)
		return pl_err_set(err, PL_NOTFOUND,
		                  "%s has no file that ends in .json, .jsonl, .ndjson, "
		                  ".yaml or .yml",
		                  path);
	qsort(files->path + before, files->count - before, sizeof files->path[0],
	      compare_paths);
	return PL_OK;
}

enum pl_code files_add(struct files *files, const char *path, struct pl_err *err)
{
	struct stat is;

	if (strcmp(path, "-") == 0)
		return put_path(files, pl_strdup(path), err);
	if (stat(path, &is) != 0)
		return pl_err_set(err, PL_IO, "open %s: %s", path, strerror(errno));
	return S_ISDIR(is.st_mode) ? put_dir(files, path, err)
	                           : put_path(files, pl_strdup(path), err);
}
