#include "coord/kubeconfig/kube_exec.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coord/kubeconfig/kubeconfig_files.h"
#include "coord/kubeconfig/kubeconfig_int.h"
#include "store/base/alloc.h"
#include "store/base/buf.h"
#include "store/base/json_out.h"

enum {
	TIMEOUT_MS = 60000,
	TYPING_MS = 600000, /* a password may have to be typed */
	INFO_MAX = 4 << 20,
	READ_SIZE = 16 << 10,
	HANDLES = 3,
};

/* The run is over when the process has ended and its output is closed; done comes when
 * libuv owes no handle. */
struct kube_exec {
	const struct kubeconfig_target *target;
	kube_exec_fn *done;
	void *ctx;
	uv_process_t process;
	uv_pipe_t output;
	uv_timer_t timer;
	unsigned open; /* handles */
	bool exited, closed;
	int64_t status;
	int signum;
	struct pl_buf text;
	struct pl_arena arena; /* of the environment, then of the answer */
	struct pl_err err;
};

/* -- what it is told ------------------------------------------------------------------- */

static void put_text(struct pl_json_out *out, const char *name, const char *text)
{
	if (text == NULL)
		return;
	pl_json_out_name(out, name);
	pl_json_out_str(out, text);
}

/* The CA is told as it is read. PL_NOMEM, PL_IO. */
static enum pl_code put_ca(struct pl_json_out *out, struct kube_exec *exec,
                           struct pl_err *err)
{
	const struct kubeconfig_target *target = exec->target;
	struct pl_span pem = target->ca_data;
	struct pl_buf file;
	enum pl_code code = PL_OK;
	char *text = NULL;

	pl_buf_init(&file, KUBECONFIG_PEM_MAX);
	if (pem.len == 0 && target->ca_file != NULL) {
		code = kubeconfig_read_file(target->ca_file, &file, err);
		pem = pl_buf_span(&file);
	}
	if (code == PL_OK && pem.len > 0) {
		text = kubeconfig_base64_print(&exec->arena, pem);
		if (text == NULL)
			code = pl_err_set(err, PL_NOMEM, "exec");
		else
			put_text(out, "certificate-authority-data", text);
	}
	pl_buf_done(&file);
	return code;
}

static enum pl_code put_cluster(struct pl_json_out *out, struct kube_exec *exec,
                                struct pl_err *err)
{
	const struct kubeconfig_target *target = exec->target;
	enum pl_code code;

	pl_json_out_name(out, "cluster");
	pl_json_out_object(out);
	put_text(out, "server", target->server);
	put_text(out, "tls-server-name", target->server_name);
	put_text(out, "proxy-url", target->proxy);
	if (target->unverified) {
		pl_json_out_name(out, "insecure-skip-tls-verify");
		pl_json_out_bool(out, true);
	}
	code = put_ca(out, exec, err);
	if (target->exec->config.len > 0) {
		pl_json_out_name(out, "config");
		pl_json_out_raw(out, target->exec->config);
	}
	pl_json_out_end(out);
	return code;
}

static bool takes_terminal(const struct kubeconfig_exec *exec)
{
	return exec->interactive != KUBECONFIG_INTERACTIVE_NEVER &&
	       isatty(STDIN_FILENO) == 1;
}

/* "KUBERNETES_EXEC_INFO={...}" */
static enum pl_code make_info(struct kube_exec *exec, char **out, struct pl_err *err)
{
	const struct kubeconfig_exec *how = exec->target->exec;
	enum pl_code code = PL_OK, printed;
	struct pl_json_out json;
	struct pl_buf text;

	pl_buf_init(&text, INFO_MAX);
	pl_json_out_init(&json, &text);
	pl_json_out_object(&json);
	put_text(&json, "kind", "ExecCredential");
	put_text(&json, "apiVersion", how->api_version);
	pl_json_out_name(&json, "spec");
	pl_json_out_object(&json);
	if (how->cluster_info)
		code = put_cluster(&json, exec, err);
	pl_json_out_name(&json, "interactive");
	pl_json_out_bool(&json, takes_terminal(how));
	pl_json_out_end(&json);
	pl_json_out_end(&json);
	printed = pl_json_out_done(&json);
	*out = printed != PL_OK ? NULL
	                        : pl_arena_printf(&exec->arena,
	                                          "KUBERNETES_EXEC_INFO=" PL_SPAN_FMT,
	                                          PL_SPAN_ARG(pl_buf_span(&text)));
	pl_buf_done(&text);
	if (code == PL_OK && *out == NULL)
		code = pl_err_set(err, PL_NOMEM, "exec");
	return code;
}

static bool same_name(const char *one, const char *other)
{
	size_t len = strcspn(one, "=");

	return strncmp(one, other, len) == 0 && other[len] == '=';
}

static bool is_overridden(const char *variable, char *const *by, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		PL_ASSERT(by[i] != NULL);
		if (same_name(by[i], variable))
			return true;
	}
	return false;
}

/* Ours, and over them those of the kubeconfig, and what is told. */
static enum pl_code make_env(struct kube_exec *exec, char ***out, struct pl_err *err)
{
	char *const *own = exec->target->exec->env;
	size_t inherited = 0, given = 0, count;
	char **env, *info;
	enum pl_code code = make_info(exec, &info, err);

	if (code != PL_OK)
		return code;
	while (environ[inherited] != NULL)
		inherited++;
	while (own[given] != NULL)
		given++;
	env = pl_arena_zalloc(&exec->arena, inherited + given + 2, sizeof *env);
	if (env == NULL)
		return pl_err_set(err, PL_NOMEM, "exec");
	for (count = 0; count < given; count++)
		env[count] = own[count];
	env[count++] = info;
	given = count;
	for (size_t i = 0; i < inherited; i++)
		if (!is_overridden(environ[i], env, given))
			env[count++] = environ[i];
	*out = env;
	return PL_OK;
}

/* -- the end --------------------------------------------------------------------------- */

/* The program's own name in front of what went wrong. */
static enum pl_code fail(struct kube_exec *exec, enum pl_code code, const char *why)
{
	return pl_err_set(&exec->err, code, "the credentials' program %.80s %s",
	                  exec->target->exec->argv[0], why);
}

static enum pl_code read_credential(struct kube_exec *exec, struct kube_credential *out)
{
	char why[64];

	if (exec->err.code != PL_OK)
		return exec->err.code;
	if (exec->signum != 0 || exec->status != 0) {
		(void)snprintf(why, sizeof why, "ended with %s %d",
		               exec->signum != 0 ? "signal" : "status",
		               exec->signum != 0 ? exec->signum : (int)exec->status);
		return fail(exec, PL_AUTH, why);
	}
	if (kube_credential_read(&exec->arena, pl_buf_span(&exec->text),
	                         exec->target->exec->api_version, out,
	                         &exec->err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(&exec->err, "the credentials' program %.80s",
	                   exec->target->exec->argv[0]);
}

static void exec_free(struct kube_exec *exec)
{
	if (exec->text.at != NULL)
		explicit_bzero(exec->text.at, exec->text.cap);
	pl_buf_done(&exec->text);
	pl_arena_done(&exec->arena);
	free(exec);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct kube_exec *exec = handle->data;
	struct kube_credential credential;

	if (--exec->open > 0)
		return;
	if (exec->done != NULL) {
		if (read_credential(exec, &credential) == PL_OK)
			exec->done(exec->ctx, &credential, NULL);
		else
			exec->done(exec->ctx, NULL, &exec->err);
	}
	exec_free(exec);
}

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, on_handle_closed);
}

static void close_all(struct kube_exec *exec)
{
	close_handle((uv_handle_t *)&exec->process);
	close_handle((uv_handle_t *)&exec->output);
	close_handle((uv_handle_t *)&exec->timer);
}

/* A child of the program may hold its output open; the time is bounded all the same. */
static void end_if_over(struct kube_exec *exec)
{
	if (exec->exited && exec->closed)
		close_all(exec);
}

static void on_exit_status(uv_process_t *process, int64_t status, int signum)
{
	struct kube_exec *exec = process->data;

	exec->exited = true;
	exec->status = status;
	exec->signum = signum;
	end_if_over(exec);
}

static void kill_program(struct kube_exec *exec)
{
	if (!exec->exited)
		(void)uv_process_kill(&exec->process, SIGKILL);
	exec->closed = true;
	close_handle((uv_handle_t *)&exec->output);
	end_if_over(exec);
}

static void on_timeout(uv_timer_t *timer)
{
	struct kube_exec *exec = timer->data;

	(void)fail(exec, PL_TIMEOUT, "takes too long");
	kill_program(exec);
}

void kube_exec_cancel(struct kube_exec *exec)
{
	if (exec->err.code == PL_OK)
		(void)fail(exec, PL_CANCELED, "was stopped");
	kill_program(exec);
}

/* -- the beginning --------------------------------------------------------------------- */

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	struct kube_exec *exec = handle->data;

	(void)suggested;
	*out = uv_buf_init(NULL, 0);
	if (pl_buf_reserve(&exec->text, READ_SIZE) == PL_OK)
		*out = uv_buf_init((char *)exec->text.at + exec->text.len, READ_SIZE);
}

static void on_text(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
	struct kube_exec *exec = stream->data;

	(void)buf;
	if (got >= 0) {
		exec->text.len += (size_t)got;
		return;
	}
	if (got == UV_ENOBUFS) {
		(void)fail(exec, PL_LIMIT, "prints too much");
		kill_program(exec);
		return;
	}
	exec->closed = true;
	end_if_over(exec);
}

static enum pl_code spawn_fails(struct kube_exec *exec, int rc, struct pl_err *err)
{
	const struct kubeconfig_exec *how = exec->target->exec;

	return pl_err_set(err, rc == UV_ENOENT ? PL_NOTFOUND : PL_IO,
	                  "the credentials' program %.80s: %s%s%.600s", how->argv[0],
	                  uv_strerror(rc), how->hint == NULL ? "" : "; ",
	                  how->hint == NULL ? "" : how->hint);
}

static int spawn(struct kube_exec *exec, uv_loop_t *loop, char **env)
{
	const struct kubeconfig_exec *how = exec->target->exec;
	uv_stdio_container_t stdio[3] = {
		{.flags = takes_terminal(how) ? UV_INHERIT_FD : UV_IGNORE,
	         .data.fd = STDIN_FILENO},
		{.flags = (uv_stdio_flags)(UV_CREATE_PIPE | UV_WRITABLE_PIPE),
	         .data.stream = (uv_stream_t *)&exec->output},
		{.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
	};
	const uv_process_options_t options = {.exit_cb = on_exit_status,
	                                      .file = how->argv[0],
	                                      .args = how->argv,
	                                      .env = env,
	                                      .stdio_count = 3,
	                                      .stdio = stdio};

	return uv_spawn(loop, &exec->process, &options);
}

static void open_handles(struct kube_exec *exec, uv_loop_t *loop)
{
	exec->open = HANDLES;
	(void)uv_pipe_init(loop, &exec->output, 0);
	(void)uv_timer_init(loop, &exec->timer);
	exec->output.data = exec;
	exec->timer.data = exec;
	exec->process.data = exec;
}

enum pl_code kube_exec_start(uv_loop_t *loop, const struct kubeconfig_target *target,
                             kube_exec_fn *done, void *ctx, struct kube_exec **out,
                             struct pl_err *err)
{
	const struct kubeconfig_exec *how = target->exec;
	struct kube_exec *exec;
	char **env = NULL;
	int rc;

	if (how->interactive == KUBECONFIG_INTERACTIVE_ALWAYS && !takes_terminal(how))
		return pl_err_set(err, PL_UNSUPPORTED,
		                  "the credentials' program %.80s wants a terminal "
		                  "(interactiveMode: Always)",
		                  how->argv[0]);
	exec = pl_calloc(1, sizeof *exec);
	if (exec == NULL)
		return pl_err_set(err, PL_NOMEM, "exec");
	exec->target = target;
	pl_arena_init(&exec->arena, 0, 0);
	pl_buf_init(&exec->text, KUBE_EXEC_OUTPUT_MAX);
	if (make_env(exec, &env, err) != PL_OK) {
		exec_free(exec);
		return err->code;
	}
	open_handles(exec, loop);
	rc = spawn(exec, loop, env);
	if (rc != 0) {
		(void)spawn_fails(exec, rc, err);
		close_all(exec); /* frees it, and done is not set */
		return err->code;
	}
	exec->done = done;
	exec->ctx = ctx;
	(void)uv_timer_start(&exec->timer, on_timeout,
	                     takes_terminal(how) ? TYPING_MS : TIMEOUT_MS, 0);
	rc = uv_read_start((uv_stream_t *)&exec->output, on_room, on_text);
	PL_ASSERT(rc == 0);
	*out = exec;
	return PL_OK;
}
