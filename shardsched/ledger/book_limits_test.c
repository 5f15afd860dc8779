/* How much a book takes. */
#include "shardsched/ledger/book_kit.h"
#include "store/base/fault.h"
#include "store/etcd/codec.h"

/* What etcd's encoder makes of it. */
static size_t encoded(void)
{
	struct kv_req req;
	struct pl_buf buf;
	size_t bytes;

	book_req(&book, &req);
	pl_buf_init(&buf, 8 << 20);
	T_OK(codec_encode(&req, &buf, NULL, &kit.err), &kit.err);
	bytes = buf.len;
	pl_buf_done(&buf);
	return bytes;
}

static bool add_any(unsigned i, struct pl_span value)
{
	char name[260];
	struct book_pod pod = {.partition = 4095, .space = L("web")};
	struct book_node node = {.partition = 4095, .cluster = L("east")};
	struct book_decided old = {.spec_rev = INT64_MAX, .state = value};
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
		return book_submit(&book, &pod, 7, value);
	case 1:
	case 2:
		return book_put_state(&book, &old);
	case 3:
		return book_delete_pod(&book, &old, 7);
	case 4:
		return book_put_alloc(&book, &node, INT64_MAX, value);
	case 5:
		return book_put_node(&book, &node, INT64_MAX, INT64_MAX, value, value);
	case 6:
		return book_delete_node(&book, &node, INT64_MAX, INT64_MAX);
	case 7:
		return book_delete(&book, pod.name, INT64_MAX);
	case 8:
		return book_expect(&book, pod.name, INT64_MAX);
	default:
		return book_put(&book, pod.name, INT64_MAX, value);
	}
}

static void check_counts(const struct book *before)
{
	T_EQ(book.entries, before->entries);
	T_EQ(book.compares, before->compares);
	T_EQ(book.thens, before->thens);
	T_EQ(book.otherwises, before->otherwises);
	T_EQ(book.bytes, before->bytes);
}

/* How many entries of a kind are taken. */
static void fill(unsigned kind, unsigned want)
{
	book_begin(&book, &arena, no_limits);
	for (unsigned i = 0; add_any(10 * i + kind, L("v")); i++)
		T_TRUE(i < want);
	T_EQ(book.entries, want);
	T_EQ(book.code, PL_OK);
}

T_CASE(operations_are_bounded_and_entries_whole)
{
	up();
	for (uint32_t ops = 1; ops < 140; ops += ops < 12 ? 1 : 16) {
		struct book before;
		unsigned i = 0;

		pl_arena_reset(&arena);
		book_begin(&book, &arena, (struct kv_limits){.txn_ops = ops});
		do
			before = book;
		while (add_any(i++, L("v")));
		check_counts(&before);
		T_EQ(book.code, book.entries == 0 ? PL_LIMIT : PL_OK);
		T_TRUE(book.compares <= ops && book.thens <= ops &&
		       book.otherwises <= ops);
		T_TRUE(codec_txn_ops(&(struct kv_req){
			       .op = KV_TXN,
			       .txn = {.compare_count = book.compares,
		                       .then = book.then,
		                       .then_count = book.thens,
		                       .otherwise = book.otherwise,
		                       .otherwise_count = book.otherwises}}) <= ops);
		ops -= book.nests;
		T_TRUE(book.otherwises + 2 > ops || book.compares + 2 > ops ||
		       book.thens + (book.shape_bumped ? 2u : 3u) > ops);
		ops += book.nests;
	}
	fill(1, 128); /* one of each for a state */
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
	book_begin(&book, &arena, limits);
	for (uint32_t i = 0; i < 18; i++) {
		struct book_decided it = decided(0, 7, "{}");
		char name[16];
		uint32_t fences = i + 1 < 3 ? 3 : i + 1;

		(void)snprintf(name, sizeof name, "app-%u", i);
		it.pod.partition = i;
		it.pod.name = pl_arena_dup(&arena, pl_span_str(name));
		T_EQ(book_put_state(&book, &it), i + 1 + 2 * (fences - 3) <= 18);
	}
	T_EQ(book.entries, 8);
	T_EQ(book.fences, 8);
	T_EQ(book.code, PL_OK);
	book_begin(&book, &arena, limits);
	for (uint32_t i = 0; i < 18; i++) {
		struct book_decided it = decided(0, 7, "{}");

		it.pod.partition = i % 3;
		T_TRUE(book_put_state(&book, &it));
	}
	T_EQ(book.fences, 3);
	down();
}

/* Around it are the guard's compares of as many fences. */
static uint64_t ops_fenced(uint32_t fences)
{
	static struct kv_compare compare[128];
	struct kv_req inner, outer;

	book_req(&book, &inner);
	outer = (struct kv_req){.op = KV_TXN,
	                        .txn = {.compares = compare,
	                                .compare_count = (size_t)2 * fences,
	                                .then = &inner,
	                                .then_count = 1}};
	return codec_txn_ops(&outer);
}

static bool pod_and_node(uint32_t i, uint32_t partition)
{
	struct book_decided pod = decided(7, 0, "{}");
	struct book_node node = {.partition = partition, .cluster = L("east")};
	char name[16];

	(void)snprintf(name, sizeof name, "x-%u", i);
	pod.pod.partition = partition;
	pod.pod.name = node.name = pl_arena_dup(&arena, pl_span_str(name));
	return book_put_state(&book, &pod) && book_put_alloc(&book, &node, 7, L("{}"));
}

/* What the store takes is taken from all three lists by what is around them. */
T_CASE(what_is_fenced_goes_through_the_guard)
{
	const struct kv_limits limits = {.txn_ops = 96, .fences = 16}; /* of 128 */

	for (uint32_t partitions = 1; partitions <= 64; partitions *= 2) {
		uint32_t pods = 0;

		up();
		book_begin(&book, &arena, limits);
		while (pod_and_node(pods, pods % partitions))
			pods++;
		T_TRUE(pods >= 20);
		T_TRUE(ops_fenced(book.fences) <= 128);
		down();
	}
}

T_CASE(bytes_are_counted_from_above_and_not_by_far)
{
	static char text[5000];
	static const size_t lens[] = {0, 1, 100, 127, 128, 5000};

	memset(text, 'v', sizeof text);
	up();
	for (unsigned l = 0; l < sizeof lens / sizeof lens[0]; l++) {
		uint32_t most = 200000;
		struct book before;
		unsigned i = 0;
		size_t bytes, parts;

		pl_arena_reset(&arena);
		book_begin(&book, &arena,
		           (struct kv_limits){.txn_ops = 100000, .request_bytes = most});
		do
			before = book;
		while (add_any(i++, pl_span(text, lens[l])));
		check_counts(&before);
		T_EQ(book.code, PL_OK);
		bytes = encoded();
		parts = book.compares + book.thens + book.otherwises;
		T_TRUE(bytes + 128 <= book.bytes && book.bytes <= most);
		T_TRUE(book.bytes <=
		       bytes + 128 + parts * 20 + (size_t)300 * book.entries);
		T_TRUE(book.bytes + 12000 > most);
	}
	down();
}

T_CASE(without_memory_an_entry_is_not_there)
{
	for (uint64_t nth = 1;; nth++) {
		struct book before;
		unsigned i = 0;
		bool fired;

		pl_arena_init(&arena, 64, 0);
		book_begin(&book, &arena, no_limits);
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		do
			before = book;
		while (i < 70 && add_any(i++, L("v")));
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		if (book.code == PL_NOMEM) {
			check_counts(&before);
			T_TRUE(!add_any(i, L("v")));
		}
		T_EQ(fired, book.code == PL_NOMEM);
		pl_arena_done(&arena);
		if (!fired) {
			T_TRUE(nth > 20);
			break;
		}
	}
}
