#include "coord/kubeconfig/kubeconfig_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, STEP = 16 << 10 };

/* -- reading ---------------------------------------------------------------------------- */

enum pl_code kubeconfig_read_file(const char *path, struct pl_buf *out,
                                  struct pl_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum pl_code code = PL_OK;
	ssize_t got = 0;

	if (fd < 0)
		return pl_err_set(err, errno == ENOENT ? PL_NOTFOUND : PL_IO,
		                  "%.150s: %s", path, strerror(errno));
	do {
		code = pl_buf_reserve(out, STEP);
		if (code != PL_OK)
			break;
		got = read(fd, out->at + out->len, STEP);
		if (got > 0)
			out->len += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	if (code == PL_OK && got < 0)
		(void)pl_err_set(err, PL_IO, "%.150s: %s", path, strerror(errno));
	else if (code != PL_OK)
		(void)pl_err_set(err, code, "%.150s: too large", path);
	(void)close(fd);
	return code == PL_OK && got < 0 ? PL_IO : code;
}

static void wipe(struct pl_buf *buf)
{
	if (buf->at != NULL)
		explicit_bzero(buf->at, buf->cap);
	pl_buf_done(buf);
}

static enum pl_code add_file(struct kubeconfig *config, const char *path,
                             struct pl_err *err)
{
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, KUBECONFIG_FILE_MAX + STEP);
	code = kubeconfig_read_file(path, &text, err);
	if (code == PL_OK)
		code = kubeconfig_add(config, pl_buf_span(&text), path, err);
	wipe(&text);
	return code;
}

/* -- where the files are ---------------------------------------------------------------- */

/* Adds the files of KUBECONFIG; a missing one is skipped. */
static enum pl_code add_listed(struct kubeconfig *config, const char *list,
                               unsigned *added, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	while (*list != 0 && code == PL_OK) {
		size_t len = strcspn(list, ":");
		char path[PATH_SIZE];

		if (len >= sizeof path)
			return pl_err_set(err, PL_INVALID,
			                  "KUBECONFIG: a name is too long");
		memcpy(path, list, len);
		path[len] = 0;
		list += len + (list[len] == ':');
		if (len == 0)
			continue;
		code = add_file(config, path, err);
		*added += code == PL_OK;
		if (code == PL_NOTFOUND)
			code = PL_OK;
	}
	return code;
}

static enum pl_code add_home(struct kubeconfig *config, struct pl_err *err)
{
	const char *home = getenv("HOME");
	char *path;

	if (home == NULL || *home == 0)
		return pl_err_set(err, PL_NOTFOUND, "no kubeconfig: HOME is not set");
	path = pl_arena_printf(&config->arena, "%s/.kube/config", home);
	if (path == NULL)
		return pl_err_set(err, PL_NOMEM, "a kubeconfig");
	return add_file(config, path, err);
}

enum pl_code kubeconfig_load(struct kubeconfig *config, const char *path,
                             struct pl_err *err)
{
	const char *list = getenv("KUBECONFIG");
	unsigned added = 0;
	enum pl_code code;

	if (path != NULL)
		return add_file(config, path, err);
	if (list == NULL || *list == 0)
		return add_home(config, err);
	code = add_listed(config, list, &added, err);
	if (code == PL_OK && added == 0)
		return pl_err_set(err, PL_NOTFOUND,
		                  "KUBECONFIG: none of its files exists");
	return code;
}

/* -- tokens, and the pod that this runs in ---------------------------------------------- */

enum pl_code kubeconfig_read_token(const char *path, char out[KUBECONFIG_TOKEN_MAX],
                                   struct pl_err *err)
{
	struct pl_buf text;
	enum pl_code code;
	size_t len = 0;

	pl_buf_init(&text, KUBECONFIG_TOKEN_MAX + 2 * STEP);
	code = kubeconfig_read_file(path, &text, err);
	if (code == PL_OK) {
		while (len < text.len && text.at[len] > ' ' && text.at[len] < 0x7f)
			len++;
		if (len == 0 || len >= KUBECONFIG_TOKEN_MAX ||
		    (len < text.len && text.at[len] != '\n' && text.at[len] != '\r'))
			code = pl_err_set(err, PL_INVALID,
			                  "%.150s: its first line is not a token", path);
	}
	if (code == PL_OK) {
		memcpy(out, text.at, len);
		out[len] = 0;
	}
	wipe(&text);
	return code;
}

bool kubeconfig_in_pod(const char *dir)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	char path[PATH_SIZE];
	int len = snprintf(path, sizeof path, "%s/token", dir);

	return host != NULL && *host != 0 && len > 0 && (size_t)len < sizeof path &&
	       access(path, R_OK) == 0;
}

enum pl_code kubeconfig_pod_target(struct pl_arena *arena, const char *dir,
                                   struct kubeconfig_target *out, struct pl_err *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	struct kubeconfig_target target = {.server = NULL};
	char *url, *ca, *token;

	if (host == NULL || *host == 0)
		return pl_err_set(err, PL_NOTFOUND, "KUBERNETES_SERVICE_HOST is not set");
	url = pl_arena_printf(
		arena, strchr(host, ':') != NULL ? "https://[%s]:%s" : "https://%s:%s",
		host, port == NULL || *port == 0 ? "443" : port);
	ca = pl_arena_printf(arena, "%s/ca.crt", dir);
	token = pl_arena_printf(arena, "%s/token", dir);
	if (url == NULL || ca == NULL || token == NULL)
		return pl_err_set(err, PL_NOMEM, "the pod's own cluster");
	if (kubeconfig_server(arena, url, &target.server, err) != PL_OK)
		return err->code;
	target.ca_file = ca;
	target.token_file = token;
	*out = target;
	return PL_OK;
}
