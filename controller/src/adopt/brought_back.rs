//! Objects that have to change, and belong to something that puts its objects back.

use super::finding::{Finding, codes};
use super::installer::Installer;

/// What is to be said where Argo CD, Flux or OLM has such an object: what was found, and what to do about it there.
pub(super) fn finding(what: &str, by: &[Installer], todo: &str) -> Option<Finding> {
    let owners = |is_certain: bool| -> Vec<&Installer> {
        let owners = by.iter().filter(|by| by.reconciles() && by.is_certain == is_certain);
        owners.collect()
    };
    let (certain, perhaps) = (owners(true), owners(false));
    if !certain.is_empty() {
        let titles: Vec<String> = certain.iter().map(|owner| owner.title()).collect();
        let found = format!("{} owns {what}", titles.join(", "));
        return Some(Finding::note(codes::BROUGHT_BACK, found, todo));
    }
    let owner = perhaps.first()?;
    let why = if owner.name.is_empty() {
        "it wrote there, and no label or annotation that is known here says for which application".to_owned()
    } else {
        format!(
            "the label app.kubernetes.io/instance: {} is what it tracks by before 3.0, and others set it as well",
            owner.name
        )
    };
    Some(Finding::note(
        codes::BROUGHT_BACK,
        format!("{} may own {what}: {why}", owner.title()),
        format!("ask it which resources its applications have; if this is one of them, {todo}"),
    ))
}
