/* Programs that give credentials, here shell scripts, and what a client makes of them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coord/kubeconfig/kube_client.h"
#include "coord/kubeconfig/kube_exec.h"
#include "store/net/certs.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"
#include "tests/support/store/net/fake_http.h"

enum { TEXT_SIZE = 1 << 14 };

#define V1 "client.authentication.k8s.io/v1"
#define CREDENTIAL(status) \
	"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{" status "}}"

static struct exec_rig {
	uv_loop_t loop;
	struct fake_http *fake;
	struct kube_client *client;
	struct kubeconfig_target target;
	struct kubeconfig_exec exec;
	char *argv[8], *env[4];
	char dir[64], script[128];
	char head[TEXT_SIZE];
	const char *answer;
	struct pl_err err;
	unsigned done;
	bool closed;
} rig;

static const char good[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
static const char refused[] = "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\n{}";

static void on_request(void *ctx, struct fake_conn *conn, const char *head,
                       struct pl_span body)
{
	(void)ctx;
	(void)body;
	(void)snprintf(rig.head, sizeof rig.head, "%s", head);
	fake_conn_text(conn, rig.answer);
}

static void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", rig.dir, name);
	file = fopen(path, "we");
	T_TRUE(file != NULL);
	T_TRUE(fputs(text, file) >= 0);
	T_EQ(fclose(file), 0);
	T_EQ(chmod(path, 0700), 0);
}

static size_t read_file(const char *name, char text[TEXT_SIZE])
{
	char path[256];
	FILE *file;
	size_t len;

	(void)snprintf(path, sizeof path, "%s/%s", rig.dir, name);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	len = fread(text, 1, TEXT_SIZE - 1, file);
	text[len] = 0;
	T_EQ(fclose(file), 0);
	return len;
}

/* The program is told its directory; each run adds an x to the file runs. */
static void program(const char *script)
{
	char text[TEXT_SIZE];

	if (rig.dir[0] == 0) {
		(void)snprintf(rig.dir, sizeof rig.dir, "/tmp/placet-exec-XXXXXX");
		T_TRUE(mkdtemp(rig.dir) != NULL);
	}
	(void)snprintf(text, sizeof text,
	               "#!/bin/sh\ncd \"$1\" || exit 9\nprintf x >>runs\n%s\n", script);
	write_file("login", text);
	(void)snprintf(rig.script, sizeof rig.script, "%s/login", rig.dir);
	rig.argv[0] = rig.script;
	rig.argv[1] = rig.dir;
	rig.exec.argv = rig.argv;
	rig.exec.env = rig.env;
	rig.exec.api_version = V1;
	rig.exec.interactive = KUBECONFIG_INTERACTIVE_NEVER;
	rig.target.exec = &rig.exec;
}

static size_t runs(void)
{
	char text[TEXT_SIZE];

	return read_file("runs", text);
}

static void open_client(const char *certs)
{
	struct pl_err err = {0};

	T_EQ(uv_loop_init(&rig.loop), 0);
	rig.fake = fake_http_open(&rig.loop, certs, certs != NULL, on_request, NULL);
	if (rig.target.server == NULL)
		rig.target.server = fake_http_url(rig.fake);
	T_OK(kube_client_open(&rig.loop, &rig.target, &rig.client, &err), &err);
}

static void on_closed(void *ctx)
{
	*(bool *)ctx = true;
}

static void close_client(void)
{
	kube_client_close(rig.client, on_closed, &rig.closed);
	T_TRUE(!rig.closed);
	fake_http_close(rig.fake);
	T_EQ(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	T_TRUE(rig.closed);
	T_EQ(uv_loop_close(&rig.loop), 0);
}

static void on_done(void *ctx, struct pl_span body, const struct pl_err *err)
{
	(void)ctx;
	(void)body;
	rig.done++;
	rig.err = err == NULL ? (struct pl_err){0} : *err;
}

static enum pl_code ask(const char *answer)
{
	const struct kube_request request = {.path = "/x", .done = on_done};
	unsigned before = rig.done;

	rig.answer = answer;
	rig.err = (struct pl_err){0};
	if (kube_call_start(rig.client, &request, NULL, &rig.err) != PL_OK)
		return rig.err.code;
	T_EQ(rig.done, before);
	while (rig.done == before)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	return rig.err.code;
}

static void has(const char *text, const char *words)
{
	if (strstr(text, words) == NULL)
		t_fail(__FILE__, __LINE__, "no '%s' in:\n%s", words, text);
}

T_CASE(a_token_is_asked_for_once)
{
	static char variable[] = "TOKEN=abc";

	rig.env[0] = variable;
	program("echo '" CREDENTIAL("\"token\":\"'$TOKEN'\"") "'");
	open_client(NULL);
	T_EQ(ask(good), PL_OK);
	has(rig.head, "Authorization: Bearer abc\r\n");
	T_EQ(ask(good), PL_OK);
	has(rig.head, "Authorization: Bearer abc\r\n");
	T_EQ(runs(), 1);
	/* The server does not take it any more. */
	T_EQ(ask(refused), PL_AUTH);
	T_EQ(runs(), 1);
	T_EQ(ask(good), PL_OK);
	T_EQ(runs(), 2);
	close_client();
}

T_CASE(calls_of_one_moment_share_a_run)
{
	const struct kube_request request = {.path = "/x", .done = on_done};

	program("echo '" CREDENTIAL("\"token\":\"abc\"") "'");
	open_client(NULL);
	rig.answer = good;
	for (unsigned i = 0; i < 3; i++)
		T_OK(kube_call_start(rig.client, &request, NULL, &rig.err), &rig.err);
	while (rig.done < 3)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	T_EQ(runs(), 1);
	close_client();
}

T_CASE(a_token_that_expires_is_renewed)
{
	program("echo '" CREDENTIAL("\"token\":\"a\",\"expirationTimestamp\":"
	                            "\"2020-01-01T00:00:00.5+01:00\"") "'");
	open_client(NULL);
	T_EQ(ask(good), PL_OK);
	T_EQ(ask(good), PL_OK);
	T_EQ(runs(), 2);
	program("echo '" CREDENTIAL("\"token\":\"b\",\"expirationTimestamp\":"
	                            "\"2999-01-01T00:00:00Z\"") "'");
	T_EQ(ask(good), PL_OK);
	T_EQ(ask(good), PL_OK);
	has(rig.head, "Authorization: Bearer b\r\n");
	T_EQ(runs(), 3);
	close_client();
}

T_CASE(the_program_is_told_the_cluster)
{
	char text[TEXT_SIZE];

	rig.exec.cluster_info = true;
	rig.exec.config = PL_SPAN_LIT("{\"audience\":\"a b\"}");
	rig.target.ca_data = PL_SPAN_LIT("pem");
	rig.target.server_name = "api.east";
	program("printf '%s' \"$KUBERNETES_EXEC_INFO\" >info\n"
	        "echo '" CREDENTIAL("\"token\":\"abc\"") "'");
	T_EQ(setenv("KUBERNETES_EXEC_INFO", "another", 1), 0);
	open_client(NULL);
	T_EQ(ask(good), PL_OK);
	T_TRUE(read_file("info", text) > 0);
	has(text, "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"spec\":"
	          "{\"cluster\":{\"server\":\"http://127.0.0.1:");
	has(text, "\"tls-server-name\":\"api.east\",\"certificate-authority-data\":"
	          "\"cGVt\",\"config\":{\"audience\":\"a b\"}},\"interactive\":false}}");
	close_client();
}

static void add_text(char text[TEXT_SIZE], const char *more)
{
	size_t len = strlen(text);

	(void)snprintf(text + len, TEXT_SIZE - len, "%s", more);
}

/* Adds a file as the text of a JSON string. */
static void add_pem(char *out, const char *dir, const char *name)
{
	char path[256];
	size_t len = strlen(out);
	FILE *file;
	int c;

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	file = fopen(path, "re");
	T_TRUE(file != NULL);
	while ((c = fgetc(file)) != EOF && len + 3 < TEXT_SIZE) {
		if (c == '\n')
			out[len++] = '\\';
		if (c == '\n')
			out[len++] = 'n';
		else
			out[len++] = (char)c;
	}
	out[len] = 0;
	T_EQ(fclose(file), 0);
}

T_CASE(a_program_may_give_a_certificate)
{
	static char certs[] = "/tmp/placet-exec-certs-XXXXXX", text[TEXT_SIZE], path[128];

	T_TRUE(mkdtemp(certs) != NULL);
	T_EQ(certs_make(certs, "IP:127.0.0.1", NULL), PL_OK);
	program("cat out");
	(void)snprintf(text, sizeof text,
	               "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
	               "\",\"status\":{\"clientCertificateData\":\"");
	add_pem(text, certs, "client.pem");
	add_text(text, "\",\"clientKeyData\":\"");
	add_pem(text, certs, "client-key.pem");
	add_text(text, "\"}}");
	write_file("out", text);
	(void)snprintf(path, sizeof path, "%s/ca.pem", certs);
	rig.target.ca_file = path;
	open_client(certs);
	T_EQ(ask(good), PL_OK);
	T_EQ(ask(refused), PL_AUTH);
	/* The same certificate needs no other connection. */
	T_EQ(ask(good), PL_OK);
	T_EQ(runs(), 2);
	T_EQ(fake_http_connections(rig.fake), 1);
	write_file("out", CREDENTIAL("\"token\":\"abc\""));
	T_EQ(ask(refused), PL_AUTH);
	T_TRUE(ask(good) != PL_OK); /* without a certificate there is no connection */
	close_client();
}

T_CASE(a_program_that_fails_fails_the_call)
{
	static const struct {
		const char *script, *words;
		enum pl_code code;
	} cases[] = {
		{"exit 3", "ended with status 3", PL_AUTH},
		{"kill -9 $$", "ended with signal 9", PL_AUTH},
		{"echo no", "is no JSON object", PL_INVALID},
		{"echo '{\"kind\":\"Pod\",\"apiVersion\":\"" V1 "\"}'",
	         "kind: want ExecCredential, got 'Pod'", PL_INVALID},
		{"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "beta1\"}'",
	         "apiVersion: want client.authentication.k8s.io/v1, got", PL_INVALID},
		{"echo '" CREDENTIAL("") "'", "want a token or a client certificate",
	         PL_INVALID},
		{"echo '" CREDENTIAL("\"token\":\"a b\"") "'", "is not a token",
	         PL_INVALID},
		{"echo '" CREDENTIAL("\"clientKeyData\":\"a\"") "'", "go together",
	         PL_INVALID},
		{"echo '" CREDENTIAL(
			 "\"token\":\"a\",\"expirationTimestamp\":\"soon\"") "'",
	         "status.expirationTimestamp: want a time", PL_INVALID},
		{"head -c 3000000 /dev/zero", "prints too much", PL_LIMIT},
	};

	program("exit 0");
	open_client(NULL);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		program(cases[i].script);
		T_CODE(ask(good), cases[i].code, &rig.err);
		has(rig.err.msg, "the credentials' program ");
		has(rig.err.msg, cases[i].words);
	}
	T_EQ(runs(), sizeof cases / sizeof cases[0]);
	rig.argv[0] = (char[]){"placet-no-such-program"};
	rig.exec.hint = "get it from us";
	T_EQ(ask(good), PL_NOTFOUND);
	has(rig.err.msg, "get it from us");
	rig.exec.interactive = KUBECONFIG_INTERACTIVE_ALWAYS;
	T_EQ(ask(good), PL_UNSUPPORTED);
	has(rig.err.msg, "wants a terminal");
	close_client();
}

T_CASE(a_call_may_be_canceled_while_the_program_runs)
{
	const struct kube_request request = {.path = "/x", .done = on_done};
	struct kube_call *call;

	program("exec tail -f /dev/null");
	open_client(NULL);
	T_OK(kube_call_start(rig.client, &request, &call, &rig.err), &rig.err);
	T_OK(kube_call_start(rig.client, &request, NULL, &rig.err), &rig.err);
	kube_call_cancel(call);
	T_EQ(rig.done, 0);
	while (rig.done ==
	       0) /* a timer ends it, which the next event need not wait for */
		(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
	T_EQ(rig.err.code, PL_CANCELED);
	/* Closing kills the program, and ends the other call. */
	close_client();
	T_EQ(rig.done, 2);
	T_EQ(rig.err.code, PL_CANCELED);
}

T_CASE(a_proxy_is_used_when_one_is_given)
{
	open_client(NULL);
	kube_client_close(rig.client, on_closed, &rig.closed);
	while (!rig.closed)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	rig.closed = false;
	rig.target = (struct kubeconfig_target){.server = "http://api.invalid:6443",
	                                        .proxy = fake_http_url(rig.fake)};
	T_OK(kube_client_open(&rig.loop, &rig.target, &rig.client, &rig.err), &rig.err);
	T_EQ(ask(good), PL_OK);
	has(rig.head, "GET http://api.invalid:6443/x HTTP/1.1\r\n");
	close_client();
}

T_CASE(an_unverified_server_is_taken_only_when_told_so)
{
	static char certs[] = "/tmp/placet-exec-certs-XXXXXX", path[2][128];

	T_TRUE(mkdtemp(certs) != NULL);
	T_EQ(certs_make(certs, "IP:127.0.0.1", NULL), PL_OK);
	(void)snprintf(path[0], sizeof path[0], "%s/client.pem", certs);
	(void)snprintf(path[1], sizeof path[1], "%s/client-key.pem", certs);
	rig.target.cert_file = path[0];
	rig.target.key_file = path[1];
	open_client(certs);
	T_EQ(ask(good), PL_TLS);
	kube_client_close(rig.client, on_closed, &rig.closed);
	while (!rig.closed)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	rig.closed = false;
	rig.target.unverified = true;
	T_OK(kube_client_open(&rig.loop, &rig.target, &rig.client, &rig.err), &rig.err);
	T_OK(ask(good), &rig.err);
	close_client();
}

static enum pl_code read_credential(void)
{
	struct kube_credential credential;
	struct pl_arena arena;
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = kube_credential_read(&arena, PL_SPAN_LIT(CREDENTIAL("\"token\":\"a\"")),
	                            V1, &credential, &err);
	pl_arena_done(&arena);
	return code == PL_INVALID ? PL_NOMEM : code;
}

T_CASE(memory_may_run_out)
{
	t_torture(read_credential, false);
}
