/* with_serve -- COMMAND...: runs it with CONFORMANCE_ETCD set to a memkv behind a port,
 * and ends as it ends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/memkv/memkv.h"
#include "store/serve/serve.h"
#include "tests/conformance/subject.h"

static struct {
	uv_loop_t loop;
	struct memkv *mem;
	struct memkv_loop *driver;
	struct serve *serve;
	uv_process_t child;
	int status;
} it;

static void must_hold(bool good, const char *what)
{
	if (good)
		return;
	(void)fprintf(stderr, "with_serve: %s\n", what);
	exit(1);
}

static enum pl_code open_session(void *ctx, struct kv **out, struct pl_err *err)
{
	return memkv_session(ctx, out, err);
}

static void on_nothing(void *ctx)
{
	(void)ctx;
}

static void on_served(void *ctx)
{
	(void)ctx;
	memkv_detach(it.driver, on_nothing, NULL);
}

static void on_exit_of(uv_process_t *child, int64_t status, int signal_number)
{
	it.status = signal_number != 0 ? 128 + signal_number : (int)status;
	uv_close((uv_handle_t *)child, NULL);
	serve_close(it.serve, on_served, NULL);
}

int main(int argc, char **argv)
{
	const struct memkv_opts opts = {.txn_ops_max = SUBJECT_TXN_OPS, .seed = 1};
	struct serve_opts serving = {.session = open_session};
	uv_stdio_container_t io[3];
	uv_process_options_t child = {
		.exit_cb = on_exit_of, .stdio = io, .stdio_count = 3};
	struct pl_err err = {0};
	char endpoint[64];

	must_hold(argc > 2 && strcmp(argv[1], "--") == 0,
	          "usage: with_serve -- COMMAND...");
	(void)signal(SIGPIPE, SIG_IGN);
	must_hold(uv_loop_init(&it.loop) == 0, "a loop");
	must_hold(memkv_new(&opts, &it.mem, &err) == PL_OK, "a memkv");
	must_hold(memkv_attach(it.mem, &it.loop, &it.driver, &err) == PL_OK, "its loop");
	serving.ctx = it.mem;
	must_hold(serve_open(&it.loop, &serving, &it.serve, &err) == PL_OK, err.msg);
	(void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u",
	               (unsigned)serve_port(it.serve));
	(void)setenv("CONFORMANCE_ETCD", endpoint, 1);
	for (int i = 0; i < 3; i++)
		io[i] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data = {.fd = i}};
	child.file = argv[2];
	child.args = argv + 2;
	must_hold(uv_spawn(&it.loop, &it.child, &child) == 0, "cannot start the command");
	(void)uv_run(&it.loop, UV_RUN_DEFAULT);
	memkv_free(it.mem);
	must_hold(uv_loop_close(&it.loop) == 0, "something is left on the loop");
	return it.status;
}
