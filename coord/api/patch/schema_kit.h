/* A small schema for the tests of patches: a pod with what makes merging hard. */
#ifndef COORD_API_PATCH_SCHEMA_KIT_H
#define COORD_API_PATCH_SCHEMA_KIT_H

#include "coord/api/schema/schema.h"

/* clang-format off */
#define KIT_SCALAR(n, k) {.name = (n), .kind = (k)}
#define KIT_OBJECT(n, t) \
	{.name = (n), .kind = SCHEMA_OBJECT, .type = &(t), .list = SCHEMA_GRANULAR}
#define KIT_MAP(n, k) \
	{.name = (n), .kind = (k), .shape = SCHEMA_MAP, .list = SCHEMA_GRANULAR}
#define KIT_KEYED(n, t, k) \
	{.name = (n), .kind = SCHEMA_OBJECT, .type = &(t), .shape = SCHEMA_LIST, \
	 .list = SCHEMA_BY_KEY, .keys = (k)}

static const struct schema_type kit_env = {.name = "Env", .fields = (const struct schema_field[]){
	KIT_SCALAR("name", SCHEMA_STRING), KIT_SCALAR("value", SCHEMA_STRING), {.name = NULL}}};

static const struct schema_type kit_port = {.name = "Port", .fields = (const struct schema_field[]){
	KIT_SCALAR("containerPort", SCHEMA_INT32), KIT_SCALAR("name", SCHEMA_STRING),
	{.name = "protocol", .kind = SCHEMA_STRING, .normal = "\"TCP\""}, {.name = NULL}}};

static const struct schema_type kit_resources = {.name = "Resources",
	.fields = (const struct schema_field[]){
	KIT_MAP("limits", SCHEMA_QUANTITY), KIT_MAP("requests", SCHEMA_QUANTITY), {.name = NULL}}};

static const struct schema_type kit_container = {.name = "Container",
	.fields = (const struct schema_field[]){
	KIT_SCALAR("name", SCHEMA_STRING), KIT_SCALAR("image", SCHEMA_STRING),
	{.name = "args", .kind = SCHEMA_STRING, .shape = SCHEMA_LIST},
	KIT_KEYED("env", kit_env, "name"),
	KIT_KEYED("ports", kit_port, "containerPort,protocol"),
	KIT_OBJECT("resources", kit_resources), {.name = NULL}}};

static const struct schema_type kit_source = {.name = "Source",
	.fields = (const struct schema_field[]){KIT_SCALAR("name", SCHEMA_STRING), {.name = NULL}}};

static const struct schema_type kit_volume = {.name = "Volume",
	.fields = (const struct schema_field[]){
	KIT_SCALAR("name", SCHEMA_STRING), KIT_OBJECT("emptyDir", kit_source),
	KIT_OBJECT("configMap", kit_source), {.name = NULL}}};

static const struct schema_type kit_reference = {.name = "Reference", .atomic = true,
	.fields = (const struct schema_field[]){
	KIT_SCALAR("name", SCHEMA_STRING), KIT_SCALAR("kind", SCHEMA_STRING), {.name = NULL}}};

static const struct schema_type kit_toleration = {.name = "Toleration",
	.fields = (const struct schema_field[]){
	KIT_SCALAR("key", SCHEMA_STRING), KIT_SCALAR("value", SCHEMA_STRING), {.name = NULL}}};

static const struct schema_type kit_spec = {.name = "Spec", .fields = (const struct schema_field[]){
	KIT_SCALAR("nodeName", SCHEMA_STRING), KIT_SCALAR("priority", SCHEMA_INT32),
	KIT_KEYED("containers", kit_container, "name"),
	{.name = "volumes", .kind = SCHEMA_OBJECT, .type = &kit_volume, .shape = SCHEMA_LIST,
	 .list = SCHEMA_BY_KEY, .keys = "name", .flags = SCHEMA_RETAIN_KEYS},
	{.name = "nodeSelector", .kind = SCHEMA_STRING, .shape = SCHEMA_MAP},
	{.name = "tolerations", .kind = SCHEMA_OBJECT, .type = &kit_toleration,
	 .shape = SCHEMA_LIST},
	KIT_OBJECT("claimRef", kit_reference),
	{.name = "hostIPs", .kind = SCHEMA_OBJECT, .type = &kit_source, .shape = SCHEMA_LIST,
	 .list = SCHEMA_BY_KEY, .keys = "name", .flags = SCHEMA_APPLY_WHOLE},
	{.name = "strategy", .kind = SCHEMA_OBJECT, .type = &kit_source, .list = SCHEMA_GRANULAR,
	 .flags = SCHEMA_NO_PATCH_MERGE},
	{.name = "conditions", .kind = SCHEMA_OBJECT, .type = &kit_env, .shape = SCHEMA_LIST,
	 .list = SCHEMA_BY_KEY, .keys = "name", .flags = SCHEMA_NO_PATCH_MERGE},
	{.name = NULL}}};

static const struct schema_type kit_owner = {.name = "Owner", .fields = (const struct schema_field[]){
	KIT_SCALAR("uid", SCHEMA_STRING), KIT_SCALAR("name", SCHEMA_STRING), {.name = NULL}}};

static const struct schema_type kit_meta = {.name = "Meta", .fields = (const struct schema_field[]){
	KIT_SCALAR("name", SCHEMA_STRING), KIT_SCALAR("namespace", SCHEMA_STRING),
	KIT_SCALAR("uid", SCHEMA_STRING), KIT_SCALAR("resourceVersion", SCHEMA_STRING),
	KIT_MAP("labels", SCHEMA_STRING), KIT_MAP("annotations", SCHEMA_STRING),
	{.name = "finalizers", .kind = SCHEMA_STRING, .shape = SCHEMA_LIST, .list = SCHEMA_AS_SET},
	KIT_KEYED("ownerReferences", kit_owner, "uid"),
	{.name = "managedFields", .kind = SCHEMA_ANY, .shape = SCHEMA_LIST}, {.name = NULL}}};

static const struct schema_type kit_status = {.name = "Status",
	.fields = (const struct schema_field[]){
	KIT_SCALAR("phase", SCHEMA_STRING), KIT_KEYED("conditions", kit_env, "name"),
	{.name = NULL}}};

static const struct schema_type kit_pod = {.name = "Pod", .fields = (const struct schema_field[]){
	KIT_SCALAR("apiVersion", SCHEMA_STRING), KIT_SCALAR("kind", SCHEMA_STRING),
	KIT_OBJECT("metadata", kit_meta), KIT_OBJECT("spec", kit_spec),
	KIT_OBJECT("status", kit_status), {.name = NULL}}};
/* clang-format on */

#endif
