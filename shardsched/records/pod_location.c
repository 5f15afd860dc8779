#include "shardsched/records/pod_location.h"

#include "shardsched/model/model.h"
#include "shardsched/model/object.h"
#include "store/base/json_scan.h"
#include "store/base/num.h"
#include "store/keys/partition.h"

enum { DEPTH_MAX = 16, VALUES_MAX = POINTER_BYTES_MAX };

/* Rules that look at other pods, and may not be bent. */
static bool needs_group_partition(const struct spec *spec)
{
	const struct spec_spread *spread = spec_spreads(spec);

	if (spec->template->affinity.count > 0 || spec->template->anti_affinity.count > 0)
		return true;
	for (uint16_t i = 0; i < spec->template->spreads.count; i++)
		if (spread[i].hard != 0)
			return true;
	return false;
}

enum pl_code pod_location_of(const struct model *model, const struct pod *pod,
                             uint32_t count, struct pod_location *out, struct pl_err *err)
{
	const struct spec *spec = pod->spec;
	struct partition_group group = {.namespace = model_text(model, spec->namespace)};
	struct pod_location location = {0};
	enum pl_code code =
		partition_of_pod(group.namespace, model_text(model, pod->name), count,
	                         &location.named, err);

	location.partition = location.named;
	if (code == PL_OK && spec->template->gang != 0) {
		group.gang = model_text(model, spec->template->gang);
		code = partition_of_group(&group, count, &location.partition, err);
	} else if (code == PL_OK && spec->template->owner_kind != 0 &&
	           needs_group_partition(spec)) {
		group.kind = model_text(model, spec->template->owner_kind);
		group.name = model_text(model, spec_owner_name(spec));
		group.uid = model_text(model, spec_owner_uid(spec));
		code = partition_of_group(&group, count, &location.partition, err);
	}
	if (code == PL_OK)
		*out = location;
	return code;
}

struct pl_span pointer_text(uint32_t partition, char out[POINTER_TEXT_SIZE])
{
	static const char begin[] = "{\"v\":1,\"at\":";
	size_t len = sizeof begin - 1;

	PL_ASSERT(partition < KEYS_PARTITIONS_MAX);
	memcpy(out, begin, len);
	len += pl_num_print_u64(out + len, partition);
	out[len++] = '}';
	return pl_span(out, len);
}

enum pl_code pointer_print(uint32_t partition, struct pl_buf *out)
{
	char text[POINTER_TEXT_SIZE];

	return pl_buf_add(out, pointer_text(partition, text));
}

/* Whether the value can be a pointer: an object that is short enough. */
static bool may_be_pointer(struct pl_span value)
{
	static const struct pl_json_limits limits = {
		.bytes = POINTER_BYTES_MAX, .depth = DEPTH_MAX, .values = VALUES_MAX};
	struct pl_span rest = value;

	if (pl_json_scan(value, &limits, NULL) != PL_OK)
		return false;
	while (rest.at[0] == ' ' || rest.at[0] == '\t' || rest.at[0] == '\n' ||
	       rest.at[0] == '\r')
		rest.at++;
	return rest.at[0] == '{';
}

enum pl_code pointer_parse(struct pl_span value, bool *is_pointer, uint32_t *partition,
                           struct pl_err *err)
{
	struct pl_span at = {0};
	uint64_t number = 0;
	struct pl_err why = {0};

	if (may_be_pointer(value))
		at = object_member(value, "at");
	if (at.at == NULL) {
		*is_pointer = false;
		return PL_OK;
	}
	if (!pl_span_eq(object_member(value, "v"), PL_SPAN_LIT("1")))
		return pl_err_set(err, PL_INVALID, "v: want 1");
	if (pl_num_u64_in(at, 0, KEYS_PARTITIONS_MAX - 1, &number, &why) != PL_OK)
		return pl_err_set(err, PL_INVALID, "at: %s", why.msg);
	*is_pointer = true;
	*partition = (uint32_t)number;
	return PL_OK;
}
