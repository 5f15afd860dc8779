/* The priority that a pod gets when it comes in. */
#include <stdio.h>

#include "coord/service/input/priority_classes.h"
#include "tests/harness/t.h"

static struct class_table *table;
static struct pl_err err;
static struct class_answer answer;

static void put(const char *name, int value, const char *more)
{
	char json[256];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\"},\"value\":%d%s}", name, value,
	               more);
	T_OK(class_table_put(table, pl_span_str(json), &err), &err);
}

static enum pl_code admit(struct class_ask ask)
{
	ask.pod = PL_SPAN_LIT("x");
	return class_table_admit(table, &ask, &answer, &err);
}

static void gets(int priority, const char *named, const char *policy)
{
	T_EQ(answer.priority, priority);
	T_SPAN(answer.named, pl_span_str(named));
	T_SPAN(answer.policy, pl_span_str(policy));
}

#define NAMED(name) ((struct class_ask){.named = PL_SPAN_LIT(name)})

static void begin(void)
{
	table = class_table_new();
	T_TRUE(table != NULL);
}

T_CASE(a_named_class)
{
	begin();
	put("high", 1000, "");
	put("quiet", 10, ",\"preemptionPolicy\":\"Never\"");
	T_OK(admit(NAMED("high")), &err);
	gets(1000, "high", "PreemptLowerPriority");
	T_OK(admit(NAMED("quiet")), &err);
	gets(10, "quiet", "Never");
	put("high", 2000, "");
	T_OK(admit(NAMED("high")), &err);
	gets(2000, "high", "PreemptLowerPriority");
	class_table_free(table);
}

T_CASE(classes_that_every_cluster_has)
{
	begin();
	T_OK(admit(NAMED("system-node-critical")), &err);
	gets(2000001000, "system-node-critical", "PreemptLowerPriority");
	T_OK(admit(NAMED("system-cluster-critical")), &err);
	gets(2000000000, "system-cluster-critical", "PreemptLowerPriority");
	class_table_free(table);
}

T_CASE(the_default_class)
{
	begin();
	T_OK(admit((struct class_ask){0}), &err);
	gets(0, "", "PreemptLowerPriority");
	put("a", 7, ",\"globalDefault\":true");
	put("b", 5, ",\"globalDefault\":true,\"preemptionPolicy\":\"Never\"");
	put("c", 1, "");
	T_OK(admit((struct class_ask){0}), &err);
	gets(5, "b", "Never");
	class_table_drop(table, PL_SPAN_LIT("b"));
	class_table_drop(table, PL_SPAN_LIT("none"));
	T_OK(admit((struct class_ask){0}), &err);
	gets(7, "a", "PreemptLowerPriority");
	class_table_free(table);
}

T_CASE(pods_that_are_refused)
{
	struct class_ask ask = NAMED("high");

	begin();
	T_EQ(admit(NAMED("foo")), PL_DENIED);
	T_STR(err.msg,
	      "pods \"x\" is forbidden: no PriorityClass with name foo was found");
	put("high", 1000, "");
	ask.has_priority = true;
	ask.priority = 5;
	T_EQ(admit(ask), PL_DENIED);
	T_STR(err.msg,
	      "pods \"x\" is forbidden: the integer value of priority (5) must not be "
	      "provided in pod spec; priority admission controller computed 1000 from "
	      "the given PriorityClass name");
	ask.priority = 1000;
	T_OK(admit(ask), &err);
	ask.policy = PL_SPAN_LIT("Never");
	T_EQ(admit(ask), PL_DENIED);
	T_STR(err.msg,
	      "pods \"x\" is forbidden: the string value of PreemptionPolicy (Never) "
	      "must not be provided in pod spec; priority admission controller computed "
	      "PreemptLowerPriority from the given PriorityClass name");
	class_table_free(table);
}

T_CASE(classes_that_are_malformed)
{
	static const char *const bad[] = {
		"{", "{\"value\":1}", "{\"metadata\":{\"name\":\"x\"},\"value\":\"1\"}"};

	begin();
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		T_EQ(class_table_put(table, pl_span_str(bad[i]), &err), PL_INVALID);
	T_EQ(admit(NAMED("x")), PL_DENIED);
	class_table_free(table);
}

T_CASE(no_more_classes_than_there_is_room_for)
{
	char json[128];

	begin();
	for (unsigned i = 0; i <= PRIORITY_CLASSES_MAX; i++) {
		(void)snprintf(json, sizeof json,
		               "{\"metadata\":{\"name\":\"c%u\"},\"value\":1}", i);
		T_EQ(class_table_put(table, pl_span_str(json), &err),
		     i < PRIORITY_CLASSES_MAX ? PL_OK : PL_LIMIT);
	}
	class_table_free(table);
}
