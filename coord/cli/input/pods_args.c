#include "coord/cli/input/pods_args.h"

#include <inttypes.h>

#include "coord/cli/output/message.h"
#include "store/keys/names.h"

enum { SHOWN_ERRORS_MAX = 20 };

enum pl_code pods_args_set(struct pods_args *given, int opt, const char *arg,
                           struct pl_err *err)
{
	if (opt == PODS_ARGS_FILE)
		return files_add(&given->files, arg, err);
	given->namespace = arg;
	if (names_check(NAMES_NAMESPACE, pl_span_str(arg), err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "--namespace");
}

enum pl_code pods_args_name(const struct pods_args *given, const char *arg,
                            struct pl_span *namespace, struct pl_span *name,
                            struct pl_err *err)
{
	const char *slash = strchr(arg, '/');
	enum pl_code code;

	if (slash == NULL) {
		*namespace = pl_span_str(given->namespace == NULL ? "default"
		                                                  : given->namespace);
		*name = pl_span_str(arg);
	} else {
		*namespace = pl_span(arg, (size_t)(slash - arg));
		*name = pl_span_str(slash + 1);
	}
	code = names_check(NAMES_NAMESPACE, *namespace, err);
	return code == PL_OK ? names_check(NAMES_POD, *name, err) : code;
}

bool pods_args_is_of(const struct pods_args *given, struct pl_span key)
{
	struct pl_span namespace = pl_span_str(given->namespace);

	return namespace.len == 0 ||
	       (key.len > namespace.len && key.at[namespace.len] == '/' &&
	        pl_span_eq(pl_span(key.at, namespace.len), namespace));
}

static void on_refused(void *ctx, const struct pl_err *err)
{
	unsigned *said = ctx;

	if (++*said <= SHOWN_ERRORS_MAX)
		print_message("refused: %s", err->msg);
}

static void print_passed(const struct pod_input *pod_input)
{
	for (unsigned i = 0; i < pod_input->kinds; i++)
		print_message("skipped: %" PRIu64 " %s", pod_input->passed[i].count,
		              pod_input->passed[i].kind);
}

static void print_unknown(const struct pod_input *pod_input)
{
	for (unsigned i = 0; i < pod_input->unknowns; i++) {
		const struct pod_input_unknown *is = &pod_input->unknown[i];
		char text[UNKNOWN_FIELD_TEXT_SIZE];

		unknown_field_text(text, is->path, is->like);
		print_message("warning: %s: object %lu: %s", is->file, is->number, text);
		if (is->count > 1)
			print_message("warning: and %" PRIu64 " times more",
			              is->count - 1);
	}
	if (pod_input->unknown_more > 0)
		print_message("warning: and %" PRIu64 " unknown fields more",
		              pod_input->unknown_more);
}

enum pl_code pods_args_intake(const struct pods_args *given,
                              const struct class_table *classes, uint32_t partitions,
                              bool keep_going, struct pod_input *out, struct pl_err *err)
{
	unsigned said = 0;
	struct pod_input_opts opts = {
		.namespace = pl_span_str(given->namespace),
		.partitions = partitions,
		.fields = given->fields,
		.classes = classes,
		.once = given->once,
		.refused = on_refused,
		.ctx = &said,
	};
	struct manifest *manifest;
	enum pl_code code = manifest_open(&given->files, &manifest, err);

	if (code != PL_OK)
		return code;
	opts.source = manifest_source(manifest);
	pod_input_open(out, &opts);
	code = pod_input_check(out, err);
	out->opts.ctx = NULL;
	out->opts.classes = NULL;
	out->opts.refused = NULL;
	if (code == PL_OK && said > SHOWN_ERRORS_MAX)
		print_message("and %u more", said - SHOWN_ERRORS_MAX);
	if (code == PL_OK) {
		print_passed(out);
		print_unknown(out);
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
		pod_input_close(out);
	return code;
}
