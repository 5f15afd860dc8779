#include "shardsched/records/pod_location.h"

#include "shardsched/model/model.h"
#include "shardsched/model/object.h"
#include "store/base/json_scan.h"
#include "store/base/num.h"
#include "store/keys/partition.h"

enum { DEPTH_MAX = 16, VALUES_MAX = POINTER_BYTES_MAX };

/* The part of a pod that decides where it stands. */
struct located_pod {
	struct partition_group group;
	struct pl_span name;
	bool is_grouped; /* required rules about other pods, and a controller */
};

static enum pl_code locate(const struct located_pod *pod, uint32_t count,
                           struct pod_location *out, struct pl_err *err)
{
	struct pod_location location = {0};
	enum pl_code code = partition_of_pod(pod->group.namespace, pod->name, count,
	                                     &location.named, err);

	location.partition = location.named;
	if (code == PL_OK && (pod->group.gang.len > 0 || pod->is_grouped))
		code = partition_of_group(&pod->group, count, &location.partition, err);
	if (code == PL_OK)
		*out = location;
	return code;
}

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
	struct located_pod is = {.group.namespace = model_text(model, spec->namespace),
	                         .name = model_text(model, pod->name)};

	if (spec->template->gang != 0) {
		is.group.gang = model_text(model, spec->template->gang);
	} else if (spec->template->owner_kind != 0 && needs_group_partition(spec)) {
		is.is_grouped = true;
		is.group.kind = model_text(model, spec->template->owner_kind);
		is.group.name = model_text(model, spec_owner_name(spec));
		is.group.uid = model_text(model, spec_owner_uid(spec));
	}
	return locate(&is, count, out, err);
}

static bool draft_needs_group_partition(const struct pod_draft *draft)
{
	if (draft->affinity.count > 0 || draft->anti_affinity.count > 0)
		return true;
	for (uint32_t i = 0; i < draft->spread_count; i++)
		if (pl_span_eq(draft->spreads[i].when, PL_SPAN_LIT("DoNotSchedule")))
			return true;
	return false;
}

enum pl_code pod_location_of_draft(const struct pod_draft *draft, uint32_t count,
                                   struct pod_location *out, struct pl_err *err)
{
	const struct draft_owner *owner = draft_controller(&draft->meta);
	struct located_pod is = {.group.namespace = draft->meta.namespace,
	                         .name = draft->meta.name};

	is.group.gang =
		draft_get(draft->meta.annotations, PL_SPAN_LIT(SPEC_GANG_ANNOTATION));
	if (is.group.gang.len == 0 && owner != NULL &&
	    draft_needs_group_partition(draft)) {
		is.is_grouped = true;
		is.group.kind = owner->kind;
		is.group.name = owner->name;
		is.group.uid = owner->uid;
	}
	return locate(&is, count, out, err);
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
