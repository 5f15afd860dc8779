#include "coord/cli/session/cli_session.h"

#include <stdio.h>

#include "coord/cli/output/message.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "store/kv/prefixed.h"

static enum pl_code open_prefixed(const struct options *options,
                                  struct store_session *session, struct pl_err *err)
{
	struct etcd_opts etcd = store_opts_etcd(&options->store);
	enum pl_code code =
		store_session_open(session, &etcd, options->store.timeout_ms, err);
	struct kv *kv;

	if (code != PL_OK || *options->prefix == 0)
		return code;
	code = prefixed_open(session->kv, pl_span_str(options->prefix), &kv, err);
	if (code == PL_OK)
		session->kv = kv;
	else
		store_session_close(session);
	return code;
}

static enum pl_code meta_not_found(const struct options *options, struct pl_err *err)
{
	if (*options->prefix == 0)
		return pl_err_set(err, PL_NOTFOUND,
		                  "%s holds nothing of Placet's (no /placet/meta); "
		                  "start placetd once, or give the --prefix it runs "
		                  "under",
		                  options->store.endpoints);
	return pl_err_set(err, PL_NOTFOUND,
	                  "%s holds nothing of Placet's under %s (no %s/placet/meta); "
	                  "check --prefix, or start placetd once with it",
	                  options->store.endpoints, options->prefix, options->prefix);
}

/* Reads /placet/meta before anything else, so that a store that can not be reached,
 * or is none of Placet's, is reported as that. */
static enum pl_code read_meta(struct cli_session *cli, struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_META};
	struct kv_result result;
	struct keys_text key;
	enum pl_code code = keys_build(&id, &key, err);
	struct kv_req req;

	if (code != PL_OK)
		return code;
	req = kv_op_get(kv_key(keys_span(&key)));
	code = store_session_call(cli->session, &req, &result, err);
	if (code != PL_OK)
		return code;
	if (result.get.count == 0)
		return meta_not_found(cli->options, err);
	cli->meta_text = result.get.records[0].value;
	cli->meta_mod_revision = result.get.records[0].mod_revision;
	code = meta_parse(cli->meta_text, &cli->meta, err);
	return code == PL_OK ? PL_OK : pl_err_wrap(err, "/placet/meta");
}

static enum pl_code run_on_store(const struct options *options, cli_session_fn *fn,
                                 void *ctx, struct pl_err *err)
{
	struct store_session session;
	struct cli_session cli = {.session = &session, .options = options};
	enum pl_code code = open_prefixed(options, &session, err);

	if (code != PL_OK)
		return code;
	code = read_meta(&cli, err);
	if (code != PL_OK)
		store_opts_add_advice(&options->store, err);
	cli.service = (struct service){.kv = session.kv,
	                               .partitions = cli.meta.partitions,
	                               .timeout_ms = session.timeout_ms,
	                               .user = session.user};
	if (code == PL_OK)
		code = fn(ctx, &cli, err);
	store_session_close(&session);
	return code;
}

static enum pl_code run_on_api(const struct options *options, api_session_fn *fn,
                               void *ctx, struct pl_err *err)
{
	struct api_session api;
	enum pl_code code = api_session_open(&api, options, err);

	if (code != PL_OK)
		return code;
	code = fn(ctx, &api, err);
	api_session_close(&api);
	return code;
}

enum exit_code cli_session_run_either(const struct options_spec *spec, int argc,
                                      char **argv, cli_session_fn *fn,
                                      api_session_fn *api_fn, void *ctx)
{
	struct options options;
	struct pl_err err = {0};
	enum exit_code exit_code;
	enum pl_code code;

	if (!options_parse(spec, argc, argv, ctx, &options, &exit_code))
		return exit_code;
	PL_ASSERT(!options.via_api || api_fn != NULL);
	code = options.via_api ? run_on_api(&options, api_fn, ctx, &err)
	                       : run_on_store(&options, fn, ctx, &err);
	options_done(&options);
	return code == PL_OK ? EXIT_OK : print_error(spec->words, &err);
}

enum exit_code cli_session_run(const struct options_spec *spec, int argc, char **argv,
                               cli_session_fn *fn, void *ctx)
{
	return cli_session_run_either(spec, argc, argv, fn, NULL, ctx);
}
