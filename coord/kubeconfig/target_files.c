#include "coord/kubeconfig/target_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static enum pl_code write_whole(int fd, struct pl_span data)
{
	while (data.len > 0) {
		ssize_t put = write(fd, data.at, data.len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return PL_IO;
		data = pl_span(data.at + put, data.len - (size_t)put);
	}
	return PL_OK;
}

/* *out: the file's name, or that of a file in memory with the data; NULL: neither. */
static enum pl_code open_one(struct target_files *files, unsigned which, const char *file,
                             struct pl_span data, const char **out, struct pl_err *err)
{
	*out = file;
	if (data.len == 0)
		return PL_OK;
	files->fd[which] = memfd_create("placet-pem", MFD_CLOEXEC);
	if (files->fd[which] < 0 || write_whole(files->fd[which], data) != PL_OK)
		return pl_err_set(err, PL_IO, "keep a certificate in memory: %s",
		                  strerror(errno));
	(void)snprintf(files->name[which], TARGET_FILES_NAME_SIZE, "/proc/self/fd/%d",
	               files->fd[which]);
	*out = files->name[which];
	return PL_OK;
}

enum pl_code target_files_open(const struct kubeconfig_target *target,
                               struct target_files *out, struct pl_err *err)
{
	enum pl_code code;

	*out = (struct target_files){.fd = {-1, -1, -1}};
	out->tls.server_name = target->server_name;
	code = open_one(out, 0, target->ca_file, target->ca_data, &out->tls.ca_file, err);
	if (code == PL_OK)
		code = open_one(out, 1, target->cert_file, target->cert_data,
		                &out->tls.cert_file, err);
	if (code == PL_OK)
		code = open_one(out, 2, target->key_file, target->key_data,
		                &out->tls.key_file, err);
	if (code != PL_OK)
		target_files_close(out);
	return code;
}

void target_files_close(struct target_files *files)
{
	for (unsigned i = 0; i < TARGET_FILES_COUNT; i++) {
		if (files->fd[i] >= 0)
			(void)close(files->fd[i]);
		files->fd[i] = -1;
	}
}
