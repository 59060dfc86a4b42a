//! A real Kubernetes control plane for tests: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kwok,
//! which plays nodes and the lives of Pods.
//!
//! [`Programs`] finds the programs or builds them, once; [`ControlPlane`] runs them on loopback ports with a data folder,
//! certificates and users of their own; [`Cluster`] is a user's view of it; [`Controller`] runs `lmcache-controller`
//! against it, [`PolicyServer`] the policies as webhooks, [`ProxyWebhook`] and [`GoWebhooks`] those of others; [`Audit`]
//! tells who asked for what, [`Prometheus`] watches the controller, and [`scale`] measures. [`Registry`] is for the tests of
//! what is published. When the process that started all this ends, however it ends, nothing is left behind: see
//! [`process`].

mod arguments;
pub mod audit;
mod binaries;
mod certificates;
pub mod cluster;
pub mod controller;
pub mod given;
mod go;
pub mod go_webhooks;
pub mod identity;
mod kinds;
mod plane;
pub mod policy_server;
mod ports;
pub mod process;
mod programs;
pub mod prometheus;
pub mod proxy_webhook;
pub mod registry;
pub mod scale;
mod setup;
mod tools;
mod wait;
mod webhook_server;

pub use audit::Audit;
pub use certificates::Pair;
pub use cluster::Cluster;
pub use controller::Controller;
pub use go::cache;
pub use go_webhooks::GoWebhooks;
pub use identity::Identity;
pub use plane::ControlPlane;
pub use policy_server::{Policy, PolicyServer, check_policies};
pub use programs::{Program, Programs};
pub use prometheus::Prometheus;
pub use proxy_webhook::ProxyWebhook;
pub use registry::Registry;
pub use tools::Tool;
pub use wait::wait_until;
