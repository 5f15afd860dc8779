#include "coord/service/input/object_source.h"

#include <string.h>

#include "shardsched/model/object.h"

enum { STRING_MAX = 100 };

struct pl_span input_object_string(struct pl_span json, const char *name)
{
	struct pl_span quoted = object_member(json, name);

	if (quoted.len < 2 || quoted.len > STRING_MAX || quoted.at[0] != '"' ||
	    memchr(quoted.at, '\\', quoted.len) != NULL)
		return (struct pl_span){0};
	return pl_span(quoted.at + 1, quoted.len - 2);
}
