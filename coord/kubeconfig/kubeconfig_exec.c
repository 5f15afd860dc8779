#include "coord/kubeconfig/kubeconfig_exec.h"

#include <string.h>

#include "store/base/buf.h"
#include "store/base/json_out.h"

enum { CONFIG_MAX = 1 << 20 };

static const char extension_name[] = "client.authentication.k8s.io/exec";

static enum pl_code read_version(struct pl_json exec, struct kubeconfig_exec *out,
                                 struct pl_err *err)
{
	static const char *const known[] = {"client.authentication.k8s.io/v1",
	                                    "client.authentication.k8s.io/v1beta1"};
	enum pl_code code = pl_json_string(exec, "apiVersion", PL_JSON_REQUIRED,
	                                   &out->api_version, err);

	if (code != PL_OK)
		return code;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (strcmp(out->api_version, known[i]) == 0)
			return PL_OK;
	return pl_err_set(err, PL_UNSUPPORTED,
	                  "apiVersion: want %s or v1beta1, got '%.60s'", known[0],
	                  out->api_version);
}

/* v1 wants the mode to be said. */
static enum pl_code read_mode(struct pl_json exec, struct kubeconfig_exec *out,
                              struct pl_err *err)
{
	static const char *const words[] = {[KUBECONFIG_INTERACTIVE_IF_AVAILABLE] =
	                                            "IfAvailable",
	                                    [KUBECONFIG_INTERACTIVE_NEVER] = "Never",
	                                    [KUBECONFIG_INTERACTIVE_ALWAYS] = "Always"};
	bool beta = strstr(out->api_version, "beta") != NULL;
	const char *word = words[0];
	enum pl_code code =
		pl_json_string(exec, "interactiveMode",
	                       beta ? PL_JSON_OPTIONAL : PL_JSON_REQUIRED, &word, err);

	for (unsigned i = 0; i < 3 && code == PL_OK; i++) {
		if (strcmp(word, words[i]) != 0)
			continue;
		out->interactive = (enum kubeconfig_interactive)i;
		return PL_OK;
	}
	return code != PL_OK ? code
	                     : pl_err_set(err, PL_INVALID,
	                                  "interactiveMode: want Never, IfAvailable or "
	                                  "Always, got '%.40s'",
	                                  word);
}

static char *copy_text(struct pl_arena *arena, const char *text)
{
	return pl_arena_printf(arena, "%s", text);
}

static enum pl_code list_of(struct pl_json exec, const char *member, struct pl_json *out,
                            size_t *count, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	*out = (struct pl_json){0};
	*count = 0;
	if (pl_json_type(pl_json_member(exec, member)) > PL_JSON_NULL)
		code = pl_json_array(exec, member, PL_JSON_OPTIONAL, out, err);
	if (code != PL_OK || out->node == NULL)
		return code;
	*count = pl_json_count(*out);
	return *count <= KUBECONFIG_EXEC_LIST_MAX
	               ? PL_OK
	               : pl_err_set(err, PL_LIMIT, "%s: more than %d", member,
	                            KUBECONFIG_EXEC_LIST_MAX);
}

/* A command with a slash is relative to the kubeconfig, others are searched for. */
static char *command_path(struct pl_arena *arena, const char *command, const char *dir)
{
	if (command[0] == '/' || strchr(command, '/') == NULL || dir == NULL)
		return copy_text(arena, command);
	return pl_arena_printf(arena, "%s/%s", dir, command);
}

static enum pl_code read_command(struct pl_arena *arena, struct pl_json exec,
                                 const char *dir, struct kubeconfig_exec *out,
                                 struct pl_err *err)
{
	const char *command = "", *text;
	struct pl_json args;
	size_t count, at = 1;
	enum pl_code code =
		pl_json_string(exec, "command", PL_JSON_REQUIRED, &command, err);

	if (code == PL_OK && *command == 0)
		code = pl_err_set(err, PL_INVALID, "command: is empty");
	if (code == PL_OK)
		code = list_of(exec, "args", &args, &count, err);
	if (code != PL_OK)
		return code;
	out->argv = pl_arena_zalloc(arena, count + 2, sizeof *out->argv);
	if (out->argv != NULL)
		out->argv[0] = command_path(arena, command, dir);
	if (out->argv == NULL || out->argv[0] == NULL)
		return pl_err_set(err, PL_NOMEM, "command");
	PL_JSON_EACH (item, args) {
		if (pl_json_as_string(item, &text, err) != PL_OK)
			return pl_err_wrap(err, "args");
		out->argv[at] = copy_text(arena, text);
		if (out->argv[at++] == NULL)
			return pl_err_set(err, PL_NOMEM, "args");
	}
	return PL_OK;
}

static enum pl_code read_env(struct pl_arena *arena, struct pl_json exec,
                             struct kubeconfig_exec *out, struct pl_err *err)
{
	struct pl_json list;
	size_t count, at = 0;
	enum pl_code code = list_of(exec, "env", &list, &count, err);

	if (code != PL_OK)
		return code;
	out->env = pl_arena_zalloc(arena, count + 1, sizeof *out->env);
	if (out->env == NULL)
		return pl_err_set(err, PL_NOMEM, "env");
	PL_JSON_EACH (item, list) {
		const char *name = "", *value = "";

		if (pl_json_string(item, "name", PL_JSON_REQUIRED, &name, err) != PL_OK ||
		    pl_json_string(item, "value", PL_JSON_OPTIONAL, &value, err) != PL_OK)
			return pl_err_wrap(err, "env");
		if (*name == 0 || strchr(name, '=') != NULL)
			return pl_err_set(err, PL_INVALID,
			                  "env: name: is no name of a variable");
		out->env[at] = pl_arena_printf(arena, "%s=%s", name, value);
		if (out->env[at++] == NULL)
			return pl_err_set(err, PL_NOMEM, "env");
	}
	return PL_OK;
}

/* The extension of the cluster for such programs. */
static enum pl_code read_config(struct pl_arena *arena, struct pl_json cluster,
                                struct kubeconfig_exec *out, struct pl_err *err)
{
	struct pl_json found = {0};
	struct pl_json_out json;
	struct pl_buf text;
	const char *name;
	enum pl_code code;

	PL_JSON_EACH (item, pl_json_member(cluster, "extensions"))
		if (pl_json_as_string(pl_json_member(item, "name"), &name, NULL) ==
		            PL_OK &&
		    strcmp(name, extension_name) == 0)
			found = pl_json_member(item, "extension");
	if (found.node == NULL)
		return PL_OK;
	pl_buf_init(&text, CONFIG_MAX);
	pl_json_out_init(&json, &text);
	pl_json_out_value(&json, found);
	code = pl_json_out_done(&json);
	if (code == PL_OK)
		out->config = pl_arena_dup(arena, pl_buf_span(&text));
	pl_buf_done(&text);
	return code == PL_OK && out->config.at != NULL
	               ? PL_OK
	               : pl_err_set(err, PL_NOMEM, "provideClusterInfo");
}

enum pl_code kubeconfig_exec_read(struct pl_arena *arena, struct pl_json exec,
                                  struct pl_json cluster, const char *dir,
                                  const struct kubeconfig_exec **out, struct pl_err *err)
{
	struct kubeconfig_exec *read = pl_arena_zalloc(arena, 1, sizeof *read);
	enum pl_code code = PL_OK;

	if (read == NULL)
		return pl_err_set(err, PL_NOMEM, "exec");
	if (pl_json_type(exec) != PL_JSON_OBJECT)
		return pl_err_set(err, PL_INVALID, "want an object");
	code = read_version(exec, read, err);
	if (code == PL_OK)
		code = read_mode(exec, read, err);
	if (code == PL_OK)
		code = read_command(arena, exec, dir, read, err);
	if (code == PL_OK)
		code = read_env(arena, exec, read, err);
	if (code == PL_OK)
		code = pl_json_string(exec, "installHint", PL_JSON_OPTIONAL, &read->hint,
		                      err);
	if (code == PL_OK)
		code = pl_json_bool(exec, "provideClusterInfo", PL_JSON_OPTIONAL,
		                    &read->cluster_info, err);
	if (code == PL_OK && read->cluster_info)
		code = read_config(arena, cluster, read, err);
	if (code == PL_OK)
		*out = read;
	return code;
}
