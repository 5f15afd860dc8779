#include "bench/api/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/report.h"

enum { STAMP_DIGITS = 16, NUMBER_DIGITS = 8, IMAGES = 9 };

static void add(struct pl_buf *out, const char *text)
{
	bench_check(pl_buf_add_str(out, text), NULL, "a request");
}

void request_write(struct pl_buf *out, const char *token, const char *method,
                   const char *path, struct pl_span body)
{
	pl_buf_clear(out, out->cap);
	bench_check(pl_buf_printf(out,
	                          "%s %s HTTP/1.1\r\nHost: localhost\r\n"
	                          "Authorization: Bearer %s\r\n"
	                          "Accept: application/json\r\n"
	                          "User-Agent: placet-bench\r\n",
	                          method, path, token),
	            NULL, "a request");
	if (body.len > 0)
		bench_check(pl_buf_printf(out,
		                          "Content-Type: application/json\r\n"
		                          "Content-Length: %zu\r\n",
		                          body.len),
		            NULL, "a request");
	add(out, "\r\n");
	bench_check(pl_buf_add(out, body), NULL, "a request");
}

void object_pod(struct pl_buf *out, const char *name)
{
	add(out, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"");
	add(out, name);
	add(out, "\",\"labels\":{\"app\":\"web\",\"tier\":\"front\","
	         "\"pod-template-hash\":\"5d4f7c9b8\"}},\"spec\":{\"containers\":[{"
	         "\"name\":\"web\",\"image\":\"registry.example.com/shop/web:1.7\","
	         "\"ports\":[{\"containerPort\":8080}],"
	         "\"env\":[{\"name\":\"MODE\",\"value\":\"production\"}],"
	         "\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"}}"
	         "}]}}");
}

static void add_conditions(struct pl_buf *out)
{
	static const char *const types[] = {"MemoryPressure", "DiskPressure",
	                                    "PIDPressure", "Ready"};

	for (unsigned i = 0; i < 4; i++) {
		add(out, i == 0 ? "{\"type\":\"" : ",{\"type\":\"");
		add(out, types[i]);
		add(out, i == 3 ? "\",\"status\":\"True\"" : "\",\"status\":\"False\"");
		add(out, ",\"lastHeartbeatTime\":\"2026-01-01T00:00:00Z\","
		         "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\","
		         "\"reason\":\"KubeletReports\","
		         "\"message\":\"kubelet reports what it has seen of the node\"}");
	}
}

static void add_images(struct pl_buf *out)
{
	for (unsigned i = 0; i < IMAGES; i++)
		bench_check(pl_buf_printf(out,
		                          "%s{\"names\":[\"registry.example.com/shop/"
		                          "service-%u:1.%u.7\"],\"sizeBytes\":%u}",
		                          i == 0 ? "" : ",", i, i, 52428800 + i),
		            NULL, "a node");
}

void object_node(struct pl_buf *out, const char *name)
{
	static const char resources[] =
		"{\"cpu\":\"32\",\"memory\":\"131072Mi\",\"pods\":\"110\","
		"\"ephemeral-storage\":\"512Gi\",\"hugepages-2Mi\":\"0\"}";

	bench_check(
		pl_buf_printf(
			out,
			"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
			"\"%s\",\"labels\":{\"kubernetes.io/hostname\":\"%s\","
			"\"kubernetes.io/os\":\"linux\",\"kubernetes.io/arch\":\"amd64\","
			"\"topology.kubernetes.io/zone\":\"zone1\","
			"\"topology.kubernetes.io/region\":\"region1\","
			"\"node.kubernetes.io/instance-type\":\"m32\"},\"annotations\":{"
			"\"node.alpha.kubernetes.io/ttl\":\"0\"}},"
			"\"spec\":{\"providerID\":\"bench:///zone1/%s\"},\"status\":{"
			"\"capacity\":%s,\"allocatable\":%s,\"addresses\":[{\"type\":"
			"\"InternalIP\",\"address\":\"10.0.0.1\"},{\"type\":\"Hostname\","
			"\"address\":\"%s\"}],\"nodeInfo\":{\"machineID\":\"m-%s\","
			"\"systemUUID\":\"s-%s\",\"bootID\":\"b-%s\",\"kernelVersion\":"
			"\"6.1.0\",\"osImage\":\"Debian 12\",\"containerRuntimeVersion\":"
			"\"containerd://1.7\",\"kubeletVersion\":\"v1.32.0\","
			"\"kubeProxyVersion\":\"v1.32.0\",\"operatingSystem\":\"linux\","
			"\"architecture\":\"amd64\"},\"conditions\":[",
			name, name, name, resources, resources, name, name, name, name),
		NULL, "a node");
	add_conditions(out);
	add(out, "],\"images\":[");
	add_images(out);
	add(out, "]}}");
}

void object_binding(struct pl_buf *out, const char *pod, uint32_t node)
{
	bench_check(pl_buf_printf(out,
	                          "{\"apiVersion\":\"v1\",\"kind\":\"Binding\","
	                          "\"metadata\":{\"name\":\"%s\"},\"target\":{"
	                          "\"kind\":\"Node\",\"name\":\"node-%05u\"}}",
	                          pod, node),
	            NULL, "a binding");
}

void object_namespace(struct pl_buf *out, const char *name)
{
	bench_check(pl_buf_printf(out,
	                          "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\","
	                          "\"metadata\":{\"name\":\"%s\"}}",
	                          name),
	            NULL, "a namespace");
}

/* -- names -------------------------------------------------------------------------- */

void stamped_name(char out[OBJECTS_NAME_SIZE], uint64_t due_ns, uint32_t number)
{
	(void)snprintf(out, OBJECTS_NAME_SIZE, "b%0*" PRIx64 "-%0*" PRIx32, STAMP_DIGITS,
	               due_ns, NUMBER_DIGITS, number);
}

static uint64_t hex(const uint8_t *at, unsigned digits)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < digits; i++)
		value = value << 4 |
		        (uint64_t)(at[i] <= '9' ? at[i] - '0' : at[i] - 'a' + 10);
	return value;
}

bool stamped_find(struct pl_span json, uint64_t *due_ns, uint32_t *number)
{
	static const char start[] = "\"name\":\"b";
	const uint8_t *at = memmem(json.at, json.len, start, sizeof start - 1);
	size_t need = sizeof start - 1 + STAMP_DIGITS + 1 + NUMBER_DIGITS;

	if (at == NULL || (size_t)(json.at + json.len - at) < need)
		return false;
	at += sizeof start - 1;
	*due_ns = hex(at, STAMP_DIGITS);
	*number = (uint32_t)hex(at + STAMP_DIGITS + 1, NUMBER_DIGITS);
	return true;
}
