/* Members of an object, name and value at once, for a JSON writer. */
#ifndef STORE_BASE_JSON_PUT_H
#define STORE_BASE_JSON_PUT_H

#include "store/base/json_out.h"

/* An empty text is left out. */
static inline void pl_json_put_text(struct pl_json_out *out, const char *name,
                                    struct pl_span text)
{
	if (text.len == 0)
		return;
	pl_json_out_name(out, name);
	pl_json_out_string(out, text);
}

static inline void pl_json_put_str(struct pl_json_out *out, const char *name,
                                   const char *text)
{
	pl_json_out_name(out, name);
	pl_json_out_str(out, text);
}

static inline void pl_json_put_int(struct pl_json_out *out, const char *name,
                                   int64_t value)
{
	pl_json_out_name(out, name);
	pl_json_out_int(out, value);
}

static inline void pl_json_put_double(struct pl_json_out *out, const char *name,
                                      double value)
{
	pl_json_out_name(out, name);
	pl_json_out_double(out, value);
}

/* False is left out. */
static inline void pl_json_put_true(struct pl_json_out *out, const char *name, bool value)
{
	if (!value)
		return;
	pl_json_out_name(out, name);
	pl_json_out_bool(out, true);
}

#endif
