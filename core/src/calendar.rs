//! Calendar time: which hour, day, week or month a moment lies in, in a time zone.
//!
//! A zone is its rule in force (offset and summer time), not its history: budgets look at now and at
//! the next window. The rules are those of the public time zone database, release 2025b, one line
//! of `zones.txt` for all zones that share one, in the notation of POSIX `TZ`. So nothing is asked
//! of the host, every host answers alike, and a name that is not there is an error when the
//! configuration is loaded. A government that changes its clocks needs a newer table; until then
//! windows start an hour off, and nothing else.

use serde::{Deserialize, Serialize};

/// The current rule of every zone.
const ZONES: &str = include_str!("zones.txt");

const DAY: i64 = 86_400;
const HOUR: i64 = 3_600;

/// A time zone's rule in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Zone {
    /// Seconds east of Greenwich, out of summer time.
    standard: i64,
    summer: Option<Summer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Summer {
    /// Seconds east of Greenwich.
    offset: i64,
    /// On the standard clock.
    starts: Turn,
    /// On the summer clock.
    ends: Turn,
}

/// A day of the year by weekday, and a time on the clock in force before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Turn {
    month: i64,
    /// The how-manieth such weekday of the month; 5 is the last.
    week: i64,
    /// From Sunday.
    weekday: i64,
    /// Seconds after midnight; may lie outside the day.
    time: i64,
}

/// A stretch of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CalendarUnit {
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week, from Monday.
    Week,
    /// A month.
    Month,
}

impl Zone {
    /// Coordinated Universal Time.
    pub(crate) const UTC: Self = Self { standard: 0, summer: None };

    /// The zone of this name, such as `Europe/Berlin`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let line = ZONES.lines().find(|line| line.split(' ').skip(1).any(|own| own == name))?;
        parse(line.split(' ').next()?)
    }

    /// Every name.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> + Clone {
        ZONES.lines().flat_map(|line| line.split(' ').skip(1))
    }

    /// Seconds east of Greenwich at a moment.
    fn offset(&self, utc: i64) -> i64 {
        let Some(summer) = self.summer else { return self.standard };
        let (year, _) = month_of(utc.saturating_add(self.standard).div_euclid(DAY));
        let starts = summer.starts.at(year).saturating_sub(self.standard);
        let ends = summer.ends.at(year).saturating_sub(summer.offset);
        let is_summer = if starts < ends {
            starts <= utc && utc < ends
        } else {
            !(ends <= utc && utc < starts)
        };
        if is_summer { summer.offset } else { self.standard }
    }
}

impl CalendarUnit {
    /// The number of the stretch that a moment lies in: later ones have greater numbers.
    pub(crate) fn number(self, zone: &Zone, utc: i64) -> i64 {
        let offset = zone.offset(utc);
        let day = utc.saturating_add(offset).div_euclid(DAY);
        match self {
            // Not on the local clock, where an hour comes twice each autumn.
            Self::Hour => utc.saturating_add(offset.rem_euclid(HOUR)).div_euclid(HOUR),
            Self::Day => day,
            // Day 0 was a Thursday.
            Self::Week => day.saturating_add(3).div_euclid(7),
            Self::Month => {
                let (year, month) = month_of(day);
                year.saturating_mul(12).saturating_add(month)
            }
        }
    }

    /// The first second of the stretch after the one that a moment lies in.
    pub(crate) fn next(self, zone: &Zone, utc: i64) -> i64 {
        let here = self.number(zone, utc);
        // Halving finds it whatever the clocks do in between.
        let (mut inside, mut after) = (utc, utc.saturating_add(33 * DAY));
        while after.saturating_sub(inside) > 1 {
            let middle = inside.saturating_add(after.saturating_sub(inside) / 2);
            if self.number(zone, middle) > here {
                after = middle;
            } else {
                inside = middle;
            }
        }
        after
    }
}

impl Turn {
    /// Its seconds since the epoch in a year, on its own clock.
    fn at(&self, year: i64) -> i64 {
        let first = day_of(year, self.month);
        // Day 0 was a Thursday, the fourth from Sunday.
        let first_weekday = first.saturating_add(4).rem_euclid(7);
        let to_weekday = self.weekday.saturating_sub(first_weekday).rem_euclid(7);
        let mut day = first
            .saturating_add(to_weekday)
            .saturating_add(self.week.saturating_sub(1).saturating_mul(7));
        let (next_year, next_month) =
            if self.month == 12 { (year.saturating_add(1), 1) } else { (year, self.month + 1) };
        if day >= day_of(next_year, next_month) {
            day = day.saturating_sub(7);
        }
        day.saturating_mul(DAY).saturating_add(self.time)
    }
}

/// The day since the epoch on which a month of the Gregorian calendar starts.
fn day_of(year: i64, month: i64) -> i64 {
    // Years from March: the leap day is a year's last.
    let year = if month <= 2 { year.saturating_sub(1) } else { year };
    let from_march = (month + 9).rem_euclid(12);
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 0000-03-01 was 719,468 days before the epoch; months from March have 153 days in five.
    year.saturating_mul(365) + leap_days + (153 * from_march + 2) / 5 - 719_468
}

/// The year and month of a day since the epoch.
fn month_of(day: i64) -> (i64, i64) {
    // A guess that is never late, then at most a few steps.
    let mut year = day.div_euclid(366).saturating_add(1970).saturating_sub(1);
    while day_of(year.saturating_add(1), 1) <= day {
        year = year.saturating_add(1);
    }
    let month = (2..=12).take_while(|month| day_of(year, *month) <= day).last().unwrap_or(1);
    (year, month)
}

/// Reads a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`.
fn parse(rule: &str) -> Option<Zone> {
    let mut parts = rule.split(',');
    let rest = skip_name(parts.next()?)?;
    let split = rest.find(|c: char| c == '<' || c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (west, rest) = rest.split_at_checked(split)?;
    let standard = clock(west)?.saturating_neg();
    let Some(starts) = parts.next() else { return Some(Zone { standard, summer: None }) };
    let summer = match skip_name(rest)? {
        "" => standard.saturating_add(HOUR),
        west => clock(west)?.saturating_neg(),
    };
    let (starts, ends) = (turn(starts)?, turn(parts.next()?)?);
    Some(Zone { standard, summer: Some(Summer { offset: summer, starts, ends }) })
}

/// What follows an abbreviation: letters, or anything in angle brackets.
fn skip_name(text: &str) -> Option<&str> {
    match text.strip_prefix('<') {
        Some(inside) => inside.split_once('>').map(|(_, rest)| rest),
        None => Some(text.trim_start_matches(|c: char| c.is_ascii_alphabetic())),
    }
}

/// Reads `M3.5.0/1`: month, week, weekday, and a time that is two o'clock if absent.
fn turn(text: &str) -> Option<Turn> {
    let (day, time) =
        text.strip_prefix('M')?.split_once('/').unwrap_or((text.strip_prefix('M')?, "2"));
    let mut numbers = day.split('.').map(|number| number.parse::<i64>().ok());
    let (month, week, weekday) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some(Turn { month, week, weekday, time: clock(time)? })
}

/// Reads `-1`, `9:30` or `24` as seconds.
fn clock(text: &str) -> Option<i64> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut seconds = 0i64;
    let mut unit = HOUR;
    for part in text.split(':') {
        seconds = seconds.saturating_add(part.parse::<i64>().ok()?.saturating_mul(unit));
        unit /= 60;
    }
    Some(seconds.saturating_mul(sign))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-01-01T00:00:00Z.
    const NEW_YEAR: i64 = 1_767_225_600;

    #[test]
    fn every_rule_of_the_table_can_be_read() {
        for line in ZONES.lines() {
            let (rule, names) = line.split_once(' ').unwrap();
            assert!(parse(rule).is_some() && !names.is_empty(), "{line}");
        }
        assert!(Zone::names().count() > 500);
        assert_eq!(Zone::named("UTC"), Some(Zone::UTC));
        assert_eq!(Zone::named("Europe/Berlni"), None);
    }

    #[test]
    fn offsets_are_those_of_the_clocks() {
        let at = |name, utc| Zone::named(name).unwrap().offset(utc);
        // Berlin turned at 01:00 UTC on 2026-03-29 and 2026-10-25.
        assert_eq!(at("Europe/Berlin", 1_774_745_999), 3_600);
        assert_eq!(at("Europe/Berlin", 1_774_746_000), 7_200);
        assert_eq!(at("Europe/Berlin", 1_792_889_999), 7_200);
        assert_eq!(at("Europe/Berlin", 1_792_890_000), 3_600);
        // South of the equator summer spans the new year; Dublin's rule is written upside down.
        assert_eq!(at("Australia/Sydney", NEW_YEAR), 11 * 3_600);
        assert_eq!(at("Europe/Dublin", NEW_YEAR), 0);
        assert_eq!(at("Europe/Dublin", 1_783_000_000), 3_600);
        assert_eq!(at("America/New_York", NEW_YEAR), -5 * 3_600);
        assert_eq!(at("Asia/Kolkata", NEW_YEAR), 5 * 3_600 + 1_800);
        assert_eq!(at("Etc/GMT+5", NEW_YEAR), -5 * 3_600);
    }

    #[test]
    fn windows_start_at_local_midnight_whatever_the_clocks_do() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        // New year in Berlin is 23:00 UTC the day before.
        assert_eq!(CalendarUnit::Month.next(&berlin, NEW_YEAR - 7_200), NEW_YEAR - 3_600);
        // 2026-03-29 has 23 hours there: from 23:00 UTC to 22:00 UTC.
        let midnight = 1_774_738_800;
        assert_eq!(CalendarUnit::Day.next(&berlin, midnight - 1), midnight);
        assert_eq!(CalendarUnit::Day.next(&berlin, midnight), midnight + 23 * HOUR);
        // 2026-01-05 was a Monday.
        assert_eq!(CalendarUnit::Week.next(&Zone::UTC, NEW_YEAR), NEW_YEAR + 4 * DAY);
        assert_eq!(CalendarUnit::Hour.next(&Zone::UTC, NEW_YEAR + 1), NEW_YEAR + HOUR);
        assert_eq!(CalendarUnit::Month.next(&Zone::UTC, NEW_YEAR), NEW_YEAR + 31 * DAY);
        // The hour that comes twice is two hours.
        let twice = 1_792_890_000;
        assert_eq!(CalendarUnit::Hour.next(&berlin, twice - 1), twice);
        assert_eq!(CalendarUnit::Hour.next(&berlin, twice), twice + HOUR);
    }

    proptest! {
        /// Numbers never go down, and the next stretch is the first second with a greater one.
        #[test]
        fn stretches_follow_each_other(utc in 1_700_000_000i64..4_000_000_000, zone in 0usize..400) {
            let zone = Zone::named(Zone::names().nth(zone).unwrap()).unwrap();
            for unit in [CalendarUnit::Hour, CalendarUnit::Day, CalendarUnit::Week, CalendarUnit::Month] {
                let (here, next) = (unit.number(&zone, utc), unit.next(&zone, utc));
                prop_assert!(next > utc);
                prop_assert_eq!(unit.number(&zone, next - 1), here);
                prop_assert_eq!(unit.number(&zone, next), here + 1);
            }
        }
    }
}
