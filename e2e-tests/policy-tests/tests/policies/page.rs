//! The page of worked cases is what its generator makes of them.

use policy_host::page::render;
use policy_tests::{module, root};

#[test]
fn the_page_shows_what_the_policies_say() {
    let docs = root().join("docs");
    let modules = module("pod-injection");
    let page = render(
        &docs.join("what-happens-to-my-pod.yaml"),
        modules.parent().expect("a folder of modules"),
    )
    .unwrap_or_else(|error| panic!("{error:#}"));
    let stored = std::fs::read_to_string(docs.join("what-happens-to-my-pod.md"))
        .unwrap_or_else(|error| panic!("{error}: run `make generate`"));
    // A failed comparison of two long texts says nothing; the first line that differs does.
    let differs = stored.lines().zip(page.lines()).find(|(stored, page)| stored != page);
    assert_eq!(differs, None, "run `make generate`");
    assert!(stored == page, "one is longer than the other: run `make generate`");
}
