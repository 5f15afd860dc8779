#include "coord/cli/config/config_versions.h"

#include <inttypes.h>

enum pl_code config_versions_find(struct store_session *session, enum config_name name,
                                  struct config_versions *out, struct pl_err *err)
{
	struct config_found found;
	enum pl_code code = config_session_history(session, name, 0, &found, err);

	if (code != PL_OK)
		return code;
	if (found.current_err.code != PL_OK) {
		*err = found.current_err;
		return pl_err_wrap(err, "which version of %s is current can not be told",
		                   config_name_text(name));
	}
	*out = (struct config_versions){.current = found.current};
	for (size_t i = found.count; i > 0; i--)
		if (found.versions[i - 1].version < found.current)
			out->before = found.versions[i - 1].version;
	return PL_OK;
}

enum pl_code config_versions_content(struct store_session *session, enum config_name name,
                                     uint64_t version, struct pl_json *out,
                                     struct pl_err *err)
{
	struct config_found found = {0};
	enum pl_code code = PL_OK;

	if (version != 0)
		code = config_session_read(session, name, version, &found, err);
	if (code != PL_OK)
		return code;
	if (version != 0 && (found.count == 0 || found.versions[0].config.len == 0))
		return pl_err_set(
			err, PL_INVALID, "version %" PRIu64 " of %s can not be read: %s",
			version, config_name_text(name),
			found.count == 0 ? "it is empty" : found.versions[0].refused.msg);
	return config_session_content(session, name, &found, out, err);
}
