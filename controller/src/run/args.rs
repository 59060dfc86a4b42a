//! What the process is told.

use clap::ArgAction;
use clap::builder::BoolishValueParser;
use lmcache_api::IpcMode;
use lmcache_api::names::{check_label, check_subdomain};

use super::logs::{self, Format};
use super::server::Bind;

/// Options of the command. Each can be given as an environment variable instead; the command line wins.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Work only while this process holds the Lease `lmcache-controller`, so that of several replicas one works. Without it,
    /// run one replica only.
    #[arg(
        long, env = "LMCACHE_CONTROLLER_LEADER_ELECT", value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1,
        require_equals = true, default_value = "false", default_missing_value = "true",
        value_parser = BoolishValueParser::new()
    )]
    pub leader_elect: bool,
    /// Namespace of the Lease. By default the one that the process runs in, outside of a cluster the one of the kubeconfig.
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAMESPACE", value_parser = namespace)]
    pub lease_namespace: Option<String>,
    /// Name by which this process holds the Lease and reports Events; no two processes may share one. By default the host
    /// name and random digits.
    #[arg(long, env = "POD_NAME", value_name = "NAME", value_parser = identity)]
    pub identity: Option<String>,
    /// How engines that say nothing about it share memory with their clients: HostIPC, HostShm or Isolated. Must be what the
    /// policies' setting `ipcDefault` says.
    #[arg(
        long,
        env = "LMCACHE_CONTROLLER_IPC_DEFAULT",
        value_name = "MODE",
        default_value = "HostIPC"
    )]
    pub ipc_default: IpcMode,
    /// DNS suffix of the cluster's Services. Must be what the policies' setting `clusterDomain` says.
    #[arg(
        long, env = "LMCACHE_CONTROLLER_CLUSTER_DOMAIN", value_name = "DOMAIN", default_value = "cluster.local",
        value_parser = domain
    )]
    pub cluster_domain: String,
    /// How many objects of one kind are reconciled at a time, at most.
    #[arg(
        long, env = "LMCACHE_CONTROLLER_CONCURRENCY", value_name = "NUMBER", default_value = "4",
        value_parser = clap::value_parser!(u16).range(1..=256)
    )]
    pub concurrency: u16,
    /// Where `/metrics` is served: `:PORT` for every address, `ADDRESS:PORT`, or 0 for nowhere.
    #[arg(
        long,
        env = "LMCACHE_CONTROLLER_METRICS_BIND_ADDRESS",
        value_name = "ADDRESS",
        default_value = ":8080"
    )]
    pub metrics_bind_address: Bind,
    /// Where `/healthz` and `/readyz` are served: `:PORT` for every address, `ADDRESS:PORT`, or 0 for nowhere.
    #[arg(
        long,
        env = "LMCACHE_CONTROLLER_HEALTH_PROBE_BIND_ADDRESS",
        value_name = "ADDRESS",
        default_value = ":8081"
    )]
    pub health_probe_bind_address: Bind,
    /// What log lines look like.
    #[arg(
        long,
        env = "LMCACHE_CONTROLLER_LOG_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value = "json"
    )]
    pub log_format: Format,
    /// What is logged: off, error, warn, info, debug or trace; `target=level`, also several with commas between, for parts
    /// of it.
    #[arg(
        long, env = "LMCACHE_CONTROLLER_LOG_LEVEL", value_name = "LEVEL", default_value = "info", value_parser = logs::level
    )]
    pub log_level: String,
}

fn namespace(text: &str) -> Result<String, String> {
    check_label(text).map(|()| text.to_owned())
}

fn domain(text: &str) -> Result<String, String> {
    check_subdomain(text).map(|()| text.to_owned())
}

/// What the API takes as `reportingInstance` of an Event, which is the narrower of the two uses.
fn identity(text: &str) -> Result<String, String> {
    if (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err("must be 1 to 128 printable ASCII characters without spaces".to_owned())
    }
}
