//! `deploy/monitoring/prometheus-rule.yaml`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{served, text, unknown, yaml};

const PAGE: &str = "https://github.com/lmcache-kubewarden/lmcache-kubewarden/blob/main/docs/alerts.md#";

fn rules() -> Vec<Value> {
    let groups = yaml("deploy/monitoring/prometheus-rule.yaml")["spec"]["groups"].take();
    let groups = groups.as_array().unwrap().clone();
    let rules = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
    rules.cloned().collect()
}

fn name(rule: &Value) -> &str {
    rule["alert"].as_str().unwrap()
}

#[test]
fn every_expression_asks_for_what_is_served() {
    let served = served();
    for rule in rules() {
        let expression = rule["expr"].as_str().unwrap();
        assert_eq!(unknown(expression, &served), [""; 0], "{}", name(&rule));
    }
}

/// Texts name labels that the alert has: those that the expression is grouped by.
#[test]
fn texts_name_labels_of_their_alert() {
    for rule in rules() {
        let expression = rule["expr"].as_str().unwrap();
        let labels = super::promql::read(expression).labels;
        for text in rule["annotations"].as_object().unwrap().values() {
            for part in text.as_str().unwrap().split("$labels.").skip(1) {
                let label: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                assert!(labels.contains(&label), "{}: {label}", name(&rule));
            }
        }
    }
}

#[test]
fn every_alert_is_whole() {
    let known = BTreeSet::from(["alert", "expr", "for", "keep_firing_for", "labels", "annotations"]);
    let mut names = BTreeSet::new();
    for rule in rules() {
        let alert = name(&rule);
        assert!(names.insert(alert.to_owned()), "{alert} twice");
        for key in rule.as_object().unwrap().keys() {
            assert!(known.contains(key.as_str()), "{alert}: {key}");
        }
        assert!(rule["for"].is_string(), "{alert} fires at once");
        let severity = rule["labels"]["severity"].as_str().unwrap();
        assert!(["critical", "warning"].contains(&severity), "{alert}: {severity}");
        for text in ["summary", "description"] {
            let text = rule["annotations"][text].as_str().unwrap();
            assert!(text.len() > 30 && text.ends_with('.'), "{alert}: {text}");
            assert!(!text.contains('\n'), "{alert}: {text}");
        }
    }
    assert!(names.len() >= 14);
}

/// Every alert has a section and a row of the page that its link leads to, and the page has no other.
#[test]
fn every_alert_is_explained() {
    let page = text("docs/alerts.md");
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let rules = rules();
    for rule in &rules {
        let alert = name(rule);
        assert!(sections.contains(&alert), "docs/alerts.md has no section {alert}");
        let anchor = alert.to_lowercase();
        assert_eq!(rule["annotations"]["runbook_url"], format!("{PAGE}{anchor}"));
        let severity = rule["labels"]["severity"].as_str().unwrap();
        // QueueStuck looks back ten minutes before it waits for five.
        let after = match alert {
            "LMCacheControllerQueueStuck" => "15 min".to_owned(),
            _ => rule["for"].as_str().unwrap().replace('m', " min"),
        };
        let row = format!("| [{alert}](#{anchor}) | {severity} | {after} | ");
        assert!(page.lines().any(|line| line.starts_with(&row)), "no row {row}");
        let (_, section) = page.split_once(&format!("\n## {alert}\n")).unwrap();
        let section = section.split("\n## ").next().unwrap();
        for part in ["**Means.**", "**Look.**", "**Do.**"] {
            assert!(section.contains(part), "{alert} lacks {part}");
        }
    }
    assert_eq!(sections.len(), rules.len(), "{sections:?}");
}

/// Links of the page lead to headings that are there.
#[test]
fn links_of_the_page_lead_somewhere() {
    let page = text("docs/alerts.md");
    let mut links = 0;
    for link in page.split("](").skip(1) {
        let target = link.split(')').next().unwrap();
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let path = match file {
            "" => "docs/alerts.md".to_owned(),
            file => format!("docs/{file}"),
        };
        let headings = text(&path);
        let mut headings = headings.lines().filter(|line| line.starts_with('#')).map(slug);
        assert!(
            anchor.is_empty() || headings.any(|heading| heading == anchor),
            "{target}"
        );
        links += 1;
    }
    assert!(links > 30, "{links}");
}

/// The anchor of a heading, as GitHub makes it.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
