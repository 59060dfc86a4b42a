//! The figures as Markdown tables, a column for each run.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::figures::{Clients, Report, Requests, Run};

/// Everything.
pub(super) fn report(report: &Report) -> String {
    let machine = &report.machine;
    let mut text = format!(
        "Kubernetes {}, {} cores ({}), {} nodes.\n",
        report.kubernetes, machine.cores, machine.processor, machine.nodes
    );
    let runs = |with_pods: bool| report.runs.iter().filter(move |run| (run.servers > 0) == with_pods);
    for (title, with_pods) in [("No Pods", false), ("With Pods", true)] {
        let runs: Vec<&Run> = runs(with_pods).collect();
        if !runs.is_empty() {
            let _ = write!(text, "\n## {title}\n\n{}", convergence(&runs, machine.window));
            let _ = write!(
                text,
                "\nRequests until quiet, by verb and resource:\n\n{}",
                by_verb(&runs)
            );
        }
    }
    let clients: Vec<(&Run, &Clients)> = runs(true)
        .filter_map(|run| Some((run, run.clients.as_ref()?)))
        .collect();
    if !clients.is_empty() {
        let _ = write!(text, "\n## Webhook\n\n{}", webhook(&clients));
    }
    for failure in &report.failures {
        let _ = write!(text, "\nFailed: {failure}\n");
    }
    text
}

/// A row of the table of runs: what it is called, and its figure.
type Row = (String, Box<dyn Fn(&Run) -> String>);

fn row(name: &str, figure: impl Fn(&Run) -> String + 'static) -> Row {
    (name.to_owned(), Box::new(figure))
}

fn convergence(runs: &[&Run], window: u32) -> String {
    let rows = [
        row("engines created within", |run| seconds(Some(run.created))),
        row("all children exist, every engine has a status", |run| {
            seconds(run.complete)
        }),
        row("all engines say Running, all servers ready", |run| seconds(run.running)),
        row("last write, then quiet", |run| {
            if run.quiet {
                seconds(run.last_write)
            } else {
                format!("not quiet; {}", seconds(run.last_write))
            }
        }),
        row("requests until quiet (writes)", |run| requests(&run.requests)),
        row("requests per engine (writes)", |run| {
            let each = |count: usize| count as f64 / run.engines as f64;
            format!("{:.1} ({:.1})", each(run.requests.all), each(run.requests.writes))
        }),
        row("refused requests", |run| count(run.requests.refused)),
        row(
            &format!("settled, {window} s: requests without watches (writes)"),
            |run| {
                format!(
                    "{} ({})",
                    count(run.settled.all - run.settled.watches),
                    count(run.settled.writes)
                )
            },
        ),
        row("memory idle, no engine", |run| megabytes(run.memory_idle)),
        row("memory when quiet / highest", |run| {
            format!("{} / {}", megabytes(run.memory.resident), megabytes(run.memory.highest))
        }),
        row("processor, controller", |run| {
            cpu(run, |program| program == "controller")
        }),
        row("processor, kube-apiserver", |run| {
            cpu(run, |program| program == "kube-apiserver")
        }),
        row("processor, etcd", |run| cpu(run, |program| program == "etcd")),
        row("processor, other programs", |run| {
            cpu(run, |program| {
                !matches!(program, "controller" | "kube-apiserver" | "etcd")
            })
        }),
        row("restart: requests (writes)", |run| {
            run.restart
                .as_ref()
                .map_or_else(none, |restart| requests(&restart.requests))
        }),
        row("restart: last write after", |run| {
            run.restart
                .as_ref()
                .map_or_else(none, |restart| seconds(restart.last_write))
        }),
        row("restart: memory when quiet / highest", |run| {
            let memory = |restart: &super::figures::Restart| {
                format!(
                    "{} / {}",
                    megabytes(restart.memory.resident),
                    megabytes(restart.memory.highest)
                )
            };
            run.restart.as_ref().map_or_else(none, memory)
        }),
        row("load average before; after", |run| {
            format!("{}; {}", run.load_before, run.load_after)
        }),
    ];
    let mut text = head(runs);
    for (name, figure) in rows {
        let figures: Vec<String> = runs.iter().map(|run| figure(run)).collect();
        // A row that says nothing of any run: servers where there are none.
        if figures.iter().any(|figure| *figure != none()) {
            let _ = writeln!(text, "| {name} | {} |", figures.join(" | "));
        }
    }
    text
}

fn by_verb(runs: &[&Run]) -> String {
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.requests.by.keys()).collect();
    let mut text = head(runs);
    for name in names {
        let counts = runs
            .iter()
            .map(|run| count(run.requests.by.get(name).copied().unwrap_or_default()));
        let counts: Vec<String> = counts.collect();
        let _ = writeln!(text, "| {name} | {} |", counts.join(" | "));
    }
    text
}

fn webhook(all: &[(&Run, &Clients)]) -> String {
    let runs: Vec<&Run> = all.iter().map(|(run, _)| *run).collect();
    let mut text = head(&runs);
    let mut line = |name: &str, figure: &dyn Fn(&Clients) -> String| {
        let figures: Vec<String> = all.iter().map(|(_, clients)| figure(clients)).collect();
        let _ = writeln!(text, "| {name} | {} |", figures.join(" | "));
    };
    let milliseconds = |value: f64| format!("{value:.1} ms");
    line("Pods a minute", &|clients| count(clients.per_minute.into()));
    line("Pod created, not opted in: median / p99", &|clients| {
        format!(
            "{} / {}",
            milliseconds(clients.plain.median_ms),
            milliseconds(clients.plain.p99_ms)
        )
    });
    line("Pod created, opted in: median / p99", &|clients| {
        format!(
            "{} / {}",
            milliseconds(clients.opted_in.median_ms),
            milliseconds(clients.opted_in.p99_ms)
        )
    });
    let webhooks: BTreeSet<&String> = all.iter().flat_map(|(_, clients)| clients.webhooks.keys()).collect();
    for name in webhooks {
        line(&format!("{name}: calls; mean; median, p99 at most"), &|clients| {
            let most = |limit: Option<f64>| limit.map_or_else(none, |limit| format!("{limit} ms"));
            clients.webhooks.get(name).map_or_else(none, |calls| {
                let (median, p99) = (most(calls.median_at_most_ms), most(calls.p99_at_most_ms));
                format!("{}; {}; {median}, {p99}", calls.calls, milliseconds(calls.mean_ms))
            })
        });
    }
    line("policy-host: processor; memory / highest", &|clients| {
        let memory = clients.webhook_memory;
        let (now, highest) = (megabytes(memory.resident), megabytes(memory.highest));
        format!("{:.1} s; {now} / {highest}", clients.webhook_cpu)
    });
    line("controller until quiet: requests (writes)", &|clients| {
        requests(&clients.controller)
    });
    line("controller: memory / highest", &|clients| {
        let memory = clients.controller_memory;
        format!("{} / {}", megabytes(memory.resident), megabytes(memory.highest))
    });
    text
}

fn head(runs: &[&Run]) -> String {
    let names: Vec<String> = runs
        .iter()
        .map(|run| format!("{}, {}", count(run.engines), run.controller))
        .collect();
    format!("| | {} |\n|---{}|\n", names.join(" | "), "|--:".repeat(runs.len()))
}

fn none() -> String {
    "-".to_owned()
}

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(none, |value| format!("{value:.1} s"))
}

fn megabytes(value: f64) -> String {
    format!("{value:.0} MB")
}

fn requests(requests: &Requests) -> String {
    format!("{} ({})", count(requests.all), count(requests.writes))
}

fn cpu(run: &Run, wanted: impl Fn(&str) -> bool) -> String {
    let seconds: f64 = run
        .cpu
        .iter()
        .filter(|(program, _)| wanted(program))
        .map(|(_, seconds)| seconds)
        .sum();
    format!("{seconds:.1} s")
}

/// With commas between thousands.
fn count(value: usize) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_have_commas() {
        for (value, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(value), expected);
        }
    }
}
