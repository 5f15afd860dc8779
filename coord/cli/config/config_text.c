#include "coord/cli/config/config_text.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "store/base/json_out.h"
#include "store/base/quote.h"
#include "store/base/yaml.h"

enum { PATH_DEPTH_MAX = 16, READ_STEP = 1 << 16, JSON_MAX = 2 * CONFIG_TEXT_MAX };

/* -- files --------------------------------------------------------------------------- */

static enum pl_code read_all(int fd, struct pl_buf *out)
{
	for (;;) {
		ssize_t got;
		enum pl_code code = pl_buf_reserve(out, READ_STEP);

		if (code != PL_OK)
			return code;
		got = read(fd, out->at + out->len, READ_STEP);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 ? PL_OK : PL_IO;
		out->len += (size_t)got;
	}
}

enum pl_code config_text_read(const char *path, struct pl_arena *arena,
                              struct pl_json *out, struct pl_err *err)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	enum pl_code code;
	struct pl_buf buf;

	if (fd < 0)
		return pl_err_set(err, PL_IO, "%s: %s", path, strerror(errno));
	pl_buf_init(&buf, CONFIG_TEXT_MAX + READ_STEP);
	code = read_all(fd, &buf);
	if (code == PL_IO)
		pl_err_set(err, code, "%s: %s", path, strerror(errno));
	else if (code == PL_LIMIT || buf.len > CONFIG_TEXT_MAX)
		code = pl_err_set(err, PL_LIMIT, "%s: longer than %d bytes", path,
		                  CONFIG_TEXT_MAX);
	else if (code != PL_OK)
		pl_err_set(err, code, "%s", path);
	if (code == PL_OK &&
	    config_text_parse(pl_buf_span(&buf), arena, out, err) != PL_OK)
		code = pl_err_wrap(err, "%s", standard ? "standard input" : path);
	pl_buf_done(&buf);
	if (!standard)
		(void)close(fd);
	return code;
}

/* -- text ---------------------------------------------------------------------------- */

struct config_parse {
	struct pl_arena *arena;
	struct pl_json *out;
	unsigned documents;
};

static enum pl_code on_document(void *ctx, struct pl_span json, struct pl_err *err)
{
	struct config_parse *parsing = ctx;

	if (parsing->documents++ > 0)
		return pl_err_set(err, PL_INVALID, "more than one document");
	return pl_json_parse(parsing->arena, json, NULL, parsing->out, err);
}

enum pl_code config_text_parse(struct pl_span yaml, struct pl_arena *arena,
                               struct pl_json *out, struct pl_err *err)
{
	struct pl_json value = {0};
	struct config_parse parsing = {.arena = arena, .out = &value};
	enum pl_code code = pl_yaml_to_json(yaml, NULL, on_document, &parsing, err);

	if (code != PL_OK)
		return code;
	if (parsing.documents == 0)
		return pl_err_set(err, PL_INVALID, "there is nothing in it");
	*out = value;
	return PL_OK;
}

enum pl_code config_text_print(struct pl_json value, struct pl_arena *arena,
                               struct pl_span *out, struct pl_err *err)
{
	struct pl_json_out json;
	struct pl_span text;
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, JSON_MAX);
	pl_json_out_init(&json, &buf);
	pl_json_out_value(&json, value);
	code = pl_json_out_done(&json);
	text = code == PL_OK ? pl_arena_dup(arena, pl_buf_span(&buf))
	                     : (struct pl_span){0};
	pl_buf_done(&buf);
	if (code == PL_OK && text.at == NULL)
		code = PL_NOMEM;
	if (code != PL_OK)
		return pl_err_set(err, code, "print a configuration");
	*out = text;
	return PL_OK;
}

/* -- one value -------------------------------------------------------------------------
 */

struct config_setting {
	const char *path[PATH_DEPTH_MAX];
	unsigned depth;
	bool remove;
	struct pl_json value;
};

/* Splits a copy of the assignment in place. */
static enum pl_code split_assignment(char *path, struct config_setting *setting,
                                     struct pl_err *err)
{
	char *to = path;

	setting->path[setting->depth++] = path;
	for (char *from = path; *from != 0; from++) {
		if (*from == '.' && setting->depth == PATH_DEPTH_MAX)
			return pl_err_set(err, PL_INVALID, "deeper than %d names",
			                  PATH_DEPTH_MAX);
		if (*from == '.') {
			*to++ = 0;
			setting->path[setting->depth++] = to;
			continue;
		}
		if (*from == '\\' && from[1] == '.')
			from++;
		*to++ = *from;
	}
	*to = 0;
	for (unsigned i = 0; i < setting->depth; i++)
		if (*setting->path[i] == 0)
			return pl_err_set(err, PL_INVALID, "a name in the path is empty");
	return PL_OK;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the path, which is bounded. */
static void write_with(struct pl_json_out *out, struct pl_json is,
                       const struct config_setting *setting, unsigned depth);

static void write_member(struct pl_json_out *out, struct pl_json is,
                         const struct config_setting *setting, unsigned depth)
{
	bool last = depth + 1 == setting->depth;

	if (last && setting->remove)
		return;
	pl_json_out_name(out, setting->path[depth]);
	if (last)
		pl_json_out_value(out, setting->value);
	else
		write_with(out, is, setting, depth + 1);
}

/* A copy of the value at this depth with the new value in it: in the place of the
 * old one, or after the other members. */
static void write_with(struct pl_json_out *out, struct pl_json is,
                       const struct config_setting *setting, unsigned depth)
{
	struct pl_json none = {0};
	bool met = false;

	pl_json_out_object(out);
	PL_JSON_EACH (each, is) {
		if (strcmp(pl_json_key(each), setting->path[depth]) == 0) {
			write_member(out, each, setting, depth);
			met = true;
			continue;
		}
		pl_json_out_name(out, pl_json_key(each));
		pl_json_out_value(out, each);
	}
	if (!met)
		write_member(out, none, setting, depth);
	pl_json_out_end(out);
}
/* NOLINTEND(misc-no-recursion) */

/* A value that is no object has no members, so the path can not lead through it. */
static enum pl_code check_path(struct pl_json base, const struct config_setting *setting,
                               struct pl_err *err)
{
	struct pl_json at = base;

	for (unsigned i = 0; i + 1 < setting->depth; i++) {
		at = pl_json_member(at, setting->path[i]);
		if (pl_json_type(at) == PL_JSON_ABSENT)
			return PL_OK;
		if (pl_json_type(at) != PL_JSON_OBJECT)
			return pl_json_fail(at, PL_INVALID, err, "it is no object but %s",
			                    pl_json_type_name(pl_json_type(at)));
	}
	return PL_OK;
}

static enum pl_code write_set(struct pl_json base, const struct config_setting *setting,
                              struct pl_arena *arena, struct pl_json *out,
                              struct pl_err *err)
{
	struct pl_json_out json;
	struct pl_buf buf;
	enum pl_code code = check_path(base, setting, err);

	if (code != PL_OK)
		return code;
	pl_buf_init(&buf, JSON_MAX);
	pl_json_out_init(&json, &buf);
	write_with(&json, base, setting, 0);
	code = pl_json_out_done(&json);
	if (code == PL_OK)
		code = pl_json_parse(arena, pl_buf_span(&buf), NULL, out, err);
	else
		pl_err_set(err, code, "write a configuration");
	pl_buf_done(&buf);
	return code;
}

enum pl_code config_text_set(struct pl_json base, const char *assignment,
                             struct pl_arena *arena, struct pl_json *out,
                             struct pl_err *err)
{
	const char *equals = strchr(assignment, '=');
	struct config_setting setting = {0};
	char quoted[PL_QUOTE_SIZE];
	char *path;
	enum pl_code code;

	if (equals == NULL || equals == assignment)
		return pl_err_set(err, PL_INVALID, "%s: want path=value",
		                  pl_quote(pl_span_str(assignment), quoted));
	path = pl_arena_printf(arena, "%.*s", (int)(equals - assignment), assignment);
	if (path == NULL)
		return pl_err_set(err, PL_NOMEM, "set a value");
	setting.remove = equals[1] == 0;
	code = split_assignment(path, &setting, err);
	if (code == PL_OK && !setting.remove)
		code = config_text_parse(pl_span_str(equals + 1), arena, &setting.value,
		                         err);
	if (code == PL_OK)
		code = write_set(base, &setting, arena, out, err);
	if (code != PL_OK)
		return pl_err_wrap(err, "%s", pl_quote(pl_span_str(assignment), quoted));
	return PL_OK;
}
