/* A file of credentials that is read again when it changes. */
#ifndef COORD_ACCESS_AUTHN_AUTHN_FILE_H
#define COORD_ACCESS_AUTHN_AUTHN_FILE_H

#include "store/base/buf.h"
#include "store/base/err.h"

struct authn_file {
	char *path; /* NULL: there is none */
	int64_t mtime_s, mtime_ns, ctime_s, ctime_ns, size;
	uint64_t device, inode;
	bool failed; /* the last look found it unusable, which was told */
};

/* PL_NOMEM. path NULL: there is none. */
PL_NODISCARD enum pl_code authn_file_init(struct authn_file *file, const char *path,
                                          struct pl_err *err);
void authn_file_done(struct authn_file *file);

/* Whether the file is another than the one that was read last. */
bool authn_file_changed(const struct authn_file *file);
/* Reads it whole. PL_IO: it can not be read, is no regular file, or is larger than
 * out->max; the message names it. */
PL_NODISCARD enum pl_code authn_file_read(struct authn_file *file, struct pl_buf *out,
                                          struct pl_err *err);

#endif
