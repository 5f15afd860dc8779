/* A table with open addressing, the next row when one is taken. Nothing is taken out. */
#include "coord/service/input/duplicates.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"

enum { CAP_FIRST = 1024 };

struct duplicates_row {
	uint64_t name;
	uint32_t more, content;
	uint32_t file, number; /* number: from 1; 0: there is none in this row */
};

void duplicates_init(struct duplicates *duplicates)
{
	*duplicates = (struct duplicates){.key = pl_hash_process_key()};
}

void duplicates_done(struct duplicates *duplicates)
{
	free(duplicates->row);
	free(duplicates->file);
	*duplicates = (struct duplicates){0};
}

void duplicates_clear(struct duplicates *duplicates)
{
	if (duplicates->cap > 0)
		memset(duplicates->row, 0, duplicates->cap * sizeof *duplicates->row);
	duplicates->count = 0;
	duplicates->files = 0;
}

static struct duplicates_row hash_name(const struct duplicates *duplicates,
                                       const struct duplicates_name *name)
{
	struct pl_hash_key other = {.k0 = duplicates->key.k1, .k1 = duplicates->key.k0};

	return (struct duplicates_row){
		.name = pl_hash_keyed(name->name, duplicates->key),
		.more = (uint32_t)pl_hash_keyed(name->name, other),
		.content = (uint32_t)name->content,
	};
}

/* Returns the row of the name, or the free row for it. */
static struct duplicates_row *find_row(const struct duplicates *duplicates,
                                       const struct duplicates_row *row)
{
	size_t at = row->name & (duplicates->cap - 1);

	while (duplicates->row[at].number != 0 &&
	       (duplicates->row[at].name != row->name ||
	        duplicates->row[at].more != row->more))
		at = (at + 1) & (duplicates->cap - 1);
	return &duplicates->row[at];
}

enum pl_code duplicates_look(const struct duplicates *duplicates,
                             const struct duplicates_name *name,
                             struct duplicates_place *first)
{
	struct duplicates_row row;
	const struct duplicates_row *was;

	if (duplicates->count == 0)
		return PL_OK;
	row = hash_name(duplicates, name);
	was = find_row(duplicates, &row);
	if (was->number == 0 || was->content == row.content)
		return PL_OK;
	*first = (struct duplicates_place){duplicates->file[was->file], was->number};
	return PL_EXISTS;
}

static enum pl_code grow_table(struct duplicates *duplicates)
{
	struct duplicates grown = *duplicates;

	grown.cap = duplicates->cap == 0 ? CAP_FIRST : duplicates->cap * 2;
	grown.row = pl_calloc(grown.cap, sizeof *grown.row);
	if (grown.row == NULL)
		return PL_NOMEM;
	for (size_t i = 0; i < duplicates->cap; i++)
		if (duplicates->row[i].number != 0)
			*find_row(&grown, &duplicates->row[i]) = duplicates->row[i];
	free(duplicates->row);
	*duplicates = grown;
	return PL_OK;
}

/* Files come one after another. */
static enum pl_code file_index(struct duplicates *duplicates, const char *file,
                               uint32_t *out)
{
	const char **grown;

	if (duplicates->files == 0 || duplicates->file[duplicates->files - 1] != file) {
		grown = pl_realloc(duplicates->file,
		                   (duplicates->files + 1) * sizeof *grown);
		if (grown == NULL)
			return PL_NOMEM;
		duplicates->file = grown;
		duplicates->file[duplicates->files++] = file;
	}
	*out = duplicates->files - 1;
	return PL_OK;
}

enum pl_code duplicates_add(struct duplicates *duplicates,
                            const struct duplicates_name *name,
                            const struct input_object *at, struct pl_err *err)
{
	struct duplicates_row row = hash_name(duplicates, name), *to;
	enum pl_code code = file_index(duplicates, at->file, &row.file);

	if (code == PL_OK && (duplicates->count + 1) * 4 > duplicates->cap * 3)
		code = grow_table(duplicates);
	if (code != PL_OK)
		return pl_err_set(err, code, "keep the names");
	row.number = at->number < UINT32_MAX ? (uint32_t)at->number : UINT32_MAX;
	to = find_row(duplicates, &row);
	if (to->number != 0)
		return PL_OK;
	*to = row;
	duplicates->count++;
	return PL_OK;
}
