/*
 * Hashes of digests: the same for every reader, in every process.
 */
#include "shardsched/records/digest.h"
#include "store/base/hash.h"

static uint64_t mix_bytes(uint64_t hash, const void *at, size_t len)
{
	return hash * UINT64_C(0x9e3779b97f4a7c15) + pl_hash(pl_span(at, len));
}

static uint64_t mix_number(uint64_t hash, uint64_t number)
{
	return (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
}

static uint64_t mix_capacity(uint64_t hash, const struct digest_capacity *room)
{
	hash = mix_number(hash, (uint64_t)room->cpu_milli);
	hash = mix_number(hash, (uint64_t)room->memory);
	hash = mix_number(hash, (uint64_t)room->storage);
	hash = mix_number(hash, (uint64_t)room->pods);
	for (uint32_t i = 0; i < room->scalars; i++) {
		hash = mix_bytes(hash, room->scalar[i].name.at, room->scalar[i].name.len);
		hash = mix_number(hash, (uint64_t)room->scalar[i].amount);
	}
	return hash;
}

uint64_t digest_class_kind(const struct digest_class *class)
{
	uint64_t hash = 1;

	hash = mix_number(hash, class->more + 2U * class->other);
	hash = mix_number(hash, (uint64_t)(int64_t) class->least);
	for (uint32_t i = 0; i < class->taints; i++)
		hash = mix_bytes(hash, class->taint[i].at, class->taint[i].len);
	for (uint32_t i = 0; i < class->labels; i++) {
		const struct digest_label *label = &class->label[i];

		hash = mix_bytes(hash, label->key.at, label->key.len);
		for (uint32_t n = 0; n < label->values; n++)
			hash = mix_bytes(hash, label->value[n].at, label->value[n].len);
	}
	return hash;
}

uint64_t digest_partition_hash(const struct digest_partition *part)
{
	uint64_t hash = part->classes + 1;

	for (uint32_t i = 0; i < part->classes; i++) {
		hash = mix_number(hash, digest_class_kind(&part->class[i]));
		hash = mix_number(hash, part->class[i].nodes);
		hash = mix_number(hash, (uint64_t)part->class[i].newest);
		hash = mix_capacity(hash, &part->class[i].most);
		hash = mix_capacity(hash, &part->class[i].free);
	}
	return hash;
}
