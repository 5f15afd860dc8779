#include <errno.h>
#include <inttypes.h>

#include "coord/daemon/options_int.h"
#include "store/base/duration.h"
#include "store/base/num.h"
#include "store/etcd/endpoints.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"

/* The table of options, and the check of each value. */

enum {
	TTL_MIN_MS = 2000,
	TTL_MAX_MS = 3600 * 1000,
	DRAIN_MAX_MS = 3600 * 1000,
	WEIGHT_MAX = 1000 * 1000,
	LABEL_MAX = 63,
	SUFFIX_MAX = 4, /* "-255", the longest suffix of a shard's number */
	API_MAX = 256,
	AUDIT_MIB_MAX = 1 << 20,
	AUDIT_KEEP_MAX = 1000,
};

static enum pl_code parse_number(const char *text, uint64_t low, uint64_t high,
                                 uint32_t *out, struct pl_err *err)
{
	uint64_t value;
	enum pl_code code = pl_num_u64_in(pl_span_str(text), low, high, &value, err);

	if (code != PL_OK)
		return PL_INVALID;
	*out = (uint32_t)value;
	return PL_OK;
}

static enum pl_code parse_shards(struct daemon_opts *opts, const char *text,
                                 struct pl_err *err)
{
	return parse_number(text, 0, DAEMON_SHARDS_MAX, &opts->shards, err);
}

static enum pl_code parse_etcd(struct daemon_opts *opts, const char *text,
                               struct pl_err *err)
{
	struct endpoints list;

	if (endpoints_parse(&list, text, err) != PL_OK)
		return PL_INVALID;
	opts->store.endpoints = text;
	return PL_OK;
}

/* The name must still be valid with the number of a shard behind it. */
static enum pl_code parse_name(struct daemon_opts *opts, const char *text,
                               struct pl_err *err)
{
	const char *dot = strrchr(text, '.');
	size_t len = strlen(dot == NULL ? text : dot + 1);

	if (names_check(NAMES_SHARD, pl_span_str(text), err) != PL_OK)
		return PL_INVALID;
	if (len > LABEL_MAX - SUFFIX_MAX || strlen(text) >= DAEMON_NAME_SIZE - SUFFIX_MAX)
		return pl_err_set(
			err, PL_INVALID,
			"too long: at most %d bytes in all, %d behind the last dot",
			DAEMON_NAME_SIZE - SUFFIX_MAX - 1, LABEL_MAX - SUFFIX_MAX);
	opts->name = text;
	return PL_OK;
}

static enum pl_code parse_weight(struct daemon_opts *opts, const char *text,
                                 struct pl_err *err)
{
	return parse_number(text, 1, WEIGHT_MAX, &opts->weight, err);
}

/* A text that is shown as it is. */
static enum pl_code parse_plain(const char *text, const char **out, struct pl_err *err)
{
	if (strlen(text) > API_MAX)
		return pl_err_set(err, PL_INVALID, "longer than %d bytes", API_MAX);
	for (const char *at = text; *at != 0; at++)
		if (*at <= ' ' || *at > '~')
			return pl_err_set(err, PL_INVALID,
			                  "want printable characters without spaces");
	*out = text;
	return PL_OK;
}

static enum pl_code parse_zone(struct daemon_opts *opts, const char *text,
                               struct pl_err *err)
{
	return parse_plain(text, &opts->zone, err);
}

static enum pl_code parse_api(struct daemon_opts *opts, const char *text,
                              struct pl_err *err)
{
	return parse_plain(text, &opts->api, err);
}

static bool is_loopback(const char *host)
{
	return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static enum pl_code parse_listen(const char *text, struct daemon_listen *out,
                                 struct pl_err *err)
{
	const char *colon = strrchr(text, ':');
	struct pl_span host = pl_span_str(text);
	uint64_t port;

	if (text[0] == 0) {
		out->host[0] = 0;
		return PL_OK;
	}
	if (colon == NULL)
		return pl_err_set(err, PL_INVALID, "want HOST:PORT, as 127.0.0.1:6443");
	if (pl_num_u64_in(pl_span_str(colon + 1), 0, UINT16_MAX, &port, err) != PL_OK)
		return PL_INVALID;
	host.len = (size_t)(colon - text);
	if (host.len > 2 && host.at[0] == '[' && host.at[host.len - 1] == ']')
		host = pl_span(host.at + 1, host.len - 2);
	if (host.len == 0 || host.len >= sizeof out->host)
		return pl_err_set(err, PL_INVALID,
		                  "want an address in front of the port");
	memcpy(out->host, host.at, host.len);
	out->host[host.len] = 0;
	if (strcmp(out->host, "localhost") == 0)
		memcpy(out->host, "127.0.0.1", sizeof "127.0.0.1");
	out->port = (uint16_t)port;
	return PL_OK;
}

static enum pl_code parse_metrics_listen(struct daemon_opts *opts, const char *text,
                                         struct pl_err *err)
{
	char local[32];

	/* A port alone is one of the machine. */
	if (text[0] != ':' || strlen(text) > 6)
		return parse_listen(text, &opts->metrics, err);
	(void)snprintf(local, sizeof local, "127.0.0.1%s", text);
	return parse_listen(local, &opts->metrics, err);
}

static enum pl_code parse_api_listen(struct daemon_opts *opts, const char *text,
                                     struct pl_err *err)
{
	struct daemon_listen listen = {.host = ""};

	if (parse_listen(text, &listen, err) != PL_OK)
		return PL_INVALID;
	memcpy(opts->serve.host, listen.host, sizeof listen.host);
	opts->serve.port = listen.port;
	opts->serve.loopback = is_loopback(listen.host);
	return PL_OK;
}

#define TAKE_API(what, member)                                                           \
	static enum pl_code parse_api_##what(struct daemon_opts *opts, const char *text, \
	                                     struct pl_err *err)                         \
	{                                                                                \
		return parse_plain(text, &opts->serve.member, err);                      \
	}
TAKE_API(insecure, insecure)
TAKE_API(cert, cert)
TAKE_API(key, key)
TAKE_API(client_ca, client_ca)
TAKE_API(client_crl, client_crl)
TAKE_API(token, token_file)
TAKE_API(jwt_issuer, jwt_issuer)
TAKE_API(jwt_audience, jwt_audience)
TAKE_API(jwt_jwks, jwt_jwks)
TAKE_API(jwt_user_claim, jwt_user_claim)
TAKE_API(jwt_groups_claim, jwt_groups_claim)

/* "-" is no prefix, as of kube-apiserver. */
static enum pl_code parse_prefix_of(const char *text, const char **out,
                                    struct pl_err *err)
{
	if (strcmp(text, "-") == 0) {
		*out = "";
		return PL_OK;
	}
	return parse_plain(text, out, err);
}

static enum pl_code parse_api_jwt_user_prefix(struct daemon_opts *opts, const char *text,
                                              struct pl_err *err)
{
	return parse_prefix_of(text, &opts->serve.jwt_user_prefix, err);
}

static enum pl_code parse_api_jwt_groups_prefix(struct daemon_opts *opts,
                                                const char *text, struct pl_err *err)
{
	return parse_prefix_of(text, &opts->serve.jwt_groups_prefix, err);
}

static enum pl_code parse_audit_log(struct daemon_opts *opts, const char *text,
                                    struct pl_err *err)
{
	return parse_plain(text, &opts->serve.audit_log, err);
}

static enum pl_code parse_audit_log_size(struct daemon_opts *opts, const char *text,
                                         struct pl_err *err)
{
	return parse_number(text, 1, AUDIT_MIB_MAX, &opts->serve.audit_log_mib, err);
}

static enum pl_code parse_audit_log_keep(struct daemon_opts *opts, const char *text,
                                         struct pl_err *err)
{
	return parse_number(text, 1, AUDIT_KEEP_MAX, &opts->serve.audit_log_keep, err);
}

static enum pl_code parse_switch(const char *text, bool *out, struct pl_err *err)
{
	bool on = strcmp(text, "on") == 0;

	if (!on && strcmp(text, "off") != 0)
		return pl_err_set(err, PL_INVALID, "want on or off");
	*out = on;
	return PL_OK;
}

static enum pl_code parse_audit_reads(struct daemon_opts *opts, const char *text,
                                      struct pl_err *err)
{
	return parse_switch(text, &opts->serve.audit_reads, err);
}

static enum pl_code parse_ttl(struct daemon_opts *opts, const char *text,
                              struct pl_err *err)
{
	uint64_t ms;

	if (pl_duration_ms(pl_span_str(text), TTL_MIN_MS, TTL_MAX_MS, &ms, err) != PL_OK)
		return PL_INVALID;
	if (ms % 1000 != 0)
		return pl_err_set(err, PL_INVALID, "want whole seconds");
	opts->ttl_s = (int64_t)(ms / 1000);
	return PL_OK;
}

static enum pl_code parse_partitions(struct daemon_opts *opts, const char *text,
                                     struct pl_err *err)
{
	return parse_number(text, 1, KEYS_PARTITIONS_MAX, &opts->partitions, err);
}

static enum pl_code parse_prefix(struct daemon_opts *opts, const char *text,
                                 struct pl_err *err)
{
	size_t len = strlen(text);

	if (len > DAEMON_PREFIX_MAX)
		return pl_err_set(err, PL_INVALID, "longer than %d bytes",
		                  DAEMON_PREFIX_MAX);
	if (len != 0 && (text[0] != '/' || text[len - 1] == '/'))
		return pl_err_set(err, PL_INVALID,
		                  "want it to begin with / and not to end with one");
	return parse_plain(text, &opts->prefix, err);
}

static enum pl_code parse_drain(struct daemon_opts *opts, const char *text,
                                struct pl_err *err)
{
	return pl_duration_ms(pl_span_str(text), 1, DRAIN_MAX_MS, &opts->drain_timeout_ms,
	                      err) == PL_OK
	               ? PL_OK
	               : PL_INVALID;
}

static enum pl_code parse_scheduling(struct daemon_opts *opts, const char *text,
                                     struct pl_err *err)
{
	return parse_switch(text, &opts->scheduling, err);
}

static enum pl_code parse_log_format(struct daemon_opts *opts, const char *text,
                                     struct pl_err *err)
{
	bool json = strcmp(text, "json") == 0;

	if (!json && strcmp(text, "text") != 0)
		return pl_err_set(err, PL_INVALID, "want text or json");
	opts->log_format = json ? PL_LOG_JSON : PL_LOG_TEXT;
	return PL_OK;
}

static enum pl_code parse_log_level(struct daemon_opts *opts, const char *text,
                                    struct pl_err *err)
{
	return pl_log_level_parse(pl_span_str(text), &opts->log_level, err);
}

#define TAKE_STORE(what, number)                                                      \
	static enum pl_code parse_##what(struct daemon_opts *opts, const char *text,  \
	                                 struct pl_err *err)                          \
	{                                                                             \
		return store_opts_set(&opts->store, STORE_OPT_FIRST + (number), text, \
		                      err);                                           \
	}
TAKE_STORE(cacert, 1)
TAKE_STORE(cert, 2)
TAKE_STORE(key, 3)
TAKE_STORE(server_name, 4)
TAKE_STORE(user, 5)
TAKE_STORE(password_file, 6)

const struct option_def option_table[DAEMON_OPTION_COUNT] = {
	[DAEMON_SHARDS] = {"shards", NULL, "N", "1",
                           "how many shards, each a thread (0 to 256); 0: this process\n"
                           "only serves the API (--api-listen)",
                           parse_shards},
	[DAEMON_ETCD] = {"etcd", "PLACET_ENDPOINTS", "URL[,URL]", "http://127.0.0.1:2379",
                         "http:// or https://host:port of each member", parse_etcd},
	[DAEMON_NAME] = {"name", NULL, "NAME", NULL,
                         "shards are called NAME-0, NAME-1, ...; the same after each\n"
                         "start (default: the host's name)",
                         parse_name},
	[DAEMON_WEIGHT] = {"weight", NULL, "N", "1000",
                           "share of the partitions, in thousandths of the usual",
                           parse_weight},
	[DAEMON_ZONE] = {"zone", NULL, "ZONE", "", "shown in the members' records",
                         parse_zone},
	[DAEMON_API_ADDRESS] = {"api-address", NULL, "HOST:PORT", "",
                                "where others reach this process, shown also", parse_api},
	[DAEMON_API_LISTEN] = {"api-listen", NULL, "HOST:PORT", "",
                               "serve Kubernetes' API there, for the whole federation;\n"
                               "port 0: any free one; off loopback it needs TLS and one\n"
                               "of the kinds of credentials below",
                               parse_api_listen},
	[DAEMON_API_INSECURE] = {"api-insecure", NULL, "HOST:PORT", NULL,
                                 "the same again: without these it listens there, too",
                                 parse_api_insecure},
	[DAEMON_API_CERT] = {"api-cert", NULL, "FILE", NULL,
                             "the API's certificate, PEM (default: clear text)",
                             parse_api_cert},
	[DAEMON_API_KEY] = {"api-key", NULL, "FILE", NULL, "its key, PEM", parse_api_key},
	[DAEMON_API_CLIENT_CA] = {"api-client-ca", NULL, "FILE", NULL,
                                  "whose client certificates name users (CN) and their\n"
                                  "groups (O), PEM",
                                  parse_api_client_ca},
	[DAEMON_API_CLIENT_CRL] = {"api-client-crl", NULL, "FILE", NULL,
                                   "which of them are revoked: lists, PEM, one of each\n"
                                   "authority",
                                   parse_api_client_crl},
	[DAEMON_API_TOKEN_FILE] =
		{"api-token-file", NULL, "FILE", NULL,
                 "static tokens, a line each: token,user,uid,\"groups\";\n"
                 "or one token alone, which may everything",
                 parse_api_token},
	[DAEMON_API_JWT_ISSUER] = {"api-jwt-issuer", NULL, "URL", NULL,
                                   "accept signed tokens (JWT) of this issuer (iss)",
                                   parse_api_jwt_issuer},
	[DAEMON_API_JWT_AUDIENCE] = {"api-jwt-audience", NULL, "NAME[,NAME]", NULL,
                                     "for one of these (aud)", parse_api_jwt_audience},
	[DAEMON_API_JWT_JWKS] = {"api-jwt-jwks", NULL, "FILE", NULL,
                                 "signed by one of these public keys: a JWKS",
                                 parse_api_jwt_jwks},
	[DAEMON_API_JWT_USER_CLAIM] = {"api-jwt-user-claim", NULL, "CLAIM", "sub",
                                       "which claim is the user",
                                       parse_api_jwt_user_claim},
	[DAEMON_API_JWT_GROUPS_CLAIM] = {"api-jwt-groups-claim", NULL, "CLAIM", "groups",
                                         "which one the groups",
                                         parse_api_jwt_groups_claim},
	[DAEMON_API_JWT_USER_PREFIX] = {"api-jwt-user-prefix", NULL, "TEXT",
                                        "jwt:", "in front of the user; - is none",
                                        parse_api_jwt_user_prefix},
	[DAEMON_API_JWT_GROUPS_PREFIX] = {"api-jwt-groups-prefix", NULL, "TEXT",
                                          "jwt:", "in front of each group; - is none",
                                          parse_api_jwt_groups_prefix},
	[DAEMON_AUDIT_LOG] = {"audit-log", NULL, "FILE", NULL,
                              "a line of JSON there for each change and each refusal of\n"
                              "the API",
                              parse_audit_log},
	[DAEMON_AUDIT_LOG_SIZE] = {"audit-log-size", NULL, "MIB", "100",
                                   "of the file, in MiB; then it becomes FILE.1",
                                   parse_audit_log_size},
	[DAEMON_AUDIT_LOG_KEEP] = {"audit-log-keep", NULL, "N", "10",
                                   "older files that are kept", parse_audit_log_keep},
	[DAEMON_AUDIT_READS] = {"audit-reads", NULL, "on|off", "off",
                                "whether reads have lines, too", parse_audit_reads},
	[DAEMON_METRICS_LISTEN] =
		{"metrics-listen", NULL, "HOST:PORT", "",
                 "show /metrics, /livez and /readyz there, in clear text and\n"
                 "without credentials (the API has /metrics, too)",
                 parse_metrics_listen},
	[DAEMON_TTL] = {"ttl", NULL, "DURATION", "10s",
                        "of each shard's lease: when this process dies, others take\n"
                        "over so much later (2s to 1h, whole seconds)",
                        parse_ttl},
	[DAEMON_PARTITIONS] = {"partitions", NULL, "N", NULL,
                               "of a store that is new (default 64, at most 4096); for\n"
                               "one that is not: refuse to run when it has others",
                               parse_partitions},
	[DAEMON_PREFIX] = {"prefix", NULL, "PREFIX", "",
                           "in front of every key, as /team-a, in a shared etcd",
                           parse_prefix},
	[DAEMON_DRAIN_TIMEOUT] = {"drain-timeout", NULL, "DURATION", "30s",
                                  "a graceful stop may take so long", parse_drain},
	[DAEMON_SCHEDULING] = {"scheduling", NULL, "on|off", "on",
                               "whether pods are placed in the partitions, or these are\n"
                               "only owned",
                               parse_scheduling},
	[DAEMON_LOG_FORMAT] = {"log-format", NULL, "FORMAT", "text", "text or json",
                               parse_log_format},
	[DAEMON_LOG_LEVEL] = {"log-level", NULL, "LEVEL", "info",
                              "debug, info, warn, error or off", parse_log_level},
	[DAEMON_CACERT] = {"cacert", NULL, "FILE", NULL,
                           "whom to trust, PEM (default: the system)", parse_cacert},
	[DAEMON_CERT] = {"cert", NULL, "FILE", NULL, "our certificate, PEM", parse_cert},
	[DAEMON_KEY] = {"key", NULL, "FILE", NULL, "its key, PEM", parse_key},
	[DAEMON_SERVER_NAME] = {"server-name", NULL, "NAME", NULL,
                                "the name to look for in etcd's certificate",
                                parse_server_name},
	[DAEMON_USER] = {"user", NULL, "NAME", NULL, "of etcd", parse_user},
	[DAEMON_PASSWORD_FILE] = {"password-file", NULL, "FILE", NULL,
                                  "its first line is the password (or PLACET_PASSWORD)",
                                  parse_password_file},
};
