//! The settings of this policy. They are shared by every policy that wires Pods, so that those decide alike; see
//! [`policy_kit::pod::Settings`] for the meaning of each.

pub use policy_kit::pod::Settings;
