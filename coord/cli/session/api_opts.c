#include "coord/cli/session/api_opts.h"

#include <stdlib.h>

#include "coord/kubeconfig/kubeconfig_files.h"

const char api_opts_help[] =
	"  --server URL           ask Placet's API, and not the store: http://host:port\n"
	"                         or https://host:port, with --cacert, --cert and --key\n"
	"                         (PLACET_SERVER)\n"
	"  --token-file FILE      its first line is our token for the API\n"
	"  --context NAME         ask the API that this context of the kubeconfig names\n"
	"  --kubeconfig FILE      (default: the current context of KUBECONFIG, or of\n"
	"                         ~/.kube/config, when --context is given)\n";

static bool is_plugin;

void api_opts_plugin(void)
{
	is_plugin = true;
}

bool api_opts_is_plugin(void)
{
	return is_plugin;
}

void api_opts_set(struct api_opts *opts, int opt, const char *arg)
{
	const char **const texts[] = {&opts->server, &opts->kubeconfig, &opts->context,
	                              &opts->token_file};

	*texts[opt - API_OPT_FIRST] = arg;
}

bool api_opts_given(const struct api_opts *opts)
{
	return opts->server != NULL || opts->kubeconfig != NULL ||
	       opts->context != NULL || opts->token_file != NULL;
}

enum pl_code api_opts_choose(struct api_opts *opts, const struct store_opts *store,
                             bool *api, struct pl_err *err)
{
	const char *server = getenv("PLACET_SERVER");

	*api = true;
	if (api_opts_given(opts) && store->flagged)
		return pl_err_set(err, PL_INVALID,
		                  "--endpoints: names a store, and does not go with "
		                  "--server, --kubeconfig, --context or --token-file");
	if (opts->server != NULL && (opts->context != NULL || opts->kubeconfig != NULL))
		return pl_err_set(err, PL_INVALID,
		                  "--server: does not go with --kubeconfig or --context");
	if (api_opts_given(opts) && opts->server == NULL && opts->context == NULL &&
	    opts->kubeconfig == NULL)
		opts->server = server;
	if (api_opts_given(opts) || (is_plugin && !store->flagged))
		return PL_OK;
	*api = false;
	if (!store->by_default)
		return PL_OK;
	opts->server = server != NULL && *server != 0 ? server : NULL;
	opts->in_pod = opts->server == NULL && kubeconfig_in_pod(KUBECONFIG_POD_DIR);
	*api = opts->server != NULL || opts->in_pod;
	return PL_OK;
}

/* The target of a kubeconfig; in a pod without one, the pod's own cluster. */
static enum pl_code named_target(const struct api_opts *opts, struct kubeconfig *config,
                                 struct kubeconfig_target *out, struct pl_err *err)
{
	enum pl_code code;

	if (opts->in_pod)
		return kubeconfig_pod_target(&config->arena, KUBECONFIG_POD_DIR, out,
		                             err);
	code = kubeconfig_load(config, opts->kubeconfig, err);
	if (code == PL_NOTFOUND && opts->kubeconfig == NULL && opts->context == NULL &&
	    kubeconfig_in_pod(KUBECONFIG_POD_DIR))
		return kubeconfig_pod_target(&config->arena, KUBECONFIG_POD_DIR, out,
		                             err);
	return code == PL_OK ? kubeconfig_resolve(config, opts->context, out, err) : code;
}

enum pl_code api_opts_target(const struct api_opts *opts, const struct tls_files *tls,
                             struct kubeconfig *config, struct kubeconfig_target *out,
                             struct pl_err *err)
{
	struct kubeconfig_target target = {.server = NULL};
	enum pl_code code = opts->server == NULL
	                            ? named_target(opts, config, &target, err)
	                            : kubeconfig_server(&config->arena, opts->server,
	                                                &target.server, err);

	if (code != PL_OK)
		return code;
	if (opts->token_file != NULL) {
		target.token = NULL;
		target.token_file = opts->token_file;
	}
	/* A kubeconfig has its own, and the environment's may be those of a store. */
	if (opts->server != NULL) {
		target.ca_file = tls->ca_file;
		target.cert_file = tls->cert_file;
		target.key_file = tls->key_file;
		target.server_name = tls->server_name;
	}
	*out = target;
	return PL_OK;
}
