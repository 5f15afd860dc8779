/* The schema of the small groups: policy, scheduling, coordination, events, autoscaling. */
#include "coord/api/schema/schema_table.h"

CHOICES(choices_preemption_policy, "Never", "PreemptLowerPriority");
CHOICES(choices_unhealthy_pod_eviction_policy_type, "AlwaysAllow", "IfHealthyBudget");

FIELDS(scheduling_priority_class) = {
	TYPE_META,
	OBJECT_META,
	I32(2, "value", IS(REQUIRED | MAY_LACK | IMMUTABLE | USED),
            DOC("The priority; at most 1000000000 for classes that are not the "
                "system's.")),
	BOOL(3, "globalDefault", IS(USED),
             DOC("Pods without a class get this one; one class at most says so.")),
	STR(4, "description", DOC("What the class is for.")),
	STR(5, "preemptionPolicy", IS(ZERO_COUNTS | IMMUTABLE | USED),
            NORMAL("\"PreemptLowerPriority\""), ONE_OF(choices_preemption_policy),
            DOC("Never: pods of the class displace no others.")),
	END,
};
TYPE(scheduling_priority_class, SCHEDULING_V1 "PriorityClass", "A name for a priority.");

FIELDS(policy_pod_disruption_budget) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, policy_pod_disruption_budget_spec, "spec", DOC("What is wanted.")),
	OBJ(3, policy_pod_disruption_budget_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(policy_pod_disruption_budget, POLICY_V1 "PodDisruptionBudget",
     "How many of the selected pods may be missing at a time because of evictions.");

FIELDS(policy_pod_disruption_budget_spec) = {
	INT_STR(1, "minAvailable", IS(USED),
                DOC("How many covered pods must stay, as a number or a percentage.")),
	OBJ(2, meta_label_selector, "selector", IS(NO_PATCH_MERGE | USED),
            DOC("The covered pods; empty: all of the namespace.")),
	INT_STR(3, "maxUnavailable", IS(USED),
                DOC("How many covered pods may be missing, as a number or a percentage; "
                    "not together with minAvailable.")),
	STR(4, "unhealthyPodEvictionPolicy", IS(ZERO_COUNTS | USED),
            ONE_OF(choices_unhealthy_pod_eviction_policy_type),
            DOC("When pods that are not ready may be evicted.")),
	END,
};
TYPE(policy_pod_disruption_budget_spec, POLICY_V1 "PodDisruptionBudgetSpec",
     "The pods that are covered, and how many must stay.");

FIELDS(policy_pod_disruption_budget_status) = {
	I64(1, "observedGeneration"),
	TIMEM(2, "disruptedPods", IS(USED),
              DOC("Pods whose eviction is in no count yet.")),
	I32(3, "disruptionsAllowed", IS(REQUIRED | MAY_LACK | USED),
            DOC("How many covered pods may be evicted now.")),
	I32(4, "currentHealthy", IS(REQUIRED | MAY_LACK | USED),
            DOC("How many covered pods are healthy.")),
	I32(5, "desiredHealthy", IS(REQUIRED | MAY_LACK | USED),
            DOC("How many covered pods must be healthy.")),
	I32(6, "expectedPods", IS(REQUIRED | MAY_LACK | USED),
            DOC("How many covered pods are to run.")),
	OBJS(7, meta_condition, "conditions", KEYS("type")),
	END,
};
TYPE(policy_pod_disruption_budget_status, POLICY_V1 "PodDisruptionBudgetStatus",
     "The last count of the covered pods.");

FIELDS(policy_eviction) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, meta_delete_options, "deleteOptions",
            DOC("Options of the deletion that follows.")),
	END,
};
TYPE(policy_eviction, POLICY_V1 "Eviction",
     "Asks for a pod to be removed from its node as far as its budgets allow.");

FIELDS(coordination_lease) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, coordination_lease_spec, "spec", DOC("What is wanted.")),
	END,
};
TYPE(coordination_lease, COORDINATION_V1 "Lease", "Who holds something, and until when.");

FIELDS(coordination_lease_spec) = {
	STR(1, "holderIdentity", IS(ZERO_COUNTS), DOC("The holder.")),
	I32(2, "leaseDurationSeconds", IS(ZERO_COUNTS),
            DOC("How long the lease lasts after its renewal.")),
	MTIME(3, "acquireTime"),
	MTIME(4, "renewTime", DOC("When the holder last renewed the lease.")),
	I32(5, "leaseTransitions", IS(ZERO_COUNTS)),
	STR(6, "strategy", IS(ZERO_COUNTS)),
	STR(7, "preferredHolder", IS(ZERO_COUNTS)),
	END,
};
TYPE(coordination_lease_spec, COORDINATION_V1 "LeaseSpec",
     "Holder, duration and times of a lease.");

FIELDS(events_event) = {
	TYPE_META,
	OBJECT_META,
	MTIME(2, "eventTime", IS(REQUIRED)),
	OBJ(3, events_event_series, "series"),
	STR(4, "reportingController"),
	STR(5, "reportingInstance"),
	STR(6, "action"),
	STR(7, "reason"),
	OBJ(8, core_object_reference, "regarding"),
	OBJ(9, core_object_reference, "related"),
	STR(10, "note"),
	STR(11, "type"),
	OBJ(12, core_event_source, "deprecatedSource"),
	TIME(13, "deprecatedFirstTimestamp"),
	TIME(14, "deprecatedLastTimestamp"),
	I32(15, "deprecatedCount"),
	END,
};
TYPE(events_event, EVENTS_V1 "Event",
     "Something that happened to an object, in the newer group of events.");

FIELDS(events_event_series) = {
	I32(1, "count", IS(REQUIRED | MAY_LACK)),
	MTIME(2, "lastObservedTime", IS(REQUIRED | MAY_LACK)),
	END,
};
TYPE(events_event_series, EVENTS_V1 "EventSeries", "How often an event was repeated.");

FIELDS(autoscaling_scale) = {
	TYPE_META,
	OBJECT_META,
	OBJ(2, autoscaling_scale_spec, "spec", DOC("What is wanted.")),
	OBJ(3, autoscaling_scale_status, "status", IS(STATUS),
            DOC("What is: written by controllers, through the status subresource.")),
	END,
};
TYPE(autoscaling_scale, AUTOSCALING_V1 "Scale",
     "The number of replicas of an object, apart from everything else.");

FIELDS(autoscaling_scale_spec) = {
	I32(1, "replicas", DOC("Number of replicas.")),
	END,
};
TYPE(autoscaling_scale_spec, AUTOSCALING_V1 "ScaleSpec", "How many replicas are wanted.");

FIELDS(autoscaling_scale_status) = {
	I32(1, "replicas", IS(REQUIRED | MAY_LACK)),
	STR(2, "selector"),
	END,
};
TYPE(autoscaling_scale_status, AUTOSCALING_V1 "ScaleStatus",
     "How many replicas there are, and their selector.");
