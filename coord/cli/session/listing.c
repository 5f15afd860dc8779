#include "coord/cli/session/listing.h"

#include "coord/cli/session/cli_wait.h"
#include "coord/service/base/key_list.h"

struct session_listing {
	struct pl_span prefix;
	bool listed;
	session_list_fn *fn;
	void *ctx;
	struct cli_wait wait;
};

static enum pl_code on_prefix(void *ctx, struct keys_text *out, struct pl_err *err)
{
	struct session_listing *listing = ctx;

	(void)err;
	if (listing->listed)
		return PL_NOTFOUND;
	listing->listed = true;
	memcpy(out->at, listing->prefix.at, listing->prefix.len);
	out->len = listing->prefix.len;
	return PL_OK;
}

static enum pl_code on_record(void *ctx, const struct kv_record *record,
                              struct pl_err *err)
{
	struct session_listing *listing = ctx;
	enum pl_code code = listing->fn(listing->ctx, record, err);

	return code == PL_OK || err->code != PL_OK ? code
	                                           : pl_err_set(err, code, "list keys");
}

static void on_done(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct session_listing *listing = ctx;

	(void)revision;
	cli_wait_end(&listing->wait, err);
}

enum pl_code session_list(const struct cli_session *cli, struct pl_span prefix,
                          session_list_fn *fn, void *ctx, struct pl_err *err)
{
	struct session_listing listing = {.prefix = prefix, .fn = fn, .ctx = ctx};
	const struct key_list_opts opts = {
		.prefix = on_prefix, .each = on_record, .done = on_done, .ctx = &listing};
	struct key_list *list;
	enum pl_code code = key_list_start(&cli->service, &opts, &list, err);

	return code == PL_OK ? cli_wait_for(cli->session, &listing.wait, err) : code;
}
