//! The bucket against one that is filled microsecond by microsecond.

use core::time::Duration;

use proptest::prelude::*;

use crate::bucket::{Bucket, Rate, Shortfall};
use crate::time::Timestamp;

/// Units of a token.
const TOKEN: i128 = 60_000_000;

#[derive(Clone, Debug)]
struct Speed {
    per_minute: u64,
    burst_micros: u64,
}

impl Speed {
    fn rate(&self) -> Rate {
        Rate::new(self.per_minute, Some(Duration::from_micros(self.burst_micros)))
    }

    fn capacity(&self) -> i128 {
        let held = i128::from(self.per_minute) * i128::from(self.burst_micros);
        if self.per_minute == 0 { 0 } else { held.max(TOKEN) }
    }
}

#[derive(Clone, Debug)]
enum Move {
    Pass(u64),
    TakeIfRoom(u64),
    Take(u64),
    Settle(u64, u64),
    AtMost(u64),
    Edit(Speed),
}

fn speed() -> impl Strategy<Value = Speed> {
    let per_minute = prop_oneof![1 => Just(0u64), 9 => 1_000_000u64..300_000_000];
    (per_minute, 1u64..300)
        .prop_map(|(per_minute, burst_micros)| Speed { per_minute, burst_micros })
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        4 => (0u64..200).prop_map(Move::Pass),
        4 => (0u64..300).prop_map(Move::TakeIfRoom),
        1 => (0u64..300).prop_map(Move::Take),
        2 => (0u64..300, 0u64..300).prop_map(|(reserved, used)| Move::Settle(reserved, used)),
        1 => (0u64..300).prop_map(Move::AtMost),
        1 => speed().prop_map(Move::Edit),
    ];
    prop::collection::vec(one, 1..40)
}

/// A level, and the speed at which it grows.
struct Model {
    level: i128,
    speed: Speed,
}

impl Model {
    /// One microsecond.
    fn tick(&mut self) {
        let fuller = self.level + i128::from(self.speed.per_minute);
        self.level = fuller.min(self.speed.capacity());
    }

    /// Microseconds until so much may be taken; `None` for never.
    fn wait(&self, amount: u64) -> Option<u64> {
        let wanted = (i128::from(amount) * TOKEN).min(self.speed.capacity());
        if amount != 0 && self.speed.per_minute == 0 {
            return None;
        }
        let mut later = Self { level: self.level, speed: self.speed.clone() };
        let mut micros = 0;
        while amount != 0 && later.level < wanted {
            later.tick();
            micros += 1;
        }
        Some(micros)
    }
}

proptest! {
    #[test]
    fn it_fills_and_empties_as_the_model(first in speed(), moves in moves()) {
        let mut now = Timestamp::from_micros(1_767_225_600_000_000);
        let mut bucket = Bucket::full(first.rate(), now);
        let mut model = Model { level: first.capacity(), speed: first };
        for step in moves {
            let rate = model.speed.rate();
            match step {
                Move::Pass(micros) => {
                    now = now.plus(Duration::from_micros(micros));
                    (0..micros).for_each(|_| model.tick());
                }
                Move::TakeIfRoom(amount) => {
                    let expected = match model.wait(amount) {
                        None => Err(Shortfall::Never),
                        Some(0) => Ok(()),
                        Some(micros) => {
                            Err(Shortfall::Until(now.plus(Duration::from_micros(micros))))
                        }
                    };
                    let room = bucket.room(rate, amount, now);
                    prop_assert_eq!(room, expected);
                    if room.is_ok() {
                        bucket.take(rate, amount, now);
                        model.level -= i128::from(amount) * TOKEN;
                    }
                }
                Move::Take(amount) => {
                    bucket.take(rate, amount, now);
                    model.level -= i128::from(amount) * TOKEN;
                }
                Move::Settle(reserved, used) => {
                    bucket.settle(rate, reserved, used, now);
                    model.level += (i128::from(reserved) - i128::from(used)) * TOKEN;
                    model.level = model.level.min(model.speed.capacity());
                }
                Move::AtMost(left) => {
                    bucket.at_most(rate, left, now);
                    model.level = model.level.min(i128::from(left) * TOKEN);
                }
                Move::Edit(speed) => {
                    bucket.edit(rate, speed.rate(), now);
                    let used = model.speed.capacity() - model.level;
                    let kept = (speed.capacity() - used).max(0);
                    model.level = model.level.min(kept);
                    model.speed = speed;
                }
            }
            let left = model.level.div_euclid(TOKEN);
            prop_assert_eq!(i128::from(bucket.left(model.speed.rate(), now)), left);
        }
    }
}
