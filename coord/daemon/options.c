#include <getopt.h>
#include <stdlib.h>

#include "coord/daemon/options_int.h"

/*
 * The flags are parsed twice: first for --config, --help and --version, so that files
 * are read before the environment; then for the values, which win over both.
 */

enum {
	FLAG_CONFIG = DAEMON_OPTION_COUNT,
	FLAG_HELP,
	FLAG_VERSION,
	FLAG_PRINT,
	FLAG_METRICS,
	FLAG_END
};

static char char_upper(char c)
{
	if (c >= 'a' && c <= 'z')
		c = (char)(c - 'a' + 'A');
	return c;
}

static char char_lower(char c)
{
	if (c >= 'A' && c <= 'Z')
		c = (char)(c - 'A' + 'a');
	return c;
}

static const char *spell_name(const char *name, const char *before, bool up, char out[64])
{
	size_t len = (size_t)snprintf(out, 64, "%s%s", before, name);

	PL_ASSERT(len < 64);
	for (size_t i = 0; i < len; i++) {
		if (out[i] == '-')
			out[i] = '_';
		else if (up)
			out[i] = char_upper(out[i]);
	}
	return out;
}

const char *option_variable(enum daemon_option option, char out[64])
{
	const struct option_def *def = &option_table[option];

	if (def->variable != NULL)
		return def->variable;
	return spell_name(def->name, "PLACET_", true, out);
}

const char *option_field(enum daemon_option option, char out[64])
{
	return spell_name(option_table[option].name, "", false, out);
}

enum pl_code option_apply(struct daemon_opts *opts, enum daemon_option option,
                          struct pl_span text, const char *source, struct pl_err *err)
{
	struct pl_span copy, from;
	enum pl_code code;

	if (text.len > OPTION_TEXT_MAX)
		return pl_err_set(err, PL_INVALID, "longer than %d bytes",
		                  OPTION_TEXT_MAX);
	copy = pl_arena_dup(
		&opts->arena,
		pl_span(text.len == 0 ? "" : (const char *)text.at, text.len));
	from = pl_arena_dup(&opts->arena, pl_span_str(source));
	if (copy.at == NULL || from.at == NULL)
		return pl_err_set(err, PL_NOMEM, "options");
	code = option_table[option].parse(opts, (const char *)copy.at, err);
	if (code != PL_OK)
		return code;
	opts->text[option] = (const char *)copy.at;
	opts->source[option] = (const char *)from.at;
	return PL_OK;
}

static void long_options(struct option out[FLAG_END + 1])
{
	static const char *const others[] = {"config", "help", "version", "print-config",
	                                     "metrics-page"};

	for (int i = 0; i < FLAG_END; i++)
		out[i] = (struct option){
			.name = i < FLAG_CONFIG ? option_table[i].name
		                                : others[i - FLAG_CONFIG],
			.has_arg = i <= FLAG_CONFIG ? required_argument : no_argument,
			.val = i + 1000};
	out[FLAG_END] = (struct option){0};
}

static enum pl_code flag_fails(int found, char **argv, struct pl_err *err)
{
	return pl_err_set(err, PL_INVALID, "%s '%s' (--help shows what there is)",
	                  found == ':' ? "a value is missing after" : "no option",
	                  argv[optind - 1]);
}

static enum pl_code note_flag(struct daemon_opts *opts, int flag, struct pl_err *err)
{
	switch (flag) {
	case FLAG_CONFIG:
		return options_from_file(opts, optarg, err);
	case FLAG_HELP:
		opts->action = DAEMON_SHOW_HELP;
		return PL_OK;
	case FLAG_VERSION:
		opts->action = DAEMON_SHOW_VERSION;
		return PL_OK;
	case FLAG_PRINT:
		if (opts->action == DAEMON_RUN)
			opts->action = DAEMON_SHOW_CONFIG;
		return PL_OK;
	case FLAG_METRICS:
		opts->action = DAEMON_SHOW_METRICS;
		return PL_OK;
	default:
		return PL_OK;
	}
}

static enum pl_code apply_flag(struct daemon_opts *opts, int flag, struct pl_err *err)
{
	char source[64];

	if (flag >= FLAG_CONFIG)
		return PL_OK;
	(void)snprintf(source, sizeof source, "--%s", option_table[flag].name);
	if (option_apply(opts, (enum daemon_option)flag, pl_span_str(optarg), source,
	                 err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "%s %s", source, optarg);
}

static enum pl_code each_flag(struct daemon_opts *opts, int argc, char **argv,
                              enum pl_code (*fn)(struct daemon_opts *, int,
                                                 struct pl_err *),
                              struct pl_err *err)
{
	struct option options[FLAG_END + 1];
	int found;

	long_options(options);
	optind = 0; /* makes glibc start from the first argument */
	opterr = 0;
	while ((found = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
		if (found == '?' || found == ':')
			return flag_fails(found, argv, err);
		if (fn(opts, found == 'h' ? FLAG_HELP : found - 1000, err) != PL_OK)
			return err->code;
	}
	if (optind < argc)
		return pl_err_set(err, PL_INVALID, "'%s': it takes options only",
		                  argv[optind]);
	return PL_OK;
}

static enum pl_code apply_defaults(struct daemon_opts *opts, const char *hostname,
                                   struct pl_err *err)
{
	char name[DAEMON_NAME_SIZE];

	daemon_name_from(hostname, name);
	if (option_apply(opts, DAEMON_NAME, pl_span_str(name), "the host's name", err) !=
	    PL_OK)
		return pl_err_wrap(err, "name of this host: %s (set --name)", name);
	for (unsigned i = 0; i < DAEMON_OPTION_COUNT; i++) {
		const char *text = option_table[i].normal;

		if (text != NULL &&
		    option_apply(opts, i, pl_span_str(text), "default", err) != PL_OK)
			return pl_err_wrap(err, "--%s", option_table[i].name);
	}
	return PL_OK;
}

/* Off this machine the API wants to be told twice before it does without TLS, or knows
 * no credentials but the tokens of the store. */
static enum pl_code check_listen(const struct daemon_opts *opts, struct pl_err *err)
{
	const struct daemon_api_opts *api = &opts->serve;
	bool known = api->client_ca != NULL || api->token_file != NULL ||
	             api->jwt_jwks != NULL;

	if (api->host[0] == 0 || api->loopback || (api->cert != NULL && known))
		return PL_OK;
	if (api->insecure != NULL &&
	    strcmp(api->insecure, opts->text[DAEMON_API_LISTEN]) == 0)
		return PL_OK;
	if (api->cert == NULL)
		return pl_err_set(err, PL_INVALID,
		                  "--api-listen: off loopback it needs --api-cert and "
		                  "--api-key; or say --api-insecure %s",
		                  opts->text[DAEMON_API_LISTEN]);
	return pl_err_set(err, PL_INVALID,
	                  "--api-listen: off loopback it needs --api-client-ca, "
	                  "--api-token-file or --api-jwt-jwks; or say --api-insecure %s",
	                  opts->text[DAEMON_API_LISTEN]);
}

static enum pl_code check_api(const struct daemon_api_opts *api, struct pl_err *err)
{
	bool jwt = api->jwt_jwks != NULL;

	if ((api->cert == NULL) != (api->key == NULL))
		return pl_err_set(err, PL_INVALID,
		                  "--api-cert and --api-key go together");
	if (api->client_ca != NULL && api->cert == NULL)
		return pl_err_set(err, PL_INVALID,
		                  "--api-client-ca needs --api-cert and --api-key");
	if (api->client_crl != NULL && api->client_ca == NULL)
		return pl_err_set(err, PL_INVALID,
		                  "--api-client-crl needs --api-client-ca");
	if (jwt != (api->jwt_issuer != NULL) || jwt != (api->jwt_audience != NULL))
		return pl_err_set(
			err, PL_INVALID,
			"--api-jwt-issuer, --api-jwt-audience and --api-jwt-jwks "
			"go together");
	return PL_OK;
}

static enum pl_code check_together(const struct daemon_opts *opts, struct pl_err *err)
{
	if ((opts->store.tls.cert_file == NULL) != (opts->store.tls.key_file == NULL))
		return pl_err_set(err, PL_INVALID, "--cert and --key go together");
	if (opts->shards == 0 && opts->serve.host[0] == 0)
		return pl_err_set(err, PL_INVALID,
		                  "--shards 0: want --api-listen, as this process would "
		                  "have nothing to do");
	if (check_api(&opts->serve, err) != PL_OK)
		return PL_INVALID;
	return check_listen(opts, err);
}

enum pl_code daemon_opts_read(struct daemon_opts *out, int argc, char **argv,
                              char **environment, const char *hostname,
                              struct pl_err *err)
{
	*out = (struct daemon_opts){.action = DAEMON_RUN};
	pl_arena_init(&out->arena, 0, 4 << 20);
	if (apply_defaults(out, hostname, err) != PL_OK ||
	    each_flag(out, argc, argv, note_flag, err) != PL_OK)
		return err->code;
	if (out->action == DAEMON_SHOW_HELP || out->action == DAEMON_SHOW_VERSION)
		return PL_OK;
	if (options_from_environment(out, environment, err) != PL_OK ||
	    each_flag(out, argc, argv, apply_flag, err) != PL_OK)
		return err->code;
	return check_together(out, err);
}

void daemon_opts_done(struct daemon_opts *opts)
{
	store_opts_done(&opts->store);
	pl_arena_done(&opts->arena);
}

void daemon_name_from(const char *hostname, char out[DAEMON_NAME_SIZE])
{
	size_t len = 0, keep = 0;

	for (const char *at = hostname; *at != 0 && *at != '.' && len < 59; at++) {
		char c = char_lower(*at);
		bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

		if (!plain && len == 0)
			continue;
		out[len] = '-';
		if (plain)
			out[len] = c;
		len++;
		keep = plain ? len : keep;
	}
	out[keep] = 0;
	if (keep == 0)
		(void)snprintf(out, DAEMON_NAME_SIZE, "placet");
}
