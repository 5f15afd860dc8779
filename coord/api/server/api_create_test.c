/* Creations over the API: names that the server generates. */
#include <stdio.h>

#include "tests/harness/t.h"
#include "tests/support/coord/api/api_rig.h"

static struct api_rig rig;

/* With the same seed a server generates the same names, in the same order. */
static const struct api_server_opts seeded = {.seed = 7};

enum { NAME_SIZE = 80, TRIES = 8, NAMES = 20 };

/* A path where objects are created, and what they have beside generateName. */
struct made_kind {
	const char *path, *rest;
};

static const struct made_kind config_maps = {"/api/v1/namespaces/default/configmaps", ""};
static const struct made_kind pods = {
	"/api/v1/namespaces/default/pods",
	",\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"};
static const struct made_kind namespaces = {"/api/v1/namespaces", ""};
static const struct made_kind budgets = {
	"/apis/policy/v1/namespaces/default/poddisruptionbudgets",
	",\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}"};
static const struct made_kind events = {
	"/apis/events.k8s.io/v1/namespaces/default/events",
	",\"eventTime\":\"2026-11-21T09:00:00.000000Z\",\"reportingController\":\"c\","
	"\"reportingInstance\":\"i\",\"action\":\"a\",\"reason\":\"r\","
	"\"type\":\"Normal\",\"regarding\":{\"namespace\":\"default\"}"};
static const struct made_kind nodes = {"/api/v1/nodes", ""};

static void create(const struct made_kind *kind, const char *meta, int status)
{
	char body[600];

	(void)snprintf(body, sizeof body, "{\"metadata\":{%s}%s}", meta, kind->rest);
	api_rig_want(&rig, "POST", kind->path, body, status);
}

static void create_named(const struct made_kind *kind, const char *name)
{
	char meta[NAME_SIZE + 20];

	(void)snprintf(meta, sizeof meta, "\"name\":\"%s\"", name);
	create(kind, meta, 201);
}

static const char *create_generated(const struct made_kind *kind, int status)
{
	create(kind, "\"generateName\":\"x-\"", status);
	return api_rig_text(&rig, "metadata.name");
}

/* The first names that a server with the seed generates. */
static void read_names(char out[NAMES][NAME_SIZE])
{
	api_rig_open_with(&rig, 8, &seeded);
	for (unsigned i = 0; i < NAMES; i++)
		(void)snprintf(out[i], NAME_SIZE, "%s",
		               create_generated(&config_maps, 201));
	api_rig_close(&rig);
}

static void expect_the_third(const struct made_kind *kind, char names[NAMES][NAME_SIZE])
{
	char path[300];

	api_rig_open_with(&rig, 8, &seeded);
	for (unsigned i = 0; i < 2; i++) {
		create_named(kind, names[i]);
		(void)snprintf(path, sizeof path, "%s/%s", kind->path, names[i]);
		api_rig_want(&rig, "GET", path, NULL, 200);
	}
	T_STR(create_generated(kind, 201), names[2]);
	T_STR(api_rig_text(&rig, "metadata.generateName"), "x-");
	(void)snprintf(path, sizeof path, "%s/%s", kind->path, names[2]);
	api_rig_want(&rig, "GET", path, NULL, 200);
	T_STR(api_rig_text(&rig, "metadata.name"), names[2]);
	api_rig_close(&rig);
}

T_CASE(generated_name_that_is_taken_is_replaced_by_another)
{
	const struct made_kind *const kinds[] = {&config_maps, &pods,   &namespaces,
	                                         &budgets,     &events, &nodes};
	char names[NAMES][NAME_SIZE];

	read_names(names);
	for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		expect_the_third(kinds[i], names);
}

/* Companions of a namespace are made for the name that it gets. */
T_CASE(companions_of_a_namespace_stand_in_it)
{
	char names[NAMES][NAME_SIZE], path[300];

	read_names(names);
	api_rig_open_with(&rig, 8, &seeded);
	create_named(&namespaces, names[0]);
	T_STR(create_generated(&namespaces, 201), names[1]);
	(void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/serviceaccounts/default",
	               names[1]);
	api_rig_want(&rig, "GET", path, NULL, 200);
	(void)snprintf(path, sizeof path, "/api/v1/namespaces/%s", names[1]);
	api_rig_want(&rig, "GET", path, NULL, 200);
	T_TRUE(rig.text.len > 0 &&
	       memmem(rig.text.at, rig.text.len, names[0], strlen(names[0])) == NULL);
	api_rig_close(&rig);
}

T_CASE(after_eight_names_the_server_gives_up)
{
	char names[NAMES][NAME_SIZE];
	char message[300];

	read_names(names);
	api_rig_open_with(&rig, 8, &seeded);
	for (unsigned i = 0; i < TRIES; i++)
		create_named(&pods, names[i]);
	(void)create_generated(&pods, 409);
	T_STR(api_rig_text(&rig, "reason"), "AlreadyExists");
	(void)snprintf(message, sizeof message,
	               "pods \"%s\" already exists, the server was not able to generate "
	               "a unique name for the object",
	               names[TRIES - 1]);
	T_STR(api_rig_text(&rig, "message"), message);
	T_STR(api_rig_text(&rig, "details.retryAfterSeconds"), "1");
	T_STR(create_generated(&pods, 201), names[TRIES]);
	api_rig_close(&rig);
}

/* A name that the client gave is never replaced. */
T_CASE(given_name_that_is_taken_is_refused)
{
	api_rig_open_with(&rig, 8, &seeded);
	create_named(&pods, "web-0");
	create(&pods, "\"name\":\"web-0\",\"generateName\":\"web-\"", 409);
	T_STR(api_rig_text(&rig, "details.name"), "web-0");
	create(&pods, "\"name\":\"web-0\"", 409);
	T_STR(api_rig_text(&rig, "message"), "pods \"web-0\" already exists");
	api_rig_close(&rig);
}

/* Items of a List are tried again one by one. */
T_CASE(items_of_a_list_get_other_names_too)
{
	char names[NAMES][NAME_SIZE], body[1000];

	read_names(names);
	api_rig_open_with(&rig, 8, &seeded);
	create_named(&pods, names[0]);
	(void)snprintf(body, sizeof body,
	               "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":["
	               "{\"metadata\":{\"generateName\":\"x-\"}%s},"
	               "{\"metadata\":{\"generateName\":\"x-\"}%s}]}",
	               pods.rest, pods.rest);
	api_rig_want(&rig, "POST", pods.path, body, 201);
	T_STR(api_rig_text(&rig, "items.0.metadata.name"), names[2]);
	T_STR(api_rig_text(&rig, "items.1.metadata.name"), names[1]);
	api_rig_close(&rig);
}
