/*
 * How much goes into one transaction.
 */
#include "store/base/fault.h"
#include "store/etcd/codec.h"
#include "tests/support/shardsched/records/txn_builder_kit.h"

/* The size in etcd's encoding. */
static size_t encoded(void)
{
	struct kv_req req;
	struct pl_buf buf;
	size_t bytes;

	builder_req(&builder, &req);
	pl_buf_init(&buf, 8 << 20);
	T_OK(codec_encode(&req, &buf, NULL, &kit.err), &kit.err);
	bytes = buf.len;
	pl_buf_done(&buf);
	return bytes;
}

static bool add_any(unsigned i, struct pl_span value)
{
	char name[260];
	struct builder_pod pod = {.partition = 4095, .namespace = L("web")};
	struct builder_node node = {.partition = 4095, .cluster = L("east")};
	struct builder_decision old = {.spec_rev = INT64_MAX, .state = value};
	int len;

	memset(name, 'x', sizeof name);
	len = snprintf(name, sizeof name, "app-%u", i);
	name[len] = 'x';
	pod.name = pl_span(name, (size_t)len + i % 200);
	node.name = pod.name;
	old.pod = pod;
	old.state_rev = i % 2 == 0 ? 0 : INT64_MAX;
	switch (i % 10) {
	case 0:
		return builder_submit(&builder, &pod, 7, value);
	case 1:
	case 2:
		return builder_put_state(&builder, &old);
	case 3:
		return builder_delete_pod(&builder, &old, 7);
	case 4:
		return builder_put_alloc(&builder, &node, INT64_MAX, value);
	case 5:
		return builder_put_node(&builder, &node, INT64_MAX, INT64_MAX, value,
		                        value);
	case 6:
		return builder_delete_node(&builder, &node, INT64_MAX, INT64_MAX);
	case 7:
		return builder_delete(&builder, pod.name, INT64_MAX);
	case 8:
		return builder_expect(&builder, pod.name, INT64_MAX);
	default:
		return builder_put(&builder, pod.name, INT64_MAX, value);
	}
}

static void check_counts(const struct txn_builder *before)
{
	T_EQ(builder.entries, before->entries);
	T_EQ(builder.compares, before->compares);
	T_EQ(builder.thens, before->thens);
	T_EQ(builder.otherwises, before->otherwises);
	T_EQ(builder.bytes, before->bytes);
}

/* How many entries of a kind are taken. */
static void fill(unsigned kind, unsigned want)
{
	builder_begin(&builder, &arena, no_limits);
	for (unsigned i = 0; add_any(10 * i + kind, L("v")); i++)
		T_TRUE(i < want);
	T_EQ(builder.entries, want);
	T_EQ(builder.code, PL_OK);
}

T_CASE(operations_are_bounded_and_entries_whole)
{
	up();
	for (uint32_t ops = 1; ops < 140; ops += ops < 12 ? 1 : 16) {
		struct txn_builder before;
		unsigned i = 0;

		pl_arena_reset(&arena);
		builder_begin(&builder, &arena, (struct kv_limits){.txn_ops = ops});
		do
			before = builder;
		while (add_any(i++, L("v")));
		check_counts(&before);
		T_EQ(builder.code, builder.entries == 0 ? PL_LIMIT : PL_OK);
		T_TRUE(builder.compares <= ops && builder.thens <= ops &&
		       builder.otherwises <= ops);
		T_TRUE(codec_txn_ops(&(struct kv_req){
			       .op = KV_TXN,
			       .txn = {.compare_count = builder.compares,
		                       .then = builder.then,
		                       .then_count = builder.thens,
		                       .otherwise = builder.otherwise,
		                       .otherwise_count = builder.otherwises}}) <= ops);
		ops -= builder.nests;
		T_TRUE(builder.otherwises + 2 > ops || builder.compares + 2 > ops ||
		       builder.thens + (builder.shape_bumped ? 2u : 3u) > ops);
		ops += builder.nests;
	}
	fill(1, 128); /* one operation in each list for a state */
	fill(2, 128); /* and for a first decision; two compares where it is crowded */
	fill(3, 63);  /* two deletions for a pod with a pointer, one of them nested */
	fill(4, 64);  /* two reads for an alloc */
	down();
}

/* The guard puts two compares in front for each. */
T_CASE(there_is_room_for_the_fences_of_all_partitions)
{
	struct kv_limits limits = {.txn_ops = 18, .fences = 3};

	up();
	builder_begin(&builder, &arena, limits);
	for (uint32_t i = 0; i < 18; i++) {
		struct builder_decision it = decided(0, 7, "{}");
		char name[16];
		uint32_t fences = i + 1 < 3 ? 3 : i + 1;

		(void)snprintf(name, sizeof name, "app-%u", i);
		it.pod.partition = i;
		it.pod.name = pl_arena_dup(&arena, pl_span_str(name));
		T_EQ(builder_put_state(&builder, &it), i + 1 + 2 * (fences - 3) <= 18);
	}
	T_EQ(builder.entries, 8);
	T_EQ(builder.fences, 8);
	T_EQ(builder.code, PL_OK);
	builder_begin(&builder, &arena, limits);
	for (uint32_t i = 0; i < 18; i++) {
		struct builder_decision it = decided(0, 7, "{}");

		it.pod.partition = i % 3;
		T_TRUE(builder_put_state(&builder, &it));
	}
	T_EQ(builder.fences, 3);
	down();
}

/* Around it are the guard's compares of as many fences. */
static uint64_t ops_fenced(uint32_t fences)
{
	static struct kv_compare compare[128];
	struct kv_req inner, outer;

	builder_req(&builder, &inner);
	outer = (struct kv_req){.op = KV_TXN,
	                        .txn = {.compares = compare,
	                                .compare_count = (size_t)2 * fences,
	                                .then = &inner,
	                                .then_count = 1}};
	return codec_txn_ops(&outer);
}

static bool pod_and_node(uint32_t i, uint32_t partition)
{
	struct builder_decision pod = decided(7, 0, "{}");
	struct builder_node node = {.partition = partition, .cluster = L("east")};
	char name[16];

	(void)snprintf(name, sizeof name, "x-%u", i);
	pod.pod.partition = partition;
	pod.pod.name = node.name = pl_arena_dup(&arena, pl_span_str(name));
	return builder_put_state(&builder, &pod) &&
	       builder_put_alloc(&builder, &node, 7, L("{}"));
}

/* The wrapping of the request takes from all three lists. */
T_CASE(fenced_transaction_fits_through_the_guard)
{
	const struct kv_limits limits = {.txn_ops = 96, .fences = 16}; /* out of 128 */

	for (uint32_t partitions = 1; partitions <= 64; partitions *= 2) {
		uint32_t pods = 0;

		up();
		builder_begin(&builder, &arena, limits);
		while (pod_and_node(pods, pods % partitions))
			pods++;
		T_TRUE(pods >= 20);
		T_TRUE(ops_fenced(builder.fences) <= 128);
		down();
	}
}

T_CASE(estimated_bytes_are_an_upper_bound_and_close)
{
	static char text[5000];
	static const size_t lens[] = {0, 1, 100, 127, 128, 5000};

	memset(text, 'v', sizeof text);
	up();
	for (unsigned l = 0; l < sizeof lens / sizeof lens[0]; l++) {
		uint32_t most = 200000;
		struct txn_builder before;
		unsigned i = 0;
		size_t bytes, parts;

		pl_arena_reset(&arena);
		builder_begin(
			&builder, &arena,
			(struct kv_limits){.txn_ops = 100000, .request_bytes = most});
		do
			before = builder;
		while (add_any(i++, pl_span(text, lens[l])));
		check_counts(&before);
		T_EQ(builder.code, PL_OK);
		bytes = encoded();
		parts = builder.compares + builder.thens + builder.otherwises;
		T_TRUE(bytes + 128 <= builder.bytes && builder.bytes <= most);
		T_TRUE(builder.bytes <=
		       bytes + 128 + parts * 20 + (size_t)300 * builder.entries);
		T_TRUE(builder.bytes + 12000 > most);
	}
	down();
}

T_CASE(entry_without_memory_is_not_added)
{
	for (uint64_t nth = 1;; nth++) {
		struct txn_builder before;
		unsigned i = 0;
		bool fired;

		pl_arena_init(&arena, 64, 0);
		builder_begin(&builder, &arena, no_limits);
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		do
			before = builder;
		while (i < 70 && add_any(i++, L("v")));
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		if (builder.code == PL_NOMEM) {
			check_counts(&before);
			T_TRUE(!add_any(i, L("v")));
		}
		T_EQ(fired, builder.code == PL_NOMEM);
		pl_arena_done(&arena);
		if (!fired) {
			T_TRUE(nth > 20);
			break;
		}
	}
}
