#include "coord/kubeconfig/kubeconfig_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coord/kubeconfig/kubeconfig_int.h"
#include "store/base/json_out.h"
#include "store/base/yaml.h"

enum { JSON_MAX = 8 << 20, PATH_SIZE = 4096 };

static void put_text(struct pl_json_out *out, const char *name, const char *text)
{
	if (text == NULL)
		return;
	pl_json_out_name(out, name);
	pl_json_out_str(out, text);
}

/* PL_NOMEM. */
static enum pl_code put_pem(struct pl_json_out *out, struct pl_arena *arena,
                            const char *name, const char *file, struct pl_span data)
{
	char data_name[64];
	char *text;

	if (data.len == 0) {
		put_text(out, name, file);
		return PL_OK;
	}
	text = kubeconfig_base64_print(arena, data);
	if (text == NULL)
		return PL_NOMEM;
	(void)snprintf(data_name, sizeof data_name, "%s-data", name);
	put_text(out, data_name, text);
	return PL_OK;
}

/* Begins "kinds: [{name: NAME, kind: {". */
static void begin_entry(struct pl_json_out *out, const char *list, const char *part,
                        const char *name)
{
	pl_json_out_name(out, list);
	pl_json_out_array(out);
	pl_json_out_object(out);
	put_text(out, "name", name);
	pl_json_out_name(out, part);
	pl_json_out_object(out);
}

static void end_entry(struct pl_json_out *out)
{
	pl_json_out_end(out);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

static enum pl_code put_all(struct pl_json_out *out, struct pl_arena *arena,
                            const struct kubeconfig_target *target, const char *name)
{
	enum pl_code code;

	pl_json_out_object(out);
	put_text(out, "apiVersion", "v1");
	put_text(out, "kind", "Config");
	put_text(out, "current-context", name);
	begin_entry(out, "clusters", "cluster", name);
	put_text(out, "server", target->server);
	put_text(out, "tls-server-name", target->server_name);
	code = put_pem(out, arena, "certificate-authority", target->ca_file,
	               target->ca_data);
	end_entry(out);
	begin_entry(out, "users", "user", name);
	put_text(out, "token", target->token);
	put_text(out, "tokenFile", target->token_file);
	if (code == PL_OK)
		code = put_pem(out, arena, "client-certificate", target->cert_file,
		               target->cert_data);
	if (code == PL_OK)
		code = put_pem(out, arena, "client-key", target->key_file,
		               target->key_data);
	end_entry(out);
	begin_entry(out, "contexts", "context", name);
	put_text(out, "cluster", name);
	put_text(out, "user", name);
	put_text(out, "namespace", target->namespace);
	end_entry(out);
	pl_json_out_end(out);
	return code == PL_OK ? pl_json_out_done(out) : code;
}

enum pl_code kubeconfig_print(const struct kubeconfig_target *target, const char *name,
                              struct pl_buf *out, struct pl_err *err)
{
	struct pl_json_limits limits = pl_json_limits_default;
	struct pl_json_out json_out;
	struct pl_arena arena;
	struct pl_json value;
	struct pl_buf json;
	enum pl_code code;

	limits.bytes = JSON_MAX;
	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&json, JSON_MAX);
	pl_json_out_init(&json_out, &json);
	code = put_all(&json_out, &arena, target, name);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "write a kubeconfig");
	else
		code = pl_json_parse(&arena, pl_buf_span(&json), &limits, &value, err);
	if (code == PL_OK)
		code = pl_yaml_from_json(value, out, err);
	if (json.at != NULL)
		explicit_bzero(json.at, json.cap);
	pl_buf_done(&json);
	pl_arena_done(&arena);
	return code;
}

/* -- the file --------------------------------------------------------------------------- */

static enum pl_code write_all(int fd, struct pl_span text, const char *path,
                              struct pl_err *err)
{
	while (text.len > 0) {
		ssize_t put = write(fd, text.at, text.len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return pl_err_set(err, PL_IO, "%.150s: %s", path,
			                  strerror(errno));
		text = pl_span(text.at + put, text.len - (size_t)put);
	}
	return PL_OK;
}

/* A reader sees the old file or the new one. */
enum pl_code kubeconfig_save(struct pl_span text, const char *path, struct pl_err *err)
{
	char temporary[PATH_SIZE];
	enum pl_code code;
	int fd, len;

	if (strcmp(path, "-") == 0)
		return write_all(STDOUT_FILENO, text, "standard output", err);
	len = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
	if (len < 0 || (size_t)len >= sizeof temporary)
		return pl_err_set(err, PL_INVALID, "%.100s...: the name is too long",
		                  path);
	fd = mkostemp(temporary, O_CLOEXEC); /* mode 600 */
	if (fd < 0)
		return pl_err_set(err, PL_IO, "%.150s: %s", path, strerror(errno));
	code = write_all(fd, text, path, err);
	if (close(fd) != 0 && code == PL_OK)
		code = pl_err_set(err, PL_IO, "%.150s: %s", path, strerror(errno));
	if (code == PL_OK && rename(temporary, path) != 0)
		code = pl_err_set(err, PL_IO, "%.150s: %s", path, strerror(errno));
	if (code != PL_OK)
		(void)unlink(temporary);
	return code;
}
