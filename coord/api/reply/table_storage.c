/* Volumes, claims and what storage.k8s.io has. */
#include "coord/api/reply/table_int.h"

static void cell_modes(struct table_row *row, struct pl_json modes)
{
	static const char *const known[][2] = {
		{"ReadWriteOnce", "RWO"},
		{"ReadOnlyMany", "ROX"},
		{"ReadWriteMany", "RWX"},
		{"ReadWriteOncePod", "RWOP"},
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		PL_JSON_EACH (mode, modes) {
			const char *text = "";

			if (pl_json_as_string(mode, &text, NULL) != PL_OK ||
			    strcmp(text, known[i][0]) != 0)
				continue;
			cell_next(row);
			cell_add(row, known[i][1]);
			break;
		}
	cell_end(row, "");
}

/* An annotation of old clients goes before the field. */
static void cell_class(struct table_row *row, struct pl_json object)
{
	struct pl_json old = pl_json_member(field_at(object, "metadata.annotations"),
	                                    "volume.beta.kubernetes.io/storage-class");
	const char *text = "";

	if (pl_json_type(old) == PL_JSON_STRING &&
	    pl_json_as_string(old, &text, NULL) == PL_OK)
		cell_text(row, text);
	else
		cell_field(row, object, "spec.storageClassName", "");
}

static void cell_phase(struct table_row *row, struct pl_json object)
{
	if (field_is_set(object, "metadata.deletionTimestamp"))
		cell_text(row, "Terminating");
	else
		cell_field(row, object, "status.phase", "");
}

const struct table_column table_columns_volumes[] = {
	TABLE_NAME,
	TABLE_TEXT("Capacity", "Size of the volume."),
	TABLE_TEXT("Access Modes", "How the volume may be mounted."),
	TABLE_TEXT("Reclaim Policy", "What becomes of the volume when its claim goes."),
	TABLE_TEXT("Status", "Whether the volume is free, bound or released."),
	TABLE_TEXT("Claim", "The claim that the volume is bound to."),
	TABLE_TEXT("StorageClass", "Storage class of the volume."),
	TABLE_TEXT("VolumeAttributesClass", "Attributes class of the volume."),
	TABLE_TEXT("Reason", "Why the volume has failed."),
	TABLE_AGE,
	TABLE_WIDE("VolumeMode", "Filesystem or Block."),
	TABLE_END,
};

static void cell_claim(struct table_row *row, struct pl_json volume)
{
	struct pl_json claim = field_at(volume, "spec.claimRef");

	if (pl_json_type(claim) == PL_JSON_OBJECT) {
		cell_add(row, field_text_or(claim, "namespace", ""));
		cell_add(row, "/");
		cell_add(row, field_text_or(claim, "name", ""));
	}
	cell_end(row, "");
}

void table_cells_volumes(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_scalar(row, object, "spec.capacity.storage", "0");
	cell_modes(row, field_at(object, "spec.accessModes"));
	cell_field(row, object, "spec.persistentVolumeReclaimPolicy", "");
	cell_phase(row, object);
	cell_claim(row, object);
	cell_class(row, object);
	cell_field(row, object, "spec.volumeAttributesClassName", "<unset>");
	cell_field(row, object, "status.reason", "");
	cell_age(row, object);
	cell_field(row, object, "spec.volumeMode", "<unset>");
}

const struct table_column table_columns_claims[] = {
	TABLE_NAME,
	TABLE_TEXT("Status", "Whether the claim has a volume."),
	TABLE_TEXT("Volume", "The volume that the claim is bound to."),
	TABLE_TEXT("Capacity", "Size of the volume."),
	TABLE_TEXT("Access Modes", "How the volume may be mounted."),
	TABLE_TEXT("StorageClass", "Storage class of the claim."),
	TABLE_TEXT("VolumeAttributesClass", "Attributes class of the claim."),
	TABLE_AGE,
	TABLE_WIDE("VolumeMode", "Filesystem or Block."),
	TABLE_END,
};

void table_cells_claims(struct table_row *row, struct pl_json object)
{
	bool bound = field_text_or(object, "spec.volumeName", "")[0] != 0;

	cell_name(row, object);
	cell_phase(row, object);
	cell_field(row, object, "spec.volumeName", "");
	if (bound) {
		cell_scalar(row, object, "status.capacity.storage", "0");
		cell_modes(row, field_at(object, "status.accessModes"));
	} else {
		cell_text(row, "");
		cell_text(row, "");
	}
	cell_class(row, object);
	cell_field(row, object, "spec.volumeAttributesClassName", "<unset>");
	cell_age(row, object);
	cell_field(row, object, "spec.volumeMode", "<unset>");
}

const struct table_column table_columns_storageclasses[] = {
	TABLE_NAME,
	TABLE_TEXT("Provisioner", "The provisioner that makes volumes of the class."),
	TABLE_TEXT("ReclaimPolicy", "What becomes of a volume when its claim goes."),
	TABLE_TEXT("VolumeBindingMode", "When a claim gets its volume."),
	TABLE_TEXT("AllowVolumeExpansion", "Whether volumes can be made larger."),
	TABLE_AGE,
	TABLE_END,
};

static bool is_default_class(struct pl_json object)
{
	static const char *const marks[] = {
		"storageclass.kubernetes.io/is-default-class",
		"storageclass.beta.kubernetes.io/is-default-class",
	};
	struct pl_json annotations = field_at(object, "metadata.annotations");

	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
		struct pl_json mark = pl_json_member(annotations, marks[i]);
		const char *text = "";

		if (pl_json_type(mark) == PL_JSON_STRING &&
		    pl_json_as_string(mark, &text, NULL) == PL_OK &&
		    strcmp(text, "true") == 0)
			return true;
	}
	return false;
}

void table_cells_storageclasses(struct table_row *row, struct pl_json object)
{
	cell_add(row, field_text_or(object, "metadata.name", ""));
	if (is_default_class(object))
		cell_add(row, " (default)");
	cell_end(row, "");
	cell_field(row, object, "provisioner", "");
	cell_field(row, object, "reclaimPolicy", "Delete");
	cell_field(row, object, "volumeBindingMode", "Immediate");
	cell_field_bool(row, object, "allowVolumeExpansion", false);
	cell_age(row, object);
}

const struct table_column table_columns_csinodes[] = {
	TABLE_NAME,
	TABLE_INT("Drivers", "Number of CSI drivers on the node."),
	TABLE_AGE,
	TABLE_END,
};

void table_cells_csinodes(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_count(row, object, "spec.drivers");
	cell_age(row, object);
}

const struct table_column table_columns_csidrivers[] = {
	TABLE_NAME,
	TABLE_BOOL("AttachRequired",
                   "Whether volumes are attached before they are mounted."),
	TABLE_BOOL("PodInfoOnMount", "Whether the driver is told about the pod."),
	TABLE_BOOL("StorageCapacity", "Whether the driver publishes its capacity."),
	TABLE_TEXT("TokenRequests", "Audiences of the tokens that the driver wants."),
	TABLE_BOOL("RequiresRepublish", "Whether volumes are published again and again."),
	TABLE_TEXT("Modes", "Life cycles of volumes that the driver knows."),
	TABLE_AGE,
	TABLE_END,
};

static void cell_tokens(struct table_row *row, struct pl_json driver)
{
	bool set = field_is_set(driver, "spec.tokenRequests"), first = true;

	PL_JSON_EACH (request, field_at(driver, "spec.tokenRequests")) {
		if (!first)
			cell_add(row, ",");
		cell_add(row, field_text_or(request, "audience", ""));
		first = false;
	}
	cell_end(row, set ? "" : "<unset>");
}

static void cell_lifecycles(struct table_row *row, struct pl_json driver)
{
	PL_JSON_EACH (mode, field_at(driver, "spec.volumeLifecycleModes")) {
		const char *text = "";

		if (pl_json_as_string(mode, &text, NULL) != PL_OK)
			continue;
		cell_next(row);
		cell_add(row, text);
	}
	cell_end(row, "<none>");
}

void table_cells_csidrivers(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_field_bool(row, object, "spec.attachRequired", true);
	cell_field_bool(row, object, "spec.podInfoOnMount", false);
	cell_field_bool(row, object, "spec.storageCapacity", false);
	cell_tokens(row, object);
	cell_field_bool(row, object, "spec.requiresRepublish", false);
	cell_lifecycles(row, object);
	cell_age(row, object);
}

const struct table_column table_columns_capacities[] = {
	TABLE_NAME,
	TABLE_TEXT("StorageClassName", "The storage class that the capacity is for."),
	TABLE_TEXT("Capacity", "Size that is free."),
	TABLE_END,
};

void table_cells_capacities(struct table_row *row, struct pl_json object)
{
	cell_name(row, object);
	cell_field(row, object, "storageClassName", "");
	cell_scalar(row, object, "capacity", "<unset>");
}
