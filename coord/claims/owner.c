#include "coord/claims/owner.h"

#include <assert.h>
#include <string.h>

#include "coord/membership/holder.h"

enum pl_code owner_print(struct pl_span shard, struct pl_buf *out, struct pl_err *err)
{
	return holder_print(shard, out, err);
}

enum pl_code owner_parse(struct pl_span json, struct owner *out, struct pl_err *err)
{
	struct holder holder;
	enum pl_code code = holder_parse(json, &holder, err);

	static_assert(sizeof holder.shard == sizeof out->shard, "one kind of name");
	if (code == PL_OK)
		memcpy(out->shard, holder.shard, sizeof out->shard);
	return code;
}
