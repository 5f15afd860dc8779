/* placet explain and placet replay, run as commands. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/coord/cli/placet_rig.h"

static const char cluster[] =
	"kind: Node\nmetadata: {name: small}\nstatus: {allocatable: {cpu: 2, memory: 8Gi, "
	"pods: 10}}\n---\nkind: Node\nmetadata: {name: large}\nstatus: {allocatable: {cpu: "
	"8, memory: 8Gi, pods: 10}}\n---\nkind: ConfigMap\n";

static char directory[] = "/tmp/placet-explain-XXXXXX";
static char nodes[64], pods[64], record[64];

static void write_file(char *path, const char *name, const char *text)
{
	FILE *file;

	(void)snprintf(path, 64, "%s/%s", directory, name);
	file = fopen(path, "we");
	T_TRUE(file != NULL && fputs(text, file) >= 0);
	T_EQ(fclose(file), 0);
}

static void files(const char *pod)
{
	T_TRUE(mkdtemp(directory) != NULL);
	write_file(nodes, "nodes.yaml", cluster);
	write_file(pods, "pods", pod);
	(void)snprintf(record, sizeof record, "%s/log", directory);
}

static void clean(void)
{
	(void)unlink(nodes);
	(void)unlink(pods);
	(void)unlink(record);
	T_EQ(rmdir(directory), 0);
}

#define POD(name, cpu)                                                                  \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"web\"}," \
	"\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"     \
	"\"requests\":{\"cpu\":\"" cpu "\"}}}]}}\n"

T_CASE(pods_are_decided_one_after_another)
{
	files(POD("one", "6") POD("two", "6") POD("three", "1"));
	T_EQ(PLACET("explain", "-f", pods, "--nodes", nodes), 1);
	placet_prints("web/one goes to large, the best of 1 feasible among 2 nodes");
	placet_prints("web/two fits on none of 2 nodes\n  2 nodes lack 4 cpu");
	placet_prints("web/three goes to ");
	placet_says("of kinds that scheduling does not read: 1");
	clean();
}

T_CASE(a_pod_that_fits_is_no_failure)
{
	files(POD("one", "1"));
	T_EQ(PLACET("explain", "-f", pods, "--nodes", nodes, "-o", "json"), 0);
	placet_prints("\"verdict\": \"placed\"");
	T_EQ(PLACET("explain", "-f", pods, "--nodes", nodes, "--output=dot"), 0);
	placet_prints("digraph placement {");
	clean();
}

T_CASE(recorded_decisions_are_replayed)
{
	char text[8192];
	char *at;
	FILE *file;
	size_t len;

	files(POD("one", "6") POD("two", "1"));
	T_EQ(PLACET("explain", "-f", pods, "--nodes", nodes, "--record", record), 0);
	T_EQ(PLACET("replay", record), 0);
	placet_prints("2 decisions, 0 differ\n");
	file = fopen(record, "re");
	T_TRUE(file != NULL);
	len = fread(text, 1, sizeof text - 1, file);
	(void)fclose(file);
	text[len] = 0;
	at = strstr(text, "\"node\":\"large\"");
	T_TRUE(at != NULL);
	memcpy(at, "\"node\":\"LARGE\"", strlen("\"node\":\"LARGE\""));
	T_EQ(placet_run(text, (const char *const[]){"replay", "-", NULL}), 1);
	placet_prints("decided otherwise\n  then ");
	placet_prints("2 decisions, 1 differ\n");
	clean();
}

T_CASE(malformed_conflicts_are_shown)
{
	files(POD("one", "much"));
	T_EQ(PLACET("explain", "--nodes", nodes), 2);
	placet_says("want -f FILE");
	T_EQ(PLACET("explain", "-f", pods, "-o", "svg"), 2);
	placet_says("want text, json or dot");
	T_EQ(PLACET("explain", "-f", pods, "--nodes", nodes), 1);
	placet_says("object 1: spec.containers[0].resources.requests.cpu: ");
	T_EQ(PLACET("explain", "-f", nodes, "--nodes", nodes), 1);
	placet_says("there is no pod");
	T_EQ(PLACET("replay", nodes), 1);
	placet_says("line 1: ");
	clean();
}
