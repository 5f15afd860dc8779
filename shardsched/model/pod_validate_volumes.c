#include "shardsched/model/pod_validate.h"

static void check_required(struct validate *v, const char *source, const char *name,
                           bool there)
{
	size_t mark = validate_into(v, source);

	if (!there)
		validate_add(v, name, FIELD_REQUIRED, "want it");
	validate_back(v, mark);
}

static void check_range(struct validate *v, const char *source, const char *name,
                        int32_t number)
{
	size_t mark = validate_into(v, source);

	if (number < 0 || number > 255)
		validate_add(v, name, FIELD_INVALID, "want 0 to 255");
	validate_back(v, mark);
}

static void check_iscsi(struct validate *v, const struct draft_volume *volume)
{
	size_t mark = validate_into(v, "iscsi");

	if (volume->portal.len == 0)
		validate_add(v, "targetPortal", FIELD_REQUIRED, "want it");
	if (volume->id.len == 0)
		validate_add(v, "iqn", FIELD_REQUIRED, "want it");
	else if (!pl_span_starts(volume->id, PL_SPAN_LIT("iqn")) &&
	         !pl_span_starts(volume->id, PL_SPAN_LIT("eui")) &&
	         !pl_span_starts(volume->id, PL_SPAN_LIT("naa")))
		validate_add(v, "iqn", FIELD_INVALID, "want iqn., eui. or naa. in front");
	validate_back(v, mark);
	check_range(v, "iscsi", "lun", volume->number);
}

static bool asks_for_storage(const struct draft_volume *volume)
{
	for (uint32_t i = 0; i < volume->requested.count; i++)
		if (pl_span_eq(volume->requested.at[i].name, PL_SPAN_LIT("storage")))
			return true;
	return false;
}

static void check_ephemeral(struct validate *v, const struct draft_volume *volume)
{
	size_t mark = validate_into(v, "ephemeral"), before;

	if (!volume->has_template) {
		validate_add(v, "volumeClaimTemplate", FIELD_REQUIRED, "want it");
		validate_back(v, mark);
		return;
	}
	before = validate_into(v, "volumeClaimTemplate.spec");
	if (volume->modes.count == 0)
		validate_add(v, "accessModes", FIELD_REQUIRED, "want a mode");
	if (!asks_for_storage(volume))
		validate_add(v, "resources[storage]", FIELD_REQUIRED, "want a size");
	validate_back(v, before);
	validate_back(v, mark);
}

static void check_source(struct validate *v, const struct draft_volume *volume)
{
	switch (volume->source) {
	case DRAFT_CLAIM:
		check_required(v, "persistentVolumeClaim", "claimName",
		               volume->id.len > 0);
		break;
	case DRAFT_EPHEMERAL:
		check_ephemeral(v, volume);
		break;
	case DRAFT_GCE:
		check_required(v, "gcePersistentDisk", "pdName", volume->id.len > 0);
		check_range(v, "gcePersistentDisk", "partition", volume->number);
		break;
	case DRAFT_AWS:
		check_required(v, "awsElasticBlockStore", "volumeID", volume->id.len > 0);
		check_range(v, "awsElasticBlockStore", "partition", volume->number);
		break;
	case DRAFT_ISCSI:
		check_iscsi(v, volume);
		break;
	case DRAFT_RBD:
		check_required(v, "rbd", "monitors", volume->monitors.count > 0);
		check_required(v, "rbd", "image", volume->id.len > 0);
		break;
	case DRAFT_AZURE:
		check_required(v, "azureDisk", "diskName", volume->id.len > 0);
		break;
	case DRAFT_OTHER:
	case DRAFT_SOURCE_COUNT:
		break;
	}
	if (volume->sources > 1)
		validate_add(v, NULL, FIELD_FORBIDDEN, "want one kind of volume");
}

static void check_volume(struct validate *v, const struct pod_draft *draft, uint32_t at)
{
	const struct draft_volume *volume = &draft->volumes[at];

	check_source(v, volume);
	if (v->scope == VALIDATE_STORED && volume->source != DRAFT_EPHEMERAL)
		return;
	if (volume->name.len == 0)
		validate_add(v, "name", FIELD_REQUIRED, "want a name");
	else
		validate_text(v, "name", text_label(volume->name));
	for (uint32_t i = 0; i < at; i++)
		if (pl_span_eq(draft->volumes[i].name, volume->name)) {
			validate_add(v, "name", FIELD_DUPLICATE, "comes twice");
			return;
		}
}

/* Whether the claim is the one that will be made for an ephemeral volume of the pod. */
static bool is_claim_template(const struct pod_draft *draft, struct pl_span claim)
{
	struct pl_span pod = draft->meta.name;

	if (claim.len <= pod.len || !pl_span_starts(claim, pod) ||
	    claim.at[pod.len] != '-')
		return false;
	claim = pl_span(claim.at + pod.len + 1, claim.len - pod.len - 1);
	for (uint32_t i = 0; i < draft->volume_count; i++)
		if (draft->volumes[i].source == DRAFT_EPHEMERAL &&
		    pl_span_eq(draft->volumes[i].name, claim))
			return true;
	return false;
}

void pod_validate_volumes(struct validate *v, const struct pod_draft *draft)
{
	for (uint32_t i = 0; i < draft->volume_count; i++) {
		const struct draft_volume *volume = &draft->volumes[i];
		size_t mark = validate_index(v, "volumes", i);

		check_volume(v, draft, i);
		if (v->scope == VALIDATE_SUBMITTED && volume->source == DRAFT_CLAIM &&
		    is_claim_template(draft, volume->id))
			validate_add(v, "persistentVolumeClaim.claimName", FIELD_INVALID,
			             "want no claim that an ephemeral volume makes");
		validate_back(v, mark);
	}
}
