//! Two servers, A and B, measured in turns, and what can honestly be said of B.
//!
//! Trials come in blocks of four, A B B A or B A A B ([`order`]). For each path and each figure there
//! are the medians of both sides, the ratio B by A with its interval ([`interval`]), and a verdict
//! ([`verdict`]). A path is left alone as soon as its verdict is known: looked at are only a quarter,
//! half and all of the trials that may be, and the chance to be wrong is shared out among those
//! looks, so that looking often decides nothing by luck.

pub mod comparison;
pub mod differences;
pub mod interval;
pub mod metric;
pub mod order;
pub mod text;
pub mod verdict;

use serde::{Deserialize, Serialize};

use crate::result::model::Measured;
use crate::result::report::Interval;
use interval::{FEWEST_BLOCKS, Pairs};
use metric::{Metric, median};
use order::{BLOCK, Order, Side};
use verdict::{Verdict, judge};

/// Trials of each side at most, if nobody says otherwise: with a noise of 2 % from trial to trial,
/// A against A is then decided in 98 of 100 comparisons, most of them at half of that.
pub const TRIALS: usize = 64;

/// Differences up to this do not matter, if nobody says otherwise.
pub const MARGIN: f64 = 0.03;

/// The fewest trials of each side that can tell anything.
pub const FEWEST_TRIALS: usize = trials_of_each(FEWEST_BLOCKS);

/// The share of verdicts, of one path by one figure, that are right in the long run.
pub const CONFIDENCE: f64 = 0.95;

/// One trial in so many may be doubtful, on each side, without the verdict becoming so: the ratio
/// bears that many that are off.
const DOUBTFUL_OF: usize = 10;

const fn trials_of_each(blocks: usize) -> usize {
    blocks * BLOCK / 2
}

/// The plan of a comparison: the paths, and how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The paths; each is compared on its own.
    pub paths: Vec<String>,
    /// Trials of each side and path at most, at least [`FEWEST_TRIALS`]. An odd one is left out.
    pub trials: usize,
    /// Differences that do not matter: 0.03 is 3 %.
    pub margin: f64,
    /// For the order and the intervals: the same trials give the same result.
    pub seed: u64,
    /// The draws of the bootstrap that gives the intervals; [`interval::RESAMPLES`] where they are published.
    pub resamples: usize,
}

impl Plan {
    /// How many blocks that is.
    fn blocks(&self) -> usize {
        self.trials * 2 / BLOCK
    }

    /// When verdicts are looked for.
    pub fn looks(&self) -> Vec<Look> {
        let all = self.blocks();
        let mut blocks: Vec<usize> = [all.div_ceil(4), all.div_ceil(2), all].into();
        blocks.dedup();
        blocks.retain(|blocks| *blocks >= FEWEST_BLOCKS);
        // Late looks get the greater share: there is more to be told from.
        let shares = blocks.iter().sum::<usize>() as f64;
        let look = |blocks: usize| Look {
            trials: trials_of_each(blocks),
            level: 1.0 - (1.0 - CONFIDENCE) * blocks as f64 / shares,
        };
        blocks.into_iter().map(look).collect()
    }
}

/// A moment at which verdicts are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// After so many trials of each side.
    pub trials: usize,
    /// The share of intervals that hold the truth at this look.
    pub level: f64,
}

/// The trial that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Of which side.
    pub side: Side,
    /// The path.
    pub path: &'a str,
    /// Its place among the paths, from 0.
    pub index: usize,
    /// Which block, from 0. The same for all paths.
    pub block: usize,
    /// How many blocks there may be.
    pub of_blocks: usize,
    /// How many paths are not yet decided.
    pub open: usize,
    /// The first of its block, before which servers may be started anew.
    pub first: bool,
}

/// A trial that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Of which side.
    pub side: Side,
    /// Its result.
    pub measured: Measured,
}

/// The result of one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The path.
    pub path: String,
    /// The verdict on B: that of the first figure that is decided, or else has one. `None` if there were errors,
    /// or no figure may be believed.
    pub verdict: Option<Verdict>,
    /// The figure that it is said by: requests per second, or the server's CPU where the client was
    /// what limited those, or where that alone is decided.
    pub by: Option<Metric>,
    /// Each figure that was measured.
    pub figures: Vec<Figure>,
    /// Requests that failed, on both sides. One is enough that nothing is said.
    pub errors: u64,
    /// Why trials may not be believed, each reason once with its number of trials.
    pub doubts: Vec<Doubt>,
    /// All trials as they came, in blocks of four.
    pub trials: Vec<Trial>,
}

impl Compared {
    /// True if there were too few trials to say anything.
    fn is_short(&self) -> bool {
        self.trials.len() < 2 * FEWEST_TRIALS
    }
}

/// A reason not to believe some trials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// Of which side.
    pub side: Side,
    /// How many trials.
    pub trials: usize,
    /// Why, in a sentence; its figures are those of the first such trial.
    pub why: String,
}

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Which.
    pub metric: Metric,
    /// The median of the trials of A.
    pub a: f64,
    /// The median of the trials of B.
    pub b: f64,
    /// B by A, from neighbouring trials: with a machine that drifts it is nearer to the truth than
    /// the ratio of the medians. `None` if there are too few trials.
    pub ratio: Option<Interval>,
    /// The share of such intervals that hold the truth.
    pub level: f64,
    /// Its verdict on B. `None` if it may not be believed.
    pub verdict: Option<Verdict>,
}

/// Makes the trials of a plan, until each path is decided, has failed, or has had all of its trials.
///
/// # Errors
/// The first that `trial` gives. A trial with failed requests is none: it is in the result.
pub fn run<E>(
    plan: &Plan,
    trial: impl FnMut(&Turn<'_>) -> Result<Measured, E>,
) -> Result<Vec<Compared>, E> {
    match run_to_error(plan, trial) {
        (compared, None) => Ok(compared),
        (_, Some(error)) => Err(error),
    }
}

/// As [`run`], with what was found until the first error. Blocks that it cut off count for nothing.
pub fn run_to_error<E>(
    plan: &Plan,
    mut trial: impl FnMut(&Turn<'_>) -> Result<Measured, E>,
) -> (Vec<Compared>, Option<E>) {
    let looks = plan.looks();
    let mut order = Order::new(plan.seed);
    let path = |path| PathTrials {
        path,
        trials: Vec::new(),
        done: false,
    };
    let mut paths: Vec<PathTrials<'_>> = plan.paths.iter().map(path).collect();
    let mut ended_by = None;
    'blocks: for block in 0..plan.blocks() {
        let mut first = true;
        let mut open = paths.iter().filter(|path| !path.done).count();
        let still = paths.iter_mut().enumerate().filter(|(_, path)| !path.done);
        for (index, path) in still {
            for side in order.block() {
                let made = trial(&Turn {
                    side,
                    path: path.path,
                    index,
                    block,
                    of_blocks: plan.blocks(),
                    open,
                    first,
                });
                let measured = match made {
                    Ok(measured) => measured,
                    Err(error) => {
                        ended_by = Some(error);
                        break 'blocks;
                    }
                };
                first = false;
                path.trials.push(Trial { side, measured });
            }
            let made = trials_of_each(block + 1);
            let look = looks.iter().find(|look| look.trials == made);
            path.done = path.errors() > 0 || look.is_some_and(|look| path.is_decided(plan, look));
            if path.done {
                open -= 1;
            }
        }
    }
    for path in &mut paths {
        let cut_off = path.trials.len() % BLOCK;
        path.trials.truncate(path.trials.len() - cut_off);
    }
    let compared = paths.into_iter().map(|path| path.compared(plan));
    (compared.collect(), ended_by)
}

/// The trials of one path so far.
struct PathTrials<'a> {
    path: &'a String,
    trials: Vec<Trial>,
    done: bool,
}

impl PathTrials<'_> {
    fn errors(&self) -> u64 {
        let errors = |trial: &Trial| trial.measured.errors.total();
        self.trials.iter().map(errors).sum()
    }

    /// True if both figures that a verdict can rest upon are known. The latencies follow what these say, and
    /// their tails would never be decided.
    fn is_decided(&self, plan: &Plan, look: &Look) -> bool {
        let figures = [Metric::RequestsPerSecond, Metric::ServerCpu];
        figures.into_iter().all(|metric| {
            let figure = self.figure(plan, metric, look.level);
            let verdict = figure.map(|figure| figure.verdict);
            // What was not measured, or may not be believed, need not be waited for.
            !matches!(verdict, Some(Some(Verdict::Undecided { .. })))
        })
    }

    /// True if too many trials of one side may not be believed.
    fn is_doubtful(&self) -> bool {
        [Side::A, Side::B].into_iter().any(|side| {
            let trials = || self.trials.iter().filter(|trial| trial.side == side);
            let doubtful = trials().filter(|trial| !trial.measured.invalid.is_empty());
            doubtful.count() * DOUBTFUL_OF > trials().count()
        })
    }

    /// A metric of both sides. Blocks with a trial that does not have it are left out, as long as
    /// those are few; otherwise `None`.
    fn figure(&self, plan: &Plan, metric: Metric, level: f64) -> Option<Figure> {
        let mut blocks: Vec<Pairs> = Vec::new();
        let mut sides: [Vec<f64>; 2] = Default::default();
        let (trials, _) = self.trials.as_chunks::<BLOCK>();
        let has = |trial: &&Trial| metric.of(&trial.measured).is_some();
        let having = self.trials.iter().filter(has).count();
        if (self.trials.len() - having) * DOUBTFUL_OF > self.trials.len() {
            return None;
        }
        for block in trials {
            if !block.iter().all(|trial| has(&trial)) {
                continue;
            }
            let mut logs = [0.0; BLOCK];
            for (trial, log) in block.iter().zip(&mut logs) {
                let figure = metric.of(&trial.measured)?;
                let [a, b] = &mut sides;
                (*log, _) = match trial.side {
                    Side::A => (-figure.ln(), a.push(figure)),
                    Side::B => (figure.ln(), b.push(figure)),
                };
            }
            // A and B in either order: the minus is with A.
            let [first, second, third, fourth] = logs;
            blocks.push([first + second, third + fourth]);
        }
        let [a, b] = sides;
        let each = a.len();
        let ratio = interval::ratio(&blocks, level, plan.resamples, plan.seed);
        let believed = !metric.needs_client() || !self.is_doubtful();
        let judged = ratio
            .filter(|_| believed && self.errors() == 0)
            .map(|ratio| judge(&ratio, plan.margin, metric.better(), each as u64));
        Some(Figure {
            metric,
            a: median(a)?,
            b: median(b)?,
            ratio,
            level,
            verdict: judged,
        })
    }

    fn doubts(&self) -> Vec<Doubt> {
        let mut doubts: Vec<Doubt> = Vec::new();
        for trial in &self.trials {
            for why in &trial.measured.invalid {
                // What differs in figures alone is the same reason.
                let alike = |other: &str| without_digits(other).eq(without_digits(why));
                let same = |doubt: &&mut Doubt| doubt.side == trial.side && alike(&doubt.why);
                match doubts.iter_mut().find(same) {
                    Some(doubt) => doubt.trials += 1,
                    None => doubts.push(Doubt {
                        side: trial.side,
                        trials: 1,
                        why: why.clone(),
                    }),
                }
            }
        }
        doubts
    }

    fn compared(self, plan: &Plan) -> Compared {
        let made = self.trials.len() / 2;
        let looks = plan.looks();
        let look = looks.iter().find(|look| look.trials >= made);
        let level = look.map_or(CONFIDENCE, |look| look.level);
        let figure = |metric| self.figure(plan, metric, level);
        let figures: Vec<Figure> = Metric::ALL.into_iter().filter_map(figure).collect();
        let said = [Metric::RequestsPerSecond, Metric::ServerCpu];
        let judged = || {
            said.into_iter().filter_map(|metric| {
                let figure = figures.iter().find(|figure| figure.metric == metric)?;
                Some((metric, figure.verdict?))
            })
        };
        let is_open = |verdict: &Verdict| matches!(verdict, Verdict::Undecided { .. });
        let decided = judged().find(|(_, verdict)| !is_open(verdict));
        let judged = decided.or_else(|| judged().next());
        Compared {
            path: self.path.to_owned(),
            verdict: judged.map(|(_, verdict)| verdict),
            by: judged.map(|(metric, _)| metric),
            figures,
            errors: self.errors(),
            doubts: self.doubts(),
            trials: self.trials,
        }
    }
}

fn without_digits(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|char| !char.is_ascii_digit())
}
