#include "coord/cli/input/stored_intake.h"

#include "coord/cli/session/listing.h"

/* A malformed class is as good as none: fsck names it. */
static enum pl_code on_class(void *ctx, const struct kv_record *record,
                             struct pl_err *err)
{
	struct pl_err why = {0};
	enum pl_code code = class_table_put(ctx, record->value, &why);

	if (code != PL_NOMEM)
		return PL_OK;
	*err = why;
	return code;
}

enum pl_code stored_intake(const struct cli_session *cli, const struct pods_args *given,
                           bool keep_going, struct pod_input *out, struct pl_err *err)
{
	struct class_table *classes = class_table_new();
	enum pl_code code;

	if (classes == NULL)
		return pl_err_set(err, PL_NOMEM, "read the PriorityClasses");
	code = session_list(cli,
	                    PL_SPAN_LIT("/objects/scheduling.k8s.io/priorityclasses/"),
	                    on_class, classes, err);
	if (code == PL_OK)
		code = pods_args_intake(given, classes, cli->meta.partitions, keep_going,
		                        out, err);
	class_table_free(classes);
	return code;
}
