/* Tokens over the API: issued, shown once, listed without their secrets, revoked. */
#include <stdio.h>

#include "coord/service/tokens/token_record.h"
#include "tests/harness/t.h"
#include "tests/support/coord/api/api_rig.h"

static struct api_rig rig;

#define TOKENS "/apis/placet.io/v1/tokens"
#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"
#define NAMED(name, spec) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":" spec "}"

T_CASE(a_token_is_issued_shown_once_and_revoked)
{
	char secret[TOKEN_TEXT_SIZE];
	const char *value;

	api_rig_open(&rig, 4);
	api_rig_want(&rig, "POST", TOKENS,
	             NAMED("ci", "{\"user\":\"ci-bot\",\"groups\":[\"team-a\",\"dev\"],"
	                         "\"expirationSeconds\":3600}"),
	             201);
	T_STR(api_rig_text(&rig, "kind"), "Token");
	T_STR(api_rig_text(&rig, "metadata.name"), "ci");
	T_STR(api_rig_text(&rig, "spec.expirationSeconds"), "3600");
	T_STR(api_rig_text(&rig, "status.createdBy"), "placet:local");
	(void)snprintf(secret, sizeof secret, "%s", api_rig_text(&rig, "status.token"));
	T_TRUE(strncmp(secret, "placet.ci.", 10) == 0 && strlen(secret) == 53);
	value = api_rig_get(&rig, "/access/tokens/ci", NULL);
	T_TRUE(value != NULL && strstr(value, "\"user\":\"ci-bot\"") != NULL);
	T_TRUE(strstr(value, secret + 10) == NULL);
	api_rig_want(&rig, "GET", TOKENS "/ci", NULL, 200);
	T_STR(api_rig_text(&rig, "spec.user"), "ci-bot");
	T_STR(api_rig_text(&rig, "spec.groups.1"), "dev");
	T_TRUE(api_rig_text(&rig, "status.expirationTimestamp") != NULL);
	T_TRUE(memmem(rig.text.at, rig.text.len, secret + 10, 43) == NULL);
	T_TRUE(memmem(rig.text.at, rig.text.len, "hash", 4) == NULL);
	api_rig_want(&rig, "GET", TOKENS, NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 1);
	T_TRUE(memmem(rig.text.at, rig.text.len, "hash", 4) == NULL);
	api_rig_want(&rig, "DELETE", TOKENS "/ci", NULL, 200);
	T_TRUE(api_rig_get(&rig, "/access/tokens/ci", NULL) == NULL);
	api_rig_want(&rig, "GET", TOKENS "/ci", NULL, 404);
	api_rig_want(&rig, "DELETE", TOKENS "/ci", NULL, 404);
	api_rig_close(&rig);
}

T_CASE(a_name_that_is_taken_is_refused)
{
	const char *value;
	char before[2048];

	api_rig_open(&rig, 4);
	api_rig_want(&rig, "POST", TOKENS,
	             NAMED("ci", "{\"user\":\"ci-bot\",\"expirationSeconds\":0}"), 201);
	T_TRUE(api_rig_text(&rig, "status.expirationTimestamp") == NULL);
	(void)snprintf(before, sizeof before, "%s",
	               api_rig_get(&rig, "/access/tokens/ci", NULL));
	api_rig_want(&rig, "POST", TOKENS,
	             NAMED("ci", "{\"user\":\"eve\",\"expirationSeconds\":0}"), 409);
	T_STR(api_rig_text(&rig, "reason"), "AlreadyExists");
	value = api_rig_get(&rig, "/access/tokens/ci", NULL);
	T_STR(value, before);
	api_rig_close(&rig);
}

T_CASE(tokens_that_make_no_sense_are_not_issued)
{
	static const struct {
		const char *body;
		int status;
	} bad[] = {
		{"{}", 422},
		{NAMED("ci", "{}"), 422},
		{NAMED("ci", "{\"user\":\"a\"}"), 422},
		{NAMED("ci", "{\"expirationSeconds\":60}"), 422},
		{NAMED("ci", "{\"user\":\"a\",\"expirationSeconds\":-1}"), 422},
		{NAMED("ci", "{\"user\":\"a\",\"expirationSeconds\":999999999999}"), 422},
		{NAMED("CI", "{\"user\":\"a\",\"expirationSeconds\":60}"), 422},
		{NAMED("a.b", "{\"user\":\"a\",\"expirationSeconds\":60}"), 422},
		{"{\"metadata\":{\"generateName\":\"ci-\"},\"spec\":{\"user\":\"a\","
	         "\"expirationSeconds\":60}}",
	         422},
		{NAMED("ci", "{\"user\":\"system:root\",\"expirationSeconds\":60}"), 422},
		{NAMED("ci", "{\"user\":\"a\\nb\",\"expirationSeconds\":60}"), 422},
		{NAMED("ci", "{\"user\":\"a\",\"groups\":[\"system:nodes\"],"
	                     "\"expirationSeconds\":60}"),
	         422},
		{NAMED("ci",
	               "{\"user\":\"a\",\"groups\":[\"\"],\"expirationSeconds\":60}"),
	         422},
		{NAMED("ci", "{\"user\":7,\"expirationSeconds\":60}"), 400},
		{NAMED("ci", "{\"user\":\"a\",\"expirationSeconds\":\"60\"}"), 400},
		{"[]", 400},
	};

	api_rig_open(&rig, 4);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		api_rig_want(&rig, "POST", TOKENS, bad[i].body, bad[i].status);
	api_rig_want(&rig, "PUT", TOKENS "/ci",
	             NAMED("ci", "{\"user\":\"a\",\"expirationSeconds\":60}"), 405);
	api_rig_want(&rig, "GET", TOKENS, NULL, 200);
	T_EQ(api_rig_count(&rig, "items"), 0);
	api_rig_close(&rig);
}

T_CASE(a_dry_run_issues_nothing)
{
	api_rig_open(&rig, 4);
	api_rig_want(&rig, "POST", TOKENS "?dryRun=All",
	             NAMED("ci", "{\"user\":\"a\",\"expirationSeconds\":60}"), 201);
	T_TRUE(api_rig_text(&rig, "status.token") == NULL);
	T_TRUE(api_rig_get(&rig, "/access/tokens/ci", NULL) == NULL);
	api_rig_want(&rig, "POST", TOKENS,
	             NAMED("ci", "{\"user\":\"a\",\"expirationSeconds\":60}"), 201);
	api_rig_want(&rig, "DELETE", TOKENS "/ci?dryRun=All", NULL, 200);
	T_TRUE(api_rig_get(&rig, "/access/tokens/ci", NULL) != NULL);
	api_rig_close(&rig);
}

T_CASE(a_table_shows_users_and_a_broken_record_its_reason)
{
	api_rig_open(&rig, 4);
	api_rig_put(&rig, "/access/tokens/broken", "{\"v\":1}");
	api_rig_want(&rig, "GET", TOKENS "/broken", NULL, 200);
	T_STR(api_rig_text(&rig, "status.malformed"), "user: missing");
	rig.accept = TABLE;
	api_rig_want(&rig, "GET", TOKENS, NULL, 200);
	T_STR(api_rig_text(&rig, "rows.0.cells.0"), "broken");
	T_STR(api_rig_text(&rig, "rows.0.cells.1"), "<unknown>");
	rig.accept = NULL;
	api_rig_want(&rig, "DELETE", TOKENS "/broken", NULL, 200);
	T_TRUE(api_rig_get(&rig, "/access/tokens/broken", NULL) == NULL);
	api_rig_close(&rig);
}
