/* Requests to a server that answers as an API does, and what is made of its answers. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "coord/kubeconfig/kube_client.h"
#include "store/base/buf.h"
#include "store/net/certs.h"
#include "tests/harness/t.h"
#include "tests/support/store/net/fake_http.h"

enum { TEXT_SIZE = 4096 };

static struct kube_rig {
	uv_loop_t loop;
	struct fake_http *fake;
	struct kube_client *client;
	struct kubeconfig_target target;
	char head[TEXT_SIZE], sent[TEXT_SIZE];
	const char *answer;
	/* The last call. */
	char body[TEXT_SIZE];
	struct pl_err err;
	unsigned done, pieces;
	bool closed;
} rig;

static void on_request(void *ctx, struct fake_conn *conn, const char *head,
                       struct pl_span body)
{
	(void)ctx;
	(void)snprintf(rig.head, sizeof rig.head, "%s", head);
	(void)snprintf(rig.sent, sizeof rig.sent, PL_SPAN_FMT, PL_SPAN_ARG(body));
	fake_conn_text(conn, rig.answer);
}

static void rig_open(const char *cert_dir)
{
	struct pl_err err = {0};

	T_EQ(uv_loop_init(&rig.loop), 0);
	rig.fake =
		fake_http_open(&rig.loop, cert_dir, cert_dir != NULL, on_request, NULL);
	rig.target.server = fake_http_url(rig.fake);
	T_OK(kube_client_open(&rig.loop, &rig.target, &rig.client, &err), &err);
}

static void on_closed(void *ctx)
{
	*(bool *)ctx = true;
}

static void rig_close(void)
{
	kube_client_close(rig.client, on_closed, &rig.closed);
	fake_http_close(rig.fake);
	T_EQ(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	T_TRUE(rig.closed);
	T_EQ(uv_loop_close(&rig.loop), 0);
}

static void on_done(void *ctx, struct pl_span body, const struct pl_err *err)
{
	(void)ctx;
	rig.done++;
	(void)snprintf(rig.body, sizeof rig.body, PL_SPAN_FMT, PL_SPAN_ARG(body));
	rig.err = err == NULL ? (struct pl_err){0} : *err;
}

static void on_piece(void *ctx, struct pl_span piece)
{
	(void)ctx;
	(void)piece;
	rig.pieces++;
}

static enum pl_code ask(struct kube_request request, const char *answer)
{
	struct pl_err err = {0};
	unsigned before = rig.done;

	rig.answer = answer;
	request.done = on_done;
	T_OK(kube_call_start(rig.client, &request, NULL, &err), &err);
	T_EQ(rig.done, before);
	while (rig.done == before)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	return rig.err.code;
}

static void sends(const char *words)
{
	if (strstr(rig.head, words) == NULL)
		t_fail(__FILE__, __LINE__, "no '%s' in:\n%s", words, rig.head);
}

static const char good[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

T_CASE(a_request_has_the_credentials_and_the_body)
{
	static char token_file[] = "/tmp/placet-token-XXXXXX";
	int fd = mkstemp(token_file);

	rig.target.token = "abc";
	rig_open(NULL);
	T_EQ(ask((struct kube_request){.path = "/api/v1/pods?limit=5"}, good), PL_OK);
	sends("GET /api/v1/pods?limit=5 HTTP/1.1");
	sends("Authorization: Bearer abc\r\n");
	sends("Accept: application/json\r\n");
	T_STR(rig.body, "{}");
	T_TRUE(fd >= 0);
	T_EQ(write(fd, "def\n", 4), 4);
	rig.target.token_file = token_file;
	T_EQ(ask((struct kube_request){.path = "/x",
	                               .method = "PATCH",
	                               .content_type = "application/merge-patch+json",
	                               .body = PL_SPAN_LIT("{\"a\":1}")},
	         good),
	     PL_OK);
	sends("PATCH /x HTTP/1.1");
	sends("Authorization: Bearer def\r\n");
	sends("Content-Type: application/merge-patch+json\r\n");
	T_STR(rig.sent, "{\"a\":1}");
	T_EQ(close(fd), 0);
	T_EQ(unlink(token_file), 0);
	rig_close();
}

T_CASE(a_token_file_that_is_gone_fails_the_call)
{
	struct kube_request request = {.path = "/x", .done = on_done};
	struct pl_err err = {0};

	rig.target.token_file = "/none/token";
	rig_open(NULL);
	T_EQ(kube_call_start(rig.client, &request, NULL, &err), PL_NOTFOUND);
	T_EQ(rig.done, 0);
	rig_close();
}

T_CASE(an_error_is_what_the_status_says)
{
	static const struct {
		const char *answer, *words;
		enum pl_code code;
	} cases[] = {
		{"HTTP/1.1 404 Not Found\r\nContent-Length: 63\r\n\r\n"
	         "{\"kind\":\"Status\",\"message\":\"pods \\\"a\\\" not found\",\"reason\":\"\"}  ",
	         "pods \"a\" not found", PL_NOTFOUND},
		{"HTTP/1.1 409 Conflict\r\nContent-Length: 62\r\n\r\n"
	         "{\"kind\":\"Status\",\"message\":\"there\",\"reason\":\"AlreadyExists\"}  ",
	         "there", PL_EXISTS},
		{"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}",
	         "the server answered 409", PL_CONFLICT},
		{"HTTP/1.1 401 No\r\nContent-Length: 5\r\n\r\n<html", "answered 401",
	         PL_AUTH},
		{"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "answered 403",
	         PL_DENIED},
		{"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n", "answered 410",
	         PL_COMPACTED},
		{"HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n", "answered 422",
	         PL_INVALID},
		{"HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n", "answered 429",
	         PL_THROTTLED},
		{"HTTP/1.1 415 No\r\nContent-Length: 0\r\n\r\n", "answered 415",
	         PL_UNSUPPORTED},
		{"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", "answered 503",
	         PL_UNAVAIL},
		{"HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n",
	         "answered 302", PL_PROTO},
	};

	rig_open(NULL);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct kube_request request = {.path = "/x"};

		for (unsigned streamed = 0; streamed < 2; streamed++) {
			request.data = streamed == 0 ? NULL : on_piece;
			T_CODE(ask(request, cases[i].answer), cases[i].code, &rig.err);
			if (strstr(rig.err.msg, cases[i].words) == NULL)
				t_fail(__FILE__, __LINE__, "no '%s' in: %s",
				       cases[i].words, rig.err.msg);
		}
	}
	T_EQ(rig.pieces, 0);
	T_EQ(ask((struct kube_request){.path = "/x", .data = on_piece}, good), PL_OK);
	T_EQ(rig.pieces, 1);
	rig_close();
}

static struct pl_span read_whole(const char *dir, const char *name, char *text)
{
	char path[128];
	FILE *file;
	size_t len;

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	file = fopen(path, "re");
	T_TRUE(file != NULL);
	len = fread(text, 1, TEXT_SIZE, file);
	T_EQ(fclose(file), 0);
	T_EQ(unlink(path), 0);
	return pl_span(text, len);
}

/* The files themselves are gone: only what the target has inline is left. */
T_CASE(certificates_may_be_inline)
{
	static char dir[] = "/tmp/placet-kube-XXXXXX", text[3][TEXT_SIZE];
	char path[128];

	T_TRUE(mkdtemp(dir) != NULL);
	T_EQ(certs_make(dir, "IP:127.0.0.1", NULL), PL_OK);
	rig.target.cert_data = read_whole(dir, "client.pem", text[1]);
	rig.target.key_data = read_whole(dir, "client-key.pem", text[2]);
	(void)snprintf(path, sizeof path, "%s/ca.pem", dir);
	rig.target.ca_file = path;
	rig_open(dir);
	rig.target.ca_file = NULL;
	T_EQ(ask((struct kube_request){.path = "/x"}, good), PL_OK);
	kube_client_close(rig.client, on_closed, &rig.closed);
	while (!rig.closed)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	rig.target.ca_data = read_whole(dir, "ca.pem", text[0]);
	T_OK(kube_client_open(&rig.loop, &rig.target, &rig.client, &rig.err), &rig.err);
	T_EQ(ask((struct kube_request){.path = "/x"}, good), PL_OK);
	rig_close();
	(void)read_whole(dir, "server.pem", text[0]);
	(void)read_whole(dir, "server-key.pem", text[0]);
	T_EQ(rmdir(dir), 0);
}

T_CASE(paths_are_escaped)
{
	struct pl_buf path;

	pl_buf_init(&path, 200);
	T_EQ(kube_path_escape(&path, PL_SPAN_LIT("east:n-1/a b?c=%\xc3\xa9")), PL_OK);
	T_SPAN(pl_buf_span(&path), PL_SPAN_LIT("east:n-1%2Fa%20b%3Fc%3D%25%C3%A9"));
	pl_buf_done(&path);
}
