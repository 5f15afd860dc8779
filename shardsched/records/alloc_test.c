#include <stdio.h>
#include <stdlib.h>

#include "shardsched/records/alloc.h"
#include "store/base/rng.h"
#include "tests/harness/torture.h"

#define L(text) PL_SPAN_LIT(text)

static const char whole[] =
	"{\"v\":1,\"generation\":12,\"left\":3,"
	"\"used\":{\"cpu\":\"12200m\",\"memory\":\"8589934592\",\"ephemeral-storage\":\"7\","
	"\"pods\":\"8\",\"nvidia.com/gpu\":\"1\"},"
	"\"nonzero\":{\"cpu\":\"12300m\",\"memory\":\"8799649792\"},"
	"\"ports\":[\"TCP/0.0.0.0/80\",\"UDP/::1/53\"],"
	"\"pods\":{\"0007\":{\"db\":[\"app-1\"],\"web\":[\"app-1\",\"app-2\"]},"
	"\"0012\":{\"web\":[\"app-0\"]}},"
	"\"leaving\":{\"0007\":{\"web\":[\"app-2\"]},\"0012\":{\"web\":[\"app-0\"]}},"
	"\"holds\":[{\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"train\","
	"\"used\":{\"cpu\":\"8000m\",\"pods\":\"4\"},"
	"\"until\":\"2026-11-21T09:00:00.000Z\"},"
	"{\"kind\":\"nominated\",\"namespace\":\"ml\",\"name\":\"train\",\"at\":4095,"
	"\"nonzero\":{\"cpu\":\"100m\"},\"until\":\"1970-01-01T00:00:00.000Z\"}]}";

static struct pl_arena arena;
static struct pl_buf buf;

static void up(void)
{
	pl_arena_init(&arena, 65536, 0);
	pl_buf_init(&buf, (size_t)2 * ALLOC_BYTES_MAX);
}

static void down(void)
{
	pl_buf_done(&buf);
	pl_arena_done(&arena);
}

static enum pl_code parse(struct pl_span text, struct alloc *out)
{
	struct pl_err err = {0};
	enum pl_code code = alloc_parse(text, &arena, out, &err);

	T_EQ(err.code, code);
	T_EQ(alloc_parse(text, &arena, &(struct alloc){0}, NULL), code);
	return code;
}

/* The text of the alloc. */
static struct pl_span print(const struct alloc *alloc)
{
	struct pl_err err = {0};

	buf.len = 0;
	T_OK(alloc_print(alloc, &buf, &err), &err);
	return pl_buf_span(&buf);
}

T_CASE(the_whole_value_is_printed_as_it_was_read)
{
	struct alloc alloc = {0};

	up();
	T_EQ(parse(pl_span_str(whole), &alloc), PL_OK);
	T_EQ(alloc.generation, 12);
	T_EQ(alloc.left, 3);
	T_EQ(alloc.used.cpu_milli, 12200);
	T_EQ(alloc.used.nonzero_cpu_milli, 12300);
	T_EQ(alloc.used.storage, 7);
	T_EQ(alloc.used.scalars, 1);
	T_SPAN(alloc.used.scalar[0].name, L("nvidia.com/gpu"));
	T_EQ(alloc.ports, 2);
	T_SPAN(alloc.port[1].ip, L("::1"));
	T_EQ(alloc.port[1].port, 53);
	T_EQ(alloc.pods, 4);
	T_EQ(alloc.pod[2].partition, 7);
	T_SPAN(alloc.pod[2].namespace, L("web"));
	T_SPAN(alloc.pod[2].name, L("app-2"));
	T_TRUE(!alloc.pod[0].leaving && !alloc.pod[1].leaving);
	T_TRUE(alloc.pod[2].leaving && alloc.pod[3].leaving);
	T_EQ(alloc.holds, 2);
	T_EQ(alloc.hold[0].used.pods, 4);
	T_EQ(alloc.hold[0].used.nonzero_cpu_milli, 8000);
	T_EQ(alloc.hold[0].until_ms, 1795251600000);
	T_EQ(alloc.hold[1].kind, ALLOC_RESERVATION_NOMINATED);
	T_EQ(alloc.hold[1].partition, 4095);
	T_EQ(alloc.hold[1].used.nonzero_cpu_milli, 100);
	T_SPAN(print(&alloc), pl_span_str(whole));
	down();
}

T_CASE(alloc_of_an_empty_node_is_short)
{
	struct alloc alloc = {.generation = 1};

	up();
	T_SPAN(print(&alloc), L("{\"v\":1,\"generation\":1}"));
	T_EQ(parse(L(" { \"generation\" : 1, \"v\" : 1, \"used\": {}, \"pods\": {}, "
	             "\"ports\": [], \"holds\": [], \"leaving\": {} }"),
	           &alloc),
	     PL_OK);
	T_EQ(alloc.pods + alloc.holds + alloc.ports + alloc.used.scalars, 0);
	T_SPAN(print(&alloc), L("{\"v\":1,\"generation\":1}"));
	down();
}

T_CASE(a_generation_beyond_doubles_is_a_string)
{
	struct alloc alloc = {.generation = UINT64_C(1) << 53};

	up();
	T_SPAN(print(&alloc), L("{\"v\":1,\"generation\":\"9007199254740992\"}"));
	T_EQ(parse(pl_buf_span(&buf), &alloc), PL_OK);
	T_EQ(alloc.generation, INT64_C(1) << 53);
	down();
}

T_CASE(unknown_members_are_ignored)
{
	struct alloc alloc = {0};

	up();
	T_EQ(parse(L("{\"later\":[{}],\"v\":1,\"generation\":3,\"nonzero\":{\"gpu\":1},"
	             "\"holds\":[{\"kind\":\"gang\",\"namespace\":\"a\",\"name\":\"b\","
	             "\"until\":\"1970-01-01T00:00:00.000Z\",\"zone\":null}]}"),
	           &alloc),
	     PL_OK);
	T_SPAN(print(&alloc), L("{\"v\":1,\"generation\":3,\"holds\":[{\"kind\":\"gang\","
	                        "\"namespace\":\"a\",\"name\":\"b\",\"until\":"
	                        "\"1970-01-01T00:00:00.000Z\"}]}"));
	down();
}

/* -- refusals ---------------------------------------------------------------------- */

static const struct {
	const char *text, *says;
} refused[] = {
	{"", ""},
	{"[]", "document: want an object"},
	{"{\"generation\":1}", "v: missing"},
	{"{\"v\":2,\"generation\":1}", "v: want 1"},
	{"{\"v\":1}", "generation: missing"},
	{"{\"v\":1,\"generation\":-1}", "generation: "},
	{"{\"v\":1,\"generation\":1.5}", "generation: "},
	{"{\"v\":1,\"generation\":\"9223372036854775808\"}", "generation: "},
	{"{\"v\":1,\"generation\":1,\"left\":-1}", "left: "},
	{"{\"v\":1,\"generation\":\"4611686018427387904\"}",
         "generation: want at most 4611686018427387903"},
	{"{\"v\":1,\"generation\":1,\"left\":\"9223372036854775807\"}",
         "left: want at most 4611686018427387903"},
	{"{\"v\":1,\"generation\":1,\"used\":[]}", "used: want an object"},
	{"{\"v\":1,\"generation\":1,\"used\":{\"cpu\":\"1\"}}",
         "used.cpu: want an amount like \"12m\""},
	{"{\"v\":1,\"generation\":1,\"used\":{\"cpu\":\"m\"}}", "used.cpu: "},
	{"{\"v\":1,\"generation\":1,\"used\":{\"cpu\":\"01m\"}}", "used.cpu: "},
	{"{\"v\":1,\"generation\":1,\"used\":{\"cpu\":\"-1m\"}}", "used.cpu: "},
	{"{\"v\":1,\"generation\":1,\"used\":{\"cpu\":\"0m\"}}",
         "used.cpu: want more than 0"},
	{"{\"v\":1,\"generation\":1,\"used\":{\"memory\":\"1Gi\"}}", "used.memory: "},
	{"{\"v\":1,\"generation\":1,\"used\":{\"memory\":1}}",
         "used.memory: want a string"},
	{"{\"v\":1,\"generation\":1,\"used\":{\"pods\":\"9223372036854775808\"}}",
         "used.pods: "},
	{"{\"v\":1,\"generation\":1,\"used\":{\"a b\":\"1\"}}", "no resource"},
	{"{\"v\":1,\"generation\":1,\"used\":{\"\":\"1\"}}", "no resource"},
	{"{\"v\":1,\"generation\":1,\"used\":{\"b/x\":\"1\",\"a/x\":\"1\"}}", "order"},
	{"{\"v\":1,\"generation\":1,\"used\":{\"a/x\":\"1\",\"a/x\":\"1\"}}", ""},
	{"{\"v\":1,\"generation\":1,\"nonzero\":{\"cpu\":\"1\"}}", "nonzero.cpu: "},
	{"{\"v\":1,\"generation\":1,\"ports\":[\"TCP/80\"]}", "ports[0]: want a port"},
	{"{\"v\":1,\"generation\":1,\"ports\":[\"TCP/1/2/80\"]}", "ports[0]: "},
	{"{\"v\":1,\"generation\":1,\"ports\":[\"TCP//80\"]}", "ports[0]: "},
	{"{\"v\":1,\"generation\":1,\"ports\":[\"/1.2.3.4/80\"]}", "ports[0]: "},
	{"{\"v\":1,\"generation\":1,\"ports\":[\"T P/1.2.3.4/80\"]}", "ports[0]: "},
	{"{\"v\":1,\"generation\":1,\"ports\":[\"TCP/::/0\"]}", "ports[0]: "},
	{"{\"v\":1,\"generation\":1,\"ports\":[\"\"]}", "ports[0]: "},
	{"{\"v\":1,\"generation\":1,\"ports\":[\"TCP/::/2\",\"TCP/::/2\"]}",
         "ports[1]: want ports in order"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"7\":{}}}", "pods.7: want a partition"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"4096\":{}}}", "pods.4096: want a part"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"000x\":{}}}", "pods.000x: want a part"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"0007\":[]}}", "pods.0007: want an obj"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"0007\":{\"a\":{}}}}", "pods.0007.a: w"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"0007\":{\"A\":[\"x\"]}}}",
         "pods.0007.A: namespace"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"0007\":{\"a\":[\"X\"]}}}",
         "pods.0007.a[0]: pod"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"0007\":{\"a\":[1]}}}",
         "pods.0007.a[0]: want a string"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"0007\":{\"a\":[\"x\",\"x\"]}}}",
         "pods.0007.a[1]: want pods in order"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"0007\":{\"b\":[\"x\"],\"a\":[\"x\"]}}}",
         "pods.0007.a[0]: want pods in order"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"0007\":{\"a\":[\"x\"]},\"0006\":{\"a\":"
         "[\"x\"]}}}",
         "pods.0006.a[0]: want pods in order"},
	{"{\"v\":1,\"generation\":1,\"leaving\":{\"0007\":{\"a\":[\"x\"]}}}",
         "leaving: want pods that are listed"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"0007\":{\"a\":[\"x\"]}},"
         "\"leaving\":{\"0007\":{\"a\":[\"w\",\"x\"]}}}",
         "leaving: want pods that are listed"},
	{"{\"v\":1,\"generation\":1,\"pods\":{\"0007\":{\"a\":[\"x\"]}},"
         "\"leaving\":{\"0007\":{\"a\":[\"x\",\"x\"]}}}",
         "leaving.0007.a[1]: want pods in order"},
	{"{\"v\":1,\"generation\":1,\"leaving\":[]}", "leaving: want an object"},
	{"{\"v\":1,\"generation\":1,\"holds\":[1]}", "holds[0]: want an object"},
	{"{\"v\":1,\"generation\":1,\"holds\":[{}]}", "holds[0].kind: missing"},
	{"{\"v\":1,\"generation\":1,\"holds\":[{\"kind\":\"x\"}]}", "holds[0].kind: no"},
	{"{\"v\":1,\"generation\":1,\"holds\":[{\"kind\":\"gang\",\"namespace\":\"a.b\","
         "\"name\":\"x\",\"until\":\"1970-01-01T00:00:00.000Z\"}]}",
         "holds[0].namespace: "},
	{"{\"v\":1,\"generation\":1,\"holds\":[{\"kind\":\"gang\",\"namespace\":\"a\","
         "\"name\":\"x\"}]}",
         "holds[0].until: missing"},
	{"{\"v\":1,\"generation\":1,\"holds\":[{\"kind\":\"gang\",\"namespace\":\"a\","
         "\"name\":\"x\",\"until\":\"1970-01-01T00:00:00Z\"}]}",
         "holds[0].until: "},
	{"{\"v\":1,\"generation\":1,\"holds\":[{\"kind\":\"gang\",\"namespace\":\"a\","
         "\"name\":\"x\",\"until\":\"1970-01-01T00:00:00.000Z\"},{\"kind\":\"gang\","
         "\"namespace\":\"a\",\"name\":\"x\",\"until\":\"1970-01-01T00:00:00.000Z\"}]}",
         "holds[1]: want holds in order"},
	{"{\"v\":1,\"generation\":1,\"holds\":[{\"kind\":\"nominated\",\"namespace\":\"a\","
         "\"name\":\"x\",\"until\":\"1970-01-01T00:00:00.000Z\"}]}",
         "holds[0].at: missing"},
	{"{\"v\":1,\"generation\":1,\"holds\":[{\"kind\":\"nominated\",\"namespace\":\"a\","
         "\"name\":\"x\",\"at\":4096,\"until\":\"1970-01-01T00:00:00.000Z\"}]}",
         "holds[0].at: no such partition"},
};

T_CASE(malformed_value_is_refused_with_the_path)
{
	for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct alloc alloc = {.generation = 99};
		struct pl_err err = {0};

		up();
		T_EQ(parse(pl_span_str(refused[i].text), &alloc), PL_INVALID);
		T_EQ(alloc.generation, 99);
		(void)!alloc_parse(pl_span_str(refused[i].text), &arena, &alloc, &err);
		if (strstr(err.msg, refused[i].says) == NULL)
			t_fail(__FILE__, __LINE__, "%s: '%s', want '%s'", refused[i].text,
			       err.msg, refused[i].says);
		down();
	}
}

T_CASE(every_cut_is_refused)
{
	struct alloc alloc;

	up();
	for (size_t len = 0; len < sizeof whole - 1; len++) {
		T_EQ(parse(pl_span(whole, len), &alloc), PL_INVALID);
		pl_arena_reset(&arena);
	}
	down();
}

T_CASE(impossible_value_is_not_printed)
{
	const struct alloc_scalar zero = {.name = PL_SPAN_LIT("a/x")};
	const struct alloc_port port = {L("TCP"), L("0/0"), 1};
	const struct alloc_port none = {L("TCP"), L("::"), 0};
	const struct alloc_pod slash = {L("a"), L("b/c"), 1, false};
	const struct alloc_pod quote = {L("a\""), L("b"), 1, false};
	const struct alloc_pod unnamed = {L("a"), L(""), 1, false};
	const struct alloc_pod far = {L("a"), L("b"), 4096, false};
	const struct alloc_reservation never = {
		.namespace = L("a"), .name = L("b"), .until_ms = -1};
	const struct alloc_reservation away = {.kind = ALLOC_RESERVATION_NOMINATED,
	                                       .namespace = L("a"),
	                                       .name = L("b"),
	                                       .partition = 4096};
	const struct alloc bad[] = {
		{.generation = UINT64_MAX},
		{.used = {.cpu_milli = -1}},
		{.used = {.nonzero_memory = -1}},
		{.used = {.scalar = &zero, .scalars = 1}},
		{.port = &port, .ports = 1},
		{.port = &none, .ports = 1},
		{.pod = &slash, .pods = 1},
		{.pod = &quote, .pods = 1},
		{.pod = &unnamed, .pods = 1},
		{.pod = &far, .pods = 1},
		{.hold = &never, .holds = 1},
		{.hold = &away, .holds = 1},
	};

	up();
	T_EQ(pl_buf_add(&buf, L("before")), PL_OK);
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		T_CODE(alloc_print(&bad[i], &buf, NULL), PL_INVALID, NULL);
		T_SPAN(pl_buf_span(&buf), L("before"));
	}
	down();
}

/* -- bounds ------------------------------------------------------------------------ */

static struct alloc full_of_pods(uint32_t count, size_t name_len)
{
	static struct alloc_pod pod[ALLOC_PODS_MAX + 1];
	char name[254];

	memset(name, 'x', sizeof name);
	for (uint32_t i = 0; i < count; i++) {
		(void)snprintf(name, 5, "%04u", i);
		name[4] = 'x';
		pod[i] = (struct alloc_pod){
			.partition = 3,
			.namespace = L("web"),
			.name = pl_arena_dup(&arena, pl_span(name, name_len))};
	}
	return (struct alloc){.generation = 1, .pod = pod, .pods = count};
}

T_CASE(bounds_hold_in_both_directions)
{
	struct alloc alloc, again;

	up();
	alloc = full_of_pods(ALLOC_PODS_MAX, 20);
	T_EQ(parse(print(&alloc), &again), PL_OK);
	T_EQ(again.pods, ALLOC_PODS_MAX);
	alloc = full_of_pods(ALLOC_PODS_MAX, 253);
	buf.len = 0;
	T_EQ(alloc_print(&alloc, &buf, NULL), PL_LIMIT);
	T_EQ(buf.len, 0);
	alloc = full_of_pods(ALLOC_PODS_MAX + 1, 20);
	T_EQ(alloc_print(&alloc, &buf, NULL), PL_LIMIT);
	T_EQ(buf.len, 0);
	T_EQ(pl_buf_add_str(&buf,
	                    "{\"v\":1,\"generation\":1,\"pods\":{\"0003\":{\"web\":["),
	     PL_OK);
	for (unsigned i = 0; i <= ALLOC_PODS_MAX; i++)
		T_EQ(pl_buf_printf(&buf, "%s\"%04u\"", i == 0 ? "" : ",", i), PL_OK);
	T_EQ(pl_buf_add_str(&buf, "]}}}"), PL_OK);
	T_EQ(parse(pl_buf_span(&buf), &again), PL_LIMIT);
	down();
}

T_CASE(a_buffer_that_is_too_small_is_left_as_it_was)
{
	struct alloc alloc = {0};
	size_t need;

	up();
	T_EQ(parse(pl_span_str(whole), &alloc), PL_OK);
	need = print(&alloc).len + 1;
	for (size_t max = 1; max <= need + 3; max++) {
		struct pl_buf small;
		enum pl_code code;

		pl_buf_init(&small, max);
		T_EQ(pl_buf_add(&small, L("x")), PL_OK);
		code = alloc_print(&alloc, &small, NULL);
		T_EQ(code, max < need + 1 ? PL_LIMIT : PL_OK);
		T_EQ(small.len, code == PL_OK ? need : 1);
		pl_buf_done(&small);
	}
	down();
}

/* -- whatever it is ---------------------------------------------------------------- */

static struct pl_rng rng;

static unsigned below(unsigned limit)
{
	return (unsigned)pl_rng_below(&rng, limit);
}

static int64_t some_amount(void)
{
	static const int64_t odd[] = {0, 1, 1000, INT64_MAX, 1 << 30};

	return below(3) == 0 ? odd[below(5)]
	                     : (int64_t)(pl_rng_next(&rng) >> below(63)) & INT64_MAX;
}

static struct pl_span some_name(unsigned many)
{
	return pl_span_str(pl_arena_printf(&arena, "%c%u%s", 'a' + below(3), below(many),
	                                   below(9) == 0 ? ".tail-0" : ""));
}

static int by_name(const void *a, const void *b)
{
	return pl_span_cmp(((const struct alloc_scalar *)a)->name,
	                   ((const struct alloc_scalar *)b)->name);
}

static int by_pod(const void *a, const void *b)
{
	return alloc_pod_cmp(a, b);
}

static int by_port(const void *a, const void *b)
{
	return alloc_port_cmp(a, b);
}

static int by_reservation(const void *a, const void *b)
{
	return alloc_reservation_cmp(a, b);
}

/* Sorted, each once. */
static uint32_t in_order(void *at, uint32_t count, size_t size,
                         int (*cmp)(const void *a, const void *b))
{
	char *base = at;
	uint32_t kept = 0;

	if (count > 0)
		qsort(at, count, size, cmp);
	for (uint32_t i = 0; i < count; i++) {
		if (kept > 0 && cmp(base + (kept - 1) * size, base + i * size) == 0)
			continue;
		memmove(base + kept * size, base + i * size, size);
		kept++;
	}
	return kept;
}

static struct alloc_amounts some_amounts(void)
{
	uint32_t count = below(4) == 0 ? below(6) : 0;
	struct alloc_scalar *scalar = pl_arena_zalloc(&arena, count + 1, sizeof *scalar);
	struct alloc_amounts amounts = {.cpu_milli = some_amount(),
	                                .memory = some_amount(),
	                                .storage = below(2) ? 0 : some_amount(),
	                                .pods = some_amount()};

	for (uint32_t i = 0; i < count; i++)
		scalar[i] = (struct alloc_scalar){.name = some_name(9),
		                                  .amount = 1 + (some_amount() >> 1)};
	amounts.scalars = in_order(scalar, count, sizeof *scalar, by_name);
	amounts.scalar = amounts.scalars == 0 ? NULL : scalar;
	amounts.nonzero_cpu_milli = below(2) ? amounts.cpu_milli : some_amount();
	amounts.nonzero_memory = below(2) ? amounts.memory : some_amount();
	return amounts;
}

static void some_ports(struct alloc *alloc)
{
	uint32_t count = below(5);
	struct alloc_port *port = pl_arena_zalloc(&arena, count + 1, sizeof *port);

	for (uint32_t i = 0; i < count; i++)
		port[i] = (struct alloc_port){.protocol = below(2) ? L("TCP") : L("UDP"),
		                              .ip = below(2) ? L("0.0.0.0") : L("fe::1"),
		                              .port = (uint16_t)(1 + below(65535))};
	alloc->ports = in_order(port, count, sizeof *port, by_port);
	alloc->port = alloc->ports == 0 ? NULL : port;
}

static void some_pods(struct alloc *alloc)
{
	uint32_t count = below(60);
	struct alloc_pod *pod = pl_arena_zalloc(&arena, count + 1, sizeof *pod);

	for (uint32_t i = 0; i < count; i++)
		pod[i] =
			(struct alloc_pod){.partition = below(3) ? below(4) : below(4096),
		                           .namespace = L("web"),
		                           .name = some_name(50)};
	for (uint32_t i = 0; i < count; i++) {
		pod[i].leaving = below(8) == 0;
		if (below(2))
			pod[i].namespace = pl_span_str("db");
	}
	alloc->pods = in_order(pod, count, sizeof *pod, by_pod);
	alloc->pod = alloc->pods == 0 ? NULL : pod;
}

static void some_reservations(struct alloc *alloc)
{
	uint32_t count = below(4);
	struct alloc_reservation *hold = pl_arena_zalloc(&arena, count + 1, sizeof *hold);

	for (uint32_t i = 0; i < count; i++) {
		hold[i] = (struct alloc_reservation){
			.kind = below(2) ? ALLOC_RESERVATION_GANG
		                         : ALLOC_RESERVATION_NOMINATED,
			.namespace = L("web"),
			.name = some_name(3),
			.used = some_amounts(),
			.until_ms = (int64_t)pl_rng_below(&rng, 253402300800000)};
		if (hold[i].kind == ALLOC_RESERVATION_NOMINATED)
			hold[i].partition = below(4096);
	}
	alloc->holds = in_order(hold, count, sizeof *hold, by_reservation);
	alloc->hold = alloc->holds == 0 ? NULL : hold;
}

static void same_amounts(const struct alloc_amounts *a, const struct alloc_amounts *b)
{
	T_EQ(a->cpu_milli, b->cpu_milli);
	T_EQ(a->memory, b->memory);
	T_EQ(a->storage, b->storage);
	T_EQ(a->pods, b->pods);
	T_EQ(a->nonzero_cpu_milli, b->nonzero_cpu_milli);
	T_EQ(a->nonzero_memory, b->nonzero_memory);
	T_EQ(a->scalars, b->scalars);
	for (uint32_t i = 0; i < a->scalars; i++) {
		T_SPAN(a->scalar[i].name, b->scalar[i].name);
		T_EQ(a->scalar[i].amount, b->scalar[i].amount);
	}
}

static void same(const struct alloc *a, const struct alloc *b)
{
	T_EQ(a->generation, b->generation);
	same_amounts(&a->used, &b->used);
	T_EQ(a->ports, b->ports);
	for (uint32_t i = 0; i < a->ports; i++)
		T_EQ(alloc_port_cmp(&a->port[i], &b->port[i]), 0);
	T_EQ(a->pods, b->pods);
	for (uint32_t i = 0; i < a->pods; i++) {
		T_EQ(alloc_pod_cmp(&a->pod[i], &b->pod[i]), 0);
		T_EQ(a->pod[i].leaving, b->pod[i].leaving);
	}
	T_EQ(a->holds, b->holds);
	for (uint32_t i = 0; i < a->holds; i++) {
		T_EQ(alloc_reservation_cmp(&a->hold[i], &b->hold[i]), 0);
		T_EQ(a->hold[i].until_ms, b->hold[i].until_ms);
		T_EQ(a->hold[i].partition, b->hold[i].partition);
		same_amounts(&a->hold[i].used, &b->hold[i].used);
	}
}

T_CASE(printed_value_is_read_back_equal)
{
	pl_rng_init(&rng, t_seed());
	up();
	for (unsigned i = 0; i < 3000; i++) {
		struct alloc alloc = {.generation = (uint64_t)some_amount() / 2}, again;
		struct pl_span text;

		alloc.used = some_amounts();
		some_ports(&alloc);
		some_pods(&alloc);
		some_reservations(&alloc);
		text = pl_arena_dup(&arena, print(&alloc));
		T_EQ(parse(text, &again), PL_OK);
		same(&alloc, &again);
		T_SPAN(print(&again), text);
		pl_arena_reset(&arena);
	}
	down();
}

static enum pl_code torture(void)
{
	struct alloc alloc;
	enum pl_code code;

	pl_arena_init(&arena, 64, 0);
	pl_buf_init(&buf, ALLOC_BYTES_MAX);
	code = alloc_parse(pl_span_str(whole), &arena, &alloc, NULL);
	if (code == PL_OK)
		code = alloc_print(&alloc, &buf, NULL);
	T_TRUE(code == PL_OK || buf.len == 0);
	down();
	return code;
}

T_CASE(failed_allocation_is_reported)
{
	t_torture(torture, false);
}
