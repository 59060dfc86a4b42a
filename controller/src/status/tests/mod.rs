//! Tests of what is said of a custom resource.

mod client_news;
mod clients;
mod conditions;
mod documentation;
mod news;
mod patch;
mod phases;
mod properties;
mod summary;
mod support;
mod text;
mod weaknesses;
