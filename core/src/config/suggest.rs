//! "Did you mean": the closest of the names that would have been right.

/// The closest of `known` to `name`, if one is close enough to be a slip: at most a third of its
/// letters changed, added, left out or swapped with their neighbour, and not all of them. The
/// first of equals wins.
pub(crate) fn closest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let letters: Vec<char> = name.chars().take(LONGEST.saturating_add(1)).collect();
    if letters.len() > LONGEST {
        return None;
    }
    let limit = (letters.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate.len().abs_diff(name.len()) > limit.saturating_mul(4) {
            continue;
        }
        let distance = distance(&letters, candidate);
        if distance <= limit
            && distance < letters.len().max(1)
            && best.is_none_or(|(least, _)| distance < least)
        {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Edits between two names; swapped neighbours count once. Case counts for nothing.
fn distance(from: &[char], to: &str) -> usize {
    let same = |a: char, b: char| a.eq_ignore_ascii_case(&b);
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=from.len()).collect();
    let mut last = None;
    for letter in to.chars() {
        let mut next = vec![row.first().map_or(1, |edits| edits.saturating_add(1))];
        for (i, &own) in from.iter().enumerate() {
            let at = |row: &[usize], i: usize| row.get(i).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&row, i).saturating_add(usize::from(!same(own, letter)));
            let gap = at(&row, i.saturating_add(1)).min(at(&next, i)).saturating_add(1);
            let mut least = replaced.min(gap);
            let earlier = i.checked_sub(1).and_then(|i| from.get(i).map(|&c| (i, c)));
            if let (Some((i, earlier)), Some(last)) = (earlier, last)
                && same(earlier, letter)
                && same(own, last)
            {
                least = least.min(at(&before, i).saturating_add(1));
            }
            next.push(least);
        }
        before = core::mem::replace(&mut row, next);
        last = Some(letter);
    }
    row.last().copied().unwrap_or(usize::MAX)
}

/// Names longer than this are not compared: the work grows with the square.
const LONGEST: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["weight", "order", "deployment", "max_attempts"];
        let closest = |name| closest(name, known.into_iter());
        assert_eq!(closest("wieght"), Some("weight"));
        assert_eq!(closest("Weight"), Some("weight"));
        assert_eq!(closest("deploymnet"), Some("deployment"));
        assert_eq!(closest("max_attempt"), Some("max_attempts"));
        assert_eq!(closest("oder"), Some("order"));
        assert_eq!(closest("temperature"), None);
        assert_eq!(closest(""), None);
        assert_eq!(super::closest("x", ["a"].into_iter()), None);
        assert_eq!(closest(&"weight".repeat(100)), None);
    }

    #[test]
    fn edits_are_counted() {
        let distance = |a: &str, b| distance(&a.chars().collect::<Vec<_>>(), b);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("abc", "acb"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
    }
}
