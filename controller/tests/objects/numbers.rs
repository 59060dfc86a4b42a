//! Numbers: what the user writes is what the server gets, in the Go operator's format where that loses nothing.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{children, container, coordinator, engine, flag};

#[rstest]
#[case::one_rounds_to_nothing(json!(0.04), "0.04", "6Gi", "9Gi")]
#[case::half(json!(0.5), "0.5", "6Gi", "9Gi")]
#[case::whole(json!(60), "60.0", "65Gi", "98Gi")]
#[case::whole_as_float(json!(60.0), "60.0", "65Gi", "98Gi")]
#[case::two_decimals(json!(60.25), "60.25", "66Gi", "99Gi")]
#[case::size_of_a_share(json!(0.8), "0.8", "6Gi", "9Gi")]
#[case::tiny(json!(0.001), "0.001", "6Gi", "9Gi")]
#[case::ten(json!(10), "10.0", "15Gi", "23Gi")]
fn sizes(#[case] size: Value, #[case] argument: &str, #[case] request: &str, #[case] limit: &str) {
    let children = children(&engine(json!({"l1": {"sizeGB": size}})));
    assert_eq!(flag(&children, "--l1-size-gb").unwrap(), argument);
    let resources = &container(&children)["resources"];
    assert_eq!(
        *resources,
        json!({"requests": {"cpu": "4", "memory": request}, "limits": {"memory": limit}})
    );
}

#[rstest]
#[case::small(json!(0.04), "0.04")]
#[case::half(json!(0.5), "0.50")]
#[case::usual(json!(0.8), "0.80")]
#[case::three_decimals(json!(0.001), "0.001")]
#[case::nearly_one(json!(0.999), "0.999")]
#[case::one(json!(1), "1.00")]
fn shares(#[case] share: Value, #[case] argument: &str) {
    let children = children(&engine(
        json!({"eviction": {"triggerWatermark": share, "evictionRatio": share}}),
    ));
    assert_eq!(flag(&children, "--eviction-trigger-watermark").unwrap(), argument);
    assert_eq!(flag(&children, "--eviction-ratio").unwrap(), argument);
}

#[rstest]
#[case::whole(json!(60), "60")]
#[case::two_decimals(json!(60.25), "60.25")]
#[case::small(json!(0.04), "0.04")]
#[case::tiny(json!(0.001), "0.001")]
fn seconds(#[case] number: Value, #[case] argument: &str) {
    let engine = engine(json!({"coordinator": {"url": "http://fleet:9300", "heartbeatInterval": number}}));
    assert_eq!(
        flag(&children(&engine), "--coordinator-heartbeat-interval").unwrap(),
        argument
    );
    let coordinator = coordinator(json!({"instanceTimeout": number}));
    assert_eq!(flag(&children(&coordinator), "--instance-timeout").unwrap(), argument);
}

/// Five seconds for each 5 GB, rounded down, and never less than the Go operator of July gave to every engine.
#[rstest]
#[case(json!(0.5), 30)]
#[case(json!(154.9), 30)]
#[case(json!(155), 31)]
#[case(json!(299.99), 59)]
#[case(json!(1200), 240)]
#[case::no_node_has_that(json!(1e300), i32::MAX)]
fn start_up(#[case] size: Value, #[case] failures: i32) {
    let children = children(&engine(json!({"l1": {"sizeGB": size}})));
    let probe = &container(&children)["startupProbe"];
    assert_eq!(
        (&probe["failureThreshold"], &probe["periodSeconds"]),
        (&json!(failures), &json!(5))
    );
}
