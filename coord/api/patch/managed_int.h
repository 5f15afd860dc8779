/* The entries of managedFields, for the files that change them. */
#ifndef COORD_API_PATCH_MANAGED_INT_H
#define COORD_API_PATCH_MANAGED_INT_H

#include "coord/api/patch/field_set.h"
#include "coord/api/patch/managed_fields.h"
#include "coord/api/patch/typed.h"

struct managed_entry {
	struct managed_entry *next;
	const char *manager;
	const char *api_version;
	const char *time; /* NULL: none */
	const char *subresource;
	bool applied;
	struct pl_json raw;      /* as it was read; absent: set is newer */
	struct owned_fields set; /* read from raw when it is needed */
	bool read;
};

struct managed_list {
	struct field_maker *maker;
	struct managed_entry *first;
	size_t count;
};

/* PL_INVALID: an entry is malformed. Its fields are checked only if whole. */
PL_NODISCARD enum pl_code managed_read(struct managed_list *list, struct pl_json value,
                                       bool whole, struct pl_err *err);
/* The list in Kubernetes' order, as a node; NULL: no memory. */
struct cJSON *managed_write(struct managed_list *list);

/* The fields of an entry. Malformed ones are none, and the entry is dropped later. */
struct owned_fields managed_set(struct managed_list *list, struct managed_entry *entry);
void managed_put(struct managed_entry *entry, struct owned_fields set);
/* Takes fields away. The entry is not read when it cannot have any of them. */
void managed_take(struct managed_list *list, struct managed_entry *entry,
                  struct owned_fields gone);

/* The entry of the writer, NULL: none. */
struct managed_entry *managed_find(const struct managed_list *list,
                                   const struct field_writer *by, bool applied);
/* A new entry without fields. NULL: no memory. */
struct managed_entry *managed_add(struct managed_list *list,
                                  const struct field_writer *by, bool applied);
/* Orders the entries by manager, as conflicts are listed. */
void managed_sort(struct managed_list *list);
/* Removes entries without fields. */
void managed_drop_empty(struct managed_list *list);
/* Merges the oldest updaters until no more than MANAGED_UPDATERS_MAX are left. */
void managed_cap(struct managed_list *list);

/* The set without what no manager owns (name, uid, ...) and what the writer ignores. */
struct owned_fields managed_own(struct field_maker *maker, struct owned_fields set,
                                const struct field_writer *by);
/* Without what the writer ignores. */
struct owned_fields managed_seen(struct field_maker *maker, struct owned_fields set,
                                 const struct field_writer *by);

/* Moves the fields that an update changes to the writer's entry. */
void managed_record(struct managed_list *list, const struct typed_changes *changes,
                    const struct field_writer *by);

/* Puts the list into metadata.managedFields, or removes that when it is empty. False: no
 * memory. */
PL_NODISCARD bool managed_store(struct managed_list *list, struct cJSON *object);
struct pl_json managed_of(struct pl_json object);

#endif
