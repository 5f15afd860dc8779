#include "shardsched/records/gang_record.h"
#include "tests/harness/torture.h"

#define L(text) PL_SPAN_LIT(text)

static const char reserving[] =
	"{\"v\":1,\"phase\":\"reserving\",\"shard\":\"east-0\",\"epoch\":\"12\","
	"\"until\":\"2026-11-21T09:00:00.000Z\",\"nodes\":["
	"{\"at\":3,\"cluster\":\"east\",\"node\":\"n-1\","
	"\"pods\":{\"w-0\":\"4711\",\"w-1\":\"4712\"}},"
	"{\"at\":0,\"cluster\":\"west\",\"node\":\"n-0\",\"pods\":{\"w-2\":\"1\"}}]}";

static struct pl_arena arena;
static struct pl_buf buf;

static void up(void)
{
	pl_arena_init(&arena, 65536, 0);
	pl_buf_init(&buf, GANG_RECORD_BYTES_MAX);
}

static void down(void)
{
	pl_buf_done(&buf);
	pl_arena_done(&arena);
}

static enum pl_code parse(const char *text, struct gang_record *out)
{
	struct pl_err err = {0};
	enum pl_code code = gang_record_parse(pl_span_str(text), &arena, out, &err);

	T_EQ(err.code, code);
	return code;
}

static enum pl_code print(const struct gang_record *record)
{
	struct pl_err err = {0};

	pl_buf_clear(&buf, buf.cap);
	return gang_record_print(record, &buf, &err);
}

T_CASE(records_are_printed_as_they_were_read)
{
	struct gang_record record;

	up();
	T_EQ(parse(reserving, &record), PL_OK);
	T_EQ(record.phase, GANG_PHASE_RESERVING);
	T_EQ(record.epoch, 12);
	T_EQ(record.until_ms, 1795251600000);
	T_EQ(record.nodes, 2);
	T_EQ(record.node[0].partition, 3);
	T_SPAN(record.node[0].name, L("n-1"));
	T_EQ(record.node[0].pods, 2);
	T_SPAN(record.node[0].pod[1].name, L("w-1"));
	T_EQ(record.node[0].pod[1].spec_rev, 4712);
	T_EQ(print(&record), PL_OK);
	T_SPAN(pl_buf_span(&buf), pl_span_str(reserving));
	for (unsigned phase = 0; phase < GANG_PHASES; phase++) {
		record.phase = (enum gang_phase)phase;
		T_EQ(print(&record), PL_OK);
		T_EQ(pl_buf_add(&buf, pl_span("", 1)), PL_OK);
		T_EQ(parse((const char *)buf.at, &record), PL_OK);
		T_EQ(record.phase, phase);
	}
	down();
}

static const struct {
	const char *text, *says;
} refused[] = {
	{"[]", ""},
	{"{\"v\":2}", ""},
	{"{\"v\":1,\"phase\":\"done\",\"shard\":\"a\",\"epoch\":\"1\"}", "phase"},
	{"{\"v\":1,\"phase\":\"bound\",\"shard\":\"A\",\"epoch\":\"1\"}", "shard"},
	{"{\"v\":1,\"phase\":\"bound\",\"shard\":\"a\"}", "epoch"},
#define HEAD                                                                      \
	"{\"v\":1,\"phase\":\"bound\",\"shard\":\"a\",\"epoch\":\"1\",\"until\":" \
	"\"2026-11-21T09:00:00.000Z\""
	{HEAD "}", "at least one"},
	{HEAD ",\"nodes\":[]}", "at least one"},
	{HEAD ",\"nodes\":[7]}", "nodes[0]"},
	{HEAD ",\"nodes\":[{\"at\":1,\"cluster\":\"e\",\"node\":\"n\"}]}", "at least"},
	{HEAD ",\"nodes\":[{\"at\":99999,\"cluster\":\"e\",\"node\":\"n\",\"pods\":"
              "{\"a\":\"1\"}}]}",
         "partition"},
	{HEAD ",\"nodes\":[{\"at\":1,\"cluster\":\"e\",\"node\":\"n\",\"pods\":"
              "{\"a\":\"0\"}}]}",
         "revision"},
	{HEAD ",\"nodes\":[{\"at\":1,\"cluster\":\"e\",\"node\":\"n\",\"pods\":"
              "{\"b\":\"1\",\"a\":\"1\"}}]}",
         "order"},
	{HEAD ",\"nodes\":[{\"at\":1,\"cluster\":\"e\",\"node\":\"n\",\"pods\":"
              "{\"a\":\"1\"}},{\"at\":1,\"cluster\":\"e\",\"node\":\"n\",\"pods\":"
              "{\"b\":\"1\"}}]}",
         "order"},
};

T_CASE(malformed_gang_record_is_refused)
{
	up();
	for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct gang_record record = {.nodes = 99};
		struct pl_err err = {0};

		T_EQ(gang_record_parse(pl_span_str(refused[i].text), &arena, &record,
		                       &err),
		     PL_INVALID);
		T_TRUE(strstr(err.msg, refused[i].says) != NULL);
		T_EQ(record.nodes, 99);
	}
	down();
}

T_CASE(there_are_bounds)
{
	struct gang_record_pod *pod;
	struct gang_record_node node = {.cluster = L("e"), .name = L("n")};
	struct gang_record record = {.shard = L("a"), .node = &node, .nodes = 1};

	up();
	pod = pl_arena_zalloc(&arena, GANG_RECORD_PODS_MAX + 1, sizeof *pod);
	for (uint32_t i = 0; i <= GANG_RECORD_PODS_MAX; i++)
		pod[i] = (struct gang_record_pod){
			pl_span_str(pl_arena_printf(&arena, "worker-%08u", i)), 1000000};
	node.pod = pod;
	node.pods = GANG_RECORD_PODS_MAX;
	T_EQ(print(&record), PL_OK);
	node.pods++;
	T_EQ(print(&record), PL_LIMIT);
	T_EQ(buf.len, 0);
	down();
}

static enum pl_code torture(void)
{
	struct gang_record record;
	enum pl_code code;

	pl_arena_init(&arena, 64, 0);
	pl_buf_init(&buf, GANG_RECORD_BYTES_MAX);
	code = gang_record_parse(pl_span_str(reserving), &arena, &record, NULL);
	if (code == PL_OK)
		code = gang_record_print(&record, &buf, NULL);
	down();
	return code;
}

T_CASE(failed_allocation_is_reported)
{
	t_torture(torture, false);
}
