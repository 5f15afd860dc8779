/*
 * A file is JSON when it begins with a bracket, else YAML.
 *
 * JSON: the buffer grows until a value ends before it does; what was told is dropped from
 * it. YAML: the same by documents, which begin where a line begins with ---; each becomes
 * JSON first.
 */
#include "coord/cli/input/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "coord/cli/input/objects.h"
#include "shardsched/model/object.h"
#include "store/base/alloc.h"
#include "store/base/buf.h"
#include "store/base/json_scan.h"
#include "store/base/yaml.h"

enum { CHUNK = 1 << 20, KEEP = 4 << 20, VALUES_MAX = 100 << 20, COPY = 1 << 16 };

static const struct pl_json_limits limits = {
	.bytes = OBJECTS_BYTES_MAX,
	.depth = PL_JSON_DEPTH_MAX,
	.values = VALUES_MAX,
};

enum form { FORM_UNKNOWN, FORM_JSON, FORM_YAML };

struct manifest {
	const struct files *files;
	FILE *spool; /* of standard input */
	unsigned next_file;
	/* The file at hand; NULL: none. */
	gzFile file;
	const char *name;
	enum form form;
	bool ended; /* all of it is in the buffer */
	unsigned long number;
	struct pl_buf text;
	size_t at;            /* length of the text that was taken */
	struct pl_buf values; /* of a YAML document, as JSON */
	struct pl_span rest;  /* of them */
	struct pl_span items; /* of a list at hand */
};

/* -- files -----------------------------------------------------------------------------
 */

static void close_file(struct manifest *m)
{
	if (m->file != NULL)
		(void)gzclose_r(m->file);
	m->file = NULL;
	m->items = m->rest = (struct pl_span){0};
}

static int open_spool(struct manifest *m)
{
	int fd = dup(fileno(m->spool));

	if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static enum pl_code open_file(struct manifest *m, struct pl_err *err)
{
	const char *path = m->files->path[m->next_file++];

	m->name = files_name(path);
	m->form = FORM_UNKNOWN;
	m->ended = false;
	m->number = 0;
	m->at = 0;
	pl_buf_clear(&m->text, KEEP);
	errno = 0;
	if (strcmp(path, "-") == 0) {
		int fd = open_spool(m);

		m->file = fd < 0 ? NULL : gzdopen(fd, "rb");
	} else {
		m->file = gzopen(path, "rbe");
	}
	if (m->file == NULL)
		return pl_err_set(err, PL_IO, "open %s: %s", m->name, strerror(errno));
	(void)gzbuffer(m->file, CHUNK);
	return PL_OK;
}

static enum pl_code read_chunk(struct manifest *m, size_t want, struct pl_err *err)
{
	int got, number = Z_OK;
	enum pl_code code = pl_buf_reserve(&m->text, want);

	if (code != PL_OK)
		return pl_err_set(err, code, "read: %s",
		                  code == PL_LIMIT ? "a value of more than 1 GiB"
		                                   : pl_code_name(code));
	errno = 0;
	got = gzread(m->file, m->text.at + m->text.len, (unsigned)want);
	if (got <= 0) {
		const char *why = gzerror(m->file, &number);

		m->ended = true;
		if (got == 0 && number == Z_OK)
			return PL_OK;
		return pl_err_set(err, PL_IO, "read: %s",
		                  number == Z_ERRNO ? strerror(errno) : why);
	}
	m->text.len += (size_t)got;
	return PL_OK;
}

/* The buffer doubles, so that a long value is scanned a few times only. */
static enum pl_code read_more(struct manifest *m, struct pl_err *err)
{
	size_t want;

	pl_buf_drop(&m->text, m->at);
	m->at = 0;
	want = m->text.len < CHUNK ? CHUNK : m->text.len;
	want = want > OBJECTS_BYTES_MAX / 2 ? OBJECTS_BYTES_MAX / 2 : want;
	return read_chunk(m, want, err);
}

static struct pl_span unread_text(const struct manifest *m)
{
	return pl_span(m->text.at + m->at, m->text.len - m->at);
}

/* -- values ----------------------------------------------------------------------------
 */

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static enum pl_code detect_format(struct manifest *m, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	while (m->form == FORM_UNKNOWN && code == PL_OK) {
		struct pl_span text = objects_without_bom(unread_text(m));

		m->at = m->text.len - text.len;
		for (size_t i = 0; i < text.len && m->form == FORM_UNKNOWN; i++)
			if (!is_space(text.at[i]))
				m->form = text.at[i] == '{' || text.at[i] == '['
				                  ? FORM_JSON
				                  : FORM_YAML;
		if (m->form != FORM_UNKNOWN)
			break;
		if (m->ended)
			return PL_NOTFOUND;
		code = read_more(m, err);
	}
	return code;
}

/* The next value of JSON text, whole. */
static enum pl_code next_json(struct manifest *m, struct pl_span *out, struct pl_err *err)
{
	for (;;) {
		struct pl_span text = unread_text(m), rest = text, value = {0};
		enum pl_code code;

		if (text.len > 0)
			value = object_next(&rest);
		/* A value that reaches the end of the buffer may continue behind it. */
		if (value.len > 0 && (rest.len > 0 || m->ended)) {
			m->at += text.len - rest.len;
			*out = value;
			return PL_OK;
		}
		if (m->ended)
			return PL_NOTFOUND;
		code = read_more(m, err);
		if (code != PL_OK)
			return code;
	}
}

/* Where the next document begins; 0: not in this text. */
static size_t document_end(struct pl_span text)
{
	size_t at = 0;

	while (at < text.len) {
		const uint8_t *line = memchr(text.at + at, '\n', text.len - at);

		if (line == NULL)
			return 0;
		at = (size_t)(line - text.at) + 1;
		if (text.len - at >= 4 && memcmp(text.at + at, "---", 3) == 0 &&
		    is_space(text.at[at + 3]))
			return at;
	}
	return 0;
}

static enum pl_code on_document(void *ctx, struct pl_span json, struct pl_err *err)
{
	struct manifest *m = ctx;
	enum pl_code code = pl_buf_add(&m->values, json);

	if (code == PL_OK)
		code = pl_buf_add_str(&m->values, "\n");
	return code == PL_OK ? code : pl_err_set(err, code, "keep a document");
}

static enum pl_code next_document(struct manifest *m, struct pl_err *err)
{
	size_t end = document_end(unread_text(m));
	enum pl_code code = PL_OK;

	while (end == 0 && !m->ended && code == PL_OK) {
		code = read_more(m, err);
		end = document_end(unread_text(m));
	}
	if (code != PL_OK)
		return code;
	if (end == 0)
		end = unread_text(m).len;
	if (end == 0)
		return PL_NOTFOUND;
	pl_buf_clear(&m->values, KEEP);
	code = pl_yaml_to_json(pl_span(unread_text(m).at, end), &limits, on_document, m,
	                       err);
	m->at += end;
	m->rest = pl_buf_span(&m->values);
	return code;
}

static enum pl_code next_yaml(struct manifest *m, struct pl_span *out, struct pl_err *err)
{
	for (;;) {
		struct pl_span value = {0};
		enum pl_code code;

		if (m->rest.len > 0)
			value = object_next(&m->rest);
		if (value.len > 0) {
			*out = value;
			return PL_OK;
		}
		code = next_document(m, err);
		if (code != PL_OK)
			return code;
	}
}

static enum pl_code next_value(struct manifest *m, struct pl_span *out,
                               struct pl_err *err)
{
	enum pl_code code = detect_format(m, err);

	if (code == PL_OK)
		code = m->form == FORM_JSON ? next_json(m, out, err)
		                            : next_yaml(m, out, err);
	if (code == PL_OK && m->form == FORM_JSON)
		code = pl_json_scan(*out, &limits, err);
	return code;
}

/* -- objects ---------------------------------------------------------------------------
 */

static bool is_list_kind(struct pl_span kind)
{
	return kind.len >= 6 && memcmp(kind.at + kind.len - 5, "List\"", 5) == 0;
}

/* Whether the value is a list; m->items has its items then. */
static bool is_list(struct manifest *m, struct pl_span value)
{
	struct pl_span items = value;

	if (value.at[0] == '{') {
		if (!is_list_kind(object_member(value, "kind")))
			return false;
		items = object_member(value, "items");
	}
	if (items.len == 0 || items.at[0] != '[')
		return false;
	m->items = items;
	return true;
}

static enum pl_code give_object(struct manifest *m, struct pl_span json,
                                struct input_object *out, struct pl_err *err)
{
	m->number++;
	if (json.at[0] != '{')
		return pl_err_set(err, PL_INVALID, "it is no object, but begins with %c",
		                  json.at[0]);
	*out = (struct input_object){m->name, m->number, json};
	return PL_OK;
}

static enum pl_code next_of_file(struct manifest *m, struct input_object *out,
                                 struct pl_err *err)
{
	for (;;) {
		struct pl_span value = {0};
		enum pl_code code;

		if (m->items.len > 0)
			value = object_item(&m->items);
		if (value.len > 0)
			return give_object(m, value, out, err);
		m->items = (struct pl_span){0};
		code = next_value(m, &value, err);
		if (code != PL_OK)
			return code;
		if (!is_list(m, value))
			return give_object(m, value, out, err);
	}
}

enum pl_code manifest_next(struct manifest *m, struct input_object *out,
                           struct pl_err *err)
{
	for (;;) {
		enum pl_code code;

		if (m->file == NULL) {
			if (m->next_file == m->files->count)
				return PL_NOTFOUND;
			code = open_file(m, err);
			if (code != PL_OK)
				return code;
		}
		code = next_of_file(m, out, err);
		if (code == PL_OK)
			return code;
		close_file(m);
		if (code != PL_NOTFOUND)
			return pl_err_wrap(err, "%s: behind object %lu", m->name,
			                   m->number);
	}
}

/* -- life ------------------------------------------------------------------------------
 */

static enum pl_code copy_input(struct manifest *m, struct pl_err *err)
{
	char block[COPY];
	ssize_t got;

	m->spool = tmpfile();
	if (m->spool == NULL)
		return pl_err_set(err, PL_IO, "copy standard input: %s", strerror(errno));
	while ((got = read(STDIN_FILENO, block, sizeof block)) > 0)
		if (fwrite(block, 1, (size_t)got, m->spool) != (size_t)got)
			break;
	if (got != 0 || fflush(m->spool) != 0)
		return pl_err_set(err, PL_IO, "copy standard input: %s", strerror(errno));
	return PL_OK;
}

enum pl_code manifest_open(const struct files *files, struct manifest **out,
                           struct pl_err *err)
{
	struct manifest *m = pl_calloc(1, sizeof *m);
	enum pl_code code = PL_OK;

	if (m == NULL)
		return pl_err_set(err, PL_NOMEM, "read files");
	m->files = files;
	pl_buf_init(&m->text, (size_t)OBJECTS_BYTES_MAX + CHUNK);
	pl_buf_init(&m->values, (size_t)OBJECTS_BYTES_MAX + CHUNK);
	for (unsigned i = 0; i < files->count && code == PL_OK; i++)
		if (strcmp(files->path[i], "-") == 0 && m->spool == NULL)
			code = copy_input(m, err);
	if (code == PL_OK)
		*out = m;
	else
		manifest_close(m);
	return code;
}

void manifest_close(struct manifest *m)
{
	if (m == NULL)
		return;
	close_file(m);
	if (m->spool != NULL)
		(void)fclose(m->spool);
	pl_buf_done(&m->text);
	pl_buf_done(&m->values);
	free(m);
}

void manifest_rewind(struct manifest *m)
{
	close_file(m);
	m->next_file = 0;
}

static enum pl_code on_next(void *ctx, struct input_object *out, struct pl_err *err)
{
	return manifest_next(ctx, out, err);
}

static void on_rewind(void *ctx)
{
	manifest_rewind(ctx);
}

static void on_close(void *ctx)
{
	manifest_close(ctx);
}

struct object_source manifest_source(struct manifest *manifest)
{
	return (struct object_source){
		.next = on_next, .rewind = on_rewind, .close = on_close, .ctx = manifest};
}
