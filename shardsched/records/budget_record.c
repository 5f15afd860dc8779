#include "shardsched/records/budget_record.h"

#include <inttypes.h>
#include <stdlib.h>

#include "shardsched/model/object.h"
#include "shardsched/records/value_reader.h"
#include "shardsched/records/value_writer.h"
#include "store/base/alloc.h"
#include "store/keys/names.h"

/* -- printing ---------------------------------------------------------------------- */

#define PUT_NUMBER(out, name, number)                   \
	do {                                            \
		VALUE_WRITER_LIT(out, "\"" name "\":"); \
		value_writer_number(out, number);       \
		VALUE_WRITER_LIT(out, ",");             \
	} while (0)

static void put_status(struct value_writer *out, const struct budget_status *status)
{
	PL_ASSERT(status->allowed ==
	          budget_allowed(status->expected, status->desired, status->healthy));
	VALUE_WRITER_LIT(out, "\"status\":{");
	PUT_NUMBER(out, "expected", status->expected);
	PUT_NUMBER(out, "desired", status->desired);
	PUT_NUMBER(out, "healthy", status->healthy);
	PUT_NUMBER(out, "allowed", status->allowed);
	value_writer_close(out, '}');
}

static void put_disrupted(struct value_writer *out, const struct budget_record *record)
{
	VALUE_WRITER_LIT(out, "\"disrupted\":{");
	for (uint32_t i = 0; i < record->disrupted_count && out->code == PL_OK; i++) {
		const struct budget_disrupted *pod = &record->disrupted[i];

		PL_ASSERT(i == 0 || pl_span_cmp(pod[-1].name, pod->name) < 0);
		PL_ASSERT(pod->state_rev > 0);
		VALUE_WRITER_LIT(out, "\"");
		value_writer_word(out, pod->name, TEXT_NAME);
		VALUE_WRITER_LIT(out, "\":\"");
		value_writer_number(out, (uint64_t)pod->state_rev);
		VALUE_WRITER_LIT(out, "\",");
	}
	value_writer_close(out, '}');
}

static void put_record(struct value_writer *out, const struct budget_record *record)
{
	VALUE_WRITER_LIT(out, "{\"v\":1,\"budget\":");
	value_writer_raw(out, record->object.at, record->object.len);
	VALUE_WRITER_LIT(out, ",");
	if (record->counted)
		put_status(out, &record->status);
	if (record->disrupted_count > 0)
		put_disrupted(out, record);
	if (record->disrupted_count > BUDGET_DISRUPTED_MAX ||
	    record->object.len > BUDGET_OBJECT_MAX)
		value_writer_fail(out, PL_LIMIT);
	value_writer_close(out, '}');
}

enum pl_code budget_record_print(const struct budget_record *record, struct pl_buf *buf,
                                 struct pl_err *err)
{
	struct value_writer out;
	enum pl_code code;

	PL_ASSERT(record->object.len > 0);
	value_writer_begin(&out, buf);
	put_record(&out, record);
	code = value_writer_end(&out, BUDGET_BYTES_MAX);
	return code == PL_OK ? PL_OK
	                     : pl_err_set(err, code, "a budget: %s", pl_code_name(code));
}

/* -- reading ----------------------------------------------------------------------- */

static struct pl_span object_of(struct value_reader *in, struct pl_json root,
                                struct pl_span value)
{
	struct pl_json object = value_reader_object(in, root, "budget");
	struct pl_span text = {0};

	if (object.node == NULL)
		value_reader_refuse(in, root, "budget: want an object");
	if (in->code != PL_OK)
		return text;
	text = object_member(value, "budget");
	if (text.len == 0) /* the name is escaped */
		value_reader_refuse(in, object, "is not to be found");
	if (text.len > BUDGET_OBJECT_MAX)
		in->code = pl_json_fail(object, PL_LIMIT, in->err,
		                        "want at most %d bytes", BUDGET_OBJECT_MAX);
	if (in->code != PL_OK)
		return text;
	text = pl_arena_dup(in->arena, text);
	if (text.at == NULL)
		in->code = pl_err_set(in->err, PL_NOMEM, "a budget");
	return text;
}

static uint32_t count_of(struct value_reader *in, struct pl_json status, const char *name)
{
	uint64_t number = value_reader_number(in, status, name);

	if (number > INT32_MAX)
		value_reader_refuse(in, pl_json_member(status, name),
		                    "want at most %" PRId32, INT32_MAX);
	return in->code == PL_OK ? (uint32_t)number : 0;
}

static void read_status(struct value_reader *in, struct pl_json root,
                        struct budget_record *out)
{
	struct pl_json status = value_reader_object(in, root, "status");
	struct budget_status *to = &out->status;

	if (status.node == NULL || in->code != PL_OK)
		return;
	to->expected = count_of(in, status, "expected");
	to->desired = count_of(in, status, "desired");
	to->healthy = count_of(in, status, "healthy");
	to->allowed = count_of(in, status, "allowed");
	if (in->code == PL_OK &&
	    to->allowed != budget_allowed(to->expected, to->desired, to->healthy))
		value_reader_refuse(in, pl_json_member(status, "allowed"),
		                    "does not follow from the others");
	out->counted = in->code == PL_OK;
}

static void read_one(struct value_reader *in, struct pl_json value,
                     struct budget_disrupted *out)
{
	struct pl_span text = value_reader_string(in, value);
	struct pl_err why = {0};

	out->name = pl_span_str(pl_json_key(value));
	if (in->code == PL_OK && names_check(NAMES_POD, out->name, &why) != PL_OK)
		value_reader_refuse(in, value, "%s", why.msg);
	if (in->code == PL_OK &&
	    pl_num_i64_in(text, 1, INT64_MAX, &out->state_rev, NULL) != PL_OK)
		value_reader_refuse(in, value, "want a revision");
}

static void read_disrupted(struct value_reader *in, struct pl_json root,
                           struct budget_record *out)
{
	struct pl_json pods = value_reader_object(in, root, "disrupted");
	size_t count = in->code == PL_OK && pods.node != NULL ? pl_json_count(pods) : 0;
	struct budget_disrupted *pod;
	uint32_t i = 0;

	if (count > BUDGET_DISRUPTED_MAX)
		in->code = pl_json_fail(pods, PL_LIMIT, in->err, "want at most %d",
		                        BUDGET_DISRUPTED_MAX);
	if (count == 0 || in->code != PL_OK)
		return;
	pod = pl_arena_zalloc(in->arena, count, sizeof *pod);
	if (pod == NULL) {
		in->code = pl_err_set(in->err, PL_NOMEM, "a budget");
		return;
	}
	PL_JSON_EACH (value, pods) {
		read_one(in, value, &pod[i]);
		if (i > 0 && pl_span_cmp(pod[i - 1].name, pod[i].name) >= 0)
			value_reader_refuse(in, value,
			                    "want pods in the order of their names");
		if (in->code != PL_OK)
			return;
		i++;
	}
	out->disrupted = pod;
	out->disrupted_count = i;
}

enum pl_code budget_record_parse(struct pl_span value, struct pl_arena *arena,
                                 struct budget_record *out, struct pl_err *err)
{
	struct value_reader in;
	struct pl_json root =
		value_reader_begin(&in, arena, value, BUDGET_BYTES_MAX, err);
	struct budget_record record = {.object = object_of(&in, root, value)};

	read_status(&in, root, &record);
	read_disrupted(&in, root, &record);
	if (in.code == PL_OK)
		*out = record;
	return in.code;
}

static enum pl_code ref_names(const struct budget_record *record, struct parse *parse,
                              struct budget *out, struct pl_err *err)
{
	uint32_t *name = NULL;

	if (record->disrupted_count == 0)
		return PL_OK;
	name = pl_calloc(record->disrupted_count, sizeof *name);
	if (name == NULL)
		return pl_err_set(err, PL_NOMEM, "a budget");
	out->disrupted = name;
	for (uint32_t i = 0; i < record->disrupted_count; i++) {
		if (strings_add(&parse->model->strings, record->disrupted[i].name,
		                &name[i]) != PL_OK)
			return pl_err_set(err, PL_NOMEM, "a budget");
		out->disrupted_count++;
	}
	return PL_OK;
}

static void drop_names(struct model *model, struct budget *budget)
{
	for (uint32_t i = 0; i < budget->disrupted_count; i++)
		strings_unref(&model->strings, budget->disrupted[i]);
	free(budget->disrupted);
	budget->disrupted = NULL;
	budget->disrupted_count = 0;
}

enum pl_code budget_record_object(const struct budget_record *record, struct parse *parse,
                                  struct pl_span namespace, struct pl_span name,
                                  struct budget *out, struct pl_err *err)
{
	struct budget budget = {0};
	enum pl_code code = budget_parse(parse, record->object, &budget, err);
	const struct strings *strings = &parse->model->strings;

	if (code != PL_OK)
		return pl_err_wrap(err, "budget");
	drop_names(parse->model, &budget); /* the disrupted names of the object are
					    * replaced */
	if (!pl_span_eq(strings_get(strings, budget.namespace), namespace) ||
	    !pl_span_eq(strings_get(strings, budget.name), name))
		code = pl_err_set(err, PL_INVALID,
		                  "budget.metadata: not the name of its key");
	budget.expected = (int32_t)record->status.expected;
	budget.desired = (int32_t)record->status.desired;
	budget.healthy = (int32_t)record->status.healthy;
	budget.allowed = (int32_t)record->status.allowed;
	if (code == PL_OK)
		code = ref_names(record, parse, &budget, err);
	if (code == PL_OK)
		*out = budget;
	else
		budget_drop(parse->model, &budget);
	return code;
}

/* -- what follows ------------------------------------------------------------------ */

struct budget_status budget_status_of(struct budget_rule rule, uint32_t expected,
                                      uint32_t healthy)
{
	uint32_t desired = budget_rule_desired(rule, expected);

	return (struct budget_status){.expected = expected,
	                              .desired = desired,
	                              .healthy = healthy,
	                              .allowed =
	                                      budget_allowed(expected, desired, healthy)};
}

/* Merges two ordered lists; a pod in both is taken from the second. */
static uint32_t merge_disrupted(const struct budget_record *record,
                                const struct budget_disrupted *pod, uint32_t pods,
                                struct budget_disrupted *out)
{
	uint32_t a = 0, b = 0, count = 0;

	while (a < record->disrupted_count || b < pods) {
		int order = a == record->disrupted_count ? 1
		            : b == pods
		                    ? -1
		                    : pl_span_cmp(record->disrupted[a].name, pod[b].name);

		out[count++] = order < 0 ? record->disrupted[a] : pod[b];
		a += order <= 0;
		b += order >= 0;
	}
	return count;
}

enum pl_code budget_record_disrupt(const struct budget_record *record,
                                   const struct budget_disrupted *pod, uint32_t pods,
                                   struct pl_arena *arena, struct budget_record *out,
                                   struct pl_err *err)
{
	struct budget_disrupted *all = pl_arena_zalloc(
		arena, (size_t)record->disrupted_count + pods + 1, sizeof *all);
	struct budget_record made = *record;
	struct budget_status *status = &made.status;

	if (all == NULL)
		return pl_err_set(err, PL_NOMEM, "a budget");
	made.disrupted = all;
	made.disrupted_count = merge_disrupted(record, pod, pods, all);
	if (made.disrupted_count > BUDGET_DISRUPTED_MAX)
		return pl_err_set(err, PL_LIMIT,
		                  "more than %d of its pods were disturbed since they "
		                  "were counted",
		                  BUDGET_DISRUPTED_MAX);
	status->healthy -= pods < status->healthy ? pods : status->healthy;
	status->allowed =
		budget_allowed(status->expected, status->desired, status->healthy);
	*out = made;
	return PL_OK;
}
