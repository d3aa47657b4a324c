//! What a comparison says of two servers whose truth is known: made-up trials on a machine that
//! drifts, breathes and is disturbed now and then.

use std::convert::Infallible;
use std::f64::consts::TAU;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};
use salver_bench::compare::interval::{FEWEST_BLOCKS, Pairs, ratio};
use salver_bench::compare::metric::Metric;
use salver_bench::compare::order::{BLOCK, Order, Side};
use salver_bench::compare::verdict::Verdict;
use salver_bench::compare::{Compared, FEWEST_TRIALS, MARGIN, Plan, TRIALS, run};
use salver_bench::model::{Errors, Latency, Measured, ServerCost};

/// Fewer draws than for a result, as hundreds of comparisons are made: the ends of an interval are coarser by them, and as
/// often on either side of the truth.
const RESAMPLES: usize = 1_000;

fn plan(seed: u64, paths: &[&str]) -> Plan {
    Plan {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        trials: TRIALS,
        margin: MARGIN,
        seed,
        resamples: RESAMPLES,
    }
}

/// A machine on which no trial is quite like another.
struct Machine {
    random: StdRng,
    noise: f64,
    trials: f64,
    phase: f64,
}

impl Machine {
    fn new(seed: u64, noise: f64) -> Self {
        let mut random = StdRng::seed_from_u64(seed ^ 0x5eed);
        Machine {
            phase: random.random_range(0.0..TAU),
            random,
            noise,
            trials: 0.0,
        }
    }

    /// By what the next trial is off, as a logarithm: 10 % less over a whole comparison, 3 % more and
    /// less every 17 trials, one trial in 20 with 30 % less, and noise.
    fn off(&mut self) -> f64 {
        let slower = -0.1 * self.trials / (2.0 * TRIALS as f64);
        let breath = 0.03 * (TAU * self.trials / 17.0 + self.phase).sin();
        self.trials += 1.0;
        let disturbed = if self.random.random_range(0..20) == 0 {
            0.7_f64.ln()
        } else {
            0.0
        };
        let noise = Normal::new(0.0, self.noise).unwrap();
        slower + breath + disturbed + noise.sample(&mut self.random)
    }

    fn trial(&mut self, truth: f64) -> Measured {
        let requests_per_second = 20_000.0 * truth * self.off().exp();
        let latency = 64.0 * 1e6 / requests_per_second;
        Measured {
            requests_per_second,
            raw: Latency {
                p50_us: latency,
                p99_us: 3.0 * latency,
                ..Latency::default()
            },
            ..Measured::default()
        }
    }
}

/// A comparison with a B that is `truth` times as fast as A.
fn compare(seed: u64, noise: f64, truth: f64) -> Compared {
    let mut machine = Machine::new(seed, noise);
    let compared = run(&plan(seed, &["/"]), |turn| {
        Ok::<_, Infallible>(machine.trial(match turn.side {
            Side::A => 1.0,
            Side::B => truth,
        }))
    });
    compared.unwrap().remove(0)
}

/// How many of 100 comparisons say each: faster, slower, same, undecided.
fn verdicts(noise: f64, truth: f64) -> [u32; 4] {
    let mut counts = [0; 4];
    for seed in 0..100 {
        counts[match compare(seed, noise, truth).verdict.unwrap() {
            Verdict::Faster => 0,
            Verdict::Slower => 1,
            Verdict::Same => 2,
            Verdict::Undecided { .. } => 3,
        }] += 1;
    }
    eprintln!("noise {noise}, truth {truth}: faster, slower, same, undecided: {counts:?}");
    counts
}

#[test]
fn a_against_a_is_the_same() {
    for noise in [0.005, 0.02] {
        let [faster, slower, same, _] = verdicts(noise, 1.0);
        assert!(same >= 95 && faster + slower <= 5);
    }
}

#[test]
fn on_a_machine_that_is_too_noisy_nothing_is_made_up() {
    let [faster, slower, _, undecided] = verdicts(0.06, 1.0);
    assert!(faster + slower <= 5 && undecided >= 50);
}

#[test]
fn ten_percent_more_are_found() {
    let [faster, slower, ..] = verdicts(0.02, 1.1);
    assert!(faster >= 95 && slower == 0);
}

#[test]
fn ten_percent_less_are_found() {
    let [faster, slower, ..] = verdicts(0.02, 0.9);
    assert!(slower >= 95 && faster == 0);
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    // 200 intervals each; the bounds are three standard errors away.
    for (blocks, level, between) in [
        (FEWEST_BLOCKS, 0.95, 91..=99),
        (16, 0.95, 91..=99),
        (32, 0.95, 91..=99),
        (16, 0.8, 72..=88),
    ] {
        let truth: f64 = 1.05;
        let held = (0..200).filter(|seed| {
            let mut machine = Machine::new(*seed, 0.02);
            let mut order = Order::new(*seed);
            let pairs = |_| -> Pairs {
                let [first, second, third, fourth] = order.block().map(|side| match side {
                    Side::A => -machine.off(),
                    Side::B => machine.off() + truth.ln(),
                });
                [first + second, third + fourth]
            };
            let pairs: Vec<Pairs> = (0..blocks).map(pairs).collect();
            let found = ratio(&pairs, level, RESAMPLES, *seed).unwrap();
            found.low <= truth && truth <= found.high
        });
        let percent = held.count() / 2;
        eprintln!("{blocks} blocks: {percent} % of intervals of {level}");
        assert!(between.contains(&percent), "{blocks} {level}: {percent} %");
    }
}

#[test]
fn a_path_is_left_alone_as_soon_as_it_is_decided() {
    let mut random = StdRng::seed_from_u64(1);
    let mut turns = Vec::new();
    let compared = run(&plan(1, &["/quiet", "/noisy"]), |turn| {
        turns.push((turn.block, turn.path.to_owned(), turn.side, turn.first));
        let noise = if turn.path == "/quiet" { 0.001 } else { 0.2 };
        let off: f64 = random.random_range(-noise..noise);
        Ok::<_, Infallible>(Measured {
            requests_per_second: 1000.0 * off.exp(),
            ..Measured::default()
        })
    });
    let compared = compared.unwrap();
    assert_eq!(compared[0].verdict, Some(Verdict::Same));
    assert_eq!(compared[0].trials.len(), 2 * FEWEST_TRIALS);
    assert!(
        matches!(compared[1].verdict, Some(Verdict::Undecided { .. })),
        "{:?}",
        compared[1].verdict
    );
    assert_eq!(compared[1].trials.len(), 2 * TRIALS);

    // The turns of a block come together, and the first one of each round is marked.
    assert_eq!(turns.len(), 2 * FEWEST_TRIALS + 2 * TRIALS);
    for block in turns.chunks(BLOCK) {
        assert!(block.iter().all(|turn| turn.1 == block[0].1));
        let of_a = block.iter().filter(|turn| turn.2 == Side::A);
        assert_eq!(of_a.count(), 2);
        assert_eq!(block[0].2, block[3].2);
    }
    let firsts = turns.iter().filter(|turn| turn.3).map(|turn| turn.0);
    assert!(firsts.eq(0..TRIALS / 2));
}

#[test]
fn one_failed_request_ends_a_path_without_a_verdict() {
    let mut made = 0;
    let compared = run(&plan(1, &["/", "/other"]), |turn| {
        made += 1;
        let failed = turn.path == "/" && made > BLOCK;
        Ok::<_, Infallible>(Measured {
            requests_per_second: 1000.0,
            errors: Errors {
                short: u64::from(failed),
                ..Errors::default()
            },
            ..Measured::default()
        })
    });
    let compared = compared.unwrap();
    assert_eq!((compared[0].verdict, compared[0].by), (None, None));
    assert_eq!((compared[0].errors, compared[0].trials.len()), (4, 8));
    assert_eq!(compared[1].verdict, Some(Verdict::Same));
    assert_eq!(compared[1].errors, 0);
}

#[test]
fn a_trial_that_cannot_be_made_ends_all() {
    let mut made = 0;
    let error = run(&plan(1, &["/"]), |_| {
        made += 1;
        if made == 6 {
            Err("gone")
        } else {
            Ok(Measured::default())
        }
    });
    assert_eq!((error, made), (Err("gone"), 6));
}

#[test]
fn a_client_that_was_the_limit_leaves_only_what_the_server_spent() {
    let limited = |known: bool| {
        let mut machine = Machine::new(1, 0.005);
        let compared = run(&plan(1, &["/"]), |turn| {
            let truth = if turn.side == Side::B { 0.5 } else { 1.0 };
            let cost = ServerCost {
                cpu_us_per_request: 10.0 * truth,
                ..ServerCost::default()
            };
            Ok::<_, Infallible>(Measured {
                invalid: vec!["the client was busy".to_owned()],
                server: known.then_some(cost),
                ..machine.trial(1.0)
            })
        });
        compared.unwrap().remove(0)
    };
    let compared = limited(true);
    assert_eq!(compared.verdict, Some(Verdict::Faster));
    assert_eq!(compared.by, Some(Metric::ServerCpu));
    let verdicts = compared.figures.iter().map(|figure| figure.verdict);
    assert!(verdicts.eq([None, None, None, Some(Verdict::Faster)]));
    // The figures are there all the same.
    assert!(compared.figures.iter().all(|figure| figure.ratio.is_some()));
    let doubts: Vec<_> = compared.doubts.iter().map(|doubt| doubt.trials).collect();
    assert_eq!(doubts, [compared.trials.len() / 2; 2]);

    assert_eq!(limited(false).verdict, None);
}

#[test]
fn a_doubtful_trial_in_ten_does_not_matter() {
    let with = |doubtful: usize| {
        let mut made = 0;
        let compared = run(&plan(1, &["/"]), |turn| {
            made += usize::from(turn.side == Side::A);
            let doubt = turn.side == Side::A && made <= doubtful;
            // No two sentences are alike, and the reason is one.
            let why = || format!("{made} sends were late");
            Ok::<_, Infallible>(Measured {
                requests_per_second: 1000.0,
                invalid: doubt.then(why).into_iter().collect(),
                ..Measured::default()
            })
        });
        let compared = compared.unwrap().remove(0);
        let doubts: Vec<_> = compared.doubts.iter().map(|doubt| doubt.trials).collect();
        assert_eq!(doubts, [doubtful]);
        compared.verdict
    };
    assert_eq!(with(FEWEST_TRIALS / 10), Some(Verdict::Same));
    assert_eq!(with(FEWEST_TRIALS / 10 + 1), None);
}

#[test]
fn the_chance_to_be_wrong_is_shared_among_the_looks() {
    let looks = |trials| {
        let plan = Plan {
            trials,
            ..plan(1, &["/"])
        };
        let looks = plan.looks();
        let wrong: f64 = looks.iter().map(|look| 1.0 - look.level).sum();
        assert!((wrong - 0.05).abs() < 1e-9, "{looks:?}");
        looks.iter().map(|look| look.trials).collect::<Vec<_>>()
    };
    assert_eq!(looks(16), [16]);
    assert_eq!(looks(32), [16, 32]);
    assert_eq!(looks(64), [16, 32, 64]);
    assert_eq!(looks(200), [50, 100, 200]);
}

#[test]
fn the_same_trials_give_the_same_result() {
    assert_eq!(compare(3, 0.02, 1.02), compare(3, 0.02, 1.02));
}
