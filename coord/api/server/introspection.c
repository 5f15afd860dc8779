/* The process, seen from outside: health, /configz, /statusz and /debug. */
#include <stdio.h>
#include <stdlib.h>

#include "coord/api/server/api_server_int.h"
#include "coord/introspect/cpu_profile.h"
#include "store/base/alloc.h"
#include "store/base/log.h"
#include "store/base/num.h"

enum {
	STORE_SILENT_MS = 5000, /* the store has not answered for so long: not ready */
	PROFILE_SECONDS = 30,   /* of a request that does not say how long */
	TEXT_MAX = 1 << 20,
};

static void answer_text(struct http_exchange *exchange, int status, struct pl_span body)
{
	struct http_field fields[] = {
		{PL_SPAN_LIT("content-type"), PL_SPAN_LIT("text/plain; charset=utf-8")},
		{PL_SPAN_LIT("cache-control"), PL_SPAN_LIT("no-cache, private")},
		{PL_SPAN_LIT("x-content-type-options"), PL_SPAN_LIT("nosniff")}};

	http_respond(exchange, status, fields, 3, body);
}

static void answer_line(struct http_exchange *exchange, int status, const char *line)
{
	answer_text(exchange, status, pl_span_str(line));
}

/* -- health ------------------------------------------------------------------------- */

static bool answers(void *ctx, char why[HEALTH_WHY_SIZE])
{
	(void)ctx;
	(void)why;
	return true;
}

static bool store_answers(void *ctx, char why[HEALTH_WHY_SIZE])
{
	const struct api_server *server = ctx;
	uint64_t silent_ms = kv_now_ms(server->opts.kv) - server->store_ms;

	if (server->store_ms != 0 && silent_ms < STORE_SILENT_MS)
		return true;
	if (server->store_ms == 0)
		(void)snprintf(why, HEALTH_WHY_SIZE, "the store has not answered yet");
	else
		(void)snprintf(why, HEALTH_WHY_SIZE,
		               "the store has not answered for %llu s: %.100s",
		               (unsigned long long)silent_ms / 1000, server->store_why);
	return false;
}

static bool informers_synced(void *ctx, char why[HEALTH_WHY_SIZE])
{
	const struct api_server *server = ctx;

	if (server->state >= API_SERVER_SERVING)
		return true;
	(void)snprintf(why, HEALTH_WHY_SIZE,
	               "the informers have not listed the store yet");
	return false;
}

static bool goes_on(void *ctx, char why[HEALTH_WHY_SIZE])
{
	const struct api_server *server = ctx;

	if (server->state < API_SERVER_STOPPING)
		return true;
	(void)snprintf(why, HEALTH_WHY_SIZE, "the process stops");
	return false;
}

void api_server_checks(struct api_server *server,
                       struct health_check out[API_SERVER_CHECKS])
{
	out[0] = (struct health_check){
		.name = "ping", .paths = HEALTH_LIVEZ | HEALTH_READYZ, .good = answers};
	out[1] = (struct health_check){
		.name = "store", .paths = HEALTH_READYZ, .good = store_answers};
	out[2] = (struct health_check){
		.name = "informers", .paths = HEALTH_READYZ, .good = informers_synced};
	out[3] = (struct health_check){
		.name = "shutdown", .paths = HEALTH_READYZ, .good = goes_on};
	for (unsigned i = 0; i < API_SERVER_CHECKS; i++)
		out[i].ctx = server;
}

/* Reasons name addresses and shards, which are no business of a client without a
 * credential. */
void route_health(struct api_server *server, struct http_exchange *exchange,
                  const struct http_request *request)
{
	const struct health_question question = {request->path, request->query,
	                                         api_client_is_known(server, request)};
	struct health_check own[API_SERVER_CHECKS];
	struct health_checks lists[] = {{own, API_SERVER_CHECKS},
	                                server->opts.process.checks};
	struct pl_buf out;
	int status = 500;

	api_server_checks(server, own);
	pl_buf_init(&out, TEXT_MAX);
	if (health_answer(lists, 2, &question, &out, &status) == PL_OK)
		answer_text(exchange, status, pl_buf_span(&out));
	else
		http_exchange_cut(exchange);
	pl_buf_done(&out);
}

/* -- options and status ------------------------------------------------------------- */

static void answer_configz(struct api_server *server, struct http_exchange *exchange)
{
	const struct api_server_process *process = &server->opts.process;
	struct http_field type = {PL_SPAN_LIT("content-type"),
	                          PL_SPAN_LIT("application/json")};
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, TEXT_MAX);
	pl_json_out_init(&out, &buf);
	pl_json_out_object(&out);
	if (process->config != NULL) {
		pl_json_out_name(&out, process->name);
		process->config(process->ctx, &out);
	}
	pl_json_out_end(&out);
	if (pl_json_out_done(&out) == PL_OK)
		http_respond(exchange, 200, &type, 1, pl_buf_span(&buf));
	else
		http_exchange_cut(exchange);
	pl_buf_done(&buf);
}

static enum pl_code write_server_status(struct api_server *server, struct pl_buf *out)
{
	struct http_server_counts counts;

	http_server_counts(server->http, &counts);
	return pl_buf_printf(out,
	                     "api.address: %s\napi.connections: %u\napi.requests: %llu\n"
	                     "api.open_requests: %u\napi.held_bytes: %zu\n"
	                     "log.level: %s\n",
	                     server->address, counts.open_conns,
	                     (unsigned long long)counts.requests, counts.open_exchanges,
	                     counts.held_bytes, pl_log_level_name(pl_log_level_now()));
}

static void answer_statusz(struct api_server *server, struct http_exchange *exchange)
{
	const struct api_server_process *process = &server->opts.process;
	enum pl_code code;
	struct pl_buf out;

	pl_buf_init(&out, TEXT_MAX);
	code = pl_buf_printf(&out, "%s statusz\n\nFor people: its form may change.\n\n",
	                     process->name == NULL ? "placet" : process->name);
	if (code == PL_OK && process->status != NULL)
		code = process->status(process->ctx, &out);
	if (code == PL_OK)
		code = write_server_status(server, &out);
	if (code == PL_OK)
		answer_text(exchange, 200, pl_buf_span(&out));
	else
		http_exchange_cut(exchange);
	pl_buf_done(&out);
}

/* -- the level of the log ----------------------------------------------------------- */

static struct pl_span without_line_end(struct pl_span body)
{
	while (body.len > 0 &&
	       (body.at[body.len - 1] == '\n' || body.at[body.len - 1] == '\r'))
		body.len--;
	return body;
}

static void put_log_level(struct http_exchange *exchange,
                          const struct http_request *request)
{
	struct pl_span body = without_line_end(request->body);
	enum pl_log_level level;
	struct pl_err err = {0};
	char line[PL_ERR_MSG_SIZE + 2];

	if (pl_log_level_parse(body, &level, &err) != PL_OK) {
		(void)snprintf(line, sizeof line, "%s\n", err.msg);
		answer_line(exchange, 400, line);
		return;
	}
	PL_LOG(PL_LOG_INFO, "log.level",
	       pl_log_str("from", pl_log_level_name(pl_log_level_now())),
	       pl_log_str("to", pl_log_level_name(level)));
	pl_log_set_level(level);
	(void)snprintf(line, sizeof line, "the level of the log is %s\n",
	               pl_log_level_name(level));
	answer_line(exchange, 200, line);
}

static bool is_method(const struct http_request *request, const char *method)
{
	return pl_span_eq(request->method, pl_span_str(method));
}

static void answer_log_level(struct http_exchange *exchange,
                             const struct http_request *request)
{
	if (is_method(request, "GET"))
		answer_line(exchange, 200, pl_log_level_name(pl_log_level_now()));
	else if (is_method(request, "PUT"))
		put_log_level(exchange, request);
	else
		answer_line(exchange, 405, "want GET or PUT\n");
}

/* -- the access log ----------------------------------------------------------------- */

static void put_access_log(struct api_server *server, struct http_exchange *exchange,
                           const struct http_request *request)
{
	struct pl_span body = without_line_end(request->body);
	bool on = pl_span_eq(body, PL_SPAN_LIT("on"));

	if (!on && !pl_span_eq(body, PL_SPAN_LIT("off"))) {
		answer_line(exchange, 400, "want on or off\n");
		return;
	}
	server->access_log = on;
	PL_LOG(PL_LOG_INFO, "log.access", pl_log_bool("on", on));
	answer_line(exchange, 200,
	            on ? "requests are logged\n" : "requests are not logged\n");
}

static void answer_access_log(struct api_server *server, struct http_exchange *exchange,
                              const struct http_request *request)
{
	if (is_method(request, "GET"))
		answer_line(exchange, 200, server->access_log ? "on" : "off");
	else if (is_method(request, "PUT"))
		put_access_log(server, exchange, request);
	else
		answer_line(exchange, 405, "want GET or PUT\n");
}

/* -- profiles ----------------------------------------------------------------------- */

/* A profile that a client waits for. */
struct profiling {
	struct exchange_user user;
	struct http_exchange *exchange;
	struct cpu_profile *profile; /* NULL: it has been answered */
};

static void profile_gone(struct exchange_user *user)
{
	struct profiling *profiling = (struct profiling *)user; /* the first member */

	if (profiling->profile != NULL)
		cpu_profile_cancel(profiling->profile);
	free(profiling);
}

static void on_profile(void *ctx, const struct pl_buf *profile, const struct pl_err *err)
{
	struct profiling *profiling = ctx;
	struct http_field fields[] = {
		{PL_SPAN_LIT("content-type"), PL_SPAN_LIT("application/octet-stream")},
		{PL_SPAN_LIT("content-disposition"),
	         PL_SPAN_LIT("attachment; filename=\"profile\"")}};

	profiling->profile = NULL;
	if (profile != NULL)
		http_respond(profiling->exchange, 200, fields, 2, pl_buf_span(profile));
	else
		answer_line(profiling->exchange, 500, err->msg);
}

/* False: the query has another value than a number of seconds. */
static bool read_seconds(struct pl_span query, uint64_t *out)
{
	static const char name[] = "seconds=";
	size_t len = sizeof name - 1;
	struct pl_err err = {0};

	*out = PROFILE_SECONDS;
	if (query.len == 0)
		return true;
	return query.len > len && memcmp(query.at, name, len) == 0 &&
	       pl_num_u64_in(pl_span(query.at + len, query.len - len), 1,
	                     CPU_PROFILE_SECONDS_MAX, out, &err) == PL_OK;
}

static void answer_profile(struct api_server *server, struct http_exchange *exchange,
                           const struct http_request *request)
{
	struct profiling *profiling;
	struct pl_err err = {0};
	uint64_t seconds;
	enum pl_code code;

	if (!read_seconds(request->query, &seconds)) {
		answer_line(exchange, 400, "want seconds=1 to seconds=300\n");
		return;
	}
	profiling = pl_calloc(1, sizeof *profiling);
	if (profiling == NULL) {
		http_exchange_cut(exchange);
		return;
	}
	code = cpu_profile_start(server->loop, (unsigned)seconds, on_profile, profiling,
	                         &profiling->profile, &err);
	if (code != PL_OK) {
		free(profiling);
		answer_line(exchange, code == PL_EXISTS ? 409 : 500, err.msg);
		return;
	}
	profiling->exchange = exchange;
	profiling->user.gone = profile_gone;
	http_exchange_set_user(exchange, profiling);
	http_exchange_watch_client(exchange);
}

/* -- paths -------------------------------------------------------------------------- */

static bool path_is(const struct http_request *request, const char *path)
{
	return pl_span_eq(request->path, pl_span_str(path));
}

static void answer_index(struct http_exchange *exchange)
{
	answer_line(
		exchange, 200,
		"/configz                        the options in force\n"
		"/statusz                        what the process is and does\n"
		"/debug/access-log               GET, or PUT on or off: each request as a line "
		"of the log\n"
		"/debug/log-level                GET, or PUT debug, info, warn, error or off\n"
		"/debug/pprof/profile?seconds=30 a CPU profile of all threads, for pprof\n");
}

bool route_introspection(struct api_server *server, struct http_exchange *exchange,
                         const struct http_request *request)
{
	bool index = path_is(request, "/debug") || path_is(request, "/debug/") ||
	             path_is(request, "/debug/pprof/");
	bool profile = path_is(request, "/debug/pprof/profile");
	bool configz = path_is(request, "/configz");

	if (path_is(request, "/debug/log-level")) {
		answer_log_level(exchange, request);
		return true;
	}
	if (path_is(request, "/debug/access-log")) {
		answer_access_log(server, exchange, request);
		return true;
	}
	if (!index && !profile && !configz && !path_is(request, "/statusz"))
		return false;
	if (!is_method(request, "GET"))
		answer_line(exchange, 405, "want GET\n");
	else if (index)
		answer_index(exchange);
	else if (profile)
		answer_profile(server, exchange, request);
	else if (configz)
		answer_configz(server, exchange);
	else
		answer_statusz(server, exchange);
	return true;
}
