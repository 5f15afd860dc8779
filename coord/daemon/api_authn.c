#include "coord/daemon/api_authn.h"

#include "store/base/log.h"

bool api_authn_is_open(const struct daemon_api_opts *opts)
{
	return opts->loopback && opts->client_ca == NULL && opts->token_file == NULL &&
	       opts->jwt_jwks == NULL;
}

enum pl_code api_authn_open(struct api_authn *authn, const struct daemon_api_opts *opts,
                            struct kv *kv, struct pl_err *err)
{
	struct authn_opts from = {
		.token_file = opts->token_file,
		.jwt = {.jwks_file = opts->jwt_jwks,
	                .issuer = opts->jwt_issuer,
	                .audience = opts->jwt_audience,
	                .user_claim = opts->jwt_user_claim,
	                .groups_claim = opts->jwt_groups_claim,
	                .user_prefix = opts->jwt_user_prefix,
	                .groups_prefix = opts->jwt_groups_prefix},
		.local = api_authn_is_open(opts),
	};
	enum pl_code code;

	*authn = (struct api_authn){0};
	code = issued_tokens_open(kv, &authn->issued, err);
	if (code != PL_OK)
		return code;
	from.issued = authn->issued;
	code = authn_new(&from, &authn->authn, err);
	if (code == PL_OK && from.local)
		PL_LOG(PL_LOG_INFO, "api.open", pl_log_str("host", opts->host),
		       pl_log_str("clients_are", IDENTITY_LOCAL_USER));
	return code;
}

static void on_issued_closed(void *ctx)
{
	struct api_authn *authn = ctx;

	authn->issued = NULL;
	authn->closed(authn->ctx);
}

void api_authn_close(struct api_authn *authn, void (*closed)(void *ctx), void *ctx)
{
	authn_free(authn->authn);
	authn->authn = NULL;
	authn->closed = closed;
	authn->ctx = ctx;
	if (authn->issued != NULL)
		issued_tokens_close(authn->issued, on_issued_closed, authn);
	else
		closed(ctx);
}

static enum pl_code identify_request(void *ctx, const struct http_request *http,
                                     struct pl_arena *arena, int64_t now_s,
                                     struct identity *out, struct pl_err *err)
{
	struct api_authn *authn = ctx;

	return authn_identify(authn->authn, http, arena, now_s, out, err);
}

static enum pl_code identify_token(void *ctx, struct pl_span token,
                                   struct pl_arena *arena, int64_t now_s,
                                   struct identity *out, struct pl_err *err)
{
	struct api_authn *authn = ctx;

	return authn_identify_token(authn->authn, token, arena, now_s, out, err);
}

struct request_identifier api_authn_identifier(struct api_authn *authn)
{
	return (struct request_identifier){identify_request, identify_token, authn};
}
