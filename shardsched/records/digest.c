#include "shardsched/records/digest.h"

#include <inttypes.h>

#include "shardsched/records/value_reader.h"
#include "shardsched/records/value_writer.h"
#include "store/keys/keys.h"

enum { DIGITS = 4 };

/* -- printing ---------------------------------------------------------------------- */

static void put_amount(struct value_writer *out, struct pl_span name, int64_t amount,
                       const char *unit)
{
	if (amount == 0)
		return;
	if (amount < 0)
		value_writer_fail(out, PL_INVALID);
	value_writer_escaped(out, name);
	VALUE_WRITER_LIT(out, ":\"");
	value_writer_number(out, (uint64_t)amount);
	value_writer_raw(out, unit, strlen(unit));
	VALUE_WRITER_LIT(out, "\",");
}

static void put_capacity(struct value_writer *out, const struct digest_capacity *room)
{
	VALUE_WRITER_LIT(out, "{");
	put_amount(out, PL_SPAN_LIT("cpu"), room->cpu_milli, "m");
	put_amount(out, PL_SPAN_LIT("memory"), room->memory, "");
	put_amount(out, PL_SPAN_LIT("ephemeral-storage"), room->storage, "");
	put_amount(out, PL_SPAN_LIT("pods"), room->pods, "");
	for (uint32_t i = 0; i < room->scalars; i++)
		put_amount(out, room->scalar[i].name, room->scalar[i].amount, "");
	value_writer_close(out, '}');
}

static void put_texts(struct value_writer *out, const struct pl_span *text,
                      uint32_t count)
{
	VALUE_WRITER_LIT(out, "[");
	for (uint32_t i = 0; i < count; i++) {
		value_writer_escaped(out, text[i]);
		VALUE_WRITER_LIT(out, ",");
	}
	value_writer_close(out, ']');
}

static void put_least(struct value_writer *out, int32_t least)
{
	uint64_t size = (uint64_t)(least < 0 ? -(int64_t)least : least);

	if (least == DIGEST_NO_PODS)
		return;
	VALUE_WRITER_LIT(out, "\"least\":");
	if (least < 0)
		VALUE_WRITER_LIT(out, "-");
	value_writer_number(out, size);
	VALUE_WRITER_LIT(out, ",");
}

static void put_newest(struct value_writer *out, int64_t newest)
{
	if (newest == 0)
		return;
	VALUE_WRITER_LIT(out, "\"newest\":");
	value_writer_number(out, (uint64_t)newest);
	VALUE_WRITER_LIT(out, ",");
}

static void put_class(struct value_writer *out, const struct digest_class *class)
{
	VALUE_WRITER_LIT(out, "{\"nodes\":");
	value_writer_number(out, class->nodes);
	VALUE_WRITER_LIT(out, ",");
	if (class->more)
		VALUE_WRITER_LIT(out, "\"more\":true,");
	if (class->other)
		VALUE_WRITER_LIT(out, "\"other\":true,");
	if (class->taints > 0) {
		VALUE_WRITER_LIT(out, "\"taints\":");
		put_texts(out, class->taint, class->taints);
	}
	VALUE_WRITER_LIT(out, "\"free\":");
	put_capacity(out, &class->free);
	VALUE_WRITER_LIT(out, "\"most\":");
	put_capacity(out, &class->most);
	VALUE_WRITER_LIT(out, "\"labels\":{");
	for (uint32_t i = 0; i < class->labels; i++) {
		value_writer_escaped(out, class->label[i].key);
		VALUE_WRITER_LIT(out, ":");
		put_texts(out, class->label[i].value, class->label[i].values);
	}
	value_writer_close(out, '}');
	put_least(out, class->least);
	put_newest(out, class->newest);
	value_writer_close(out, '}');
}

static void put_part(struct value_writer *out, const struct digest_partition *part)
{
	uint32_t p = part->partition;
	char name[DIGITS] = {(char)('0' + p / 1000 % 10), (char)('0' + p / 100 % 10),
	                     (char)('0' + p / 10 % 10), (char)('0' + p % 10)};

	VALUE_WRITER_LIT(out, "\"");
	value_writer_raw(out, name, sizeof name);
	VALUE_WRITER_LIT(out, "\":[");
	for (uint32_t i = 0; i < part->classes; i++)
		put_class(out, &part->class[i]);
	value_writer_close(out, ']');
}

enum pl_code digest_print(const struct digest *digest, struct pl_buf *out,
                          struct pl_err *err)
{
	struct value_writer text;
	enum pl_code code;

	value_writer_begin(&text, out);
	VALUE_WRITER_LIT(&text, "{\"v\":1,\"partitions\":{");
	for (uint32_t i = 0; i < digest->parts; i++) {
		PL_ASSERT(digest->part[i].partition < KEYS_PARTITIONS_MAX);
		PL_ASSERT(i == 0 ||
		          digest->part[i - 1].partition < digest->part[i].partition);
		put_part(&text, &digest->part[i]);
	}
	value_writer_close(&text, '}');
	value_writer_close(&text, '}');
	code = value_writer_end(&text, DIGEST_BYTES_MAX);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "write a digest");
}

/* -- reading ----------------------------------------------------------------------- */

static struct pl_span text_of(struct value_reader *in, struct pl_json value,
                              struct pl_span text)
{
	if (text.len > DIGEST_TEXT_MAX)
		value_reader_refuse(in, value, "want at most %d bytes", DIGEST_TEXT_MAX);
	return text;
}

static bool read_fixed(struct value_reader *in, struct pl_json value,
                       struct digest_capacity *out)
{
	struct pl_span name = pl_span_str(pl_json_key(value));

	if (pl_span_eq(name, PL_SPAN_LIT("cpu")))
		out->cpu_milli = value_reader_amount(in, value, "m", 1);
	else if (pl_span_eq(name, PL_SPAN_LIT("memory")))
		out->memory = value_reader_amount(in, value, "", 1);
	else if (pl_span_eq(name, PL_SPAN_LIT("ephemeral-storage")))
		out->storage = value_reader_amount(in, value, "", 1);
	else if (pl_span_eq(name, PL_SPAN_LIT("pods")))
		out->pods = value_reader_amount(in, value, "", 1);
	else
		return false;
	return true;
}

static void read_capacity(struct value_reader *in, struct pl_json class, const char *name,
                          struct digest_capacity *out)
{
	struct pl_json object = value_reader_object(in, class, name);
	uint32_t most = DIGEST_SCALARS_MAX + 4;
	struct digest_scalar *scalar = value_reader_alloc(
		in, value_reader_length(in, object, most), sizeof *scalar);

	PL_JSON_EACH (value, object) {
		struct pl_span key = pl_span_str(pl_json_key(value));

		if (in->code != PL_OK || scalar == NULL)
			return;
		if (read_fixed(in, value, out))
			continue;
		if (out->scalars == DIGEST_SCALARS_MAX)
			value_reader_refuse(in, object, "want at most %d scalars",
			                    DIGEST_SCALARS_MAX);
		else
			scalar[out->scalars++] = (struct digest_scalar){
				text_of(in, value, key),
				value_reader_amount(in, value, "", 1)};
	}
	out->scalar = scalar;
}

static uint32_t read_texts(struct value_reader *in, struct pl_json list, uint32_t most,
                           const struct pl_span **out)
{
	uint32_t count = value_reader_length(in, list, most), i = 0;
	struct pl_span *text = value_reader_alloc(in, count, sizeof *text);

	PL_JSON_EACH (value, list)
		if (text != NULL && i < count)
			text[i++] = text_of(in, value, value_reader_string(in, value));
	*out = text;
	return i;
}

static void read_labels(struct value_reader *in, struct pl_json class,
                        struct digest_class *out)
{
	struct pl_json object = value_reader_object(in, class, "labels");
	uint32_t count = value_reader_length(in, object, DIGEST_LABELS_MAX);
	struct digest_label *label = value_reader_alloc(in, count, sizeof *label);

	PL_JSON_EACH (value, object) {
		struct digest_label *to;

		if (label == NULL || out->labels == count)
			return;
		to = &label[out->labels++];
		value_reader_type(in, value, PL_JSON_ARRAY);
		to->key = text_of(in, value, pl_span_str(pl_json_key(value)));
		to->values = read_texts(in, value, DIGEST_VALUES_MAX, &to->value);
	}
	out->label = label;
}

static bool read_bool(struct value_reader *in, struct pl_json object, const char *name)
{
	bool is = false;

	if (in->code == PL_OK)
		in->code = pl_json_bool(object, name, PL_JSON_OPTIONAL, &is, in->err);
	return is;
}

static int64_t read_int(struct value_reader *in, struct pl_json class, const char *name,
                        struct pl_json_range range, int64_t otherwise)
{
	int64_t number = otherwise;

	if (in->code == PL_OK)
		in->code = pl_json_int_in(class, name, PL_JSON_OPTIONAL, range, &number,
		                          in->err);
	return number;
}

static void read_class(struct value_reader *in, struct pl_json value,
                       struct digest_class *out)
{
	uint64_t nodes;

	value_reader_type(in, value, PL_JSON_OBJECT);
	nodes = value_reader_number(in, value, "nodes");
	if (nodes > UINT32_MAX)
		value_reader_refuse(in, value, "nodes: too many");
	out->nodes = (uint32_t)nodes;
	out->more = read_bool(in, value, "more");
	out->other = read_bool(in, value, "other");
	out->taints = read_texts(in, value_reader_array(in, value, "taints"),
	                         DIGEST_TAINTS_MAX, &out->taint);
	read_capacity(in, value, "free", &out->free);
	read_capacity(in, value, "most", &out->most);
	read_labels(in, value, out);
	out->least = (int32_t)read_int(in, value, "least",
	                               (struct pl_json_range){INT32_MIN, INT32_MAX},
	                               DIGEST_NO_PODS);
	out->newest =
		read_int(in, value, "newest", (struct pl_json_range){0, INT64_MAX}, 0);
}

static void read_part(struct value_reader *in, struct pl_json value,
                      struct digest_partition *out)
{
	struct pl_span name = pl_span_str(pl_json_key(value));
	struct digest_class *class;
	uint64_t partition = 0;
	uint32_t count;

	value_reader_type(in, value, PL_JSON_ARRAY);
	for (size_t i = 0; i < name.len && name.len == DIGITS; i++)
		partition = name.at[i] < '0' || name.at[i] > '9'
		                    ? KEYS_PARTITIONS_MAX
		                    : partition * 10 + name.at[i] - '0';
	if (name.len != DIGITS || partition >= KEYS_PARTITIONS_MAX)
		value_reader_refuse(in, value, "no partition");
	count = value_reader_length(in, value, DIGEST_CLASSES_MAX);
	class = value_reader_alloc(in, count, sizeof *class);
	out->partition = (uint32_t)partition;
	PL_JSON_EACH (item, value)
		if (class != NULL && out->classes < count)
			read_class(in, item, &class[out->classes++]);
	out->class = class;
}

enum pl_code digest_parse(struct pl_span value, struct pl_arena *arena,
                          struct digest *out, struct pl_err *err)
{
	struct value_reader in;
	struct pl_json root =
		value_reader_begin(&in, arena, value, DIGEST_BYTES_MAX, err);
	struct pl_json list = value_reader_object(&in, root, "partitions");
	uint32_t count = value_reader_length(&in, list, KEYS_PARTITIONS_MAX);
	struct digest_partition *part = value_reader_alloc(&in, count, sizeof *part);
	uint32_t parts = 0;

	PL_JSON_EACH (item, list) {
		if (part == NULL || in.code != PL_OK || parts == count)
			break;
		read_part(&in, item, &part[parts]);
		if (parts > 0 && part[parts].partition <= part[parts - 1].partition)
			value_reader_refuse(&in, item, "not in order");
		parts++;
	}
	if (in.code == PL_OK)
		*out = (struct digest){.part = part, .parts = parts};
	return in.code;
}
