#include "coord/cli/eval/eval_writer.h"

static void put_errors(struct verdict_writer *t, const struct field_errors *errors)
{
	pl_json_out_name(&t->out, "errors");
	pl_json_out_array(&t->out);
	for (uint32_t i = 0; i < errors->count; i++) {
		pl_json_out_object(&t->out);
		writer_put_text(t, "detail", errors->at[i].detail);
		writer_put_text(t, "field", errors->at[i].path);
		writer_put_text(t, "type", field_fault_word(errors->at[i].fault));
		writer_end(t);
	}
	writer_end(t);
}

enum pl_code eval_validity(const struct field_errors *errors, struct pl_buf *out,
                           struct pl_err *err)
{
	struct verdict_writer t = {.code = errors->code};

	pl_json_out_init(&t.out, out);
	pl_json_out_object(&t.out);
	if (errors->count > 0)
		put_errors(&t, errors);
	pl_json_out_name(&t.out, "valid");
	pl_json_out_bool(&t.out, errors->count == 0);
	writer_end(&t);
	return writer_finish(&t, err);
}

enum pl_code eval_not_decoded(const struct pl_err *why, struct pl_buf *out,
                              struct pl_err *err)
{
	struct verdict_writer t = {0};

	pl_json_out_init(&t.out, out);
	pl_json_out_object(&t.out);
	writer_put_text(&t, "decodeError", why->msg);
	pl_json_out_name(&t.out, "valid");
	pl_json_out_bool(&t.out, false);
	writer_end(&t);
	return writer_finish(&t, err);
}
