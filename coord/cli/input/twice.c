/* A table with open addressing, the next row when one is taken. Nothing is taken out. */
#include "coord/cli/input/twice.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"

enum { CAP_FIRST = 1024 };

struct twice_row {
	uint64_t name;
	uint32_t more, content;
	uint32_t file, number; /* number: from 1; 0: there is none in this row */
};

void twice_init(struct twice *twice)
{
	*twice = (struct twice){.key = pl_hash_process_key()};
}

void twice_done(struct twice *twice)
{
	free(twice->row);
	free(twice->file);
	*twice = (struct twice){0};
}

void twice_clear(struct twice *twice)
{
	if (twice->cap > 0)
		memset(twice->row, 0, twice->cap * sizeof *twice->row);
	twice->count = 0;
	twice->files = 0;
}

static struct twice_row row_of(const struct twice *twice, const struct twice_name *name)
{
	struct pl_hash_key other = {.k0 = twice->key.k1, .k1 = twice->key.k0};

	return (struct twice_row){
		.name = pl_hash_keyed(name->name, twice->key),
		.more = (uint32_t)pl_hash_keyed(name->name, other),
		.content = (uint32_t)name->content,
	};
}

/* Where it is, or would be. */
static struct twice_row *find(const struct twice *twice, const struct twice_row *row)
{
	size_t at = row->name & (twice->cap - 1);

	while (twice->row[at].number != 0 &&
	       (twice->row[at].name != row->name || twice->row[at].more != row->more))
		at = (at + 1) & (twice->cap - 1);
	return &twice->row[at];
}

enum pl_code twice_look(const struct twice *twice, const struct twice_name *name,
                        struct twice_place *first)
{
	struct twice_row row;
	const struct twice_row *was;

	if (twice->count == 0)
		return PL_OK;
	row = row_of(twice, name);
	was = find(twice, &row);
	if (was->number == 0 || was->content == row.content)
		return PL_OK;
	*first = (struct twice_place){twice->file[was->file], was->number};
	return PL_EXISTS;
}

static enum pl_code grow(struct twice *twice)
{
	struct twice grown = *twice;

	grown.cap = twice->cap == 0 ? CAP_FIRST : twice->cap * 2;
	grown.row = pl_calloc(grown.cap, sizeof *grown.row);
	if (grown.row == NULL)
		return PL_NOMEM;
	for (size_t i = 0; i < twice->cap; i++)
		if (twice->row[i].number != 0)
			*find(&grown, &twice->row[i]) = twice->row[i];
	free(twice->row);
	*twice = grown;
	return PL_OK;
}

/* Files come one behind the other. */
static enum pl_code number_of(struct twice *twice, const char *file, uint32_t *out)
{
	const char **grown;

	if (twice->files == 0 || twice->file[twice->files - 1] != file) {
		grown = pl_realloc(twice->file, (twice->files + 1) * sizeof *grown);
		if (grown == NULL)
			return PL_NOMEM;
		twice->file = grown;
		twice->file[twice->files++] = file;
	}
	*out = twice->files - 1;
	return PL_OK;
}

enum pl_code twice_add(struct twice *twice, const struct twice_name *name,
                       const struct manifest_object *at, struct pl_err *err)
{
	struct twice_row row = row_of(twice, name), *to;
	enum pl_code code = number_of(twice, at->file, &row.file);

	if (code == PL_OK && (twice->count + 1) * 4 > twice->cap * 3)
		code = grow(twice);
	if (code != PL_OK)
		return pl_err_set(err, code, "keep the names");
	row.number = at->number < UINT32_MAX ? (uint32_t)at->number : UINT32_MAX;
	to = find(twice, &row);
	if (to->number != 0)
		return PL_OK;
	*to = row;
	twice->count++;
	return PL_OK;
}
