//! The order of what was appended.

use serde_json::Value;

use crate::Tail;

/// Sorts the longest run at the end of a list whose entries are all in `order`. Says whether anything moved. A list that is
/// not there, or no list, has no end.
pub(crate) fn order(pod: &mut Value, list: Tail, order: &[Value]) -> bool {
    let Some(items) = list_mut(pod, list) else {
        return false;
    };
    let rank = |item: &Value| order.iter().position(|wanted| wanted == item);
    let run = items.iter().rev().take_while(|item| rank(item).is_some()).count();
    let start = items.len() - run;
    let Some(tail) = items.get_mut(start..) else {
        return false;
    };
    // A handful of entries: insertion by swaps, a tenth of the code of a sort.
    let mut moved = false;
    for end in 1..tail.len() {
        let mut at = end;
        while at > 0 && tail.get(at).and_then(rank) < tail.get(at - 1).and_then(rank) {
            tail.swap(at, at - 1);
            at -= 1;
            moved = true;
        }
    }
    moved
}

fn list_mut(pod: &mut Value, list: Tail) -> Option<&mut Vec<Value>> {
    let spec = pod.get_mut("spec")?;
    let (owner, key) = match list {
        Tail::Volumes => (spec, "volumes"),
        Tail::Mounts(container) => (spec.get_mut("containers")?.get_mut(container)?, "volumeMounts"),
        Tail::Env(container) => (spec.get_mut("containers")?.get_mut(container)?, "env"),
    };
    owner.get_mut(key)?.as_array_mut()
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use serde_json::json;

    fn ordered(volumes: &[&str], wanted: &[&str]) -> (bool, Value) {
        let mut pod = json!({"spec": {"volumes": volumes}});
        let wanted: Vec<Value> = wanted.iter().map(|&name| json!(name)).collect();
        let moved = order(&mut pod, Tail::Volumes, &wanted);
        (moved, pod["spec"]["volumes"].take())
    }

    #[test]
    fn only_the_end_moves_and_only_what_is_named() {
        for (before, moved, after) in [
            (&["c", "b", "a"][..], true, json!(["a", "b", "c"])),
            (&["c", "x", "b", "a"], true, json!(["c", "x", "a", "b"])),
            (&["b", "a", "x"], false, json!(["b", "a", "x"])),
            (&["x", "a", "b", "c"], false, json!(["x", "a", "b", "c"])),
            (&["b", "a", "b", "a"], true, json!(["a", "a", "b", "b"])),
            (&[], false, json!([])),
        ] {
            assert_eq!(ordered(before, &["a", "b", "c"]), (moved, after), "{before:?}");
        }
    }

    #[test]
    fn lists_that_are_not_there_have_no_end() {
        for pod in [
            json!({}),
            json!({"spec": {}}),
            json!({"spec": {"volumes": "x", "containers": [{"env": null}]}}),
        ] {
            for list in [Tail::Volumes, Tail::Env(0), Tail::Mounts(7)] {
                let mut after = pod.clone();
                assert!(!order(&mut after, list, &[json!("a")]));
                assert_eq!(after, pod);
            }
        }
    }

    #[test]
    fn env_and_mounts_of_one_container() {
        let mut pod = json!({"spec": {"containers": [{}, {"env": [2, 1], "volumeMounts": [2, 1]}]}});
        for list in [Tail::Env(1), Tail::Mounts(1)] {
            assert!(order(&mut pod, list, &[json!(1), json!(2)]));
        }
        assert_eq!(
            pod["spec"]["containers"][1],
            json!({"env": [1, 2], "volumeMounts": [1, 2]})
        );
    }
}
