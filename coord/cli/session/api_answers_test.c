/* Commands and the API's answers, from a server that gives prepared ones. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "tests/support/coord/cli/placet_rig.h"
#include "tests/support/store/net/fake_http.h"

enum { ASKED_MAX = 60 };

static const struct {
	const char *request, *body_has, *answer;
} answers[] = {
	{"GET /apis/placet.io/v1/namespaces/shop/explanations/web-1 ", "",
         "{\"kind\":\"Explanation\",\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\"},"
         "\"status\":{\"phase\":\"Pending\",\"partition\":7,\"shard\":\"east-0\","
         "\"revision\":\"123\",\"reason\":\"fit.cpu\",\"message\":\"2 nodes: "
         "Insufficient cpu\",\"attempts\":2,\"nodes\":2,\"feasible\":0,\"reasons\":"
         "[{\"plugin\":\"NodeResourcesFit\",\"code\":\"fit.cpu\",\"message\":"
         "\"Insufficient cpu\",\"nodes\":2,\"only\":2}],\"clusters\":[{\"cluster\":"
         "\"east\",\"nodes\":2,\"feasible\":0,\"reasons\":[]}],\"nearest\":[{\"cluster\":"
         "\"east\",\"node\":\"n-1\",\"reasons\":[\"lacks 2 cpu\"]}],\"help\":[\"2 cpu "
         "more\"],\"queue\":{\"sort\":\"priority\",\"before\":3,\"alike\":2,\"older\":1}}}"},
	{"GET /apis/placet.io/v1/namespaces/shop/explanations/web-2 ", "",
         "{\"kind\":\"Explanation\",\"metadata\":{\"name\":\"web-2\",\"namespace\":\"shop\"},"
         "\"status\":{\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-\\u001b[1m\","
         "\"nodes\":2,\"feasible\":0}}"},
	{"POST /apis/placet.io/v1/namespaces/shop/plans ",
         "\"spec\":{\"objects\":[{\"kind\":\"Pod\"}],\"withoutClusters\":[\"west\"],"
         "\"addNodes\":[{\"count\":2,\"shape\":\"cpu=8\"}],\"atRevision\":\"12\"}}",
         "{\"kind\":\"Plan\",\"status\":{\"fits\":false,\"revision\":\"12\",\"placed\":1,"
         "\"unplaced\":1,\"pods\":[{\"namespace\":\"shop\",\"name\":\"a\",\"cluster\":"
         "\"east\",\"node\":\"n-1\"},{\"namespace\":\"shop\",\"name\":\"b\",\"reason\":"
         "\"fit.cpu\",\"message\":\"Insufficient cpu\",\"victims\":[\"x/y\"]}]}}"},
	{"GET /apis/placet.io/v1/shards?limit=500 ", "",
         "{\"metadata\":{\"continue\":\"a/b\"},\"items\":[{\"metadata\":{\"name\":"
         "\"east-0\"},\"spec\":{\"weight\":2000,\"drained\":true},\"status\":{\"state\":"
         "\"active\",\"host\":\"h1\",\"pid\":7,\"startTime\":\"2999-01-01T00:00:00Z\","
         "\"partitions\":[0,1],\"rates\":{\"busy\":0.5},\"work\":{\"pending\":9},"
         "\"config\":{\"coord\":3},\"refused\":{\"coord\":\"no\"},\"lease\":\"1f\"}}]}"},
	{"GET /apis/placet.io/v1/shards?limit=500&continue=a%2Fb ", "",
         "{\"items\":[{\"metadata\":{\"name\":\"east-1\"},\"status\":{\"malformed\":"
         "\"bad\"}},{\"metadata\":{\"name\":7},\"status\":[]}]}"},
	{"PATCH /api/v1/nodes/east:n-1 ", "{\"spec\":{\"unschedulable\":true}}", "{}"},
	{"PATCH /api/v1/nodes/east:n-1?dryRun=All ", "{\"unschedulable\":null}", "{}"},
	{"GET /api/v1/namespaces/shop/pods/stays ", "",
         "{\"metadata\":{\"name\":\"stays\",\"namespace\":\"shop\",\"uid\":\"u-1\"}}"},
	{"DELETE /api/v1/namespaces/shop/pods/stays ", "\"uid\":\"u-1\"", "{}"},
	{"GET /apis/placet.io/v1/partitions?limit=500 ", "",
         "{\"items\":[{\"metadata\":{\"name\":\"0000\"},\"status\":{\"shard\":\"east-0\","
         "\"epoch\":55,\"target\":\"east-0\"}},{\"metadata\":{\"name\":\"0001\"},"
         "\"status\":{\"target\":\"east-0\"}},{\"metadata\":{\"name\":\"0002\"},\"status\":"
         "{\"malformed\":\"no json\"}}]}"},
};

#define NODE(name, version, more)                                                  \
	"{\"metadata\":{\"name\":\"east:" name "\",\"resourceVersion\":\"" version \
	"\"},"                                                                     \
	"\"spec\":{" more "},\"status\":{\"allocatable\":{\"cpu\":\"4\"}}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define FROM(version)                                                                    \
	"GET /api/v1/nodes?watch=true&allowWatchBookmarks=true&resourceVersion=" version \
	" "

/* Each is given once, in this order: what a watch of nodes meets. */
static const struct {
	const char *request, *status, *answer;
} turns[] = {
	{"GET /api/v1/nodes?limit=500 ", "200 OK",
         "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" NODE(
		 "n-1", "3", "") "," NODE("n-2", "4", "") "]}"},
	{FROM("5"), "200 OK",
         EVENT("ADDED", NODE("n-3", "6", ""))
                 EVENT("MODIFIED", NODE("n-2", "7", "\"unschedulable\":true"))
                         EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"8\"}}")},
	/* The stream goes on, and has to begin anew. */
	{FROM("8"), "200 OK",
         EVENT("ERROR", "{\"kind\":\"Status\",\"code\":410,\"message\":\"too old\"}")},
	{"GET /api/v1/nodes?limit=500 ", "200 OK",
         "{\"metadata\":{\"resourceVersion\":\"20\"},\"items\":[" NODE(
		 "n-1", "3", "") "," NODE("n-3", "19", "\"unschedulable\":true") "]}"},
	{FROM("20"), "200 OK", EVENT("DELETED", NODE("n-1", "21", ""))},
	{FROM("21"), "503 Unavailable", ""},
	{"GET /api/v1/nodes?limit=500 ", "503 Unavailable", ""},
	{"GET /api/v1/nodes?limit=500 ", "403 Forbidden", ""},
};

static unsigned turn;

static bool take_turn(struct fake_conn *conn, const char *head)
{
	static char text[1 << 14];

	if (turn == sizeof turns / sizeof turns[0] ||
	    strncmp(head, turns[turn].request, strlen(turns[turn].request)) != 0)
		return false;
	(void)snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s",
	               turns[turn].status, strlen(turns[turn].answer),
	               turns[turn].answer);
	turn++;
	fake_conn_text(conn, text);
	return true;
}

static void on_request(void *ctx, struct fake_conn *conn, const char *head,
                       struct pl_span body)
{
	static char text[1 << 14], sent[1 << 14];
	static unsigned stays;
	const char *found = NULL;

	(void)ctx;
	if (take_turn(conn, head))
		return;
	(void)snprintf(sent, sizeof sent, PL_SPAN_FMT, PL_SPAN_ARG(body));
	for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
		if (strncmp(head, answers[i].request, strlen(answers[i].request)) == 0 &&
		    strstr(sent, answers[i].body_has) != NULL)
			found = answers[i].answer;
	/* A command that asks without pauses sees the pod go. */
	if (strncmp(head, "GET /api/v1/namespaces/shop/pods/stays ", 39) == 0 &&
	    ++stays > ASKED_MAX)
		found = NULL;
	(void)snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s",
	               found == NULL ? "404 Not Found" : "200 OK",
	               found == NULL ? 0 : strlen(found), found == NULL ? "" : found);
	fake_conn_text(conn, text);
}

static char url[64];
static pid_t server;

static _Noreturn void serve(int to)
{
	uv_loop_t loop;
	struct fake_http *fake;

	T_EQ(uv_loop_init(&loop), 0);
	fake = fake_http_open(&loop, NULL, false, on_request, NULL);
	T_EQ(write(to, fake_http_url(fake), sizeof url - 1) > 0, 1);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	_exit(1);
}

/* The case ends it. */
static void up(void)
{
	int ends[2];

	T_EQ(pipe(ends), 0);
	server = fork();
	if (server == 0)
		serve(ends[1]);
	T_TRUE(read(ends[0], url, sizeof url - 1) > 0);
	T_EQ(unsetenv("PLACET_ENDPOINTS"), 0);
	T_EQ(setenv("PLACET_SERVER", url, 1), 0);
}

T_CASE(an_explanation_is_told)
{
	up();
	T_EQ(PLACET("explain", "pod", "shop/web-1"), 1);
	T_STR(placet_rig.out,
	      "shop/web-1 is Pending\n"
	      "  fit.cpu: 2 nodes: Insufficient cpu\n"
	      "  2 attempts\n"
	      "  partition 7, of shard east-0, as of revision 123\n"
	      "  of the pods that wait 3 go before it by priority, 2 are as important, 1 "
	      "of these older\n"
	      "\n"
	      "0 of 2 nodes would do\n"
	      "  2 nodes: Insufficient cpu (NodeResourcesFit, fit.cpu), for no other "
	      "reason\n"
	      "  cluster east: 0 of 2 nodes\n"
	      "  nearest: east/n-1\n"
	      "    lacks 2 cpu\n"
	      "  would help: 2 cpu more\n");
	T_EQ(PLACET("explain", "pod", "web-1", "-n", "shop", "-o", "json"), 1);
	placet_prints("\"revision\": \"123\"");
	/* The pod has a node, whatever would be decided now. */
	T_EQ(PLACET("explain", "pod", "shop/web-2"), 0);
	placet_prints("is Bound on east/n-\\x1b[1m");
	T_EQ(PLACET("explain", "pod", "shop/none"), 1);
	placet_says("the server answered 404");
	T_EQ(PLACET("explain", "pod", "shop/web-1", "-o", "dot"), 1);
	placet_says("--output dot needs the store");
}

T_CASE(a_plan_is_asked_for_and_told)
{
	static const char *const text[] = {"plan",
	                                   "-f",
	                                   "-",
	                                   "-n",
	                                   "shop",
	                                   "--without",
	                                   "cluster=west",
	                                   "--add-nodes",
	                                   "2:cpu=8",
	                                   "--at-revision",
	                                   "12",
	                                   NULL};

	up();
	T_EQ(placet_run("{\"kind\":\"Pod\"}", text), 1);
	T_STR(placet_rig.out,
	      "1 of 2 pods fit, as of revision 12\n"
	      "NAMESPACE   NAME   VERDICT         NODE       REASON\n"
	      "shop        a      placed          east/n-1   -\n"
	      "shop        b      unschedulable   -          Insufficient cpu; 1 pod "
	      "would be evicted\n");
	T_EQ(placet_run("{\"kind\":\"Service\"}", text), 2);
	placet_says("the server answered 404");
}

T_CASE(shards_are_told_page_by_page)
{
	up();
	T_EQ(PLACET("shards"), 0);
	placet_prints("east-0   active,drain-wanted   2            2000");
	placet_prints("east-1   malformed");
	T_EQ(PLACET("shards", "-o", "json"), 0);
	placet_prints("\"lease\": \"000000000000001f\"");
	placet_prints("\"pending\": 9");
	placet_prints("\"coord\": \"no\"");
	placet_prints_not("\"instance\"");
	T_EQ(PLACET("partitions"), 0);
	T_STR(placet_rig.out, "PARTITION   STATE       OWNER    EPOCH   NOTE\n"
	                      "0000        owned       east-0   55      -\n"
	                      "0001        free        -        -       -\n"
	                      "0002        malformed   -        -       no json\n");
	T_EQ(PLACET("partitions", "--summary"), 0);
	placet_prints("east-0   owned       1            2\n");
	placet_prints("-        free        1            -\n");
	placet_prints("-        malformed   1            -\n");
}

T_CASE(a_pod_that_stays_is_waited_for_without_haste)
{
	up();
	T_EQ(PLACET("delete", "pod", "shop/stays", "--yes", "--wait=false"), 0);
	T_STR(placet_rig.out, "shop/stays is terminating\n");
	T_EQ(PLACET("delete", "pod", "shop/stays", "--yes", "--timeout", "2s"), 1);
	placet_says("shop/stays and perhaps others are still there");
}

/* A second for each would be too long. */
T_CASE_SECONDS(one_request_follows_the_other_at_once, 15)
{
	enum { NAMES = 18 };
	static char names[NAMES][16];
	const char *args[NAMES + 3] = {"get", "pods"};

	up();
	for (unsigned i = 0; i < NAMES; i++) {
		(void)snprintf(names[i], sizeof names[i], "shop/none-%u", i);
		args[2 + i] = names[i];
	}
	T_EQ(placet_run(NULL, args), 1);
	placet_says("shop/none-17: no such pod");
	placet_says("18 not found");
}

T_CASE(work_is_told_by_shard)
{
	up();
	T_EQ(PLACET("top", "conflicts", "--once"), 0);
	placet_prints("SHARD    PENDING   PLACED");
	placet_prints("east-0   9         0 ");
	placet_prints("east-1   -         - ");
}

T_CASE(a_watch_goes_on_whatever_its_stream_meets)
{
	up();
	T_EQ(PLACET("get", "nodes", "--watch"), 1);
	T_STR(placet_rig.out, "CLUSTER   NAME   STATE   PODS   CPU   MEMORY   NOTE\n"
	                      "east      n-1    ready   -/0    -/4   -/0      -\n"
	                      "east      n-2    ready   -/0    -/4   -/0      -\n"
	                      "east      n-3    ready   -/0    -/4   -/0      -\n"
	                      "east      n-2    cordoned   -/0    -/4   -/0      -\n"
	                      "east      n-3    cordoned   -/0    -/4   -/0      -\n"
	                      "east      n-2    gone       -      -     -        -\n"
	                      "east      n-1    gone       -      -     -        -\n");
	placet_says("placet get nodes: the server answered 503");
	placet_says("; going on");
	placet_says("the server answered 403");
}

T_CASE(nodes_are_cordoned)
{
	up();
	T_EQ(PLACET("nodes", "cordon", "east/n-1"), 0);
	T_STR(placet_rig.out, "east/n-1 cordoned\n");
	T_EQ(PLACET("nodes", "uncordon", "east/n-1", "--dry-run"), 0);
	T_STR(placet_rig.out, "east/n-1 would be uncordoned\n");
	T_EQ(PLACET("nodes", "cordon", "east/n-1", "east/n-2"), 1);
	T_STR(placet_rig.out, "east/n-1 cordoned\n");
	placet_says("east/n-2: the server answered 404");
	placet_says("1 refused");
}
