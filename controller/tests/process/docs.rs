//! docs/controller.md says what there is.

use std::fs::read_to_string;
use std::path::Path;

use crate::help::OPTIONS;

fn page() -> String {
    read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/controller.md")).unwrap()
}

#[test]
fn every_option_is_in_the_table_and_no_other() {
    let page = page();
    let (_, table) = page
        .split_once("| Option | Variable | Default | Says |\n|---|---|---|---|\n")
        .unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), OPTIONS.len());
    for (row, (flag, variable, default)) in rows.iter().zip(OPTIONS) {
        assert!(row.starts_with(&format!("| `{flag}` | `{variable}` | ")), "{row}");
        assert!(
            default.is_empty() || row.contains(&format!(" | `{default}` | ")),
            "{row}"
        );
    }
}
