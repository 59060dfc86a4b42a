//! The conditions.

use super::{ANY_OTHER, ConditionDoc, ReasonDoc};
use crate::plan::Reason;
use crate::status::words::{reasons, types};

const fn row(status: &'static str, reason: &'static str, meaning: &'static str, remedy: &'static str) -> ReasonDoc {
    ReasonDoc {
        status,
        reason,
        meaning,
        remedy,
    }
}

const T: &str = "True";
const F: &str = "False";
const U: &str = "Unknown";

const DESCRIBE: &str =
    "`kubectl describe` the Pods; Pods that are missing show in the Events of the DaemonSet or Deployment";
const FAILING: &str = "`kubectl describe` and `kubectl logs --previous` of the Pod that the message names";

/// The conditions of engines and coordinators, in the order in which they stand in a status. Conditions of other types
/// are other people's and stay.
pub const CONDITIONS: [ConditionDoc; 7] = [
    ConditionDoc {
        name: types::READY,
        is_of_engines_only: false,
        meaning: "this generation is valid, built, and all its instances are ready; kstatus and Argo CD go by it",
        reasons: &[
            row(T, reasons::ALL_READY, "all is well", ""),
            row(
                F,
                reasons::NO_NODES,
                "no node matches",
                "correct nodeSelector, affinity or tolerations, or label a node",
            ),
            row(
                F,
                reasons::NO_REPLICAS,
                "a coordinator with `replicas: 0`",
                "raise `replicas`",
            ),
            row(
                F,
                ANY_OTHER,
                "that of the first of ConfigValid, Reconciled and AllInstancesReady that is not true",
                "see there",
            ),
        ],
    },
    ConditionDoc {
        name: types::CONFIG_VALID,
        is_of_engines_only: false,
        meaning: "the specification has no faults",
        reasons: &[
            row(T, reasons::VALID, "no faults", ""),
            row(
                F,
                reasons::VALIDATION_FAILED,
                "the message lists every fault with its field; children stay as they are",
                "correct the fields",
            ),
            row(
                U,
                reasons::NAME_CONFLICT,
                "not looked at: another object has the name",
                "see Reconciled",
            ),
        ],
    },
    ConditionDoc {
        name: types::RECONCILED,
        is_of_engines_only: false,
        meaning: "every child is as the specification has it",
        reasons: &[
            row(T, reasons::RECONCILED, "nothing is left to do", ""),
            row(
                T,
                reasons::LEGACY_TEMPLATE_KEPT,
                "the Pods run on with the Go operator's template for this specification",
                "nothing; for a rollout at a time of your own, set the annotation `lmcache.ai/rollout`",
            ),
            row(
                F,
                reasons::VALIDATION_FAILED,
                "the specification has faults",
                "see ConfigValid",
            ),
            row(
                F,
                reasons::NAME_CONFLICT,
                "an older object of another kind has the name, and the children would be the same",
                "delete one of the two, or create this one under another name",
            ),
            row(
                F,
                Reason::CoordinatorNotFound.as_str(),
                "`coordinator.ref` names nothing; the servers stay as they are",
                "create the coordinator, or correct the name",
            ),
            row(
                F,
                Reason::SecretNotFound.as_str(),
                "a Secret that is named does not exist, or may not be read",
                "create it, or correct the name",
            ),
            row(
                F,
                Reason::SecretInvalid.as_str(),
                "the Secret has no password",
                "add the key `password`",
            ),
            row(
                F,
                Reason::SecretNotShared.as_str(),
                "the Secret is in another namespace and does not allow copies",
                "its owner sets the annotation `lmcache.ai/allow-copy-to`",
            ),
            row(
                F,
                Reason::ForeignObject.as_str(),
                "an object of a child's name is somebody else's, and is left alone",
                "delete it, make this one its controlling owner, or choose another name for this one",
            ),
            row(
                F,
                Reason::ServiceMonitorNotInstalled.as_str(),
                "ServiceMonitors are asked for and not there; `Ready` does not suffer",
                "install the Prometheus Operator, or switch `prometheus.serviceMonitor` off",
            ),
            row(
                F,
                Reason::Forbidden.as_str(),
                "the API server does not let the controller do it: RBAC, a quota, or an admission policy",
                "the message says which; `lmcache-controller rbac` prints what the controller needs",
            ),
            row(
                F,
                Reason::Rejected.as_str(),
                "the API server finds the object invalid",
                "correct the field that the message names",
            ),
            row(
                F,
                Reason::Conflict.as_str(),
                "somebody else changed the object at the same time",
                "it is tried again; if it stays, look for the other writer in `metadata.managedFields`",
            ),
            row(
                F,
                Reason::Unavailable.as_str(),
                "the API server did not answer in time, or is overloaded",
                "it is tried again",
            ),
            row(
                U,
                reasons::WAITING,
                "something that is named is being looked up",
                "it takes seconds",
            ),
        ],
    },
    ConditionDoc {
        name: types::AVAILABLE,
        is_of_engines_only: false,
        meaning: "at least one instance serves",
        reasons: &[
            row(T, reasons::AT_LEAST_ONE_READY, "some or all are ready", ""),
            row(
                F,
                reasons::NO_READY_INSTANCES,
                "no server of the engine is ready",
                DESCRIBE,
            ),
            row(
                F,
                reasons::NO_READY_REPLICAS,
                "no replica of the coordinator is ready",
                DESCRIBE,
            ),
            row(
                F,
                reasons::INSTANCES_FAILING,
                "none is ready, and Pods crash or cannot start",
                FAILING,
            ),
        ],
    },
    ConditionDoc {
        name: types::ALL_INSTANCES_READY,
        is_of_engines_only: false,
        meaning: "all instances serve, and all are of the present specification",
        reasons: &[
            row(T, reasons::ALL_READY, "all are ready", ""),
            row(
                F,
                reasons::NOT_ALL_READY,
                "some are not ready, or none is asked for",
                DESCRIBE,
            ),
            row(
                F,
                reasons::INSTANCES_FAILING,
                "some are not ready, and Pods crash or cannot start",
                FAILING,
            ),
            row(
                F,
                reasons::ROLLOUT_NOT_OBSERVED,
                "Kubernetes has not looked at the changed workload yet",
                "it takes seconds; if it stays, look at kube-controller-manager",
            ),
            row(
                F,
                reasons::ROLLOUT_IN_PROGRESS,
                "all are ready, some still of the former specification",
                "wait; with `updateStrategy` OnDelete, delete the Pods",
            ),
        ],
    },
    ConditionDoc {
        name: types::CLIENTS_COVERED,
        is_of_engines_only: true,
        meaning: "every node that runs a wired Pod has a ready server",
        reasons: &[
            row(T, reasons::ALL_COVERED, "every one", ""),
            row(T, reasons::NO_CLIENTS, "no Pod is wired", ""),
            row(
                F,
                reasons::NO_READY_SERVER,
                "the message names the nodes; a Pod reaches the server of its own node alone",
                "let the engine run where its Pods do, or the Pods where it does: nodeSelector, affinity, tolerations",
            ),
        ],
    },
    ConditionDoc {
        name: types::L2_RECONNECT_NEEDED,
        is_of_engines_only: true,
        meaning: "servers run that read a Secret before it was last changed; there only where a Secret is named",
        reasons: &[
            row(
                T,
                reasons::SECRET_CHANGED,
                "the message names Pods and Secret; a server never reads it again",
                "a changed Redis login is rolled out by itself; after another change, delete the Pods",
            ),
            row(F, reasons::UP_TO_DATE, "all were started later", ""),
            row(
                U,
                reasons::SECRET_NOT_READABLE,
                "the Secret does not exist, or may not be read",
                "create it, or correct the name",
            ),
        ],
    },
];
