use super::*;
#[cfg(not(target_arch = "wasm32"))]
use core::prelude::v1 as test_runner;
use rstest::rstest;
use serde_json::json;
use std::collections::BTreeMap;
#[cfg(target_arch = "wasm32")]
mod test_runner {
    pub use wasm_bindgen_test::wasm_bindgen_test as test;
}

fn known(vllm: &str, client: &str, server: &str) -> Releases {
    Releases {
        vllm: Packed::from_tag(vllm),
        client: Packed::from_tag(client),
        server: Packed::from_tag(server),
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
#[case::own_connector_newer_client("0.19.1", "0.6.0", "doubt")]
#[case::before_the_first_client("0.22.0", "0.3.9", "bad")]
#[case::newer_vllm_than_read("0.999.0", "0.4.1", "fine")]
#[case::newer_client_than_read("0.30.0", "0.999.0", "fine")]
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
#[case::no_lmcache(
    "0.16.0",
    "",
    "no LMCache release works with vLLM 0.16.0",
    "use vLLM 0.22.0 or newer"
)]
#[case::own_connector(
    "0.19.1",
    "0.5.0",
    "vLLM 0.19.1 runs its own connector, which cannot use LMCache 0.5.0",
    "use vLLM 0.22.0 or newer"
)]
#[case::own_connector_never_loads(
    "0.18.0",
    "0.4.1",
    "vLLM 0.18.0 runs its own connector, which cannot use LMCache 0.4.1",
    "use LMCache 0.4.2 to 0.4.7"
)]
#[case::two_clients_fit(
    "0.20.0",
    "0.4.4",
    "LMCache 0.4.4 has no connector for vLLM 0.20.0",
    "use LMCache 0.4.5 to 0.4.6"
)]
#[case::no_module(
    "0.28.0",
    "0.4.4",
    "LMCache 0.4.4 has no connector for vLLM 0.28.0",
    "use LMCache 0.4.5 or newer"
)]
#[case::best_client(
    "0.33.0",
    "0.4.2",
    "LMCache 0.4.2 has no connector for vLLM 0.33.0",
    "use LMCache 0.5.5 or newer"
)]
#[case::newer_vllm(
    "0.20.2",
    "0.5.6",
    "LMCache 0.5.6 does not load in vLLM 0.20.2",
    "use vLLM 0.22.0 or newer"
)]
#[test_runner::test]
fn harm_names_what_to_use(#[case] vllm: &str, #[case] client: &str, #[case] problem: &str, #[case] remedy: &str) {
    assert_eq!(
        connector(&known(vllm, client, "")),
        incompatible(problem.to_owned(), remedy)
    );
}

#[rstest]
#[case::any_client(
    "0.17.1",
    "",
    "vLLM 0.17.1 runs its own LMCacheMPConnector whatever is injected: only LMCache 0.4.1 to 0.4.7 works, with host and port alone"
)]
#[case::fewer_clients(
    "0.19.1",
    "0.4.7",
    "vLLM 0.19.1 runs its own LMCacheMPConnector whatever is injected: only LMCache 0.4.2 to 0.4.7 works, with host and port alone"
)]
#[case::no_layout_hint(
    "0.29.0",
    "0.5.4",
    "LMCache 0.5.4 cannot read the KV layout of vLLM 0.29.0; use LMCache 0.5.5 or newer"
)]
#[test_runner::test]
fn doubt_says_why(#[case] vllm: &str, #[case] client: &str, #[case] text: &str) {
    assert_eq!(connector(&known(vllm, client, "")), Verdict::Doubt(text.to_owned()));
}

#[test_runner::test]
fn a_release_newer_than_the_table_is_let_through_with_a_warning() {
    assert_eq!(newer(&known("0.33.0", "0.5.6", "0.999.0")), Verdict::Fine);
    for (vllm, client) in [("0.999.0", "0.5.6"), ("", "0.999.0")] {
        let releases = known(vllm, client, "");
        let Verdict::Doubt(text) = newer(&releases) else {
            panic!("{vllm} {client}")
        };
        assert!(text.contains("0.999.0 is newer than"), "{text}");
        assert_eq!(connector(&releases), Verdict::Fine);
        assert_eq!(
            skew(&known("", client, "0.4.1"), true) == Verdict::Fine,
            client == "0.999.0"
        );
    }
}

#[rstest]
#[case::same_release("0.5.6", "0.5.6", true)]
#[case::same_group("0.5.3", "0.5.4", true)]
#[case::same_older_group("0.5.1", "0.5.2", true)]
#[case::between_two_that_are_known("0.4.7", "0.4.8", true)]
#[case::handles_of_a_moved_class("0.5.0", "0.5.1", false)]
#[case::pickled_handles("0.5.5", "0.5.6", false)]
#[case::wipes_the_cache("0.4.7", "0.5.2", false)]
#[case::hangs("0.5.6", "0.5.4", false)]
#[case::ends_the_server("0.5.3", "0.5.5", false)]
#[case::each_of_the_first_is_alone("0.4.3", "0.4.4", false)]
#[case::newer_than_read("0.5.6", "0.999.0", true)]
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

#[test_runner::test]
fn packed_releases_compare_and_read_as_what_they_are() {
    let tags = [
        "0.0.0",
        "0.4.7",
        "0.4.10",
        "0.5.0",
        "0.5.20261129",
        "0.5.4294967295",
        "0.33.0",
        "1.0.0",
        "999.0.1",
    ];
    let packed: Vec<Packed> = tags.iter().filter_map(|tag| Packed::from_tag(tag)).collect();
    assert!(packed.is_sorted_by(|one, next| one < next), "{packed:?}");
    assert_eq!(packed.iter().map(ToString::to_string).collect::<Vec<_>>(), tags);
    assert_eq!(
        Packed::from_tag("0.4294967295.1").map(|it| it.to_string()).as_deref(),
        Some("0.4194303.1")
    );
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
        expected.and_then(Packed::from_tag)
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

/// `clients.json`, from which the table is made.
fn data() -> Value {
    serde_json::from_str(include_str!("../../../data/clients.json")).expect("clients.json is JSON")
}

fn names(data: &Value, side: &str) -> Vec<Packed> {
    let list = data[side].as_array().expect("a list of releases");
    list.iter()
        .map(|each| Packed::from_tag(each["release"].as_str().expect("a text")).expect("a release"))
        .collect()
}

/// The releases of a range: first and last, both included; no last one is the newest.
fn ranged(ends: &Value, names: &[Packed]) -> Vec<Packed> {
    let end = |index: usize| ends[index].as_str().and_then(Packed::from_tag);
    let (first, last) = (
        end(0).expect("a first release"),
        end(1).unwrap_or(names[names.len() - 1]),
    );
    names
        .iter()
        .copied()
        .filter(|name| (first..=last).contains(name))
        .collect()
}

#[test_runner::test]
fn every_pair_that_was_read_is_judged_as_it_was_read() {
    let data = data();
    let (vllm, lmcache) = (names(&data, "vllm"), names(&data, "lmcache"));
    let mut fits = BTreeMap::new();
    for row in data["pairs"].as_array().expect("a list") {
        let fit = match row["fit"].as_str() {
            Some("loads") => Fit::Loads,
            Some("no-layout-hint") => Fit::NoLayoutHint,
            Some("own-connector") => Fit::OwnConnector,
            Some("own-connector-fails") => Fit::OwnConnectorFails,
            Some("no-module") => Fit::NoModule,
            Some("does-not-load") => Fit::DoesNotLoad,
            other => panic!("{other:?} is no fit"),
        };
        for vllm in ranged(&row["vllm"], &vllm) {
            for client in ranged(&row["lmcache"], &lmcache) {
                assert!(
                    fits.insert((vllm, client), fit).is_none(),
                    "{vllm} and {client} stand there twice"
                );
            }
        }
    }
    assert_eq!(fits.len(), vllm.len() * lmcache.len());
    let works = |vllm: &Packed| {
        let mut column = fits.iter().filter(|(pair, _)| pair.0 == *vllm);
        column.any(|(_, fit)| matches!(fit, Fit::Loads | Fit::NoLayoutHint | Fit::OwnConnector))
    };
    for ((vllm, client), fit) in &fits {
        let fit = if works(vllm) { *fit } else { Fit::NoClient };
        let found = rules::row(*vllm, Some(*client)).map(|row| row.fit);
        assert_eq!(found, Some(fit), "{vllm} and {client}");
        let verdict = connector(&Releases {
            vllm: Some(*vllm),
            client: Some(*client),
            server: None,
        });
        let expected = match fit {
            Fit::Loads => "fine",
            Fit::NoLayoutHint | Fit::OwnConnector => "doubt",
            Fit::OwnConnectorFails | Fit::NoModule | Fit::DoesNotLoad | Fit::NoClient => "bad",
        };
        let found = match verdict {
            Verdict::Fine => "fine",
            Verdict::Doubt(_) => "doubt",
            Verdict::Bad(..) => "bad",
        };
        assert_eq!(found, expected, "{vllm} and {client}");
    }
}

#[test_runner::test]
fn a_group_understands_itself_and_no_other() {
    let data = data();
    let lmcache = names(&data, "lmcache");
    let groups: Vec<Vec<Packed>> = data["wire"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| ranged(&row["lmcache"], &lmcache))
        .collect();
    assert_eq!(groups.concat(), lmcache, "the groups are runs of all releases");
    for client in &lmcache {
        for server in &lmcache {
            let together = groups
                .iter()
                .any(|group| group.contains(client) && group.contains(server));
            let releases = Releases {
                vllm: None,
                client: Some(*client),
                server: Some(*server),
            };
            assert_eq!(
                skew(&releases, false) == Verdict::Fine,
                together,
                "{client} and {server}"
            );
        }
    }
}

#[test_runner::test]
fn what_we_write_into_the_connection_is_read_from_the_release_that_the_table_names() {
    let data = data();
    let first = |key: &str| {
        let rows = data["keys"].as_array().expect("a list");
        let row = rows.iter().find(|row| row["key"] == key).expect("the key is read");
        Packed::from_tag(row["first"].as_str().expect("a text")).expect("a release")
    };
    assert_eq!(first("lmcache.mp.isolated_ipc"), FIRST_ISOLATED);
    // Client and server learned it in the same release.
    let flag = lmcache_server::table::SERVER
        .iter()
        .find(|flag| flag.name == "--isolated-ipc");
    assert_eq!(FIRST_ISOLATED, Packed::of(flag.unwrap().span.since()));
    // The others are read by every client that has the connector at all.
    for row in &table::ROWS {
        if matches!(row.fit, Fit::Loads | Fit::NoLayoutHint) {
            assert!(
                row.client >= first("lmcache.mp.host").max(first("lmcache.mp.port")),
                "{row:?}"
            );
        }
    }
}

#[test_runner::test]
fn a_flag_is_known_to_the_releases_that_know_it() {
    let data = data();
    let vllm = names(&data, "vllm");
    for row in data["flags"].as_array().expect("a list") {
        let flag = row["flag"].as_str().expect("a text");
        let known = ranged(&row["vllm"], &vllm);
        for release in &vllm {
            assert_eq!(
                rules::without_flag(*release, flag).is_none(),
                known.contains(release),
                "{flag} in {release}"
            );
        }
    }
    let old = known("0.12.0", "", "");
    let (release, advice) = old.without_flag("--attention-backend").expect("it is not known there");
    assert_eq!(
        (release.to_string().as_str(), advice),
        ("0.12.0", "use vLLM 0.13.0 or newer")
    );
    // The connection is injected without this question, so every vLLM has to know its flag.
    assert!(
        vllm.iter()
            .all(|release| rules::without_flag(*release, "--kv-transfer-config").is_none())
    );
}
