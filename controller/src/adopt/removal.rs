//! How the Go operator's webhooks are taken away: whole configurations of its own, and single entries of those that hold
//! other people's webhooks as well.

use super::webhooks::Webhook;

/// What stays, if anything, and what to run, as the end of a sentence. Each configuration that holds any of these webhooks has
/// a command.
pub(super) fn removal(webhooks: &[&Webhook]) -> String {
    let mut configurations: Vec<(&str, &str)> = webhooks.iter().map(|webhook| place(webhook)).collect();
    configurations.dedup();
    let (mut stays, mut commands) = (String::new(), Vec::new());
    for configuration in configurations {
        let of_it = webhooks.iter().filter(|webhook| place(webhook) == configuration);
        let of_it: Vec<&Webhook> = of_it.copied().collect();
        let others = of_it.first().map_or(&[][..], |webhook| webhook.others.as_slice());
        if !others.is_empty() {
            stays.push_str(&format!(
                " (what else {} holds is not the Go operator's, and stays: {})",
                configuration.1,
                others.join(", ")
            ));
        }
        commands.push(command(configuration, of_it, others.is_empty()));
    }
    format!("{stays}: {}", commands.join(" && "))
}

fn place(webhook: &Webhook) -> (&str, &str) {
    (&webhook.kind, &webhook.configuration)
}

fn command((kind, name): (&str, &str), mut webhooks: Vec<&Webhook>, is_whole: bool) -> String {
    let resource = kind.to_lowercase();
    if is_whole {
        return format!("kubectl delete {resource} {name}");
    }
    // From the last on, so that no entry moves before its turn. The names are tested, since somebody may have written since.
    webhooks.sort_by_key(|webhook| std::cmp::Reverse(webhook.index));
    let operations = webhooks.iter().map(|webhook| {
        let (at, name) = (format!("/webhooks/{}", webhook.index), &webhook.name);
        format!(r#"{{"op":"test","path":"{at}/name","value":"{name}"}},{{"op":"remove","path":"{at}"}}"#)
    });
    let operations: Vec<String> = operations.collect();
    format!(
        "kubectl patch {resource} {name} --type=json -p '[{}]'",
        operations.join(",")
    )
}
