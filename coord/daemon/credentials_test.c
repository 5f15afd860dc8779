/* The API of a real placetd, asked with each kind of credential, good and bad. */
#include <curl/curl.h>
#include <stdlib.h>

#include "coord/access/authn/authn_kit.h"
#include "store/base/clock.h"
#include "tests/support/coord/cli/placet_rig.h"
#include "tests/support/store/net/forge.h"

enum { PARTITIONS = 8, PATIENCE_MS = 20000 };

static const struct forge_part admin[] = {
	{"CN", "ann", 0, 0}, {"O", "system:masters", 0, 0}, {NULL, NULL, 0, 0}};
static const struct forge_leaf of_server = {
	.parts = admin, .usage = "serverAuth", .names = "IP:127.0.0.1"};
static const uint64_t revokes_none[] = {0}, revokes_ann[] = {7, 0};

static struct placet_running daemon_process;
static struct forge authority, stranger;
static struct authn_kit kit;
static unsigned port;

/* -- the server ------------------------------------------------------------------------ */

static void write_leaf(const char *name, const struct forge *by,
                       const struct forge_leaf *leaf)
{
	struct forge cert = forge_leaf(by, leaf);
	char file[64];

	(void)snprintf(file, sizeof file, "%s.pem", name);
	forge_write_cert(file, &cert);
	(void)snprintf(file, sizeof file, "%s-key.pem", name);
	forge_write_key(file, &cert);
	forge_free(&cert);
}

static void write_crl(const uint64_t *serials)
{
	X509_CRL *crl = forge_crl(&authority, serials, 3600);

	forge_write_crl("crl.pem", crl);
	X509_CRL_free(crl);
}

static void write_files(void)
{
	const struct forge_leaf ann = {.parts = admin, .serial = 7};

	authority = forge_authority("clients", NULL);
	stranger = forge_authority("strangers", NULL);
	authn_kit_open(&kit);
	forge_write_cert("ca.pem", &authority);
	write_leaf("server", &authority, &of_server);
	write_leaf("ann", &authority, &ann);
	write_leaf("eve", &stranger, &ann);
	write_crl(revokes_none);
	forge_write("tokens.csv", PL_SPAN_LIT("tok-adm,adm,1,system:masters\n"
	                                      "tok-bob,bob,2,\"dev\"\n"));
	forge_write("keys.json", pl_span_str(kit_jwks(&kit)));
}

static void start_daemon(const char *const args[])
{
	const char *all[40] = {"--partitions", "8",           "--name",
	                       "east",         "--log-level", "info",
	                       "--api-listen", "127.0.0.1:0", NULL};
	const char *placet = getenv("PLACET"), *placetd = getenv("PLACETD");
	char kept[4096];
	const char *at;
	unsigned count = 8;

	while (args[count - 8] != NULL && count < 39) {
		all[count] = args[count - 8];
		count++;
	}
	T_TRUE(placet != NULL && placetd != NULL);
	if (placet == NULL || placetd == NULL)
		return;
	(void)snprintf(kept, sizeof kept, "%s", placet);
	T_EQ(setenv("PLACET", placetd, 1), 0);
	placet_start(&daemon_process, all);
	T_EQ(setenv("PLACET", kept, 1), 0);
	placet_await(&daemon_process, "api.listening");
	at = strstr(daemon_process.line, " port=");
	T_TRUE(at != NULL);
	port = (unsigned)strtoul(at + 6, NULL, 10);
	placet_await(&daemon_process, "api.ready");
}

static void up(void)
{
	placet_up(PARTITIONS);
	write_files();
	start_daemon((const char *const[]){
		"--api-cert", forge_path("server.pem"), "--api-key",
		forge_path("server-key.pem"), "--api-client-ca", forge_path("ca.pem"),
		"--api-client-crl", forge_path("crl.pem"), "--api-token-file",
		forge_path("tokens.csv"), "--api-jwt-jwks", forge_path("keys.json"),
		"--api-jwt-issuer", KIT_ISSUER, "--api-jwt-audience", "placet",
		"--api-jwt-groups-prefix", "-", NULL});
}

static void down(void)
{
	placet_kill(&daemon_process);
	placet_down();
	forge_free(&authority);
	forge_free(&stranger);
	authn_kit_close(&kit);
}

/* -- clients --------------------------------------------------------------------------- */

static size_t on_data(char *at, size_t size, size_t count, void *ctx)
{
	char *body = ctx;
	size_t len = strlen(body), more = size * count;

	(void)snprintf(body + len, 4096 - len, "%.*s", (int)(more < 4096 ? more : 4095),
	               at);
	return more;
}

/* The status of GET /api/v1/namespaces; cert and token may be NULL. */
static long ask(const char *cert, const char *token, char body[4096])
{
	CURL *curl = curl_easy_init();
	struct curl_slist *fields = NULL;
	char url[64], name[64], *field = NULL;
	long status = 0;

	T_TRUE(curl != NULL);
	body[0] = 0;
	(void)snprintf(url, sizeof url, "https://127.0.0.1:%u/api/v1/namespaces", port);
	(void)curl_easy_setopt(curl, CURLOPT_URL, url);
	(void)curl_easy_setopt(curl, CURLOPT_CAINFO, forge_path("ca.pem"));
	(void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
	(void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
	if (cert != NULL) {
		(void)snprintf(name, sizeof name, "%s.pem", cert);
		(void)curl_easy_setopt(curl, CURLOPT_SSLCERT, forge_path(name));
		(void)snprintf(name, sizeof name, "%s-key.pem", cert);
		(void)curl_easy_setopt(curl, CURLOPT_SSLKEY, forge_path(name));
	}
	if (token != NULL) {
		size_t size = strlen(token) + 64;

		field = malloc(size);
		T_TRUE(field != NULL);
		(void)snprintf(field, size, "Authorization: Bearer %s", token);
		fields = curl_slist_append(fields, field);
		(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
	}
	if (curl_easy_perform(curl) == CURLE_OK)
		(void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(fields);
	curl_easy_cleanup(curl);
	free(field);
	return status;
}

static long status_of(const char *cert, const char *token)
{
	char body[4096];

	return ask(cert, token, body);
}

/* Asks until the server knows of the change. */
static void becomes(const char *cert, const char *token, long want)
{
	uint64_t end_ms = pl_clock_ms() + PATIENCE_MS;
	long status;

	do
		status = status_of(cert, token);
	while (status != want && pl_clock_ms() < end_ms);
	T_EQ(status, want);
}

/* -- cases ----------------------------------------------------------------------------- */

T_CASE_SECONDS(each_good_credential_is_known_and_bad_ones_are_answered_alike, 120)
{
	char anonymous[4096], body[4096];
	char *token;

	up();
	T_EQ(ask(NULL, NULL, anonymous), 401);
	T_TRUE(strstr(anonymous, "\"Unauthorized\"") != NULL);
	T_EQ(status_of("ann", NULL), 200);
	T_EQ(status_of(NULL, "tok-adm"), 200);
	T_EQ(ask(NULL, "tok-bob", body), 403);
	T_TRUE(strstr(body, "User \\\"bob\\\" cannot list") != NULL);
	T_EQ(ask("eve", NULL, body), 401);
	T_STR(body, anonymous);
	T_EQ(status_of("eve", "tok-adm"), 200);
	T_EQ(ask(NULL, "tok-eve", body), 401);
	T_STR(body, anonymous);
	token = kit_token(kit.p256, KIT_ES256, "{\"alg\":\"ES256\"}",
	                  kit_claims(",\"groups\":[\"dev\"]"));
	T_EQ(ask(NULL, token, body), 403);
	T_TRUE(strstr(body, "User \\\"jwt:ann\\\" cannot list") != NULL);
	free(token);
	token = kit_token(kit.p256, KIT_ES256, "{\"alg\":\"ES256\"}",
	                  kit_claims(",\"groups\":[\"system:masters\"]"));
	T_EQ(ask(NULL, token, body), 401);
	T_STR(body, anonymous);
	free(token);
	down();
}

T_CASE_SECONDS(what_is_revoked_is_refused_soon, 120)
{
	char token[256];

	up();
	T_EQ(PLACET("token", "create", "ci", "--user", "ci-bot", "--group",
	            "system:masters", "--expires", "1h"),
	     0);
	(void)snprintf(token, sizeof token, "%.200s", placet_rig.out);
	token[strcspn(token, "\n")] = 0;
	becomes(NULL, token, 200);
	T_EQ(PLACET("token", "revoke", "ci"), 0);
	becomes(NULL, token, 401);
	T_EQ(status_of("ann", NULL), 200);
	write_crl(revokes_ann);
	becomes("ann", NULL, 401);
	T_EQ(status_of(NULL, "tok-adm"), 200);
	forge_write("tokens.csv", PL_SPAN_LIT("tok-new,adm,1,system:masters\n"));
	becomes(NULL, "tok-new", 200);
	T_EQ(status_of(NULL, "tok-adm"), 401);
	down();
}

T_CASE_SECONDS(tokens_are_issued_and_revoked_over_the_api, 120)
{
	char url[64], token[256];

	up();
	(void)snprintf(url, sizeof url, "https://127.0.0.1:%u", port);
	forge_write("adm.token", PL_SPAN_LIT("tok-adm\n"));
	forge_write("bob.token", PL_SPAN_LIT("tok-bob\n"));
	T_EQ(PLACET("kubeconfig", "--server", url, "--ca", forge_path("ca.pem"),
	            "--token-file", forge_path("adm.token"), "-o", forge_path("adm.kc")),
	     0);
	T_EQ(PLACET("kubeconfig", "--server", url, "--ca", forge_path("ca.pem"),
	            "--token-file", forge_path("bob.token"), "-o", forge_path("bob.kc")),
	     0);
#define ADM "--kubeconfig", forge_path("adm.kc")
	T_EQ(PLACET("token", "create", "ci", "--user", "ci-bot", "--group",
	            "system:masters", "--expires", "1h", ADM),
	     0);
	placet_says("this is the only time that it is shown:");
	(void)snprintf(token, sizeof token, "%.200s", placet_rig.out);
	token[strcspn(token, "\n")] = 0;
	becomes(NULL, token, 200);
	T_EQ(PLACET("token", "list", ADM), 0);
	placet_prints("ci-bot");
	placet_prints("system:masters");
	T_EQ(PLACET("token", "create", "ci", "--user", "x", "--expires", "never", ADM),
	     1);
	placet_says("already exists");
	T_EQ(PLACET("token", "create", "own", "--user", "x", "--expires", "never",
	            "--kubeconfig", forge_path("bob.kc")),
	     1);
	T_EQ(PLACET("token", "revoke", "none", "ci", ADM), 1);
	placet_prints("ci revoked");
	placet_says("none: no such token");
	becomes(NULL, token, 401);
	T_EQ(PLACET("token", "list", ADM), 0);
	placet_says("no tokens");
#undef ADM
	down();
}

/* The option as it was before tokens had users. */
T_CASE_SECONDS(one_token_alone_opens_everything, 120)
{
	placet_up(PARTITIONS);
	write_files();
	forge_write("tokens.csv", PL_SPAN_LIT("the-only-one\n"));
	start_daemon((const char *const[]){"--api-cert", forge_path("server.pem"),
	                                   "--api-key", forge_path("server-key.pem"),
	                                   "--api-token-file", forge_path("tokens.csv"),
	                                   NULL});
	T_EQ(status_of(NULL, "the-only-one"), 200);
	T_EQ(status_of(NULL, "the-only-one2"), 401);
	T_EQ(status_of(NULL, NULL), 401);
	T_EQ(status_of("ann", NULL), 401);
	down();
}
