#include "coord/cli/pods/pods_given.h"

#include <inttypes.h>

#include "coord/cli/out/say.h"
#include "store/keys/names.h"

enum { SAID_MAX = 20 };

enum pl_code pods_given_take(struct pods_given *given, int opt, const char *arg,
                             struct pl_err *err)
{
	if (opt == PODS_GIVEN_FILE)
		return files_add(&given->files, arg, err);
	given->space = arg;
	if (names_check(NAMES_NAMESPACE, pl_span_str(arg), err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "--namespace");
}

enum pl_code pods_given_name(const struct pods_given *given, const char *arg,
                             struct pl_span *space, struct pl_span *name,
                             struct pl_err *err)
{
	const char *slash = strchr(arg, '/');
	enum pl_code code;

	if (slash == NULL) {
		*space = pl_span_str(given->space == NULL ? "default" : given->space);
		*name = pl_span_str(arg);
	} else {
		*space = pl_span(arg, (size_t)(slash - arg));
		*name = pl_span_str(slash + 1);
	}
	code = names_check(NAMES_NAMESPACE, *space, err);
	return code == PL_OK ? names_check(NAMES_POD, *name, err) : code;
}

bool pods_given_is_of(const struct pods_given *given, struct pl_span key)
{
	struct pl_span space = pl_span_str(given->space);

	return space.len == 0 || (key.len > space.len && key.at[space.len] == '/' &&
	                          pl_span_eq(pl_span(key.at, space.len), space));
}

static void on_refused(void *ctx, const struct pl_err *err)
{
	unsigned *said = ctx;

	if (++*said <= SAID_MAX)
		say("refused: %s", err->msg);
}

static void say_passed(const struct intake *intake)
{
	for (unsigned i = 0; i < intake->kinds; i++)
		say("passed over: %" PRIu64 " %s", intake->passed[i].count,
		    intake->passed[i].kind);
}

static void say_unknown(const struct intake *intake)
{
	for (unsigned i = 0; i < intake->unknowns; i++) {
		const struct intake_unknown *is = &intake->unknown[i];
		char text[FIELDS_SAY_SIZE];

		fields_say(text, is->path, is->like);
		say("warning: %s: object %lu: %s", is->file, is->number, text);
		if (is->count > 1)
			say("warning: and %" PRIu64 " times more", is->count - 1);
	}
	if (intake->unknown_more > 0)
		say("warning: and %" PRIu64 " unknown fields more", intake->unknown_more);
}

enum pl_code pods_given_intake(const struct pods_given *given, uint32_t partitions,
                               bool keep_going, struct intake *out, struct pl_err *err)
{
	unsigned said = 0;
	struct intake_opts opts = {
		.files = &given->files,
		.space = pl_span_str(given->space),
		.partitions = partitions,
		.fields = given->fields,
		.once = given->once,
		.refused = on_refused,
		.ctx = &said,
	};
	enum pl_code code = intake_open(out, &opts, err);

	if (code != PL_OK)
		return code;
	code = intake_check(out, err);
	out->opts.ctx = NULL;
	out->opts.refused = NULL;
	if (code == PL_OK && said > SAID_MAX)
		say("and %u more", said - SAID_MAX);
	if (code == PL_OK) {
		say_passed(out);
		say_unknown(out);
	}
	if (code == PL_OK && out->refused > 0 && !keep_going)
		code = pl_err_set(err, PL_INVALID,
		                  "%" PRIu64
		                  " refused, and nothing was done; correct it, "
		                  "or leave it out with --keep-going",
		                  out->refused);
	if (code == PL_OK && out->objects == 0 && out->kinds == 0 && out->refused == 0)
		code = pl_err_set(err, PL_INVALID, "there is no object in %s",
		                  given->files.count == 1
		                          ? files_name(given->files.path[0])
		                          : "the files");
	if (code != PL_OK)
		intake_close(out);
	return code;
}
