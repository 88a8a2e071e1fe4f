//! Numbers with units, exactly: no value passes through a float that could round it.
//!
//! Every reader here turns text into a whole number of the smallest unit the engine keeps. A value
//! too fine for that unit is an error rather than a rounding that nobody asked for.

use core::time::Duration;

/// Why a text is not the number that was wanted; completes "`x` ...".
pub(crate) type Reason = String;

/// A whole count: `16_384`, `300k`, `1.5M`.
pub(crate) fn count(text: &str) -> Result<u64, Reason> {
    let (digits, scale) = match text.strip_suffix('k') {
        Some(digits) => (digits, 3),
        None => text.strip_suffix('M').map_or((text, 0), |digits| (digits, 6)),
    };
    let number =
        decimal(digits, scale)?.ok_or("is not a whole number, such as 500, 16_384, 300k or 1M")?;
    narrow(number)
}

/// A number of bytes: `1024`, `64KiB`, `32MiB`, `1GiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, Reason> {
    const UNITS: [(&str, u128); 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let (digits, unit) = UNITS
        .iter()
        .find_map(|&(name, unit)| text.strip_suffix(name).map(|digits| (digits, unit)))
        .unwrap_or((text, 1));
    let number = decimal(digits.trim_end(), 0)?
        .ok_or("is not a number of bytes, such as 4096, 64KiB or 32MiB")?;
    narrow(number.saturating_mul(unit))
}

/// A length of time: `250ms`, `1.5s`, `5m`, `1h`, `1d`; only zero needs no unit.
pub(crate) fn duration(text: &str) -> Result<Duration, Reason> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(split).unwrap_or((text, ""));
    let forms = "is not a length of time, such as 250ms, 1.5s, 5m, 1h or 1d";
    // Nine decimals of any unit; what is left must be whole microseconds.
    let billionths = decimal(digits.trim_end(), 9)?.ok_or(forms)?;
    let micros: u128 = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        "" if billionths == 0 => 1,
        "" => return Err(format!("has no unit: write `{digits}s`, or use ms, m, h or d")),
        _ => return Err(forms.into()),
    };
    let scaled = billionths.saturating_mul(micros);
    if !scaled.is_multiple_of(1_000_000_000) {
        return Err("is finer than a microsecond".into());
    }
    let length = Duration::from_micros(narrow(scaled / 1_000_000_000)?);
    if length > LONGEST { Err("is longer than ten years".into()) } else { Ok(length) }
}

/// A share in parts per million: `25%` or `0.25`.
pub(crate) fn ppm(text: &str) -> Result<u32, Reason> {
    let number = match text.strip_suffix('%') {
        Some(digits) => decimal(digits.trim_end(), 4)?,
        None => decimal(text, 6)?,
    };
    let number = number.ok_or("is not a share, such as 25% or 0.25")?;
    if number > 1_000_000 {
        return Err("is more than 100%".into());
    }
    u32::try_from(number).map_err(|_| "is more than 100%".into())
}

/// An amount of money in USD, as nano-USD.
pub(crate) fn nano_usd(text: &str) -> Result<u64, Reason> {
    narrow(decimal(text, 9)?.ok_or("is not an amount in USD, such as 5 or 0.05")?)
}

/// Any number that is not negative, in billionths.
pub(crate) fn billionths(text: &str) -> Result<u64, Reason> {
    narrow(decimal(text, 9)?.ok_or("is not a number, such as 2 or 0.5")?)
}

/// A price in USD per million tokens, as pico-USD per token.
pub(crate) fn pico_usd_per_token(text: &str) -> Result<u64, Reason> {
    let price =
        decimal(text, 6)?.ok_or("is not a price in USD per million tokens, such as 2.50")?;
    if price > HIGHEST_PRICE {
        return Err("is more than a million USD per million tokens".into());
    }
    narrow(price)
}

/// A price in USD per thousand searches, as pico-USD per search.
pub(crate) fn pico_usd_per_search(text: &str) -> Result<u64, Reason> {
    let price =
        decimal(text, 9)?.ok_or("is not a price in USD per thousand searches, such as 10")?;
    if price > HIGHEST_PRICE_OF_SEARCH {
        return Err("is more than a million USD per thousand searches".into());
    }
    narrow(price)
}

/// An unsigned decimal times ten to the `scale`, exactly. `None` if it is no decimal at all; an
/// error if it is one that cannot be kept.
fn decimal(text: &str, scale: usize) -> Result<Option<u128>, Reason> {
    if let Some(rest) = text.strip_prefix('-')
        && decimal(rest, scale)?.is_some()
    {
        return Err("is negative".into());
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_digit())
            && part.chars().all(|c| c.is_ascii_digit() || c == '_')
    };
    if !digits(whole) || !digits(fraction) {
        return Ok(None);
    }
    let fraction: String = fraction.chars().filter(|&c| c != '_').collect();
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > scale {
        return Err(match scale {
            0 => "is not whole".into(),
            _ => format!("has more than {scale} decimals"),
        });
    }
    let zeros = core::iter::repeat_n('0', scale.saturating_sub(fraction.len()));
    let mut number: u128 = 0;
    for digit in whole.chars().chain(fraction.chars()).chain(zeros).filter_map(|c| c.to_digit(10)) {
        number = number
            .checked_mul(10)
            .and_then(|number| number.checked_add(digit.into()))
            .ok_or("is too large")?;
    }
    Ok(Some(number))
}

fn narrow(number: u128) -> Result<u64, Reason> {
    // The largest whole number that JavaScript keeps exactly, and hosts exchange.
    const LARGEST: u128 = (1 << 53) - 1;
    if number > LARGEST {
        return Err("is too large".into());
    }
    u64::try_from(number).map_err(|_| "is too large".into())
}

const LONGEST: Duration = Duration::from_secs(10 * 366 * 86_400);
/// In pico-USD per token. Times the largest count this still fits 128 bits with room to spare.
const HIGHEST_PRICE: u128 = 1_000_000_000_000;
/// A million USD per thousand searches, in pico-USD per search.
const HIGHEST_PRICE_OF_SEARCH: u128 = HIGHEST_PRICE * 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        for (text, number) in [
            ("0", 0),
            ("500", 500),
            ("16_384", 16_384),
            ("300k", 300_000),
            ("1M", 1_000_000),
            ("1.5M", 1_500_000),
            ("0.5k", 500),
            ("2.0", 2),
        ] {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for text in
            ["", "k", "1.5", "-1", "1m", "1G", "_1", "1e3", "0.0001k", "9007199254740992", "NaN"]
        {
            assert!(count(text).is_err(), "{text}");
        }
        assert_eq!(count("-5"), Err("is negative".into()));
    }

    #[test]
    fn bytes_are_binary() {
        assert_eq!(bytes("32MiB"), Ok(32 << 20));
        assert_eq!(bytes("64KiB"), Ok(65_536));
        assert_eq!(bytes("1_000"), Ok(1_000));
        assert!(bytes("32MB").is_err());
        assert!(bytes("9999999GiB").is_err());
    }

    #[test]
    fn durations_need_a_unit_unless_zero() {
        for (text, micros) in [
            ("250ms", 250_000),
            ("20s", 20_000_000),
            ("1.5s", 1_500_000),
            ("5m", 300_000_000),
            ("1h", 3_600_000_000),
            ("1d", 86_400_000_000),
            ("10us", 10),
            ("0s", 0),
            ("0", 0),
            ("0.0", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_micros(micros)), "{text}");
        }
        for text in
            ["", "s", "5", "-5s", "5 minutes", "1.5us", "1w", "99999999d", "5S", "1m30s", "é"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(duration("5"), Err("has no unit: write `5s`, or use ms, m, h or d".into()));
    }

    #[test]
    fn shares_and_money_are_exact() {
        assert_eq!(ppm("25%"), Ok(250_000));
        assert_eq!(ppm("0.25"), Ok(250_000));
        assert_eq!(ppm("0"), Ok(0));
        assert_eq!(ppm("100%"), Ok(1_000_000));
        assert_eq!(ppm("0.0001%"), Ok(1));
        assert!(ppm("101%").is_err() && ppm("1.1").is_err() && ppm("0.0000001").is_err());
        assert_eq!(nano_usd("0.05"), Ok(50_000_000));
        assert_eq!(pico_usd_per_token("2.50"), Ok(2_500_000));
        assert_eq!(pico_usd_per_token("0.30"), Ok(300_000));
        assert_eq!(pico_usd_per_token("0"), Ok(0));
        assert!(pico_usd_per_token("0.0000001").is_err() && pico_usd_per_token("-1").is_err());
        assert!(pico_usd_per_token("1000001").is_err());
        assert_eq!(pico_usd_per_search("12.50"), Ok(12_500_000_000));
        assert_eq!(pico_usd_per_search("1000000"), Ok(1_000_000_000_000_000));
        assert!(pico_usd_per_search("1000001").is_err() && pico_usd_per_search("-1").is_err());
    }
}
