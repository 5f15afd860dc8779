/*
 * Authentication: exchanges user and password for a token, which every call carries.
 *
 *   WANTED --asked, answered--> HAVE --renewed by a timer--> HAVE
 *     ^  \--refused--> REFUSED --a call, a second later--> WANTED
 *     \------ the server does not accept the token ---------/
 *
 * etcd takes some 75 ms for an answer (bcrypt), so a token is renewed well before it can
 * expire, while calls go on with the old one.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/etcd/client.h"
#include "store/etcd/codec.h"
#include "store/etcd/frame.h"

enum {
	RENEW_MS = 120000, /* etcd's simple tokens expire after 300 s unused */
	ASK_AGAIN_MS = 1000,
	TOKEN_ARENA_MAX = 1 << 20,
};

static void auth_ask(struct client *client);

static void secret_free(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

static void ask_later(struct client *client, const struct pl_err *err)
{
	struct auth *auth = &client->auth;

	auth->err = *err;
	pl_timer_set(&auth->timer,
	             pl_clock_ms() + client_backoff_ms(client, auth->failures++));
}

static void on_refused(struct client *client, const struct pl_err *err)
{
	struct auth *auth = &client->auth;

	auth->err = *err;
	if (auth->state == AUTH_HAVE) {
		/* A failed renewal: the current token may be valid for some time. */
		pl_timer_set(&auth->timer, pl_clock_ms() + RENEW_MS / 10);
		return;
	}
	auth->state = AUTH_REFUSED;
	calls_fail_queued(client, err);
}

static enum pl_code token_store(struct client *client, struct pl_span answer,
                                struct pl_err *err)
{
	struct pl_arena arena;
	const char *token = NULL;
	char *copy = NULL;
	enum pl_code code;

	pl_arena_init(&arena, 0, TOKEN_ARENA_MAX);
	code = codec_auth_decode(answer, &arena, &token, err);
	if (code == PL_OK && (copy = pl_strdup(token)) == NULL)
		code = pl_err_set(err, PL_NOMEM, "token");
	pl_arena_done(&arena);
	if (code != PL_OK)
		return code;
	secret_free(client->auth.token);
	client->auth.token = copy;
	return PL_OK;
}

static void on_answer(struct client *client, const struct grpc_end *end)
{
	struct auth *auth = &client->auth;
	struct pl_span text = pl_span_str(end->text);
	struct pl_err err = {0};
	struct status status;

	if (end->status != GRPC_OK) {
		status = status_of(end->status, text);
		status_err(&status, false, text, &err);
		if (status.next == STATUS_NO_TOKEN) {
			auth->state = AUTH_OFF;
			client_pump(client);
		} else if (status.next == STATUS_GIVE_UP) {
			on_refused(client, &err);
		} else {
			ask_later(client, &err);
		}
		return;
	}
	if (token_store(client, end->message, &err) != PL_OK) {
		ask_later(client, &err);
		return;
	}
	client->stats.tokens++;
	auth->state = AUTH_HAVE;
	auth->err.code = PL_OK;
	auth->generation++;
	auth->failures = 0;
	pl_timer_set(&auth->timer, pl_clock_ms() + RENEW_MS);
	client_pump(client);
}

static void on_end(void *ctx, const struct channel_conn *conn, const struct grpc_end *end)
{
	struct client *client = ctx;

	(void)conn;
	if (end->body != NULL && end->body->at != NULL)
		explicit_bzero(end->body->at,
		               end->body->cap); /* the body holds the password */
	client->auth.asking = false;
	if (client->state != CLIENT_OPEN)
		return;
	if (end->code == PL_OK)
		on_answer(client, end);
	else
		ask_later(client, end->err);
}

static void auth_ask(struct client *client)
{
	struct auth *auth = &client->auth;
	struct channel_conn *conn = channel_up(&client->calls_channel);
	struct pl_err err = {0};
	struct frame frame;
	enum pl_code code;

	if (!auth->asking && conn == NULL && auth->state == AUTH_HAVE)
		pl_timer_set(&auth->timer, pl_clock_ms() + RENEW_MS / 10);
	if (auth->asking || conn == NULL)
		return; /* the channel calls client_pump() once it is up */
	frame_begin(&frame);
	if (frame.code == PL_OK)
		frame.code =
			codec_auth_encode(auth->user, auth->password, &frame.body, &err);
	code = frame_ask(&frame, client, conn, CODEC_PATH_AUTH, on_end, client);
	if (code == PL_OK) {
		auth->asking = true;
		auth->asked_ms = pl_clock_ms();
	} else {
		pl_err_set(&err, code, "ask for a token");
		ask_later(client, &err);
	}
}

static void on_timer(void *ctx)
{
	struct client *client = ctx;

	if (client->state == CLIENT_OPEN)
		auth_ask(client);
}

enum pl_code auth_init(struct client *client, const char *user, const char *password,
                       struct pl_err *err)
{
	struct auth *auth = &client->auth;
	enum pl_code code =
		pl_timer_init(&auth->timer, &client->timers.timers, on_timer, client);

	if (code != PL_OK)
		return pl_err_set(err, code, "open etcd client");
	auth->state = user == NULL ? AUTH_OFF : AUTH_WANTED;
	if (user == NULL)
		return PL_OK;
	auth->user = pl_strdup(user);
	auth->password = pl_strdup(password == NULL ? "" : password);
	if (auth->user == NULL || auth->password == NULL)
		return pl_err_set(err, PL_NOMEM, "open etcd client");
	return PL_OK;
}

void auth_done(struct client *client)
{
	pl_timer_done(&client->auth.timer);
	free(client->auth.user);
	secret_free(client->auth.password);
	secret_free(client->auth.token);
}

bool auth_ready(struct client *client)
{
	struct auth *auth = &client->auth;

	switch (auth->state) {
	case AUTH_OFF:
	case AUTH_HAVE:
		return true;
	case AUTH_REFUSED:
		if (pl_clock_ms() - auth->asked_ms < ASK_AGAIN_MS)
			return false;
		auth->state = AUTH_WANTED;
		auth_ask(client);
		return false;
	case AUTH_WANTED:
		if (!pl_timer_is_set(&auth->timer))
			auth_ask(client);
		return false;
	}
	PL_UNREACHABLE("auth state");
}

void auth_stale(struct client *client, uint64_t generation)
{
	struct auth *auth = &client->auth;

	if (auth->user == NULL || auth->generation != generation)
		return; /* no user, or a newer token is there already */
	if (auth->state == AUTH_WANTED || auth->state == AUTH_REFUSED)
		return;
	secret_free(auth->token);
	auth->token = NULL;
	auth->state = AUTH_WANTED;
	pl_timer_stop(&auth->timer);
	auth_ask(client);
}
