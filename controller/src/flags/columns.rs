//! Text in columns.

/// Rows with their cells padded to columns, two blanks apart and `indent` from the left. Nothing is padded at the end of
/// a line.
pub(super) fn columns<const N: usize>(rows: &[[String; N]], indent: usize) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
