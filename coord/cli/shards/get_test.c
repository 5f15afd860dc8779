/* placet shards and placet partitions over a real etcd show every key as it stands
 * there. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "store/base/json.h"
#include "tests/support/coord/cli/placet_rig.h"

/* -- shards ------------------------------------------------------------------------- */

static void three_shards(void)
{
	placet_up(8);
	placet_shard("east-0", "0,1,2");
	placet_shard("east-1", "3,4");
	placet_shard("west-0", "");
}

T_CASE(shards_are_shown)
{
	three_shards();
	T_EQ(PLACET("shards"), 0);
	t_golden("cli/e2e_shards.txt", placet_rig.out);
	T_EQ(PLACET("shards", "-o", "wide"), 0);
	t_golden("cli/e2e_shards_wide.txt", placet_rig.out);
	T_EQ(PLACET("shards", "--output=yaml"), 0);
	t_golden("cli/e2e_shards.yaml", placet_rig.out);
	placet_down();
}

T_CASE(malformed_records_are_shown_with_the_reason)
{
	placet_up(8);
	placet_shard("east-0", "0");
	placet_put("/shards/garbage", "\x1b[2J nonsense");
	placet_put("/shards/later", "{\"v\":2,\"id\":\"later\"}");
	placet_put("/shards/other", "{\"v\":1,\"id\":\"another\"}");
	placet_put("/shards/No_Name\x1b[2J", "{}");
	placet_put("/shards/empty", "");
	T_EQ(PLACET("shards"), 0);
	placet_prints_not("\x1b");
	t_golden("cli/e2e_malformed.txt", placet_rig.out);
	T_EQ(PLACET("shards", "-o", "json"), 0);
	placet_prints_not("\x1b");
	T_EQ(PLACET("shards", "-o", "wide"), 0);
	placet_down();
}

T_CASE(no_shards_are_an_empty_list)
{
	placet_up(8);
	T_EQ(PLACET("shards"), 0);
	T_STR(placet_rig.out, "");
	placet_says("no shards");
	T_EQ(PLACET("shards", "-o", "json"), 0);
	placet_prints("\"items\": []");
	placet_down();
}

/* -- partitions ---------------------------------------------------------------------- */

static void some_owned(void)
{
	three_shards();
	placet_owner(0, "east-0");
	placet_owner(1, "east-0");
	placet_owner(3, "east-1");
	placet_put("/partitions/0004/owner", "not JSON");
	placet_put("/partitions/0005/owner", "{\"v\":1,\"shard\":\"by-hand\"}");
	placet_put("/partitions/0100/owner", "{\"v\":1,\"shard\":\"east-0\"}");
	placet_put("/partitions/x", "");
}

T_CASE(partitions_are_shown)
{
	some_owned();
	T_EQ(PLACET("partitions"), 0);
	t_golden("cli/e2e_partitions.txt", placet_rig.out);
	T_EQ(PLACET("partitions", "-o", "wide"), 0);
	t_golden("cli/e2e_partitions_wide.txt", placet_rig.out);
	T_EQ(PLACET("partitions", "--summary"), 0);
	t_golden("cli/e2e_summary.txt", placet_rig.out);
	T_EQ(PLACET("partitions", "--summary", "-o", "json"), 0);
	placet_prints("\"kind\": \"PartitionShareList\"");
	placet_down();
}

T_CASE(a_drained_shard_is_no_target)
{
	three_shards();
	T_EQ(PLACET("shard", "drain", "east-0"), 0);
	T_EQ(PLACET("partitions", "-o", "wide"), 0);
	placet_prints("east-1");
	placet_prints_not("east-0");
	T_EQ(PLACET("shards"), 0);
	placet_prints("active,drain-wanted");
	placet_down();
}

/* -- the same as etcdctl ---------------------------------------------------------------
 */

static struct pl_arena arena;

static struct pl_json json_of(const char *text)
{
	struct pl_json value = {0};
	struct pl_err err;

	T_OK(pl_json_parse(&arena, pl_span_str(text), NULL, &value, &err), &err);
	return value;
}

static const char *text_of(struct pl_json object, const char *name)
{
	const char *text = NULL;
	struct pl_err err;

	T_OK(pl_json_string(object, name, PL_JSON_REQUIRED, &text, &err), &err);
	return text;
}

static int64_t int_of(struct pl_json object, const char *name)
{
	int64_t value = 0;
	struct pl_err err;

	T_OK(pl_json_int(object, name, PL_JSON_REQUIRED, &value, &err), &err);
	return value;
}

struct alloc_entry {
	char key[200], value[2048];
};

static unsigned etcdctl(const char *prefix, struct alloc_entry *out, unsigned room)
{
	char line[512];
	unsigned count = 0;
	FILE *pipe;

	(void)snprintf(line, sizeof line,
	               "ETCDCTL_API=3 etcdctl --endpoints=%s get --prefix %s",
	               etcd_launch_endpoints(placet_rig.rig.launch), prefix);
	pipe = popen(line, "r"); // NOLINT(cert-env33-c): a test's own words
	T_TRUE(pipe != NULL);
	while (count < room && fgets(out[count].key, sizeof out->key, pipe) != NULL) {
		T_TRUE(fgets(out[count].value, sizeof out->value, pipe) != NULL);
		out[count].key[strcspn(out[count].key, "\n")] = 0;
		count++;
	}
	T_EQ(pclose(pipe), 0);
	return count;
}

T_CASE(shards_are_what_etcdctl_shows)
{
	static const char *const texts[] = {"state", "host",    "version", "api",
	                                    "zone",  "started", "instance"};
	struct alloc_entry listed[8];
	struct pl_json item;
	unsigned count;

	pl_arena_init(&arena, 0, 0);
	three_shards();
	count = etcdctl("/shards/", listed, 8);
	T_EQ(count, 3);
	T_EQ(PLACET("shards", "-o", "json"), 0);
	item = pl_json_first(pl_json_member(json_of(placet_rig.out), "items"));
	for (unsigned i = 0; i < count; i++, item = pl_json_next(item)) {
		struct pl_json record = json_of(listed[i].value);

		T_STR(text_of(item, "name"), listed[i].key + strlen("/shards/"));
		for (unsigned t = 0; t < sizeof texts / sizeof texts[0]; t++)
			T_STR(text_of(item, texts[t]), text_of(record, texts[t]));
		T_EQ(int_of(item, "pid"), int_of(record, "pid"));
		T_EQ(int_of(item, "weight"), int_of(record, "weight"));
		T_EQ(pl_json_count(pl_json_member(item, "partitions")),
		     pl_json_count(pl_json_member(record, "partitions")));
	}
	T_EQ(pl_json_type(item), PL_JSON_ABSENT);
	placet_down();
	pl_arena_done(&arena);
}

T_CASE(partitions_are_what_etcdctl_shows)
{
	struct alloc_entry listed[8];
	struct pl_json item;
	unsigned count, seen = 0;

	pl_arena_init(&arena, 0, 0);
	three_shards();
	for (unsigned p = 0; p < 7; p++)
		placet_owner(p, p % 2 == 0 ? "east-0" : "east-1");
	placet_delete("/partitions/0002/owner");
	count = etcdctl("/partitions/", listed, 8);
	T_EQ(count, 6);
	T_EQ(PLACET("partitions", "-o", "json"), 0);
	item = pl_json_first(pl_json_member(json_of(placet_rig.out), "items"));
	for (; pl_json_type(item) != PL_JSON_ABSENT; item = pl_json_next(item)) {
		char key[64];

		if (strcmp(text_of(item, "state"), "free") == 0)
			continue;
		T_TRUE(seen < count);
		(void)snprintf(key, sizeof key, "/partitions/%04d/owner",
		               (int)int_of(item, "partition"));
		T_STR(key, listed[seen].key);
		T_STR(text_of(item, "owner"),
		      text_of(json_of(listed[seen].value), "shard"));
		seen++;
	}
	T_EQ(seen, count);
	placet_down();
	pl_arena_done(&arena);
}

/* -- watching ------------------------------------------------------------- */

#define START(running, ...) \
	placet_start(running, (const char *const[]){__VA_ARGS__, NULL})

T_CASE(watched_shards_are_a_line_a_change)
{
	static struct placet_running running;

	three_shards();
	START(&running, "shards", "-w", "-o", "json");
	placet_await(&running, "\"name\":\"west-0\"");
	placet_shard("west-1", "7");
	placet_await(&running, "\"change\":\"added\",\"name\":\"west-1\"");
	placet_shard("west-1", "6,7");
	placet_await(&running, "\"partitions\":[6,7]");
	T_EQ(PLACET("shard", "drain", "west-1"), 0);
	placet_await(&running, "\"drain\":true");
	placet_delete("/shards/west-1");
	placet_await(&running, "\"change\":\"deleted\",\"name\":\"west-1\"");
	placet_put("/shards/west-1", "}");
	placet_await(&running, "\"state\":\"malformed\"");
	placet_kill(&running);
	placet_down();
}

T_CASE(watched_partitions_are_a_line_a_change)
{
	static struct placet_running running;

	some_owned();
	START(&running, "partitions", "--watch");
	placet_await(&running, "/partitions/x");
	placet_delete("/partitions/0000/owner");
	placet_await(&running, "0000");
	T_TRUE(strstr(running.line, "free") != NULL);
	placet_shard("east-0", "1"); /* nothing that this table shows */
	placet_owner(0, "west-0");
	placet_await(&running, "0000");
	T_TRUE(strstr(running.line, "owned       west-0") != NULL);
	placet_delete("/partitions/x");
	placet_await(&running, "gone");
	T_TRUE(strstr(running.line, "/partitions/x") != NULL);
	placet_kill(&running);
	placet_down();
}

T_CASE(a_watched_summary_counts)
{
	static struct placet_running running;

	some_owned();
	START(&running, "partitions", "--watch", "--summary");
	placet_await(&running, "malformed");
	placet_owner(6, "west-0");
	placet_await(&running, "west-0");
	T_TRUE(strstr(running.line, "owned       1") != NULL);
	placet_kill(&running);
	placet_down();
}

T_CASE(a_watch_survives_a_server_that_was_away)
{
	static struct placet_running running;
	struct pl_err err;

	three_shards();
	START(&running, "shards", "-w");
	placet_await(&running, "west-0");
	T_OK(etcd_launch_signal(placet_rig.rig.launch, 0, SIGKILL, &err), &err);
	T_OK(etcd_launch_restart(placet_rig.rig.launch, 0, &err), &err);
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/shards/x") == NULL); /* serves again */
	placet_shard("west-1", "7");
	placet_await(&running, "west-1");
	placet_kill(&running);
	placet_down();
}

/* -- stores that are not what they should be ------------------------------ */

T_CASE(an_empty_store_is_reported)
{
	placet_up(0);
	T_EQ(PLACET("shards"), 1);
	placet_says("holds nothing of Placet's (no /placet/meta)");
	placet_says("--prefix");
	T_STR(placet_rig.out, "");
	placet_put("/placet/meta", "[]");
	T_EQ(PLACET("partitions"), 1);
	placet_says("/placet/meta");
	placet_down();
}

T_CASE(all_keys_lie_below_the_prefix)
{
	placet_up(8);
	placet_put("/team-a/placet/meta", etcd_rig_get(&placet_rig.rig, "/placet/meta"));
	placet_put_leased("/team-a/partitions/0001/owner",
	                  "{\"v\":1,\"shard\":\"only-a\"}");
	T_EQ(PLACET("partitions", "--prefix", "/team-a"), 0);
	placet_prints("only-a");
	T_EQ(PLACET("partitions"), 0);
	placet_prints_not("only-a");
	T_EQ(PLACET("shards", "--prefix", "/team-b"), 1);
	placet_says("under /team-b (no /team-b/placet/meta)");
	placet_down();
}

T_CASE(a_store_that_can_not_be_reached_is_named)
{
	T_EQ(PLACET("shards", "--endpoints", "http://127.0.0.1:1", "--timeout", "300ms"),
	     1);
	placet_says("placet shards: 127.0.0.1:1: connect: connection refused; check the "
	            "endpoint and the network");
}

/* A command's own options never hide the options about the store. */
T_CASE_SECONDS(commands_go_to_the_store_that_is_named, 60)
{
	static const char *const commands[][6] = {
		{"partitions"},
		{"get", "pods"},
		{"get", "nodes"},
		{"delete", "pod", "a", "--yes"},
		{"evict", "pod", "a", "--yes"},
		{"nodes", "cordon", "c/n"},
		{"sim-cluster", "--cluster", "c", "--nodes", "1"},
		{"config", "get"},
		{"shard", "drain", "s"},
		{"explain", "pod", "a"},
		{"top", "conflicts", "--once"},
		{"store", "restored", "--yes"},
		{"fsck"},
	};
	const char *args[10];

	T_EQ(setenv("PLACET_ENDPOINTS", "http://127.0.0.1:2", 1), 0);
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		unsigned count = 0;

		for (; count < 6 && commands[i][count] != NULL; count++)
			args[count] = commands[i][count];
		args[count++] = "--endpoints=http://127.0.0.1:1";
		args[count++] = "--timeout=300ms";
		args[count] = NULL;
		T_EQ(placet_run(NULL, args), 1);
		placet_says("127.0.0.1:1: connect");
	}
}

/* -- usage
 * -------------------------------------------------------------------------------------
 */

T_CASE(malformed_input_is_refused_before_anything_is_done)
{
	T_EQ(PLACET("shards", "-o", "xml"), 2);
	placet_says("want table, wide, json, yaml or name");
	T_EQ(PLACET("shards", "more"), 2);
	placet_says("'more' is too much");
	T_EQ(PLACET("shards", "--summary"), 2);
	placet_says("no option '--summary'");
	T_EQ(PLACET("shards", "--prefix", "team-a/"), 2);
	placet_says("want it to begin with /");
	T_EQ(PLACET("shard", "drain"), 2);
	placet_says("want <id>");
	T_EQ(PLACET("shard", "drain", "A/B"), 2);
	T_EQ(PLACET("shard", "drain", "a", "--wait=soon"), 2);
	placet_says("--wait");
	T_EQ(PLACET("config", "get", "nope"), 2);
	placet_says("there are coord, shards, weights, scheduler and access");
	T_EQ(PLACET("config", "get", "coord", "--version", "x"), 2);
	T_EQ(PLACET("config", "get", "--version", "3"), 2);
	T_EQ(PLACET("config", "set", "coord"), 2);
	T_EQ(PLACET("config", "set", "coord", "a=1", "-f", "x"), 2);
	T_EQ(PLACET("config", "diff", "coord", "one"), 2);
	T_EQ(PLACET("shard"), 2);
	placet_says("shard drain");
	T_EQ(PLACET("shard", "nonsense"), 2);
	placet_says("no command 'shard nonsense'");
}

/* In combined short options, too; in two words, and in long options, = is part of
 * the value. */
T_CASE(short_options_take_values_behind_equals)
{
	T_EQ(PLACET("explain", "-o=json", "-f=/nowhere"), 1);
	placet_says("/nowhere: No such file");
	T_EQ(PLACET("explain", "-o", "=json", "-f", "x"), 2);
	placet_says("=json");
	T_EQ(PLACET("explain", "--output==json", "-f", "x"), 2);
	placet_says("=json");
	T_EQ(PLACET("get", "pods", "-wo=xml"), 2);
	placet_says("--output xml: want table");
	T_EQ(PLACET("get", "pods", "-n=A B"), 2);
	placet_says("--namespace: ");
	T_TRUE(strstr(placet_rig.said, "=A") == NULL);
	T_EQ(PLACET("get", "pods", "-l=app is web"), 2);
	placet_says("--selector: at 'is web'");
	T_EQ(PLACET("store", "check", "-o=xml"), 2);
	T_TRUE(strstr(placet_rig.said, "=xml") == NULL);
}

T_CASE(a_misspelt_command_gets_a_suggestion)
{
	T_EQ(PLACET("get", "pod", "--help"), 0);
	placet_prints("usage: placet get pods");
	T_EQ(PLACET("delete", "pods", "--help"), 0);
	placet_prints("usage: placet delete pod");
	T_EQ(PLACET("node", "cordon", "--help"), 0);
	placet_prints("usage: placet nodes cordon");
	T_EQ(PLACET("shards", "--help"), 0);
	placet_prints("usage: placet shards");
	T_EQ(PLACET("get", "psod"), 2);
	placet_says("placet: no command 'get psod'\ndid you mean 'placet get pods'?\n");
	T_EQ(PLACET("sumbit", "-f", "x"), 2);
	placet_says("did you mean 'placet submit'?\n");
	T_EQ(PLACET("fcsk"), 2);
	placet_says("did you mean 'placet fsck'?\n");
	T_EQ(PLACET("explain", "pods", "--help"), 0);
	placet_prints("usage: placet explain pod ");
	T_EQ(PLACET("shards", "drain", "--help"), 0);
	placet_prints("usage: placet shard drain ");
	T_EQ(PLACET("shards", "drian", "east-0"), 2);
	placet_says("no command 'shards drian'\ndid you mean 'placet shard "
	            "drain'?\n");
	T_EQ(PLACET("explain", "pdo", "a"), 2);
	placet_says("did you mean 'placet explain pod'?\n");
	T_EQ(PLACET("drain", "shard", "east-0"), 2);
	placet_says("did you mean 'placet shard drain'?\n");
	T_EQ(PLACET("drain", "east/n-1"), 2);
	placet_says("\n  shard drain ");
	placet_says("\n  nodes drain ");
	T_EQ(PLACET("x"), 2);
	placet_says("placet: no command 'x'\n\nplacet: a scheduling coordinator");
	T_EQ(PLACET("get", "services\x1b[2J"), 2);
	placet_says("no command 'get services\\x1b[2J'\n\n  get pods");
}

T_CASE(help_is_found_for_each_command)
{
	T_EQ(PLACET("get", "--help"), 0);
	placet_prints("  get pods         show the pods");
	placet_prints_not("delete pod");
	T_EQ(PLACET("help", "get"), 0);
	placet_prints("  get nodes ");
	T_EQ(PLACET("help", "get", "pods"), 0);
	placet_prints("usage: placet get pods");
	T_EQ(PLACET("--help", "submit"), 0);
	placet_prints("usage: placet submit");
	T_EQ(PLACET("help"), 0);
	placet_prints("usage: placet COMMAND");
	T_EQ(PLACET("help", "nonsense"), 2);
	placet_says("no command 'nonsense'");
	T_EQ(PLACET("get"), 2);
	placet_says("no command 'get'\n\n  get pods");
	T_EQ(PLACET("nonsense", "--help"), 2);
}

/* The exit status of a shell's line. */
static int shell(const char *line)
{
	/* NOLINTNEXTLINE(cert-env33-c): of a test's own making */
	int status = system(line);

	T_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

T_CASE(undelivered_results_are_no_success)
{
	T_EQ(shell("\"$PLACET\" --version >/dev/null"), 0);
	T_EQ(shell("\"$PLACET\" --version >/dev/full 2>/dev/null"), 1);
	T_EQ(shell("\"$PLACET\" --help >&- 2>/dev/null"), 1);
	T_EQ(shell("\"$PLACET\" --version 2>&1 >/dev/full | grep -qx "
	           "'placet: print: No space left on device'"),
	     0);
	/* No socket takes the place of a closed stream. */
	T_EQ(shell("\"$PLACET\" get pods --timeout 100ms --endpoints http://127.0.0.1:1 "
	           "<&- >&- 2>&-"),
	     1);
	T_EQ(PLACET("explain", "-f", "/nowhere/pod.yaml", "--nodes", "/nowhere/n.yaml"),
	     1);
	placet_says("No such file or directory\n");
}

T_CASE(every_command_helps_with_an_example)
{
	static const char *const words[][2] = {
		{"shards", NULL},       {"partitions", NULL}, {"shard", "drain"},
		{"shard", "undrain"},   {"shard", "evict"},   {"config", "get"},
		{"config", "set"},      {"config", "diff"},   {"config", "history"},
		{"config", "rollback"}, {"store", "restored"}};

	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
		const char *one[] = {words[i][0], "--help", NULL};
		const char *two[] = {words[i][0], words[i][1], "-h", NULL};

		T_EQ(placet_run(NULL, words[i][1] == NULL ? one : two), 0);
		placet_prints("Example:\n  placet ");
		placet_prints("--endpoints");
	}
}
