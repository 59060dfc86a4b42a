//! What stands on Pods that were not wired.

use policy_kit::keys::{CACHEBLEND, LMCACHE, PAYLOAD_SKIP_REASON};
use policy_kit::pod::{Asks, Obstacle, SkipReason};

use super::{code, table};

pub(super) fn section() -> String {
    let reasons = SkipReason::ALL.map(|reason| {
        let of = match reason.of() {
            Asks::LMCache => "LMCacheEngine",
            Asks::CacheBlend => "CacheBlendEngine",
            Asks::Both => "either",
        };
        [
            code(reason.as_str()),
            of.to_owned(),
            reason.cause().to_owned(),
            reason.cure().to_owned(),
        ]
    });
    let reasons = table(["Reason", "Of Pods that ask for", "Cause", "What to do"], reasons);
    let obstacles = Obstacle::ALL.map(|obstacle| {
        [
            code(obstacle.as_str()),
            obstacle.cause().to_owned(),
            obstacle.remedy().to_owned(),
        ]
    });
    let obstacles = table(["Reason", "Cause", "What to do"], obstacles);
    let (lmcache, cacheblend) = (code(LMCACHE.skip_reason), code(CACHEBLEND.skip_reason));
    let payload = code(PAYLOAD_SKIP_REASON);
    format!(
        "\
## Skip reasons

Of Pods that opted in and were not wired: annotation {lmcache}, or {cacheblend},
in the order in which they are looked for. Beside a stamp that the Pod is wired, the reason is about one part. More about each:
[pod-injection](../policies/pod-injection/README.md#skip-reasons), [troubleshooting](troubleshooting.md#reasons). The
same in a sentence about this very Pod is the admission warning `<problem>: not wired; <remedy>`. Warnings are sentences about
what was found, not words, and so are not listed; each policy's README says which it gives.

{reasons}
### Payloads

Annotation {payload}, beside `payload-not-staged`.

{obstacles}"
    )
}
