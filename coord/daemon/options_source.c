#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "coord/daemon/options_int.h"
#include "store/base/json.h"
#include "store/base/num.h"
#include "store/base/quote.h"
#include "store/base/yaml.h"

/* Options from files and from the environment. */

enum { FILE_BYTES_MAX = 1 << 20 };

/* -- files ------------------------------------------------------------------------- */

static enum pl_code read_all(struct pl_arena *arena, const char *path,
                             struct pl_span *out, struct pl_err *err)
{
	uint8_t *at = pl_arena_alloc(arena, FILE_BYTES_MAX + 1);
	size_t len = 0;
	ssize_t got = 1;
	int fd, error;

	if (at == NULL)
		return pl_err_set(err, PL_NOMEM, "%s", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && got > 0 && len <= FILE_BYTES_MAX) {
		got = read(fd, at + len, FILE_BYTES_MAX + 1 - len);
		len += got > 0 ? (size_t)got : 0;
	}
	error = errno;
	if (fd >= 0)
		(void)close(fd);
	if (fd < 0 || got < 0)
		return pl_err_set(err, PL_INVALID, "%s", strerror(error));
	if (len > FILE_BYTES_MAX)
		return pl_err_set(err, PL_INVALID, "larger than %d bytes",
		                  FILE_BYTES_MAX);
	*out = pl_span(at, len);
	return PL_OK;
}

static int option_of_field(const char *field)
{
	char name[64];

	for (int i = 0; i < DAEMON_OPTION_COUNT; i++)
		if (strcmp(option_field((enum daemon_option)i, name), field) == 0)
			return i;
	return -1;
}

/* A string as it is, a whole number as its digits. */
static enum pl_code text_of(struct pl_json value, char number[PL_NUM_TEXT_SIZE],
                            struct pl_span *out, struct pl_err *err)
{
	const struct pl_json_range any = {INT64_MIN, INT64_MAX};
	const char *text;
	int64_t n;

	if (pl_json_type(value) == PL_JSON_NUMBER) {
		if (pl_json_as_int(value, any, &n, err) != PL_OK)
			return PL_INVALID;
		*out = pl_span(number, pl_num_print_i64(number, n));
		return PL_OK;
	}
	if (pl_json_as_string(value, &text, err) != PL_OK)
		return PL_INVALID;
	*out = pl_span_str(text);
	return PL_OK;
}

static enum pl_code apply_field(struct daemon_opts *opts, struct pl_json value,
                                const char *path, struct pl_err *err)
{
	int option = option_of_field(pl_json_key(value));
	char number[PL_NUM_TEXT_SIZE], source[DAEMON_SOURCE_SIZE];
	struct pl_err why = {0};
	struct pl_span text = {0};

	if (option < 0)
		return pl_json_fail(value, PL_INVALID, err, "no such option");
	if (text_of(value, number, &text, err) != PL_OK)
		return PL_INVALID;
	(void)snprintf(source, sizeof source, "%s", path);
	if (option_apply(opts, (enum daemon_option)option, text, source, &why) == PL_OK)
		return PL_OK;
	return pl_json_fail(value, PL_INVALID, err, "%s", why.msg);
}

struct options_file {
	struct daemon_opts *opts;
	const char *path;
};

static enum pl_code apply_fields(const struct options_file *file, struct pl_json root,
                                 struct pl_err *err)
{
	if (pl_json_type(root) != PL_JSON_OBJECT)
		return pl_err_set(err, PL_INVALID, "want an object, not %s",
		                  pl_json_type_name(pl_json_type(root)));
	PL_JSON_EACH (value, root)
		if (apply_field(file->opts, value, file->path, err) != PL_OK)
			return err->code;
	return PL_OK;
}

static enum pl_code apply_document(void *ctx, struct pl_span json, struct pl_err *err)
{
	struct pl_arena arena;
	struct pl_json root;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = pl_json_parse(&arena, json, NULL, &root, err);
	if (code == PL_OK)
		code = apply_fields(ctx, root, err);
	pl_arena_done(&arena);
	return code;
}

enum pl_code options_from_file(struct daemon_opts *opts, const char *path,
                               struct pl_err *err)
{
	struct options_file file = {.opts = opts, .path = path};
	struct pl_arena arena;
	struct pl_span text = {0};
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = read_all(&arena, path, &text, err);
	if (code == PL_OK)
		code = pl_yaml_to_json(text, NULL, apply_document, &file, err);
	pl_arena_done(&arena);
	return code == PL_OK ? PL_OK : pl_err_wrap(err, "--config %s", path);
}

/* -- the environment --------------------------------------------------------------- */

/* Variables with our prefix that are not options: the password, those of the tools in
 * the source tree, and those that Kubernetes sets for a Service named placet. */
static bool is_known_other(struct pl_span name)
{
	static const char *const whole[] = {"PLACET_PASSWORD", "PLACET_BUILDS",
	                                    "PLACET_SERVER", "PLACET_BENCH_BUILD",
	                                    "PLACET_PORT"};
	static const char *const starts[] = {"PLACET_SERVICE_HOST", "PLACET_SERVICE_PORT",
	                                     "PLACET_PORT_"};

	for (unsigned i = 0; i < sizeof whole / sizeof whole[0]; i++)
		if (pl_span_eq(name, pl_span_str(whole[i])))
			return true;
	for (unsigned i = 0; i < sizeof starts / sizeof starts[0]; i++)
		if (pl_span_starts(name, pl_span_str(starts[i])))
			return true;
	return false;
}

static int option_of_variable(struct pl_span name)
{
	char room[64];

	for (int i = 0; i < DAEMON_OPTION_COUNT; i++)
		if (pl_span_eq(name,
		               pl_span_str(option_variable((enum daemon_option)i, room))))
			return i;
	return -1;
}

static enum pl_code apply_password(struct daemon_opts *opts, const char *text,
                                   struct pl_err *err)
{
	size_t len = strlen(text);

	if (len >= sizeof opts->store.password)
		return pl_err_set(err, PL_INVALID,
		                  "PLACET_PASSWORD: longer than %d bytes",
		                  STORE_SECRET_MAX - 1);
	memcpy(opts->store.password, text, len + 1);
	return PL_OK;
}

static enum pl_code apply_variable(struct daemon_opts *opts, struct pl_span name,
                                   const char *value, struct pl_err *err)
{
	char source[128], quoted[PL_QUOTE_SIZE];
	int option;

	if (pl_span_eq(name, PL_SPAN_LIT("PLACET_PASSWORD")))
		return apply_password(opts, value, err);
	if (is_known_other(name))
		return PL_OK;
	option = option_of_variable(name);
	if (option < 0)
		return pl_err_set(err, PL_INVALID,
		                  "environment: no variable %s (see --help)",
		                  pl_quote(name, quoted));
	(void)snprintf(source, sizeof source, "%.*s", (int)name.len,
	               (const char *)name.at);
	if (option_apply(opts, (enum daemon_option)option, pl_span_str(value), source,
	                 err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "%s=%s", source, pl_quote(pl_span_str(value), quoted));
}

enum pl_code options_from_environment(struct daemon_opts *opts, char **environment,
                                      struct pl_err *err)
{
	for (char **at = environment; *at != NULL; at++) {
		const char *equals = strchr(*at, '=');

		if (equals == NULL || strncmp(*at, "PLACET_", strlen("PLACET_")) != 0)
			continue;
		if (apply_variable(opts, pl_span(*at, (size_t)(equals - *at)), equals + 1,
		                   err) != PL_OK)
			return err->code;
	}
	return PL_OK;
}
