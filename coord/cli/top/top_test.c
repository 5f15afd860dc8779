/* placet top conflicts, against a store with what shards would have written. */
#include "tests/support/coord/cli/placet_rig.h"

static void shard(const char *id, const char *work)
{
	char key[64], json[4096];

	(void)snprintf(key, sizeof key, "/shards/%s", id);
	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"id\":\"%s\",\"instance\":"
	               "\"0123456789abcdef0123456789abcdef\",\"state\":\"active\","
	               "\"pid\":1,\"weight\":1000,"
	               "\"started\":\"2026-11-21T05:00:00.000Z\",\"partitions\":[]%s}",
	               id, work);
	placet_put_leased(key, json);
}

static void up(void)
{
	placet_up(4);
	shard("a-0",
	      ",\"work\":{\"placed\":1000,\"conflicts\":30,\"txns\":100,"
	      "\"txns_failed\":4,\"pending\":7,\"placed_per_s\":31.5,"
	      "\"conflicts_per_s\":0.5,\"lag_ms\":12,\"causes\":{\"alloc\":{"
	      "\"placements\":25,\"txns\":3},\"state\":{\"placements\":5,\"txns\":2}},"
	      "\"nodes\":[{\"cluster\":\"east\",\"node\":\"n-7\",\"cause\":\"alloc\","
	      "\"count\":20,\"over\":2,\"at\":\"2099-11-21T05:00:00.000Z\"},"
	      "{\"cluster\":\"west\",\"node\":\"n-7\",\"cause\":\"state\",\"count\":5,"
	      "\"at\":\"2099-11-21T05:00:00.000Z\"}],"
	      "\"aside\":[{\"cluster\":\"west\",\"node\":\"n-9\",\"cause\":\"node\","
	      "\"until\":\"2099-11-21T05:00:10.000Z\"},"
	      "{\"cluster\":\"west\",\"node\":\"over\",\"cause\":\"node\","
	      "\"until\":\"2020-11-21T05:00:10.000Z\"}]}");
	shard("b-0", ",\"work\":{\"placed\":3000,\"conflicts\":10,\"txns\":100,"
	             "\"txns_failed\":0,\"lag_ms\":40,\"causes\":{\"alloc\":{"
	             "\"placements\":10,\"txns\":1}},\"nodes\":[{\"cluster\":\"east\","
	             "\"node\":\"n-7\",\"cause\":\"node\",\"count\":10,"
	             "\"at\":\"2099-11-21T05:00:01.000Z\"}]}");
	shard("c-0", "");
	placet_put_leased("/shards/d-0", "what");
}

T_CASE(the_shards_conflicts_are_put_together)
{
	up();
	T_EQ(PLACET("top", "conflicts"), 0); /* no terminal: once */
	placet_prints(
		"2 shards: 31.5 placements/s, 0.5 conflicts/s, 7 pending, watches lag "
		"40 ms\n2 more tell of no scheduling\n");
	placet_prints(
		"4000 placed, 40 conflicts (0.0100 a placement); 200 transactions, 4 "
		"failed (0.0200)\n");
	placet_prints("alloc                35              4\n"
	              "state                 5              2\n");
	placet_prints("a-0                            1000         30    0.0300");
	placet_prints(
		"east/n-7                                   <=30 alloc      0s       "
		"a-0 and 1 more\n"
		"west/n-7                                      5 state");
	placet_prints("west/n-9                             node ");
	placet_prints_not("west/over");
	T_EQ(PLACET("top", "conflicts", "--once", "--limit", "1"), 0);
	placet_prints("east/n-7");
	placet_prints_not("west/n-7");
	T_EQ(PLACET("top", "conflicts", "-o", "json"), 0);
	placet_prints("{\"kind\":\"Conflicts\"");
	placet_prints("\"conflicts_per_placement\":0.01,");
	placet_prints(
		"\"nodes\":[{\"cluster\":\"east\",\"node\":\"n-7\",\"cause\":\"alloc\","
		"\"shard\":\"a-0\",\"shards\":2,\"conflicts\":30,"
		"\"at_most_too_high_by\":2,\"last\":\"2099-11-21T05:00:01.000Z\"}");
	placet_down();
}

T_CASE(top_repeats_with_watch)
{
	struct placet_running running;

	placet_up(4);
	placet_start(&running, (const char *const[]){"top", "conflicts", "--watch",
	                                             "--every", "1", NULL});
	placet_await(&running, "no shards");
	placet_await(&running, "no conflicts");
	shard("a-0", ",\"work\":{\"placed\":9,\"conflicts\":1,\"causes\":{\"spec\":{"
	             "\"placements\":1,\"txns\":1}}}");
	placet_await(&running, "spec                  1              1");
	placet_kill(&running);
	placet_down();
}

T_CASE(malformed_input_is_reported)
{
	placet_up(4);
	T_EQ(PLACET("top", "conflicts", "--limit", "0"), 2);
	placet_says("--limit 0: want 1 to 1000");
	T_EQ(PLACET("top", "conflicts", "--once", "--watch"), 2);
	T_EQ(PLACET("top", "conflicts", "-o", "yaml"), 2);
	T_EQ(PLACET("top"), 2);
	placet_says("top conflicts");
	T_EQ(PLACET("top", "conflicts"), 0);
	placet_says("no shards");
	placet_down();
}
