#include "coord/access/authn/authn_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/alloc.h"
#include "store/base/fault.h"

enum { PIECE = 64 << 10 };

enum pl_code authn_file_init(struct authn_file *file, const char *path,
                             struct pl_err *err)
{
	*file = (struct authn_file){0};
	if (path == NULL)
		return PL_OK;
	file->path = pl_strdup(path);
	return file->path != NULL ? PL_OK : pl_err_set(err, PL_NOMEM, "%s", path);
}

void authn_file_done(struct authn_file *file)
{
	free(file->path);
	file->path = NULL;
}

static void stamp_take(struct authn_file *file, const struct stat *st)
{
	file->mtime_s = st->st_mtim.tv_sec;
	file->mtime_ns = st->st_mtim.tv_nsec;
	file->ctime_s = st->st_ctim.tv_sec;
	file->ctime_ns = st->st_ctim.tv_nsec;
	file->size = st->st_size;
	file->device = st->st_dev;
	file->inode = st->st_ino;
}

bool authn_file_changed(const struct authn_file *file)
{
	struct authn_file now = *file;
	struct stat st;

	if (stat(file->path, &st) != 0)
		return !file->failed;
	stamp_take(&now, &st);
	return now.mtime_s != file->mtime_s || now.mtime_ns != file->mtime_ns ||
	       now.ctime_s != file->ctime_s || now.ctime_ns != file->ctime_ns ||
	       now.size != file->size || now.device != file->device ||
	       now.inode != file->inode;
}

static enum pl_code bytes_read(int fd, struct pl_buf *out, const char *path,
                               struct pl_err *err)
{
	for (;;) {
		size_t room = out->max - out->len < PIECE ? out->max - out->len : PIECE;
		ssize_t got;

		/* One byte more than fits shows that the file is too large; the buffer has
		 * a spare byte. */
		if (pl_buf_reserve(out, room) != PL_OK)
			return pl_err_set(err, PL_NOMEM, "%s", path);
		got = pl_fault_hit(PL_FAULT_FILE_READ)
		              ? -1
		              : read(fd, out->at + out->len, room + 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return pl_err_set(err, PL_IO, "%s: %s", path, strerror(errno));
		if (got == 0)
			return PL_OK;
		if ((size_t)got > out->max - out->len)
			return pl_err_set(err, PL_IO, "%s: larger than %zu bytes", path,
			                  out->max);
		out->len += (size_t)got;
	}
}

enum pl_code authn_file_read(struct authn_file *file, struct pl_buf *out,
                             struct pl_err *err)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	enum pl_code code;

	if (fd < 0)
		return pl_err_set(err, PL_IO, "%s: %s", file->path, strerror(errno));
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return pl_err_set(err, PL_IO, "%s: not a file", file->path);
	}
	stamp_take(file, &st);
	code = bytes_read(fd, out, file->path, err);
	(void)close(fd);
	return code;
}
