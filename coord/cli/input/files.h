/* The files that a path means: the file itself, or the files with objects in a
 * directory (.json, .jsonl, .ndjson, .yaml, .yml, each also .gz), sorted by name.
 * Directories in a directory are not entered. */
#ifndef COORD_CLI_INPUT_FILES_H
#define COORD_CLI_INPUT_FILES_H

#include "store/base/err.h"

enum { FILES_MAX = 65536 };

/* Zeroed: empty. */
struct files {
	char **path; /* "-" is standard input */
	unsigned count;
};

/* PL_IO: the path does not exist; PL_NOTFOUND: a directory without such files;
 * PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code files_add(struct files *files, const char *path,
                                    struct pl_err *err);
void files_done(struct files *files);

/* The name of the file for messages. */
const char *files_name(const char *path);

#endif
