/* A context of a kubeconfig becomes a target: its cluster's and its user's members. */
#include <string.h>

#include "coord/kubeconfig/kubeconfig_exec.h"
#include "coord/kubeconfig/kubeconfig_int.h"
#include "store/net/http.h"

struct resolving {
	struct kubeconfig *config;
	const struct kubeconfig_entry *entry; /* the entry that is read */
	struct pl_json cluster;               /* of the context */
	const char *what;                     /* "cluster", "user" */
	struct pl_err *err;
};

/* "cluster east: server: want ..." */
static enum pl_code refuse(const struct resolving *resolving, enum pl_code code,
                           const char *member, const char *why)
{
	return pl_err_set(resolving->err, code, "%.100s: %s %.63s: %s: %s",
	                  resolving->entry->path, resolving->what, resolving->entry->name,
	                  member, why);
}

static const char *text_of(const struct resolving *resolving, const char *member)
{
	const char *text = NULL;

	PL_ASSERT(resolving->entry != NULL);
	if (resolving->entry->part.node == NULL ||
	    pl_json_string(resolving->entry->part, member, PL_JSON_OPTIONAL, &text,
	                   NULL) != PL_OK)
		return NULL;
	return text != NULL && text[0] != 0 ? text : NULL;
}

/* Relative names are relative to the kubeconfig's own directory. */
static enum pl_code take_file(const struct resolving *resolving, const char *member,
                              const char **out)
{
	const char *text = text_of(resolving, member);
	const char *slash = strrchr(resolving->entry->path, '/');

	*out = text;
	if (text == NULL || text[0] == '/' || slash == NULL)
		return PL_OK;
	*out = pl_arena_printf(&resolving->config->arena, "%.*s/%s",
	                       (int)(slash - resolving->entry->path),
	                       resolving->entry->path, text);
	return *out == NULL ? refuse(resolving, PL_NOMEM, member, "out of memory")
	                    : PL_OK;
}

/* A file, or the same inline; inline wins, as in kubectl. */
static enum pl_code take_pem(const struct resolving *resolving, const char *member,
                             const char *data_member, const char **file,
                             struct pl_span *data)
{
	const char *text = text_of(resolving, data_member);
	enum pl_code code;

	if (text == NULL)
		return take_file(resolving, member, file);
	code = kubeconfig_base64(&resolving->config->arena, text, data);
	if (code == PL_LIMIT)
		return refuse(resolving, code, data_member, "more than 1 MiB");
	return code == PL_OK ? PL_OK
	                     : refuse(resolving, code, data_member, "want base64");
}

/* -- the server ----------------------------------------------------------------------- */

static bool url_is_good(const char *url)
{
	size_t skip = strncmp(url, "https://", 8) == 0  ? 8
	              : strncmp(url, "http://", 7) == 0 ? 7
	                                                : 0;

	if (skip == 0 || url[skip] == 0 || url[skip] == '/' ||
	    strlen(url) > HTTP_URL_MAX / 2)
		return false;
	for (const char *at = url; *at != 0; at++)
		if (*at <= ' ' || *at == 0x7f || strchr("?#\"<>\\^`{|}@", *at) != NULL)
			return false;
	return true;
}

enum pl_code kubeconfig_server(struct pl_arena *arena, const char *url, const char **out,
                               struct pl_err *err)
{
	struct pl_span text = pl_span_str(url);

	if (!url_is_good(url))
		return pl_err_set(err, PL_INVALID,
		                  "server: want http://HOST:PORT or https://HOST:PORT, "
		                  "got '%.80s'",
		                  url);
	while (text.len > 0 && text.at[text.len - 1] == '/')
		text.len--;
	text = pl_arena_dup(arena, text);
	if (text.at == NULL)
		return pl_err_set(err, PL_NOMEM, "server");
	*out = (const char *)text.at;
	return PL_OK;
}

/* A user and a password may stand in it. */
static bool proxy_is_good(const char *url)
{
	static const char *const schemes[] = {"http://", "https://", "socks5://",
	                                      "socks5h://"};

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
		size_t len = strlen(schemes[i]);

		if (strncmp(url, schemes[i], len) != 0 || url[len] == 0 ||
		    strlen(url) > HTTP_URL_MAX / 2)
			continue;
		return strpbrk(url, " \r\n\t\"<>\\^`{|}?#") == NULL;
	}
	return false;
}

static enum pl_code take_cluster(const struct resolving *resolving,
                                 struct kubeconfig_target *out)
{
	const char *server = text_of(resolving, "server");
	bool unchecked = false;

	if (server == NULL)
		return refuse(resolving, PL_INVALID, "server", "is missing");
	if (kubeconfig_server(&resolving->config->arena, server, &out->server,
	                      resolving->err) != PL_OK)
		return pl_err_wrap(resolving->err, "%.100s: cluster %.63s",
		                   resolving->entry->path, resolving->entry->name);
	if (pl_json_bool(resolving->entry->part, "insecure-skip-tls-verify",
	                 PL_JSON_OPTIONAL, &unchecked, resolving->err) != PL_OK)
		return resolving->err->code;
	PL_ASSERT(out->server != NULL);
	out->unverified = unchecked && strncmp(out->server, "https:", 6) == 0;
	out->proxy = text_of(resolving, "proxy-url");
	if (out->proxy != NULL && !proxy_is_good(out->proxy))
		return refuse(resolving, PL_INVALID, "proxy-url",
		              "want http://, https:// or socks5:// and HOST:PORT");
	out->server_name = text_of(resolving, "tls-server-name");
	if (take_pem(resolving, "certificate-authority", "certificate-authority-data",
	             &out->ca_file, &out->ca_data) != PL_OK)
		return resolving->err->code;
	if (out->unverified && (out->ca_file != NULL || out->ca_data.len > 0))
		return refuse(resolving, PL_INVALID, "insecure-skip-tls-verify",
		              "does not go with a certificate-authority");
	return PL_OK;
}

/* -- the user --------------------------------------------------------------------------- */

bool kubeconfig_is_token(const char *text)
{
	if (strlen(text) >= KUBECONFIG_TOKEN_MAX)
		return false;
	for (; *text != 0; text++)
		if (*text <= ' ' || *text >= 0x7f)
			return false;
	return true;
}

/* A token that is given wins over a program. */
static enum pl_code take_exec(const struct resolving *resolving,
                              struct kubeconfig_target *out)
{
	struct pl_arena *arena = &resolving->config->arena;
	struct pl_json exec = pl_json_member(resolving->entry->part, "exec");
	const char *path = resolving->entry->path, *slash = strrchr(path, '/');
	const char *dir = NULL;

	if (pl_json_type(exec) <= PL_JSON_NULL || out->token != NULL ||
	    out->token_file != NULL)
		return PL_OK;
	if (slash != NULL)
		dir = pl_arena_printf(arena, "%.*s", (int)(slash - path), path);
	if (slash != NULL && dir == NULL)
		return refuse(resolving, PL_NOMEM, "exec", "out of memory");
	if (kubeconfig_exec_read(arena, exec, resolving->cluster, dir, &out->exec,
	                         resolving->err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(resolving->err, "%.100s: user %.63s: exec", path,
	                   resolving->entry->name);
}

static enum pl_code take_credentials(const struct resolving *resolving,
                                     struct kubeconfig_target *out)
{
	static const char *const other[] = {
		"auth-provider", "username",  "as",
		"as-uid",        "as-groups", "as-user-extra"};
	struct pl_json part = resolving->entry->part;

	for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
		if (pl_json_type(pl_json_member(part, other[i])) > PL_JSON_NULL)
			return refuse(
				resolving, PL_UNSUPPORTED, other[i],
				"want a token, a tokenFile, a client certificate or exec");
	out->token = text_of(resolving, "token");
	if (out->token != NULL && !kubeconfig_is_token(out->token))
		return refuse(resolving, PL_INVALID, "token", "is not a token");
	if (take_file(resolving, "tokenFile", &out->token_file) != PL_OK)
		return resolving->err->code;
	return take_exec(resolving, out);
}

static enum pl_code take_user(const struct resolving *resolving,
                              struct kubeconfig_target *out)
{
	enum pl_code code;
	bool cert, key;

	if (resolving->entry->part.node == NULL)
		return PL_OK;
	code = take_credentials(resolving, out);
	if (code == PL_OK)
		code = take_pem(resolving, "client-certificate",
		                "client-certificate-data", &out->cert_file,
		                &out->cert_data);
	if (code == PL_OK)
		code = take_pem(resolving, "client-key", "client-key-data",
		                &out->key_file, &out->key_data);
	if (code != PL_OK)
		return code;
	cert = out->cert_file != NULL || out->cert_data.len > 0;
	key = out->key_file != NULL || out->key_data.len > 0;
	if (cert != key)
		return refuse(resolving, PL_INVALID,
		              cert ? "client-key" : "client-certificate",
		              "a certificate and its key go together");
	return PL_OK;
}

/* -- the context ------------------------------------------------------------------------ */

/* The entry that the context names; NULL with PL_OK: it names none, which only a user
 * may be. */
static enum pl_code find_part(struct resolving *resolving,
                              const struct kubeconfig_entry *context,
                              enum kubeconfig_kind kind)
{
	static const char *const words[] = {"cluster", "user"};
	struct resolving of = *resolving;
	const char *name;

	of.entry = context;
	of.what = "context";
	name = text_of(&of, words[kind]);
	resolving->what = words[kind];
	resolving->entry =
		name == NULL ? NULL : kubeconfig_find(resolving->config, kind, name);
	if (resolving->entry != NULL || (name == NULL && kind == KUBECONFIG_USERS))
		return PL_OK;
	return refuse(&of, PL_INVALID, words[kind],
	              name == NULL ? "is missing" : "there is none of that name");
}

static const char *context_name(const struct kubeconfig *config, const char *given,
                                struct pl_err *err)
{
	const char *name = given != NULL ? given : config->current;

	if (name == NULL)
		(void)pl_err_set(err, PL_NOTFOUND,
		                 "the kubeconfig has no current-context; name one with "
		                 "--context");
	return name;
}

enum pl_code kubeconfig_resolve(struct kubeconfig *config, const char *context,
                                struct kubeconfig_target *out, struct pl_err *err)
{
	struct resolving resolving = {.config = config, .err = err};
	struct kubeconfig_target target = {.server = NULL};
	const char *name = context_name(config, context, err);
	const struct kubeconfig_entry *found;
	enum pl_code code;

	if (name == NULL)
		return PL_NOTFOUND;
	found = kubeconfig_find(config, KUBECONFIG_CONTEXTS, name);
	if (found == NULL)
		return pl_err_set(err, PL_NOTFOUND, "no context '%.100s'", name);
	resolving.entry = found;
	target.namespace = text_of(&resolving, "namespace");
	code = find_part(&resolving, found, KUBECONFIG_CLUSTERS);
	if (code == PL_OK) {
		PL_ASSERT(resolving.entry != NULL);
		resolving.cluster = resolving.entry->part;
		code = take_cluster(&resolving, &target);
	}
	if (code == PL_OK)
		code = find_part(&resolving, found, KUBECONFIG_USERS);
	if (code == PL_OK && resolving.entry != NULL)
		code = take_user(&resolving, &target);
	if (code == PL_OK)
		*out = target;
	return code;
}
