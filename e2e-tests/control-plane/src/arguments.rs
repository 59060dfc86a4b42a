//! What the programs of a control plane are told.

use crate::plane::{ControlPlane, Ports};
use crate::setup::NODES;
use crate::{Identity, Program};

impl ControlPlane {
    pub(crate) fn arguments(&self, program: Program) -> Vec<String> {
        let Ports {
            etcd,
            peer,
            api,
            controller_manager,
            scheduler,
        } = self.ports;
        let file = |name: &str| self.file(name).display().to_string();
        let kubeconfig = |identity| self.kubeconfig(identity).display().to_string();
        match program {
            Program::Etcd => vec![
                format!("--data-dir={}", file("etcd")),
                format!("--listen-client-urls=http://127.0.0.1:{etcd}"),
                format!("--advertise-client-urls=http://127.0.0.1:{etcd}"),
                format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-cluster=default=http://127.0.0.1:{peer}"),
                // The data live as long as the test.
                "--unsafe-no-fsync".to_owned(),
            ],
            Program::ApiServer => vec![
                format!("--etcd-servers=http://127.0.0.1:{etcd}"),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={api}"),
                format!("--tls-cert-file={}", file("api.crt")),
                format!("--tls-private-key-file={}", file("api.key")),
                format!("--cert-dir={}", file("certificates")),
                "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
                format!("--service-account-signing-key-file={}", file("tokens.key")),
                format!("--service-account-key-file={}", file("tokens.pub")),
                format!("--token-auth-file={}", file("tokens.csv")),
                "--authorization-mode=RBAC".to_owned(),
                "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
                // Else Pods are refused until the service account of a new namespace is there.
                "--disable-admission-plugins=ServiceAccount".to_owned(),
                // As OpenShift has it: who sets an owner needs a right to the owner.
                "--enable-admission-plugins=OwnerReferencesPermissionEnforcement".to_owned(),
                "--allow-privileged=true".to_owned(),
                format!("--audit-policy-file={}", file("audit.yaml")),
                format!("--audit-log-path={}", file("audit.log")),
                // Megabytes before a new file is begun: never.
                "--audit-log-maxsize=100000".to_owned(),
            ],
            Program::ControllerManager => vec![
                format!("--kubeconfig={}", kubeconfig(Identity::ControllerManager)),
                format!("--service-account-private-key-file={}", file("tokens.key")),
                format!("--root-ca-file={}", file("ca.crt")),
                "--use-service-account-credentials=false".to_owned(),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={controller_manager}"),
                // Its own limits, 20 and 30, are for a cluster that it shares with others.
                "--kube-api-qps=1000".to_owned(),
                "--kube-api-burst=1000".to_owned(),
                format!("--cert-dir={}", file("certificates")),
                "--leader-elect=false".to_owned(),
            ],
            Program::Scheduler => vec![
                format!("--kubeconfig={}", kubeconfig(Identity::Scheduler)),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={scheduler}"),
                "--kube-api-qps=1000".to_owned(),
                "--kube-api-burst=1000".to_owned(),
                format!("--cert-dir={}", file("certificates")),
                "--leader-elect=false".to_owned(),
            ],
            Program::Kwok => vec![
                format!("--kubeconfig={}", kubeconfig(Identity::Kwok)),
                format!("--config={}", file("stages.yaml")),
                format!("--manage-nodes-with-annotation-selector={}={}", NODES.0, NODES.1),
                "--node-lease-duration-seconds=40".to_owned(),
            ],
        }
    }
}
