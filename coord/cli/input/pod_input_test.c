/* Files with objects, read repeatedly, and the pods in them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "coord/cli/input/manifest.h"
#include "coord/service/input/pod_input.h"
#include "tests/harness/torture.h"

enum { PATH = 200, MANY = 20000 };

static char dir[] = "/tmp/placet-intake-XXXXXX";
static struct pl_err err;
static struct files files;
static char told[1 << 16], refusals[4096];

#define POD(name)                                          \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name \
	"\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

static const char deployment[] = "apiVersion: apps/v1\n"
				 "kind: Deployment\n"
				 "metadata: {name: web, namespace: shop}\n"
				 "spec:\n"
				 "  replicas: 2\n"
				 "  selector: {matchLabels: {app: web}}\n"
				 "  template:\n"
				 "    metadata: {labels: {app: web}}\n"
				 "    spec:\n"
				 "      priorityClassName: gold\n"
				 "      containers: [{name: c, image: i}]\n"
				 "---\n"
				 "# nothing\n"
				 "---\n"
				 "kind: Service\n"
				 "metadata: {name: web}\n"
				 "--- \n"
				 "kind: PriorityClass\n"
				 "metadata: {name: gold}\n"
				 "value: 7\n";

static void up(void)
{
	T_TRUE(mkdtemp(dir) != NULL);
}

static void down(void)
{
	char command[PATH];

	files_done(&files);
	(void)snprintf(command, sizeof command, "rm -r %s", dir);
	T_EQ(system(command), 0); /* NOLINT(cert-env33-c): of a test's own directory */
}

static const char *path_of(const char *name)
{
	static char path[PATH];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "we");

	T_TRUE(file != NULL);
	T_EQ(fputs(text, file) >= 0, 1);
	T_EQ(fclose(file), 0);
}

static void on_refused(void *ctx, const struct pl_err *why)
{
	size_t len = strlen(refusals);

	(void)ctx;
	(void)snprintf(refusals + len, sizeof refusals - len, "%s\n", why->msg);
}

static void begin_with(struct pod_input *pod_input, enum pod_input_fields fields)
{
	struct manifest *manifest;
	struct pod_input_opts opts = {
		.partitions = 8, .fields = fields, .once = true, .refused = on_refused};

	refusals[0] = 0;
	T_OK(manifest_open(&files, &manifest, &err), &err);
	opts.source = manifest_source(manifest);
	pod_input_open(pod_input, &opts);
}

static void begin(struct pod_input *pod_input)
{
	begin_with(pod_input, POD_INPUT_FIELDS_PASS);
}

/* The names of all pods. */
static const char *pods(struct pod_input *pod_input)
{
	struct pod_input_pod pod;
	enum pl_code code;
	size_t len = 0;

	told[0] = 0;
	T_OK(pod_input_check(pod_input, &err), &err);
	while ((code = pod_input_next(pod_input, &pod, &err)) == PL_OK)
		if (len + PATH < sizeof told)
			len += (size_t)snprintf(told + len, sizeof told - len,
			                        "%s%.*s/%.*s", len == 0 ? "" : " ",
			                        PL_SPAN_ARG(pod.pod.namespace),
			                        PL_SPAN_ARG(pod.pod.name));
	T_CODE(code, PL_NOTFOUND, &err);
	return told;
}

static void has(const char *text, const char *words)
{
	if (strstr(text, words) == NULL)
		t_fail(__FILE__, __LINE__, "no '%s' in:\n%s", words, text);
}

T_CASE(a_directory_of_files_of_all_sorts)
{
	struct pod_input pod_input;

	up();
	put("b.yaml", deployment);
	put("h.yaml", "\xEF\xBB\xBF---\nkind: Service\napiVersion: v1\n");
	put("a.json", "{\"kind\":\"List\",\"items\":[" POD("one") "," POD("two") "]}");
	put("c.ndjson", "\xEF\xBB\xBF" POD("three") "\n" POD("four") "\n");
	put("d.json", "[" POD("five") "]");
	put("e.txt", "what is this");
	put(".f.yaml", "what is this");
	put("g.yml", "");
	T_OK(files_add(&files, dir, &err), &err);
	T_EQ(files.count, 6);
	begin(&pod_input);
	(void)pods(&pod_input);
	T_STR(refusals, "");
	T_EQ(pod_input.pods, 7);
	T_EQ(pod_input.kinds, 1);
	T_STR(pod_input.passed[0].kind, "Service");
	has(told, "default/one default/two shop/web-");
	has(told, "-1 default/three default/four default/five");
	pod_input_close(&pod_input);
	down();
}

T_CASE(a_refusal_names_file_object_and_field)
{
	struct pod_input pod_input;

	up();
	put("a.json", POD("one") "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"bad\"}}" POD(
			      "two") "{]" POD("lost"));
	put("b.yaml", "kind: Job\nmetadata: {name: job}\nspec: {completions: x}\n");
	put("c.yaml", "a: [\n");
	put("d.json", POD("three"));
	T_OK(files_add(&files, dir, &err), &err);
	begin(&pod_input);
	T_STR(pods(&pod_input), "default/one default/two default/three");
	T_EQ(pod_input.refused, 4);
	has(refusals, "a.json: object 2: Pod default/bad: spec.containers");
	has(refusals, "a.json: behind object 3: ");
	has(refusals, "b.yaml: object 1: Job default/job: spec.completions");
	has(refusals, "c.yaml: behind object 0: ");
	pod_input_close(&pod_input);
	down();
}

/* A pod that any API server takes; here its rules have to go into a registry. */
T_CASE(a_rule_about_other_pods_that_is_too_large_is_refused)
{
	struct pl_buf buf = {.max = 1 << 20};
	struct pod_input pod_input;

	up();
	T_EQ(pl_buf_printf(&buf,
	                   "kind: Pod\nmetadata: {name: big, labels: {app: a}}\nspec:\n"
	                   "  containers: [{name: c, image: i}]\n"
	                   "  topologySpreadConstraints:\n"
	                   "  - maxSkew: 1\n"
	                   "    topologyKey: zone\n"
	                   "    whenUnsatisfiable: DoNotSchedule\n"
	                   "    labelSelector: {matchExpressions: [{key: app, "
	                   "operator: In, values: [a"),
	     PL_OK);
	for (unsigned i = 0; i < 2000; i++)
		T_EQ(pl_buf_printf(&buf, ", value-%u", i), PL_OK);
	T_EQ(pl_buf_printf(&buf, "]}]}\n%c", 0), PL_OK);
	put("a.yaml", (const char *)buf.at);
	pl_buf_done(&buf);
	T_OK(files_add(&files, dir, &err), &err);
	begin(&pod_input);
	T_STR(pods(&pod_input), "");
	has(refusals, "a.yaml: object 1: Pod default/big: spec: a rule about other pods "
	              "takes more than 16384 bytes");
	pod_input_close(&pod_input);
	down();
}

T_CASE(a_large_file_is_read_in_pieces_and_twice)
{
	struct pod_input pod_input;
	gzFile file;

	up();
	file = gzopen(path_of("all.ndjson.gz"), "wb1");
	T_TRUE(file != NULL);
	for (unsigned i = 0; i < MANY; i++)
		(void)gzprintf(
			file,
			"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-%u\"},\n"
			"\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
			"\"args\":[\"%0200u\"]}]}}\n",
			i, i);
	T_EQ(gzclose(file), Z_OK);
	T_OK(files_add(&files, path_of("all.ndjson.gz"), &err), &err);
	begin(&pod_input);
	(void)pods(&pod_input);
	T_EQ(pod_input.pods, MANY);
	T_EQ(pod_input.refused, 0);
	pod_input_close(&pod_input);
	down();
}

#define DB(name, replicas, image)                                                            \
	"kind: StatefulSet\nmetadata: {name: " name "}\nspec:\n  replicas: " replicas        \
	"\n  selector: {matchLabels: {app: db}}\n  template:\n"                              \
	"    metadata: {labels: {app: db}}\n    spec: {containers: [{name: c, image: " image \
	"}]}\n---\n"
#define SAYS(version, kind)                                                    \
	"{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"metadata\":{" \
	"\"name\":\"x\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}\n"

/* A field with this name is probably meant. */
T_CASE(kinds_similar_to_a_known_one_are_refused)
{
	struct pod_input pod_input;

	up();
	put("a.json",
	    SAYS("v1", "pod") SAYS("v2", "Pod") SAYS("apps/v1", "Pod")
	            SAYS("apps/v2", "Deployment") SAYS("extensions/v1beta1", "Job")
	                    SAYS("v1", "DEPLOYMENT"));
	put("b.json", "{\"kind\":\"podlist\",\"items\":[" POD("one") "]}");
	put("b.yaml", "apiVersion: apps/v2\n" DB("db", "1", "i"));
	put("c.json", SAYS("batch.volcano.sh/v1", "Job") SAYS("v1", "Service")
	                      SAYS("v1", "ConfigMap") SAYS("v1", "Pod"));
	T_OK(files_add(&files, dir, &err), &err);
	begin(&pod_input);
	T_STR(pods(&pod_input), "default/x");
	T_EQ(pod_input.refused, 8);
	T_EQ(pod_input.kinds, 3);
	has(refusals, "a.json: object 1: kind: want Pod, this is pod\n");
	has(refusals, "a.json: object 2: apiVersion: v2 is none of a Pod: want v1\n");
	has(refusals,
	    "a.json: object 3: apiVersion: apps/v1 is none of a Pod: want v1\n");
	has(refusals, "object 4: apiVersion: apps/v2 is none of a Deployment: want "
	              "apps/v1\n");
	has(refusals, "object 5: apiVersion: extensions/v1beta1 is none of a Job: want "
	              "batch/v1\n");
	has(refusals, "object 6: kind: want Deployment, this is DEPLOYMENT\n");
	has(refusals, "b.json: object 1: kind: a list's ends in List, this is podlist\n");
	pod_input_close(&pod_input);
	down();
}

#define RANKED(name, rank)                                 \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name \
	"\"},\"spec\":{\"priority\":" rank                 \
	",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
#define BUDGET(max)                                                                    \
	"{\"kind\":\"PodDisruptionBudget\",\"metadata\":{\"name\":\"one\"},\"spec\":{" \
	"\"maxUnavailable\":" max ",\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}"

/* Only one of them could be there; the first one is. */
T_CASE(a_duplicate_name_with_different_content_is_refused)
{
	struct pod_input pod_input;

	up();
	put("a.json", RANKED("one", "1") RANKED("two", "1") RANKED("one", "1"));
	put("b.json", RANKED("one", "2") "\n" RANKED("three", "2") BUDGET("1"));
	put("c.yaml", DB("db", "2", "i") DB("db", "3", "i") DB("db", "4", "j"));
	put("d.json", POD("db-1") POD("db-3") BUDGET("1") BUDGET("2"));
	T_OK(files_add(&files, dir, &err), &err);
	begin(&pod_input);
	T_STR(pods(&pod_input), "default/one default/two default/one default/three "
	                        "default/db-0 default/db-1 default/db-0 default/db-1 "
	                        "default/db-2 default/db-3");
	T_EQ(pod_input.refused, 4);
	T_EQ(pod_input.pods, 10);
	T_EQ(pod_input.budgets, 2);
	has(refusals, "b.json: object 1: default/one: it is also in ");
	has(refusals, "a.json: object 1 with different content");
	has(refusals, "c.yaml: object 3: default/db-0: it is also in ");
	has(refusals, "d.json: object 1: default/db-1: it is also in ");
	has(refusals, "c.yaml: object 1 with different content");
	has(refusals,
	    "d.json: object 4: PodDisruptionBudget default/one: it is also in ");
	has(refusals, "b.json: object 3 with different content");
	pod_input_close(&pod_input);
	down();
}

#define TYPO(name)                                         \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name \
	"\"},\"spec\":{\"nodeSelectr\":{"                  \
	"\"a\":\"b\"},\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

T_CASE(unknown_fields_are_reported_once_or_refused)
{
	struct pod_input pod_input;

	up();
	put("a.json",
	    POD("one") TYPO("two") "{\"kind\":\"PriorityClass\",\"metadata\":{"
	                           "\"name\":\"high\"},\"value\":7}" TYPO("three"));
	put("b.json", TYPO("four") "{\"kind\":\"Service\",\"spek\":1}");
	T_OK(files_add(&files, dir, &err), &err);
	begin_with(&pod_input, POD_INPUT_FIELDS_TELL);
	T_STR(pods(&pod_input), "default/one default/two default/three default/four");
	T_STR(refusals, "");
	T_EQ(pod_input.unknowns, 1);
	T_STR(pod_input.unknown[0].path, "spec.nodeSelectr");
	T_STR(pod_input.unknown[0].like, "nodeSelector");
	T_EQ(pod_input.unknown[0].number, 2);
	T_EQ(pod_input.unknown[0].count, 3);
	has(pod_input.unknown[0].file, "a.json");
	T_EQ(pod_input.unknown_more, 0);
	pod_input_close(&pod_input);

	begin_with(&pod_input, POD_INPUT_FIELDS_REFUSE);
	T_STR(pods(&pod_input), "default/one");
	T_EQ(pod_input.refused, 3);
	T_EQ(pod_input.pods, 1);
	has(refusals, "a.json: object 2: spec.nodeSelectr: unknown field; is "
	              "nodeSelector meant?");
	has(refusals, "b.json: object 1: spec.nodeSelectr: ");
	pod_input_close(&pod_input);
	down();
}

T_CASE(more_unknown_fields_than_are_kept_are_counted)
{
	char text[2048] = "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"";
	struct pod_input pod_input;

	up();
	for (unsigned i = 0; i < POD_INPUT_UNKNOWN_MAX + 3; i++)
		(void)snprintf(text + strlen(text), sizeof text - strlen(text),
		               ",\"field-%u\":1", i);
	(void)snprintf(text + strlen(text), sizeof text - strlen(text),
	               "},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
	put("a.json", text);
	T_OK(files_add(&files, dir, &err), &err);
	begin_with(&pod_input, POD_INPUT_FIELDS_TELL);
	T_STR(pods(&pod_input), "default/p");
	T_EQ(pod_input.unknowns, POD_INPUT_UNKNOWN_MAX);
	T_EQ(pod_input.unknown_more, 3);
	pod_input_close(&pod_input);
	down();
}

T_CASE(missing_paths_are_reported)
{
	up();
	T_CODE(files_add(&files, path_of("none"), &err), PL_IO, NULL);
	T_CODE(files_add(&files, dir, &err), PL_NOTFOUND, NULL);
	has(err.msg, "has no file that ends in");
	down();
}

static enum pl_code tortured(void)
{
	struct pod_input_opts opts = {.partitions = 8, .once = true};
	struct pod_input pod_input;
	struct pod_input_pod pod;
	struct manifest *manifest;
	enum pl_code code = manifest_open(&files, &manifest, &err);

	if (code != PL_OK)
		return code;
	opts.source = manifest_source(manifest);
	pod_input_open(&pod_input, &opts);
	code = pod_input_check(&pod_input, &err);
	while (code == PL_OK)
		code = pod_input_next(&pod_input, &pod, &err);
	pod_input_close(&pod_input);
	return code == PL_NOTFOUND ? PL_OK : code;
}

T_CASE(memory_may_run_out_anywhere)
{
	up();
	put("b.yaml", deployment);
	T_OK(files_add(&files, dir, &err), &err);
	t_torture(tortured, false);
	down();
}
