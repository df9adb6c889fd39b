//! Every recipe of docs/cookbook.md gives what the page says.

use crate::support::{Config, World};

/// One line of the page's tables.
struct Recipe {
    columns: Vec<(String, String)>,
    template: String,
    gives: String,
}

/// The cells of a line of a table; a pipe after a backslash is text.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.replace("\\|", "\u{1}").split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect())
}

fn code(cell: &str) -> Option<String> {
    Some(cell.strip_prefix('`')?.strip_suffix('`')?.to_owned())
}

fn recipes(page: &str) -> Vec<Recipe> {
    let recipe = |line: &str| {
        let cells = cells(line)?;
        let [row, template, gives] = cells.as_slice() else { return None };
        let pair = |pair: &str| {
            let (column, value) = pair.split_once("`=`")?;
            Some((column.strip_prefix('`').unwrap_or(column).to_owned(), value.trim_end_matches('`').to_owned()))
        };
        let columns = row.split("`, `").map(pair).collect::<Option<Vec<_>>>()?;
        Some(Recipe {
            columns,
            template: code(template)?,
            gives: if gives == "``" { String::new() } else { code(gives)? },
        })
    };
    page.lines().filter_map(recipe).collect()
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[test]
fn every_recipe_gives_what_the_page_says() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/cookbook.md")).unwrap();
    let recipes = recipes(&page);
    let lines = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(recipes.len(), lines, "a line of the page is not understood");
    assert!(lines > 30, "only {lines} recipes");
    let mut world = World::default();
    let mut wrong = Vec::new();
    for Recipe { columns, template, gives } in recipes {
        let job = "key = \"{{ source['Row'] }}\"\nmatch_on = [\"employee_id\"]\n\
                   values.site = { AKL = \"Auckland Office\", WLG = \"Wellington Office\" }\n";
        let map = format!("name = \"x\"\nemployee_id = \"{{{{ source['Row'] }}}}\"\ntitle = \"\"\"{template}\"\"\"\n");
        world.reconfigure(|config| Config { job: job.into(), map, ..config });
        let header: Vec<String> = columns.iter().map(|(column, _)| quoted(column)).collect();
        let row: Vec<String> = columns.iter().map(|(_, value)| quoted(value)).collect();
        world.csv(format!("Row,{}\nR1,{}\n", header.join(","), row.join(",")));
        let ran = world.run(&["preview", "staff", "--json"]).expect(0).json();
        let shown = &ran["rows"][0];
        let found = match shown["rejected_values"][0]["reason"].as_str() {
            Some(reason) => format!("not used: {reason}"),
            None => shown["record"]["title"].as_str().unwrap_or_default().to_owned(),
        };
        let fits = match gives.strip_suffix("...") {
            Some(begin) => found.starts_with(begin.trim_end()),
            None => found == gives,
        };
        if !fits {
            wrong.push(format!("{template} gives {found:?}, and not {gives:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
