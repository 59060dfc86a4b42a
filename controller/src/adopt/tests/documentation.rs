//! The page says what there is.

use super::support::root;
use crate::adopt::codes::ALL;

#[test]
fn every_code_is_in_the_table_and_no_other() {
    let page = std::fs::read_to_string(root().join("docs/migrate-from-go-operator.md")).unwrap();
    let (_, table) = page.split_once("| Code | Level | Says |\n|---|---|---|\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let written: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    assert_eq!(written, ALL);
}
