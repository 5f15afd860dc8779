#include "coord/cli/input/objects.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "coord/cli/input/files.h"
#include "coord/service/input/object_source.h"
#include "shardsched/model/object.h"
#include "store/base/buf.h"
#include "store/base/json_scan.h"
#include "store/base/yaml.h"

enum { CHUNK = 1 << 20, VALUES_MAX = 100 << 20 };

static const struct pl_json_limits limits = {
	.bytes = OBJECTS_BYTES_MAX,
	.depth = PL_JSON_DEPTH_MAX,
	.values = VALUES_MAX,
};

struct objects_reading {
	objects_fn *fn;
	void *ctx;
	unsigned long number; /* objects that were handed over */
};

static bool ends_with(struct pl_span text, const char *end)
{
	size_t len = strlen(end);

	return text.len >= len && memcmp(text.at + text.len - len, end, len) == 0;
}

static enum pl_code give_object(struct objects_reading *reading, struct pl_span json,
                                struct pl_err *err)
{
	struct pl_span kind = input_object_string(json, "kind");

	reading->number++;
	if (reading->fn(reading->ctx, kind, json, err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "object %lu", reading->number);
}

static enum pl_code give_items(struct objects_reading *reading, struct pl_span items,
                               struct pl_err *err)
{
	for (;;) {
		struct pl_span item = object_item(&items);
		enum pl_code code;

		if (item.len == 0)
			return PL_OK;
		if (item.at[0] != '{')
			return pl_err_set(err, PL_INVALID,
			                  "object %lu: it is no object, but begins with "
			                  "%c",
			                  reading->number + 1, item.at[0]);
		code = give_object(reading, item, err);
		if (code != PL_OK)
			return code;
	}
}

/* json is one value, scanned. */
static enum pl_code give_value(struct objects_reading *reading, struct pl_span json,
                               struct pl_err *err)
{
	struct pl_span items;

	if (json.at[0] == '[')
		return give_items(reading, json, err);
	if (json.at[0] != '{')
		return pl_err_set(err, PL_INVALID, "it is no object, but begins with %c",
		                  json.at[0]);
	items = object_member(json, "items");
	if (items.len > 0 && items.at[0] == '[' &&
	    ends_with(input_object_string(json, "kind"), "List"))
		return give_items(reading, items, err);
	return give_object(reading, json, err);
}

static enum pl_code on_document(void *ctx, struct pl_span json, struct pl_err *err)
{
	return give_value(ctx, json, err);
}

/* Parses values one after another. */
static enum pl_code parse_json(struct objects_reading *reading, struct pl_span text,
                               struct pl_err *err)
{
	for (;;) {
		struct pl_span value = object_next(&text);
		enum pl_code code;

		if (value.len == 0)
			return PL_OK;
		code = pl_json_scan(value, &limits, err);
		if (code != PL_OK)
			return pl_err_wrap(err, "object %lu", reading->number + 1);
		code = give_value(reading, value, err);
		if (code != PL_OK)
			return code;
	}
}

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

struct pl_span objects_without_bom(struct pl_span text)
{
	struct pl_span mark = PL_SPAN_LIT("\xEF\xBB\xBF");

	if (text.len < mark.len || memcmp(text.at, mark.at, mark.len) != 0)
		return text;
	return pl_span(text.at + mark.len, text.len - mark.len);
}

enum pl_code objects_parse(struct pl_span text, objects_fn *fn, void *ctx,
                           struct pl_err *err)
{
	struct objects_reading reading = {.fn = fn, .ctx = ctx};
	size_t at = 0;

	text = objects_without_bom(text);
	while (at < text.len && is_space(text.at[at]))
		at++;
	if (at < text.len && (text.at[at] == '{' || text.at[at] == '['))
		return parse_json(&reading, text, err);
	return pl_yaml_to_json(text, &limits, on_document, &reading, err);
}

/* -- files --------------------------------------------------------------------------- */

static gzFile open_file(const char *path)
{
	int fd;

	if (strcmp(path, "-") != 0)
		return gzopen(path, "rbe");
	fd = dup(STDIN_FILENO);
	return fd < 0 ? NULL : gzdopen(fd, "rb");
}

static enum pl_code read_all(gzFile file, struct pl_buf *out, struct pl_err *err)
{
	for (;;) {
		enum pl_code code = pl_buf_reserve(out, CHUNK);
		int got, number = Z_OK;

		if (code != PL_OK)
			return pl_err_set(err, code, "read: %s",
			                  code == PL_LIMIT ? "more than 1 GiB"
			                                   : pl_code_name(code));
		errno = 0;
		got = gzread(file, out->at + out->len, CHUNK);
		if (got <= 0) {
			/* A truncated file reads like one that ends. */
			const char *why = gzerror(file, &number);

			if (got == 0 && number == Z_OK)
				return PL_OK;
			return pl_err_set(err, PL_IO, "read: %s",
			                  number == Z_ERRNO ? strerror(errno) : why);
		}
		out->len += (size_t)got;
	}
}

static enum pl_code read_one(const char *path, objects_fn *fn, void *ctx,
                             struct pl_err *err)
{
	const char *name = files_name(path);
	enum pl_code code;
	struct pl_buf text;
	gzFile file;

	errno = 0;
	file = open_file(path);
	if (file == NULL)
		return pl_err_set(err, PL_IO, "open %s: %s", name, strerror(errno));
	(void)gzbuffer(file, CHUNK);
	pl_buf_init(&text, (size_t)OBJECTS_BYTES_MAX + CHUNK);
	code = read_all(file, &text, err);
	(void)gzclose_r(file);
	if (code == PL_OK)
		code = objects_parse(pl_buf_span(&text), fn, ctx, err);
	pl_buf_done(&text);
	return code == PL_OK ? PL_OK : pl_err_wrap(err, "%s", name);
}

enum pl_code objects_read(const char *path, objects_fn *fn, void *ctx, struct pl_err *err)
{
	struct files files = {0};
	enum pl_code code = files_add(&files, path, err);

	for (unsigned i = 0; i < files.count && code == PL_OK; i++)
		code = read_one(files.path[i], fn, ctx, err);
	files_done(&files);
	return code;
}
