//! The weekday field of a schedule, translated.
//!
//! crontab(5) counts 0-7 with 0 and 7 for Sunday; the cron crate counts 1-7 with 1 for Sunday. So every weekday is
//! written out by name.

const NAMES: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Rewrites a weekday field as a list of names, or as `*`.
pub(super) fn translate(field: &str) -> Result<String, String> {
    if matches!(field, "*" | "?") {
        return Ok("*".to_owned());
    }
    let mut days = [false; 7];
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (part, None),
        };
        let (first, last) = bounds(range)?;
        if step.is_some() && first == last && range != "*" {
            return Err(format!("a step needs a range or *, as in 1-5/2, not {part:?}"));
        }
        let step = match step.map(str::parse::<usize>) {
            None => 1,
            Some(Ok(step)) if step > 0 => step,
            Some(_) => return Err(format!("{part:?} has no step above 0")),
        };
        for day in (first..=last).step_by(step) {
            days[day % 7] = true;
        }
    }
    let chosen: Vec<&str> = NAMES.iter().zip(days).filter(|(_, chosen)| *chosen).map(|(name, _)| *name).collect();
    Ok(chosen.join(","))
}

fn bounds(range: &str) -> Result<(usize, usize), String> {
    if range == "*" {
        return Ok((0, 6));
    }
    let Some((first, last)) = range.split_once('-') else {
        let only = day(range)?;
        return Ok((only, only));
    };
    let (first, last) = (day(first)?, day(last)?);
    // `fri-sun` ends on the Sunday after.
    let last = if last == 0 && first > 0 { 7 } else { last };
    if first > last { Err(format!("the weekdays {range:?} end before they begin")) } else { Ok((first, last)) }
}

fn day(text: &str) -> Result<usize, String> {
    let wrong = || format!("{text:?} is not a weekday (0-7 or sun-sat)");
    if let Some(number) = NAMES.iter().position(|name| text.eq_ignore_ascii_case(name)) {
        return Ok(number);
    }
    text.parse().ok().filter(|number| *number <= 7 && text.len() == 1).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weekdays_count_as_in_crontab() {
        for (field, expected) in [
            ("*", "*"),
            ("0", "sun"),
            ("7", "sun"),
            ("1-5", "mon,tue,wed,thu,fri"),
            ("5-7", "sun,fri,sat"),
            ("0-7", "sun,mon,tue,wed,thu,fri,sat"),
            ("MON,wed", "mon,wed"),
            ("fri-sun", "sun,fri,sat"),
            ("*/2", "sun,tue,thu,sat"),
            ("1-5/2", "mon,wed,fri"),
        ] {
            assert_eq!(translate(field).as_deref(), Ok(expected), "{field}");
        }
        for field in ["8", "", "mo", "5-1", "1/2", "1-5/0", "*/x", "1,,2", "01", "-1"] {
            assert!(translate(field).is_err(), "{field}");
        }
    }
}
