#include <string.h>

#include "shardsched/records/budget_record.h"
#include "tests/harness/torture.h"

#define L(text) PL_SPAN_LIT(text)

#define OBJECT                                                                           \
	"{\"kind\":\"PodDisruptionBudget\",\"metadata\":{\"name\":\"b\",\"namespace\":"  \
	"\"ns\"},\"spec\":{\"maxUnavailable\":2,\"selector\":{\"matchLabels\":{\"app\":" \
	"\"web\"}}},\"x\":1.50}"

static const char counted[] =
	"{\"v\":1,\"budget\":" OBJECT ",\"status\":{\"expected\":10,\"desired\":8,"
	"\"healthy\":9,\"allowed\":1},\"disrupted\":{\"web-1\":\"7\",\"web-3\":\"4711\"}}";
static const char fresh[] = "{\"v\":1,\"budget\":" OBJECT "}";

static struct pl_arena arena;
static struct pl_buf buf;
static struct pl_err err;

static void up(void)
{
	pl_arena_init(&arena, 65536, 0);
	pl_buf_init(&buf, BUDGET_BYTES_MAX);
	err = (struct pl_err){0};
}

static void down(void)
{
	pl_buf_done(&buf);
	pl_arena_done(&arena);
}

static enum pl_code parse(const char *text, struct budget_record *out)
{
	return budget_record_parse(pl_span_str(text), &arena, out, &err);
}

static void prints(const struct budget_record *record, const char *text)
{
	pl_buf_clear(&buf, buf.cap);
	T_OK(budget_record_print(record, &buf, &err), &err);
	T_SPAN(pl_buf_span(&buf), pl_span_str(text));
}

T_CASE(budgets_are_printed_as_they_were_read)
{
	struct budget_record record;

	up();
	T_OK(parse(counted, &record), &err);
	T_TRUE(record.counted);
	T_EQ(record.status.desired, 8);
	T_EQ(record.disrupted_count, 2);
	T_SPAN(record.disrupted[1].name, L("web-3"));
	T_EQ(record.disrupted[1].state_rev, 4711);
	prints(&record, counted);
	T_OK(parse(fresh, &record), &err);
	T_TRUE(!record.counted);
	T_TRUE(!budget_record_allows(&record, 1));
	prints(&record, fresh);
	down();
}

#define STATUS(numbers) \
	"{\"v\":1,\"budget\":{},\"status\":{" numbers "},\"disrupted\":{}}"
#define GONE(pods) "{\"v\":1,\"budget\":{},\"disrupted\":{" pods "}}"

static const struct {
	const char *text, *says;
} refused[] = {
	{"[]", ""},
	{"{\"v\":2,\"budget\":{}}", "v"},
	{"{\"v\":1}", "budget"},
	{"{\"v\":1,\"budget\":[]}", "budget"},
	{STATUS("\"expected\":1"), "desired"},
	{STATUS("\"expected\":-1,\"desired\":1,\"healthy\":1,\"allowed\":0"), "expected"},
	{STATUS("\"expected\":3,\"desired\":1,\"healthy\":3,\"allowed\":1"), "allowed"},
	{STATUS("\"expected\":3,\"desired\":4,\"healthy\":3,\"allowed\":-1"), "allowed"},
	{STATUS("\"expected\":2147483648,\"desired\":0,\"healthy\":0,\"allowed\":0"),
         "expected"},
	{GONE("\"A\":\"1\""), "disrupted"},
	{GONE("\"a\":\"0\""), "revision"},
	{GONE("\"a\":1"), "string"},
	{GONE("\"b\":\"1\",\"a\":\"1\""), "order"},
	{GONE("\"a\":\"1\",\"a\":\"1\""), ""},
};

T_CASE(malformed_budget_record_is_refused)
{
	up();
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct budget_record record = {.disrupted_count = 99};

		err = (struct pl_err){0};
		T_TRUE(parse(refused[i].text, &record) != PL_OK);
		T_EQ(record.disrupted_count, 99);
		T_TRUE(strstr(err.msg, refused[i].says) != NULL);
	}
	down();
}

static enum pl_code disrupt(const struct budget_record *record, const char *name,
                            int64_t rev, struct budget_record *out)
{
	const struct budget_disrupted pod = {pl_span_str(name), rev};

	return budget_record_disrupt(record, &pod, 1, &arena, out, &err);
}

T_CASE(disruption_lowers_the_allowed_number)
{
	struct budget_record record;

	up();
	T_OK(parse(counted, &record), &err);
	T_TRUE(budget_record_allows(&record, 1) && !budget_record_allows(&record, 2));
	T_OK(disrupt(&record, "web-2", 5000, &record), &err);
	T_EQ(record.status.allowed, 0);
	T_EQ(record.status.healthy, 8);
	T_EQ(record.disrupted_count, 3);
	T_SPAN(record.disrupted[1].name, L("web-2"));
	/* A disruption that was not allowed: allowed does not go below zero. */
	T_OK(disrupt(&record, "web-3", 5001, &record), &err);
	T_EQ(record.status.allowed, 0);
	T_EQ(record.status.healthy, 7);
	T_EQ(record.disrupted_count, 3);
	T_EQ(record.disrupted[2].state_rev, 5001);
	for (int i = 0; i < 9; i++)
		T_OK(disrupt(&record, "a", 5002 + i, &record), &err);
	T_EQ(record.status.healthy, 0);
	T_SPAN(record.disrupted[0].name, L("a"));
	pl_buf_clear(&buf, buf.cap);
	T_OK(budget_record_print(&record, &buf, &err), &err);
	T_OK(budget_record_parse(pl_buf_span(&buf), &arena, &record, &err), &err);
	/* Before the first count the disruption is kept, too. */
	T_OK(parse(fresh, &record), &err);
	T_OK(disrupt(&record, "web-2", 7, &record), &err);
	T_TRUE(!record.counted);
	prints(&record,
	       "{\"v\":1,\"budget\":" OBJECT ",\"disrupted\":{\"web-2\":\"7\"}}");
	down();
}

T_CASE(disrupted_pods_are_bounded_until_the_next_count)
{
	struct budget_record record;

	up();
	T_OK(parse(fresh, &record), &err);
	for (int i = 0; i < BUDGET_DISRUPTED_MAX; i++) {
		const char *name = pl_arena_printf(&arena, "web-%d", i);

		T_OK(disrupt(&record, name, 1, &record), &err);
	}
	T_CODE(disrupt(&record, "more", 1, &record), PL_LIMIT, &err);
	T_EQ(record.disrupted_count, BUDGET_DISRUPTED_MAX);
	T_OK(disrupt(&record, "web-0", 2, &record), &err);
	pl_buf_clear(&buf, buf.cap);
	T_OK(budget_record_print(&record, &buf, &err), &err);
	down();
}

static enum pl_code read_object(struct budget_record *record, const char *name,
                                struct model *model, struct budget *out)
{
	struct parse parser = {.model = model, .arena = &arena};

	return budget_record_object(record, &parser, L("ns"), pl_span_str(name), out,
	                            &err);
}

T_CASE(the_object_has_the_status_that_was_counted)
{
	struct budget_record record;
	struct model model;
	struct budget budget = {0};

	up();
	model_init(&model);
	T_OK(parse(counted, &record), &err);
	T_OK(read_object(&record, "b", &model, &budget), &err);
	T_EQ(budget.allowed, 1);
	T_EQ(budget.rule.kind, BUDGET_MAX_UNAVAILABLE);
	T_EQ(budget.disrupted_count, 2);
	budget_drop(&model, &budget);
	T_CODE(read_object(&record, "c", &model, &budget), PL_INVALID, &err);
	T_TRUE(strstr(err.msg, "metadata") != NULL);
	model_done(&model);
	down();
}

static enum pl_code once(void)
{
	struct budget_record record;
	struct budget budget = {0};
	struct model model;
	enum pl_code code;

	up();
	model_init(&model);
	code = parse(counted, &record);
	if (code == PL_OK)
		code = disrupt(&record, "web-2", 5000, &record);
	if (code == PL_OK)
		code = budget_record_print(&record, &buf, &err);
	if (code == PL_OK)
		code = read_object(&record, "b", &model, &budget);
	budget_drop(&model, &budget);
	model_done(&model);
	down();
	return code;
}

T_CASE(without_memory_there_is_no_budget)
{
	t_torture(once, false);
}
