//! Rules of images and releases.

use super::Faults;
use crate::fault::quote;
use crate::image::{check_repository, check_tag};
use crate::{FieldError, ImageSpec, Release};

/// Repository and tag, roughly; a registry knows better.
pub(super) fn check(path: &str, image: Option<&ImageSpec>, faults: &mut Faults) {
    let Some(image) = image else { return };
    if let Some(repository) = &image.repository
        && let Err(expected) = check_repository(repository)
    {
        // Where a payload's repository is empty, that it is required was said already.
        let path = format!("{path}.repository");
        if !faults.found.iter().any(|fault| fault.path == path) {
            faults.push(FieldError::invalid(path, quote(repository), expected));
        }
    }
    if let Some(tag) = &image.tag
        && let Err(expected) = check_tag(tag)
    {
        faults.push(FieldError::invalid(format!("{path}.tag"), quote(tag), expected));
    }
}

/// A release that cannot be read would silently count as unknown.
pub(super) fn check_release(path: &str, release: Option<&str>, faults: &mut Faults) {
    if let Some(release) = release
        && Release::from_tag(release).is_none()
    {
        faults.push(FieldError::invalid(
            path,
            quote(release),
            "must be an LMCache release such as 0.5.3",
        ));
    }
}
