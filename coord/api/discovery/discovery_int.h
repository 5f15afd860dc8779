/* The parts of discovery: verbs and subresources. */
#ifndef COORD_API_DISCOVERY_DISCOVERY_INT_H
#define COORD_API_DISCOVERY_DISCOVERY_INT_H

#include "coord/api/discovery/discovery.h"

struct discovery_subresource {
	uint16_t flag; /* enum schema_subresource */
	const char *name;
	/* The kind that is sent or answered; kind NULL: that of the resource. */
	const char *group, *version, *kind;
	const char *verbs[4]; /* ends with NULL */
};

/* In order of their names; *count elements. */
const struct discovery_subresource *discovery_subresources(size_t *count);

void discovery_write_str(struct pl_json_out *out, const char *name, const char *value);
/* "name": [...]; an empty list is left out. */
void discovery_write_list(struct pl_json_out *out, const char *name,
                          const char *const *texts);
/* "verbs": [...] */
void discovery_write_verbs(struct pl_json_out *out, uint16_t verbs);

/* The first resource behind those of the same group and version. */
size_t discovery_next_version(const struct discovery *discovery, size_t at);
size_t discovery_next_group(const struct discovery *discovery, size_t at);

#endif
