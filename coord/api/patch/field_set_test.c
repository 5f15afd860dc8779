#include <stdio.h>
#include <stdlib.h>

#include "coord/api/patch/field_set.h"
#include "coord/api/patch/fields_v1.h"
#include "coord/api/patch/patch_kit.h"
#include "store/base/rng.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct pl_err err;
static struct field_maker maker;

static struct owned_fields read_set(const char *text)
{
	struct owned_fields set = {0};

	T_OK(fields_v1_read(&maker, kit_json(&arena, text), &set, &err), &err);
	return set;
}

static const char *text_of(struct owned_fields set)
{
	struct pl_json value = {.node = fields_v1_write(&maker, set)};

	T_TRUE(value.node != NULL);
	return kit_text(&arena, value);
}

static void start(void)
{
	field_maker_init(&maker, &arena);
}

static void end(void)
{
	T_TRUE(!maker.failed);
	field_maker_done(&maker);
	pl_arena_done(&arena);
}

static void reads(const char *text, const char *want)
{
	start();
	T_STR(text_of(read_set(text)), want);
	end();
}

T_CASE(fields_are_read_and_written_in_their_order)
{
	reads("{}", "{}");
	reads("{\"f:b\":{},\"f:a\":{}}", "{\"f:a\":{},\"f:b\":{}}");
	reads("{\"f:a\":{\"f:b\":{},\".\":{}}}", "{\"f:a\":{\".\":{},\"f:b\":{}}}");
	reads("{\"f:a\":{\".\":{}}}", "{\"f:a\":{}}");
	reads("{\"i:3\":{},\"v:\\\"x\\\"\":{},\"f:z\":{},\"k:{\\\"n\\\":1}\":{}}",
	      "{\"f:z\":{},\"k:{\\\"n\\\":1}\":{},\"v:\\\"x\\\"\":{},\"i:3\":{}}");
	reads("{\"x:other\":{},\"f:a\":{}}", "{\"f:a\":{}}");
}

T_CASE(keys_are_made_canonical_and_sorted_by_value)
{
	reads("{\"k:{\\\"b\\\": 2, \\\"a\\\":\\\"x\\\"}\":{}}",
	      "{\"k:{\\\"a\\\":\\\"x\\\",\\\"b\\\":2}\":{}}");
	reads("{\"k:{\\\"p\\\":443}\":{},\"k:{\\\"p\\\":80}\":{},\"k:{\\\"p\\\":8e1}\":{}}",
	      "{\"k:{\\\"p\\\":80}\":{},\"k:{\\\"p\\\":443}\":{}}");
	reads("{\"v:10\":{},\"v:9\":{},\"v:-1\":{},\"v:\\\"a10\\\"\":{},\"v:\\\"a9\\\"\":{}}",
	      "{\"v:\\\"a10\\\"\":{},\"v:\\\"a9\\\"\":{},\"v:-1\":{},\"v:9\":{},"
	      "\"v:10\":{}}");
}

static void refuses(const char *text, const char *message)
{
	struct owned_fields set = {0};

	start();
	T_CODE(fields_v1_read(&maker, kit_json(&arena, text), &set, &err), PL_INVALID,
	       &err);
	T_STR(err.msg, message);
	end();
}

T_CASE(what_is_no_set_of_fields_is_refused)
{
	refuses("[]", "document: want an object, got an array");
	refuses("{\"f:a\":1}", "['f:a']: want an object, got a number");
	refuses("{\"a\":{}}", "a: want f:, k:, v: or i: before the element");
	refuses("{\"k:{\":{}}", "['k:{']: JSON, line 1, column 2: ends too early");
	refuses("{\"k:1\":{}}", "['k:1']: want scalars as keys and values");
	refuses("{\"k:{\\\"a\\\":[]}\":{}}",
	        "['k:{\"a\":[]}']: want scalars as keys and values");
	refuses("{\"v:{}\":{}}", "['v:{}']: want scalars as keys and values");
	refuses("{\"i:x\":{}}", "['i:x']: want an index");
}

T_CASE(sets_are_combined)
{
	struct owned_fields a, b;

	start();
	a = read_set("{\"f:a\":{\".\":{},\"f:b\":{},\"f:c\":{}},\"f:d\":{}}");
	b = read_set("{\"f:a\":{\"f:c\":{},\"f:e\":{}},\"f:d\":{\"f:x\":{}}}");
	T_STR(text_of(field_set_union(&maker, a, b)),
	      "{\"f:a\":{\".\":{},\"f:b\":{},\"f:c\":{},\"f:e\":{}},"
	      "\"f:d\":{\".\":{},\"f:x\":{}}}");
	T_STR(text_of(field_set_minus(&maker, a, b)),
	      "{\"f:a\":{\".\":{},\"f:b\":{}},\"f:d\":{}}");
	T_STR(text_of(field_set_both(&maker, a, b)), "{\"f:a\":{\"f:c\":{}}}");
	T_STR(text_of(field_set_outside(&maker, a, read_set("{\"f:a\":{}}"))),
	      "{\"f:d\":{}}");
	T_STR(text_of(field_set_outside(&maker, a, read_set("{\"f:a\":{\"f:b\":{}}}"))),
	      "{\"f:a\":{\".\":{},\"f:c\":{}},\"f:d\":{}}");
	T_STR(text_of(field_set_minus(&maker, a, a)), "{}");
	T_EQ(field_set_count(a), 4);
	T_TRUE(field_set_equal(a, a) && !field_set_equal(a, b));
	end();
}

static void add_path(void *context, const char *path)
{
	struct pl_buf *buf = context;

	T_OK(pl_buf_printf(buf, "%s\n", path), NULL);
}

T_CASE(paths_are_printed_as_kubernetes_does)
{
	struct pl_buf buf;

	start();
	pl_buf_init(&buf, 4096);
	field_set_each(
		&maker,
		read_set("{\"f:spec\":{\"f:c\":{\"k:{\\\"a\\\":80,\\\"b\\\":"
	                 "\\\"x:,\\\\\\\"y\\\"}\":{\".\":{},\"f:i\":{}}},\"f:p\":{}},"
	                 "\"f:x\":{\"v:\\\"s\\\"\":{},\"v:1\":{},\"i:4\":{}}}"),
		add_path, &buf);
	T_OK(pl_buf_add(&buf, pl_span("", 1)), NULL);
	T_STR((const char *)buf.at, ".spec.p\n"
	                            ".spec.c[a=80,b=\"x:,\\\"y\"]\n"
	                            ".spec.c[a=80,b=\"x:,\\\"y\"].i\n"
	                            ".x[=\"s\"]\n"
	                            ".x[=1]\n"
	                            ".x[4]\n");
	pl_buf_done(&buf);
	end();
}

/* -- a model: a bit for each of 64 paths ----------------------------------------------- */

/* Path 16 * a + 4 * b + c is f:a, f:b, f:c: b 0 means that it ends with a, c 0 with b. */
static struct owned_fields set_of(uint64_t bits)
{
	struct field_level top = {0};

	for (unsigned a = 0; a < 4; a++) {
		struct field_level middle = {0};
		char *names[4];

		for (unsigned i = 0; i < 4; i++)
			names[i] = pl_arena_printf(&arena, "n%u", i);
		for (unsigned b = 3; b > 0; b--) {
			struct field_level low = {0};
			unsigned at = 16 * a + 4 * b;

			for (unsigned c = 1; c < 4; c++)
				field_level_add(&maker, &low, FIELD_NAME, names[c],
				                (bits >> (at + c) & 1) != 0,
				                (struct owned_fields){0});
			field_level_add(&maker, &middle, FIELD_NAME, names[b],
			                (bits >> at & 1) != 0,
			                field_level_end(&maker, &low));
		}
		field_level_add(&maker, &top, FIELD_NAME, names[a],
		                (bits >> (16 * a) & 1) != 0,
		                field_level_end(&maker, &middle));
	}
	return field_level_end(&maker, &top);
}

/* Paths that set_of has no place for. */
static const uint64_t model_mask = 0xfff1fff1fff1fff1;

static uint64_t below(uint64_t bits)
{
	uint64_t result = bits;

	for (unsigned at = 0; at < 64; at++) {
		if ((bits >> at & 1) == 0)
			continue;
		if (at % 16 == 0)
			result |= UINT64_C(0xffff) << at;
		else if (at % 4 == 0)
			result |= UINT64_C(0xf) << at;
	}
	return result;
}

/* A quarter of the bits is set. */
static uint64_t random_bits(struct pl_rng *rng)
{
	uint64_t bits = pl_rng_next(rng) & model_mask;

	return bits & pl_rng_next(rng);
}

T_CASE(random_sets_equal_a_model_of_bits)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (int round = 0; round < 2000; round++) {
		uint64_t x = random_bits(&rng), y = random_bits(&rng);
		struct owned_fields a, b;

		start();
		a = set_of(x);
		b = set_of(y);
		T_TRUE(field_set_equal(field_set_union(&maker, a, b), set_of(x | y)));
		T_TRUE(field_set_equal(field_set_both(&maker, a, b), set_of(x & y)));
		T_TRUE(field_set_equal(field_set_minus(&maker, a, b), set_of(x & ~y)));
		T_TRUE(field_set_equal(field_set_outside(&maker, a, b),
		                       set_of(x & ~below(y))));
		T_EQ(field_set_count(a), __builtin_popcountll(x));
		T_TRUE(field_set_equal(read_set(text_of(a)), a));
		end();
	}
}

static enum pl_code combine_all(void)
{
	static const char text[] =
		"{\"f:b\":{},\"f:a\":{\".\":{},\"k:{\\\"n\\\":1}\":{}}}";
	struct pl_json value = {0};
	struct owned_fields a = {0}, b = {0};
	enum pl_code code;

	pl_arena_init(&arena, 1, 0);
	start();
	code = pl_json_parse(&arena, pl_span_str(text), NULL, &value, NULL);
	if (code == PL_OK)
		code = fields_v1_read(&maker, value, &a, NULL);
	if (code == PL_OK)
		code = fields_v1_read(&maker, value, &b, NULL);
	if (code == PL_OK) {
		a = field_set_union(&maker, a, b);
		b = field_set_both(&maker, a, b);
		(void)field_set_minus(&maker, a, (struct owned_fields){b.first});
		(void)fields_v1_write(&maker, a);
		code = maker.failed ? PL_NOMEM : PL_OK;
	}
	field_maker_done(&maker);
	pl_arena_done(&arena);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(combine_all, false);
}
