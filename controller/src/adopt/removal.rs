//! How the Go operator's webhooks are taken away: whole configurations of its own, and single entries of those that hold
//! other people's webhooks as well.

use super::webhooks::Webhook;

/// What to run, and what to leave.
pub(super) struct Removal {
    /// The command.
    pub command: String,
    /// A sentence about what stays; empty where nothing does.
    pub stays: String,
}

/// One for each configuration that holds any of these webhooks, in their order.
pub(super) fn removals(webhooks: &[&Webhook]) -> Vec<Removal> {
    let mut configurations: Vec<(&str, &str)> = webhooks.iter().map(|webhook| place(webhook)).collect();
    configurations.dedup();
    configurations
        .into_iter()
        .map(|configuration| {
            let of_it = webhooks.iter().filter(|webhook| place(webhook) == configuration);
            removal(configuration, of_it.copied().collect())
        })
        .collect()
}

/// The commands in one line, and what stays.
pub(super) fn said(removals: &[Removal]) -> String {
    let commands: Vec<&str> = removals.iter().map(|removal| removal.command.as_str()).collect();
    let stays: String = removals.iter().map(|removal| removal.stays.as_str()).collect();
    format!("{}{stays}", commands.join(" && "))
}

fn place(webhook: &Webhook) -> (&str, &str) {
    (&webhook.kind, &webhook.configuration)
}

fn removal((kind, name): (&str, &str), mut webhooks: Vec<&Webhook>) -> Removal {
    let resource = kind.to_lowercase();
    let others = webhooks.first().map_or(&[][..], |webhook| webhook.others.as_slice());
    if others.is_empty() {
        return Removal {
            command: format!("kubectl delete {resource} {name}"),
            stays: String::new(),
        };
    }
    // From the last on, so that no entry moves before its turn. The names are tested, since somebody may have written since.
    webhooks.sort_by_key(|webhook| std::cmp::Reverse(webhook.index));
    let operations: Vec<String> = webhooks
        .iter()
        .map(|webhook| {
            let (at, name) = (format!("/webhooks/{}", webhook.index), &webhook.name);
            format!(r#"{{"op":"test","path":"{at}/name","value":"{name}"}},{{"op":"remove","path":"{at}"}}"#)
        })
        .collect();
    Removal {
        command: format!(
            "kubectl patch {resource} {name} --type=json -p '[{}]'",
            operations.join(",")
        ),
        stays: format!(
            " (what else {name} holds is not the Go operator's, and stays: {})",
            others.join(", ")
        ),
    }
}
