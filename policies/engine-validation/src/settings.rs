//! The settings of this policy: which images engines may use. See [`policy_kit::engine::Settings`].

pub use policy_kit::engine::Settings;
