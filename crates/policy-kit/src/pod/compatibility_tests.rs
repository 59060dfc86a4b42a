use super::*;
#[cfg(not(target_arch = "wasm32"))]
use core::prelude::v1 as test_runner;
use rstest::rstest;
use serde_json::json;
#[cfg(target_arch = "wasm32")]
mod test_runner {
    pub use wasm_bindgen_test::wasm_bindgen_test as test;
}

fn known(vllm: &str, client: &str, server: &str) -> Releases {
    Releases {
        vllm: Release::from_tag(vllm),
        client: Release::from_tag(client),
        server: Release::from_tag(server),
    }
}

#[rstest]
#[case::before_the_table("0.10.2", "0.5.6", "fine")]
#[case::no_lmcache_works("0.11.0", "", "bad")]
#[case::not_even_an_old_one("0.16.0", "0.4.5", "bad")]
#[case::own_connector_unknown_client("0.17.0", "", "doubt")]
#[case::own_connector_oldest_client("0.17.1", "0.4.1", "doubt")]
#[case::own_connector_takes_no_time_out("0.18.0", "0.4.1", "bad")]
#[case::own_connector_fits("0.19.1", "0.4.7", "doubt")]
#[case::own_connector_takes_lists_apart("0.19.1", "0.5.0", "bad")]
#[case::missing_name_in_vllm("0.20.2", "0.4.7", "bad")]
#[case::loads("0.21.0", "0.4.6", "fine")]
#[case::no_module("0.21.0", "0.4.4", "bad")]
#[case::unknown_client("0.21.0", "", "fine")]
#[case::loads_from_here_on("0.22.0", "0.4.7", "fine")]
#[case::no_module_either("0.28.0", "0.4.1", "bad")]
#[case::newest("0.28.0", "0.5.6", "fine")]
#[case::no_layout_hint("0.29.0", "0.5.4", "doubt")]
#[case::layout_hint("0.33.0", "0.5.5", "fine")]
#[case::newer_vllm_than_read("0.34.0", "0.4.1", "fine")]
#[case::newer_client_than_read("0.30.0", "0.6.0", "fine")]
#[case::nothing_known("", "", "fine")]
#[test_runner::test]
fn vllm_and_client(#[case] vllm: &str, #[case] client: &str, #[case] expected: &str) {
    let found = match connector(&known(vllm, client, "")) {
        Verdict::Fine => "fine",
        Verdict::Doubt(_) => "doubt",
        Verdict::Bad(SkipReason::EngineImageIncompatible, ..) => "bad",
        Verdict::Bad(..) => "another reason",
    };
    assert_eq!(found, expected);
}

#[rstest]
#[case::same_release("0.5.6", "0.5.6", true)]
#[case::same_group("0.5.5", "0.5.6", true)]
#[case::same_older_group("0.5.0", "0.5.2", true)]
#[case::wipes_the_cache("0.4.7", "0.5.2", false)]
#[case::hangs("0.5.6", "0.5.4", false)]
#[case::ends_the_server("0.5.3", "0.5.5", false)]
#[case::each_of_the_first_is_alone("0.4.3", "0.4.4", false)]
#[case::newer_than_read("0.5.6", "0.6.0", true)]
#[case::unknown_server("0.5.6", "", true)]
#[test_runner::test]
fn client_and_server(#[case] client: &str, #[case] server: &str, #[case] fine: bool) {
    assert_eq!(skew(&known("", client, server), false) == Verdict::Fine, fine);
}

#[rstest]
#[case::unknown("", "", true)]
#[case::first_client("", "0.5.5", true)]
#[case::older_client("", "0.5.4", false)]
#[case::own_connector("0.19.0", "", false)]
#[case::newer_vllm("0.22.0", "", true)]
#[test_runner::test]
fn isolated_ipc(#[case] vllm: &str, #[case] client: &str, #[case] fine: bool) {
    assert_eq!(
        isolation(&known(vllm, client, ""), IpcMode::Isolated) == Verdict::Fine,
        fine
    );
    assert_eq!(isolation(&known(vllm, client, ""), IpcMode::HostIPC), Verdict::Fine);
}

#[rstest]
#[case::plain("vllm/vllm-openai:v0.19.0", Some("0.19.0"))]
#[case::registry("docker.io/vllm/vllm-openai:v0.19.0", Some("0.19.0"))]
#[case::port("mirror:5000/vllm/vllm-openai:v0.19.0-cu129", Some("0.19.0"))]
#[case::digest("vllm/vllm-openai@sha256:abc", None)]
#[case::tag_and_digest("vllm/vllm-openai:v0.19.0@sha256:abc", Some("0.19.0"))]
#[case::floating("vllm/vllm-openai:latest", None)]
#[case::no_tag("vllm/vllm-openai", None)]
#[case::another_image("acme/vllm-openai:v0.19.0", None)]
#[case::only_ends_alike("xvllm/vllm-openai:v0.19.0", None)]
#[case::lmcache_is_another("lmcache/vllm-openai:v0.5.6", None)]
#[case::empty("", None)]
#[test_runner::test]
fn release_of_an_image(#[case] image: &str, #[case] expected: Option<&str>) {
    assert_eq!(
        tag_release(image, "vllm/vllm-openai"),
        expected.and_then(Release::from_tag)
    );
}

#[test_runner::test]
fn annotations_win_over_tags_and_nonsense_counts_as_unknown() {
    let pod = json!({"metadata": {"annotations": {VLLM_RELEASE: "0.22.0", CLIENT_RELEASE: "newest"}}});
    let target = json!({"image": "lmcache/vllm-openai:v0.5.3"});
    let mut warnings = Vec::new();
    let releases = Releases::read(&pod, &target, None, &crate::pod::LMCACHE, &mut warnings);
    assert_eq!(releases, known("0.22.0", "", ""));
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("lmcache.ai/client-release") && warnings[0].contains("newest"));
}
