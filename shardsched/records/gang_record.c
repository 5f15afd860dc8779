#include "shardsched/records/gang_record.h"

#include <inttypes.h>

#include "shardsched/records/value_reader.h"
#include "shardsched/records/value_writer.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"

#define GANG_PHASE_WORD(phase, word) word,
static const char *const phase_words[GANG_PHASES] = {GANG_PHASE_MAP(GANG_PHASE_WORD)};

const char *gang_phase_word(enum gang_phase phase)
{
	PL_ASSERT((unsigned)phase < GANG_PHASES);
	return phase_words[phase];
}

int gang_record_node_cmp(const struct gang_record_node *a,
                         const struct gang_record_node *b)
{
	int order = pl_span_cmp(a->cluster, b->cluster);

	return order != 0 ? order : pl_span_cmp(a->name, b->name);
}

/* -- printing ---------------------------------------------------------------------- */

static void put_name(struct value_writer *out, struct pl_span name)
{
	VALUE_WRITER_LIT(out, "\"");
	value_writer_word(out, name, TEXT_NAME);
	VALUE_WRITER_LIT(out, "\"");
}

static void put_revision(struct value_writer *out, int64_t revision)
{
	VALUE_WRITER_LIT(out, "\"");
	value_writer_number(out, (uint64_t)revision);
	VALUE_WRITER_LIT(out, "\",");
}

static void put_pods(struct value_writer *out, const struct gang_record_node *node)
{
	PL_ASSERT(node->pods > 0);
	VALUE_WRITER_LIT(out, "\"pods\":{");
	for (uint32_t i = 0; i < node->pods; i++) {
		PL_ASSERT(i == 0 ||
		          pl_span_cmp(node->pod[i - 1].name, node->pod[i].name) < 0);
		PL_ASSERT(node->pod[i].spec_rev > 0);
		put_name(out, node->pod[i].name);
		VALUE_WRITER_LIT(out, ":");
		put_revision(out, node->pod[i].spec_rev);
	}
	value_writer_close(out, '}');
}

static void put_node(struct value_writer *out, const struct gang_record_node *node)
{
	VALUE_WRITER_LIT(out, "{\"at\":");
	value_writer_number(out, node->partition);
	VALUE_WRITER_LIT(out, ",\"cluster\":");
	put_name(out, node->cluster);
	VALUE_WRITER_LIT(out, ",\"node\":");
	put_name(out, node->name);
	VALUE_WRITER_LIT(out, ",");
	put_pods(out, node);
	value_writer_close(out, '}');
}

static void put_record(struct value_writer *out, const struct gang_record *record)
{
	const char *word = gang_phase_word(record->phase);
	uint32_t pods = 0;

	PL_ASSERT(record->nodes > 0 && record->epoch >= 0);
	VALUE_WRITER_LIT(out, "{\"v\":1,\"phase\":\"");
	value_writer_raw(out, word, strlen(word));
	VALUE_WRITER_LIT(out, "\",\"shard\":");
	put_name(out, record->shard);
	VALUE_WRITER_LIT(out, ",\"epoch\":");
	put_revision(out, record->epoch);
	VALUE_WRITER_LIT(out, "\"until\":");
	value_writer_stamp(out, record->until_ms);
	VALUE_WRITER_LIT(out, ",\"nodes\":[");
	for (uint32_t i = 0; i < record->nodes && out->code == PL_OK; i++) {
		PL_ASSERT(i == 0 || gang_record_node_cmp(&record->node[i - 1],
		                                         &record->node[i]) < 0);
		put_node(out, &record->node[i]);
		pods += record->node[i].pods;
	}
	if (record->nodes > GANG_RECORD_NODES_MAX || pods > GANG_RECORD_PODS_MAX)
		value_writer_fail(out, PL_LIMIT);
	value_writer_close(out, ']');
	value_writer_close(out, '}');
}

enum pl_code gang_record_print(const struct gang_record *record, struct pl_buf *buf,
                               struct pl_err *err)
{
	struct value_writer out;
	enum pl_code code;

	value_writer_begin(&out, buf);
	put_record(&out, record);
	code = value_writer_end(&out, GANG_RECORD_BYTES_MAX);
	return code == PL_OK
	               ? PL_OK
	               : pl_err_set(err, code, "a gang's record: %s", pl_code_name(code));
}

/* -- reading ----------------------------------------------------------------------- */

/* How many there are, one at least; of is what lacks them. */
static uint32_t count_of(struct value_reader *in, struct pl_json list, struct pl_json of,
                         uint32_t most)
{
	size_t count = in->code == PL_OK && list.node != NULL ? pl_json_count(list) : 0;

	if (count == 0)
		value_reader_refuse(in, of, "want at least one");
	else if (count > most)
		in->code = pl_json_fail(list, PL_LIMIT, in->err, "want at most %" PRIu32,
		                        most);
	return in->code == PL_OK ? (uint32_t)count : 0;
}

static struct pl_span name_of(struct value_reader *in, struct pl_json at,
                              const char *name, enum names_kind kind)
{
	struct pl_span text = value_reader_word(in, at, name);
	struct pl_err why = {0};

	if (in->code == PL_OK && names_check(kind, text, &why) != PL_OK)
		value_reader_refuse(in, pl_json_member(at, name), "%s", why.msg);
	return text;
}

static int64_t revision_of(struct value_reader *in, struct pl_json value, int64_t least)
{
	struct pl_span text = value_reader_string(in, value);
	int64_t revision = 0;

	if (in->code == PL_OK &&
	    pl_num_i64_in(text, least, INT64_MAX, &revision, NULL) != PL_OK)
		value_reader_refuse(in, value, "want a revision");
	return revision;
}

static void read_pods(struct value_reader *in, struct pl_json of,
                      struct gang_record_node *out, uint32_t *left)
{
	struct pl_json pods = value_reader_object(in, of, "pods");
	uint32_t count = count_of(in, pods, of, *left);
	struct gang_record_pod *pod = value_reader_alloc(in, count, sizeof *pod);

	PL_JSON_EACH (value, pods) {
		struct pl_err why = {0};

		if (in->code != PL_OK)
			return;
		pod[out->pods].name = pl_span_str(pl_json_key(value));
		if (names_check(NAMES_POD, pod[out->pods].name, &why) != PL_OK)
			value_reader_refuse(in, value, "%s", why.msg);
		if (out->pods > 0 &&
		    pl_span_cmp(pod[out->pods - 1].name, pod[out->pods].name) >= 0)
			value_reader_refuse(in, value,
			                    "want pods in the order of their names");
		pod[out->pods].spec_rev = revision_of(in, value, 1);
		out->pods++;
	}
	*left -= out->pods;
	out->pod = pod;
}

static void read_node(struct value_reader *in, struct pl_json value,
                      struct gang_record_node *out, uint32_t *left)
{
	uint64_t partition;

	value_reader_type(in, value, PL_JSON_OBJECT);
	partition = value_reader_number(in, value, "at");
	if (partition >= KEYS_PARTITIONS_MAX)
		value_reader_refuse(in, pl_json_member(value, "at"), "no such partition");
	out->partition = (uint32_t)partition;
	out->cluster = name_of(in, value, "cluster", NAMES_CLUSTER);
	out->name = name_of(in, value, "node", NAMES_NODE);
	read_pods(in, value, out, left);
}

static void read_nodes(struct value_reader *in, struct pl_json root,
                       struct gang_record *out)
{
	struct pl_json nodes = value_reader_array(in, root, "nodes");
	uint32_t count = count_of(in, nodes, root, GANG_RECORD_NODES_MAX);
	struct gang_record_node *node = value_reader_alloc(in, count, sizeof *node);
	uint32_t left = GANG_RECORD_PODS_MAX;

	PL_JSON_EACH (value, nodes) {
		if (in->code != PL_OK)
			return;
		read_node(in, value, &node[out->nodes], &left);
		if (in->code == PL_OK && out->nodes > 0 &&
		    gang_record_node_cmp(&node[out->nodes - 1], &node[out->nodes]) >= 0)
			value_reader_refuse(in, value, "want nodes in order");
		out->nodes++;
	}
	out->node = node;
}

static enum gang_phase phase_of(struct value_reader *in, struct pl_json root)
{
	struct pl_span word = value_reader_word(in, root, "phase");

	for (unsigned i = 0; i < GANG_PHASES; i++)
		if (pl_span_eq(word, pl_span_str(phase_words[i])))
			return (enum gang_phase)i;
	value_reader_refuse(in, pl_json_member(root, "phase"),
	                    "no gang is in that phase");
	return GANG_PHASE_RESERVING;
}

static int64_t epoch_of(struct value_reader *in, struct pl_json root)
{
	(void)value_reader_word(in, root, "epoch");
	return in->code == PL_OK ? revision_of(in, pl_json_member(root, "epoch"), 0) : 0;
}

enum pl_code gang_record_parse(struct pl_span value, struct pl_arena *arena,
                               struct gang_record *out, struct pl_err *err)
{
	struct value_reader in;
	struct pl_json root =
		value_reader_begin(&in, arena, value, GANG_RECORD_BYTES_MAX, err);
	struct gang_record record = {
		.phase = phase_of(&in, root),
		.shard = name_of(&in, root, "shard", NAMES_SHARD),
		.epoch = epoch_of(&in, root),
		.until_ms = value_reader_stamp(&in, root, "until"),
	};

	read_nodes(&in, root, &record);
	if (in.code == PL_OK)
		*out = record;
	return in.code;
}
