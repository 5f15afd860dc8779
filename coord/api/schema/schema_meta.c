/* The schema of what all objects share: metadata, selectors, the outcome of requests. */
#include "coord/api/schema/schema_table.h"

CHOICES(choices_deletion_propagation, "Background", "Foreground", "Orphan");
CHOICES(choices_label_selector_operator, "DoesNotExist", "Exists", "In", "NotIn");

FIELDS(meta_object_meta) = {
	STR(1, "name", IS(IMMUTABLE | USED),
            DOC("Unique among the objects of the type in the namespace; never "
                "changes. Placet's partitions go by the hash of the name.")),
	STR(2, "generateName", IS(USED),
            DOC("Beginning of a name that the server completes, when name is empty.")),
	STR(3, "namespace", IS(IMMUTABLE | USED),
            DOC("The namespace that the object lives in; never changes.")),
	STR(4, "selfLink", DOC("Not used any more; kept.")),
	STR(5, "uid", IS(IMMUTABLE | USED),
            DOC("Tells the object from earlier ones of the same name.")),
	STR(6, "resourceVersion", IS(USED),
            DOC("Revision of the store at the last change. A write that names one "
                "fails if the object has changed since.")),
	I64(7, "generation", DOC("Counts the changes of spec.")),
	TIME(8, "creationTimestamp", IS(USED), DOC("When the object was created.")),
	TIME(9, "deletionTimestamp", IS(USED),
             DOC("When the object goes, or since when it is waiting for its "
                 "finalizers.")),
	I64(10, "deletionGracePeriodSeconds", IS(ZERO_COUNTS),
            DOC("Seconds that the object was given to end.")),
	STRM(11, "labels", IS(USED), DOC("Names and values that selectors look at.")),
	STRM(12, "annotations", IS(USED),
             DOC("Names and values for programs. A gang is named here: "
                 "placet.io/gang.")),
	OBJS(13, meta_owner_reference, "ownerReferences", KEYS("uid"), IS(USED),
             DOC("The objects that this object belongs to. Default spreading follows "
                 "the controller among them.")),
	STRS(14, "finalizers", AS_SET,
             DOC("As long as one is left a deleted object stays.")),
	OBJS(17, meta_managed_fields_entry, "managedFields",
             DOC("Which manager owns which fields.")),
	END,
};
TYPE(meta_object_meta, META_V1 "ObjectMeta",
     "The name, the labels and the bookkeeping that every stored object has.");

FIELDS(meta_owner_reference) = {
	STR(5, "apiVersion", IS(REQUIRED | MAY_LACK | USED),
            DOC("Group and version of the owner.")),
	STR(1, "kind", IS(REQUIRED | MAY_LACK | USED), DOC("Type of the owner.")),
	STR(3, "name", IS(REQUIRED | MAY_LACK | USED), DOC("Name of the owner.")),
	STR(4, "uid", IS(REQUIRED | MAY_LACK | USED), DOC("Uid of the owner.")),
	BOOL(6, "controller", IS(ZERO_COUNTS | USED),
             DOC("The owner manages this object; at most one does.")),
	BOOL(7, "blockOwnerDeletion", IS(ZERO_COUNTS | USED),
             DOC("A foreground deletion of the owner waits for this object.")),
	END,
};
ATOMIC_TYPE(
	meta_owner_reference, META_V1 "OwnerReference",
	"Names the object that this object belongs to; garbage collection follows it.");

FIELDS(meta_managed_fields_entry) = {
	STR(1, "manager"),    STR(2, "operation"), STR(3, "apiVersion"),  TIME(4, "time"),
	STR(6, "fieldsType"), ANY(7, "fieldsV1"),  STR(8, "subresource"), END,
};
TYPE(meta_managed_fields_entry, META_V1 "ManagedFieldsEntry",
     "The fields that one manager owns, as server-side apply keeps them.");

FIELDS(meta_label_selector) = {
	STRM(1, "matchLabels", IS(USED), DOC("Labels with exactly these values.")),
	OBJS(2, meta_label_selector_requirement, "matchExpressions", IS(USED),
             DOC("Conditions on labels, all of which must hold.")),
	END,
};
ATOMIC_TYPE(meta_label_selector, META_V1 "LabelSelector",
            "Selects objects by their labels; all of its conditions must hold. An empty "
            "selector selects everything.");

FIELDS(meta_label_selector_requirement) = {
	STR(1, "key", IS(REQUIRED | USED), DOC("Name of the label.")),
	STR(2, "operator", IS(REQUIRED | USED), ONE_OF(choices_label_selector_operator),
            DOC("In, NotIn, Exists or DoesNotExist.")),
	STRS(3, "values", IS(USED),
             DOC("Values for In and NotIn; empty for the others.")),
	END,
};
TYPE(meta_label_selector_requirement, META_V1 "LabelSelectorRequirement",
     "One condition on a label.");

FIELDS(meta_condition) = {
	STR(1, "type", IS(REQUIRED)),
	STR(2, "status", IS(REQUIRED)),
	I64(3, "observedGeneration"),
	TIME(4, "lastTransitionTime", IS(REQUIRED | MAY_LACK)),
	STR(5, "reason", IS(REQUIRED)),
	STR(6, "message", IS(REQUIRED)),
	END,
};
TYPE(meta_condition, META_V1 "Condition", "One aspect of an object's state.");

FIELDS(meta_delete_options) = {
	TYPE_META,
	I64(1, "gracePeriodSeconds", IS(ZERO_COUNTS),
            DOC("Seconds that the object is given to end; 0: at once.")),
	OBJ(2, meta_preconditions, "preconditions",
            DOC("Uid and version that the object must have.")),
	BOOL(3, "orphanDependents", IS(ZERO_COUNTS)),
	STR(4, "propagationPolicy", IS(ZERO_COUNTS), ONE_OF(choices_deletion_propagation),
            DOC("What becomes of objects that belong to the deleted one: Orphan, "
                "Background or Foreground.")),
	STRS(5, "dryRun", DOC("All: the request is checked and not carried out.")),
	BOOL(6, "ignoreStoreReadErrorWithClusterBreakingPotential", IS(ZERO_COUNTS)),
	END,
};
TYPE(meta_delete_options, META_V1 "DeleteOptions",
     "Conditions and manner of a deletion.");

FIELDS(meta_preconditions) = {
	STR(1, "uid", IS(ZERO_COUNTS), DOC("Uid that the object must have.")),
	STR(2, "resourceVersion", IS(ZERO_COUNTS),
            DOC("Version that the object must have.")),
	END,
};
TYPE(meta_preconditions, META_V1 "Preconditions",
     "What must be true of an object for a request to be carried out.");

FIELDS(meta_status) = {
	TYPE_META,        OBJ(1, meta_list_meta, "metadata"),
	STR(2, "status"), STR(3, "message"),
	STR(4, "reason"), OBJ(5, meta_status_details, "details"),
	I32(6, "code"),   END,
};
TYPE(meta_status, META_V1 "Status",
     "The outcome of a request that gives back no object.");

FIELDS(meta_list_meta) = {
	STR(1, "selfLink"),
	STR(2, "resourceVersion",
            DOC("Revision that the list is of; a watch can begin there.")),
	STR(3, "continue", DOC("Opaque: sent back to get the next page.")),
	I64(4, "remainingItemCount", IS(ZERO_COUNTS), DOC("How many objects follow.")),
	END,
};
TYPE(meta_list_meta, META_V1 "ListMeta", "Version of a list, and how to go on with it.");

FIELDS(meta_status_details) = {
	STR(1, "name"),
	STR(2, "group"),
	STR(3, "kind"),
	STR(6, "uid"),
	OBJS(4, meta_status_cause, "causes"),
	I32(5, "retryAfterSeconds"),
	END,
};
TYPE(meta_status_details, META_V1 "StatusDetails",
     "What the outcome of a request is about.");

FIELDS(meta_status_cause) = {
	STR(1, "reason"),
	STR(2, "message"),
	STR(3, "field"),
	END,
};
TYPE(meta_status_cause, META_V1 "StatusCause",
     "One fault in a request, and the field that has it.");
