//! Containers, their probes, resources and mounts.

use super::super::schema::Kind::{Bool, IntOrString, Integers, Object, Objects, Quantities, Text, Texts};
use super::super::schema::{INT32, INT64, Shape, field};
use super::env::{ENV_FROM_SOURCE, ENV_VAR};

pub(in crate::legacy) static CONTAINER: Shape = Shape(&[
    field("name", Text).required(),
    field("image", Text),
    field("command", Texts),
    field("args", Texts),
    field("workingDir", Text),
    field("ports", Objects(&CONTAINER_PORT)),
    field("envFrom", Objects(&ENV_FROM_SOURCE)),
    field("env", Objects(&ENV_VAR)),
    field("resources", Object(&RESOURCE_REQUIREMENTS)),
    field("resizePolicy", Objects(&CONTAINER_RESIZE_POLICY)),
    field("restartPolicy", Text).pointer(),
    field("restartPolicyRules", Objects(&CONTAINER_RESTART_RULE)),
    field("volumeMounts", Objects(&VOLUME_MOUNT)),
    field("volumeDevices", Objects(&VOLUME_DEVICE)),
    field("livenessProbe", Object(&PROBE)).pointer(),
    field("readinessProbe", Object(&PROBE)).pointer(),
    field("startupProbe", Object(&PROBE)).pointer(),
    field("lifecycle", Object(&LIFECYCLE)).pointer(),
    field("terminationMessagePath", Text).in_pod("\"/dev/termination-log\""),
    field("terminationMessagePolicy", Text).in_pod("\"File\""),
    field("imagePullPolicy", Text),
    field("securityContext", Object(&SECURITY_CONTEXT)).pointer(),
    field("stdin", Bool),
    field("stdinOnce", Bool),
    field("tty", Bool),
]);

pub(in crate::legacy) static SECURITY_CONTEXT: Shape = Shape(&[
    field("capabilities", Object(&CAPABILITIES)).pointer(),
    field("privileged", Bool).pointer(),
    field("seLinuxOptions", Object(&SE_LINUX_OPTIONS)).pointer(),
    field("windowsOptions", Object(&WINDOWS_SECURITY_CONTEXT_OPTIONS)).pointer(),
    field("runAsUser", INT64).pointer(),
    field("runAsGroup", INT64).pointer(),
    field("runAsNonRoot", Bool).pointer(),
    field("readOnlyRootFilesystem", Bool).pointer(),
    field("allowPrivilegeEscalation", Bool).pointer(),
    field("procMount", Text).pointer(),
    field("seccompProfile", Object(&SECCOMP_PROFILE)).pointer(),
    field("appArmorProfile", Object(&APP_ARMOR_PROFILE)).pointer(),
]);

pub(in crate::legacy) static APP_ARMOR_PROFILE: Shape = Shape(&[
    field("type", Text).required(),
    field("localhostProfile", Text).pointer(),
]);

pub(in crate::legacy) static SECCOMP_PROFILE: Shape = Shape(&[
    field("type", Text).required(),
    field("localhostProfile", Text).pointer(),
]);

pub(in crate::legacy) static WINDOWS_SECURITY_CONTEXT_OPTIONS: Shape = Shape(&[
    field("gmsaCredentialSpecName", Text).pointer(),
    field("gmsaCredentialSpec", Text).pointer(),
    field("runAsUserName", Text).pointer(),
    field("hostProcess", Bool).pointer(),
]);

pub(in crate::legacy) static SE_LINUX_OPTIONS: Shape = Shape(&[
    field("user", Text),
    field("role", Text),
    field("type", Text),
    field("level", Text),
]);

pub(in crate::legacy) static CAPABILITIES: Shape = Shape(&[field("add", Texts), field("drop", Texts)]);

pub(in crate::legacy) static LIFECYCLE: Shape = Shape(&[
    field("postStart", Object(&LIFECYCLE_HANDLER)).pointer(),
    field("preStop", Object(&LIFECYCLE_HANDLER)).pointer(),
    field("stopSignal", Text).pointer(),
]);

pub(in crate::legacy) static LIFECYCLE_HANDLER: Shape = Shape(&[
    field("exec", Object(&EXEC_ACTION)).pointer(),
    field("httpGet", Object(&HTTP_GET_ACTION)).pointer(),
    field("tcpSocket", Object(&TCP_SOCKET_ACTION)).pointer(),
    field("sleep", Object(&SLEEP_ACTION)).pointer(),
]);

pub(in crate::legacy) static SLEEP_ACTION: Shape = Shape(&[field("seconds", INT64).required()]);

pub(in crate::legacy) static PROBE: Shape = Shape(&[
    field("exec", Object(&EXEC_ACTION)).pointer(),
    field("httpGet", Object(&HTTP_GET_ACTION)).pointer(),
    field("tcpSocket", Object(&TCP_SOCKET_ACTION)).pointer(),
    field("grpc", Object(&GRPC_ACTION)).pointer(),
    field("initialDelaySeconds", INT32),
    field("timeoutSeconds", INT32).in_pod("1"),
    field("periodSeconds", INT32).in_pod("10"),
    field("successThreshold", INT32).in_pod("1"),
    field("failureThreshold", INT32).in_pod("3"),
    field("terminationGracePeriodSeconds", INT64).pointer(),
]);

pub(in crate::legacy) static GRPC_ACTION: Shape = Shape(&[
    field("port", INT32).required(),
    field("service", Text).pointer().default("\"\""),
]);

pub(in crate::legacy) static TCP_SOCKET_ACTION: Shape =
    Shape(&[field("port", IntOrString).required(), field("host", Text)]);

pub(in crate::legacy) static HTTP_GET_ACTION: Shape = Shape(&[
    field("path", Text).in_pod("\"/\""),
    field("port", IntOrString).required(),
    field("host", Text),
    field("scheme", Text).in_pod("\"HTTP\""),
    field("httpHeaders", Objects(&HTTP_HEADER)),
]);

pub(in crate::legacy) static HTTP_HEADER: Shape =
    Shape(&[field("name", Text).required(), field("value", Text).required()]);

pub(in crate::legacy) static EXEC_ACTION: Shape = Shape(&[field("command", Texts)]);

pub(in crate::legacy) static VOLUME_DEVICE: Shape =
    Shape(&[field("name", Text).required(), field("devicePath", Text).required()]);

pub(in crate::legacy) static CONTAINER_RESTART_RULE: Shape = Shape(&[
    field("action", Text).required(),
    field("exitCodes", Object(&CONTAINER_RESTART_RULE_ON_EXIT_CODES)).pointer(),
]);

pub(in crate::legacy) static CONTAINER_RESTART_RULE_ON_EXIT_CODES: Shape =
    Shape(&[field("operator", Text).required(), field("values", Integers)]);

pub(in crate::legacy) static CONTAINER_RESIZE_POLICY: Shape = Shape(&[
    field("resourceName", Text).required(),
    field("restartPolicy", Text).required(),
]);

pub(in crate::legacy) static CONTAINER_PORT: Shape = Shape(&[
    field("name", Text),
    field("hostPort", INT32),
    field("containerPort", INT32).required(),
    field("protocol", Text).default("\"TCP\""),
    field("hostIP", Text),
]);

pub(in crate::legacy) static VOLUME_MOUNT: Shape = Shape(&[
    field("name", Text).required(),
    field("readOnly", Bool),
    field("recursiveReadOnly", Text).pointer(),
    field("mountPath", Text).required(),
    field("subPath", Text),
    field("mountPropagation", Text).pointer(),
    field("subPathExpr", Text),
]);

pub(in crate::legacy) static RESOURCE_REQUIREMENTS: Shape = Shape(&[
    field("limits", Quantities),
    field("requests", Quantities),
    field("claims", Objects(&RESOURCE_CLAIM)),
]);

pub(in crate::legacy) static RESOURCE_CLAIM: Shape = Shape(&[field("name", Text).required(), field("request", Text)]);
