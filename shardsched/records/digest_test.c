#include "shardsched/records/digest.h"
#include "tests/harness/t.h"

#define TEXT(text)                                           \
	{                                                    \
		(const uint8_t *)("" text), sizeof(text) - 1 \
	}

static struct pl_arena arena;
static struct pl_buf buf;
static struct pl_err err;

static const struct pl_span taint[] = {TEXT("dedicated=gpu:NoSchedule")};
static const struct pl_span zones[] = {TEXT("a"), TEXT("b \"c\"")};
static const struct digest_label label[] = {{TEXT("zone"), zones, 2},
                                            {TEXT("kubernetes.io/hostname"), NULL, 0}};
static const struct digest_scalar gpu[] = {{TEXT("nvidia.com/gpu"), 3}};
static const struct digest_class class[] = {
	{.nodes = 78,
         .taint = taint,
         .taints = 1,
         .free = {41200, 8589934592, 0, 2100, gpu, 1},
         .most = {4000, INT64_MAX, 7, 110, NULL, 0},
         .label = label,
         .labels = 2,
         .least = -10,
         .newest = 4711},
	{.nodes = 1, .more = true, .other = true, .least = DIGEST_NO_PODS},
};
static const struct digest_partition part[] = {{0, NULL, 0}, {7, class, 2}};
static const struct digest whole = {part, 2};

static const char whole_text[] =
	"{\"v\":1,\"partitions\":{\"0000\":[],\"0007\":[{\"nodes\":78,\"taints\":["
	"\"dedicated=gpu:NoSchedule\"],\"free\":{\"cpu\":\"41200m\",\"memory\":"
	"\"8589934592\",\"pods\":\"2100\",\"nvidia.com/gpu\":\"3\"},\"most\":{\"cpu\":"
	"\"4000m\",\"memory\":\"9223372036854775807\",\"ephemeral-storage\":\"7\",\"pods\":"
	"\"110\"},\"labels\":{\"zone\":[\"a\",\"b \\\"c\\\"\"],"
	"\"kubernetes.io/hostname\":[]},\"least\":-10,\"newest\":4711},{\"nodes\":1,\"more\":true,\"other\":true,"
	"\"free\":{},\"most\":{},\"labels\":{}}]}}";

static void begin(void)
{
	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&buf, DIGEST_BYTES_MAX);
}

static void end(void)
{
	pl_buf_done(&buf);
	pl_arena_done(&arena);
}

T_CASE(digest_is_written_and_read_back)
{
	struct digest read;

	begin();
	T_OK(digest_print(&whole, &buf, &err), &err);
	T_TRUE(pl_span_eq(pl_buf_span(&buf), pl_span_str(whole_text)));
	T_OK(digest_parse(pl_buf_span(&buf), &arena, &read, &err), &err);
	T_EQ(read.parts, 2);
	T_EQ(read.part[1].partition, 7);
	T_EQ(read.part[1].classes, 2);
	T_EQ(read.part[1].class[0].most.memory, INT64_MAX);
	T_EQ(read.part[1].class[0].label[1].values, 0);
	T_EQ(read.part[1].class[0].least, -10);
	T_EQ(read.part[1].class[0].newest, 4711);
	T_EQ(read.part[1].class[1].least, DIGEST_NO_PODS);
	T_TRUE(read.part[1].class[1].more && read.part[1].class[1].other);
	pl_buf_clear(&buf, buf.cap);
	T_OK(digest_print(&read, &buf, &err), &err);
	T_TRUE(pl_span_eq(pl_buf_span(&buf), pl_span_str(whole_text)));
	end();
}

static void refused(const char *text, enum pl_code code)
{
	struct digest read = {.parts = 99};

	T_EQ(digest_parse(pl_span_str(text), &arena, &read, &err), code);
	T_EQ(read.parts, 99);
	T_TRUE(err.msg[0] != 0);
}

T_CASE(malformed_input_is_refused)
{
	begin();
	refused("", PL_INVALID);
	refused("{\"v\":2}", PL_INVALID);
	refused("{\"v\":1,\"partitions\":[]}", PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"7\":[]}}", PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"9999\":[]}}", PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"00x7\":[]}}", PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"0002\":[],\"0001\":[]}}", PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"0001\":{}}}", PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"0001\":[7]}}", PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"0001\":[{}]}}", PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"0001\":[{\"nodes\":-1}]}}", PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"0001\":[{\"nodes\":1,\"free\":{\"cpu\":\"1\"}"
	        "}]}}",
	        PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"0001\":[{\"nodes\":1,\"most\":{\"pods\":"
	        "\"-1\"}}]}}",
	        PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"0001\":[{\"nodes\":1,\"labels\":{\"a\":"
	        "\"b\"}}]}}",
	        PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"0001\":[{\"nodes\":1,\"least\":"
	        "2147483648}]}}",
	        PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"0001\":[{\"nodes\":1,\"labels\":{},"
	        "\"newest\":-1}]}}",
	        PL_INVALID);
	refused("{\"v\":1,\"partitions\":{\"0001\":[{},{},{},{},{},{},{},{},{}]}}",
	        PL_LIMIT);
	end();
}

T_CASE(negative_amounts_are_not_written)
{
	const struct digest_class bad = {.nodes = 1, .free = {.memory = -1}};
	const struct digest_partition one = {1, &bad, 1};

	begin();
	T_EQ(digest_print(&(struct digest){&one, 1}, &buf, &err), PL_INVALID);
	T_EQ(pl_buf_span(&buf).len, 0);
	end();
}
