#include "coord/api/reply/list_meta.h"

#include "store/base/num.h"

void list_meta_write(struct pl_json_out *out, const struct list_meta *meta)
{
	char text[PL_NUM_TEXT_SIZE];

	pl_json_out_object(out);
	if (meta->revision > 0) {
		(void)pl_num_print_i64(text, meta->revision);
		pl_json_out_name(out, "resourceVersion");
		pl_json_out_str(out, text);
	}
	if (meta->continue_token.len > 0) {
		pl_json_out_name(out, "continue");
		pl_json_out_string(out, meta->continue_token);
	}
	if (meta->remaining > 0) {
		pl_json_out_name(out, "remainingItemCount");
		pl_json_out_int(out, meta->remaining);
	}
	pl_json_out_end(out);
}
